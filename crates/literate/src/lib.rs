//! Literate tests: markdown files whose fenced blocks are inputs and expected outputs.
//!
//! A file is prose with cases. A heading of the second level or deeper opens a [`Case`]; its fenced blocks and its
//! `run:` lines belong to it. Headings of the first level are titles of the whole file.
//!
//! ````text
//! ## Shifts past the width give zero
//!
//! A shift amount above the register width is clamped, so every bit leaves.
//! ```ptx
//! shl.b32 %d, %a, %b;
//! ```
//! run: a=1 b=40 == d=0
//! ````
//!
//! [`check_directory`] hands every case to the caller's check function, which looks at blocks and `run:` lines and
//! reports to an [`Outcome`]: failures with a line, and snapshots, which are compared in order with the case's
//! `snapshot` blocks. With `UPDATE=1` in the environment the snapshots are rewritten in place instead.
//!
//! [`hold`] compares a table of a document with what a test computes.
//!
//! This crate does not know about PTX or any other language of a block. It is a dev-dependency of other crates and
//! part of no binary.

mod case;
mod held;
mod suite;

pub use case::{Block, Case, ParseError, RunLine, parse};
pub use held::hold;
pub use suite::{Outcome, check_directory, check_file};

/// Language of the blocks that hold expected output.
pub const SNAPSHOT: &str = "snapshot";
