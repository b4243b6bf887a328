//! Folds the events of an execution into a [`Profile`].
//!
//! Main types: [`Program`], the static facts of a kernel; [`Recorder`], the observer that counts; [`Profile`], the result;
//! [`Tracer`], the observer that keeps what warps executed, and [`TracedCta`], its result.
//! The rules of the hardware are plain functions: [`coalescing`] and [`bank`].
//!
//! Invariants: counts are integers and do not depend on the order of CTAs or the number of host threads; every rule is
//! applied to the same events, so that one run answers for all GPUs.
//! This crate does not know about the emulator, machines or time.

mod access;
pub mod bank;
mod batches;
pub mod coalescing;
mod dependence;
mod duplicates;
mod finish;
mod footprint;
mod listing;
mod parallelism;
mod profile;
mod program;
mod recorder;
mod sample;
pub mod sector;
mod sectors;
pub mod statistics;
mod totals;
mod tracer;

pub use coalescing::{Request, Segment, Sizes, Transactions};
pub use finish::{Counting, FinishOptions};
pub use footprint::{Extents, Footprint, Lines, Sharing, Words, pattern_ctas};
pub use listing::Executed;
pub use profile::{
    BankRule, CoalescingRule, ConstantCounts, Count, Counted, Coverage, InstructionCounts, LaunchShape, LineCounts,
    MemoryCounts, OpcodeCount, Profile, RegistersBasis, SharedCounts,
};
pub use program::Program;
pub use recorder::{CtaRecord, Recorder, Times};
pub use statistics::{
    CostKind, NumberKind, Period, PeriodStream, Periods, Reuse, ReuseHistogram, Statistics, StreamPart,
};
pub use tracer::{MemoryPlace, Recorded, TraceRequest, TracedCta, TracedState, Tracer};
