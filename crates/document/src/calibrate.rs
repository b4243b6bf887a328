//! `warplens.calibrate/1`: parameters of a GPU out of measured times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Calibrate>("parameters of a GPU out of measured times")];

/// The document of the `calibrate` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Calibrate {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The GPU whose machine file holds everything that was not fitted.
    pub gpu: String,
    /// Where the times come from: a file, or a virtual GPU.
    pub times: String,
    /// The values, in the order in which they were fitted.
    pub fitted: Vec<FittedParameter>,
    /// Parameters that were measured and stay as they were.
    pub left: Vec<LeftParameter>,
    /// How far off the closed models are for launches that their parameters were not fitted to.
    #[serde(default)]
    pub repredicted: Vec<RepredictedGroup>,
}

impl Identified for Calibrate {
    const ID: &'static str = "warplens.calibrate/1";
}

/// A fitted parameter.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FittedParameter {
    /// Its name.
    pub parameter: String,
    /// Its unit; empty for a plain number.
    pub unit: String,
    /// What the machine file has; null where it has nothing.
    pub before: Option<Number>,
    /// What was fitted.
    pub value: Number,
    /// The least value of the interval in which it lies in 95 of 100 cases, if each point has noise of its own.
    pub low: Number,
    /// The greatest one.
    pub high: Number,
    /// Launches that it was fitted to.
    pub points: u64,
    /// Root mean square of the relative differences of predicted and measured times.
    pub residual: Number,
    /// Percent by which the times change for a percent of the value.
    pub elasticity: Number,
    /// The first value that gives the same times, where several do.
    #[serde(default)]
    pub same_low: Option<Number>,
    /// The last one.
    #[serde(default)]
    pub same_high: Option<Number>,
    /// The value that is to be found, where the times are of a virtual GPU; else null.
    pub wanted: Option<Number>,
}

/// A parameter that stays as it was.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LeftParameter {
    /// Its name.
    pub parameter: String,
    /// Why.
    pub reason: String,
}

/// Launches that parameters of a closed model were not fitted to, beside what it says of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RepredictedGroup {
    /// What the launches were measured for, as `class` of their table.
    pub class: String,
    /// The model.
    pub model: String,
    /// Launches that the parameters were fitted to.
    pub training: u64,
    /// Mean of the absolute relative errors of those.
    pub training_error: Number,
    /// Launches that were held out.
    pub held_out: u64,
    /// Mean of the absolute relative errors of those.
    pub held_out_error: Number,
    /// The largest of them.
    pub worst_error: Number,
}
