//! Classes of operations, as timing distinguishes them.

use std::cmp::Ordering;
use std::fmt;

use crate::ScalarType;

macro_rules! classes {
    ($($(#[$meta:meta])* $name:ident $text:literal;)*) => {
        /// Pipe family of an instruction. A new class is made only if timing truly differs.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum OpClass {
            $($(#[$meta])* $name,)*
        }

        impl OpClass {
            /// Every class, in the order in which reports list them.
            pub const ALL: &[OpClass] = &[$(Self::$name,)*];

            /// Name in reports and data files.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

classes! {
    /// f32 add, multiply, fused multiply-add, minimum, maximum, compare.
    Fp32 "fp32";
    /// f64 arithmetic.
    Fp64 "fp64";
    /// f16 and bf16 arithmetic, scalar and packed.
    Fp16 "fp16";
    /// Integer add, logic, shift, compare, select.
    Int "int";
    /// Integer multiply and multiply-add.
    IntMul "int_mul";
    /// Approximate functions: reciprocal, square roots, sine, cosine, exponential, logarithm, hyperbolic tangent.
    Sfu "sfu";
    /// Conversions between types.
    Convert "convert";
    /// Loads and stores of every space.
    Memory "memory";
    /// Atomics and reductions to memory.
    Atomic "atomic";
    /// Branch, call, return, exit.
    Control "control";
    /// CTA barriers and memory fences.
    Barrier "barrier";
    /// Shuffle, vote, match and other exchange inside a warp.
    Warp "warp";
    /// Matrix multiply-accumulate.
    Tensor "tensor";
    /// Register copies, address-space conversions and parameter loads, which machine code mostly does without.
    Virtual "virtual";
    /// Everything else.
    Other "other";
}

impl OpClass {
    /// The class called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|class| class.name() == name)
    }
}

impl fmt::Display for OpClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Operations that expand to several machine instructions or occupy a slow pipe; counted by kind and type.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum HighLatency {
    /// Square root.
    Sqrt,
    /// Reciprocal square root.
    Rsqrt,
    /// Reciprocal.
    Rcp,
    /// Division, floating-point or integer.
    Div,
    /// Integer remainder.
    Rem,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Power of two.
    Ex2,
    /// Binary logarithm.
    Lg2,
    /// Hyperbolic tangent.
    Tanh,
    /// 64-bit integer multiply or multiply-add.
    Mul,
}

impl HighLatency {
    /// Every kind.
    pub const ALL: &[HighLatency] = &[
        Self::Sqrt,
        Self::Rsqrt,
        Self::Rcp,
        Self::Div,
        Self::Rem,
        Self::Sin,
        Self::Cos,
        Self::Ex2,
        Self::Lg2,
        Self::Tanh,
        Self::Mul,
    ];

    /// Name in profiles.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqrt => "sqrt",
            Self::Rsqrt => "rsqrt",
            Self::Rcp => "rcp",
            Self::Div => "div",
            Self::Rem => "rem",
            Self::Sin => "sin",
            Self::Cos => "cos",
            Self::Ex2 => "ex2",
            Self::Lg2 => "lg2",
            Self::Tanh => "tanh",
            Self::Mul => "mul",
        }
    }
}

/// An operation that expands or is slow, with the type of its values: what a profile counts such operations by. The order
/// is that of the names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SlowOperation {
    /// What it computes.
    pub kind: HighLatency,
    /// Of which type.
    pub ty: ScalarType,
}

impl SlowOperation {
    /// The operation that is displayed as `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        let (kind, ty) = name.split_once('.')?;
        let kind = HighLatency::ALL.iter().copied().find(|known| known.name() == kind)?;
        Some(Self { kind, ty: ScalarType::from_name(ty)? })
    }
}

/// `div.f32`.
impl fmt::Display for SlowOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.kind.name(), self.ty)
    }
}

impl Ord for SlowOperation {
    fn cmp(&self, other: &Self) -> Ordering {
        let names = |operation: &Self| (operation.kind.name(), operation.ty.name());
        names(self).cmp(&names(other))
    }
}

impl PartialOrd for SlowOperation {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
