//! `warplens.validate/1`: predictions against measured times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Validate>("predictions against measured times")];

/// The document of the `validate` verb. An error is the predicted time over the measured one, less 1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Validate {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The tables of measured times.
    pub tables: Vec<MeasuredTable>,
    /// Rows of other GPUs than those that were asked about.
    pub rows_of_other_gpus: u64,
    /// Errors of rows that belong together.
    pub groups: Vec<ErrorGroup>,
    /// Every prediction.
    pub predictions: Vec<MeasuredPrediction>,
    /// Rows without a prediction.
    pub not_predicted: Vec<NotPredicted>,
    /// What changes gain, where both rows have a prediction.
    #[serde(default)]
    pub gains: Vec<MeasuredGain>,
    /// In which range around a prediction measured times lie, by class of answers.
    #[serde(default)]
    pub ranges: Vec<ErrorRange>,
    /// What was counted beside the counters of a profiler.
    #[serde(default)]
    pub counts: Vec<CounterGroup>,
    /// Where errors are greater than those of a baseline; empty without one.
    #[serde(default)]
    pub worse_than_baseline: Vec<WorseGroup>,
}

impl Identified for Validate {
    const ID: &'static str = "warplens.validate/1";
}

/// A table of measured times.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredTable {
    /// Its file.
    pub table: String,
    /// Its rows, without those that no model predicts.
    pub rows: u64,
}

/// Errors of a model on rows that belong together.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorGroup {
    /// `training` where models or parameters of GPUs were fitted to the rows, `held-out` where nothing was; null where the
    /// tables do not say.
    pub set: Option<String>,
    /// Name of the model; `auto` for the preferred one of each row, `given` for predictions of the tables.
    pub model: String,
    /// Label of the GPU; null for all of them together.
    pub gpu: Option<String>,
    /// What the rows have in common.
    pub class: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Mean of the absolute errors.
    pub mean_error_share: Number,
    /// Median of the absolute errors.
    pub median_error_share: Number,
    /// Mean of the errors: above 0 where times are predicted too long.
    pub bias_share: Number,
    /// Spearman's rank correlation of predicted and measured times; null where it is not defined.
    pub rank_correlation: Option<Number>,
    /// Geometric mean of the absolute errors, Hong and Kim's measure; an error below 0.0001 counts as 0.0001.
    #[serde(default)]
    pub geometric_error_share: Option<Number>,
    /// Arithmetic mean of the smaller of both times over the larger, Luo and Suda's accuracy.
    #[serde(default)]
    pub accuracy_share: Option<Number>,
    /// Geometric mean of the same.
    #[serde(default)]
    pub geometric_accuracy_share: Option<Number>,
    /// 1 less the mean absolute error of the throughput, the X-model's accuracy; below 0 where that error is above 1.
    #[serde(default)]
    pub throughput_accuracy_share: Option<Number>,
    /// The predictions with the largest errors, the worst first, as indices into `predictions`.
    pub worst: Vec<u64>,
}

/// A prediction beside what was measured.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredPrediction {
    /// Table and line of the row.
    pub row: String,
    /// The kernel, or the name of the row.
    pub kernel: String,
    /// As in the groups.
    pub set: Option<String>,
    /// As in the groups.
    pub model: String,
    /// Label of the GPU.
    pub gpu: String,
    /// As in the groups.
    pub class: Option<String>,
    /// Measured time in microseconds.
    pub measured_us: Number,
    /// Predicted time in microseconds.
    pub predicted_us: Number,
    /// Predicted over measured time, less 1.
    pub error_share: Number,
    /// The resource that bounds the launch; null where the table does not say.
    #[serde(default)]
    pub bound_by: Option<String>,
    /// How much of the launch was simulated: `whole`, `carried on`, `cut short`; null where nothing was.
    #[serde(default)]
    pub simulated: Option<String>,
}

/// A kernel and its change that does the same work: the time before over that after.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredGain {
    /// As in the groups.
    pub model: String,
    /// Label of the GPU.
    pub gpu: String,
    /// The kernel before.
    pub from: String,
    /// Table and line of its row.
    pub from_row: String,
    /// The kernel that does the work instead.
    pub to: String,
    /// Table and line of its row.
    pub to_row: String,
    /// `training` where both rows are, `held-out` where one of them is; null where the tables do not say.
    pub set: Option<String>,
    /// Measured time before over that after: above 1 where the change is faster.
    pub measured: Number,
    /// Predicted time before over that after.
    pub predicted: Number,
    /// The predicted gain over the measured one, less 1.
    pub error_share: Number,
}

/// The range in which the middle 80 % of the training rows of a class lie.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorRange {
    /// Name of the model.
    pub model: String,
    /// The resource that bounds the launches.
    pub bound_by: String,
    /// Compute capability of the GPUs.
    pub generation: String,
    /// How much of the launches was simulated; null where nothing was.
    pub simulated: Option<String>,
    /// Number of training rows.
    pub training_rows: u64,
    /// Least measured over predicted time; null where training rows are too few for a range.
    pub least_factor: Option<Number>,
    /// Greatest measured over predicted time; null where training rows are too few for a range.
    pub greatest_factor: Option<Number>,
    /// Number of held-out rows.
    pub held_out_rows: u64,
    /// The share of the held-out rows that lie in the range; null without a range or without such rows.
    pub coverage_share: Option<Number>,
}

/// Rows whose predictions are further off than those of a baseline.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorseGroup {
    /// As in the groups.
    pub set: Option<String>,
    /// As in the groups.
    pub model: String,
    /// As in the groups.
    pub gpu: Option<String>,
    /// As in the groups.
    pub class: Option<String>,
    /// Rows that both have a prediction for.
    pub rows: u64,
    /// Mean of their absolute errors in the baseline; null where there are none.
    pub before_share: Option<Number>,
    /// The same now.
    pub now_share: Option<Number>,
    /// Rows that only the baseline has a prediction for.
    pub lost_rows: u64,
}

/// Rows without a prediction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotPredicted {
    /// Their table.
    pub table: String,
    /// The model that refused; null where no model could be asked.
    pub model: Option<String>,
    /// Label of their GPU; null where the rows have none.
    pub gpu: Option<String>,
    /// Number of rows.
    pub rows: u64,
    /// Line of the first of them; null where the rows were not read.
    pub line: Option<u64>,
    /// Why.
    pub reason: String,
}

/// Counters of rows that belong together. An error is the count here over the profiler's, less 1.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterGroup {
    /// Label of the GPU.
    pub gpu: String,
    /// What the rows have in common.
    pub class: Option<String>,
    /// Name of the counter.
    pub counter: String,
    /// Number of rows.
    pub rows: u64,
    /// Mean of the absolute errors.
    pub mean_error_share: Number,
    /// Mean of the errors: above 0 where too much is counted.
    pub bias_share: Number,
    /// The largest error.
    pub worst_error_share: Number,
    /// The kernel that has it.
    pub worst_kernel: String,
}
