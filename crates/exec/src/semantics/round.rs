//! Rounding: from a wide intermediate result to the format of the destination, once.
//!
//! Arithmetic with a rounding mode is done in two steps. First an `f64` rounded *to odd* is made: if the exact result is
//! not an `f64`, the neighbour with an odd significand is taken, so the last bit says "there was more". Then that `f64`
//! is rounded to the destination, which has at least two bits fewer, and the answer is the same as if the exact
//! result had been rounded directly, in every mode (Boldo and Melquiond, "Emulation of a FMA and correctly rounded
//! sums: proved algorithms using rounding to odd", 2008).

use warplens_isa::Rounding;

/// The NaN that f32 instructions produce.
pub const NAN_F32: u32 = 0x7fff_ffff;
/// The NaN that f16 and bf16 instructions produce.
pub const NAN_F16: u16 = 0x7fff;

/// Replaces any NaN by the one NaN that f32 instructions produce.
///
/// It looks at the bits, as the compiler may not: of a choice between two NaNs as numbers, such as that after a square
/// root, it leaves the one that the host's instruction gives.
#[inline(always)]
pub fn canonical_f32(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > f32::INFINITY.to_bits() { NAN_F32 } else { bits })
}

/// A subnormal becomes a zero of the same sign.
#[inline(always)]
pub fn flush_f32(x: f32) -> f32 {
    let bits = x.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// [`flush_f32`] if the instruction says `.ftz`.
#[inline(always)]
pub fn flush_if(x: f32, ftz: bool) -> f32 {
    if ftz { flush_f32(x) } else { x }
}

/// Clamps to [0, 1]; NaN and -0 become +0.
#[inline(always)]
pub fn saturate_f32(x: f32) -> f32 {
    let low = if x > 0.0 { x } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

/// Clamps to [0, 1]; NaN and -0 become +0.
#[inline(always)]
pub fn saturate_f64(x: f64) -> f64 {
    let low = if x > 0.0 { x } else { 0.0 };
    if low < 1.0 { low } else { 1.0 }
}

/// The next f32 toward positive infinity; infinity and NaN are returned unchanged.
#[inline(always)]
pub(crate) fn next_up_f32(x: f32) -> f32 {
    let bits = x.to_bits();
    let moved = if bits & 0x7fff_ffff == 0 {
        1
    } else if bits & 0x8000_0000 == 0 {
        bits.wrapping_add(1)
    } else {
        bits.wrapping_sub(1)
    };
    if x < f32::INFINITY { f32::from_bits(moved) } else { x }
}

/// The next f32 toward negative infinity; negative infinity and NaN are returned unchanged.
#[inline(always)]
pub(crate) fn next_down_f32(x: f32) -> f32 {
    -next_up_f32(-x)
}

/// Moves `rounded`, the nearest `f64` of a result, to the odd neighbour if the result was not exact. `error` has the
/// sign of (exact - rounded), and is zero if the result was exact.
#[inline(always)]
pub(crate) fn to_odd(rounded: f64, error: f64) -> f64 {
    let bits = rounded.to_bits();
    // Away from zero if the error points the way the number does, else toward zero. The error of special operands can
    // be NaN, which is no error.
    let away = (error > 0.0) == (rounded > 0.0);
    let moved = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
    let inexact = error.abs() > 0.0 && bits & 1 == 0 && rounded.is_finite();
    f64::from_bits(if inexact { moved } else { bits })
}

/// a + b rounded to odd. Neither may be near overflow in `f64`, which holds for sums and products of narrower formats.
#[inline(always)]
pub(crate) fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    to_odd(sum, error)
}

/// a + b rounded to f32 in one of the modes that are not to nearest, without a branch.
#[inline(always)]
pub(crate) fn directed_sum_f32(a: f64, b: f64, rounding: Rounding) -> f32 {
    let sum = a + b;
    let b_part = sum - a;
    let error = (a - (sum - b_part)) + (b - b_part);
    let sum = signed_zero_sum(sum, a, b, rounding);
    let near = sum as f32;
    let back = f64::from(near);
    // The exact sum is `sum + error`, and `error` is less than what lies between two f32. So it lies on the other side of
    // `near` than that where the mode rounds to if `sum` does, or if only `error` tells them apart.
    let is_above = back > sum || back == sum && error < 0.0;
    let is_below = back < sum || back == sum && error > 0.0;
    let (falls, rises) = match rounding {
        Rounding::Down => (is_above, false),
        Rounding::Up => (false, is_below),
        Rounding::Zero | Rounding::Nearest | Rounding::NearestAway => (is_above && sum > 0.0, is_below && sum < 0.0),
    };
    let bits = near.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let is_negative = bits >> 31 == 1;
    // The next number toward a side is the next magnitude; from zero it has that side's sign.
    let (down, up) = match (magnitude, is_negative) {
        (0, _) => (0x8000_0001, 1),
        (_, true) => (bits.wrapping_add(1), bits - 1),
        (_, false) => (bits - 1, bits + 1),
    };
    f32::from_bits(if falls {
        down
    } else if rises {
        up
    } else {
        bits
    })
}

/// a / b rounded to odd, for f32 values.
#[inline(always)]
pub(crate) fn div_to_odd(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    let remainder = (-quotient).mul_add(b, a);
    // The quotient is too small if the remainder has the sign of the divisor.
    to_odd(quotient, if b < 0.0 { -remainder } else { remainder })
}

/// The square root rounded to odd, for f32 values.
#[inline(always)]
pub(crate) fn sqrt_to_odd(a: f64) -> f64 {
    let root = a.sqrt();
    to_odd(root, (-root).mul_add(root, a))
}

/// Rounds an `f64`, itself rounded to odd or exact, to f32.
#[inline(always)]
pub fn to_f32(x: f64, rounding: Rounding) -> f32 {
    let nearest = x as f32;
    match rounding {
        Rounding::Nearest => nearest,
        Rounding::NearestAway => f32::from_bits(to_format(x, Rounding::NearestAway, Format::F32, Overflow::Infinity)),
        Rounding::Down => toward(nearest, f64::from(nearest) > x, next_down_f32),
        Rounding::Up => toward(nearest, f64::from(nearest) < x, next_up_f32),
        Rounding::Zero => {
            let down = toward(nearest, f64::from(nearest) > x, next_down_f32);
            let up = toward(nearest, f64::from(nearest) < x, next_up_f32);
            if x < 0.0 { up } else { down }
        }
    }
}

#[inline(always)]
fn toward(nearest: f32, overshot: bool, step: fn(f32) -> f32) -> f32 {
    if overshot { step(nearest) } else { nearest }
}

/// The sign of an exact zero sum: under rounding toward negative infinity, zero is negative unless both terms are +0.
#[inline(always)]
pub(crate) fn signed_zero_sum(sum: f64, a: f64, b: f64, rounding: Rounding) -> f64 {
    let negative = rounding == Rounding::Down && sum == 0.0 && (a.is_sign_negative() || b.is_sign_negative());
    if negative { -0.0 } else { sum }
}

/// A binary floating-point format narrower than f64: one sign bit, exponent with the usual bias, significand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    pub exponent_bits: u32,
    pub fraction_bits: u32,
    /// Bits of the largest finite magnitude; above it lie infinity and NaN, where the format has them.
    pub max_finite: u32,
    /// Bits of infinity, if the format has one.
    pub infinity: Option<u32>,
    /// Bits of NaN, if the format has one.
    pub nan: Option<u32>,
}

impl Format {
    pub const F32: Self = Self {
        exponent_bits: 8,
        fraction_bits: 23,
        max_finite: 0x7f7f_ffff,
        infinity: Some(0x7f80_0000),
        nan: Some(NAN_F32),
    };
    pub const F16: Self =
        Self { exponent_bits: 5, fraction_bits: 10, max_finite: 0x7bff, infinity: Some(0x7c00), nan: Some(0x7fff) };
    pub const BF16: Self =
        Self { exponent_bits: 8, fraction_bits: 7, max_finite: 0x7f7f, infinity: Some(0x7f80), nan: Some(0x7fff) };
    /// The 19 significant bits of tf32, without the 13 zeros below them.
    pub const TF32: Self =
        Self { exponent_bits: 8, fraction_bits: 10, max_finite: 0x3fbff, infinity: Some(0x3fc00), nan: Some(0x3ffff) };
    pub const E4M3: Self =
        Self { exponent_bits: 4, fraction_bits: 3, max_finite: 0x7e, infinity: None, nan: Some(0x7f) };
    pub const E5M2: Self =
        Self { exponent_bits: 5, fraction_bits: 2, max_finite: 0x7b, infinity: Some(0x7c), nan: Some(0x7f) };
    pub const E3M2: Self = Self { exponent_bits: 3, fraction_bits: 2, max_finite: 0x1f, infinity: None, nan: None };
    pub const E2M3: Self = Self { exponent_bits: 2, fraction_bits: 3, max_finite: 0x1f, infinity: None, nan: None };
    pub const E2M1: Self = Self { exponent_bits: 2, fraction_bits: 1, max_finite: 0x7, infinity: None, nan: None };

    const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The sign bit.
    pub const fn sign(self) -> u32 {
        1 << (self.exponent_bits + self.fraction_bits)
    }
}

/// What becomes of a result beyond the largest finite number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Overflow {
    /// Infinity, or the largest finite number where the rounding mode says so.
    Infinity,
    /// The largest finite number of the same sign (`.satfinite`).
    Finite,
}

/// Rounds an `f64`, itself rounded to odd or exact, to any narrower format and returns its bits. NaN becomes the
/// format's NaN, or the largest finite number where it has none; infinity likewise.
#[inline]
pub fn to_format(x: f64, rounding: Rounding, format: Format, overflow: Overflow) -> u32 {
    let sign = if x.is_sign_negative() { format.sign() } else { 0 };
    if x.is_nan() {
        return format.nan.unwrap_or(format.max_finite);
    }
    let bits = x.to_bits() & (u64::MAX >> 1);
    if bits == 0 {
        return sign;
    }
    let magnitude = if x.is_infinite() {
        u64::from(format.max_finite) + 1
    } else {
        round_magnitude(bits, rounding, sign != 0, format)
    };
    if magnitude <= u64::from(format.max_finite) {
        return sign | magnitude as u32;
    }
    let to_infinity = match rounding {
        _ if x.is_infinite() => true,
        Rounding::Nearest | Rounding::NearestAway => true,
        Rounding::Zero => false,
        Rounding::Down => sign != 0,
        Rounding::Up => sign == 0,
    };
    match (format.infinity, overflow) {
        (Some(infinity), Overflow::Infinity) if to_infinity => sign | infinity,
        (None, Overflow::Infinity) if to_infinity => sign | format.nan.unwrap_or(format.max_finite),
        _ => sign | format.max_finite,
    }
}

/// The rounded magnitude as bits of `format`, whose exponent may run past the format's range.
fn round_magnitude(bits: u64, rounding: Rounding, negative: bool, format: Format) -> u64 {
    let exponent = (bits >> 52) as i32 - 1023;
    let significand = if exponent == -1023 { bits } else { (bits & ((1 << 52) - 1)) | (1 << 52) };
    let exponent = exponent.max(-1022);
    let min_exponent = 1 - format.bias();
    // Bits below the destination's last place: more of them for a result below the normal range.
    let excess = (min_exponent - exponent).max(0) as u32;
    let drop = (52 - format.fraction_bits + excess).min(63);
    let kept = significand >> drop;
    let rest = significand & ((1 << drop) - 1);
    let half = 1u64 << (drop - 1);
    let up = match rounding {
        Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
        Rounding::NearestAway => rest >= half,
        Rounding::Zero => false,
        Rounding::Down => negative && rest != 0,
        Rounding::Up => !negative && rest != 0,
    };
    // A significand without its leading bit counts as exponent field 0; a carry moves the exponent by itself.
    let field = if excess > 0 { 0 } else { (exponent - min_exponent) as u64 };
    (field << format.fraction_bits) + kept + u64::from(up)
}

/// The value of bits of a narrow format.
#[inline]
pub fn from_format(bits: u32, format: Format) -> f64 {
    let magnitude = bits & (format.sign() - 1);
    let sign = if bits & format.sign() == 0 { 1.0 } else { -1.0 };
    if magnitude > format.max_finite {
        return if format.infinity == Some(magnitude) { sign * f64::INFINITY } else { f64::NAN };
    }
    let fraction = magnitude & ((1 << format.fraction_bits) - 1);
    let field = (magnitude >> format.fraction_bits) as i32;
    let (significand, exponent) =
        if field == 0 { (fraction, 1) } else { (fraction | (1 << format.fraction_bits), field) };
    sign * f64::from(significand) * power_of_two(exponent - format.bias() - format.fraction_bits as i32)
}

/// 2^exponent, for exponents of normal `f64` numbers.
#[inline(always)]
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Bits of a float whose exponent is near that of others, or anywhere.
    fn number() -> impl Strategy<Value = f32> {
        let near = (any::<u32>(), 120..136_u32).prop_map(|(bits, exponent)| bits & 0x807f_ffff | exponent << 23);
        let few = (0..4_u32, 0..3_u32, 0..4_u32).prop_map(|(low, exponent, sign)| sign << 31 | exponent << 22 | low);
        let ends = prop_oneof![Just(0x7f80_0000), Just(0xff80_0000), Just(0x7f7f_ffff), Just(0xff7f_ffff), Just(1)];
        prop_oneof![near, few, ends, any::<u32>()].prop_map(f32::from_bits)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// The sum without branches is that of the general way, by an f64 that is rounded to odd.
        #[test]
        fn directed_sums_are_those_of_rounding_to_odd(a in number(), b in number(), c in number()) {
            let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
            for rounding in [Rounding::Zero, Rounding::Down, Rounding::Up] {
                let odd = signed_zero_sum(add_to_odd(product, addend), product, addend, rounding);
                let expected = canonical_f32(to_f32(odd, rounding));
                let found = canonical_f32(directed_sum_f32(product, addend, rounding));
                prop_assert_eq!(found.to_bits(), expected.to_bits(), "{} * {} + {} {:?}", a, b, c, rounding);
            }
        }
    }
}
