//! The facade: load an input, lower it, run it, measure it, predict. With `report` it is all that a client needs.
//!
//! Main types: [`Program`], what can be run; [`Measurement`], what was counted; [`Analysis`], what models said;
//! [`Error`], grouped by who has to act. This crate reads files and runs compilers; it does not know about terminals,
//! formats or flags.

mod alike;
pub mod archive;
pub mod execution;
mod failure;
pub mod files;
pub mod findings;
pub mod generation;
pub mod hardware;
pub mod host;
pub mod import;
mod in_parts;
mod input;
pub mod journal;
pub mod machines;
pub mod measure;
mod measurement;
pub mod predict;
mod program;
mod progress;
mod race;
pub mod ranges;
pub mod registers;
pub mod runs;
pub mod saved;
pub mod served;
pub mod source;
mod source_names;
pub mod statics;
pub mod toolchain;
mod trace;
pub mod trail;
pub mod transfer;
mod watched;

pub use execution::{
    DEFAULT_BUDGET, DEFAULT_LAUNCH_BUDGET, ExecutionOptions, Extent, FULL_LIMIT, Output, OutputRequest, RunResult, run,
};
pub use failure::check_support;
pub use generation::Generation;
pub use input::{Input, InputKind, read_text};
pub use measure::{measure, of_one as measure_one};
pub use measurement::{Elsewhere, Emulation, Measured, Measurement, Support};
pub use predict::{Analysis, Choice};
pub use program::{CodeForm, CodeOrigin, CountedCode, Program, Targets};
pub use progress::Progress;
pub use race::Race;
pub use trace::TraceLimits;
pub use warplens_base::error::{Error, ErrorKind, Findings, Result};
pub use warplens_base::nearest;

/// The counts of a launch.
pub mod profile {
    pub use warplens_isa::{Family, InstKey, OpClass, OpcodeText, ScalarType, SlowOperation, Spelling, StateSpace};
    pub use warplens_stats::{
        BankRule, CoalescingRule, ConstantCounts, CostKind, Count, Counted, Counting, Coverage, Executed,
        InstructionCounts, LaunchShape, LineCounts, MemoryCounts, NumberKind, OpcodeCount, Period, PeriodStream,
        Periods, Profile, RegistersBasis, Reuse, ReuseHistogram, SharedCounts, Statistics, StreamPart, statistics,
    };
}
