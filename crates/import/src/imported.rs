//! What every reader makes of its source: launches with their counts, as far as the source holds them.

use warplens_base::units::Seconds;
use warplens_launch::{Extents, KernelName};
use warplens_machine::{Machine, builtin};
use warplens_stats::{Count, Profile};

/// What no profiler counts: it takes every instruction and access one by one, which the emulator does.
pub(crate) const NEVER_COUNTED: [Count; 15] = [
    Count::Constant,
    Count::DistinctSectors,
    Count::VectorLoads,
    Count::IndependentLoads,
    Count::IndependentLoadsProgramOrder,
    Count::OverlapInstructions,
    Count::DuplicateLoads,
    Count::Lines,
    Count::GlobalLines,
    Count::GlobalCoalesced,
    Count::LocalLines,
    Count::LocalCoalesced,
    Count::LocalBytes,
    Count::SharedConflicted,
    Count::SharedPasses,
];

/// A launch that was counted elsewhere.
#[derive(Clone, PartialEq, Debug)]
pub struct Imported {
    /// The kernel.
    pub kernel: KernelName,
    /// What the source counts; the rest is named in [`Profile::absent`].
    pub profile: Profile,
    /// The time on a GPU, where the source has it.
    pub measured: Option<Measured>,
}

/// What a user says about launches, for sources that do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shape {
    /// CTAs.
    pub grid: Option<Extents>,
    /// Threads per CTA.
    pub block: Option<Extents>,
}

/// What a profiler measured on a GPU.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// Execution time of the launch in microseconds, as profilers and saved profiles tell it.
    pub time_us: f64,
    /// The GPU, as the profiler calls it, where it says so.
    pub device: Option<String>,
    /// Its target, such as `sm_80`, where the profiler says so.
    pub target: Option<String>,
    /// The profiler.
    pub profiler: String,
}

impl Measured {
    /// Execution time of the launch.
    pub fn time(&self) -> Seconds {
        Seconds(self.time_us / 1e6)
    }

    /// True unless the time is that of another GPU than `machine`, as far as the profiler says.
    pub fn is_of(&self, machine: &Machine) -> bool {
        let named = self.device.as_deref().and_then(builtin::of_device);
        match (named, &self.target) {
            (Some(named), _) => named.id == machine.board(),
            // A GPU that nobody here knows is not the one asked about.
            (None, _) if self.device.is_some() => false,
            (None, target) => target.as_ref().is_none_or(|target| *target == machine.cc.target()),
        }
    }
}
