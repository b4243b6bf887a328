//! Kernels under the roofs of GPUs: the issue slots, and the memory interface.
//!
//! Both axes count warp instructions, which every kernel has, whatever it computes with: per 32-byte sector of device
//! memory to the right, per second upwards.

use warplens_model::{ModelId, Options, Prediction, Resource, Symbol};

use warplens_base::error::{Error, Result};
use warplens_session::predict::{Analysis, Choice, measured_on};
use warplens_stats::sector;

const SECTOR: f64 = sector::BYTES as f64;
const GIGA: f64 = 1e9;
/// The axis goes this far beyond ridges and kernels, as a factor.
const BEYOND: f64 = 8.0;

/// Roofs and the kernels below them.
#[derive(Clone, PartialEq, Debug)]
pub struct Rooflines {
    /// One per GPU.
    pub roofs: Vec<Roof>,
    /// One per launch and GPU.
    pub kernels: Vec<Attained>,
}

/// What a GPU can do.
#[derive(Clone, PartialEq, Debug)]
pub struct Roof {
    /// Identifier of the GPU.
    pub gpu: String,
    /// Billions of warp instructions per second that its SMs issue.
    pub peak: f64,
    /// Sectors, in billions per second, that its memory moves.
    pub sectors: f64,
    /// The roof: instructions per sector, billions of instructions per second.
    pub line: Vec<(f64, f64)>,
}

impl Roof {
    /// Instructions per sector at which the two roofs meet.
    pub fn ridge(&self) -> f64 {
        self.peak / self.sectors
    }
}

/// What a kernel does of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Attained {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// The model that predicts its time.
    pub model: ModelId,
    /// Warp instructions per distinct sector.
    pub intensity: f64,
    /// Billions of warp instructions per second.
    pub throughput: f64,
}

/// Places every kernel that has a time and moves data.
pub fn rooflines(analyses: &[Analysis], options: Options) -> Result<Rooflines> {
    let mut roofs: Vec<Roof> = Vec::new();
    let mut kernels = Vec::new();
    let mut reasons = Vec::new();
    for analysis in analyses {
        let kernel = &analysis.measurement.kernel.demangled;
        for gpu in &analysis.gpus {
            let bound = Choice::Alone(vec![ModelId::Roofline]);
            let bound = measured_on(&analysis.measurement, &gpu.machine, &bound, options);
            let id = &gpu.machine.id;
            let Some((bound, prediction)) = bound.prediction().zip(gpu.prediction()) else {
                let refusals =
                    bound.answers.iter().chain(&gpu.answers).filter_map(|answer| answer.result.as_ref().err());
                reasons.extend(refusals.map(|refusal| format!("{kernel} on {id}: {}", refusal.reason)).next());
                continue;
            };
            match place(bound, prediction) {
                Some((roof, intensity, throughput)) => {
                    if roofs.iter().all(|other| other.gpu != *id) {
                        roofs.push(Roof { gpu: id.clone(), peak: roof.0, sectors: roof.1, line: Vec::new() });
                    }
                    let (kernel, gpu, model) = (kernel.clone(), id.clone(), prediction.model);
                    kernels.push(Attained { kernel, gpu, model, intensity, throughput });
                }
                None => {
                    reasons.push(format!("{kernel} on {id}: it moves no data, so that it has no place on a roofline"))
                }
            }
        }
    }
    if kernels.is_empty() {
        let error = Error::input("no kernel has a place on a roofline");
        return Err(reasons.into_iter().fold(error, Error::with_detail));
    }
    draw(&mut roofs, &kernels);
    Ok(Rooflines { roofs, kernels })
}

/// Peak and memory rate of the GPU, intensity and throughput of the kernel.
fn place(bound: &Prediction, prediction: &Prediction) -> Option<((f64, f64), f64, f64)> {
    let seconds = |resource| {
        let term = bound.terms.iter().find(|term| term.resource == resource)?;
        Some(term.cycles.at(bound.clock).0).filter(|seconds| *seconds > 0.0)
    };
    let instructions = bound.quantity(Symbol::Warps)? * bound.quantity(Symbol::SlotsPerWarp)?;
    let sectors = bound.quantity(Symbol::DistinctBytes)? / SECTOR;
    let roof = (instructions / seconds(Resource::Issue)? / GIGA, sectors / seconds(Resource::DramBandwidth)? / GIGA);
    let time = prediction.seconds().0;
    (time > 0.0).then(|| (roof, instructions / sectors, instructions / time / GIGA))
}

/// The roofs over the range of all ridges and kernels.
fn draw(roofs: &mut [Roof], kernels: &[Attained]) {
    let places = || roofs.iter().map(Roof::ridge).chain(kernels.iter().map(|kernel| kernel.intensity));
    let low = places().fold(f64::INFINITY, f64::min) / BEYOND;
    let high = places().fold(0.0, f64::max) * BEYOND;
    for roof in roofs {
        let ridge = roof.ridge();
        roof.line = vec![(low, low * roof.sectors), (ridge, roof.peak), (high, roof.peak)];
    }
}
