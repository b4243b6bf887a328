//! `warplens.gpus/1`, `warplens.gpu/1` and `warplens.gpu-diff/1`: what is known about GPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::predict::Value;
use crate::{Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[
    entry::<Gpus>("the GPUs"),
    entry::<Gpu>("one GPU with all parameters"),
    entry::<GpuDiff>("parameters in which two GPUs differ"),
];

/// The list of GPUs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpus {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The GPUs.
    pub gpus: Vec<Entry>,
}

impl Identified for Gpus {
    const ID: &'static str = "warplens.gpus/1";
}

/// A GPU of the list.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its identifier.
    pub gpu: String,
    /// Marketing name.
    pub name: String,
    /// Target: `sm_90`.
    pub target: String,
    /// The chip.
    pub chip: Option<String>,
    /// Number of SMs.
    pub sms: Option<Number>,
    /// Default clock in hertz.
    pub clock_hz: Option<Number>,
    /// Peak bandwidth of device memory.
    pub peak_bandwidth_bytes_per_s: Option<Number>,
    /// Achieved bandwidth of device memory.
    pub achieved_bandwidth_bytes_per_s: Option<Number>,
    /// Other names.
    pub aliases: Vec<String>,
}

/// One GPU with all parameters.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// Label of the GPU.
    pub gpu: String,
    /// Marketing name.
    pub name: String,
    /// Target: `sm_90`.
    pub target: String,
    /// The chip.
    pub chip: Option<String>,
    /// Other names.
    pub aliases: Vec<String>,
    /// The parameters.
    pub parameters: Vec<Parameter>,
}

impl Identified for Gpu {
    const ID: &'static str = "warplens.gpu/1";
}

/// A parameter of a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value; `null` where nobody knows.
    pub value: Option<Value>,
    /// Its unit.
    pub unit: String,
    /// Of durations that follow the clock: the same in nanoseconds.
    pub nanoseconds: Option<Number>,
    /// How it is known.
    pub basis: Option<String>,
    /// Where it comes from.
    pub source: String,
    /// What else is to be said.
    pub note: Option<String>,
}

/// A parameter in which two GPUs differ.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Of the first.
    pub left: Option<Value>,
    /// Of the second.
    pub right: Option<Value>,
    /// The second over the first.
    pub ratio: Option<Number>,
}

/// Two GPUs and the parameters in which they differ.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GpuDiff {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// Label of the first.
    pub left: String,
    /// Label of the second.
    pub right: String,
    /// The parameters.
    pub differences: Vec<Difference>,
}

impl Identified for GpuDiff {
    const ID: &'static str = "warplens.gpu-diff/1";
}
