//! Single-precision arithmetic: `add sub mul fma div rcp sqrt min max abs neg copysign testp`.
//!
//! Results are correctly rounded in every mode. An arithmetic NaN result is always the one NaN of [`round::NAN_F32`].
//! With `.ftz`, subnormal inputs count as zeros of their sign and a result that is subnormal after rounding becomes
//! one. The approximate instructions live in [`super::math`].

use warplens_isa::{Rounding, TestProperty};

use super::round::{
    self, add_to_odd, canonical_f32, div_to_odd, flush_f32, flush_if, saturate_f32, signed_zero_sum, sqrt_to_odd,
};
use super::{FloatMods, MinMaxMods};

/// 2^32: a result times this is normal in f32 whenever the result itself can be subnormal.
const SCALE: f32 = 4294967296.0;

/// Whether a result, given times [`SCALE`] and so rounded without regard to the subnormal range, lies below it. This is
/// what `.ftz` asks: a number just under the smallest normal one is flushed even if rounding to a subnormal's coarser
/// grid would lift it there.
#[inline(always)]
fn is_tiny(scaled: f32) -> bool {
    scaled.abs() < f32::MIN_POSITIVE * SCALE
}

#[inline(always)]
fn finish(result: f32, tiny: bool, mods: FloatMods) -> f32 {
    let zero = f32::from_bits(result.to_bits() & 0x8000_0000);
    let result = if mods.ftz && tiny { zero } else { result };
    if mods.sat { saturate_f32(result) } else { canonical_f32(result) }
}

/// Rounds an f64, itself rounded to odd, and applies the other modifiers.
#[inline(always)]
pub(crate) fn finish_wide(wide: f64, mods: FloatMods) -> f32 {
    let scaled = round::to_f32(wide * f64::from(SCALE), mods.rounding);
    finish(round::to_f32(wide, mods.rounding), is_tiny(scaled), mods)
}

/// a + b
#[inline(always)]
pub fn add(a: f32, b: f32, mods: FloatMods) -> f32 {
    let (a, b) = (flush_if(a, mods.ftz), flush_if(b, mods.ftz));
    if mods.rounding == Rounding::Nearest {
        // A sum below the normal range is exact.
        let sum = a + b;
        return finish(sum, sum.abs() < f32::MIN_POSITIVE, mods);
    }
    finish_wide(wide_sum(f64::from(a), f64::from(b), mods.rounding), mods)
}

#[inline(always)]
fn wide_sum(a: f64, b: f64, rounding: Rounding) -> f64 {
    signed_zero_sum(add_to_odd(a, b), a, b, rounding)
}

/// a - b
#[inline(always)]
pub fn sub(a: f32, b: f32, mods: FloatMods) -> f32 {
    add(a, -b, mods)
}

/// a * b
#[inline(always)]
pub fn mul(a: f32, b: f32, mods: FloatMods) -> f32 {
    let (a, b) = (flush_if(a, mods.ftz), flush_if(b, mods.ftz));
    if mods.rounding == Rounding::Nearest {
        return finish(a * b, is_tiny(a * SCALE * b), mods);
    }
    // The product of two 24-bit significands is exact in f64.
    finish_wide(f64::from(a) * f64::from(b), mods)
}

/// a * b + c, rounded once. `mad.f32` is the same instruction.
#[inline(always)]
pub fn fma(a: f32, b: f32, c: f32, mods: FloatMods) -> f32 {
    let (a, b, c) = (flush_if(a, mods.ftz), flush_if(b, mods.ftz), flush_if(c, mods.ftz));
    if mods.rounding == Rounding::Nearest {
        let scaled = if mods.ftz { (a * SCALE).mul_add(b, c * SCALE) } else { 0.0 };
        return finish(a.mul_add(b, c), is_tiny(scaled), mods);
    }
    let (product, addend) = (f64::from(a) * f64::from(b), f64::from(c));
    if !mods.ftz && !mods.sat {
        return canonical_f32(round::directed_sum_f32(product, addend, mods.rounding));
    }
    finish_wide(wide_sum(product, addend, mods.rounding), mods)
}

/// a / b, correctly rounded (`div.rn` and its siblings).
#[inline(always)]
pub fn div(a: f32, b: f32, mods: FloatMods) -> f32 {
    let (a, b) = (flush_if(a, mods.ftz), flush_if(b, mods.ftz));
    if mods.rounding == Rounding::Nearest {
        let scaled = if mods.ftz { a * SCALE / b } else { 0.0 };
        return finish(a / b, is_tiny(scaled), mods);
    }
    finish_wide(div_to_odd(f64::from(a), f64::from(b)), mods)
}

/// 1 / a, correctly rounded (`rcp.rn` and its siblings).
#[inline(always)]
pub fn rcp(a: f32, mods: FloatMods) -> f32 {
    div(1.0, a, mods)
}

/// The square root, correctly rounded (`sqrt.rn` and its siblings). It is never subnormal.
#[inline(always)]
pub fn sqrt(a: f32, mods: FloatMods) -> f32 {
    let a = flush_if(a, mods.ftz);
    if mods.rounding == Rounding::Nearest {
        return finish(a.sqrt(), false, mods);
    }
    finish_wide(sqrt_to_odd(f64::from(a)), mods)
}

/// Both elements of packed pairs, the low one first.
#[inline(always)]
fn unpack(pair: u64) -> (f32, f32) {
    (f32::from_bits(pair as u32), f32::from_bits((pair >> 32) as u32))
}

#[inline(always)]
fn pack(low: f32, high: f32) -> u64 {
    u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32
}

/// [`add`] on both elements of packed pairs (`add.f32x2`).
#[inline(always)]
pub fn add_x2(a: u64, b: u64, mods: FloatMods) -> u64 {
    let ((a0, a1), (b0, b1)) = (unpack(a), unpack(b));
    pack(add(a0, b0, mods), add(a1, b1, mods))
}

/// [`sub`] on both elements of packed pairs (`sub.f32x2`).
#[inline(always)]
pub fn sub_x2(a: u64, b: u64, mods: FloatMods) -> u64 {
    add_x2(a, b ^ 0x8000_0000_8000_0000, mods)
}

/// [`mul`] on both elements of packed pairs (`mul.f32x2`).
#[inline(always)]
pub fn mul_x2(a: u64, b: u64, mods: FloatMods) -> u64 {
    let ((a0, a1), (b0, b1)) = (unpack(a), unpack(b));
    pack(mul(a0, b0, mods), mul(a1, b1, mods))
}

/// [`fma`] on both elements of packed pairs (`fma.f32x2`).
#[inline(always)]
pub fn fma_x2(a: u64, b: u64, c: u64, mods: FloatMods) -> u64 {
    let ((a0, a1), (b0, b1), (c0, c1)) = (unpack(a), unpack(b), unpack(c));
    pack(fma(a0, b0, c0, mods), fma(a1, b1, c1, mods))
}

/// The magnitude. The instruction set leaves NaN open: ptxas makes a sum of it, whose NaN is the usual one.
#[inline(always)]
pub fn abs(a: f32, ftz: bool) -> f32 {
    canonical_f32(flush_if(a.abs(), ftz))
}

/// The negated value; NaN as of [`abs`].
#[inline(always)]
pub fn neg(a: f32, ftz: bool) -> f32 {
    canonical_f32(flush_if(-a, ftz))
}

/// The smaller of two numbers; -0 is smaller than +0.
#[inline(always)]
pub fn min(a: f32, b: f32, mods: MinMaxMods) -> f32 {
    select(a, b, mods, |a, b| a < b || (a == b && a.is_sign_negative()))
}

/// The larger of two numbers; +0 is larger than -0.
#[inline(always)]
pub fn max(a: f32, b: f32, mods: MinMaxMods) -> f32 {
    select(a, b, mods, |a, b| a > b || (a == b && a.is_sign_positive()))
}

/// The smallest of three numbers. Here [`MinMaxMods::xorsign_abs`] is `.abs` alone: the result is not negative.
#[inline(always)]
pub fn min3(a: f32, b: f32, c: f32, mods: MinMaxMods) -> f32 {
    let ([a, b, c], mods) = magnitudes([a, b, c], mods);
    min(min(a, b, mods), c, mods)
}

/// The largest of three numbers. Here [`MinMaxMods::xorsign_abs`] is `.abs` alone: the result is not negative.
#[inline(always)]
pub fn max3(a: f32, b: f32, c: f32, mods: MinMaxMods) -> f32 {
    let ([a, b, c], mods) = magnitudes([a, b, c], mods);
    max(max(a, b, mods), c, mods)
}

#[inline(always)]
fn magnitudes(values: [f32; 3], mods: MinMaxMods) -> ([f32; 3], MinMaxMods) {
    let values = if mods.xorsign_abs { values.map(f32::abs) } else { values };
    (values, MinMaxMods { xorsign_abs: false, ..mods })
}

#[inline(always)]
fn select(a: f32, b: f32, mods: MinMaxMods, take_first: impl Fn(f32, f32) -> bool) -> f32 {
    let (a, b) = if mods.ftz { (flush_f32(a), flush_f32(b)) } else { (a, b) };
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    let (a, b) = if mods.xorsign_abs { (a.abs(), b.abs()) } else { (a, b) };
    let number = if take_first(a, b) || b.is_nan() { a } else { b };
    let poisoned = mods.nan && (a.is_nan() || b.is_nan());
    let signed = if mods.xorsign_abs { f32::from_bits(number.to_bits() | sign) } else { number };
    if poisoned || number.is_nan() { f32::from_bits(round::NAN_F32) } else { signed }
}

/// The magnitude of `b` with the sign of `a`: the PTX operand order.
#[inline(always)]
pub fn copysign(a: f32, b: f32) -> f32 {
    b.copysign(a)
}

/// `testp.f32`; zeros count as normal numbers.
#[inline(always)]
pub fn testp(a: f32, property: TestProperty) -> bool {
    match property {
        TestProperty::Finite => a.is_finite(),
        TestProperty::Infinite => a.is_infinite(),
        TestProperty::Number => !a.is_nan(),
        TestProperty::NotANumber => a.is_nan(),
        TestProperty::Normal => a.is_normal() || a == 0.0,
        TestProperty::Subnormal => a.is_subnormal(),
    }
}
