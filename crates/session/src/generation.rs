//! Generations of GPUs: within one, a launch runs in the same way on all of them.
//!
//! An execution and its recording belong to a program and a generation. Most launches run in the same way everywhere;
//! the emulator tells when one did not.

use warplens_exec::BarrierRule;

use crate::machines::{ComputeCapability, Machine};
use crate::measure::Measurement;
use warplens_base::error::{Error, Result};

/// GPUs on which launches run in the same way, the older ones first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Generation {
    /// Before compute capability 7.0: barriers wait for warps.
    Warps,
    /// From compute capability 7.0 on, where threads are scheduled independently: barriers wait for threads. This is what
    /// runs where no GPU is named.
    #[default]
    Threads,
}

/// First compute capability with independent thread scheduling.
const INDEPENDENT_THREADS: ComputeCapability = ComputeCapability::new(7, 0);

impl Generation {
    /// The generation of GPUs with this compute capability.
    pub fn of(cc: ComputeCapability) -> Self {
        if cc < INDEPENDENT_THREADS { Self::Warps } else { Self::Threads }
    }

    /// The generations of some GPUs, the newest first; that of no GPU is the newest one.
    pub fn of_all(machines: &[Machine]) -> Vec<Self> {
        let mut generations: Vec<Self> = machines.iter().map(|machine| Self::of(machine.cc)).collect();
        generations.sort_by(|left, right| right.cmp(left));
        generations.dedup();
        if generations.is_empty() { vec![Self::default()] } else { generations }
    }

    /// Words for messages, after "GPUs".
    pub fn name(self) -> &'static str {
        match self {
            Self::Warps => "before compute capability 7.0",
            Self::Threads => "of compute capability 7.0 and later",
        }
    }

    /// Whom its CTA barriers wait for.
    pub(crate) fn barriers(self) -> BarrierRule {
        match self {
            Self::Warps => BarrierRule::Warps,
            Self::Threads => BarrierRule::Threads,
        }
    }
}

/// How a launch ran on GPUs of another generation.
#[derive(Clone, PartialEq, Debug)]
pub struct Elsewhere {
    /// The generation.
    pub generation: Generation,
    /// What was counted there, or why it does not run.
    pub result: std::result::Result<Box<Measurement>, String>,
}

/// What one generation's run of some launches gave.
pub(crate) struct Ran {
    pub(crate) measurements: Vec<Measurement>,
    /// Whether other generations run them in the same way.
    pub(crate) elsewhere: Alike,
}

/// Whether generations run launches in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Alike {
    Yes,
    Maybe,
}

impl Alike {
    /// What the number of barriers that parts of warps executed tells.
    pub(crate) fn of(partial_barriers: u64) -> Self {
        if partial_barriers == 0 { Self::Yes } else { Self::Maybe }
    }
}

/// Runs launches as the newest of some generations, and as the others too where that may make a difference. The first
/// generation on which they run is the one that the measurements are of.
pub(crate) fn on_each(
    generations: &[Generation],
    mut run: impl FnMut(Generation) -> Result<Ran>,
) -> Result<Vec<Measurement>> {
    let newest = generations.first().copied().unwrap_or_default();
    let others = generations.get(1..).unwrap_or_default();
    let first = run(newest);
    if others.is_empty() || first.as_ref().is_ok_and(|ran| ran.elsewhere == Alike::Yes) {
        return first.map(|ran| ran.measurements);
    }
    let rest = others.iter().map(|&generation| (generation, run(generation)));
    let runs: Vec<(Generation, Result<Ran>)> =
        std::iter::once((newest, first)).chain(rest.collect::<Vec<_>>()).collect();
    together(runs)
}

/// The measurements of the first run that succeeded, with what the others gave.
fn together(runs: Vec<(Generation, Result<Ran>)>) -> Result<Vec<Measurement>> {
    let main = runs.iter().position(|(_, run)| run.is_ok()).unwrap_or(0);
    let mut measurements = Vec::new();
    let mut others = Vec::new();
    for (at, (generation, run)) in runs.into_iter().enumerate() {
        if at == main {
            measurements = run?.measurements;
        } else {
            others.push((generation, run.map(|ran| ran.measurements).map_err(|error| reason(generation, &error))));
        }
    }
    for (generation, other) in others {
        for (at, measurement) in measurements.iter_mut().enumerate() {
            let result = other.as_ref().map(|of| Box::new(of[at].clone())).map_err(Clone::clone);
            measurement.elsewhere.push(Elsewhere { generation, result });
        }
    }
    Ok(measurements)
}

/// Why the launches of a run have no counts, as a clause.
fn reason(generation: Generation, error: &Error) -> String {
    let words: Vec<&str> = std::iter::once(&error.message).chain(&error.details).map(|line| line.trim()).collect();
    format!("the launch fails on GPUs {}: {}", generation.name(), words.join("; "))
}
