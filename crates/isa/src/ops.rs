//! The table of operations: what each is called, how it is classed, which emulator family executes it.
//!
//! # Operands
//!
//! Sources stand in the order in which PTX writes them, destinations too. A value takes the low bits of its register;
//! results narrower than their word are zero-extended, whatever their sign. The exceptions are written below.
//!
//! | Operation | Types | Destinations | Sources |
//! |---|---|---|---|
//! | `Mov`, `Not`, `And`, `Or`, `Xor` on predicates | `Pred` | predicate | predicate, complement or 0/1 |
//! | `ReadSpecial` | of the result | value | `Special` |
//! | `Pack` | of the wide value | wide | parts, each of an equal share of the bits |
//! | `Unpack` | of the wide value | parts | wide |
//! | `Cvta`, `Isspacep` | of the address | address; predicate | address |
//! | `Add`, `Sub` with carry | of the result | sum, carry if `writes` | a, b, carry if `reads`; a borrow is a set carry |
//! | `Add`, `Sub`, `Fma` with `source_ty` F16 or Bf16 | F32 | F32 | a (and b of `Fma`) in `source_ty`, the last in F32 |
//! | `FmaMixed` | F32 or F64 | value | a, b, c in the types of the payload, none wider |
//! | `Mad`, `MadHi` with carry | of the factors | d, carry if `writes` | a, b, c, carry if `reads` |
//! | `MulWide`, `MadWide` | of the factors | twice as wide | a, b; the addend is twice as wide |
//! | `Shl`, `Shr` | of the value | value | value, 32-bit amount |
//! | `Shf` | `B32` | value | low word, high word, 32-bit amount |
//! | `Popc`, `Clz`, `Bfind` | of the source | 32 bits | a |
//! | `Bfe` | of the value | value | value, 32-bit position, 32-bit length |
//! | `Bfi` | of the value | value | bits to insert, base, position, length |
//! | `Lop3` | `B32` | value, then predicate if combined | a, b, c, table, then predicate if combined |
//! | `Fns` | `B32` | position | mask, base, offset |
//! | `Prmt` | `B32` | value | a, b, selector |
//! | `Dp4a`, `Dp2a` | `ty` of a, `source_ty` of b | 32 bits | a, b, 32-bit c |
//! | `Set` | `ty` of the result, `source_ty` compared | value | a, b, then predicate if combined |
//! | `Setp` | `ty` = `source_ty` compared | p, then q | a, b, then predicate if combined |
//! | `Testp` | of the source | predicate | a |
//! | `Selp` | of the value | value | a, b, predicate |
//! | `Slct` | `ty` of the value, `source_ty` of c | value | a, b, c |
//! | `Cvt` | `ty` to, `source_ty` from | value | a; of packed results from scalars: upper, lower |
//! | `CvtPack` | `ty` of the parts, `source_ty` from | 32 bits | a, b, 32-bit c if the parts leave room |
//! | `Ld` | of an element | one per element | none; see below |
//! | `St` | of an element | none | one per element; wider registers give their low bits |
//! | `Copy` | of an element | none | none, or the predicate that asks for zeros |
//! | `Atom`, `Red` | of an element | old value (`Atom`), one per element | operand; of `Cas`: compare, new |
//! | `Shfl` | 32 bits | value, then predicate | value, lane or delta, clamp, member mask |
//! | `Vote` | `Pred` or `B32` (ballot) | predicate or mask | predicate, member mask |
//! | `Match` | of the value | mask, then predicate | value, member mask |
//! | `Redux` | of the value | value | value, member mask |
//! | `Elect` | `B32` | leader's lane, then predicate | member mask |
//! | `Activemask` | `B32` | mask | none |
//! | `Bar` | `Pred` or `U32` | result of a reduction | barrier, threads if given, predicate of a reduction |
//! | `BarWarp` | `B32` | none | member mask |
//! | `BrxIdx` | `U32` | none | index |
//! | `Call`, `SystemCall` | `B32` | results | arguments |
//! | `Alloca` | of the address | address | bytes, alignment |
//! | `StackSave`, `StackRestore` | of the address | address; none | none; address |
//!
//! The lanes of a member mask wait for each other; all active lanes take part. A member mask that the source does not
//! give (`shfl`, `vote` of old PTX) is the immediate 0: nobody is waited for.
//! A load of a signed type that is narrower than its register extends the sign to the 32 or 64 bits of the register;
//! other loads extend with zeros. `Ld` from [`StateSpace::Param`](crate::StateSpace::Param) has the byte offset in the
//! parameter space as its address.
use crate::{Effect, HighLatency, OpClass, ScalarType};

/// Hands the whole operation table to a macro: `with_ops!(consumer)` expands to
/// `consumer! { /// doc Name (name: Payload) => { class: rule, effect: name, bind: module::function } ... }`.
///
/// The payload is what refines the operation, with the name under which `bind` gets it; operations that nothing refines
/// have none. `class` is a rule of this module that turns the type into an [`OpClass`]; `effect` is an
/// [`Effect`]; `bind` is the function of the
/// emulator that picks the lane function for the type and the payload, with the module that it stands in; for operations
/// in which the lanes of a warp work together it is `exchange::` with the constructor that says how. An operation
/// without one of them does not compile.
#[macro_export]
macro_rules! with_ops {
    ($consumer:ident) => {
        $consumer! {
            /// Copies a value.
            Mov => { class: virtual_, effect: None, bind: movement::mov }
            /// Reads a special register.
            ReadSpecial => { class: int, effect: Special, bind: movement::read_special }
            /// Concatenates narrow values into a wide register, least significant first.
            Pack => { class: virtual_, effect: None, bind: movement::pack }
            /// Splits a wide register into narrow values, least significant first.
            Unpack => { class: virtual_, effect: None, bind: movement::unpack }
            /// Turns an address of a state space into a generic one, or back.
            Cvta (conversion: AddressConversion) => { class: virtual_, effect: None, bind: movement::cvta }
            /// True when a generic address lies in the state space.
            Isspacep (space: StateSpace) => { class: int, effect: None, bind: movement::isspacep }

            /// Sum. With a carry it is the extended-precision form.
            Add (sum: Sum) => { class: by_type, effect: None, bind: arithmetic::add }
            /// Difference. With a carry it is the extended-precision form.
            Sub (sum: Sum) => { class: by_type, effect: None, bind: arithmetic::sub }
            /// Product: floating-point, or the low half of an integer product.
            Mul (product: Product) => { class: mul, effect: None, bind: arithmetic::mul }
            /// High half of an integer product.
            MulHi => { class: mul, effect: None, bind: arithmetic::mul_hi }
            /// Full integer product, twice as wide.
            MulWide => { class: mul, effect: None, bind: arithmetic::mul_wide }
            /// Low half of an integer product, plus an addend.
            Mad (carry: Carry) => { class: mul, effect: None, bind: arithmetic::mad }
            /// High half of an integer product, plus an addend.
            MadHi (high: HighMultiplyAdd) => { class: mul, effect: None, bind: arithmetic::mad_hi }
            /// Full integer product plus a wide addend.
            MadWide => { class: mul, effect: None, bind: arithmetic::mad_wide }
            /// Low 32 bits of a 24-bit product.
            Mul24 => { class: mul, effect: None, bind: arithmetic::mul24 }
            /// Bits 47 to 16 of a 24-bit product.
            Mul24Hi => { class: mul, effect: None, bind: arithmetic::mul24_hi }
            /// `Mul24` plus an addend.
            Mad24 => { class: mul, effect: None, bind: arithmetic::mad24 }
            /// `Mul24Hi` plus an addend.
            Mad24Hi (saturation: Saturation) => { class: mul, effect: None, bind: arithmetic::mad24_hi }
            /// Floating-point multiply-add with a single rounding.
            Fma (fused: FusedMultiplyAdd) => { class: by_type, effect: None, bind: arithmetic::fma }
            /// Floating-point multiply-add of operands that each have a type of their own: they are widened, which is
            /// exact, and rounded once.
            FmaMixed (types: MixedTypes) => { class: by_type, effect: None, bind: arithmetic::fma_mixed }
            /// Sum of absolute differences.
            Sad => { class: by_type, effect: None, bind: arithmetic::sad }
            /// Quotient.
            Div (accuracy: Accuracy) => { class: divide, effect: None, bind: arithmetic::div }
            /// Remainder of an integer division.
            Rem => { class: divide, effect: None, bind: arithmetic::rem }
            /// Absolute value.
            Abs (subnormals: Subnormals) => { class: by_type, effect: None, bind: arithmetic::abs }
            /// Negation.
            Neg (subnormals: Subnormals) => { class: by_type, effect: None, bind: arithmetic::neg }
            /// Minimum of two or three values.
            Min (extremum: Extremum) => { class: by_type, effect: None, bind: arithmetic::min }
            /// Maximum of two or three values.
            Max (extremum: Extremum) => { class: by_type, effect: None, bind: arithmetic::max }
            /// Reciprocal.
            Rcp (accuracy: Accuracy) => { class: special, effect: None, bind: special::rcp }
            /// Square root.
            Sqrt (accuracy: Accuracy) => { class: special, effect: None, bind: special::sqrt }
            /// Reciprocal square root.
            Rsqrt (approximation: Approximation) => { class: special, effect: None, bind: special::rsqrt }
            /// Sine.
            Sin (approximation: Approximation) => { class: special, effect: None, bind: special::sin }
            /// Cosine.
            Cos (approximation: Approximation) => { class: special, effect: None, bind: special::cos }
            /// Power of two.
            Ex2 (approximation: Approximation) => { class: special, effect: None, bind: special::ex2 }
            /// Binary logarithm.
            Lg2 (approximation: Approximation) => { class: special, effect: None, bind: special::lg2 }
            /// Hyperbolic tangent.
            Tanh (approximation: Approximation) => { class: special, effect: None, bind: special::tanh }
            /// Sign of the first operand on the magnitude of the second.
            Copysign => { class: by_type, effect: None, bind: arithmetic::copysign }
            /// Tests a property of a floating-point value.
            Testp (property: TestProperty) => { class: by_type, effect: None, bind: arithmetic::testp }

            /// Bitwise and.
            And => { class: int, effect: None, bind: bits::and }
            /// Bitwise or.
            Or => { class: int, effect: None, bind: bits::or }
            /// Bitwise exclusive or.
            Xor => { class: int, effect: None, bind: bits::xor }
            /// Bitwise complement.
            Not => { class: int, effect: None, bind: bits::not }
            /// Logical complement: 1 for zero, else 0.
            Cnot => { class: int, effect: None, bind: bits::cnot }
            /// Any bitwise function of three operands; the fourth is its truth table.
            Lop3 (combination: Combination) => { class: int, effect: None, bind: bits::lop3 }
            /// Left shift.
            Shl => { class: int, effect: None, bind: bits::shl }
            /// Right shift, arithmetic for signed types.
            Shr => { class: int, effect: None, bind: bits::shr }
            /// Funnel shift left or right.
            Shf (shift: FunnelShift) => { class: int, effect: None, bind: bits::shf }
            /// Number of ones.
            Popc => { class: int, effect: None, bind: bits::popc }
            /// Number of leading zeros.
            Clz => { class: int, effect: None, bind: bits::clz }
            /// Position of the most significant bit that differs from the sign, or the shift amount that brings it to the top.
            Bfind (answer: BfindAnswer) => { class: int, effect: None, bind: bits::bfind }
            /// Bit reversal.
            Brev => { class: int, effect: None, bind: bits::brev }
            /// Bit-field extract.
            Bfe => { class: int, effect: None, bind: bits::bfe }
            /// Bit-field insert.
            Bfi => { class: int, effect: None, bind: bits::bfi }
            /// Position of the n-th set bit.
            Fns => { class: int, effect: None, bind: bits::fns }
            /// Bit mask from position and width.
            Bmsk (mode: ShiftMode) => { class: int, effect: None, bind: bits::bmsk }
            /// Sign or zero extension from a bit position.
            Szext (mode: ShiftMode) => { class: int, effect: None, bind: bits::szext }
            /// Byte permutation.
            Prmt (mode: PrmtMode) => { class: int, effect: None, bind: bits::prmt }
            /// Four-way byte dot product, accumulated.
            Dp4a => { class: mul, effect: None, bind: arithmetic::dp4a }
            /// Two-way dot product of halves with bytes, accumulated.
            Dp2a (half: Dp2aHalf) => { class: mul, effect: None, bind: arithmetic::dp2a }

            /// Compares and writes an integer or float truth value.
            Set (comparison: Comparison) => { class: compare, effect: None, bind: predicate::set }
            /// Compares and writes predicates.
            Setp (comparison: Comparison) => { class: compare, effect: None, bind: predicate::setp }
            /// Selects by predicate.
            Selp => { class: int, effect: None, bind: predicate::selp }
            /// Selects by the sign of the third operand.
            Slct (subnormals: Subnormals) => { class: int, effect: None, bind: predicate::slct }
            /// Converts between types.
            Cvt (conversion: Conversion) => { class: convert, effect: None, bind: convert::cvt }
            /// Converts two 32-bit integers to narrow ones and packs them.
            CvtPack => { class: convert, effect: None, bind: convert::cvt_pack }

            /// Load.
            Ld (access: AccessOrder) => { class: load, effect: Load, bind: transfer::ld }
            /// Store.
            St (access: AccessOrder) => { class: memory, effect: Store, bind: transfer::st }
            /// Atomic that returns the old value.
            Atom (atomic: Atomic) => { class: atomic, effect: Atomic, bind: transfer::atom }
            /// Reduction to memory without a result.
            Red (atomic: Atomic) => { class: atomic, effect: Atomic, bind: transfer::red }
            /// Copies from one memory to another without a register. Where the predicate is true, zeros are written and
            /// nothing is read.
            Copy => { class: memory, effect: Store, bind: transfer::copy }
            /// Hint to the caches; has no effect on values.
            Prefetch => { class: memory, effect: Load, bind: control::nothing }

            /// Reads another lane's value.
            Shfl (mode: ShuffleMode) => { class: warp, effect: Exchange, bind: exchange::shfl }
            /// Asks the lanes of a warp for a predicate.
            Vote (mode: VoteMode) => { class: warp, effect: Vote, bind: exchange::vote }
            /// Finds the lanes with the same value.
            Match (mode: MatchMode) => { class: warp, effect: Vote, bind: exchange::match_ }
            /// Mask of the lanes that execute together.
            Activemask => { class: warp, effect: Vote, bind: control::activemask }
            /// Reduces a value over the lanes of a warp.
            Redux (reduction: Reduction) => { class: warp, effect: Vote, bind: exchange::redux }
            /// Elects one lane.
            Elect => { class: warp, effect: Exchange, bind: exchange::elect }

            /// Branch; the targets stand at the block.
            Bra (hint: Branch) => { class: control, effect: End, bind: control::branch }
            /// Branch through a table of targets.
            BrxIdx (hint: Branch) => { class: control, effect: End, bind: control::branch_indexed }
            /// Call; the target stands at the block.
            Call (hint: Branch) => { class: control, effect: End, bind: control::call }
            /// Return.
            Ret => { class: control, effect: End, bind: control::ret }
            /// Ends the thread.
            Exit => { class: control, effect: End, bind: control::exit }
            /// Aborts the launch.
            Trap => { class: control, effect: End, bind: control::trap }
            /// Opens a region: the lanes of the convergence barrier (last destination) will wait at its `Bsync`.
            Bssy => { class: control, effect: Fence, bind: control::nothing }
            /// Waits for the lanes of the convergence barrier.
            Bsync => { class: control, effect: End, bind: control::nothing }
            /// Does nothing that a thread can see: `nanosleep`, `pmevent`, `brkpt`, `discard` and the like.
            Nop => { class: other, effect: Fence, bind: control::nothing }

            /// CTA barrier.
            Bar (kind: BarrierKind) => { class: barrier, effect: Fence, bind: control::bar }
            /// Barrier among lanes of one warp.
            BarWarp => { class: barrier, effect: Fence, bind: exchange::bar_warp }
            /// Memory fence.
            Fence => { class: barrier, effect: Fence, bind: control::nothing }

            /// Reserves stack space of the thread.
            Alloca => { class: other, effect: Fence, bind: control::alloca }
            /// Reads the stack pointer.
            StackSave => { class: other, effect: Special, bind: control::stack_save }
            /// Writes the stack pointer.
            StackRestore => { class: other, effect: Fence, bind: control::stack_restore }
            /// A system call that the emulator serves, such as `vprintf` or `malloc`.
            SystemCall (service: SystemCall) => { class: control, effect: Call, bind: control::system_call }
            /// An instruction that the emulator does not execute yet.
            Unsupported => { class: other, effect: Call, bind: control::unsupported }
        }
    };
}

macro_rules! declare {
    ($($(#[$meta:meta])* $name:ident $(($payload:ident: $Payload:ty))? =>
        { class: $class:ident, effect: $effect:ident, bind: $module:ident::$bind:ident })*) => {
        /// The name of an operation of the IR, without what refines it. One row of [`with_ops!`](crate::with_ops).
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Op {
            $($(#[$meta])* $name,)*
        }

        impl Op {
            /// Every operation, in table order.
            pub const ALL: &[Op] = &[$(Self::$name,)*];

            /// Name in dumps.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }

            /// Class of the operation on values of type `ty`.
            pub fn class(self, ty: ScalarType) -> OpClass {
                match self { $(Self::$name => class_rule::$class(ty),)* }
            }

            /// What the operation does besides computing its results.
            pub const fn effect(self) -> Effect {
                match self { $(Self::$name => Effect::$effect,)* }
            }
        }
    };
}

with_ops!(declare);

impl Op {
    /// The kind under which a profile counts the operation as high-latency, if it is one.
    pub fn high_latency(self, ty: ScalarType) -> Option<HighLatency> {
        Some(match self {
            Self::Sqrt => HighLatency::Sqrt,
            Self::Rsqrt => HighLatency::Rsqrt,
            Self::Rcp => HighLatency::Rcp,
            Self::Div => HighLatency::Div,
            Self::Rem => HighLatency::Rem,
            Self::Sin => HighLatency::Sin,
            Self::Cos => HighLatency::Cos,
            Self::Ex2 => HighLatency::Ex2,
            Self::Lg2 => HighLatency::Lg2,
            Self::Tanh => HighLatency::Tanh,
            Self::Mul | Self::MulHi | Self::Mad | Self::MadHi if ty.is_integer() && ty.bits() == 64 => HighLatency::Mul,
            _ => return None,
        })
    }

    /// Number of places in memory that the operation touches.
    pub const fn n_memory_references(self) -> usize {
        match self.effect() {
            Effect::Store if matches!(self, Self::Copy) => 2,
            Effect::Load | Effect::Store | Effect::Atomic => 1,
            Effect::None
            | Effect::Special
            | Effect::Vote
            | Effect::Exchange
            | Effect::Fence
            | Effect::Call
            | Effect::End => 0,
        }
    }

    /// True for operations that end a basic block.
    pub const fn ends_block(self) -> bool {
        matches!(self.effect(), Effect::End)
    }
}

/// Rules from an operation's type to its class.
mod class_rule {
    use super::{OpClass, ScalarType};

    pub(super) fn by_type(ty: ScalarType) -> OpClass {
        match ty {
            ScalarType::F32 | ScalarType::Tf32 | ScalarType::F32x2 => OpClass::Fp32,
            ScalarType::F64 => OpClass::Fp64,
            ScalarType::F16 | ScalarType::Bf16 | ScalarType::F16x2 | ScalarType::Bf16x2 => OpClass::Fp16,
            ScalarType::Pred
            | ScalarType::B8
            | ScalarType::B16
            | ScalarType::B32
            | ScalarType::B64
            | ScalarType::B128
            | ScalarType::U8
            | ScalarType::U16
            | ScalarType::U32
            | ScalarType::U64
            | ScalarType::S8
            | ScalarType::S16
            | ScalarType::S32
            | ScalarType::S64
            | ScalarType::U16x2
            | ScalarType::S16x2
            | ScalarType::E4m3x2
            | ScalarType::E5m2x2
            | ScalarType::E3m2x2
            | ScalarType::E2m3x2
            | ScalarType::E2m1x2
            | ScalarType::Ue8m0x2 => OpClass::Int,
        }
    }

    pub(super) fn mul(ty: ScalarType) -> OpClass {
        match by_type(ty) {
            OpClass::Int => OpClass::IntMul,
            class => class,
        }
    }

    pub(super) fn divide(ty: ScalarType) -> OpClass {
        mul(ty)
    }

    pub(super) fn compare(ty: ScalarType) -> OpClass {
        by_type(ty)
    }

    pub(super) fn special(ty: ScalarType) -> OpClass {
        if ty == ScalarType::F64 { OpClass::Fp64 } else { OpClass::Sfu }
    }

    macro_rules! fixed {
        ($($rule:ident $class:ident;)*) => {$(
            pub(super) fn $rule(_: ScalarType) -> OpClass {
                OpClass::$class
            }
        )*};
    }

    fixed! {
        virtual_ Virtual;
        int Int;
        convert Convert;
        load Memory;
        memory Memory;
        atomic Atomic;
        warp Warp;
        control Control;
        barrier Barrier;
        other Other;
    }
}
