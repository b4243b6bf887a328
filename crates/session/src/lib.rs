//! The facade: load an input, lower it, run it, measure it, predict. With `report` it is all that a client needs.
//!
//! Main types: [`launch::Launch`], what is to be run; [`Error`], grouped by who has to act.
//! This crate reads files and runs compilers; it does not know about terminals, formats or flags.

mod error;
mod input;
pub mod launch;
pub mod machines;
mod nearest;
mod program;
mod source_names;
pub mod stages;
pub mod toolchain;

pub use error::{Error, ErrorKind, Findings, Result};
pub use input::{Input, InputKind};
pub use nearest::nearest;
pub use program::{KernelName, Program};
