//! The kernel representation that emulator and analyses work on. PTX is lowered to it; machine code will be.
//!
//! Main types: [`Module`], [`Function`], [`Block`], [`Inst`], [`Operand`]. Analyses: [`CallGraph`], [`Cfg`],
//! [`Dominators`], [`reconvergence`]. [`verify`] checks the invariants after every lowering.
//!
//! Invariants: types belong to operations, not to registers; a register is a bank, a word index and a width, and wide
//! registers may share words; blocks and program counters are unique in the module; a block ends with at most one
//! operation that changes control, and its [`Flow`] says where to.
//! This crate does not know about PTX text, values, addresses or time.

pub mod alias;
pub mod call_graph;
mod cfg;
mod dominators;
mod function;
mod inst;
pub mod link;
mod liveness;
mod local_arrays;
mod memory;
mod module;
mod order;
mod pressure;
mod print;
pub mod reconvergence;
mod register_estimate;
mod register_file;
mod unroll;
mod verify;

pub use call_graph::CallGraph;
pub use cfg::Cfg;
pub use dominators::Dominators;
pub use function::{
    Block, CallTarget, Flow, Function, FunctionKind, LaunchBounds, Parameter, RegisterWords, RequiredCluster,
};
pub use inst::{Bank, Constant, Guard, Inst, Operand, Register, Sign, SignedValue, Width};
pub use liveness::{Accesses, Liveness, WordSet, max_live_words};
pub use local_arrays::local_arrays_in_registers;
pub use memory::{Memory, MemoryReference};
pub use module::{
    ConstantBank, ControlCode, FunctionId, Initializer, Module, OpaqueVariable, PcInfo, PtxLine, SamplerFields,
    SourceLocation, SpellingId, Variable, VariableId, target_number,
};
pub use order::Order;
pub use pressure::{Pressure, Touched, Values};
pub use print::print;
pub use register_estimate::{MOST_REGISTERS, most_registers, register_estimate};
pub use register_file::{register_files, subroutines};
pub use unroll::{Chain, Unrolled};
pub use verify::{Violation, verify};
