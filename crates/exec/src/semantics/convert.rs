//! Conversions: every pair of types of `cvt`, and `cvt.pack`.
//!
//! Functions are generic over the integer type ([`Int`]) and over f16 and bf16 ([`Half`]); the type arguments are the
//! suffixes of the instruction. `.ftz` concerns the f32 side of a conversion only. Narrow formats without
//! arithmetic of their own (tf32, fp8, fp6, fp4, ue8m0) go through [`round::Format`].

use warplens_isa::Rounding;

use super::half::{self, Bf16, Half};
use super::integer::Int;
use super::round::{self, Format, NAN_F16, NAN_F32, Overflow, canonical_f32, flush_if, saturate_f32, saturate_f64};
use super::{FloatMods, float32, soft};

/// Integer to integer: the low bits, or with `.sat` the nearest value of the destination's range. Where the register
/// is wider than the destination type, the caller extends the result by the type's sign.
#[inline(always)]
pub fn int_to_int<S: Int, D: Int>(x: S, sat: bool) -> D {
    if sat {
        let clamped = x.to_i128().clamp(D::MIN.to_i128(), D::MAX.to_i128());
        D::from_bits(clamped as u64)
    } else {
        D::from_bits(x.to_i128() as u64)
    }
}

#[inline(always)]
fn magnitude<S: Int>(x: S) -> (bool, u64) {
    let value = x.to_i128();
    (value < 0, value.unsigned_abs() as u64)
}

/// Integer to f32.
#[inline(always)]
pub fn int_to_f32<S: Int>(x: S, mods: FloatMods) -> f32 {
    let result = match mods.rounding {
        Rounding::Nearest => x.to_f32(),
        rounding => {
            let (negative, magnitude) = magnitude(x);
            round::to_f32(soft::integer_to_odd(negative, magnitude), rounding)
        }
    };
    if mods.sat { saturate_f32(result) } else { result }
}

/// Integer to f64.
#[inline(always)]
pub fn int_to_f64<S: Int>(x: S, mods: FloatMods) -> f64 {
    let result = match mods.rounding {
        Rounding::Nearest => x.to_f64(),
        rounding => {
            let (negative, magnitude) = magnitude(x);
            soft::from_integer(negative, magnitude, rounding)
        }
    };
    if mods.sat { saturate_f64(result) } else { result }
}

/// Integer to f16 or bf16.
#[inline(always)]
pub fn int_to_half<S: Int, H: Half>(x: S, mods: FloatMods) -> u16 {
    let (negative, magnitude) = magnitude(x);
    narrow::<H>(soft::integer_to_odd(negative, magnitude), NarrowMods::from(mods))
}

/// Rounds to an integral f32.
#[inline(always)]
pub fn integral_f32(x: f32, rounding: Rounding) -> f32 {
    match rounding {
        Rounding::Nearest => x.round_ties_even(),
        Rounding::NearestAway => x.round(),
        Rounding::Zero => x.trunc(),
        Rounding::Down => x.floor(),
        Rounding::Up => x.ceil(),
    }
}

/// Rounds to an integral f64.
#[inline(always)]
pub fn integral_f64(x: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Nearest => x.round_ties_even(),
        Rounding::NearestAway => x.round(),
        Rounding::Zero => x.trunc(),
        Rounding::Down => x.floor(),
        Rounding::Up => x.ceil(),
    }
}

/// What NaN becomes: zero, or the top bit alone if the source is f64 or the destination has 64 bits.
#[inline(always)]
fn nan_to_int<D: Int>(from_f64: bool) -> D {
    if from_f64 || D::BITS == 64 { D::from_bits(1 << (D::BITS - 1)) } else { D::default() }
}

/// An integral number as an integer of at most 32 bits, clamped. Adding 1.5 * 2^52 leaves the integer in the low bits of
/// the sum; unlike the language's own conversion this vectorises. NaN gives some integer.
#[inline(always)]
fn clamp_to_int<D: Int>(integral: f64) -> D {
    const SHIFTER: f64 = 6755399441055744.0;
    let (low, high) = (D::MIN.to_f64(), D::MAX.to_f64());
    let above = if integral > low { integral } else { low };
    let clamped = if above < high { above } else { high };
    D::from_bits((clamped + SHIFTER).to_bits())
}

/// f32 to integer, clamped to the destination's range whether `.sat` is given or not.
#[inline(always)]
pub fn f32_to_int<D: Int>(x: f32, rounding: Rounding, ftz: bool) -> D {
    let integral = integral_f32(flush_if(x, ftz), rounding);
    let number = if D::BITS == 64 { D::from_f32(integral) } else { clamp_to_int(f64::from(integral)) };
    if x.is_nan() { nan_to_int(false) } else { number }
}

/// f64 to integer, clamped.
#[inline(always)]
pub fn f64_to_int<D: Int>(x: f64, rounding: Rounding) -> D {
    let integral = integral_f64(x, rounding);
    let number = if D::BITS == 64 { D::from_f64(integral) } else { clamp_to_int(integral) };
    if x.is_nan() { nan_to_int(true) } else { number }
}

/// f16 or bf16 to integer, clamped.
#[inline(always)]
pub fn half_to_int<H: Half, D: Int>(x: u16, rounding: Rounding) -> D {
    f32_to_int(H::widen(x), rounding, false)
}

/// f32 to f32: an integral number if the instruction has an integer rounding, else the number itself.
#[inline(always)]
pub fn f32_to_f32(x: f32, integral: Option<Rounding>, ftz: bool, sat: bool) -> f32 {
    let x = flush_if(x, ftz);
    let result = integral.map_or(x, |rounding| integral_f32(x, rounding));
    if sat { saturate_f32(result) } else { canonical_f32(result) }
}

/// f64 to f64: an integral number if the instruction has an integer rounding, else the number itself.
#[inline(always)]
pub fn f64_to_f64(x: f64, integral: Option<Rounding>, sat: bool) -> f64 {
    let result = integral.map_or(x, |rounding| integral_f64(x, rounding));
    if sat { saturate_f64(result) } else { result }
}

/// f16 to f16 or bf16 to bf16: an integral number if the instruction has an integer rounding, else the number itself.
#[inline(always)]
pub fn half_to_half<H: Half>(x: u16, integral: Option<Rounding>, sat: bool) -> u16 {
    let wide = H::widen(x);
    let result = integral.map_or(wide, |rounding| integral_f32(wide, rounding));
    H::narrow(if sat { saturate_f32(result) } else { result }, Rounding::Nearest)
}

/// f32 to f64, exact. A NaN keeps its sign and payload and becomes quiet.
#[inline(always)]
pub fn f32_to_f64(x: f32, ftz: bool, sat: bool) -> f64 {
    let x = flush_if(x, ftz);
    let bits = u64::from(x.to_bits());
    let nan = (bits & 0x8000_0000) << 32 | 0x7ff8_0000_0000_0000 | (bits & 0x007f_ffff) << 29;
    let result = if x.is_nan() { f64::from_bits(nan) } else { f64::from(x) };
    if sat { saturate_f64(result) } else { result }
}

/// f64 to f32. A NaN keeps its sign and the upper bits of its payload and becomes quiet.
#[inline(always)]
pub fn f64_to_f32(x: f64, mods: FloatMods) -> f32 {
    let bits = x.to_bits();
    let is_nan = bits & (u64::MAX >> 1) > f64::INFINITY.to_bits();
    let nan = (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x007f_ffff;
    let result = float32::finish_wide(x, mods);
    if is_nan && !mods.sat { f32::from_bits(nan) } else { result }
}

/// f16 or bf16 to f32, exact.
#[inline(always)]
pub fn half_to_f32<H: Half>(x: u16, ftz: bool, sat: bool) -> f32 {
    let result = flush_if(H::widen(x), ftz);
    if sat { saturate_f32(result) } else { canonical_f32(result) }
}

/// f16 or bf16 to f64, exact.
#[inline(always)]
pub fn half_to_f64<H: Half>(x: u16, sat: bool) -> f64 {
    f32_to_f64(canonical_f32(H::widen(x)), false, sat)
}

/// Modifiers of a conversion to a format narrower than f32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct NarrowMods {
    pub rounding: Rounding,
    /// A subnormal f32 source counts as zero.
    pub ftz: bool,
    /// The result is clamped to [0, 1] and NaN becomes +0.
    pub sat: bool,
    /// Negative numbers become +0.
    pub relu: bool,
    /// Numbers beyond the range, infinity included, become the largest finite number of their sign.
    pub satfinite: bool,
}

impl NarrowMods {
    /// To nearest even, nothing else.
    pub const RN: Self = Self::new(Rounding::Nearest);

    pub const fn new(rounding: Rounding) -> Self {
        Self { rounding, ftz: false, sat: false, relu: false, satfinite: false }
    }

    #[inline(always)]
    fn overflow(self) -> Overflow {
        if self.satfinite { Overflow::Finite } else { Overflow::Infinity }
    }
}

impl From<FloatMods> for NarrowMods {
    #[inline(always)]
    fn from(mods: FloatMods) -> Self {
        Self { ftz: mods.ftz, sat: mods.sat, ..Self::new(mods.rounding) }
    }
}

/// An f64, exact or rounded to odd, to f16 or bf16.
#[inline(always)]
fn narrow<H: Half>(x: f64, mods: NarrowMods) -> u16 {
    let x = if mods.sat { saturate_f64(x) } else { x };
    let result = if mods.rounding == Rounding::Nearest && !mods.satfinite {
        H::narrow_odd(x)
    } else {
        round::to_format(x, mods.rounding, H::FORMAT, mods.overflow()) as u16
    };
    if mods.relu { half::relu::<H>(result) } else { result }
}

/// f32 to f16 or bf16.
#[inline(always)]
pub fn f32_to_half<H: Half>(x: f32, mods: NarrowMods) -> u16 {
    let x = flush_if(x, mods.ftz);
    let simple = mods.rounding == Rounding::Nearest && !mods.sat && !mods.satfinite;
    if !simple {
        return narrow::<H>(f64::from(x), mods);
    }
    let result = H::narrow(x, Rounding::Nearest);
    if mods.relu { half::relu::<H>(result) } else { result }
}

/// f64 to f16 or bf16, rounded once.
#[inline(always)]
pub fn f64_to_half<H: Half>(x: f64, mods: NarrowMods) -> u16 {
    // The f64 is exact, so it may be rounded to odd on the way.
    narrow::<H>(x, mods)
}

/// f16 to bf16 or bf16 to f16.
#[inline(always)]
pub fn half_to_other_half<S: Half, D: Half>(x: u16, mods: NarrowMods) -> u16 {
    f32_to_half::<D>(S::widen(x), mods)
}

/// Two f32 to a packed pair: `a` goes to the upper half, `b` to the lower.
#[inline(always)]
pub fn f32_to_half_x2<H: Half>(a: f32, b: f32, mods: NarrowMods) -> u32 {
    u32::from(f32_to_half::<H>(a, mods)) << 16 | u32::from(f32_to_half::<H>(b, mods))
}

/// The same with stochastic rounding: the upper half of `random` is for `a`, the lower for `b`. What a result has no place
/// for is cut off after random bits of as many places were added; a result of f16 takes 13 of them.
#[inline]
pub fn f32_to_half_x2_random<H: Half>(a: f32, b: f32, random: u32, mods: NarrowMods) -> u32 {
    u32::from(f32_to_half_random::<H>(a, random >> 16, mods)) << 16
        | u32::from(f32_to_half_random::<H>(b, random & 0xffff, mods))
}

fn f32_to_half_random<H: Half>(x: f32, random: u32, mods: NarrowMods) -> u16 {
    // Few bits are left, so that nothing is rounded but what is beyond the range.
    let cut = cut_randomly(x, random, 23 - H::FORMAT.fraction_bits, H::FORMAT);
    f32_to_half::<H>(cut, NarrowMods { rounding: Rounding::Nearest, ..mods })
}

/// What is left of a number that is cut off at the last place of a format after so many random bits were added behind it.
fn cut_randomly(x: f32, random: u32, n_random: u32, format: Format) -> f32 {
    if !x.is_finite() {
        return x;
    }
    let (n_random, fraction_bits) = (n_random as i32, format.fraction_bits as i32);
    let random = i64::from(random) & ((1 << n_random) - 1);
    // The last place of the result.
    let exponent = (x.to_bits() >> 23 & 0xff) as i32 - 127;
    let least = 2 - (1 << (format.exponent_bits - 1));
    let last = exponent.max(least) - fraction_bits;
    let places = f64::from(x.abs()) * 2f64.powi(n_random - last);
    let kept = (places as i64 + random) >> n_random;
    let magnitude = kept as f64 * 2f64.powi(last);
    magnitude.copysign(f64::from(x)) as f32
}

/// f32 to tf32, in the register layout of f32 with thirteen zeros at the bottom; NaN becomes canonical.
#[inline(always)]
pub fn f32_to_tf32(x: f32, mods: NarrowMods) -> u32 {
    const KEPT: u32 = !0x1fff;
    let bits = x.to_bits();
    // A carry out of the fraction moves the exponent, at most to infinity; infinity itself has nothing to carry.
    let rounded = match mods.rounding {
        Rounding::Nearest => bits.wrapping_add(0xfff + ((bits >> 13) & 1)) & KEPT,
        Rounding::NearestAway => bits.wrapping_add(0x1000) & KEPT,
        Rounding::Zero => bits & KEPT,
        rounding => round::to_format(f64::from(x), rounding, Format::TF32, Overflow::Infinity) << 13,
    };
    let overflows = mods.satfinite && rounded & 0x7fff_ffff == 0x7f80_0000;
    let finite = if overflows { rounded - 0x2000 } else { rounded };
    let positive = if mods.relu && finite >> 31 == 1 { 0 } else { finite };
    if x.is_nan() { NAN_F32 } else { positive }
}

/// A floating-point format that exists only in packed pairs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum PackedFormat {
    E4m3,
    E5m2,
    E3m2,
    E2m3,
    E2m1,
}

impl PackedFormat {
    const fn format(self) -> Format {
        match self {
            Self::E4m3 => Format::E4M3,
            Self::E5m2 => Format::E5M2,
            Self::E3m2 => Format::E3M2,
            Self::E2m3 => Format::E2M3,
            Self::E2m1 => Format::E2M1,
        }
    }

    /// The bits from one element to the next: fp4 pairs share a byte, all others have a byte each.
    const fn stride(self) -> u32 {
        match self {
            Self::E2m1 => 4,
            _ => 8,
        }
    }
}

/// Two f32 to a packed pair, to nearest even, clamped to the finite range: `a` to the upper element, `b` to the lower.
/// NaN becomes the format's NaN, or its largest number where it has none.
#[inline]
pub fn f32_to_packed(a: f32, b: f32, format: PackedFormat, relu: bool) -> u16 {
    let convert = |x: f32| {
        let x = if relu && x <= 0.0 { 0.0 } else { x };
        round::to_format(f64::from(x), Rounding::Nearest, format.format(), Overflow::Finite)
    };
    (convert(a) << format.stride() | convert(b)) as u16
}

/// The same with stochastic rounding, by the lower sixteen of the random bits for both: they are added at the sixteen places
/// behind the last one of the result, as those of halves are, and what is farther behind is cut off.
#[inline]
pub fn f32_to_packed_random(a: f32, b: f32, random: u32, format: PackedFormat, relu: bool) -> u16 {
    let cut = |x: f32| cut_randomly(x, random, 16, format.format());
    f32_to_packed(cut(a), cut(b), format, relu)
}

/// A packed pair of f16 or bf16 to a packed pair of a narrower format, element by element.
#[inline]
pub fn half_x2_to_packed<H: Half>(pair: u32, format: PackedFormat, relu: bool) -> u16 {
    f32_to_packed(H::widen((pair >> 16) as u16), H::widen(pair as u16), format, relu)
}

/// A packed pair to f16 or bf16, element by element; exact.
#[inline]
pub fn packed_to_half_x2<H: Half>(pair: u16, format: PackedFormat, relu: bool) -> u32 {
    let convert = |bits: u16| {
        let mask = format.format().sign() * 2 - 1;
        let wide = round::from_format(u32::from(bits) & mask, format.format());
        let result = H::narrow(wide as f32, Rounding::Nearest);
        u32::from(if relu { half::relu::<H>(result) } else { result })
    };
    convert(pair >> format.stride()) << 16 | convert(pair)
}

/// The exponent byte of ue8m0: powers of two from 2^-127 to 2^127, no sign, 0xff for NaN. `.rz` drops the fraction, `.rp`
/// rounds it up, and rounding to nearest goes up from the middle between two powers on; beyond the range lies NaN, or
/// with `.satfinite` the largest power.
#[inline]
fn to_ue8m0(x: f32, rounding: Rounding, satfinite: bool) -> u16 {
    if x.is_nan() {
        return 0xff;
    }
    let bits = x.to_bits() & 0x7fff_ffff;
    let (exponent, fraction) = ((bits >> 23) as u16, bits & 0x007f_ffff);
    // The smallest power, 2^-127, is a subnormal f32 with a fraction of its own.
    let (power, middle) = if exponent == 0 { (0x0040_0000, 0x0060_0000) } else { (0, 0x0040_0000) };
    let up = match rounding {
        Rounding::Zero | Rounding::Down => false,
        Rounding::Up => fraction > power,
        Rounding::Nearest | Rounding::NearestAway => fraction >= middle,
    };
    let power = exponent + u16::from(up);
    if power < 0xff {
        power
    } else if satfinite {
        0xfe
    } else {
        0xff
    }
}

/// Two f32 to a pair of ue8m0: `a` to the upper byte, `b` to the lower. Signs are ignored.
#[inline]
pub fn f32_to_ue8m0_x2(a: f32, b: f32, rounding: Rounding, satfinite: bool) -> u16 {
    to_ue8m0(a, rounding, satfinite) << 8 | to_ue8m0(b, rounding, satfinite)
}

/// A bf16 pair to a pair of ue8m0, element by element.
#[inline]
pub fn bf16_x2_to_ue8m0_x2(pair: u32, rounding: Rounding, satfinite: bool) -> u16 {
    let wide = |bits| Bf16::widen(bits);
    f32_to_ue8m0_x2(wide((pair >> 16) as u16), wide(pair as u16), rounding, satfinite)
}

/// A pair of ue8m0 to a bf16 pair, exact.
#[inline]
pub fn ue8m0_x2_to_bf16_x2(pair: u16) -> u32 {
    let convert = |byte: u16| match byte & 0xff {
        0xff => u32::from(NAN_F16),
        0 => 0x0040,
        exponent => u32::from(exponent) << 7,
    };
    convert(pair >> 8) << 16 | convert(pair)
}

/// The destination of `cvt.pack`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct PackType {
    /// 2, 4, 8 or 16.
    pub bits: u32,
    pub signed: bool,
}

/// `cvt.pack.sat`: `a` and `b` clamped to the destination type; `b` in the lowest element, `a` above it, and above both
/// the low bits of `c`. `a` and `b` are s32, or u32 in the range of i64.
#[inline]
pub fn pack(a: i64, b: i64, c: u32, to: PackType) -> u32 {
    let (low, high) =
        if to.signed { (-(1i64 << (to.bits - 1)), (1 << (to.bits - 1)) - 1) } else { (0, (1 << to.bits) - 1) };
    let mask = (1u32 << to.bits) - 1;
    let element = |x: i64| x.clamp(low, high) as u32 & mask;
    let carried = u64::from(c) << (2 * to.bits);
    carried as u32 | element(a) << to.bits | element(b)
}
