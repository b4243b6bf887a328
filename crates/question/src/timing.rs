//! What users see of a timing simulation: stalls by line, cycles of a few warps, scaling. The numbers come from
//! [`Outcome`]; what is summed, ranked or divided for a view is done here.

pub mod annotate;
pub mod cycles;
pub mod dependences;
mod machine_lines;
pub mod over_warps;
pub mod scale;

use warplens_base::units::Seconds;
pub use warplens_ir::ControlCode;
use warplens_model::teg::{Simulated, Teg};
use warplens_model::{Detail, Input, Knobs, Model as _, Prediction, Refusal};
pub use warplens_sim::{Outcome, SchedulerOutcome, Stall, StallCycles, Traffic, UnitKind, UnitOutcome};
pub use warplens_trace::{Code, Place};

use warplens_base::error::Error;
use warplens_launch::KernelName;
use warplens_session::Measurement;
use warplens_session::machines::Machine;
use warplens_session::predict::{Options, occupancy_of};

pub use self::machine_lines::MachineLine;

/// Warp cycles of a place: how many, why, and how much of the whole that is.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Spent {
    /// Machine instructions of the code.
    pub instructions: u32,
    /// Warp instructions issued.
    pub issued: u64,
    /// Warp cycles by state, as Nsight Compute samples them.
    pub stalls: StallCycles,
    /// Share of the warp cycles of the kernel.
    pub share: f64,
}

impl Spent {
    /// Warp cycles for each warp instruction issued (Nsight Compute: warp cycles per issued instruction).
    pub fn cycles_per_issue(&self) -> Option<f64> {
        (self.issued > 0).then(|| self.stalls.total() as f64 / self.issued as f64)
    }

    fn add(&mut self, issued: u64, stalls: &StallCycles) {
        self.instructions += 1;
        self.issued += issued;
        self.stalls.merge(stalls);
    }

    fn of_whole(mut self, whole: u64) -> Self {
        self.share = if whole == 0 { 0.0 } else { self.stalls.total() as f64 / whole as f64 };
        self
    }
}

/// A launch on a GPU, simulated, with what its warps spent at each line.
#[derive(Clone, PartialEq, Debug)]
pub struct Annotated {
    /// The kernel.
    pub kernel: KernelName,
    /// Identifier of the GPU.
    pub gpu: String,
    /// Predicted time of the launch.
    pub time: Seconds,
    /// What the simulation of one SM found.
    pub outcome: Outcome,
    /// The same by line.
    pub annotation: annotate::Annotation,
}

/// Which warps are followed, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// The first warps of the SM, so many.
    pub warps: u32,
    /// First cycle, and the one after the last.
    pub cycles: (u64, u64),
}

/// Reads `N..M` cycles.
pub fn parse_cycles(text: &str) -> warplens_base::error::Result<(u64, u64)> {
    let cycles = text.split_once("..").and_then(|(first, last)| {
        let (first, last): (u64, u64) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first < last).then_some((first, last))
    });
    cycles.ok_or_else(|| {
        Error::usage(format!("--cycles {text}: write N..M with N below M, for example --cycles 1000..3000"))
    })
}

/// What a simulation of a launch on a GPU answers, or what is missing.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer<T> {
    /// The kernel.
    pub kernel: KernelName,
    /// Identifier of the GPU.
    pub gpu: String,
    /// The answer.
    pub result: Result<T, Refusal>,
}

/// A launch on a GPU with what its warps spent at the lines of a text.
pub fn annotated(
    measurement: &Measurement,
    machine: &Machine,
    options: Options,
    text: &annotate::Text<'_>,
) -> warplens_base::error::Result<Answer<Annotated>> {
    let program = text.program.map(|program| program.on(machine));
    let text = annotate::Text { program, ..*text };
    let result = match simulated(measurement, machine, options) {
        Ok((prediction, simulated)) => Ok(Annotated {
            kernel: measurement.kernel.clone(),
            gpu: machine.id.clone(),
            time: prediction.seconds(),
            annotation: annotate::of(&text, &simulated.code, &simulated.outcome)?,
            outcome: simulated.outcome,
        }),
        Err(refusal) => Err(refusal),
    };
    Ok(answer(measurement, machine, result))
}

/// What a few warps of a launch do, cycle by cycle.
pub fn warp_cycles(
    measurement: &Measurement,
    machine: &Machine,
    options: Options,
    window: Window,
) -> Answer<cycles::WarpCycles> {
    let result = simulated(measurement, machine, options).map(|(_, of)| {
        let followed = warplens_sim::Options {
            timeline_warps: window.warps,
            timeline_cycles: Some(window.cycles),
            ..warplens_sim::Options::default()
        };
        let outcome = warplens_sim::simulate(&of.config, &of.job(&of.traces()), followed);
        let (kernel, gpu) = (measurement.kernel.demangled.clone(), machine.id.clone());
        cycles::cycles(kernel, gpu, of.config.clock, window.cycles, &of.code, &outcome)
    });
    answer(measurement, machine, result)
}

/// What waits for what in the hottest block of machine code.
pub fn dependences(
    measurement: &Measurement,
    machine: &Machine,
    options: Options,
) -> Answer<Option<dependences::Dependences>> {
    let result = simulated(measurement, machine, options)
        .map(|(_, of)| dependences::of(&measurement.kernel.demangled, &machine.id, &of));
    answer(measurement, machine, result)
}

/// How a launch scales from one warp to a full SM.
pub fn scale(measurement: &Measurement, machine: &Machine, options: Options) -> Answer<scale::Scale> {
    let result = simulated(measurement, machine, options).map(|(prediction, of)| {
        let fits = occupancy_of(&measurement.profile.launch, machine, options).map(|occupancy| occupancy.ctas);
        let ctas = of.traces();
        scale::Scale {
            kernel: measurement.kernel.demangled.clone(),
            gpu: machine.id.clone(),
            clock_hz: of.config.clock,
            warps_per_cta: u32::try_from(ctas.first().map_or(0, |cta| cta.warps.len())).expect("warps of a CTA"),
            most_ctas: of.share.resident,
            steps: scale::steps(&of.config, &of.job(&ctas)),
            assumptions: scale::assumptions(Some(&prediction), of.share.resident, fits),
        }
    });
    answer(measurement, machine, result)
}

/// The simulation behind the prediction of `teg`.
fn simulated(
    measurement: &Measurement,
    machine: &Machine,
    options: Options,
) -> Result<(Prediction, Simulated), Refusal> {
    let own = measurement.on(machine)?;
    let input = Input { profile: &own.profile, traces: &own.traces, options, knobs: Knobs::NONE };
    let mut prediction = Teg.predict(&input, machine)?;
    let Some(Detail::Teg(simulated)) = prediction.detail.take() else {
        unreachable!("the timing simulation answers with what it simulated");
    };
    Ok((prediction, *simulated))
}

fn answer<T>(measurement: &Measurement, machine: &Machine, result: Result<T, Refusal>) -> Answer<T> {
    Answer { kernel: measurement.kernel.clone(), gpu: machine.id.clone(), result }
}

/// What all instructions spent.
pub fn whole(code: &Code, outcome: &Outcome) -> Spent {
    let mut spent = Spent::default();
    for (at, _) in code.insts.iter().enumerate() {
        spent.add(outcome.executions[at], &outcome.stalls[at]);
    }
    let cycles = spent.stalls.total();
    spent.of_whole(cycles)
}
