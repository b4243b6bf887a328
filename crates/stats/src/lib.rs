//! Folds the events of an execution into a [`Profile`].
//!
//! This crate does not know about the emulator, machines or time.

mod profile;

pub use profile::{
    BankRule, CoalescingRule, ConstantCounts, Coverage, InstructionCounts, LaunchShape, LineCounts, MemoryCounts,
    Profile, RegistersBasis, SharedCounts,
};
