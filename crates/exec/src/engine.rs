//! Engines: what runs the operations of decoded code.
//!
//! Everything around the operations is the same for all engines: grids, CTAs and warps with their order, where paths
//! part and meet ([`meeting`](crate::meeting)), calls, who waits for whom, memory with its checks, what the observer
//! hears, budgets and errors. An engine says what it makes of [`decoded::Code`](crate::decoded), where it keeps the
//! registers of a warp, and how it runs the operations of one block for one path; for the rest it asks its [`Run`].
//! It is a type parameter, so that nothing is looked up per operation.

use warplens_ir::FunctionId;
use warplens_isa::{AtomicOp, Pc, ScalarType};
use warplens_trace::Observer;

pub use crate::barrier::Reduction;
use crate::decoded::{Code, Register, Unbound};
use crate::error::ExecError;
pub use crate::exchange::Brought;
pub use crate::run::{BoxRequest, Request, Run};
pub use crate::semantics::atomic::Adder;
pub use crate::semantics::warp::{Exchange, Received};
pub use crate::synchronize::Arrival;

/// One value per lane. What is narrower than 64 bits is extended with zeros.
pub type LaneValues = [u64; 32];

/// Where a call of a function has its registers and its local memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The function.
    pub function: FunctionId,
    /// Its first word among those of the warp.
    pub words: u32,
    /// Its first predicate.
    pub predicates: u32,
    /// First byte in the local memory of each lane.
    pub local: u32,
}

/// How the operations of a block ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockEnd {
    /// All have been executed: control goes on as the block's flow says.
    Through,
    /// The path goes on inside of the block, at the operation that it names now.
    Again,
    /// The path waits; the warp has taken it.
    Blocked,
}

/// An operation of a path, and the registers that it works on.
pub struct At<'r, E: Engine> {
    /// What the engine made of the code.
    pub code: &'r E::Code,
    /// Registers of the warp.
    pub registers: &'r mut E::Registers,
    /// The path's frame.
    pub frame: Frame,
    /// The operation, by the number that the engine gave it.
    pub operation: u32,
}

/// Runs the operations of decoded code.
pub trait Engine: Sized + Send + Sync + 'static {
    /// What it makes of decoded code before a launch.
    type Code: Send + Sync;

    /// The registers of a warp, in all frames.
    type Registers: Default + Send;

    /// Makes something to be run of decoded code. It may count operations in its own way, and says so in the blocks; it
    /// may enlarge the frames of functions by what it needs for itself, and take the operations for its own. Returns
    /// what it cannot execute, too: these operations end a launch when they are reached.
    fn bind(code: &mut Code) -> (Self::Code, Vec<Unbound>);

    /// Number of places by which it tells its memory operations apart.
    fn n_places(code: &Self::Code) -> usize;

    /// The source instruction of an operation.
    fn pc(code: &Self::Code, operation: u32) -> Pc;

    /// A kernel begins: there is room for so many words and predicates, and they are zero, but for words that are not
    /// among those that may be read before they are written, if these are known.
    fn clear(registers: &mut Self::Registers, words: u32, predicates: u32, unset: Option<&[u32]>);

    /// A function is called: there is room for so many words and predicates, with those that were there before.
    fn reserve(registers: &mut Self::Registers, words: u32, predicates: u32);

    /// The lanes in which a predicate of a frame is true.
    fn predicate(registers: &Self::Registers, frame: Frame, index: u32) -> u32;

    /// What a register holds.
    fn values(code: &Self::Code, registers: &Self::Registers, frame: Frame, register: Register) -> LaneValues;

    /// Writes a register in the lanes of the mask.
    fn set_values(
        code: &Self::Code,
        registers: &mut Self::Registers,
        frame: Frame,
        register: Register,
        lanes: u32,
        values: &LaneValues,
    );

    /// Copies a register of one frame to another's, as calls and returns do, in the lanes of the mask.
    fn copy(
        code: &Self::Code,
        registers: &mut Self::Registers,
        from: (Frame, Register),
        to: (Frame, Register),
        lanes: u32,
    ) {
        let values = Self::values(code, registers, from.0, from.1);
        Self::set_values(code, registers, to.0, to.1, lanes, &values);
    }

    /// What the lanes of the mask bring to an exchange.
    fn bring(at: At<'_, Self>, lanes: u32, what: Exchange, brought: &mut Brought);

    /// What `members` receive in an exchange.
    fn exchange(what: Exchange, brought: &Brought, members: u32) -> Received;

    /// Writes what the lanes of the mask receive.
    fn receive(at: At<'_, Self>, lanes: u32, what: Exchange, received: &Received);

    /// What an atomic makes of a value in memory; none if it does not exist for the type. The operands are the operand,
    /// or what a compare-and-swap expects and its new value.
    fn update(op: AtomicOp, ty: ScalarType, old: u64, operands: [u64; 2], adder: Adder) -> Option<u64>;

    /// Writes the answer of a barrier to the lanes of the mask that executed it: its guard may leave out some.
    fn write_reduction(at: At<'_, Self>, lanes: u32, reduction: Reduction);

    /// Runs the operations of a block for a path, up to its end or until the path has to wait.
    fn run_block<O: Observer>(run: Run<'_, '_, Self, O>) -> Result<BlockEnd, ExecError>;
}
