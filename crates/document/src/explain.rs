//! `warplens.explain`: what bounds a kernel, and what to do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::predict::{Occupancy, Prediction, Refused};
use crate::profile::{Launch, Support};
use crate::{Identified, Launches, Named, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Document>("what bounds a kernel, and what to do about it")];

/// The document of the `explain` verb.
pub type Document = Launches<Explain>;

/// The explanation of one launch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explain {
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Name of the kernel as C++ has it.
    pub kernel_demangled: String,
    /// The launch.
    pub launch: Launch,
    /// By GPU.
    pub gpus: Vec<Gpu>,
    /// How much of the kernel can be executed.
    pub support: Support,
}

impl Identified for Explain {
    const ID: &'static str = "warplens.explain/2";
}

/// The explanation on one GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Label of the GPU.
    pub gpu: String,
    /// Marketing name.
    pub name: String,
    /// The model whose prediction speaks for it.
    pub model: Option<String>,
    /// That prediction; `null` when all models refused.
    pub prediction: Option<Prediction>,
    /// Models that refused.
    pub refusals: Vec<Refusal>,
    /// Theoretical occupancy.
    pub occupancy: Option<Occupancy>,
    /// Sentences on what bounds the kernel.
    pub evidence: Vec<Evidence>,
    /// Changes, the largest gain first.
    pub advice: Vec<Advice>,
    /// What the X-model says.
    pub x_model: Option<ThreadAdvice>,
}

/// A model that refused.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// Name of the model.
    pub model: String,
    /// Why.
    pub refused: Refused,
}

/// A sentence on what bounds the kernel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// What it is about.
    pub id: String,
    /// The sentence.
    pub text: String,
    /// The numbers in it by name.
    pub values: Named<String, Number>,
}

/// A change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// Which.
    pub id: String,
    /// In short.
    pub title: String,
    /// What to do.
    pub how: String,
    /// Time before in microseconds.
    pub before_us: Number,
    /// Time after.
    pub after_us: Number,
    /// The former over the latter.
    pub speedup: Number,
    /// Resource of the largest term after it.
    pub limiter_after: String,
    /// Lines of the program with their share of the effect.
    pub places: Vec<Place>,
    /// What else changes.
    pub side_effects: Vec<String>,
    /// Flags that ask the same question; empty where none can.
    pub whatif: Vec<String>,
}

/// Lines of the program.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Share of the effect.
    pub share: Number,
    /// Lines of the PTX, from 1.
    pub ptx_lines: Vec<u32>,
    /// File of the program, where the PTX says so.
    pub file: Option<String>,
    /// Line in that file.
    pub line: Option<u32>,
    /// Opcodes with modifiers.
    pub opcodes: Vec<String>,
}

/// What the X-model says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThreadAdvice {
    /// Threads of an SM in `threads_unit`.
    pub threads: Number,
    /// Their unit.
    pub threads_unit: String,
    /// The bound of the state.
    pub bound: String,
    /// Turns of single quantities that raise throughput.
    pub turns: Vec<Turn>,
    /// Where more threads lose throughput.
    pub fall: Option<Fall>,
}

/// Another value of one quantity.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// What to do.
    pub technique: String,
    /// The quantity.
    pub knob: String,
    /// Its value now.
    pub from: Number,
    /// Its value then.
    pub to: Number,
    /// Going further gains nothing.
    pub is_best: bool,
    /// Computation throughput after over before.
    pub gain: Number,
    /// What the gain cannot exceed.
    pub most: Number,
    /// What sets that limit.
    pub limited_by: String,
}

/// Threads that fall off the cache peak.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fall {
    /// Threads at the peak.
    pub best_threads: Option<Number>,
    /// Threads from which on the better state is gone.
    pub forced_threads: Option<Number>,
    /// Share of throughput that is lost there.
    pub forced_loss: Option<Number>,
    /// Threads at which a fall is possible.
    pub possible_threads: Option<Number>,
}
