//! What refines an operation: for each family a struct with exactly the fields that it has.
//!
//! An operation that a single word refines has that word itself as its payload, such as a
//! [`ShuffleMode`]. The default of a struct is the plain form of the operation.

use std::fmt::Debug;

use crate::{
    AddressDirection, AtomicOp, BarrierKind, BfindAnswer, BoolOp, ClusterPhase, CompareOp, CopyRead, Dp2aHalf,
    GroupProduct, MatchMode, MatrixMove, MatrixProduct, MatrixShape, MovedElements, PackedWidth, PhaseOf, Precision,
    PrmtMode, ReduxOp, Rounding, ScalarType, ShiftDirection, ShiftMode, ShuffleMode, Sparsity, StateSpace, SystemCall,
    TestProperty, VoteMode,
};

/// What refines an operation.
pub trait Payload: Copy {
    /// Adds what differs from the plain form to the words of a dump.
    fn describe(&self, words: Words) -> Words;
}

/// The words of a dump that say what refines an operation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Words(Vec<String>);

impl Words {
    /// Adds the words of a payload.
    pub fn payload(self, payload: &impl Payload) -> Self {
        payload.describe(self)
    }

    /// The words in order.
    pub fn into_vec(self) -> Vec<String> {
        self.0
    }

    fn value(mut self, value: impl Debug) -> Self {
        self.0.push(format!("{value:?}"));
        self
    }

    fn unless_default<T: Debug + Default + PartialEq>(self, value: T) -> Self {
        if value == T::default() { self } else { self.value(value) }
    }

    fn optional(self, value: Option<impl Debug>) -> Self {
        match value {
            Some(value) => self.value(value),
            None => self,
        }
    }

    pub(crate) fn flag(mut self, name: &str, is_set: bool) -> Self {
        if is_set {
            self.0.push(name.to_owned());
        }
        self
    }
}

macro_rules! words_as_payloads {
    ($($always:ident)*; $($but_default:ident)*) => {
        $(impl Payload for $always {
            fn describe(&self, words: Words) -> Words {
                words.value(self)
            }
        })*
        $(impl Payload for $but_default {
            fn describe(&self, words: Words) -> Words {
                words.unless_default(*self)
            }
        })*
    };
}

words_as_payloads! {
    BarrierKind ClusterPhase MatchMode PhaseOf ShuffleMode SystemCall TestProperty VoteMode;
    PackedWidth PrmtMode ShiftMode
}

impl Payload for StateSpace {
    fn describe(&self, words: Words) -> Words {
        words.flag(&self.to_string(), true)
    }
}

impl Payload for BfindAnswer {
    fn describe(&self, words: Words) -> Words {
        words.flag("ShiftAmount", *self == Self::ShiftAmount)
    }
}

impl Payload for CopyRead {
    fn describe(&self, words: Words) -> Words {
        words.flag("Bytes", *self == Self::Bytes)
    }
}

impl Payload for Dp2aHalf {
    fn describe(&self, words: Words) -> Words {
        words.flag("High", *self == Self::High)
    }
}

/// Part that the carry flag plays in an extended-precision operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Carry {
    /// The flag is added in: the last source is the carry predicate.
    pub reads: bool,
    /// The flag is written: the last destination is the carry predicate.
    pub writes: bool,
}

impl Carry {
    /// The flag plays no part.
    pub const NONE: Self = Self { reads: false, writes: false };

    /// True when the flag plays a part.
    pub const fn is_used(self) -> bool {
        self.reads || self.writes
    }
}

impl Payload for Carry {
    fn describe(&self, words: Words) -> Words {
        words.flag("reads_carry", self.reads).flag("writes_carry", self.writes)
    }
}

/// A sum or difference.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sum {
    /// Rounding of a float.
    pub rounding: Rounding,
    /// Subnormal inputs and results are flushed to zero.
    pub ftz: bool,
    /// The result is clamped: a float to [0, 1], an integer to the range of its type.
    pub sat: bool,
    /// Carry flag of an integer.
    pub carry: Carry,
}

impl Payload for Sum {
    fn describe(&self, words: Words) -> Words {
        words.unless_default(self.rounding).flag("ftz", self.ftz).flag("sat", self.sat).payload(&self.carry)
    }
}

/// A product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Product {
    /// Rounding of a float.
    pub rounding: Rounding,
    /// Subnormal inputs and results are flushed to zero.
    pub ftz: bool,
    /// The result is clamped to [0, 1].
    pub sat: bool,
}

impl Payload for Product {
    fn describe(&self, words: Words) -> Words {
        words.unless_default(self.rounding).flag("ftz", self.ftz).flag("sat", self.sat)
    }
}

/// A multiply-add with a single rounding.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FusedMultiplyAdd {
    /// Rounding.
    pub rounding: Rounding,
    /// Subnormal inputs and results are flushed to zero.
    pub ftz: bool,
    /// The result is clamped to [0, 1].
    pub sat: bool,
    /// Negative results become zero.
    pub relu: bool,
    /// Zero if an operand is the mark of an element out of bounds.
    pub oob: bool,
}

impl Payload for FusedMultiplyAdd {
    fn describe(&self, words: Words) -> Words {
        words
            .unless_default(self.rounding)
            .flag("ftz", self.ftz)
            .flag("sat", self.sat)
            .flag("relu", self.relu)
            .flag("oob", self.oob)
    }
}

/// The types of the operands of a multiply-add, and its rounding. That of the result is the type of the instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MixedTypes {
    /// First factor.
    pub a: ScalarType,
    /// Second factor.
    pub b: ScalarType,
    /// Addend.
    pub c: ScalarType,
    /// Rounding.
    pub rounding: Rounding,
}

impl Payload for MixedTypes {
    fn describe(&self, words: Words) -> Words {
        let types = [self.a, self.b, self.c];
        types.into_iter().fold(words, |words, ty| words.flag(ty.name(), true)).unless_default(self.rounding)
    }
}

/// Whether results beyond the range of the type are clamped to it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Saturation {
    /// They are.
    pub sat: bool,
}

impl Payload for Saturation {
    fn describe(&self, words: Words) -> Words {
        words.flag("sat", self.sat)
    }
}

/// A multiply-add of the high half of an integer product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct HighMultiplyAdd {
    /// Saturation.
    pub saturation: Saturation,
    /// Carry flag.
    pub carry: Carry,
}

impl Payload for HighMultiplyAdd {
    fn describe(&self, words: Words) -> Words {
        words.payload(&self.saturation).payload(&self.carry)
    }
}

/// How exact a quotient, a reciprocal or a root is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Accuracy {
    /// Rounding of an exact float.
    pub rounding: Rounding,
    /// Class.
    pub precision: Precision,
    /// Subnormal inputs and results are flushed to zero.
    pub ftz: bool,
}

impl Payload for Accuracy {
    fn describe(&self, words: Words) -> Words {
        words.unless_default(self.rounding).unless_default(self.precision).flag("ftz", self.ftz)
    }
}

/// A function that exists as an approximation only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Approximation {
    /// Subnormal inputs and results are flushed to zero.
    pub ftz: bool,
}

impl Payload for Approximation {
    fn describe(&self, words: Words) -> Words {
        words.value(Precision::Approx).flag("ftz", self.ftz)
    }
}

/// What becomes of subnormal floats.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Subnormals {
    /// Subnormal inputs and results are flushed to zero.
    pub ftz: bool,
}

impl Payload for Subnormals {
    fn describe(&self, words: Words) -> Words {
        words.flag("ftz", self.ftz)
    }
}

/// A minimum or maximum.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Extremum {
    /// Subnormal inputs and results are flushed to zero.
    pub ftz: bool,
    /// Negative results become zero.
    pub relu: bool,
    /// The result is NaN if an operand is NaN.
    pub nan: bool,
    /// The result has the magnitude of the extremum of the magnitudes, and the product of the signs.
    pub xorsign_abs: bool,
}

impl Payload for Extremum {
    fn describe(&self, words: Words) -> Words {
        words.flag("ftz", self.ftz).flag("relu", self.relu).flag("nan", self.nan).flag("xorsign_abs", self.xorsign_abs)
    }
}

/// How a result is combined with a predicate operand, if it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Combination {
    /// The operation on both.
    pub op: Option<BoolOp>,
}

impl Payload for Combination {
    fn describe(&self, words: Words) -> Words {
        words.optional(self.op)
    }
}

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Comparison {
    /// What is asked.
    pub op: CompareOp,
    /// How the answer is combined with a predicate operand.
    pub combination: Combination,
    /// Subnormal inputs are flushed to zero.
    pub ftz: bool,
}

impl Comparison {
    /// A comparison without combination that keeps subnormals.
    pub const fn new(op: CompareOp) -> Self {
        Self { op, combination: Combination { op: None }, ftz: false }
    }
}

impl Payload for Comparison {
    fn describe(&self, words: Words) -> Words {
        words.value(self.op).payload(&self.combination).flag("ftz", self.ftz)
    }
}

/// A conversion between types.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Conversion {
    /// Rounding.
    pub rounding: Rounding,
    /// The result is an integral value: `.rni`, `.rzi`, `.rmi`, `.rpi`.
    pub integral: bool,
    /// Subnormal inputs and results are flushed to zero.
    pub ftz: bool,
    /// The result is clamped: a float to [0, 1], an integer to the range of its type.
    pub sat: bool,
    /// What is beyond the range of a narrow float becomes its largest finite value.
    pub satfinite: bool,
    /// Negative results become zero.
    pub relu: bool,
}

impl Payload for Conversion {
    fn describe(&self, words: Words) -> Words {
        words
            .unless_default(self.rounding)
            .flag("integral", self.integral)
            .flag("ftz", self.ftz)
            .flag("sat", self.sat)
            .flag("satfinite", self.satfinite)
            .flag("relu", self.relu)
    }
}

/// A funnel shift.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FunnelShift {
    /// Direction.
    pub direction: ShiftDirection,
    /// Amounts beyond the width.
    pub mode: ShiftMode,
}

impl Payload for FunnelShift {
    fn describe(&self, words: Words) -> Words {
        words.unless_default(self.mode).flag("Right", self.direction == ShiftDirection::Right)
    }
}

/// A conversion between the addresses of a state space and generic ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AddressConversion {
    /// The state space.
    pub space: StateSpace,
    /// Direction.
    pub direction: AddressDirection,
}

impl Payload for AddressConversion {
    fn describe(&self, words: Words) -> Words {
        words.payload(&self.space).flag("FromGeneric", self.direction == AddressDirection::FromGeneric)
    }
}

/// A load or store.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct AccessOrder {
    /// It is `.volatile`, `.relaxed`, `.acquire`, `.release` or `.mmio`: never merged or reordered.
    pub ordered: bool,
}

impl Payload for AccessOrder {
    fn describe(&self, words: Words) -> Words {
        words.flag("ordered", self.ordered)
    }
}

/// An atomic or a reduction to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Atomic {
    /// What is done to the cell.
    pub op: AtomicOp,
    /// The order is written: `.relaxed`, `.acquire`, `.release`.
    pub ordered: bool,
}

impl Payload for Atomic {
    fn describe(&self, words: Words) -> Words {
        words.value(self.op).flag("ordered", self.ordered)
    }
}

/// A copy of many bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BulkCopy {
    /// What is done to the elements of the target, unless they are overwritten.
    pub reduction: Option<AtomicOp>,
    /// The target is the same place in the shared memory of each CTA that a mask names.
    pub multicast: bool,
}

impl Payload for BulkCopy {
    fn describe(&self, words: Words) -> Words {
        words.optional(self.reduction).flag("multicast", self.multicast)
    }
}

/// A copy of a box of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TensorCopy {
    /// Dimensions of the tensor.
    pub dimensions: u8,
    /// From the tensor to shared memory; the other way else.
    pub loads: bool,
    /// What is done to the elements of the tensor, unless they are overwritten.
    pub reduction: Option<AtomicOp>,
    /// It is loaded to the same place in the shared memory of each CTA that a mask names.
    pub multicast: bool,
}

impl Payload for TensorCopy {
    fn describe(&self, words: Words) -> Words {
        let words = words.flag(&format!("{}d", self.dimensions), true).flag("loads", self.loads);
        words.optional(self.reduction).flag("multicast", self.multicast)
    }
}

/// A reduction over the lanes of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reduction {
    /// What combines two values.
    pub op: ReduxOp,
    /// Floats are taken without their sign.
    pub abs: bool,
    /// The result is NaN if a value is NaN.
    pub nan: bool,
}

impl Payload for Reduction {
    fn describe(&self, words: Words) -> Words {
        words.value(self.op).flag("nan", self.nan).flag("abs", self.abs)
    }
}

/// A branch or call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Branch {
    /// It is marked `.uni`: all lanes go the same way.
    pub uniform: bool,
}

impl Payload for Branch {
    fn describe(&self, words: Words) -> Words {
        words.flag("uniform", self.uniform)
    }
}

impl Payload for MatrixProduct {
    fn describe(&self, words: Words) -> Words {
        let MatrixShape { m, n, k } = self.shape;
        let words = words.flag(&format!("m{m}n{n}k{k}"), true);
        let words = self.types.into_iter().fold(words, |words, ty| words.flag(ty.name(), true));
        let words = words.flag("satfinite", self.satfinite).unless_default(self.rounding);
        let words = words.optional(self.combination);
        let words = words.flag("a_by_columns", self.turned[0]).flag("b_by_rows", self.turned[1]);
        let Some(Sparsity { selector, ordered }) = self.sparsity else { return words };
        words.flag(&format!("sparse_{selector}"), true).flag("ordered", ordered)
    }
}

impl Payload for GroupProduct {
    fn describe(&self, words: Words) -> Words {
        let words = words.payload(&self.product).flag("a_in_shared", self.a_in_shared);
        words.flag("a_negated", self.negated[0]).flag("b_negated", self.negated[1])
    }
}

impl Payload for MatrixMove {
    fn describe(&self, words: Words) -> Words {
        let elements = Some(self.elements).filter(|it| *it != MovedElements::Halves);
        words.flag(&format!("x{}", self.count), true).optional(elements).flag("transposed", self.transposed)
    }
}
