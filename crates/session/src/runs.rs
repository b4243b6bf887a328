//! Launches that run more than once: for each generation of GPUs on which they may run differently, and for each target
//! that CUDA C++ was compiled for.

use warplens_base::error::{Error, Result};

use crate::generation::{Differing, Generation};
use crate::machines::ComputeCapability;
use crate::measurement::{Elsewhere, Measurement};

/// What one generation's run of some launches gave.
pub struct Ran {
    pub measurements: Vec<Measurement>,
    /// What was executed that other generations may execute differently.
    pub differing: Differing,
}

/// The GPUs that a run is for; all that no other run is for where neither is said.
#[derive(Clone, Copy, Default)]
struct Gpus {
    generation: Option<Generation>,
    target: Option<ComputeCapability>,
}

impl Gpus {
    /// Words for messages, behind "the launch fails".
    fn words(self) -> String {
        let of_generation = self.generation.map(|generation| format!("on GPUs {}", generation.words()));
        let of_target = self.target.map(|target| format!("as compiled for {}", target.target()));
        let words: Vec<String> = of_generation.into_iter().chain(of_target).collect();
        words.join(", ")
    }
}

/// Runs launches as the newest of some generations, and as the others too where that may make a difference. The first
/// generation on which they run is the one that the measurements are of.
pub fn on_each(generations: &[Generation], mut run: impl FnMut(Generation) -> Result<Ran>) -> Result<Vec<Measurement>> {
    let newest = generations.first().copied().unwrap_or_default();
    let others = generations.get(1..).unwrap_or_default();
    let first = run(newest);
    let differing = first.as_ref().map_or(Differing::OF_FAILED, |ran| ran.differing);
    let failed = first.as_ref().err().cloned();
    let mut runs = vec![(newest, first)];
    for &generation in others {
        match (differing.are_alike(newest, generation), &failed) {
            (true, None) => {}
            (true, Some(error)) => runs.push((generation, Err(error.clone()))),
            (false, _) => runs.push((generation, run(generation))),
        }
    }
    let of = |(generation, run): (Generation, Result<Ran>)| {
        (Gpus { generation: Some(generation), target: None }, run.map(|ran| ran.measurements))
    };
    together(runs.into_iter().map(of).collect())
}

/// Puts together what the codes for some targets gave. The first of them that runs is the one that the measurements are of.
pub fn of_targets(runs: Vec<(ComputeCapability, Result<Vec<Measurement>>)>) -> Result<Vec<Measurement>> {
    let of = |(target, run)| (Gpus { generation: None, target: Some(target) }, run);
    together(runs.into_iter().map(of).collect())
}

/// The measurements of the first run that succeeded, with what the others gave.
fn together(runs: Vec<(Gpus, Result<Vec<Measurement>>)>) -> Result<Vec<Measurement>> {
    let main = runs.iter().position(|(_, run)| run.is_ok()).unwrap_or(0);
    let mut measurements = Vec::new();
    let mut others = Vec::new();
    for (at, (gpus, run)) in runs.into_iter().enumerate() {
        if at == main {
            measurements = run?;
            let nested = measurements.iter_mut().flat_map(|measurement: &mut Measurement| &mut measurement.elsewhere);
            nested.for_each(|elsewhere| elsewhere.target = gpus.target);
        } else {
            others.push((gpus, run.map_err(|error| reason(gpus, &error))));
        }
    }
    for (gpus, other) in others {
        let Gpus { generation, target } = gpus;
        for (at, measurement) in measurements.iter_mut().enumerate() {
            let mut result = other.as_ref().map(|of| Box::new(of[at].clone())).map_err(Clone::clone);
            // What is said of fewer GPUs is found first.
            if let Ok(of) = &mut result {
                let nested = std::mem::take(&mut of.elsewhere).into_iter();
                measurement.elsewhere.extend(nested.map(|elsewhere| Elsewhere { target, ..elsewhere }));
            }
            measurement.elsewhere.push(Elsewhere { generation, target, result });
        }
    }
    Ok(measurements)
}

/// Why the launches of a run have no counts, as a clause.
fn reason(gpus: Gpus, error: &Error) -> String {
    let words: Vec<&str> = std::iter::once(&error.message).chain(&error.details).map(|line| line.trim()).collect();
    format!("the launch fails {}: {}", gpus.words(), words.join("; "))
}
