//! Launches that run once for each generation of GPUs on which they may run differently.

use warplens_base::error::{Error, Result};

use crate::generation::{Alike, Generation};
use crate::measurement::{Elsewhere, Measurement};

/// What one generation's run of some launches gave.
pub struct Ran {
    pub measurements: Vec<Measurement>,
    /// Whether other generations run them in the same way.
    pub elsewhere: Alike,
}

/// Runs launches as the newest of some generations, and as the others too where that may make a difference. The first
/// generation on which they run is the one that the measurements are of.
pub fn on_each(generations: &[Generation], mut run: impl FnMut(Generation) -> Result<Ran>) -> Result<Vec<Measurement>> {
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
    format!("the launch fails on GPUs {}: {}", generation.words(), words.join("; "))
}
