//! `warplens.whatif`: answers to what-if questions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::predict::{Occupancy, Prediction};
use crate::profile::{Extents, Launch, Support};
use crate::{Held, Identified, Launches, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Document>("answers to what-if questions")];

/// The document of the `whatif` verb.
pub type Document = Launches<WhatIf>;

/// The answers for one launch: `answers` and what goes with them, or with `--each` `prices`.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Name of the kernel as C++ has it.
    pub kernel_demangled: String,
    /// The launch as it is.
    pub launch: Launch,
    /// The second run, where the grid or the block was changed; else `null`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub ran_again: Held<Option<RanAgain>>,
    /// The question.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub scenario: Held<Scenario>,
    /// One entry per GPU and model.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub answers: Held<Vec<Answer>>,
    /// What holds for a GPU whatever the model.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub gpus: Held<Vec<Gpu>>,
    /// How much of the kernel can be executed.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub support: Held<Support>,
    /// With `--each`: one entry per GPU, model and effect, what costs most first.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub prices: Held<Vec<Price>>,
}

impl Identified for WhatIf {
    const ID: &'static str = "warplens.whatif/2";
}

/// A second run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RanAgain {
    /// CTAs per axis.
    pub grid: Extents,
    /// Threads per axis.
    pub block: Extents,
}

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What is set: `NAME=VALUE`.
    pub set: Vec<String>,
    /// Effects that are left out.
    pub without: Vec<String>,
}

/// Before and after on a GPU, by a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Label of the GPU.
    pub gpu: String,
    /// Name of the model.
    pub model: String,
    /// The launch as it is.
    pub before: Prediction,
    /// The launch as it is supposed to be.
    pub after: Option<Prediction>,
    /// Time before over time after.
    pub speedup: Option<Number>,
    /// What the model makes of the question.
    pub notes: Vec<String>,
}

/// What holds for a GPU whatever the model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Label of the GPU.
    pub gpu: String,
    /// Marketing name.
    pub name: String,
    /// Occupancy of the launch as it is.
    pub occupancy_before: Option<Occupancy>,
    /// Occupancy of the launch as it is supposed to be.
    pub occupancy_after: Option<Occupancy>,
    /// Warps that fall off the cache peak, by the X-model.
    pub warnings: Vec<String>,
    /// Why the question makes no sense there.
    pub impossible: Option<String>,
}

/// What an effect costs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Label of the GPU.
    pub gpu: String,
    /// Name of the model.
    pub model: String,
    /// The effect; `null` for all that cost time together.
    pub effect: Option<String>,
    /// Time with it in microseconds.
    pub before_us: Number,
    /// Time without it.
    pub after_us: Option<Number>,
    /// Time before over time after.
    pub speedup: Option<Number>,
    /// What it costs in cycles; negative where it saves some.
    pub cost_cycles: Option<Number>,
    /// What it costs of the time.
    pub share: Option<Number>,
    /// Resource of the largest term without it.
    pub limiter_after: Option<String>,
    /// Why nothing changes.
    pub note: Option<String>,
}
