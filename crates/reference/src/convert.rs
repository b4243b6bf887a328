//! Conversions between types.

use warplens_isa::{Conversion, PackedWidth, Rounding, ScalarType};

use crate::exact::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, Exact, F16, F32, F64, Format, Number, TF32, integral};
use crate::float::{rectified, saturated};
use crate::value::{NO_SUCH_FORM, NoMeaning, Results, Sources, clamped, low, number, one, ones, range};

type Answer = Result<Results, NoMeaning>;

pub(crate) fn cvt(s: &Sources<'_>, how: &Conversion) -> Answer {
    let (to, from) = (s.inst.ty, s.inst.source_ty);
    match s.len() {
        2 => return pair(s, how),
        3 => return random_pair(s, how),
        _ => {}
    }
    match (to.is_integer(), from.is_integer()) {
        (true, true) => {
            let value = s.integer(0, from)?;
            in_register(if how.sat { clamped(value, to) } else { value }, to)
        }
        (true, false) => to_integer(s, how),
        (false, true) => {
            let format = Format::of(to).ok_or(NO_SUCH_FORM)?;
            let number = Number::Finite(Exact::integer(s.integer(0, from)?));
            let bits = format.round(number, how.rounding, false);
            one(if how.sat { saturated(format, bits) } else { bits }.into(), to)
        }
        (false, false) => between_floats(s, how),
    }
}

/// A signed number that is narrower than a word fills it with its sign.
fn in_register(value: i128, ty: ScalarType) -> Answer {
    match ty {
        ScalarType::S8 | ScalarType::S16 => {
            number(crate::value::signed(low(value, ty.bits()), ty.bits()), ScalarType::S32)
        }
        ty => number(value, ty),
    }
}

/// The nearest integer in the range, whether `.sat` is given or not. NaN becomes 0; of f64, or in 64 bits, the top bit
/// alone.
fn to_integer(s: &Sources<'_>, how: &Conversion) -> Answer {
    let (to, from) = (s.inst.ty, s.inst.source_ty);
    let format = Format::of(from).ok_or(NO_SUCH_FORM)?;
    let bits = s.word(0, from)?;
    let bits = if how.ftz && from == ScalarType::F32 { format.flushed(bits) } else { bits };
    let (least, most) = range(to);
    let value = match integral(format.number(bits), how.rounding) {
        Number::Nan if from == ScalarType::F64 || to.bits() == 64 => 1 << (to.bits() - 1),
        Number::Nan => 0,
        Number::Infinite { negative: true } => least,
        Number::Infinite { negative: false } => most,
        Number::Finite(exact) => {
            let is_huge = !exact.is_zero() && exact.exponent + 128 - exact.significand.leading_zeros() as i32 > 100;
            let magnitude = if is_huge { 1 << 100 } else { exact.rounded_to(0, Rounding::Zero) as i128 };
            (if exact.negative { -magnitude } else { magnitude }).clamp(least, most)
        }
    };
    in_register(value, to)
}

/// The format of one element of a pair that exists only packed.
fn packed(ty: ScalarType) -> Option<Format> {
    match ty {
        ScalarType::E4m3x2 => Some(E4M3),
        ScalarType::E5m2x2 => Some(E5M2),
        ScalarType::E3m2x2 => Some(E3M2),
        ScalarType::E2m3x2 => Some(E2M3),
        ScalarType::E2m1x2 => Some(E2M1),
        _ => None,
    }
}

/// That of one element of a pair of halves.
fn halves(ty: ScalarType) -> Option<Format> {
    match ty {
        ScalarType::F16x2 => Some(F16),
        ScalarType::Bf16x2 => Some(BF16),
        _ => None,
    }
}

/// Elements of six bits have a byte each, those of four share one.
fn stride(format: Format) -> u32 {
    if format == E2M1 { 4 } else { 8 }
}

fn between_floats(s: &Sources<'_>, how: &Conversion) -> Answer {
    let (to, from) = (s.inst.ty, s.inst.source_ty);
    match (to, from) {
        (ScalarType::Bf16x2, ScalarType::Ue8m0x2) => {
            let pair = s.word(0, from)?;
            let element = |byte: u64| match byte & 0xff {
                0xff => BF16.nan(),
                0 => 0x40,
                exponent => exponent << 7,
            };
            one((element(pair) | element(pair >> 8) << 16).into(), to)
        }
        (ScalarType::Ue8m0x2, ScalarType::Bf16x2) => {
            let pair = s.word(0, from)?;
            let element = |bits: u64| power(BF16.number(bits & 0xffff), how);
            one((element(pair) | element(pair >> 16) << 8).into(), to)
        }
        (ScalarType::Tf32, ScalarType::F32) => {
            let bits = s.word(0, from)?;
            let rounded = TF32.round(F32.number(bits), how.rounding, how.satfinite);
            let bits = if F32.is_nan(bits) { F32.nan() } else { rounded << 13 };
            one(if how.relu { rectified(F32, bits) } else { bits }.into(), to)
        }
        _ => match (halves(to), halves(from), packed(to), packed(from)) {
            (Some(wide), _, _, Some(narrow)) => {
                let pair = s.word(0, from)?;
                let element = |bits: u64| {
                    let number = narrow.number(bits & ones(narrow.bits()) as u64);
                    let bits = wide.round(number, Rounding::Nearest, false);
                    if how.relu { rectified(wide, bits) } else { bits }
                };
                one((element(pair) | element(pair >> stride(narrow)) << 16).into(), to)
            }
            (_, Some(wide), Some(narrow), _) => {
                let pair = s.word(0, from)?;
                let element = |bits: u64| to_packed(wide, bits & 0xffff, narrow, how);
                one((element(pair) | element(pair >> 16) << stride(narrow)).into(), to)
            }
            _ => scalar(s, how),
        },
    }
}

/// A number in a packed format: to nearest, clamped to the finite range.
fn to_packed(from: Format, bits: u64, to: Format, how: &Conversion) -> u64 {
    let is_negative = bits & from.sign() != 0 && !from.is_nan(bits);
    let bits = if how.relu && is_negative { 0 } else { bits };
    to.round(from.number(bits), Rounding::Nearest, true)
}

/// The exponent byte of a power of two: rounded down, up, or to nearest with ties up. NaN and what is beyond are 255.
fn power(number: Number, how: &Conversion) -> u64 {
    let exact = match number {
        Number::Nan => return 0xff,
        Number::Infinite { .. } => return if how.satfinite { 0xfe } else { 0xff },
        Number::Finite(exact) if exact.is_zero() => return 0,
        Number::Finite(exact) => exact,
    };
    let top = exact.exponent + 127 - exact.significand.leading_zeros() as i32;
    // A multiple of half the leading power says all: 2 is the power, 3 the middle to the next.
    let halves = exact.rounded_to(top - 1, Rounding::Zero);
    let is_power = exact.significand.is_power_of_two();
    let up = match how.rounding {
        Rounding::Zero | Rounding::Down => false,
        Rounding::Up => !is_power,
        Rounding::Nearest | Rounding::NearestAway => halves >= 3,
    };
    match top + i32::from(up) + 127 {
        ..0 => 0,
        byte @ 0..0xff => byte as u64,
        _ if how.satfinite => 0xfe,
        _ => 0xff,
    }
}

fn scalar(s: &Sources<'_>, how: &Conversion) -> Answer {
    let (to, from) = (s.inst.ty, s.inst.source_ty);
    let (target, source) = (Format::of(to).ok_or(NO_SUCH_FORM)?, Format::of(from).ok_or(NO_SUCH_FORM)?);
    one(scalar_bits(s.word(0, from)?, (source, target), how).into(), to)
}

fn scalar_bits(bits: u64, (source, target): (Format, Format), how: &Conversion) -> u64 {
    let is_widening = source.bits() < target.bits();
    // `.ftz` concerns the side that is f32.
    let bits = if how.ftz && source == F32 { source.flushed(bits) } else { bits };
    let number = source.number(bits);
    let result = if source == target {
        same_format(bits, source, how)
    } else if target == F64 && number == Number::Nan {
        nan_of_f64(bits, source)
    } else if (source, target, number) == (F64, F32, Number::Nan) {
        // As much of it as there is room for.
        bits >> 32 & F32.sign() | 0x7fc0_0000 | bits >> 29 & 0x007f_ffff
    } else {
        target.round(number, how.rounding, how.satfinite)
    };
    let result = match number {
        _ if !how.ftz || target != F32 || source == F32 => result,
        _ if is_widening => target.flushed(result),
        Number::Finite(exact) if target.is_tiny(exact, how.rounding) => result & target.sign(),
        _ => result,
    };
    let result = if how.sat { saturated(target, result) } else { result };
    let is_half = target.bits() == 16;
    if how.relu && is_half && source != target { rectified(target, result) } else { result }
}

/// f64 keeps what NaN it is given, in a quiet form; halves give it theirs.
fn nan_of_f64(bits: u64, source: Format) -> u64 {
    let bits = if source == F32 { bits } else { F32.nan() };
    (bits & F32.sign()) << 32 | 0x7ff8_0000_0000_0000 | (bits & 0x007f_ffff) << 29
}

fn same_format(bits: u64, format: Format, how: &Conversion) -> u64 {
    let number = format.number(bits);
    match number {
        Number::Nan if format == F64 => bits | if how.integral { 1 << 51 } else { 0 },
        _ if !how.integral => format.round(number, Rounding::Nearest, false),
        number => format.round(integral(number, how.rounding), Rounding::Nearest, false),
    }
}

/// Two scalars to a pair: the first source is the upper element.
fn pair(s: &Sources<'_>, how: &Conversion) -> Answer {
    let (to, from) = (s.inst.ty, s.inst.source_ty);
    if from != ScalarType::F32 {
        return Err(NO_SUCH_FORM);
    }
    let (high, low) = (s.word(0, from)?, s.word(1, from)?);
    if let Some(format) = halves(to) {
        let element = |bits: u64| scalar_bits(bits, (F32, format), how);
        return one((element(high) << 16 | element(low)).into(), to);
    }
    if to == ScalarType::Ue8m0x2 {
        let element = |bits: u64| power(F32.number(bits), how);
        return one((element(high) << 8 | element(low)).into(), to);
    }
    let format = packed(to).ok_or(NO_SUCH_FORM)?;
    let element = |bits: u64| to_packed(F32, bits, format, how);
    one((element(high) << stride(format) | element(low)).into(), to)
}

/// Two scalars to a pair, rounded by random bits: of halves those of the upper half are for the first source, the elements of
/// narrower formats share the lower half.
fn random_pair(s: &Sources<'_>, how: &Conversion) -> Answer {
    let (to, from) = (s.inst.ty, s.inst.source_ty);
    if from != ScalarType::F32 {
        return Err(NO_SUCH_FORM);
    }
    let random = s.word(2, ScalarType::B32)?;
    let (high, low) = (s.word(0, from)?, s.word(1, from)?);
    let cut = |bits: u64, format: Format, random: u64| match F32.number(bits) {
        Number::Finite(exact) if !exact.is_zero() => Number::Finite(randomly_rounded(exact, format, random)),
        number => number,
    };
    if let Some(format) = halves(to) {
        let element = |bits: u64, random: u64| {
            let bits = format.round(cut(bits, format, random), Rounding::Nearest, how.satfinite);
            if how.relu { rectified(format, bits) } else { bits }
        };
        return one((element(high, random >> 16) << 16 | element(low, random)).into(), to);
    }
    let format = packed(to).ok_or(NO_SUCH_FORM)?;
    let element = |bits: u64| {
        let is_negative = bits & F32.sign() != 0 && !F32.is_nan(bits);
        let bits = if how.relu && is_negative { 0 } else { bits };
        format.round(cut(bits, format, random), Rounding::Nearest, true)
    };
    one((element(high) << stride(format) | element(low)).into(), to)
}

/// What is left of a number that is cut off at the last place of a format after random bits were added behind it: of f16
/// thirteen, of others sixteen.
fn randomly_rounded(exact: Exact, format: Format, random: u64) -> Exact {
    let n_random = if format == F16 { 13 } else { 16 };
    let (fraction, least) = format.places();
    let top = exact.exponent + 127 - exact.significand.leading_zeros() as i32;
    let last = (top - fraction).max(least);
    let sum = exact.rounded_to(last - n_random, Rounding::Zero) + u128::from(random & ((1 << n_random) - 1));
    Exact { significand: sum >> n_random, exponent: last, ..exact }
}

/// Two integers clamped to a narrow type, above them the low bits of the third.
pub(crate) fn cvt_pack(s: &Sources<'_>, width: PackedWidth) -> Answer {
    let (to, from) = (s.inst.ty, s.inst.source_ty);
    let is_byte = matches!(to, ScalarType::S8 | ScalarType::U8);
    let bits = match width {
        PackedWidth::OfType if is_byte || matches!(to, ScalarType::S16 | ScalarType::U16) => to.bits(),
        PackedWidth::Four if is_byte && from == ScalarType::S32 => 4,
        PackedWidth::Two if is_byte && from == ScalarType::S32 => 2,
        _ => return Err(NO_SUCH_FORM),
    };
    let (least, most) = match to.is_signed() {
        true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        false => (0, (1 << bits) - 1),
    };
    let element = |index: usize| Ok::<_, NoMeaning>(low(s.integer(index, from)?.clamp(least, most), bits));
    let above = if s.len() > 2 { s.bits(2, ScalarType::U32)? } else { 0 };
    one(above << (2 * bits) | element(0)? << bits | element(1)?, ScalarType::B32)
}
