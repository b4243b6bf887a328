//! Counts of a launch without running it.
//!
//! Main types: [`Request`], [`count`], [`Counts`]; [`Given`] is what the user says about loops and branches that depend
//! on data.
//!
//! One CTA is walked for all that do the same: integers are followed per lane from the launch and the arguments, and
//! each value carries how it changes from CTA to CTA, so that it is known for which CTAs a walk speaks. What is loaded
//! from memory is unknown; where it decides, both sides are counted, and an address made from it is taken to be
//! scattered. Both are said.
//!
//! Invariants: memory is never read; where no bound is reported the counts are those of the emulator; loops without a
//! known end are refused, not guessed.
//! This crate does not know about text, files, machines or time.

mod code;
mod count;
mod effects;
mod follow;
mod footprint;
mod given;
mod loops;
mod operation;
mod path;
mod region;
mod registers;
mod tally;
mod value;
mod walk;

pub use count::{Bound, BoundKind, Counts, Effort, Refusal, Request, count};
pub use given::{BadLine, Given, Line};
