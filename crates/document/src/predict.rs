//! `warplens.predict` and `warplens.model`: what models answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::{Counts, Launch, Origin};
use crate::simulation::Simulation;
use crate::words::words;
use crate::x_model::XModel;
use crate::{Assumption, Held, Id, Identified, Launches, Named, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[
    entry::<Document>("predicted times with what they stand on"),
    entry::<Model>("a model's answer to given numbers"),
];

/// The document of the `predict` verb.
pub type Document = Launches<Predict>;

/// The answers for one launch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Predict {
    /// Name of the kernel in the PTX or the binary.
    pub kernel: String,
    /// Name of the kernel as C++ has it.
    pub kernel_demangled: String,
    /// The launch.
    pub launch: Launch,
    /// One entry per GPU for `--model auto`, one per GPU and model otherwise.
    pub predictions: Vec<Entry>,
    /// What holds for a GPU whatever the model.
    pub gpus: Vec<Gpu>,
    /// The counts behind the answers.
    pub profile: Counts,
    /// Where the counts come from.
    #[serde(flatten)]
    pub origin: Origin,
}

impl Identified for Predict {
    const ID: &'static str = "warplens.predict/2";
}

/// The answer of one model for one GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Entry {
    /// Label of the GPU.
    pub gpu: String,
    /// Name of the model.
    pub model: String,
    /// The answer.
    #[serde(flatten)]
    pub prediction: Prediction,
    /// Where a profiler measured the launch on this GPU: its time in microseconds.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub measured_us: Held<Number>,
    /// Where a profiler measured the launch on this GPU: by which share of its time the prediction is longer.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub error_share: Held<Option<Number>>,
}

/// A time that explains itself, or what is missing. Where the model refused, `time_us` is `null`, `refused` is there, and
/// the rest is not.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prediction {
    /// Execution time of the launch in microseconds, without launch overhead; `null` when the model refused. Nsight Compute:
    /// `gpu__time_duration`.
    pub time_us: Option<Number>,
    /// Why there is no time.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub refused: Held<Refused>,
    /// The same in cycles of `clock_hz`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub cycles: Held<Number>,
    /// The clock in hertz.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub clock_hz: Held<Number>,
    /// Resource of the largest term.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub limiter: Held<String>,
    /// How the terms make the time.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub combine: Held<Combine>,
    /// The model's quantities under the names of its paper.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub quantities: Held<Named<String, Number>>,
    /// Units of those that have one.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub quantity_units: Held<Named<String, String>>,
    /// Parts of the time.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub terms: Held<Vec<Term>>,
    /// What must hold for the prediction to mean anything.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub assumptions: Held<Vec<Assumption>>,
    /// Machine parameters that were read.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub parameters: Held<Vec<Parameter>>,
    /// The machine's state, where `x-model` answers and the kernel asks memory for anything.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub x_model: Held<XModel>,
    /// Of `teg` only: what the simulation of one SM found.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub teg: Held<Simulation>,
    /// Of `luo-suda` only: the calculate periods of one wave.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub calculate_periods: Held<Vec<CalculatePeriod>>,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refused {
    /// Names of parameters or inputs that are missing.
    pub missing: Vec<String>,
    /// The reason as a clause.
    pub reason: String,
}

words! {
    /// How terms make a time: the largest is it, they add up, or they overlap in part.
    "combination" Combine {
        /// The largest term is the time.
        Max = "max",
        /// The terms add up to the time.
        Sum = "sum",
        /// The time lies between the largest and the sum.
        Overlapped = "overlapped",
    }
}

/// A part of a time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// What happens in these cycles.
    pub name: String,
    /// The resource that causes them.
    pub resource: String,
    /// Cycles of the launch.
    pub cycles: Number,
    /// Names of the machine parameters behind it.
    pub parameters: Vec<String>,
    /// What the term consists of, where more is known; the parts add up to the term.
    pub parts: Vec<TermPart>,
}

/// A part of a term.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TermPart {
    /// What it is: an instruction class, an operation.
    pub name: String,
    /// Cycles of the launch.
    pub cycles: Number,
}

/// A machine parameter as it was read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Option<Value>,
    /// Its unit.
    pub unit: String,
    /// How it is known.
    pub basis: String,
    /// Where it comes from.
    pub source: String,
}

/// A value of a machine parameter: a number, a list, an object of numbers, or a word.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// A number.
    Number(Number),
    /// Several.
    List(Vec<Number>),
    /// Numbers by name.
    Mix(Named<String, Number>),
    /// A word.
    Word(String),
}

/// A kind of period behind a kind of period.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CalculatePeriod {
    /// Index into `periods.kinds` of the profile.
    pub period: u64,
    /// Executions by a warp, the mean over the warps.
    pub executions: Number,
    /// Type of the period, from 1 to 4.
    #[serde(rename = "type")]
    pub kind: u32,
    /// Cost of the computation task.
    pub c_cycles: Number,
    /// Cost of the memory task.
    pub m_cycles: Number,
    /// Memory parallelism; `null` without a memory task.
    pub mpd: Option<Number>,
    /// Waiting for accesses of this period.
    pub t_c_cycles: Number,
    /// Waiting for accesses of the period before.
    pub t_p_cycles: Number,
    /// Time of all warps.
    pub t_cycles: Number,
}

/// What holds for a GPU whatever the model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gpu {
    /// Label of the GPU.
    pub gpu: String,
    /// What `--model auto` took; else `null`.
    pub auto: Option<Selection>,
    /// Marketing name.
    pub name: String,
    /// Spread of all models that answer, not an error bar.
    pub band: Option<Band>,
    /// Where the time lies by what was validated; `null` where too little was.
    pub range: Option<Range>,
    /// Theoretical occupancy; `null` where a limit is not known.
    pub occupancy: Option<Occupancy>,
    /// What each resource would take alone, as `roofline` has it, over the predicted time; the same under every model, and
    /// `null` without a time.
    pub speed_of_light: Option<Shares>,
    /// How busy the simulated SM was, where `teg` speaks for the GPU; else `null`.
    pub busy: Option<Shares>,
}

/// What `--model auto` took.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Selection {
    /// The first model that answers in the order.
    pub model: String,
    /// The order of preference.
    pub order: Vec<String>,
    /// Why it stands where it does.
    pub why: String,
    /// The others that answered.
    pub answered: Vec<String>,
    /// Those that refused.
    pub refused: Vec<ModelRefused>,
}

/// A model that refused.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelRefused {
    /// Name of the model.
    pub model: String,
    /// Names of parameters or inputs that are missing.
    pub missing: Vec<String>,
    /// The reason as a clause.
    pub reason: String,
}

/// Spread of models.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Band {
    /// The shortest time in microseconds.
    pub low_us: Number,
    /// The longest.
    pub high_us: Number,
    /// How many models answer.
    pub models: u64,
}

/// The range that held most of the validated answers of a class.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// Its lower end in microseconds.
    pub low_us: Number,
    /// Its upper end.
    pub high_us: Number,
    /// Share of the rows that it held, of those that it was made of.
    pub held_share: Number,
    /// Rows of the class that it was made of.
    pub rows: u64,
    /// Rows of the class that had no part in it.
    pub other_rows: u64,
    /// Share of those that it held; `null` where there are none.
    pub coverage_share: Option<Number>,
    /// The class in a few words.
    pub class: String,
}

/// Theoretical residency of an SM.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Occupancy {
    /// CTAs on an SM.
    pub ctas_per_sm: u64,
    /// Warps on an SM.
    pub warps_per_sm: u64,
    /// Share of the warp slots.
    pub share: Number,
    /// What limits it.
    pub limiters: Vec<String>,
}

/// Shares of what the hardware can do in a time.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shares {
    /// Of the busiest of issue slots and lanes.
    pub compute: Number,
    /// Which that is.
    pub compute_resource: String,
    /// Of the memory interface.
    pub memory: Number,
}

/// The answer of one model to numbers from a file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Model {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// Title of the file.
    pub title: Option<String>,
    /// Label of the GPU that supplies what is not given.
    pub gpu: Option<String>,
    /// Name of the model.
    pub model: String,
    /// The answer.
    #[serde(flatten)]
    pub prediction: Prediction,
}

impl Identified for Model {
    const ID: &'static str = "warplens.model/2";
}
