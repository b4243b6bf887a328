//! What an executed kernel tells: the [`Observer`] and the events it receives.
//!
//! Emulated and recorded executions speak the same vocabulary, so that statistics do not know where events come from.
//! One event per instruction would cost more than the interpreter: an observer hears of blocks, guards and memory
//! accesses, and the rest follows from the program.
//! This crate does not know about the emulator, registers or values.

mod access;
mod mask;
mod observer;

pub use access::{Access, AccessKind};
pub use mask::ActiveMask;
pub use observer::{CtaId, Observer, WarpIndex};

/// Lanes of a warp.
pub const WARP_SIZE: usize = 32;
