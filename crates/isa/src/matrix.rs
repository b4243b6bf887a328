//! Products of matrices that the lanes of a warp hold together.

use crate::{BoolOp, MatrixShape, NamedType, NarrowType, ScalarType};

/// Type of the elements of a matrix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MatrixType {
    /// `.f16`
    F16,
    /// `.bf16`
    Bf16,
    /// `.tf32`
    Tf32,
    /// `.f32`
    F32,
    /// `.f64`
    F64,
    /// `.e4m3`
    E4m3,
    /// `.e5m2`
    E5m2,
    /// `.s32`
    S32,
    /// `.s8`
    S8,
    /// `.u8`
    U8,
    /// `.s4`
    S4,
    /// `.u4`
    U4,
    /// `.b1`
    B1,
}

impl MatrixType {
    /// The type of a name, if matrices have it.
    pub const fn of(ty: NamedType) -> Option<Self> {
        Some(match ty {
            NamedType::Scalar(ScalarType::F16) => Self::F16,
            NamedType::Scalar(ScalarType::Bf16) => Self::Bf16,
            NamedType::Scalar(ScalarType::Tf32) => Self::Tf32,
            NamedType::Scalar(ScalarType::F32) => Self::F32,
            NamedType::Scalar(ScalarType::F64) => Self::F64,
            NamedType::Scalar(ScalarType::S32) => Self::S32,
            NamedType::Scalar(ScalarType::S8) => Self::S8,
            NamedType::Scalar(ScalarType::U8) => Self::U8,
            NamedType::Narrow(NarrowType::E4m3) => Self::E4m3,
            NamedType::Narrow(NarrowType::E5m2) => Self::E5m2,
            NamedType::Narrow(NarrowType::S4) => Self::S4,
            NamedType::Narrow(NarrowType::U4) => Self::U4,
            NamedType::Narrow(NarrowType::B1) => Self::B1,
            _ => return None,
        })
    }

    /// Bits of an element.
    pub const fn bits(self) -> u32 {
        match self {
            Self::F64 => 64,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Elements that a register holds.
    pub const fn per_register(self) -> usize {
        match self {
            Self::F64 => 1,
            _ => (32 / self.bits()) as usize,
        }
    }

    /// The type of a register of a fragment.
    pub const fn register(self) -> ScalarType {
        match self {
            Self::F64 => ScalarType::F64,
            Self::F32 => ScalarType::F32,
            Self::S32 => ScalarType::S32,
            _ => ScalarType::B32,
        }
    }

    /// Name in dumps.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::Tf32 => "tf32",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::E4m3 => "e4m3",
            Self::E5m2 => "e5m2",
            Self::S32 => "s32",
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S4 => "s4",
            Self::U4 => "u4",
            Self::B1 => "b1",
        }
    }
}

/// A product of matrices with an accumulator: d = a b + c. `a` lies by rows, `b` by columns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatrixProduct {
    /// Extents.
    pub shape: MatrixShape,
    /// Types of d, a, b and c.
    pub types: [MatrixType; 4],
    /// Integer results beyond the range of s32 are clamped to it.
    pub satfinite: bool,
    /// What takes the place of the multiplication of single bits.
    pub combination: Option<BoolOp>,
}

impl MatrixProduct {
    /// The elements are `f64`, each in two registers.
    pub const fn is_double(&self) -> bool {
        matches!(self.types[0], MatrixType::F64)
    }

    /// Registers of the fragments of d, a, b and c.
    pub const fn registers(&self) -> [usize; 4] {
        let MatrixShape { m, n, k } = self.shape;
        let [d, a, b, c] = self.types;
        const fn count(rows: u16, columns: u16) -> usize {
            rows as usize * columns as usize
        }
        [
            count(m, n) / 32 / d.per_register(),
            count(m, k) / 32 / a.per_register(),
            count(k, n) / 32 / b.per_register(),
            count(m, n) / 32 / c.per_register(),
        ]
    }
}
