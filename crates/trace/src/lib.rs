//! What an executed kernel tells: the [`Observer`] and the events it receives.
//!
//! Emulated and recorded executions speak the same vocabulary, so that statistics do not know where events come from.
//! One event per instruction would cost more than the interpreter: an observer hears of blocks, guards and memory
//! accesses, and the rest follows from the program.
//! For models that need time and order there is also what warps executed ([`CtaTrace`]), and the machine code ([`Code`])
//! whose blocks they went through.
//! This crate does not know about the emulator, registers or values.

mod access;
mod addresses;
mod clusters;
mod code;
mod dealing;
mod mask;
mod observer;
mod told;
mod warp_trace;

pub use access::{Access, AccessKind};
pub use addresses::Addresses;
pub use clusters::Clusters;
pub use code::{Chain, Code, IntegerLanes, MachineClass, MachineInst, NO_SLOT, Operands, Place, RegisterNumber};
pub use dealing::Dealing;
pub use mask::ActiveMask;
pub use observer::{CtaId, Observer, Synchronized, WarpIndex};
pub use told::Told;
pub use warp_trace::{CtaPacker, CtaTrace, Cursor, Lanes, PackedCta, Step, WarpAccess, WarpTrace, WarpTraceBuilder};

/// Lanes of a warp.
pub const WARP_SIZE: usize = 32;
