//! `warplens.sweep`: the rows of a study.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::Extents;
use crate::{Id, Identified, Named, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Sweep>("the rows of a study")];

/// The document of the `sweep` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// One per configuration, GPU and question, in the order of the study.
    pub rows: Vec<Row>,
}

impl Identified for Sweep {
    const ID: &'static str = "warplens.sweep/1";
}

/// A configuration on a GPU, under one question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Number of the configuration in the study, from 0.
    pub configuration: u64,
    /// The kernel, by the name that the study gives it.
    pub kernel: String,
    /// Sizes and macros with their values.
    pub values: Named<String, String>,
    /// CTAs; `null` where the values give no launch.
    pub grid: Option<Extents>,
    /// Threads per CTA.
    pub block: Option<Extents>,
    /// Dynamic shared memory per CTA.
    pub shared_bytes: Option<u64>,
    /// Registers per thread; `null` where the kernel did not run.
    pub registers: Option<u32>,
    /// Warp instructions of the launch.
    pub instructions: Option<u64>,
    /// Label of the GPU.
    pub gpu: String,
    /// Name of the what-if question; `null` for things as they are.
    pub what_if: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Time in microseconds, without launch overhead; `null` where there is none.
    pub time_us: Option<Number>,
    /// Lower end of where that time lies by what was validated; `null` where too little was.
    pub range_low_us: Option<Number>,
    /// Its upper end.
    pub range_high_us: Option<Number>,
    /// Resource of the largest term.
    pub limiter: Option<String>,
    /// Theoretical occupancy as a share of the warp slots.
    pub occupancy_share: Option<Number>,
    /// Why there is no time.
    pub refused: Option<String>,
}
