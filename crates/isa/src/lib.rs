//! What an instruction is, independent of the language that it was written in: operations with their classes, scalar
//! types, state spaces, modifiers, special registers, program counters.
//!
//! Main types: [`Op`] (one row per operation in [`with_ops!`]), [`ScalarType`], [`OpClass`], [`Modifiers`], [`Pc`];
//! [`InstKey`], which says what an instruction of a source is, and [`OpcodeText`], which only shows how it was written.
//! This crate does not know about PTX syntax, control flow, latencies or values.

mod class;
mod family;
mod key;
mod modifiers;
mod opcode_text;
mod ops;
mod pc;
mod special;
mod state_space;
mod types;

pub use class::{HighLatency, OpClass, SlowOperation};
pub use family::Family;
pub use key::{CacheOperator, CacheUse, InstKey, MatrixShape, MemoryOrder, NamedType, NarrowType, Part, Scope, Types};
pub use modifiers::{
    AtomicOp, BarrierKind, BoolOp, Carry, CompareOp, MatchMode, Modifiers, Precision, PrmtMode, ReduxOp, Rounding,
    ShiftMode, ShuffleMode, SystemCall, TestProperty, VoteMode,
};
pub use opcode_text::{OpcodeText, Spelling};
pub use ops::Op;
pub use pc::{BlockId, Pc};
pub use special::{Axis, SpecialRegister};
pub use state_space::StateSpace;
pub use types::ScalarType;
