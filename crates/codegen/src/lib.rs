//! Machine code of a generation, made of the IR as the vendor's assembler would make it: what the timing simulation
//! issues.
//!
//! Main entries: [`generate()`] turns a kernel into [`Code`](warplens_trace::Code) for a [`Target`]; [`slots()`] numbers
//! the memory instructions of each block, for the recorder of a trace, independently of the machine.
//!
//! How it goes: loops are unrolled, in part where their number of turns is not known (`warplens_ir::Unrolled`); the
//! operations of a function become nodes (`node`) whose sources see through copies, constants and parameters;
//! simplification (`simplify`) folds what one machine instruction does on the side; selection (`select`) says what machine
//! instructions a node takes, by operation, type and generation; scheduling (`schedule`) orders them within their blocks;
//! `lanes` hands additions and copies to the lanes of multiply-adds; numbering (`number`) gives them dense registers.
//!
//! A kernel that is machine code already is taken as it is (`listed`).
//!
//! Invariants: blocks stay as the IR has them, so that one trace serves every generation; what is unrolled or put together
//! is a [`Chain`](warplens_trace::Chain) of them; every memory instruction keeps its slot, and a wide load has that of its
//! lowest word; a schedule keeps all dependences; the same input gives the same code. This crate does not know about PTX
//! text, values, addresses or time.

mod banks;
mod constants;
mod copies;
mod divergence;
mod emit;
mod generate;
mod lanes;
mod listed;
mod loops;
mod node;
mod number;
mod print;
mod schedule;
mod select;
mod simplify;
mod slots;
mod target;

pub use generate::{Error, Generated, Options, generate};
pub use print::print;
pub use slots::{Slots, slots};
pub use target::Target;
