//! Elements of matrices of floats, taken apart.

use warplens_isa::MatrixType;

/// An element: its significand as an integer, its exponent, and whether it is a number.
///
/// A finite value is `significand * 2^(exponent - fraction bits of its format)`. Significands of normal values lie in
/// [1, 2); subnormal ones are below, at the smallest exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Element {
    pub(super) significand: i32,
    pub(super) exponent: i32,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Finite,
    /// The sign is that of the significand.
    Infinite,
    Nan,
}

/// How the bits of a float are laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) fraction_bits: u32,
    exponent_bits: u32,
    /// Low bits that are ignored.
    ignored: u32,
    /// Which bits are no finite number.
    specials: Specials,
    /// Elements are made to another format before, in which they are no longer subnormal.
    normalizes: bool,
}

/// Which bits of a format are no finite number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Specials {
    /// Those with the largest exponent: infinities and NaN.
    Ieee,
    /// All ones: NaN.
    AllOnes,
    /// None.
    None,
}

impl Format {
    const fn ieee(exponent_bits: u32, fraction_bits: u32) -> Self {
        Self { fraction_bits, exponent_bits, ignored: 0, specials: Specials::Ieee, normalizes: false }
    }

    /// That of small elements which become f16 before they are multiplied.
    pub(super) const fn as_half(self) -> Self {
        Self { normalizes: self.exponent_bits < 5, ..self }
    }

    /// That of the elements of a matrix of floats which are multiplied or accumulated in a fused sum.
    pub(super) const fn of(ty: MatrixType) -> Option<Self> {
        Some(match ty {
            MatrixType::F16 => Self::ieee(5, 10),
            MatrixType::Bf16 => Self::ieee(8, 7),
            MatrixType::Tf32 => Self { ignored: 13, ..Self::ieee(8, 10) },
            MatrixType::F32 => Self::ieee(8, 23),
            MatrixType::E5m2 => Self::ieee(5, 2),
            MatrixType::E4m3 => Self { specials: Specials::AllOnes, ..Self::ieee(4, 3) },
            MatrixType::E3m2 => Self { specials: Specials::None, ..Self::ieee(3, 2) },
            MatrixType::E2m3 => Self { specials: Specials::None, ..Self::ieee(2, 3) },
            MatrixType::E2m1 => Self { specials: Specials::None, ignored: 2, ..Self::ieee(2, 1) },
            MatrixType::F64
            | MatrixType::S32
            | MatrixType::S8
            | MatrixType::U8
            | MatrixType::S4
            | MatrixType::U4
            | MatrixType::B1 => return None,
        })
    }

    /// What is subtracted from the field of the exponent.
    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// All bits but the sign.
    const fn magnitude_mask(self) -> u32 {
        (1 << (self.exponent_bits + self.fraction_bits)) - 1
    }

    #[inline]
    pub(super) fn decode(self, bits: u64) -> Element {
        let bits = (bits >> self.ignored) as u32;
        let largest = (1 << self.exponent_bits) - 1;
        let fraction = bits & ((1 << self.fraction_bits) - 1);
        let field = bits >> self.fraction_bits & largest;
        let is_negative = bits >> (self.fraction_bits + self.exponent_bits) & 1 == 1;
        let kind = match self.specials {
            _ if field != largest => Kind::Finite,
            Specials::Ieee if fraction == 0 => Kind::Infinite,
            Specials::Ieee => Kind::Nan,
            Specials::AllOnes if fraction == (1 << self.fraction_bits) - 1 => Kind::Nan,
            Specials::AllOnes | Specials::None => Kind::Finite,
        };
        let magnitude = if field == 0 { fraction } else { fraction | 1 << self.fraction_bits } as i32;
        let bias = self.bias();
        let missing = match self.normalizes && field == 0 && fraction != 0 {
            true => fraction.leading_zeros() - (31 - self.fraction_bits),
            false => 0,
        };
        let magnitude = magnitude << missing;
        Element {
            significand: if is_negative { -magnitude } else { magnitude },
            exponent: field.max(1) as i32 - bias - missing as i32,
            kind,
        }
    }

    /// The value, the exponent (`none` for zeros), and whether it is no number or its exponent is farther than `farthest` from
    /// zero. What is as far may have another value here.
    #[inline(always)]
    pub(super) fn single(self, bits: u32, none: i32, farthest: i32) -> (f32, i32, bool) {
        let bits = bits >> self.ignored;
        let largest = (1 << self.exponent_bits) - 1;
        let magnitude = bits & self.magnitude_mask();
        let field = magnitude >> self.fraction_bits;
        let bias = self.bias();
        let exponent = field.max(1) as i32 - bias;
        let is_number = match self.specials {
            Specials::Ieee => field != largest,
            Specials::AllOnes => magnitude != self.magnitude_mask(),
            Specials::None => true,
        };
        let is_far = !is_number | (magnitude != 0) & (exponent.abs() > farthest);
        // As if it were an f32 with the same fields, which the difference of the biases then moves to its place.
        let small = f32::from_bits(magnitude << (23 - self.fraction_bits));
        let value = small * f32::from_bits(((127 + 127 - bias) as u32) << 23);
        let exponent = if self.normalizes { (value.to_bits() >> 23) as i32 - 127 } else { exponent };
        let sign = bits >> (self.exponent_bits + self.fraction_bits) & 1;
        let value = f32::from_bits(value.to_bits() | sign << 31);
        (value, if magnitude == 0 { none } else { exponent }, is_far)
    }
}
