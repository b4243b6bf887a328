//! The approximate instructions: `sin cos lg2 ex2 tanh rcp rsqrt sqrt div` with `.approx`, and `div.full`.
//!
//! Hardware answers these from tables whose bits are not published. The instruction set bounds the error only, and
//! the functions here stay far inside every bound: each is evaluated in f64 with a relative error below 2^-36 (sine and
//! cosine: an absolute error below 2^-48) and then rounded once, so nearly all results are the correctly rounded
//! ones. Last bits differ from hardware.
//!
//! Every function is a straight line of `f64` operations, exact by IEEE 754, with selects at the end, so loops over
//! lanes vectorise and all hosts agree.

use super::half::{self, Half};
use super::round::{canonical_f32, flush_if};

/// 1.5 * 2^52: adding it leaves the nearest integer in the low bits of the sum.
const SHIFTER: f64 = 6755399441055744.0;

const FRACTION_MASK: u64 = (1 << 52) - 1;

/// 2^r on [-1/2, 1/2].
const EXP2: [f64; 10] = [
    1.0,
    0.6931471805599462,
    0.2402265069564034,
    0.05550410866465167,
    0.009618129193934313,
    0.0013333558200794592,
    0.0001540343375125101,
    1.5252672924850737e-05,
    1.325964524488711e-06,
    1.0205905413765595e-07,
];

/// sin(2 pi y) / y in y^2, for |y| <= 1/8.
const SIN_TURN: [f64; 6] = [
    6.28318530717956,
    -41.34170224027578,
    81.60524918348393,
    -76.70583445845129,
    42.05556925594499,
    -14.916565118819118,
];

/// cos(2 pi y) in y^2, for |y| <= 1/8.
const COS_TURN: [f64; 7] = [
    1.0,
    -19.73920880217842,
    64.93939402236538,
    -85.45681709034115,
    60.24462008593029,
    -26.42425703488269,
    7.810290968144191,
];

/// log2((1 + s) / (1 - s)) / s in s^2, for |s| <= 3 - 2 sqrt(2).
const LOG2: [f64; 7] = [
    2.885390081777927,
    0.9617966939243245,
    0.5770780172508729,
    0.4121984013068434,
    0.3206164421244846,
    0.26144245557136553,
    0.24293824606326322,
];

/// 1 / (2 pi) in pieces of 29 bits: the product of an f32 with a piece is exact in f64.
const INVERSE_TURN: [f64; 6] = [
    0.15915494272485375,
    3.6704158115630214e-10,
    5.690025167992954e-19,
    1.4703036846932608e-27,
    2.5867171752090537e-36,
    9.458140877728297e-46,
];

#[inline(always)]
fn polynomial<const N: usize>(coefficients: &[f64; N], x: f64) -> f64 {
    let mut sum = coefficients[N - 1];
    for i in (0..N - 1).rev() {
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

/// 2^x in f64 with a relative error below 2^-44. Arguments beyond +-1000 act as +-1000; NaN gives NaN.
#[inline(always)]
fn exp2_wide(x: f64) -> f64 {
    let low = if x < -1000.0 { -1000.0 } else { x };
    let clamped = if low > 1000.0 { 1000.0 } else { low };
    let shifted = clamped + SHIFTER;
    let rest = clamped - (shifted - SHIFTER);
    let scale = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    polynomial(&EXP2, rest) * scale
}

/// tanh(x) in f64 with a relative error below 2^-36.
#[inline(always)]
fn tanh_wide(x: f64) -> f64 {
    let low = if x < -30.0 { -30.0 } else { x };
    let clamped = if low > 30.0 { 30.0 } else { low };
    let power = exp2_wide(clamped * (2.0 * std::f64::consts::LOG2_E));
    let quotient = (power - 1.0) / (power + 1.0);
    // Near zero the difference cancels and two terms of the series are enough.
    let series = x * (1.0 - x * x * (1.0 / 3.0));
    if x.abs() < 1.0 / 1024.0 { series } else { quotient }
}

/// |x| in turns, reduced to [-1/2, 1/2]. Every product is exact, and so is dropping its whole turns, so the reduction
/// is right over the whole range of f32.
#[inline(always)]
fn turns(x: f32) -> f64 {
    let x = f64::from(x.abs());
    let mut sum = 0.0;
    for piece in INVERSE_TURN {
        let product = x * piece;
        sum += product - product.round_ties_even();
    }
    sum - sum.round_ties_even()
}

/// Sine and cosine of an angle in quarter turns plus a rest: which to take and its sign depend on the quarter.
#[inline(always)]
fn sine_of_quarters(turns: f64, first_quarter: u64) -> f64 {
    let shifted = turns * 4.0 + SHIFTER;
    let quarter = shifted.to_bits().wrapping_add(first_quarter);
    let rest = turns - (shifted - SHIFTER) * 0.25;
    let square = rest * rest;
    let sine = rest * polynomial(&SIN_TURN, square);
    let cosine = polynomial(&COS_TURN, square);
    let magnitude = if quarter & 1 == 0 { sine } else { cosine };
    f64::from_bits(magnitude.to_bits() ^ ((quarter & 2) << 62))
}

/// `sin.approx.f32`, for arguments of any size.
#[inline(always)]
pub fn sin(x: f32, ftz: bool) -> f32 {
    let x = flush_if(x, ftz);
    let sine = sine_of_quarters(turns(x), 0) as f32;
    let signed = f32::from_bits(sine.to_bits() ^ (x.to_bits() & 0x8000_0000));
    canonical_f32(flush_if(signed, ftz))
}

/// `cos.approx.f32`, for arguments of any size.
#[inline(always)]
pub fn cos(x: f32, ftz: bool) -> f32 {
    canonical_f32(sine_of_quarters(turns(flush_if(x, ftz)), 1) as f32)
}

/// `lg2.approx.f32`: the logarithm to base 2.
#[inline(always)]
pub fn lg2(x: f32, ftz: bool) -> f32 {
    let x = flush_if(x, ftz);
    // Split into 2^e * m with m in [sqrt(1/2), sqrt(2)). A subnormal f32 is a normal f64.
    const ROOT: u64 = 0x3fe6_a09e_667f_3bcd;
    let bits = f64::from(x).to_bits().wrapping_add(0x3ff0_0000_0000_0000 - ROOT);
    let mantissa = f64::from_bits((bits & FRACTION_MASK).wrapping_add(ROOT));
    let exponent = f64::from_bits(SHIFTER.to_bits().wrapping_add(bits >> 52)) - (SHIFTER + 1023.0);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let logarithm = (s.mul_add(polynomial(&LOG2, s * s), exponent)) as f32;
    let finite = if x == f32::INFINITY { x } else { logarithm };
    let positive = if x == 0.0 { f32::NEG_INFINITY } else { finite };
    if x >= 0.0 { positive } else { canonical_f32(f32::NAN) }
}

/// `ex2.approx.f32`: 2 to the power x.
#[inline(always)]
pub fn ex2(x: f32, ftz: bool) -> f32 {
    let power = exp2_wide(f64::from(flush_if(x, ftz))) as f32;
    canonical_f32(flush_if(power, ftz))
}

/// `tanh.approx.f32`. Subnormal arguments are kept.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    canonical_f32(tanh_wide(f64::from(x)) as f32)
}

/// `rcp.approx.f32`: 1 / x.
#[inline(always)]
pub fn rcp(x: f32, ftz: bool) -> f32 {
    canonical_f32(flush_if(1.0 / flush_if(x, ftz), ftz))
}

/// `rsqrt.approx.f32`: 1 / sqrt(x); -0 gives negative infinity.
#[inline(always)]
pub fn rsqrt(x: f32, ftz: bool) -> f32 {
    let root = f64::from(flush_if(x, ftz)).sqrt();
    canonical_f32((1.0 / root) as f32)
}

/// `sqrt.approx.f32`; -0 gives -0.
#[inline(always)]
pub fn sqrt(x: f32, ftz: bool) -> f32 {
    canonical_f32(flush_if(x, ftz).sqrt())
}

/// `div.approx.f32`: a * (1 / b), where the reciprocal of a divisor above 2^126 counts as zero.
#[inline(always)]
pub fn div(a: f32, b: f32, ftz: bool) -> f32 {
    const LARGE: f32 = f32::from_bits((126 + 127) << 23);
    let (a, b) = (flush_if(a, ftz), flush_if(b, ftz));
    let zero = f32::from_bits(b.to_bits() & 0x8000_0000);
    let vanishes = b.abs() > LARGE;
    let quotient = if vanishes { a * zero } else { a / b };
    canonical_f32(flush_if(quotient, ftz))
}

/// `div.full.f32`: a / b over the full range.
#[inline(always)]
pub fn div_full(a: f32, b: f32, ftz: bool) -> f32 {
    canonical_f32(flush_if(flush_if(a, ftz) / flush_if(b, ftz), ftz))
}

/// `ex2.approx.f16` and `ex2.approx.ftz.bf16`.
#[inline(always)]
pub fn ex2_half<H: Half>(x: u16, ftz: bool) -> u16 {
    let power = exp2_wide(f64::from(H::widen(H::flush_if(x, ftz))));
    H::flush_if(H::narrow_odd(power), ftz)
}

/// `tanh.approx.f16` and `tanh.approx.bf16`.
#[inline(always)]
pub fn tanh_half<H: Half>(x: u16) -> u16 {
    H::narrow_odd(tanh_wide(f64::from(H::widen(x))))
}

/// [`ex2_half`] on both elements of a packed pair.
#[inline(always)]
pub fn ex2_half_x2<H: Half>(pair: u32, ftz: bool) -> u32 {
    let (low, high) = half::unpack(pair);
    half::pack(ex2_half::<H>(low, ftz), ex2_half::<H>(high, ftz))
}

/// [`tanh_half`] on both elements of a packed pair.
#[inline(always)]
pub fn tanh_half_x2<H: Half>(pair: u32) -> u32 {
    let (low, high) = half::unpack(pair);
    half::pack(tanh_half::<H>(low), tanh_half::<H>(high))
}
