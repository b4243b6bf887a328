//! The time of each model as a sum of parts, and its cycles per instruction.

use warplens_model::{Combine, ModelId, Prediction};

use warplens_base::error::{Error, Result};
use warplens_session::predict::Analysis;

/// Name of what overlaps with nothing and is no single term.
const REST: &str = "terms that overlap in part";

/// Every prediction of the analyses.
#[derive(Clone, PartialEq, Debug)]
pub struct Times {
    /// The predictions, in the order of launches, GPUs and models.
    pub bars: Vec<Bar>,
    /// Names of all parts, in the order of their first appearance.
    pub parts: Vec<&'static str>,
    /// Models that gave no time, with their reasons.
    pub refused: Vec<String>,
}

/// One prediction.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// The model.
    pub model: ModelId,
    /// Microseconds by part; together the time.
    pub parts: Vec<(&'static str, f64)>,
    /// Cycles that an SM takes for one warp instruction.
    pub cpi: f64,
    /// What the two models of Hong and Kim's kind weigh against each other; none for others, and without an access.
    pub parallelism: Option<Parallelism>,
}

/// How many warps of an SM do what at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parallelism {
    /// MWP: warps with an access in flight.
    pub memory: f64,
    /// CWP: warps that compute during one memory period, and the one that waits.
    pub computation: f64,
    /// N: resident warps.
    pub resident: f64,
}

impl Parallelism {
    fn of(prediction: &Prediction) -> Option<Self> {
        let called = |name| prediction.quantity_called(name);
        let resident = called("N").or_else(|| called("Active_warps_per_SM"))?;
        Some(Self { memory: called("MWP")?, computation: called("CWP")?, resident })
    }
}

impl Bar {
    /// Microseconds of a part, if the prediction has it.
    pub fn part(&self, name: &str) -> Option<f64> {
        self.parts.iter().find(|(part, _)| *part == name).map(|(_, time)| *time)
    }
}

/// Splits the times of all predictions.
pub fn times(analyses: &[Analysis]) -> Result<Times> {
    let mut times = Times { bars: Vec::new(), parts: Vec::new(), refused: Vec::new() };
    for analysis in analyses {
        let measurement = &analysis.measurement;
        let kernel = &measurement.kernel.demangled;
        for (gpu, answer) in analysis.gpus.iter().flat_map(|gpu| gpu.answers.iter().map(move |answer| (gpu, answer))) {
            match &answer.result {
                Ok(prediction) => {
                    let parts = parts(prediction);
                    let new = parts.iter().map(|(name, _)| *name).filter(|name| !times.parts.contains(name));
                    let new: Vec<&str> = new.collect();
                    times.parts.extend(new);
                    let sms = gpu.machine.number(warplens_session::machines::Key::SmCount).unwrap_or(1.0);
                    let active = sms.min(measurement.profile.launch.n_ctas() as f64).max(1.0);
                    let own = measurement.on(&gpu.machine).unwrap_or(measurement);
                    let instructions = own.profile.instructions.total.max(1) as f64;
                    let cpi = prediction.time.0 * active / instructions;
                    let (kernel, gpu) = (kernel.clone(), gpu.machine.id.clone());
                    let parallelism = Parallelism::of(prediction);
                    times.bars.push(Bar { kernel, gpu, model: prediction.model, parts, cpi, parallelism });
                }
                Err(refusal) => times.refused.push(format!("{} {}: {}", gpu.machine.id, answer.model, refusal.reason)),
            }
        }
    }
    if times.bars.is_empty() {
        let error = Error::input("no model could answer");
        return Err(times.refused.into_iter().fold(error, Error::with_detail));
    }
    Ok(times)
}

/// Parts that add up to the time: the terms where they do; the largest one where it is the time; the largest one and
/// what sticks out behind it where terms overlap in part.
fn parts(prediction: &Prediction) -> Vec<(&'static str, f64)> {
    let micro = |cycles: warplens_base::units::Cycles| cycles.at(prediction.clock).0 * 1e6;
    let largest = prediction.largest_term();
    match prediction.combine {
        Combine::Sum => prediction.terms.iter().map(|term| (term.name, micro(term.cycles))).collect(),
        Combine::Max => vec![(largest.name, micro(largest.cycles))],
        Combine::Overlapped => {
            let (time, known) = (micro(prediction.time), micro(largest.cycles));
            vec![(largest.name, known), (REST, (time - known).max(0.0))]
        }
    }
}
