//! Matrices that the lanes of a warp hold together: their products, and how they come from memory and go there.

use crate::{BoolOp, Family, InstKey, MatrixShape, NamedType, NarrowType, Rounding, ScalarType};

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
    /// `.e3m2`, in the low six bits of a byte.
    E3m2,
    /// `.e2m3`, in the low six bits of a byte.
    E2m3,
    /// `.e2m1`, in the four bits in the middle of a byte.
    E2m1,
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
            NamedType::Narrow(NarrowType::E3m2) => Self::E3m2,
            NamedType::Narrow(NarrowType::E2m3) => Self::E2m3,
            NamedType::Narrow(NarrowType::E2m1) => Self::E2m1,
            NamedType::Narrow(NarrowType::S4) => Self::S4,
            NamedType::Narrow(NarrowType::U4) => Self::U4,
            NamedType::Narrow(NarrowType::B1) => Self::B1,
            _ => return None,
        })
    }

    /// Bits of an element, with those around it that are not looked at.
    pub const fn bits(self) -> u32 {
        match self {
            Self::F64 => 64,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F16 | Self::Bf16 => 16,
            Self::E4m3 | Self::E5m2 | Self::E3m2 | Self::E2m3 | Self::E2m1 | Self::S8 | Self::U8 => 8,
            Self::S4 | Self::U4 => 4,
            Self::B1 => 1,
        }
    }

    /// Floats of at most eight bits.
    pub const fn is_small_float(self) -> bool {
        matches!(self, Self::E4m3 | Self::E5m2 | Self::E3m2 | Self::E2m3 | Self::E2m1)
    }

    /// Elements of a sparse matrix that are neighbours in depth and of which half are held.
    pub const fn sparse_group(self) -> usize {
        match self.bits() {
            32.. => 2,
            8.. => 4,
            _ => 8,
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
            Self::E3m2 => "e3m2",
            Self::E2m3 => "e2m3",
            Self::E2m1 => "e2m1",
            Self::S32 => "s32",
            Self::S8 => "s8",
            Self::U8 => "u8",
            Self::S4 => "s4",
            Self::U4 => "u4",
            Self::B1 => "b1",
        }
    }
}

/// A product of matrices with an accumulator: d = a b + c.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatrixProduct {
    /// Extents.
    pub shape: MatrixShape,
    /// Types of d, a, b and c.
    pub types: [MatrixType; 4],
    /// Integer results beyond the range of s32 are clamped to it.
    pub satfinite: bool,
    /// How the sums of f64 are rounded; others have a rounding of their own.
    pub rounding: Rounding,
    /// What takes the place of the multiplication of single bits.
    pub combination: Option<BoolOp>,
    /// a lies by columns, and b by rows, instead of the other way: where instructions have the choice.
    pub turned: [bool; 2],
    /// Half of the elements of a are zeros, and only the others are held.
    pub sparsity: Option<Sparsity>,
}

/// How it is told which elements of a sparse matrix are held.
///
/// Of each group of neighbours in depth ([`MatrixType::sparse_group`]) half are held, elements of four bits in pairs. Four
/// bits of metadata say for each group which: two times two bits the places of the two elements or pairs, for the single
/// element of a group of two the first of its halves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Sparsity {
    /// Which of the lanes of four neighbours hold the metadata, where not all do: the number of their part.
    pub selector: u8,
    /// The places in each group ascend.
    pub ordered: bool,
}

impl MatrixProduct {
    /// A product without anything special.
    pub const fn new(shape: MatrixShape, types: [MatrixType; 4]) -> Self {
        Self {
            shape,
            types,
            satfinite: false,
            rounding: Rounding::Nearest,
            combination: None,
            turned: [false; 2],
            sparsity: None,
        }
    }

    /// The depth that a has as it is held.
    pub const fn held_depth(&self) -> u16 {
        if self.sparsity.is_some() { self.shape.k / 2 } else { self.shape.k }
    }

    /// Of four neighbouring lanes, how many hold the metadata of the 16 rows of a sparse matrix that a warp has.
    pub const fn metadata_lanes(&self) -> usize {
        self.shape.k as usize / self.types[1].sparse_group() / 4
    }

    /// It is four products, each of eight lanes: the shape m8n8k4 of f16.
    pub const fn is_by_quads(&self) -> bool {
        matches!((self.shape.m, self.shape.k, self.types[1]), (8, 4, MatrixType::F16))
    }

    /// The work of an instruction of 16 rows, 8 columns and 128 bits of depth, above which a result takes longer.
    pub const HALF_WORK: u32 = 16 * 8 * 8;

    /// The elements are `f64`, each in two registers.
    pub const fn is_double(&self) -> bool {
        matches!(self.types[0], MatrixType::F64)
    }

    /// The work of the product in multiply-adds of 16-bit elements, of which tensor cores do half as many as of elements
    /// of half the width. Of f64, which have lanes of their own, it is the multiply-adds. Zeros that a sparse matrix does not
    /// hold are no work.
    pub const fn work(&self) -> u32 {
        let times = if self.is_by_quads() { 4 } else { 1 };
        let held = MatrixShape { k: self.held_depth(), ..self.shape };
        let multiply_adds = times * held.multiply_adds();
        match self.types[1] {
            MatrixType::F64 => multiply_adds,
            factor => multiply_adds * factor.bits() / 16,
        }
    }

    /// Registers of the fragments of d, a, b and c. The metadata of a sparse product are one more.
    pub const fn registers(&self) -> [usize; 4] {
        let MatrixShape { m, n, k } = self.shape;
        let [d, a, b, c] = self.types;
        let lanes = if self.is_by_quads() { 8 } else { 32 };
        const fn count(rows: u16, columns: u16) -> usize {
            rows as usize * columns as usize
        }
        [
            count(m, n) / lanes / d.per_register(),
            count(m, self.held_depth()) / lanes / a.per_register(),
            count(k, n) / lanes / b.per_register(),
            count(m, n) / lanes / c.per_register(),
        ]
    }
}

/// Matrices of eight rows of 16 bytes that move between shared memory and the registers of a warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MatrixMove {
    /// How many: 1, 2 or 4.
    pub count: u8,
    /// What the rows are made of.
    pub elements: MovedElements,
    /// They are transposed on the way.
    pub transposed: bool,
}

/// The elements of matrices that move between shared memory and registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MovedElements {
    /// Eight of 16 bits in a row.
    Halves,
    /// 16 bytes in a row, which is a column of the matrix that lanes hold.
    Bytes,
    /// 16 of six bits in the first 12 bytes of a row, each a byte in registers.
    SixBits,
    /// 16 of four bits in the first 8 bytes of a row, each a byte in registers.
    FourBits,
}

impl MatrixMove {
    /// The lanes whose addresses are those of rows, eight for each matrix.
    pub const fn rows(self) -> u32 {
        u32::MAX >> (32 - 8 * self.count as u32)
    }
}

/// A product that four warps carry out together, each 16 of the 64 rows. b lies in shared memory, and a there or in
/// registers of each warp.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct GroupProduct {
    /// The product of all warps; c is what d was before.
    pub product: MatrixProduct,
    /// a lies in shared memory.
    pub a_in_shared: bool,
    /// The elements of a, and those of b, change their sign.
    pub negated: [bool; 2],
}

impl GroupProduct {
    /// Registers of a in each lane, where it lies there.
    pub const REGISTERS_OF_A: usize = 4;

    /// Registers of d in each lane.
    pub const fn results(&self) -> usize {
        self.product.registers()[0] / WARPS_OF_A_GROUP as usize
    }

    /// The work of one warp, as [`MatrixProduct::work`] has it.
    pub const fn work(&self) -> u32 {
        self.product.work() / WARPS_OF_A_GROUP
    }
}

/// Which tensor lanes an instruction takes; each sort has a rate of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum TensorLanes {
    /// Products of one warp whose result is no f32.
    Warp,
    /// Products of one warp that add in f32.
    WarpFp32,
    /// Products of one warp in f64.
    WarpFp64,
    /// Products that four warps carry out together.
    Group,
}

/// What an instruction asks of the tensor lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TensorWork {
    /// Which ones.
    pub lanes: TensorLanes,
    /// Multiply-adds of one warp.
    pub multiply_adds: u32,
    /// The same in those of 16-bit elements, as [`MatrixProduct::work`] has it.
    pub work: u32,
}

/// Warps that carry out one asynchronous matrix product together.
const WARPS_OF_A_GROUP: u32 = 4;

impl InstKey {
    /// What a product of matrices asks of the tensor lanes; none for other instructions. The factors of a product that
    /// names only two types are f16. Of a sparse product the elements that are held count.
    pub fn tensor_work(&self) -> Option<TensorWork> {
        use Family as F;
        let is_sparse = matches!(self.family, F::MmaSp | F::WgmmaMmaAsyncSp);
        let is_of_group = matches!(self.family, F::WgmmaMmaAsync | F::WgmmaMmaAsyncSp);
        let shape = self.shape.filter(|_| is_sparse || is_of_group || matches!(self.family, F::Mma | F::WmmaMma))?;
        let shape = if is_sparse { MatrixShape { k: shape.k / 2, ..shape } } else { shape };
        let types: Vec<NamedType> = self.types.iter().collect();
        let factor = types.get(1).filter(|_| types.len() > 2).copied().and_then(MatrixType::of);
        let factor = factor.unwrap_or(MatrixType::F16);
        let result = types.first().copied().and_then(MatrixType::of);
        let multiply_adds = match self.family {
            _ if is_of_group => shape.multiply_adds().div_ceil(WARPS_OF_A_GROUP),
            // Four products by quads of lanes.
            F::Mma if (shape.m, shape.k, factor) == (8, 4, MatrixType::F16) && types.len() > 2 => {
                4 * shape.multiply_adds()
            }
            _ => shape.multiply_adds(),
        };
        let lanes = match result {
            _ if is_of_group => TensorLanes::Group,
            Some(MatrixType::F64) => TensorLanes::WarpFp64,
            Some(MatrixType::F32) => TensorLanes::WarpFp32,
            _ => TensorLanes::Warp,
        };
        let is_double = lanes == TensorLanes::WarpFp64;
        let work = if is_double { multiply_adds } else { multiply_adds * factor.bits() / 16 };
        Some(TensorWork { lanes, multiply_adds, work })
    }
}
