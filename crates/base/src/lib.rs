//! Vocabulary shared by every crate: typed ids and dense maps, source spans, diagnostics, units, the
//! nearest name for messages, words for a shell, numbers in few bytes, the form in which text of others may reach a
//! terminal, and the way in which work is told that it is wanted no more.
//!
//! Main types: [`Span`], [`Diagnostic`], [`IdMap`], the units in [`units`].
//! This crate does not know about PTX, GPUs, files or terminals.

pub mod bytes;
mod diagnostic;
pub mod error;
mod id;
mod nearest;
mod shell;
mod span;
pub mod stop;
pub mod units;
mod visible;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use id::{Id, IdMap};
pub use nearest::{nearest, nearest_by};
pub use shell::quoted;
pub use span::{LineIndex, Span};
pub use visible::{Keep, is_control, visible};
