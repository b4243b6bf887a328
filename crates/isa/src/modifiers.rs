//! What a single word of an operation says: how to round, which comparison, which atomic.

use crate::MbarrierOp;

/// Rounding direction. The integer forms (`.rni` and so on) round to an integral value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Rounding {
    /// To nearest, ties to even.
    #[default]
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
    /// To nearest, ties away from zero.
    NearestAway,
}

/// Accuracy class of division, reciprocal, square root and the like.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Precision {
    /// IEEE 754 correctly rounded.
    #[default]
    Ieee,
    /// `.approx`.
    Approx,
    /// `.full`.
    Full,
}

/// Comparison of `set`, `setp` and friends. The `u` forms are true when an operand is NaN.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CompareOp {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Unsigned lower.
    Lo,
    /// Unsigned lower or same.
    Ls,
    /// Unsigned higher.
    Hi,
    /// Unsigned higher or same.
    Hs,
    /// Equal or unordered.
    Equ,
    /// Not equal or unordered.
    Neu,
    /// Less or unordered.
    Ltu,
    /// Less, equal or unordered.
    Leu,
    /// Greater or unordered.
    Gtu,
    /// Greater, equal or unordered.
    Geu,
    /// Neither operand is NaN.
    Num,
    /// An operand is NaN.
    Nan,
}

/// How a comparison combines with a predicate operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BoolOp {
    /// And.
    And,
    /// Or.
    Or,
    /// Exclusive or.
    Xor,
}

/// Read-modify-write operation of an atomic or reduction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AtomicOp {
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Exchange.
    Exch,
    /// Compare and swap.
    Cas,
    /// Add.
    Add,
    /// Increment with wrap-around at the operand.
    Inc,
    /// Decrement with wrap-around at the operand.
    Dec,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// What a barrier in memory is told.
    Mbarrier(MbarrierOp),
}

/// How a shuffle picks its source lane.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShuffleMode {
    /// Lane minus delta.
    Up,
    /// Lane plus delta.
    Down,
    /// Lane exclusive-or mask.
    Butterfly,
    /// Given lane.
    Index,
}

/// What a vote answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum VoteMode {
    /// True in all lanes.
    All,
    /// True in any lane.
    Any,
    /// The same in all lanes.
    Uniform,
    /// The mask of lanes in which it is true.
    Ballot,
}

/// What `match` compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatchMode {
    /// The mask of lanes with the same value.
    Any,
    /// The member mask if all lanes agree.
    All,
}

/// Reduction over the lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ReduxOp {
    /// Sum.
    Add,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

/// Shift amounts beyond the width.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ShiftMode {
    /// Clamp at the width.
    #[default]
    Clamp,
    /// Take the amount modulo the width.
    Wrap,
}

/// Byte selection of `prmt`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PrmtMode {
    /// Four selectors.
    #[default]
    Default,
    /// Forward four extract.
    F4e,
    /// Backward four extract.
    B4e,
    /// Replicate eight.
    Rc8,
    /// Edge clamp left.
    Ecl,
    /// Edge clamp right.
    Ecr,
    /// Replicate sixteen.
    Rc16,
}

/// Property that `testp` asks for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TestProperty {
    /// Not infinite and not NaN.
    Finite,
    /// Plus or minus infinity.
    Infinite,
    /// Not NaN.
    Number,
    /// NaN.
    NotANumber,
    /// Neither subnormal, infinite nor NaN; zeros count as normal.
    Normal,
    /// Subnormal.
    Subnormal,
}

/// Form of a CTA barrier.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarrierKind {
    /// Arrive and wait.
    Sync,
    /// Arrive only.
    Arrive,
    /// Wait and count the true predicates.
    ReducePopc,
    /// Wait and combine the predicates with and.
    ReduceAnd,
    /// Wait and combine the predicates with or.
    ReduceOr,
}

/// Half of a barrier of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClusterPhase {
    /// Arrive and go on.
    Arrive,
    /// Wait for the phase in which the thread has arrived to end.
    Wait,
}

/// A service of the CUDA device runtime that the emulator provides itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SystemCall {
    /// `vprintf(format, arguments)`: both are generic addresses; returns a 32-bit count.
    Vprintf,
    /// `malloc(bytes)` returns a generic address.
    Malloc,
    /// `free(address)`.
    Free,
    /// `__assertfail(message, file, line, function, char_size)`.
    AssertFail,
}

/// Which way a funnel shift moves bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ShiftDirection {
    /// Left: the upper word of the result.
    Left,
    /// Right: the lower word of the result.
    Right,
}

/// How wide packed integers are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum PackedWidth {
    /// As their type is.
    #[default]
    OfType,
    /// Four bits.
    Four,
    /// Two bits.
    Two,
}

/// What `bfind` answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BfindAnswer {
    /// The position of the bit.
    Position,
    /// How far the value has to be shifted left to bring the bit to the top.
    ShiftAmount,
}

/// How much a copy between memories reads; the rest of what it writes is zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CopyRead {
    /// All, or nothing where a predicate asks for zeros.
    #[default]
    Unless,
    /// The first bytes, as many as a source says.
    Bytes,
}

/// Which bytes of the second operand `dp2a` takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dp2aHalf {
    /// The lower two.
    Low,
    /// The upper two.
    High,
}

/// Which way an address is converted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AddressDirection {
    /// From the state space to a generic address.
    ToGeneric,
    /// From a generic address to one of the state space.
    FromGeneric,
}
