//! The units of the SM: each with its configuration, its state and one rule.
//!
//! A unit is reserved in the order in which instructions are issued: it says when it starts with a request, and the
//! request's completion follows. No unit knows of another; the stages put them together.
//!
//! What a run says about units is a table: [`UnitKind`].

pub(crate) mod banks;
pub(crate) mod barrier;
pub(crate) mod cache;
pub(crate) mod dram;
pub(crate) mod l2;
pub(crate) mod lsu;
pub(crate) mod port;
pub(crate) mod scheduler;
pub(crate) mod scoreboard;
pub(crate) mod share;
pub(crate) mod turns;

use std::fmt;

use crate::Pipe;

macro_rules! kinds {
    ($($(#[$meta:meta])* $name:ident $text:literal $bound:ident;)*) => {
        /// A kind of unit, of whose busy cycles an outcome tells.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum UnitKind {
            /// A pipe of the schedulers.
            Pipe(Pipe),
            $($(#[$meta])* $name,)*
        }

        impl UnitKind {
            /// Name in reports.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::Pipe(pipe) => pipe.name(),
                    $(Self::$name => $text,)*
                }
            }

            /// What is short where the unit is busy.
            pub const fn bound(self) -> Bound {
                match self {
                    Self::Pipe(pipe) => Bound::Pipe(pipe),
                    $(Self::$name => Bound::$bound,)*
                }
            }
        }
    };
}

kinds! {
    /// The schedulers.
    Issue "issue" Issue;
    /// The unit through which memory instructions leave the schedulers.
    MemoryIssue "memory issue" LoadStore;
    /// Banks of shared memory, and of the L1 cache where the two are one.
    SharedAndL1 "shared memory and L1" LoadStore;
    /// The link between the SM and the L2 cache.
    L2Link "L2 link" L2Bandwidth;
    /// The SM's share of device memory.
    DramShare "DRAM share" DramBandwidth;
}

/// What is short where a unit is busy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Issue slots.
    Issue,
    /// Cycles of a pipe.
    Pipe(Pipe),
    /// Memory instructions inside of the SM.
    LoadStore,
    /// Bytes between the SM and the L2 cache.
    L2Bandwidth,
    /// Bytes of device memory.
    DramBandwidth,
}

impl fmt::Display for UnitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
