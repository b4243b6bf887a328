//! Double-precision arithmetic: `add sub mul fma div rcp sqrt min max abs neg copysign testp`, and the approximate
//! reciprocals.
//!
//! Results are correctly rounded in every mode and subnormals are kept. The instruction set leaves NaN open; GPUs answer the
//! first operand that is one, in its quiet form and with its sign, and [`NAN_F64`] where none is.

use warplens_isa::{Rounding, TestProperty};

use super::soft;

/// The NaN that f64 instructions produce of numbers: the one that CUDA's headers name `CUDART_NAN`.
pub const NAN_F64: u64 = 0xfff8_0000_0000_0000;
/// The bit that makes NaN quiet.
const QUIET: u64 = 1 << 51;

#[inline(always)]
fn is_nan(bits: u64) -> bool {
    bits & (u64::MAX >> 1) > f64::INFINITY.to_bits()
}

/// The result, or the first of the operands that is NaN, by their bits for the reason of [`super::round::canonical_f32`].
#[inline(always)]
fn or_nan<const N: usize>(result: f64, operands: [f64; N]) -> f64 {
    let first = |bits: u64, operand: &f64| if is_nan(operand.to_bits()) { operand.to_bits() | QUIET } else { bits };
    f64::from_bits(operands.iter().rev().fold(canonical(result).to_bits(), first))
}

/// Replaces any NaN by [`NAN_F64`], by its bits for the reason of [`super::round::canonical_f32`].
#[inline(always)]
pub fn canonical(x: f64) -> f64 {
    let bits = x.to_bits();
    f64::from_bits(if is_nan(bits) { NAN_F64 } else { bits })
}

/// a + b
#[inline(always)]
pub fn add(a: f64, b: f64, rounding: Rounding) -> f64 {
    or_nan(sum(a, b, rounding), [a, b])
}

#[inline(always)]
fn sum(a: f64, b: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => a + b,
        rounding => soft::fma(a, 1.0, b, rounding),
    }
}

/// a - b
#[inline(always)]
pub fn sub(a: f64, b: f64, rounding: Rounding) -> f64 {
    or_nan(sum(a, -b, rounding), [a, b])
}

/// a * b
#[inline(always)]
pub fn mul(a: f64, b: f64, rounding: Rounding) -> f64 {
    let product = match rounding {
        Rounding::Nearest => a * b,
        rounding => soft::mul(a, b, rounding),
    };
    or_nan(product, [a, b])
}

/// a * b + c, rounded once. `mad.f64` is the same instruction. NaN of c counts before that of b.
#[inline(always)]
pub fn fma(a: f64, b: f64, c: f64, rounding: Rounding) -> f64 {
    let sum = match rounding {
        Rounding::Nearest => a.mul_add(b, c),
        rounding => soft::fma(a, b, c, rounding),
    };
    or_nan(sum, [a, c, b])
}

/// a / b
#[inline(always)]
pub fn div(a: f64, b: f64, rounding: Rounding) -> f64 {
    let quotient = match rounding {
        Rounding::Nearest => a / b,
        rounding => soft::div(a, b, rounding),
    };
    or_nan(quotient, [a, b])
}

/// 1 / a
#[inline(always)]
pub fn rcp(a: f64, rounding: Rounding) -> f64 {
    div(1.0, a, rounding)
}

/// The square root.
#[inline(always)]
pub fn sqrt(a: f64, rounding: Rounding) -> f64 {
    let root = match rounding {
        Rounding::Nearest => a.sqrt(),
        rounding => soft::sqrt(a, rounding),
    };
    or_nan(root, [a])
}

/// The 32 bits that `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64` look at: the low word reads as zero.
#[inline(always)]
fn high_word(a: f64) -> f64 {
    f64::from_bits(a.to_bits() & 0xffff_ffff_0000_0000)
}

#[inline(always)]
fn flush(a: f64) -> f64 {
    if a.is_subnormal() { f64::from_bits(a.to_bits() & (1 << 63)) } else { a }
}

/// `rcp.approx.ftz.f64`: a coarse reciprocal from the upper word of `a`, whose own lower word is zero. The upper word
/// is the truncated quotient; hardware may differ in its last bits.
#[inline(always)]
pub fn rcp_approx(a: f64) -> f64 {
    let quotient = 1.0 / flush(high_word(a));
    if quotient.is_nan() { canonical(quotient) } else { flush(high_word(quotient)) }
}

/// `rsqrt.approx.ftz.f64`: a coarse reciprocal square root from the upper word of `a`, whose own lower word is zero.
#[inline(always)]
pub fn rsqrt_approx_ftz(a: f64) -> f64 {
    let root = 1.0 / flush(high_word(a)).sqrt();
    if root.is_nan() { canonical(root) } else { high_word(root) }
}

/// `rsqrt.approx.f64`, within 1.5 units of 2^-52.
#[inline(always)]
pub fn rsqrt_approx(a: f64) -> f64 {
    canonical(1.0 / a.sqrt())
}

/// The magnitude. NaN keeps its sign, as of any sum.
#[inline(always)]
pub fn abs(a: f64) -> f64 {
    or_nan(a.abs(), [a])
}

/// The negated value. NaN keeps its sign, as of any sum.
#[inline(always)]
pub fn neg(a: f64) -> f64 {
    or_nan(-a, [a])
}

/// The smaller of two numbers; -0 is smaller than +0. f64 knows no modifier.
#[inline(always)]
pub fn min(a: f64, b: f64) -> f64 {
    select(a, b, a < b || (a == b && a.is_sign_negative()))
}

/// The larger of two numbers; +0 is larger than -0.
#[inline(always)]
pub fn max(a: f64, b: f64) -> f64 {
    select(a, b, a > b || (a == b && a.is_sign_positive()))
}

#[inline(always)]
fn select(a: f64, b: f64, first: bool) -> f64 {
    let chosen = if first || is_nan(b.to_bits()) { a } else { b };
    or_nan(chosen, [chosen])
}

/// The magnitude of `b` with the sign of `a`: the PTX operand order.
#[inline(always)]
pub fn copysign(a: f64, b: f64) -> f64 {
    b.copysign(a)
}

/// `testp.f64`; zeros count as normal numbers.
#[inline(always)]
pub fn testp(a: f64, property: TestProperty) -> bool {
    match property {
        TestProperty::Finite => a.is_finite(),
        TestProperty::Infinite => a.is_infinite(),
        TestProperty::Number => !a.is_nan(),
        TestProperty::NotANumber => a.is_nan(),
        TestProperty::Normal => a.is_normal() || a == 0.0,
        TestProperty::Subnormal => a.is_subnormal(),
    }
}
