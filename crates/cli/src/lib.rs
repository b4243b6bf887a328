//! The warplens command as a library: every verb, asked in the words of a command line, by a shell or by another client.
//!
//! [`main`] serves a shell: it reads the words of this process, writes to its streams and says its exit code. [`answer()`]
//! serves any other client: the same words give the same bytes, messages and exit code, in an [`Answer`]. It neither
//! prints nor ends the process; while it works the client hears how far the work is, and may end it.
//! What a verb does stands in one file below `command`. This crate does not know who the client is.

mod answer;
mod ask;
mod client;
mod command;
mod config;
mod diagnostic;
mod flags;
mod panic_report;
mod process;
mod progress;
mod review;
mod terminal;
mod variants;

pub use answer::{Answer, Ended, Now, answer};
pub use process::main;
