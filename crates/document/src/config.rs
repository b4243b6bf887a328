//! `warplens.config`: defaults of flags.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Id, Identified, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Config>("defaults of flags, and the files that say so")];

/// The document of the `config show` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The files that were read, the strongest first.
    pub files: Vec<String>,
    /// Every key.
    pub settings: Vec<Setting>,
}

impl Identified for Config {
    const ID: &'static str = "warplens.config/1";
}

/// A default.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The flag.
    pub key: String,
    /// Its value; `null` where nothing is asked for.
    pub value: Option<String>,
    /// The file that says so; `null` where it is built in.
    pub file: Option<String>,
    /// What it is for.
    pub about: String,
}
