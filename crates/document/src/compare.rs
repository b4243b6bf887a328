//! `warplens.compare/1`: variants against each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::predict::{Combine, Term};
use crate::profile::{Counted, Extents, Launch};
use crate::{Held, Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Compare>("variants against each other")];

/// The document of the `compare` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compare {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// What the others are compared with.
    pub baseline: Baseline,
    /// Times that differ by less than this fraction are equal.
    pub band: Number,
    /// The variants.
    pub variants: Vec<Variant>,
    /// One per GPU, model and variant.
    pub entries: Vec<Entry>,
    /// One per entry that is compared with another.
    pub explanations: Vec<Explanation>,
    /// One per GPU, model and block.
    pub signs: Vec<Signs>,
}

impl Identified for Compare {
    const ID: &'static str = "warplens.compare/1";
}

/// What the others are compared with: one of both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// A variant.
    pub variant: Option<String>,
    /// Label of a GPU.
    pub gpu: Option<String>,
}

/// A variant.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Its name.
    pub variant: String,
    /// Its block, where several are compared.
    pub block: Option<Extents>,
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Name of the kernel as C++ has it.
    pub kernel_demangled: String,
    /// The launch.
    pub launch: Launch,
    /// Which instructions are counted: numbers of those of PTX and of machine code do not compare.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub counted: Held<Counted>,
}

/// A variant on a GPU, by a model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Name of the variant.
    pub variant: String,
    /// Its block, where several are compared.
    pub block: Option<Extents>,
    /// Label of the GPU.
    pub gpu: String,
    /// Name of the model.
    pub model: String,
    /// Time in microseconds.
    pub time_us: Option<Number>,
    /// Time of the baseline over this time.
    pub speedup: Option<Number>,
    /// Measured time in microseconds.
    pub measured_us: Option<Number>,
    /// Resource of the largest term.
    pub limiter: Option<String>,
    /// How the terms make the time.
    pub combine: Option<Combine>,
    /// The clock in hertz.
    pub clock_hz: Option<Number>,
    /// Parts of the time.
    pub terms: Option<Vec<Term>>,
    /// Share of the warp slots.
    pub occupancy_share: Option<Number>,
    /// Warp instructions.
    pub instructions: Option<u64>,
    /// Requests to global and local memory.
    pub requests: Option<u64>,
    /// Transactions of global and local memory.
    pub transactions: Option<u64>,
    /// Bytes that these move.
    pub bytes_moved: Option<u64>,
    /// Wavefronts of shared memory beyond those without conflicts.
    pub conflict_wavefronts: Option<u64>,
    /// CTA barriers.
    pub barriers: Option<u64>,
    /// Branches that sent lanes both ways.
    pub divergent_branches: Option<u64>,
    /// Mean number of loads that a warp has in flight.
    pub independent_loads: Option<Number>,
    /// Why there is no time.
    pub refused: Option<String>,
}

/// What makes a difference.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// Name of the variant.
    pub variant: String,
    /// Its block, where several are compared.
    pub block: Option<Extents>,
    /// Label of the GPU.
    pub gpu: String,
    /// Name of the model.
    pub model: String,
    /// Time of the baseline in microseconds.
    pub before_us: Number,
    /// Time of the variant.
    pub after_us: Number,
    /// How the terms make the time.
    pub combine: Combine,
    /// Share of the difference that the first term makes, where terms add up.
    pub share: Option<Number>,
    /// What makes the difference comes first.
    pub terms: Vec<TermChange>,
    /// Counts behind the first term.
    pub counts: Vec<CountChange>,
    /// Machine parameters behind the first term.
    pub parameters: Vec<ParameterChange>,
}

/// A term of both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TermChange {
    /// What happens in that time.
    pub name: String,
    /// The resource that causes it.
    pub resource: String,
    /// Microseconds of the baseline.
    pub before_us: Number,
    /// Microseconds of the variant.
    pub after_us: Number,
}

/// A count of both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CountChange {
    /// Its name.
    pub name: String,
    /// Of the baseline.
    pub before: Number,
    /// Of the variant.
    pub after: Number,
}

/// A machine parameter of both.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ParameterChange {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Of the baseline.
    pub before: Number,
    /// Of the variant.
    pub after: Number,
}

/// Which variant is faster than which, by row and column: 1 faster, 0 equal, -1 slower.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signs {
    /// Label of the GPU.
    pub gpu: String,
    /// Name of the model.
    pub model: String,
    /// The block, where several are compared.
    pub block: Option<Extents>,
    /// Names of rows and columns.
    pub variants: Vec<String>,
    /// As predicted.
    pub predicted: Vec<Vec<Option<i8>>>,
    /// As measured; `null` where nothing was.
    pub measured: Option<Vec<Vec<Option<i8>>>>,
    /// How many pairs agree.
    pub agreement: Option<Agreement>,
}

/// Pairs of variants.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// Pairs with the measured sign.
    pub same: u64,
    /// Pairs.
    pub pairs: u64,
}
