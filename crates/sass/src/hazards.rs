//! Hazards of machine code: results that are used before the code's own scheduling guarantees them.
//!
//! Chips since Volta do not look for most dependences; the assembler does, and writes what it found into control codes. A
//! result of fixed latency may be read so many cycles after its instruction issued, which the stall counts between the
//! two have to make up; a result of variable latency has a dependency barrier, for which somebody has to wait. Here both
//! are followed along all paths of a kernel. How long fixed latencies are, nobody publishes: the shortest distances that
//! ptxas itself ever leaves are the table of [`latency`].
//!
//! Nothing is followed over a return or another jump to a computed address.

mod accesses;
mod flow;
pub mod latency;

use warplens_ir::{Bank, FunctionId};
use warplens_isa::Pc;

pub use self::flow::Distance;
use self::latency::Latencies;
use crate::lower::Lowered;

/// A result that is used too early, or overwritten too early.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Hazard {
    /// The instruction that uses or overwrites.
    pub user: Pc,
    /// The one that it should have waited for.
    pub producer: Pc,
    /// Register file of what is used.
    pub bank: Bank,
    /// Its number there.
    pub index: u32,
    /// What is wrong.
    pub kind: HazardKind,
}

/// What is wrong between two instructions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HazardKind {
    /// The stall counts between them make fewer cycles than the result takes.
    TooEarly {
        /// Cycles between them on the shortest path.
        cycles: u32,
        /// Cycles that it takes.
        needed: u32,
    },
    /// A barrier is released when the result is there, and nobody has waited for it.
    NotWaited {
        /// The barrier.
        barrier: u8,
    },
    /// The result comes at a time that nobody knows, and no barrier tells of it.
    NoBarrier,
    /// A result that is yet to be written will overwrite a newer one; its barrier, if it has one, was not waited for.
    Overwritten {
        /// The barrier.
        barrier: Option<u8>,
    },
    /// A register changes before its reader has read it, whose barrier was not waited for.
    StillRead {
        /// The barrier.
        barrier: u8,
    },
}

impl std::fmt::Display for HazardKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooEarly { cycles, needed } => {
                write!(f, "is read {cycles} cycles after it issues, and its result takes {needed}")
            }
            Self::NotWaited { barrier } => {
                write!(f, "is not waited for: barrier {barrier} tells when its result is there")
            }
            Self::NoBarrier => f.write_str("has no barrier that tells when its result is there"),
            Self::Overwritten { barrier: Some(barrier) } => {
                write!(f, "may write after the newer result: barrier {barrier} is not waited for")
            }
            Self::Overwritten { barrier: None } => f.write_str("may write after the newer result: it has no barrier"),
            Self::StillRead { barrier } => {
                write!(f, "may not have read its source: barrier {barrier} is not waited for")
            }
        }
    }
}

/// The hazards of a kernel, by the place of the user.
pub fn of(lowered: &Lowered, kernel: FunctionId, latencies: &Latencies) -> Vec<Hazard> {
    let mut hazards = Vec::new();
    let Lowered { module, listing } = lowered;
    flow::follow((module, listing), kernel, &mut |found| match found {
        flow::Found::Hazard(hazard) => hazards.push(hazard),
        flow::Found::Distance(distance) => {
            let needed = latencies.of(module, &distance);
            if let Some(needed) = needed.filter(|&needed| distance.cycles < needed) {
                let Distance { user, producer, bank, index, cycles, .. } = distance;
                let kind = HazardKind::TooEarly { cycles, needed };
                hazards.push(Hazard { user, producer, bank, index, kind });
            }
        }
    });
    hazards.sort_unstable();
    hazards.dedup();
    hazards
}

/// The distances between producers of fixed latency and their users.
pub fn distances(lowered: &Lowered, kernel: FunctionId) -> Vec<Distance> {
    let mut distances = Vec::new();
    flow::follow((&lowered.module, &lowered.listing), kernel, &mut |found| {
        if let flow::Found::Distance(distance) = found {
            distances.push(distance);
        }
    });
    distances
}
