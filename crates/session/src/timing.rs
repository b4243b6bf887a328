//! What users see of a timing simulation: stalls by line, cycles of a few warps, scaling. The numbers come from
//! [`Outcome`]; what is summed, ranked or divided for a view is done here.

pub mod annotate;
pub mod cycles;
pub mod scale;

use warplens_base::units::Seconds;
pub use warplens_sim::{Outcome, SchedulerOutcome, Stall, StallCycles, Traffic, UnitOutcome};
pub use warplens_trace::{Code, Place};

use crate::program::KernelName;

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

/// What all instructions spent.
pub fn whole(code: &Code, outcome: &Outcome) -> Spent {
    let mut spent = Spent::default();
    for (at, _) in code.insts.iter().enumerate() {
        spent.add(outcome.executions[at], &outcome.stalls[at]);
    }
    let cycles = spent.stalls.total();
    spent.of_whole(cycles)
}
