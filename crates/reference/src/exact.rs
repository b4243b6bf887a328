//! Floating-point numbers as what they are: an integer times a power of two.
//!
//! Every result of arithmetic is made exactly first, but for a note that a bit of it was too small to be kept, and
//! then rounded once to the format that it goes to.

use warplens_isa::{Rounding, ScalarType};

/// A binary format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Format {
    exponent_bits: u32,
    fraction_bits: u32,
    /// Bits of the largest finite magnitude.
    largest: u64,
    infinity: Option<u64>,
    /// The NaN that instructions produce.
    nan: Option<u64>,
}

const fn ieee(exponent_bits: u32, fraction_bits: u32, nan: u64) -> Format {
    let infinity = ((1 << exponent_bits) - 1) << fraction_bits;
    Format { exponent_bits, fraction_bits, largest: infinity - 1, infinity: Some(infinity), nan: Some(nan) }
}

const fn finite(exponent_bits: u32, fraction_bits: u32) -> Format {
    let largest = (1 << (exponent_bits + fraction_bits)) - 1;
    Format { exponent_bits, fraction_bits, largest, infinity: None, nan: None }
}

pub(crate) const F16: Format = ieee(5, 10, 0x7fff);
pub(crate) const BF16: Format = ieee(8, 7, 0x7fff);
/// tf32 without the thirteen zeros at its end.
pub(crate) const TF32: Format = ieee(8, 10, 0x3_ffff);
pub(crate) const F32: Format = ieee(8, 23, 0x7fff_ffff);
/// `CUDART_NAN`.
pub(crate) const F64: Format = ieee(11, 52, 0xfff8_0000_0000_0000);
pub(crate) const E5M2: Format = ieee(5, 2, 0x7f);
/// No infinity, and one NaN of each sign (OCP 8-bit floating point specification).
pub(crate) const E4M3: Format =
    Format { exponent_bits: 4, fraction_bits: 3, largest: 0x7e, infinity: None, nan: Some(0x7f) };
pub(crate) const E3M2: Format = finite(3, 2);
pub(crate) const E2M3: Format = finite(2, 3);
pub(crate) const E2M1: Format = finite(2, 1);

impl Format {
    /// Bits of the fraction, and the exponent of the least number.
    pub(crate) const fn places(self) -> (i32, i32) {
        let fraction = self.fraction_bits as i32;
        (fraction, 2 - (1 << (self.exponent_bits - 1)) - fraction)
    }

    /// That of a scalar type with arithmetic.
    pub(crate) fn of(ty: ScalarType) -> Option<Self> {
        match ty {
            ScalarType::F16 => Some(F16),
            ScalarType::Bf16 => Some(BF16),
            ScalarType::F32 => Some(F32),
            ScalarType::F64 => Some(F64),
            _ => None,
        }
    }

    pub(crate) const fn bits(self) -> u32 {
        1 + self.exponent_bits + self.fraction_bits
    }

    pub(crate) const fn sign(self) -> u64 {
        1 << (self.bits() - 1)
    }

    /// What instructions answer where there is no number; the largest one in formats without NaN.
    pub(crate) fn nan(self) -> u64 {
        self.nan.unwrap_or(self.largest)
    }

    pub(crate) fn is_nan(self, bits: u64) -> bool {
        let magnitude = bits & (self.sign() - 1);
        magnitude > self.infinity.unwrap_or(self.largest)
    }

    /// Exponent of the last place of subnormal numbers.
    fn least(self) -> i32 {
        2 - (1 << (self.exponent_bits - 1)) - self.fraction_bits as i32
    }

    /// The bits of 1.
    pub(crate) fn one(self) -> u64 {
        ((1 << (self.exponent_bits - 1)) - 1) << self.fraction_bits
    }

    /// A subnormal becomes a zero of its sign.
    pub(crate) fn flushed(self, bits: u64) -> u64 {
        let exponent = ((1 << self.exponent_bits) - 1) << self.fraction_bits;
        if bits & exponent == 0 { bits & self.sign() } else { bits }
    }

    /// The number that bits stand for.
    pub(crate) fn number(self, bits: u64) -> Number {
        let negative = bits & self.sign() != 0;
        let magnitude = bits & (self.sign() - 1);
        if self.is_nan(bits) {
            return Number::Nan;
        }
        if self.infinity == Some(magnitude) {
            return Number::Infinite { negative };
        }
        let fraction = magnitude & ((1 << self.fraction_bits) - 1);
        let field = (magnitude >> self.fraction_bits) as i32;
        let leading = if field == 0 { 0 } else { 1 << self.fraction_bits };
        let exponent = self.least() + (field - 1).max(0);
        Number::Finite(Exact { negative, significand: u128::from(fraction | leading), exponent, more: false })
    }

    /// The bits of a number rounded once. With `clamps`, what is beyond the range, infinity included, becomes the
    /// largest number.
    pub(crate) fn round(self, number: Number, rounding: Rounding, clamps: bool) -> u64 {
        let (negative, magnitude, to_infinity) = match number {
            Number::Nan => return self.nan(),
            Number::Infinite { negative } => (negative, u64::MAX, true),
            Number::Finite(exact) => {
                let away = match rounding {
                    Rounding::Nearest | Rounding::NearestAway => true,
                    Rounding::Zero => false,
                    Rounding::Down => exact.negative,
                    Rounding::Up => !exact.negative,
                };
                (exact.negative, self.magnitude(exact, rounding), away)
            }
        };
        let sign = if negative { self.sign() } else { 0 };
        if magnitude <= self.largest {
            return sign | magnitude;
        }
        if clamps || !to_infinity {
            return sign | self.largest;
        }
        sign | self.infinity.unwrap_or(self.nan())
    }

    /// The bits of the rounded magnitude, which may be beyond the range.
    fn magnitude(self, exact: Exact, rounding: Rounding) -> u64 {
        if exact.significand == 0 {
            // Something below the smallest bit of an exact zero does not happen.
            return 0;
        }
        let top = exact.exponent + (127 - exact.significand.leading_zeros() as i32);
        let last = (top - self.fraction_bits as i32).max(self.least());
        let kept = exact.rounded_to(last, rounding);
        // A carry into a new leading bit moves the exponent by itself, and so does the first leading bit.
        let field = u128::from((last - self.least()) as u32) << self.fraction_bits;
        u64::try_from(field + kept).unwrap_or(u64::MAX)
    }

    /// True when a result, rounded as if exponents had no lower limit, is below the normal numbers.
    pub(crate) fn is_tiny(self, exact: Exact, rounding: Rounding) -> bool {
        if exact.significand == 0 {
            return true;
        }
        let top = exact.exponent + (127 - exact.significand.leading_zeros() as i32);
        let last = top - self.fraction_bits as i32;
        let kept = exact.rounded_to(last, rounding);
        let carried = kept >> (self.fraction_bits + 1) != 0;
        top + i32::from(carried) < self.least() + self.fraction_bits as i32
    }
}

/// What a floating-point value stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Number {
    Nan,
    Infinite { negative: bool },
    Finite(Exact),
}

/// An integer times a power of two, and a little more where that was too much to keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exact {
    pub(crate) negative: bool,
    pub(crate) significand: u128,
    pub(crate) exponent: i32,
    /// The magnitude is more than that, by less than the last bit. The significand then has far more bits than any
    /// format.
    pub(crate) more: bool,
}

impl Exact {
    pub(crate) fn integer(value: i128) -> Self {
        Self { negative: value < 0, significand: value.unsigned_abs(), exponent: 0, more: false }
    }

    pub(crate) fn is_zero(self) -> bool {
        self.significand == 0
    }

    /// The magnitude as a multiple of two to the power `last`, rounded.
    pub(crate) fn rounded_to(self, last: i32, rounding: Rounding) -> u128 {
        let drop = last - self.exponent;
        if drop <= 0 {
            return self.significand << (-drop).min(127);
        }
        let drop = drop as u32;
        let kept = self.significand.checked_shr(drop).unwrap_or(0);
        let rest = if drop > 127 { self.significand } else { self.significand & ((1 << drop) - 1) };
        let half = if drop > 128 { u128::MAX } else { 1 << (drop - 1) };
        let is_inexact = rest != 0 || self.more;
        let up = match rounding {
            Rounding::Nearest => rest > half || rest == half && (self.more || kept & 1 == 1),
            Rounding::NearestAway => rest >= half,
            Rounding::Zero => false,
            Rounding::Down => self.negative && is_inexact,
            Rounding::Up => !self.negative && is_inexact,
        };
        kept + u128::from(up)
    }

    /// The same number with its leading bit at bit 126, or zero.
    fn normalised(self) -> Self {
        if self.significand >> 127 == 1 {
            let more = self.more || self.significand & 1 == 1;
            return Self { significand: self.significand >> 1, exponent: self.exponent + 1, more, ..self };
        }
        let shift = self.significand.leading_zeros().saturating_sub(1);
        Self { significand: self.significand << (shift % 128), exponent: self.exponent - shift as i32, ..self }
    }
}

/// The product.
pub(crate) fn product(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Finite(a), Number::Finite(b)) => Number::Finite(Exact {
            negative: a.negative != b.negative,
            significand: a.significand * b.significand,
            exponent: a.exponent + b.exponent,
            more: false,
        }),
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite { negative }, other) | (other, Number::Infinite { negative }) => match other {
            Number::Finite(factor) if factor.is_zero() => Number::Nan,
            Number::Finite(factor) => Number::Infinite { negative: negative != factor.negative },
            Number::Infinite { negative: other } => Number::Infinite { negative: negative != other },
            Number::Nan => Number::Nan,
        },
    }
}

/// The sum. An exact zero is positive, unless both terms are negative, or the rounding goes down.
pub(crate) fn sum(a: Number, b: Number, rounding: Rounding) -> Number {
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite { negative: a }, Number::Infinite { negative: b }) if a != b => Number::Nan,
        (infinite @ Number::Infinite { .. }, _) | (_, infinite @ Number::Infinite { .. }) => infinite,
        (Number::Finite(a), Number::Finite(b)) => Number::Finite(finite_sum(a, b, rounding)),
    }
}

fn finite_sum(a: Exact, b: Exact, rounding: Rounding) -> Exact {
    let zero = |negative| Exact { negative, significand: 0, exponent: 0, more: false };
    match (a.is_zero(), b.is_zero()) {
        (true, true) if a.negative == b.negative => return a,
        (true, true) => return zero(rounding == Rounding::Down),
        (true, false) => return b,
        (false, true) => return a,
        (false, false) => {}
    }
    let (a, b) = (a.normalised(), b.normalised());
    let (large, small) = if (a.exponent, a.significand) >= (b.exponent, b.significand) { (a, b) } else { (b, a) };
    let shift = (large.exponent - small.exponent) as u32;
    let moved = small.significand.checked_shr(shift).unwrap_or(0);
    let more = shift > 127 || moved << shift != small.significand;
    if large.negative == small.negative {
        return Exact { significand: large.significand + moved, more, ..large };
    }
    // What is taken away is a little more than `moved`: one unit too much is taken, and a little given back.
    let significand = large.significand - moved - u128::from(more);
    if significand == 0 {
        return zero(rounding == Rounding::Down);
    }
    Exact { significand, more, ..large }
}

/// The quotient.
pub(crate) fn quotient(a: Number, b: Number) -> Number {
    let sign = |number: Number| match number {
        Number::Nan => false,
        Number::Infinite { negative } => negative,
        Number::Finite(exact) => exact.negative,
    };
    let negative = sign(a) != sign(b);
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) | (Number::Infinite { .. }, Number::Infinite { .. }) => Number::Nan,
        (Number::Infinite { .. }, Number::Finite(_)) => Number::Infinite { negative },
        (Number::Finite(_), Number::Infinite { .. }) => {
            Number::Finite(Exact { negative, significand: 0, exponent: 0, more: false })
        }
        (Number::Finite(a), Number::Finite(b)) if b.is_zero() => {
            if a.is_zero() {
                Number::Nan
            } else {
                Number::Infinite { negative }
            }
        }
        (Number::Finite(a), Number::Finite(b)) => {
            let a = a.normalised();
            let (significand, rest) = (a.significand / b.significand, a.significand % b.significand);
            Number::Finite(Exact { negative, significand, exponent: a.exponent - b.exponent, more: rest != 0 })
        }
    }
}

/// The square root.
pub(crate) fn root(a: Number) -> Number {
    match a {
        Number::Finite(a) if a.is_zero() => Number::Finite(a),
        Number::Finite(a) if !a.negative => {
            let mut wide = a.normalised();
            if wide.exponent % 2 != 0 {
                wide = Exact { significand: wide.significand << 1, exponent: wide.exponent - 1, ..wide };
            }
            let significand = wide.significand.isqrt();
            let more = significand * significand != wide.significand;
            Number::Finite(Exact { negative: false, significand, exponent: wide.exponent / 2, more })
        }
        Number::Infinite { negative: false } => a,
        Number::Nan | Number::Infinite { .. } | Number::Finite(_) => Number::Nan,
    }
}

/// The number rounded to an integer.
pub(crate) fn integral(number: Number, rounding: Rounding) -> Number {
    match number {
        Number::Finite(exact) if exact.exponent < 0 => {
            Number::Finite(Exact { significand: exact.rounded_to(0, rounding), exponent: 0, more: false, ..exact })
        }
        number => number,
    }
}

/// How two numbers are ordered; none if one of them is NaN. Zeros are equal.
pub(crate) fn order(a: Number, b: Number) -> Option<std::cmp::Ordering> {
    match sum(a, negated(b), Rounding::Nearest) {
        Number::Nan if a == Number::Nan || b == Number::Nan => None,
        // The difference of two infinities of one sign.
        Number::Nan => Some(std::cmp::Ordering::Equal),
        Number::Finite(difference) if difference.is_zero() => Some(std::cmp::Ordering::Equal),
        Number::Finite(Exact { negative, .. }) | Number::Infinite { negative } => {
            Some(if negative { std::cmp::Ordering::Less } else { std::cmp::Ordering::Greater })
        }
    }
}

pub(crate) fn negated(number: Number) -> Number {
    match number {
        Number::Nan => Number::Nan,
        Number::Infinite { negative } => Number::Infinite { negative: !negative },
        Number::Finite(exact) => Number::Finite(Exact { negative: !exact.negative, ..exact }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f64_of(bits: u64) -> f64 {
        f64::from_bits(bits)
    }

    /// Awkward numbers: limits, subnormals, neighbours of powers of two, and some from a generator.
    fn samples() -> Vec<u64> {
        let mut samples: Vec<u64> = [0.0, 1.0, 1.5, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::EPSILON, 3.0]
            .iter()
            .flat_map(|x: &f64| [x.to_bits(), (-x).to_bits(), x.to_bits().wrapping_add(1)])
            .collect();
        samples.extend([1, 2, 0x000f_ffff_ffff_ffff]);
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        for _ in 0..60 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            samples.push(state);
            samples.push(state & 0x800f_ffff_ffff_ffff | (1000 + state % 48) << 52);
        }
        samples
    }

    fn check(what: &str, mine: u64, host: f64) {
        let host = if host.is_nan() { F64.nan() } else { host.to_bits() };
        assert_eq!(mine, host, "{what}");
    }

    #[test]
    fn rounding_to_nearest_is_what_the_host_does() {
        let nearest = |number| F64.round(number, Rounding::Nearest, false);
        for &a in &samples() {
            check("root", nearest(root(F64.number(a))), f64_of(a).sqrt());
            for &b in &samples() {
                let (x, y) = (F64.number(a), F64.number(b));
                check("sum", nearest(sum(x, y, Rounding::Nearest)), f64_of(a) + f64_of(b));
                check("product", nearest(product(x, y)), f64_of(a) * f64_of(b));
                check("quotient", nearest(quotient(x, y)), f64_of(a) / f64_of(b));
                assert_eq!(order(x, y), f64_of(a).partial_cmp(&f64_of(b)));
                for &c in samples().iter().step_by(7) {
                    let fused = sum(product(x, y), F64.number(c), Rounding::Nearest);
                    check("fma", nearest(fused), f64_of(a).mul_add(f64_of(b), f64_of(c)));
                }
            }
            let narrow = F32.round(F64.number(a), Rounding::Nearest, false);
            let host = f64_of(a) as f32;
            assert_eq!(narrow, if host.is_nan() { F32.nan() } else { u64::from(host.to_bits()) });
        }
    }

    #[test]
    fn directed_roundings_enclose_the_exact_number() {
        for &a in &samples() {
            let Number::Finite(exact) = F64.number(a) else { continue };
            let number = Number::Finite(exact);
            let rounded = |rounding| f32::from_bits(F32.round(number, rounding, false) as u32);
            let (down, up, zero) = (rounded(Rounding::Down), rounded(Rounding::Up), rounded(Rounding::Zero));
            assert!(f64::from(down) <= f64_of(a) && f64_of(a) <= f64::from(up));
            assert_eq!(zero.to_bits(), if exact.negative { up } else { down }.to_bits());
            assert!(down == up || down.next_up() == up);
        }
    }
}
