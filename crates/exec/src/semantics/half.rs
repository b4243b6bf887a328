//! f16 and bf16 arithmetic on `u16` bit patterns, and on packed pairs in a `u32`.
//!
//! One set of functions serves both formats: the type parameter [`F16`] or [`Bf16`] chooses. `f(a, b)` works on one
//! element, `f_x2(a, b)` on the two of a packed pair.
//!
//! Every result is rounded once. Sums and products of two f16 are computed in f32 and rounded again, which is harmless
//! because 24 >= 2 * 11 + 2 (Figueroa, "When is double rounding innocuous?", 1995), and likewise for bf16 with
//! 8 bits; below the normal range of f16 such sums are exact in f32. bf16 shares the exponent range of f32, where
//! a subnormal intermediate product would be rounded twice, so its products are made in f64. The fused multiply-add
//! sums in f32 (f16) or f64 (bf16) rounded to odd.

use warplens_isa::Rounding;

use super::MinMaxMods;
use super::round::{self, Format, NAN_F16, add_to_odd};

/// Modifiers of f16 and bf16 arithmetic, which always rounds to nearest even.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, Default)]
pub struct HalfMods {
    /// Subnormal inputs and results become zeros of the same sign.
    pub ftz: bool,
    /// The result is clamped to [0, 1] and NaN becomes +0.
    pub sat: bool,
    /// A negative result becomes +0 and NaN stays the canonical NaN.
    pub relu: bool,
    /// The result is +0 if an operand is the out-of-bounds NaN [`OUT_OF_BOUNDS`].
    pub oob: bool,
}

impl HalfMods {
    /// No modifier.
    pub const RN: Self = Self { ftz: false, sat: false, relu: false, oob: false };
}

/// The NaN that a tensor copy fills out-of-bounds elements with, and that `.oob` looks for, with either sign. Its bits are not
/// published; of all NaN an H200 takes only these for it.
pub const OUT_OF_BOUNDS: u16 = 0x7ff7;

/// A 16-bit floating-point format.
pub trait Half: Copy {
    const FORMAT: Format;
    /// Bits of the exponent field.
    const EXPONENT: u16;
    /// Magnitudes below this are subnormal even when rounded with an unbounded exponent: the tie just under the
    /// smallest normal number.
    const TINY: f64;
    /// Exact.
    fn widen(bits: u16) -> f32;
    /// Rounded; NaN becomes canonical.
    fn narrow(x: f32, rounding: Rounding) -> u16;
    /// From an f64 that is exact or rounded to odd; to nearest even.
    fn narrow_odd(x: f64) -> u16;
    /// a * b, rounded once.
    fn narrow_product(a: f32, b: f32) -> u16;
    /// a * b + c rounded once, and rounded to odd.
    fn fma(a: f32, b: f32, c: f32) -> (u16, f64);

    #[inline(always)]
    fn flush_if(bits: u16, ftz: bool) -> u16 {
        if ftz && bits & Self::EXPONENT == 0 { bits & 0x8000 } else { bits }
    }

    #[inline(always)]
    fn is_nan(bits: u16) -> bool {
        bits & 0x7fff > Self::EXPONENT
    }
}

/// IEEE half precision.
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// The upper half of an f32.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

impl Half for F16 {
    const FORMAT: Format = Format::F16;
    const EXPONENT: u16 = 0x7c00;
    const TINY: f64 = (1.0 - 1.0 / 4096.0) / 16384.0;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        let magnitude = u32::from(bits & 0x7fff) << 13;
        let sign = u32::from(bits & 0x8000) << 16;
        // Multiplying by 2^112 moves the exponent bias from 15 to 127 and normalises subnormals on the way.
        let number = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
        let special = magnitude | 0x7f80_0000;
        f32::from_bits(sign | if bits & 0x7c00 == 0x7c00 { special } else { number })
    }

    #[inline(always)]
    fn narrow(x: f32, rounding: Rounding) -> u16 {
        match rounding {
            Rounding::Nearest => narrow_f16_nearest(x),
            _ => round::to_format(f64::from(x), rounding, Format::F16, round::Overflow::Infinity) as u16,
        }
    }

    #[inline(always)]
    fn narrow_odd(x: f64) -> u16 {
        // f64 rounded to odd, then to f32 rounded to odd, then to f16.
        narrow_f16_nearest(f64_to_f32_odd(x))
    }

    #[inline(always)]
    fn narrow_product(a: f32, b: f32) -> u16 {
        // 22 significant bits within the range of f32: exact.
        narrow_f16_nearest(a * b)
    }

    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> (u16, f64) {
        // Multiples of 2^-48 below 2^33: f32 holds the product exactly and the sum's error too.
        let product = a * b;
        let sum = product + c;
        let c_part = sum - product;
        let error = (product - (sum - c_part)) + (c - c_part);
        let bits = sum.to_bits();
        let away = (error > 0.0) == (sum > 0.0);
        let moved = if away { bits.wrapping_add(1) } else { bits.wrapping_sub(1) };
        let inexact = error.abs() > 0.0 && bits & 1 == 0;
        let odd = f32::from_bits(if inexact { moved } else { bits });
        (narrow_f16_nearest(odd), f64::from(odd))
    }
}

impl Half for Bf16 {
    const FORMAT: Format = Format::BF16;
    const EXPONENT: u16 = 0x7f80;
    const TINY: f64 = (1.0 - 1.0 / 512.0) * f32::MIN_POSITIVE as f64;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }

    #[inline(always)]
    fn narrow(x: f32, rounding: Rounding) -> u16 {
        match rounding {
            Rounding::Nearest => {
                let bits = x.to_bits();
                let rounded = (bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16) as u16;
                if x.is_nan() { NAN_F16 } else { rounded }
            }
            _ => round::to_format(f64::from(x), rounding, Format::BF16, round::Overflow::Infinity) as u16,
        }
    }

    #[inline(always)]
    fn narrow_odd(x: f64) -> u16 {
        Self::narrow(f64_to_f32_odd(x), Rounding::Nearest)
    }

    #[inline(always)]
    fn narrow_product(a: f32, b: f32) -> u16 {
        Self::narrow_odd(f64::from(a) * f64::from(b))
    }

    #[inline(always)]
    fn fma(a: f32, b: f32, c: f32) -> (u16, f64) {
        let sum = add_to_odd(f64::from(a) * f64::from(b), f64::from(c));
        (Self::narrow_odd(sum), sum)
    }
}

/// Rounds an f64 to f32 to odd: the result can be rounded once more to at most 22 bits without harm.
#[inline(always)]
fn f64_to_f32_odd(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    let bits = nearest.to_bits();
    // One unit toward the exact value, if the nearest is even and not exact.
    let overshot = back.abs() > x.abs();
    let moved = if overshot { bits.wrapping_sub(1) } else { bits.wrapping_add(1) };
    let inexact = back != x && bits & 1 == 0;
    // An infinite `nearest` overshoots to the largest finite number, which is odd and still overflows 16 bits.
    if x.is_nan() { f32::NAN } else { f32::from_bits(if inexact { moved } else { bits }) }
}

#[inline(always)]
fn narrow_f16_nearest(x: f32) -> u16 {
    let sign = (x.to_bits() >> 16) & 0x8000;
    let magnitude = x.to_bits() & 0x7fff_ffff;
    // Normal: rebias the exponent and round half to even on the 13 bits that go.
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + ((magnitude >> 13) & 1)) >> 13;
    // Subnormal: adding 1/2 leaves units of 2^-24, the last place of a subnormal f16, correctly rounded.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0x3f00_0000);
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    let bounded = if magnitude >= 0x4780_0000 { 0x7c00 } else { finite };
    let result = (sign | bounded) as u16;
    if magnitude > 0x7f80_0000 { NAN_F16 } else { result }
}

/// Applies the modifiers to the rounded `result` of the exact or odd-rounded value `wide`. `.ftz` flushes what would lie
/// below the normal range if the exponent were unbounded.
#[inline(always)]
fn finish<H: Half>(result: u16, wide: f64, mods: HalfMods) -> u16 {
    let result = if mods.ftz && wide.abs() < H::TINY { result & 0x8000 } else { result };
    let result = if mods.sat { H::narrow(round::saturate_f32(H::widen(result)), Rounding::Nearest) } else { result };
    if mods.relu { relu::<H>(result) } else { result }
}

/// A negative number, -0 included, becomes +0; NaN becomes canonical.
#[inline(always)]
pub fn relu<H: Half>(bits: u16) -> u16 {
    if H::is_nan(bits) {
        NAN_F16
    } else if bits & 0x8000 != 0 {
        0
    } else {
        bits
    }
}

/// a + b
#[inline(always)]
pub fn add<H: Half>(a: u16, b: u16, mods: HalfMods) -> u16 {
    let sum = H::widen(H::flush_if(a, mods.ftz)) + H::widen(H::flush_if(b, mods.ftz));
    finish::<H>(H::narrow(sum, Rounding::Nearest), f64::from(sum), mods)
}

/// a - b
#[inline(always)]
pub fn sub<H: Half>(a: u16, b: u16, mods: HalfMods) -> u16 {
    add::<H>(a, b ^ 0x8000, mods)
}

/// a * b
#[inline(always)]
pub fn mul<H: Half>(a: u16, b: u16, mods: HalfMods) -> u16 {
    let (a, b) = (H::widen(H::flush_if(a, mods.ftz)), H::widen(H::flush_if(b, mods.ftz)));
    finish::<H>(H::narrow_product(a, b), f64::from(a) * f64::from(b), mods)
}

/// a * b + c, rounded once.
#[inline(always)]
pub fn fma<H: Half>(a: u16, b: u16, c: u16, mods: HalfMods) -> u16 {
    let wide = |x| H::widen(H::flush_if(x, mods.ftz));
    let (rounded, sum) = H::fma(wide(a), wide(b), wide(c));
    let result = finish::<H>(rounded, sum, mods);
    let is_mark = |bits: u16| bits & 0x7fff == OUT_OF_BOUNDS;
    if mods.oob && (is_mark(a) || is_mark(b)) { 0 } else { result }
}

/// The negated value; NaN becomes canonical.
#[inline(always)]
pub fn neg<H: Half>(a: u16, ftz: bool) -> u16 {
    if H::is_nan(a) { NAN_F16 } else { H::flush_if(a ^ 0x8000, ftz) }
}

/// The magnitude; NaN becomes canonical.
#[inline(always)]
pub fn abs<H: Half>(a: u16, ftz: bool) -> u16 {
    if H::is_nan(a) { NAN_F16 } else { H::flush_if(a & 0x7fff, ftz) }
}

/// The smaller of two numbers; -0 is smaller than +0.
#[inline(always)]
pub fn min<H: Half>(a: u16, b: u16, mods: MinMaxMods) -> u16 {
    select::<H>(a, b, mods, |a, b| a < b)
}

/// The larger of two numbers; +0 is larger than -0.
#[inline(always)]
pub fn max<H: Half>(a: u16, b: u16, mods: MinMaxMods) -> u16 {
    select::<H>(a, b, mods, |a, b| a > b)
}

/// Maps bits to integers in the order of the numbers, with -0 just below +0.
#[inline(always)]
fn order(bits: u16) -> i16 {
    (bits ^ if bits & 0x8000 != 0 { 0x7fff } else { 0 }) as i16
}

#[inline(always)]
fn select<H: Half>(a: u16, b: u16, mods: MinMaxMods, take_first: impl Fn(i16, i16) -> bool) -> u16 {
    let (a, b) = (H::flush_if(a, mods.ftz), H::flush_if(b, mods.ftz));
    let sign = (a ^ b) & 0x8000;
    let (a, b) = if mods.xorsign_abs { (a & 0x7fff, b & 0x7fff) } else { (a, b) };
    let (a_nan, b_nan) = (H::is_nan(a), H::is_nan(b));
    let number = if (take_first(order(a), order(b)) && !a_nan) || b_nan { a } else { b };
    let signed = if mods.xorsign_abs { number | sign } else { number };
    let nan = if mods.nan { a_nan | b_nan } else { a_nan & b_nan };
    if nan { NAN_F16 } else { signed }
}

/// A packed pair of two elements.
#[inline(always)]
pub fn pack(low: u16, high: u16) -> u32 {
    u32::from(low) | u32::from(high) << 16
}

/// The elements of a packed pair, the low one first.
#[inline(always)]
pub fn unpack(pair: u32) -> (u16, u16) {
    (pair as u16, (pair >> 16) as u16)
}

/// Applies a function of one element to both elements of a packed pair. A closure given here is inlined only if it is
/// small; the `_x2` functions always are.
#[inline(always)]
pub fn map1(a: u32, f: impl Fn(u16) -> u16) -> u32 {
    let (a0, a1) = unpack(a);
    pack(f(a0), f(a1))
}

/// Applies a function of two elements to both elements of packed pairs, like [`map1`].
#[inline(always)]
pub fn map2(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    let ((a0, a1), (b0, b1)) = (unpack(a), unpack(b));
    pack(f(a0, b0), f(a1, b1))
}

macro_rules! packed {
    ($($(#[$doc:meta])* $name:ident = $one:ident($($operand:ident),+; $mods:ident: $type:ty);)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<H: Half>($($operand: u32,)+ $mods: $type) -> u32 {
            pack($one::<H>($($operand as u16,)+ $mods), $one::<H>($(($operand >> 16) as u16,)+ $mods))
        }
    )*};
}

packed! {
    /// [`add`] on both elements of packed pairs.
    add_x2 = add(a, b; mods: HalfMods);
    /// [`sub`] on both elements of packed pairs.
    sub_x2 = sub(a, b; mods: HalfMods);
    /// [`mul`] on both elements of packed pairs.
    mul_x2 = mul(a, b; mods: HalfMods);
    /// [`fma`] on both elements of packed pairs.
    fma_x2 = fma(a, b, c; mods: HalfMods);
    /// [`min`] on both elements of packed pairs.
    min_x2 = min(a, b; mods: MinMaxMods);
    /// [`max`] on both elements of packed pairs.
    max_x2 = max(a, b; mods: MinMaxMods);
    /// [`neg`] on both elements of a packed pair.
    neg_x2 = neg(a; ftz: bool);
    /// [`abs`] on both elements of a packed pair.
    abs_x2 = abs(a; ftz: bool);
}
