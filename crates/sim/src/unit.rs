//! The units of the SM: each with its configuration, its state and one rule.
//!
//! A unit is reserved in the order in which instructions are issued: it says when it starts with a request, and the
//! request's completion follows. No unit knows of another; the stages put them together.
//!
//! Most units are joined by hand, because each has a place of its own in [`memory`](crate::memory) or the stages. Those
//! that only delay accesses which others have served are rows of `delays!`: a file with what is read from the machine,
//! the state and the rule, and nothing elsewhere.
//! What a run says about units is a table: [`UnitKind`].

pub(crate) mod atomics;
pub(crate) mod banks;
pub(crate) mod barrier;
pub(crate) mod cache;
pub(crate) mod dram;
pub(crate) mod l2;
pub(crate) mod lsu;
pub(crate) mod phases;
pub(crate) mod port;
pub(crate) mod register_file;
pub(crate) mod rows;
pub(crate) mod scheduler;
pub(crate) mod scoreboard;
pub(crate) mod share;
pub(crate) mod turns;

use std::fmt;

use warplens_machine::{Missing, Reader};
use warplens_stats::Request;
use warplens_stats::bank::Passes;
use warplens_trace::MachineClass;

use crate::effect::effects;
use crate::memory::Arrival;
use crate::{Job, Pipe, SmConfig, Without};

effects! {
    /// Shared-memory bank conflicts.
    BankConflicts "bank-conflicts" "each shared-memory access takes the passes of one without conflicts";
    /// Accesses that take more transactions than their bytes need.
    Uncoalesced "uncoalesced" "the distinct bytes of each memory request lie side by side, so that it takes the fewest transactions";
    /// Uneven use of the memory channels.
    ChannelSkew "channel-skew" "requests spread evenly over the channels of device memory";
    /// Paths of a warp executed one after the other.
    Divergence "divergence" "the work of partly active warp instructions is done by warps with all their lanes";
    /// Waiting at barriers.
    Synchronisation "synchronisation" "no warp waits at a barrier; the barriers' instructions stay";
    /// Waiting for results of the same warp.
    DependenceLatency "dependence-latency" "no instruction waits for another of its warp";
    /// Cycles that an instruction occupies its warp and its unit.
    IssueOccupancy "issue-occupancy" "an instruction occupies its warp, its scheduler and its unit for one cycle";
    /// Misses of the caches.
    CacheMisses "cache-misses" "every access to global or local memory hits the first cache that the machine has";
    /// Round trip to memory.
    MemoryLatency "memory-latency" "a load from device memory takes no longer than one from the nearest memory of the SM";
    /// Atomic operations on one word, which are done one after the other.
    SameAddress "same-address" "atomic operations on one word, of global and of shared memory, do not wait for each other";
    /// Limited bandwidth of memory.
    MemoryBandwidth "memory-bandwidth" "caches and device memory take any number of requests at once";
}

/// A unit that delays accesses after the memory system has served them.
pub(crate) trait Delay<'a>: Sized {
    /// Its numbers.
    type Config: Copy;

    /// Reads its numbers from a machine, for a kernel that uses these classes: only what those need.
    fn read(reader: &mut Reader<'_>, used: &[MachineClass]) -> Result<Self::Config, Missing>;

    /// Its state when a job starts.
    fn new(config: &Self::Config, sm: &SmConfig, job: &Job<'a>, without: Without) -> Self;

    /// An access to shared memory is about to take these passes over the banks; returns those that it takes.
    fn passes(&self, _: &Arrival<'_>, _: &Request<'_>, passes: Passes) -> Passes {
        passes
    }

    /// An access was served by shared memory, by the caches, or by what is behind them, at `done`; returns when it is done with
    /// this unit as well.
    fn served(&mut self, _: &Arrival<'_>, _: &Request<'_>, done: f64) -> f64 {
        done
    }

    /// Cycles in which it was busy, where it was used.
    fn busy(&self) -> Option<(UnitKind, f64)> {
        None
    }
}

macro_rules! delays {
    ($($(#[$meta:meta])* $name:ident: $module:ident::$unit:ident => $config:ty;)*) => {
        /// Numbers of the units that delay accesses.
        #[derive(Clone, Copy, PartialEq, Debug, Default)]
        pub struct DelayConfig {
            $($(#[$meta])* pub $name: $config,)*
        }

        impl DelayConfig {
            pub(crate) fn read(reader: &mut Reader<'_>, used: &[MachineClass]) -> Result<Self, Missing> {
                Ok(Self { $($name: <$module::$unit<'_> as Delay<'_>>::read(reader, used)?,)* })
            }
        }

        /// The units that delay accesses.
        #[derive(Debug)]
        pub(crate) struct Delays<'a> {
            $($name: $module::$unit<'a>,)*
        }

        impl<'a> Delays<'a> {
            pub(crate) fn new(sm: &SmConfig, job: &Job<'a>, without: Without) -> Self {
                Self { $($name: <$module::$unit<'a> as Delay<'a>>::new(&sm.delays.$name, sm, job, without),)* }
            }

            pub(crate) fn passes(&self, arrival: &Arrival<'_>, request: &Request<'_>, passes: Passes) -> Passes {
                $(let passes = self.$name.passes(arrival, request, passes);)*
                passes
            }

            pub(crate) fn served(&mut self, arrival: &Arrival<'_>, request: &Request<'_>, done: f64) -> f64 {
                $(let done = self.$name.served(arrival, request, done);)*
                done
            }

            pub(crate) fn busy(&self) -> impl Iterator<Item = (UnitKind, f64)> {
                [$(self.$name.busy(),)*].into_iter().flatten()
            }
        }
    };
}

delays! {
    /// Atomic operations on the same address.
    atomics: atomics::Atomics => atomics::AtomicConfig;
}

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
    /// The schedulers, which issue or are held back by an instruction that waits for its registers.
    Issue "issue" Issue;
    /// The unit through which memory instructions leave the schedulers.
    MemoryIssue "memory issue" LoadStore;
    /// Banks of shared memory, and of the L1 cache where the two are one.
    SharedAndL1 "shared memory and L1" LoadStore;
    /// The link between the SM and the L2 cache.
    L2Link "L2 link" L2Bandwidth;
    /// The SM's share of device memory.
    DramShare "DRAM share" DramBandwidth;
    /// The word of global memory on which most atomic operations are done.
    AtomicWord "atomics on one word" Atomics;
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
    /// Atomic operations on one word of global memory, which are done one after the other.
    Atomics,
}

impl fmt::Display for UnitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
