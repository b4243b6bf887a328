//! `warplens.run/1`: what kernels computed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::{Emulation, Race, Support};
use crate::{Element, Id, Identified, Named, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Run>("what kernels computed")];

/// The document of the `run` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// Kernels in the order of their launches.
    pub kernels: Vec<String>,
    /// Buffers by the text before `:COUNT` in `--print`.
    pub buffers: Named<String, Buffer>,
    /// One for each launch whose blocks race.
    #[serde(default)]
    pub races: Vec<Race>,
    /// What the kernels printed.
    pub printed: String,
    /// How much of the kernels can be executed.
    pub support: Support,
    /// Cost of the execution.
    pub emulation: Emulation,
}

impl Identified for Run {
    const ID: &'static str = "warplens.run/1";
}

/// What a buffer holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Type of its elements.
    #[serde(rename = "type")]
    pub kind: String,
    /// The elements.
    pub values: Vec<Element>,
}
