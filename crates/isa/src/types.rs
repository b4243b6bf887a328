//! Scalar types. Types belong to operations, not to registers.

use std::fmt;

macro_rules! scalar_types {
    ($($name:ident $text:literal $bits:literal $kind:ident;)*) => {
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

            const fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)* }
            }
        }
    };
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
    Pred "pred" 1 Pred;
    B8 "b8" 8 Bits;
    B16 "b16" 16 Bits;
    B32 "b32" 32 Bits;
    B64 "b64" 64 Bits;
    B128 "b128" 128 Bits;
    U8 "u8" 8 Unsigned;
    U16 "u16" 16 Unsigned;
    U32 "u32" 32 Unsigned;
    U64 "u64" 64 Unsigned;
    S8 "s8" 8 Signed;
    S16 "s16" 16 Signed;
    S32 "s32" 32 Signed;
    S64 "s64" 64 Signed;
    F16 "f16" 16 Float;
    Bf16 "bf16" 16 Float;
    Tf32 "tf32" 32 Float;
    F32 "f32" 32 Float;
    F64 "f64" 64 Float;
    F16x2 "f16x2" 32 Packed;
    Bf16x2 "bf16x2" 32 Packed;
    U16x2 "u16x2" 32 Packed;
    S16x2 "s16x2" 32 Packed;
    F32x2 "f32x2" 64 Packed;
    E4m3x2 "e4m3x2" 16 Packed;
    E5m2x2 "e5m2x2" 16 Packed;
    E3m2x2 "e3m2x2" 16 Packed;
    E2m3x2 "e2m3x2" 16 Packed;
    E2m1x2 "e2m1x2" 8 Packed;
    Ue8m0x2 "ue8m0x2" 16 Packed;
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
