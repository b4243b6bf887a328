//! What is counted here beside what a profiler counted on a GPU.

use std::collections::BTreeMap;

use warplens_model::{ModelId, Options};
use warplens_session::Measurement;
use warplens_session::machines::Machine;
use warplens_session::predict::{Choice, GpuAnalysis, measured_on};

use super::Validation;
use crate::measured::counters::Counter;
use crate::measured::{Row, Set};

/// A counter of a row.
#[derive(Clone, PartialEq, Debug)]
pub struct Count {
    /// The row, as messages call it.
    pub row: String,
    /// The kernel, or the name of the row.
    pub kernel: String,
    /// Label of the GPU.
    pub gpu: String,
    /// What the row has in common with others.
    pub class: Option<String>,
    /// Whether models were fitted to the row, where the table says so.
    pub set: Option<Set>,
    /// The counter.
    pub counter: Counter,
    /// What the profiler has.
    pub measured: f64,
    /// What was counted here.
    pub counted: f64,
}

impl Count {
    /// The count here over the profiler's, less 1. Where that is 0, it is 0 if there is none here, and else nothing is said.
    pub fn error(&self) -> Option<f64> {
        match (self.measured == 0.0, self.counted == 0.0) {
            (true, true) => Some(0.0),
            (true, false) => None,
            (false, _) => Some(self.counted / self.measured - 1.0),
        }
    }
}

/// Counters of rows that belong together.
#[derive(Clone, PartialEq, Debug)]
pub struct CountGroup {
    /// Label of the GPU.
    pub gpu: String,
    /// What the rows have in common.
    pub class: Option<String>,
    /// The counter.
    pub counter: Counter,
    /// How many rows have it.
    pub n_rows: usize,
    /// Mean of the absolute errors.
    pub mean_error: f64,
    /// Mean of the errors: above 0 where too much is counted.
    pub bias: f64,
    /// Of the row that is off most.
    pub worst: f64,
    /// That row.
    pub worst_row: String,
}

/// The counters of a row.
pub(super) fn counts(
    row: &Row,
    measurement: &Measurement,
    machine: &Machine,
    analysis: &GpuAnalysis,
    options: Options,
) -> Vec<Count> {
    if row.counters.is_empty() {
        return Vec::new();
    }
    // What the machine code has is in the bound that is counted on it.
    let bound = measured_on(measurement, machine, &Choice::Alone(vec![ModelId::SpeedOfLight]), options);
    let one = |&(counter, measured): &(Counter, f64)| {
        let counted = counter.of(&measurement.profile, machine.cc, &[analysis, &bound])?;
        Some(Count {
            row: row.place(),
            kernel: row.kernel.clone().unwrap_or_else(|| row.place()),
            gpu: machine.id.clone(),
            class: row.class.clone(),
            set: row.set,
            counter,
            measured,
            counted,
        })
    };
    row.counters.iter().filter_map(one).collect()
}

/// What the counters of a group have in common: the GPU, the class, and what is counted.
type Group<'c> = (&'c str, Option<&'c str>, Counter);
/// Counters with their errors.
type Members<'c> = Vec<(&'c Count, f64)>;

impl Validation {
    /// The counters by GPU and class.
    pub fn count_groups(&self) -> Vec<CountGroup> {
        let mut of: BTreeMap<Group<'_>, Members<'_>> = BTreeMap::new();
        for count in &self.counts {
            let Some(error) = count.error() else { continue };
            of.entry((&count.gpu, count.class.as_deref(), count.counter)).or_default().push((count, error));
        }
        let group = |((gpu, class, counter), members): (Group<'_>, Members<'_>)| {
            let n = members.len() as f64;
            let worst = members.iter().max_by(|left, right| left.1.abs().total_cmp(&right.1.abs()))?;
            Some(CountGroup {
                gpu: gpu.to_owned(),
                class: class.map(str::to_owned),
                counter,
                n_rows: members.len(),
                mean_error: members.iter().map(|(_, error)| error.abs()).sum::<f64>() / n,
                bias: members.iter().map(|(_, error)| error).sum::<f64>() / n,
                worst: worst.1,
                worst_row: worst.0.kernel.clone(),
            })
        };
        of.into_iter().filter_map(group).collect()
    }
}
