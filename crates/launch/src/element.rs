//! Types of buffer elements and the numbers that users write.

use half::{bf16, f16};

/// Type of the elements of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElementType {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    S8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    S16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    S64,
    /// IEEE binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
}

/// A number as a user writes it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    /// Written without point and exponent.
    Integer(i128),
    /// Written with a point or an exponent, or `inf`, `nan`.
    Float(f64),
}

/// An element read back from memory.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Element {
    /// An unsigned integer.
    Unsigned(u64),
    /// A signed integer.
    Signed(i64),
    /// A narrow float, exact as f32.
    Single(f32),
    /// A binary64.
    Double(f64),
}

impl ElementType {
    /// Every type.
    pub const ALL: [Self; 12] = [
        Self::U8,
        Self::S8,
        Self::U16,
        Self::S16,
        Self::U32,
        Self::S32,
        Self::U64,
        Self::S64,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    /// Name as users write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::S8 => "s8",
            Self::U16 => "u16",
            Self::S16 => "s16",
            Self::U32 => "u32",
            Self::S32 => "s32",
            Self::U64 => "u64",
            Self::S64 => "s64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// The type called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Bytes of an element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
            Self::U64 | Self::S64 | Self::F64 => 8,
        }
    }

    /// True for floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Smallest and largest value of an integer type.
    pub const fn range(self) -> Option<(i128, i128)> {
        let bits = 8 * self.bytes() as u32;
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Some((0, (1 << bits) - 1)),
            Self::S8 | Self::S16 | Self::S32 | Self::S64 => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            _ => None,
        }
    }

    /// Appends `number` in memory order. The error says why the type cannot hold it.
    pub fn encode(self, number: Number, out: &mut Vec<u8>) -> Result<(), String> {
        match (self.range(), number) {
            (None, number) => self.push_float(number.as_f64(), out),
            (Some(_), Number::Float(value)) => return Err(format!("{value} is not an integer, as {self} needs")),
            (Some((low, high)), Number::Integer(value)) => {
                if value < low || value > high {
                    return Err(format!("{value} does not fit {self} ({low} to {high})"));
                }
                self.push_integer(value, out);
            }
        }
        Ok(())
    }

    /// Appends the low bits of `value` as an integer, or its nearest float.
    pub(crate) fn push_integer(self, value: i128, out: &mut Vec<u8>) {
        if self.is_float() {
            self.push_float(value as f64, out);
        } else {
            out.extend_from_slice(&value.to_le_bytes()[..self.bytes()]);
        }
    }

    /// Appends `value` rounded to nearest even; integer types take its integer part.
    pub(crate) fn push_float(self, value: f64, out: &mut Vec<u8>) {
        match self {
            Self::F16 => out.extend_from_slice(&f16::from_f64(value).to_le_bytes()),
            Self::Bf16 => out.extend_from_slice(&bf16::from_f64(value).to_le_bytes()),
            Self::F32 => out.extend_from_slice(&(value as f32).to_le_bytes()),
            Self::F64 => out.extend_from_slice(&value.to_le_bytes()),
            _ => self.push_integer(value as i128, out),
        }
    }

    /// Reads the element at the start of `bytes`, which hold at least one.
    pub fn decode(self, bytes: &[u8]) -> Element {
        let mut word = [0; 8];
        word[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
        let bits = u64::from_le_bytes(word);
        match self {
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Element::Unsigned(bits),
            Self::S8 => Element::Signed(i64::from(bits as i8)),
            Self::S16 => Element::Signed(i64::from(bits as i16)),
            Self::S32 => Element::Signed(i64::from(bits as i32)),
            Self::S64 => Element::Signed(bits as i64),
            Self::F16 => Element::Single(f16::from_bits(bits as u16).to_f32()),
            Self::Bf16 => Element::Single(bf16::from_bits(bits as u16).to_f32()),
            Self::F32 => Element::Single(f32::from_bits(bits as u32)),
            Self::F64 => Element::Double(f64::from_bits(bits)),
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Number {
    /// The nearest binary64.
    pub const fn as_f64(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Float(value) => value,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => value.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_checked_against_their_range() {
        let encode = |ty: ElementType, value| {
            let mut out = Vec::new();
            ty.encode(Number::Integer(value), &mut out).map(|()| out)
        };
        assert_eq!(encode(ElementType::U8, 255), Ok(vec![255]));
        assert_eq!(encode(ElementType::S16, -2), Ok(vec![0xfe, 0xff]));
        assert_eq!(encode(ElementType::U8, 256), Err("256 does not fit u8 (0 to 255)".into()));
        assert_eq!(encode(ElementType::S8, -129), Err("-129 does not fit s8 (-128 to 127)".into()));
        assert_eq!(encode(ElementType::U64, u64::MAX.into()), Ok(vec![255; 8]));
        assert_eq!(encode(ElementType::F32, 1), Ok(1f32.to_le_bytes().to_vec()));
    }

    #[test]
    fn elements_come_back_as_they_were_written() {
        for ty in ElementType::ALL {
            let mut bytes = Vec::new();
            ty.encode(Number::Integer(100), &mut bytes).expect("100 fits every type");
            assert_eq!(bytes.len(), ty.bytes());
            let read = match ty.decode(&bytes) {
                Element::Unsigned(value) => value as f64,
                Element::Signed(value) => value as f64,
                Element::Single(value) => f64::from(value),
                Element::Double(value) => value,
            };
            assert_eq!(read, 100.0, "{ty}");
        }
    }
}
