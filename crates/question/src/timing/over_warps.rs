//! The time of a launch's work by the number of warps that do it: figure 8 of Luo and Suda (2011), by their model.
//!
//! The work stays the same while 1 to all warps that an SM holds run on each SM, so that each of few warps does more of it.
//! How many of the launch's own warps fit does not matter.

use warplens_model::luo_suda::figures::time_over_warps;
use warplens_model::luo_suda::{Forms, Prepared};
use warplens_model::{AssumptionId, Input, Knobs, Refusal};
use warplens_session::Measurement;
use warplens_session::machines::Machine;
use warplens_session::predict::Options;

use super::Answer;

pub use warplens_model::luo_suda::figures::Point;

/// Predicted times by the number of warps on each SM.
#[derive(Clone, PartialEq, Debug)]
pub struct OverWarps {
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// The clock whose cycles the points count, in hertz.
    pub clock_hz: f64,
    /// One point for each number of warps, from 1.
    pub points: Vec<Point>,
    /// What must hold for the numbers to mean anything.
    pub assumptions: Vec<String>,
}

impl OverWarps {
    /// How many times as fast as one warp on each SM; none where nothing takes time.
    pub fn speedup(&self, point: &Point) -> Option<f64> {
        let first = self.points.first()?;
        (point.cycles > 0.0).then(|| first.cycles / point.cycles)
    }
}

/// What the model says of how a launch fills the SMs, which has no part here.
const OF_LAUNCH: &[AssumptionId] = &[AssumptionId::WavesInTurn, AssumptionId::RealWaves, AssumptionId::WholeWaves];

/// The time of a launch over warps, on a GPU.
pub fn over_warps(measurement: &Measurement, machine: &Machine, options: Options) -> Answer<OverWarps> {
    super::answer(measurement, machine, points(measurement, machine, options))
}

fn points(measurement: &Measurement, machine: &Machine, options: Options) -> Result<OverWarps, Refusal> {
    let own = measurement.on(machine)?;
    let input = Input { profile: &own.profile, traces: &own.traces, options, knobs: Knobs::NONE };
    let prepared = Prepared::new(&input, machine)?;
    let (clock_hz, points) = (prepared.clock, time_over_warps(&prepared.inputs, prepared.warps, Forms::of(&options)));
    let assumptions = prepared.prediction(&options)?.assumptions;
    Ok(OverWarps {
        kernel: measurement.kernel.demangled.clone(),
        gpu: machine.id.clone(),
        clock_hz,
        points: points?,
        assumptions: assumptions
            .into_iter()
            .filter(|said| !OF_LAUNCH.contains(&said.id))
            .map(|said| said.text)
            .collect(),
    })
}
