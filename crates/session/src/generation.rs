//! Generations of GPUs: within one, a launch runs in the same way on all of them.
//!
//! An execution and its recording belong to a program and a generation. Most launches run in the same way everywhere;
//! the emulator tells when one did not.

use warplens_exec::{BarrierRule, TensorCores};

use crate::machines::{ComputeCapability, Machine};

/// GPUs on which launches run in the same way, the older ones first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Generation {
    /// Before compute capability 7.0: barriers wait for warps.
    Warps,
    /// From compute capability 7.0 on, where threads are scheduled independently: barriers wait for threads. This is what
    /// runs where no GPU is named, with the tensor cores of the newest GPUs.
    #[default]
    Threads,
    /// 7.0 and 7.2, with the first tensor cores.
    Volta,
    /// 7.5.
    Turing,
    /// 8.0 to 8.7.
    Ampere,
    /// 8.9.
    Ada,
    /// 9.0.
    Hopper,
    /// 10.x.
    Blackwell,
    /// 12.x.
    RtxBlackwell,
}

/// First compute capability with independent thread scheduling.
const INDEPENDENT_THREADS: ComputeCapability = ComputeCapability::new(7, 0);

impl Generation {
    /// The generation of GPUs with this compute capability. Where none is known, it is that of the next older GPUs.
    pub fn of(cc: ComputeCapability) -> Self {
        let from = |major, minor| cc >= ComputeCapability::new(major, minor);
        match () {
            () if cc < INDEPENDENT_THREADS => Self::Warps,
            () if from(12, 0) => Self::RtxBlackwell,
            () if from(10, 0) => Self::Blackwell,
            () if from(9, 0) => Self::Hopper,
            () if from(8, 9) => Self::Ada,
            () if from(8, 0) => Self::Ampere,
            () if from(7, 5) => Self::Turing,
            () => Self::Volta,
        }
    }

    /// True if GPUs with this compute capability are of the generation.
    pub fn has(self, cc: ComputeCapability) -> bool {
        match self {
            Self::Threads => cc >= INDEPENDENT_THREADS,
            _ => self == Self::of(cc),
        }
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
            Self::Volta => "volta",
            Self::Turing => "turing",
            Self::Ampere => "ampere",
            Self::Ada => "ada",
            Self::Hopper => "hopper",
            Self::Blackwell => "blackwell",
            Self::RtxBlackwell => "rtx-blackwell",
        }
    }

    /// Words for messages, after "GPUs".
    pub fn words(self) -> &'static str {
        match self {
            Self::Warps => "before compute capability 7.0",
            Self::Threads => "of compute capability 7.0 and later",
            Self::Volta => "of compute capability 7.0 and 7.2",
            Self::Turing => "of compute capability 7.5",
            Self::Ampere => "of compute capability 8.0 to 8.7",
            Self::Ada => "of compute capability 8.9",
            Self::Hopper => "of compute capability 9.0",
            Self::Blackwell => "of compute capability 10",
            Self::RtxBlackwell => "of compute capability 12",
        }
    }

    /// Whom its CTA barriers wait for.
    pub fn barriers(self) -> BarrierRule {
        if self == Self::Warps { BarrierRule::Warps } else { BarrierRule::Threads }
    }

    /// The tensor cores that multiply its matrices. Older GPUs have none, and no code for them.
    pub fn tensor_cores(self) -> TensorCores {
        match self {
            Self::Warps | Self::Volta => TensorCores::Volta,
            Self::Turing => TensorCores::Turing,
            Self::Ampere => TensorCores::Ampere,
            Self::Ada => TensorCores::Ada,
            Self::Hopper => TensorCores::Hopper,
            Self::Blackwell => TensorCores::Blackwell,
            Self::Threads | Self::RtxBlackwell => TensorCores::RtxBlackwell,
        }
    }
}

/// What launches executed that generations may execute differently.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Differing {
    /// Barriers to which parts of warps came.
    pub partial_barriers: u64,
    /// Products of matrices.
    pub matrix_products: u64,
}

impl Differing {
    /// What is taken for granted of launches that failed: their barriers may have made them fail.
    pub const OF_FAILED: Self = Self { partial_barriers: 1, matrix_products: 0 };

    /// Whether two generations run the launches in the same way.
    pub fn are_alike(self, a: Generation, b: Generation) -> bool {
        (self.partial_barriers == 0 || a.barriers() == b.barriers())
            && (self.matrix_products == 0 || a.tensor_cores() == b.tensor_cores())
    }
}
