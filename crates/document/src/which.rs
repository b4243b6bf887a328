//! `warplens.which`: GPUs for a kernel by time and by price.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Which>("GPUs for a kernel by time and by price")];

/// The document of the `which` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Which {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The kernels that are launched, in their order.
    pub kernels: Vec<String>,
    /// What the prices are in; `null` without prices.
    pub currency: Option<String>,
    /// GPUs with a time: the cheapest first, or the fastest first where there are no prices.
    pub gpus: Vec<Candidate>,
    /// GPUs without one.
    pub refused: Vec<Refused>,
}

impl Identified for Which {
    const ID: &'static str = "warplens.which/1";
}

/// A GPU that can run the kernel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Label of the GPU.
    pub gpu: String,
    /// Marketing name.
    pub name: String,
    /// Time of all launches together in microseconds, without launch overhead.
    pub time_us: Number,
    /// Lower end of where that time lies by what was validated; `null` where too little was.
    pub range_low_us: Option<Number>,
    /// Its upper end.
    pub range_high_us: Option<Number>,
    /// The time over that of the fastest.
    pub slowdown: Number,
    /// What an hour costs, in `currency`; `null` where no price was given.
    pub price_per_hour: Option<Number>,
    /// What a million of these runs cost.
    pub price_per_million: Option<Number>,
    /// Resource that bounds the longest launch.
    pub limiter: String,
    /// The models that answered.
    pub models: Vec<String>,
}

/// A GPU without a time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// Label of the GPU.
    pub gpu: String,
    /// Why.
    pub reason: String,
}
