//! Generations of GPUs: within one, a launch runs in the same way on all of them.
//!
//! An execution and its recording belong to a program and a generation. Most launches run in the same way everywhere;
//! the emulator tells when one did not.

use warplens_exec::BarrierRule;

use crate::machines::{ComputeCapability, Machine};

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

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Warps => "warps",
            Self::Threads => "threads",
        }
    }

    /// Words for messages, after "GPUs".
    pub fn words(self) -> &'static str {
        match self {
            Self::Warps => "before compute capability 7.0",
            Self::Threads => "of compute capability 7.0 and later",
        }
    }

    /// Whom its CTA barriers wait for.
    pub fn barriers(self) -> BarrierRule {
        match self {
            Self::Warps => BarrierRule::Warps,
            Self::Threads => BarrierRule::Threads,
        }
    }
}

/// Whether generations run launches in the same way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alike {
    Yes,
    Maybe,
}

impl Alike {
    /// What the number of barriers that parts of warps executed tells.
    pub fn of(partial_barriers: u64) -> Self {
        if partial_barriers == 0 { Self::Yes } else { Self::Maybe }
    }
}
