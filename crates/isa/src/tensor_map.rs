//! Tensor maps: the 128 bytes that say where a tensor lies, and which box of it a copy moves.
//!
//! On GPUs the bytes mean what the driver wrote. Here launches write them, in a layout of their own (numbers are little
//! endian):
//!
//! | Bytes | Field |
//! |---|---|
//! | 0 to 7 | a mark, by which other bytes are told apart |
//! | 8 to 15 | address of the tensor |
//! | 16 | dimensions, 1 to 5 |
//! | 17 | type of an element, by its place in [`TensorMap::TYPES`] |
//! | 18 | swizzle: 0 for none, else its logarithm |
//! | 19 | 1 where elements outside are NaN, 0 where they are zero |
//! | 24 to 43 | elements of the tensor, by dimension, the one that is dense first |
//! | 48 to 79 | bytes from one element to the next, of the dimensions from the second on |
//! | 80 to 99 | extents of the box in elements of the tensor |
//! | 100 to 119 | of how many neighbouring elements along a dimension one is copied |

use crate::ScalarType;

/// Most dimensions of a tensor.
pub const MOST_TENSOR_DIMENSIONS: usize = 5;

/// Bytes of a tensor map.
pub const TENSOR_MAP_BYTES: usize = 128;

/// Where the address of the tensor stands in them.
pub const TENSOR_MAP_ADDRESS: usize = 8;

const MARK: u64 = u64::from_le_bytes(*b"tensor-1");

/// A field of the bytes of a tensor map, of a dimension where there is one for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TensorMapField {
    /// Address of the tensor.
    Address,
    /// Number of dimensions.
    Dimensions,
    /// Place of the type of an element in [`TensorMap::TYPES`].
    Type,
    /// Place of the swizzle in [`Swizzle::ALL`].
    Swizzle,
    /// Whether elements outside are NaN.
    Fill,
    /// Elements of the tensor.
    Extent(u8),
    /// Bytes from one element to the next, counted from the second dimension on.
    Stride(u8),
    /// Extent of the box.
    BoxExtent(u8),
    /// Of how many neighbours one is copied.
    Step(u8),
}

/// The field of a dimension.
type FieldOfDimension = fn(u8) -> TensorMapField;

impl TensorMapField {
    /// Where it begins.
    pub const fn offset(self) -> usize {
        match self {
            Self::Address => TENSOR_MAP_ADDRESS,
            Self::Dimensions => 16,
            Self::Type => 17,
            Self::Swizzle => 18,
            Self::Fill => 19,
            Self::Extent(dimension) => 24 + 4 * dimension as usize,
            Self::Stride(dimension) => 48 + 8 * dimension as usize,
            Self::BoxExtent(dimension) => 80 + 4 * dimension as usize,
            Self::Step(dimension) => 100 + 4 * dimension as usize,
        }
    }

    /// The type of its number.
    pub const fn ty(self) -> ScalarType {
        match self {
            Self::Address | Self::Stride(_) => ScalarType::U64,
            Self::Dimensions | Self::Type | Self::Swizzle | Self::Fill => ScalarType::U8,
            Self::Extent(_) | Self::BoxExtent(_) | Self::Step(_) => ScalarType::U32,
        }
    }
}

/// How the parts of a row change places in shared memory, so that columns do not conflict.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Swizzle {
    /// They do not.
    #[default]
    None,
    /// Pieces of 16 bytes in rows of 32.
    Bytes32,
    /// Pieces of 16 bytes in rows of 64.
    Bytes64,
    /// Pieces of 16 bytes in rows of 128.
    Bytes128,
}

impl Swizzle {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::None, Self::Bytes32, Self::Bytes64, Self::Bytes128];

    /// Bytes of the rows whose pieces change places; none where they do not.
    pub const fn span(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Bytes32 => Some(32),
            Self::Bytes64 => Some(64),
            Self::Bytes128 => Some(128),
        }
    }

    /// Where what belongs at an address of shared memory lies: the number of its piece of 16 bytes is combined with that
    /// of its row of 128 bytes.
    pub const fn place(self, address: u64) -> u64 {
        let mask = match self {
            Self::None => 0,
            Self::Bytes32 => 1,
            Self::Bytes64 => 3,
            Self::Bytes128 => 7,
        };
        address ^ (address >> 7 & mask) << 4
    }
}

/// Where a tensor lies, and the box of it that one copy moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TensorMap {
    /// Address of the first element; a multiple of 16.
    pub address: u64,
    /// Type of an element.
    pub ty: ScalarType,
    /// Extents, of the dense dimension first.
    pub extents: Vec<u32>,
    /// Bytes from one element to the next, of the dimensions from the second on; multiples of 16.
    pub strides: Vec<u64>,
    /// Extents of the box.
    pub box_extents: Vec<u32>,
    /// Of so many neighbouring elements one is copied.
    pub steps: Vec<u32>,
    /// How rows lie in shared memory.
    pub swizzle: Swizzle,
    /// Elements outside of the tensor are NaN, and not zero.
    pub fills_nan: bool,
}

impl TensorMap {
    /// Types of elements.
    pub const TYPES: [ScalarType; 10] = [
        ScalarType::U8,
        ScalarType::U16,
        ScalarType::U32,
        ScalarType::S32,
        ScalarType::U64,
        ScalarType::S64,
        ScalarType::F16,
        ScalarType::F32,
        ScalarType::F64,
        ScalarType::Bf16,
    ];

    /// Elements that a copy moves along a dimension.
    pub fn count(&self, dimension: usize) -> u32 {
        self.box_extents[dimension].div_ceil(self.steps[dimension])
    }

    /// Bytes that a copy moves, those of elements outside among them.
    pub fn box_bytes(&self) -> u64 {
        let counts = (0..self.extents.len()).map(|dimension| u64::from(self.count(dimension)));
        counts.product::<u64>() * u64::from(self.ty.bytes())
    }

    /// Bytes that a copy moves along the dense dimension.
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.count(0)) * u64::from(self.ty.bytes())
    }

    /// Why no GPU takes the map, if so (CUDA driver API, `cuTensorMapEncodeTiled`).
    pub fn fault(&self) -> Option<String> {
        let n = self.extents.len();
        if n == 0 || n > MOST_TENSOR_DIMENSIONS {
            return Some(format!("a tensor has 1 to {MOST_TENSOR_DIMENSIONS} dimensions, not {n}"));
        }
        if self.box_extents.len() != n || self.steps.len() != n || self.strides.len() != n - 1 {
            return Some(format!(
                "of {n} dimensions, the box and the steps have one number each, the strides one less"
            ));
        }
        if !Self::TYPES.contains(&self.ty) {
            return Some(format!("there are no tensors of .{}", self.ty));
        }
        let is_bad = |list: &[u32], most: u32| list.iter().any(|&number| number == 0 || number > most);
        if is_bad(&self.extents, u32::MAX) || is_bad(&self.box_extents, 256) || is_bad(&self.steps, 8) {
            return Some("extents are not 0, those of a box at most 256, steps 1 to 8".to_owned());
        }
        if !self.address.is_multiple_of(16) || self.strides.iter().any(|&stride| !stride.is_multiple_of(16)) {
            return Some("a tensor begins at a multiple of 16 bytes, and so do its rows".to_owned());
        }
        if self.strides.iter().any(|&stride| stride >= 1 << 40) {
            return Some("a stride is less than 2^40 bytes".to_owned());
        }
        let row = self.row_bytes();
        if !row.is_multiple_of(16) {
            return Some(format!("a row of the box has {row} bytes, which is no multiple of 16"));
        }
        match self.swizzle.span() {
            Some(span) if row != u64::from(span) => Some(format!(
                "a row of the box has {row} bytes, and only rows of {span} are swizzled here: how shorter ones lie is not \
                 documented"
            )),
            _ => None,
        }
    }

    /// The bytes.
    pub fn pack(&self) -> [u8; TENSOR_MAP_BYTES] {
        let mut bytes = [0; TENSOR_MAP_BYTES];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        let place = |found: Option<usize>| found.expect("it is listed") as u8;
        put(0, &MARK.to_le_bytes());
        put(TENSOR_MAP_ADDRESS, &self.address.to_le_bytes());
        put(
            TensorMapField::Dimensions.offset(),
            &[
                self.extents.len() as u8,
                place(Self::TYPES.iter().position(|&ty| ty == self.ty)),
                place(Swizzle::ALL.iter().position(|&swizzle| swizzle == self.swizzle)),
                self.fills_nan.into(),
            ],
        );
        let lists: [(FieldOfDimension, &[u32]); 3] = [
            (TensorMapField::Extent, &self.extents),
            (TensorMapField::BoxExtent, &self.box_extents),
            (TensorMapField::Step, &self.steps),
        ];
        for (field, list) in lists {
            (0..).zip(list).for_each(|(at, number)| put(field(at).offset(), &number.to_le_bytes()));
        }
        (0..)
            .zip(&self.strides)
            .for_each(|(at, stride)| put(TensorMapField::Stride(at).offset(), &stride.to_le_bytes()));
        bytes
    }

    /// The map that bytes say; why not, if they say none.
    pub fn unpack(bytes: &[u8]) -> Result<Self, String> {
        let word =
            |at: usize| bytes.get(at..at + 8).and_then(|part| part.try_into().ok()).map_or(0, u64::from_le_bytes);
        if word(0) != MARK {
            return Err("these are not the bytes of a tensor map as launches make them".to_owned());
        }
        let byte = |field: TensorMapField| usize::from(bytes[field.offset()]);
        let n = byte(TensorMapField::Dimensions).min(MOST_TENSOR_DIMENSIONS) as u8;
        let list = |field: FieldOfDimension| (0..n).map(|at| word(field(at).offset()) as u32).collect::<Vec<u32>>();
        let ty = Self::TYPES.get(byte(TensorMapField::Type));
        let (Some(&ty), Some(&swizzle)) = (ty, Swizzle::ALL.get(byte(TensorMapField::Swizzle))) else {
            return Err("the type or the swizzle of the tensor map is none".to_owned());
        };
        let map = Self {
            address: word(TENSOR_MAP_ADDRESS),
            ty,
            extents: list(TensorMapField::Extent),
            strides: (1..n).map(|at| word(TensorMapField::Stride(at - 1).offset())).collect(),
            box_extents: list(TensorMapField::BoxExtent),
            steps: list(TensorMapField::Step),
            swizzle,
            fills_nan: byte(TensorMapField::Fill) == 1,
        };
        match map.fault() {
            Some(fault) => Err(fault),
            None => Ok(map),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            address: 0x7f00_0000_1000,
            ty: ScalarType::F16,
            extents: vec![100, 50, 7],
            strides: vec![208, 10_400],
            box_extents: vec![64, 8, 2],
            steps: vec![1, 2, 1],
            swizzle: Swizzle::Bytes128,
            fills_nan: true,
        }
    }

    #[test]
    fn maps_come_back() {
        assert_eq!(TensorMap::unpack(&map().pack()), Ok(map()));
        assert_eq!((map().count(1), map().box_bytes()), (4, 1024));
        for bytes in [vec![], vec![0; 128], vec![255; 128], MARK.to_le_bytes().repeat(16)] {
            assert!(TensorMap::unpack(&bytes).is_err());
        }
    }

    #[test]
    fn maps_that_no_gpu_takes_are_refused() {
        let fault = |change: fn(&mut TensorMap)| {
            let mut changed = map();
            change(&mut changed);
            changed.fault().unwrap_or_default()
        };
        assert_eq!(fault(|_| ()), "");
        assert!(fault(|map| map.extents.clear()).contains("1 to 5 dimensions"));
        assert!(fault(|map| map.strides[0] = 200).contains("multiple of 16"));
        assert!(fault(|map| map.address = 8).contains("multiple of 16"));
        assert!(fault(|map| map.box_extents[1] = 257).contains("at most 256"));
        assert!(fault(|map| map.steps[0] = 0).contains("1 to 8"));
        assert!(fault(|map| map.box_extents[0] = 32).contains("rows of 128"));
        assert!(fault(|map| (map.swizzle, map.box_extents[0]) = (Swizzle::None, 4)).contains("8 bytes"));
        assert!(fault(|map| map.ty = ScalarType::Pred).contains("no tensors"));
    }

    #[test]
    fn pieces_change_places_within_a_row() {
        let places =
            |swizzle: Swizzle, row: u64| (0..8).map(|piece| swizzle.place(row + 16 * piece) - row).collect::<Vec<_>>();
        assert_eq!(places(Swizzle::None, 3 * 128), [0, 16, 32, 48, 64, 80, 96, 112]);
        assert_eq!(places(Swizzle::Bytes128, 3 * 128), [48, 32, 16, 0, 112, 96, 80, 64]);
        assert_eq!(places(Swizzle::Bytes64, 3 * 128), [48, 32, 16, 0, 112, 96, 80, 64]);
        assert_eq!(places(Swizzle::Bytes64, 4 * 128), [0, 16, 32, 48, 64, 80, 96, 112]);
        assert_eq!(places(Swizzle::Bytes32, 3 * 128), [16, 0, 48, 32, 80, 64, 112, 96]);
    }
}
