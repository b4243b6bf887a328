//! What an instruction is, independent of the language that it was written in: operations with their classes, scalar
//! types, state spaces, modifiers, special registers, program counters.
//!
//! Main types: [`Op`] (one row per operation in [`with_ops!`]), [`ScalarType`], [`OpClass`], [`Modifiers`], [`Pc`].
//! This crate does not know about PTX syntax, control flow, latencies or values.

mod class;
mod modifiers;
mod ops;
mod pc;
mod special;
mod state_space;
mod types;

pub use class::{HighLatency, OpClass};
pub use modifiers::{
    AtomicOp, BarrierKind, BoolOp, Carry, CompareOp, MatchMode, Modifiers, Precision, PrmtMode, ReduxOp, Rounding,
    ShiftMode, ShuffleMode, SystemCall, TestProperty, VoteMode,
};
pub use ops::Op;
pub use pc::{BlockId, Pc};
pub use special::{Axis, SpecialRegister};
pub use state_space::StateSpace;
pub use types::ScalarType;
