//! Fused blocks: products and an accumulator, aligned to the largest exponent, cut, and summed exactly.
//!
//! The rules are those of models that reproduce the outputs of GPUs bit by bit: Khattak and Mikaitis
//! (doi 10.1145/3830409, MATLAB-tensor-core) and MMA-Sim (arXiv 2511.10909).

use super::format::{Element, Format, Kind};

/// The type of a sum, and how the exact one is rounded to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Output {
    /// Truncated to so many fraction bits.
    Single { fraction_bits: u32 },
    /// Rounded to nearest, ties to even.
    Half,
}

/// How a block adds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Adder {
    /// Fraction bits that are kept below the largest exponent.
    pub(super) kept: u32,
    pub(super) output: Output,
}

const NAN_SINGLE: u32 = 0x7fff_ffff;
const NAN_HALF: u32 = 0x7fff;

/// No exponent that terms are aligned to is below this, less the bits that are kept, where the sum is f32.
const LEAST_ALIGNED: i32 = -108;

/// The exponents of the smallest normal numbers.
const LEAST_SINGLE: i32 = -126;
const LEAST_HALF: i32 = -14;

impl Adder {
    /// The accumulator plus the products of the elements of `a` and `b`, which have the format `factors`.
    #[inline]
    pub(super) fn add(self, accumulator: u32, a: &[Element], b: &[Element], fraction_bits: u32) -> u32 {
        let c = self.output.format().decode(accumulator.into());
        let c_bits = self.output.format().fraction_bits;
        if let Some(bits) = self.special(c, a, b) {
            return bits;
        }
        // Zeros have no say in the alignment.
        let mut largest = match self.output {
            Output::Single { .. } => LEAST_ALIGNED - self.kept as i32,
            Output::Half => i32::MIN / 2,
        };
        if c.significand != 0 {
            largest = largest.max(c.exponent);
        }
        for (a, b) in a.iter().zip(b) {
            if a.significand != 0 && b.significand != 0 {
                largest = largest.max(a.exponent + b.exponent);
            }
        }
        let least = largest - self.kept as i32;
        let mut sum = aligned(i64::from(c.significand), c.exponent - c_bits as i32 - least);
        for (a, b) in a.iter().zip(b) {
            let product = i64::from(a.significand) * i64::from(b.significand);
            sum += aligned(product, a.exponent + b.exponent - fraction_bits as i32 - least);
        }
        self.output.rounded(sum, least)
    }

    /// The result where a term is not finite.
    #[inline]
    fn special(self, c: Element, a: &[Element], b: &[Element]) -> Option<u32> {
        let is_finite = |element: &Element| element.kind == Kind::Finite;
        if is_finite(&c) && a.iter().all(is_finite) && b.iter().all(is_finite) {
            return None;
        }
        let mut infinities = [false; 2];
        let mut note = |is_negative: bool| infinities[usize::from(is_negative)] = true;
        match c.kind {
            Kind::Nan => return Some(self.output.nan()),
            Kind::Infinite => note(c.significand < 0),
            Kind::Finite => {}
        }
        for (a, b) in a.iter().zip(b) {
            let is_infinite = a.kind == Kind::Infinite || b.kind == Kind::Infinite;
            let is_nan = a.kind == Kind::Nan || b.kind == Kind::Nan;
            if is_nan || is_infinite && (a.significand == 0 || b.significand == 0) {
                return Some(self.output.nan());
            }
            if is_infinite {
                note((a.significand < 0) != (b.significand < 0));
            }
        }
        match infinities {
            [false, false] => None,
            [true, true] => Some(self.output.nan()),
            [_, is_negative] => Some(self.output.infinity(is_negative)),
        }
    }
}

/// `value * 2^shift`, truncated toward zero.
#[inline(always)]
fn aligned(value: i64, shift: i32) -> i64 {
    if shift >= 0 {
        // What is not zero is not above the largest exponent: it stays within a few bits more than are kept.
        return value << (shift & 63);
    }
    let magnitude = value.unsigned_abs() >> shift.unsigned_abs().min(63);
    if value < 0 { -(magnitude as i64) } else { magnitude as i64 }
}

impl Output {
    const fn format(self) -> Format {
        let ty = match self {
            Self::Single { .. } => warplens_isa::MatrixType::F32,
            Self::Half => warplens_isa::MatrixType::F16,
        };
        match Format::of(ty) {
            Some(format) => format,
            None => unreachable!(),
        }
    }

    const fn nan(self) -> u32 {
        match self {
            Self::Single { .. } => NAN_SINGLE,
            Self::Half => NAN_HALF,
        }
    }

    fn infinity(self, is_negative: bool) -> u32 {
        match self {
            Self::Single { .. } => 0x7f80_0000 | u32::from(is_negative) << 31,
            Self::Half => 0x7c00 | u32::from(is_negative) << 15,
        }
    }

    /// The bits of `sum * 2^least`. Where all terms cancel, or nothing of the sum is left, it is a positive zero.
    #[inline]
    fn rounded(self, sum: i64, least: i32) -> u32 {
        let is_negative = sum < 0;
        let magnitude = sum.unsigned_abs();
        if magnitude == 0 {
            return 0;
        }
        let exponent = least + 63 - magnitude.leading_zeros() as i32;
        match self {
            Self::Single { fraction_bits } => {
                if exponent > 127 {
                    return self.infinity(is_negative);
                }
                let unit = exponent.max(LEAST_SINGLE) - fraction_bits as i32;
                let kept = scaled(magnitude, least - unit) << (23 - fraction_bits);
                encoded(kept as u32, exponent, LEAST_SINGLE, 23) | u32::from(is_negative && kept != 0) << 31
            }
            Self::Half => {
                if exponent > 15 {
                    return self.infinity(is_negative);
                }
                let unit = exponent.max(LEAST_HALF) - 10;
                let kept = to_nearest_even(magnitude, least - unit);
                // A carry out of the significand goes into the exponent, at the end to infinity.
                encoded(kept as u32, exponent, LEAST_HALF, 10) | u32::from(is_negative && kept != 0) << 15
            }
        }
    }
}

/// `magnitude * 2^shift`, truncated.
#[inline(always)]
fn scaled(magnitude: u64, shift: i32) -> u64 {
    if shift >= 0 { magnitude << (shift & 63) } else { magnitude.checked_shr(shift.unsigned_abs()).unwrap_or(0) }
}

/// `magnitude * 2^shift`, rounded to nearest, ties to even.
#[inline(always)]
fn to_nearest_even(magnitude: u64, shift: i32) -> u64 {
    if shift >= 0 {
        return magnitude << (shift & 63);
    }
    let by = shift.unsigned_abs();
    if by > 63 {
        return 0;
    }
    let (kept, rest, half) = (magnitude >> by, magnitude & ((1 << by) - 1), 1 << (by - 1));
    kept + u64::from(rest > half || rest == half && kept & 1 == 1)
}

/// The exponent and fraction fields of a significand with its leading one, unless it is subnormal.
#[inline(always)]
fn encoded(significand: u32, exponent: i32, least: i32, fraction_bits: u32) -> u32 {
    // The leading one of a normal number adds one to the exponent field.
    let field = if exponent < least { 0 } else { (exponent - least) as u32 };
    (field << fraction_bits) + significand
}
