//! What operations do besides computing their results from their operands, lane by lane.

/// What an operation does besides computing its results from its operands, lane by lane. Whoever reorders, merges or
/// removes instructions asks this and no list of operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing.
    None,
    /// It reads what is no operand: a special register, the stack pointer.
    Special,
    /// It reads memory, or asks for it early.
    Load,
    /// It writes memory.
    Store,
    /// It reads and writes memory in one step.
    Atomic,
    /// The lanes of a warp find one answer together, the same for lanes with the same operands.
    Vote,
    /// The lanes of a warp hand each other values, or each gets one of its own.
    Exchange,
    /// Accesses to memory stay before or behind it.
    Fence,
    /// Like a fence; what it does besides is not known.
    Call,
    /// It ends a basic block.
    End,
}
