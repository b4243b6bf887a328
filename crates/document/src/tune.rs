//! `warplens.tune/1`: the fastest of many launches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::{Extents, RegistersBasis};
use crate::words::words;
use crate::{Held, Id, Identified, Named, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Tune>("the fastest of many launches")];

/// The document of the `tune` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tune {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// Name of the kernel in the PTX.
    pub kernel: Option<String>,
    /// Name of the kernel as C++ has it.
    pub kernel_demangled: Option<String>,
    /// What is varied.
    pub dimensions: Vec<Dimension>,
    /// How points are chosen.
    pub method: Method,
    /// Starts of a guided search.
    pub starts: Option<u64>,
    /// Combinations of all values.
    pub points_total: u64,
    /// Those left out by constraints, as far as they were looked at.
    pub points_excluded: u64,
    /// Length of `points`.
    pub points_evaluated: u64,
    /// Emulations, which points whose counts cannot differ share.
    pub launches_emulated: u64,
    /// Compiled programs.
    pub programs: u64,
    /// How much slower than the best a point may be and still be tied with it.
    pub band: Number,
    /// By GPU.
    pub rankings: Vec<Ranking>,
    /// For several GPUs: the point that is good on all.
    pub compromise: Option<Compromise>,
    /// The points.
    pub points: Vec<Point>,
}

impl Identified for Tune {
    const ID: &'static str = "warplens.tune/1";
}

/// What is varied.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// `input`, a macro, `block`, `block.x`, `grid`, `shared`.
    pub name: String,
    /// Its values as written.
    pub values: Vec<String>,
}

words! {
    /// How points are chosen.
    "method" Method {
        /// All of them.
        Exhaustive = "exhaustive",
        /// From some starts on to better neighbours.
        Guided = "guided",
    }

    /// How outputs compare with those of the reference.
    "check" Check {
        /// The reference itself.
        Reference = "reference",
        /// The same.
        Same = "same",
        /// Others.
        Differs = "differs",
        /// They cannot be compared.
        NotComparable = "not comparable",
    }
}

/// The order on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ranking {
    /// Label of the GPU.
    pub gpu: String,
    /// The model that ranks.
    pub model: Option<String>,
    /// Positions in `points`, fastest first.
    pub order: Vec<u64>,
    /// Those that cannot be told from the best, the best first.
    pub tied: Vec<u64>,
}

/// The point that is good on all GPUs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compromise {
    /// Its position in `points`.
    pub point: u64,
    /// Geometric mean of its time over the best of each GPU.
    pub slowdown: Number,
}

/// A launch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The value of each dimension by its name.
    pub choices: Named<String, String>,
    /// CTAs per axis; `null` where the values give none.
    pub grid: Option<Extents>,
    /// Threads per axis.
    pub block: Option<Extents>,
    /// Dynamic shared memory per CTA in bytes.
    pub dynamic_shared_bytes: Option<u64>,
    /// Static and dynamic shared memory per CTA in bytes; `null` where nothing was emulated.
    pub shared_bytes: Option<u64>,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Where that number comes from.
    pub registers_basis: Option<RegistersBasis>,
    /// Warp instructions.
    pub instructions: Option<u64>,
    /// CTAs that were executed.
    pub ctas_executed: Option<u64>,
    /// CTAs of the grid.
    pub ctas_total: Option<u64>,
    /// With `--check`: how the outputs compare.
    pub outputs: Option<Check>,
    /// In what they differ.
    pub outputs_difference: Option<String>,
    /// Why the point cannot be launched anywhere.
    pub impossible: Option<String>,
    /// By GPU.
    pub gpus: Vec<OnGpu>,
}

/// A point on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnGpu {
    /// Label of the GPU.
    pub gpu: String,
    /// Why it cannot be launched there.
    pub impossible: Option<String>,
    /// Share of the warp slots.
    pub occupancy_share: Option<Number>,
    /// By model.
    pub predictions: Vec<ModelTime>,
}

/// The time by a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelTime {
    /// Name of the model.
    pub model: String,
    /// Time in microseconds; `null` when the model refused.
    pub time_us: Option<Number>,
    /// Resource of the largest term.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub limiter: Held<String>,
    /// Why there is no time.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub refused: Held<Reason>,
}

/// Why there is no time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// The reason as a clause.
    pub reason: String,
}
