//! The facade: load an input, lower it, run it, measure it, predict. With `report` it is all that a client needs.
//!
//! Main types: [`launch::Launch`], what is to be run; [`Error`], grouped by who has to act.
//! This crate reads files and runs compilers; it does not know about terminals, formats or flags.

pub mod compare;
pub mod coverage;
mod error;
mod execution;
pub mod explain;
mod failure;
mod gate;
mod generation;
mod host;
pub mod import;
mod input;
pub mod launch;
pub mod listing;
pub mod machines;
mod measure;
pub mod native;
pub mod plot;
pub mod predict;
mod program;
mod race;
mod registers;
pub mod saved;
pub mod source;
mod source_names;
pub mod stages;
pub mod statics;
pub mod timing;
pub mod toolchain;
mod trace;
pub mod tune;
pub mod whatif;

pub use error::{Error, ErrorKind, Findings, Result};
pub use execution::{
    DEFAULT_BUDGET, Emulation, ExecutionOptions, Extent, Output, OutputRequest, Progress, RunResult, run,
};
pub use gate::Gate;
pub use generation::{Elsewhere, Generation};
pub use input::{Input, InputKind};
pub use measure::{FULL_LIMIT, Measured, Measurement, Support, measure};
pub use predict::{Analysis, Choice};
pub use program::{KernelName, Program};
pub use race::Race;
pub use warplens_base::nearest;

pub use warplens_model::x_model;

/// The counts of a launch.
pub mod profile {
    pub use warplens_isa::{Family, InstKey, OpClass, OpcodeText, ScalarType, SlowOperation, Spelling, StateSpace};
    pub use warplens_stats::{
        BankRule, CoalescingRule, ConstantCounts, CostKind, Count, Counted, Counting, Coverage, Executed,
        InstructionCounts, LaunchShape, LineCounts, MemoryCounts, NumberKind, OpcodeCount, Period, PeriodStream,
        Periods, Profile, RegistersBasis, Reuse, ReuseHistogram, SharedCounts, Statistics, StreamPart, statistics,
    };
}
