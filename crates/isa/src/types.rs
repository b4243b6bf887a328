//! Scalar types. Types belong to operations, not to registers.

use std::fmt;

macro_rules! scalar_types {
    ($($name:ident $text:literal $bits:literal $kind:ident $arithmetic:ident;)*) => {
        /// Type of the values that an operation works on.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ScalarType {
            $(#[doc = concat!("`.", $text, "`")] $name,)*
        }

        impl ScalarType {
            /// Every type, in declaration order.
            pub const ALL: &[ScalarType] = &[$(Self::$name,)*];

            /// Name as PTX writes it, without the dot.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// Width of a value in bits; 1 for a predicate.
            pub const fn bits(self) -> u32 {
                match self { $(Self::$name => $bits,)* }
            }

            /// What computes with values of the type.
            pub const fn arithmetic(self) -> Arithmetic {
                match self { $(Self::$name => Arithmetic::$arithmetic,)* }
            }

            const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }
        }
    };
}

/// Units that arithmetic runs on, by the type of its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arithmetic {
    /// Integers, bits, predicates, and what is only moved and converted.
    Int,
    /// Half precision: f16 and bf16, scalar and packed.
    Fp16,
    /// Single precision.
    Fp32,
    /// Double precision.
    Fp64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pred,
    Bits,
    Unsigned,
    Signed,
    Float,
    Packed,
}

scalar_types! {
    Pred "pred" 1 Pred Int;
    B8 "b8" 8 Bits Int;
    B16 "b16" 16 Bits Int;
    B32 "b32" 32 Bits Int;
    B64 "b64" 64 Bits Int;
    B128 "b128" 128 Bits Int;
    U8 "u8" 8 Unsigned Int;
    U16 "u16" 16 Unsigned Int;
    U32 "u32" 32 Unsigned Int;
    U64 "u64" 64 Unsigned Int;
    S8 "s8" 8 Signed Int;
    S16 "s16" 16 Signed Int;
    S32 "s32" 32 Signed Int;
    S64 "s64" 64 Signed Int;
    F16 "f16" 16 Float Fp16;
    Bf16 "bf16" 16 Float Fp16;
    Tf32 "tf32" 32 Float Fp32;
    F32 "f32" 32 Float Fp32;
    F64 "f64" 64 Float Fp64;
    F16x2 "f16x2" 32 Packed Fp16;
    Bf16x2 "bf16x2" 32 Packed Fp16;
    U16x2 "u16x2" 32 Packed Int;
    S16x2 "s16x2" 32 Packed Int;
    U8x4 "u8x4" 32 Packed Int;
    S8x4 "s8x4" 32 Packed Int;
    F32x2 "f32x2" 64 Packed Fp32;
    E4m3x2 "e4m3x2" 16 Packed Int;
    E5m2x2 "e5m2x2" 16 Packed Int;
    E3m2x2 "e3m2x2" 16 Packed Int;
    E2m3x2 "e2m3x2" 16 Packed Int;
    E2m1x2 "e2m1x2" 8 Packed Int;
    Ue8m0x2 "ue8m0x2" 16 Packed Int;
}

impl ScalarType {
    /// Bytes that a value takes in memory.
    pub const fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True for signed integers.
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), Kind::Signed)
    }

    /// True for scalar floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), Kind::Float)
    }

    /// True for signed and unsigned integers and untyped bits.
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), Kind::Bits | Kind::Unsigned | Kind::Signed)
    }

    /// True for several narrow values in one register.
    pub const fn is_packed(self) -> bool {
        matches!(self.kind(), Kind::Packed)
    }

    /// The type that PTX calls `name` (without the dot).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|ty| ty.name() == name)
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
