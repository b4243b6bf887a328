//! Launches of a program, kept on disk with their memory, and measured again from there.
//!
//! An archive is a folder: an index, and pieces of code and memory that are named by what they hold, so that nothing is
//! kept twice. What a launch can reach is found without running it: all memory that its parameters point to, and all that
//! such memory points to in turn, as far as pointers lie at multiples of 8 bytes. It is put back at the same addresses, so
//! that a launch gives the same answers as in its program.

mod index;
mod reach;
mod read;
mod store;

pub use index::Folder;
pub use reach::Snapshot;
pub use read::{Archive, Archived};
pub use store::{Kept, Store};

use crate::input::ARCHIVE_INDEX as INDEX;

/// Bytes of a piece.
const PIECE: usize = 1 << 20;

/// Name of code that is PTX, and of machine code.
const PTX: &str = "ptx";
const MACHINE: &str = "machine";
