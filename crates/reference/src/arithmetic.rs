//! Sums, products, quotients, extrema and their relatives.

use std::cmp::Ordering;

use warplens_exec::semantics::{float64, math};
use warplens_isa::{
    Accuracy, Carry, Dp2aHalf, Extremum, FusedMultiplyAdd, HighMultiplyAdd, MixedTypes, Precision, Product, ScalarType,
    Sum,
};

use crate::exact::{F32, F64, Format};
use crate::float::{self, Finish, arithmetic, by_element};
use crate::value::{
    NO_SUCH_FORM, NoMeaning, Results, Sources, clamped, element, integer, low, number, one, ones, signed,
};

type Answer = Result<Results, NoMeaning>;

/// Several integers in a word.
fn is_packed_integer(ty: ScalarType) -> bool {
    element(ty).is_some_and(ScalarType::is_integer)
}

/// Applies a function to the integers of packed groups, one by one.
fn integer_group(ty: ScalarType, a: u128, b: u128, function: impl Fn(i128, i128) -> i128) -> Answer {
    let element = element(ty).ok_or(NO_SUCH_FORM)?;
    let bits = element.bits();
    let part = |word: u128, at: u32| integer(word >> at & ones(bits), element);
    let results = (0..ty.bits()).step_by(bits as usize).map(|at| low(function(part(a, at), part(b, at)), bits) << at);
    one(results.sum(), ty)
}

/// An extended-precision integer result with its carry: `value` is what comes out without a limit of bits.
fn with_carry(s: &Sources<'_>, carry: Carry, at: usize, idle: bool, value: impl Fn(u128) -> (i128, bool)) -> Answer {
    let carry_in = u128::from(if carry.reads && at < s.len() { s.truth(at)? } else { idle });
    let (value, carry_out) = value(carry_in);
    let mut results = number(value, s.ty())?;
    if carry.writes {
        results.push((u128::from(carry_out), ScalarType::Pred));
    }
    Ok(results)
}

pub(crate) fn add(s: &Sources<'_>, sum: &Sum) -> Answer {
    add_or_subtract(s, sum, false)
}

pub(crate) fn sub(s: &Sources<'_>, sum: &Sum) -> Answer {
    add_or_subtract(s, sum, true)
}

fn add_or_subtract(s: &Sources<'_>, sum: &Sum, subtracts: bool) -> Answer {
    let ty = s.ty();
    let combine = |a: i128, b: i128| if subtracts { a - b } else { a + b };
    if ty.is_integer() {
        if sum.carry.is_used() {
            // The carry is that of the unsigned numbers. A subtraction adds the complement, and one where nothing is
            // carried in: a borrow clears the carry.
            let (a, b) = (s.bits(0, ty)? as i128, s.bits(1, ty)? as i128);
            let b = if subtracts { (1 << ty.bits()) - 1 - b } else { b };
            return with_carry(s, sum.carry, 2, subtracts, |carry| {
                let value = a + b + carry as i128;
                (value, value >> ty.bits() != 0)
            });
        }
        let value = combine(s.integer(0, ty)?, s.integer(1, ty)?);
        return number(if sum.sat { clamped(value, ty) } else { value }, ty);
    }
    if is_packed_integer(ty) {
        let element = element(ty).ok_or(NO_SUCH_FORM)?;
        return integer_group(ty, s.bits(0, ty)?, s.bits(1, ty)?, |a, b| {
            if sum.sat { clamped(combine(a, b), element) } else { combine(a, b) }
        });
    }
    let how = Finish { rounding: sum.rounding, ftz: sum.ftz, sat: sum.sat, relu: false };
    let formats = arithmetic(ty).ok_or(NO_SUCH_FORM)?;
    let a = widened(s, 0, 1)?;
    let b = s.bits(1, ty)?;
    let function = if subtracts { float::subtract } else { float::add };
    one(by_element(formats, [a, b], |values| function(formats.0, values, how)), ty)
}

/// A source of f32 arithmetic, of which the first `n_narrow` may be halves.
fn widened(s: &Sources<'_>, index: usize, n_narrow: usize) -> Result<u128, NoMeaning> {
    let (ty, narrow) = (s.inst.ty, s.inst.source_ty);
    if index >= n_narrow || narrow == ty {
        return s.bits(index, ty);
    }
    let (from, to) = (Format::of(narrow).ok_or(NO_SUCH_FORM)?, Format::of(ty).ok_or(NO_SUCH_FORM)?);
    Ok(to.round(from.number(s.word(index, narrow)?), warplens_isa::Rounding::Nearest, false).into())
}

pub(crate) fn mul(s: &Sources<'_>, product: &Product) -> Answer {
    let ty = s.ty();
    if ty.is_integer() {
        return number(s.integer(0, ty)?.wrapping_mul(s.integer(1, ty)?), ty);
    }
    let how = Finish { rounding: product.rounding, ftz: product.ftz, sat: product.sat, relu: false };
    let formats = arithmetic(ty).ok_or(NO_SUCH_FORM)?;
    let values = [s.bits(0, ty)?, s.bits(1, ty)?];
    one(by_element(formats, values, |values| float::multiply(formats.0, values, how)), ty)
}

/// The whole product of two integers, in 128 bits.
fn product(s: &Sources<'_>) -> Result<(u128, i128), NoMeaning> {
    let ty = s.ty();
    if !ty.is_integer() {
        return Err(NO_SUCH_FORM);
    }
    // Of 64 unsigned bits the product fills 128, which is one more than a signed number has.
    let bits = if ty.is_signed() {
        (s.integer(0, ty)? * s.integer(1, ty)?) as u128
    } else {
        s.bits(0, ty)? * s.bits(1, ty)?
    };
    let high = bits >> ty.bits();
    Ok((bits, if ty.is_signed() { bits as i128 >> ty.bits() } else { high as i128 }))
}

pub(crate) fn mul_hi(s: &Sources<'_>) -> Answer {
    number(product(s)?.1, s.ty())
}

/// The type of twice the width.
fn twice(ty: ScalarType) -> Result<ScalarType, NoMeaning> {
    match ty {
        ScalarType::U16 => Ok(ScalarType::U32),
        ScalarType::S16 => Ok(ScalarType::S32),
        ScalarType::U32 => Ok(ScalarType::U64),
        ScalarType::S32 => Ok(ScalarType::S64),
        _ => Err(NO_SUCH_FORM),
    }
}

pub(crate) fn mul_wide(s: &Sources<'_>) -> Answer {
    one(product(s)?.0, twice(s.ty())?)
}

pub(crate) fn mad(s: &Sources<'_>, carry: &Carry) -> Answer {
    let ty = s.ty();
    let low_half = product(s)?.0 & ones(ty.bits());
    plus(s, low_half as i128, *carry, false)
}

/// Adds the third source to a part of a product.
fn plus(s: &Sources<'_>, part: i128, carry: Carry, sat: bool) -> Answer {
    let ty = s.ty();
    if carry.is_used() {
        let (a, c) = (low(part, ty.bits()), s.bits(2, ty)?);
        return with_carry(s, carry, 3, false, |carry| {
            let value = a + c + carry;
            (value as i128, value >> ty.bits() != 0)
        });
    }
    let value = part + s.integer(2, ty)?;
    number(if sat { clamped(value, ty) } else { value }, ty)
}

pub(crate) fn mad_hi(s: &Sources<'_>, high: &HighMultiplyAdd) -> Answer {
    plus(s, product(s)?.1, high.carry, high.saturation.sat)
}

pub(crate) fn mad_wide(s: &Sources<'_>) -> Answer {
    let wide = twice(s.ty())?;
    one(product(s)?.0.wrapping_add(s.bits(2, wide)?), wide)
}

/// The 48-bit product of the low 24 bits.
fn product24(s: &Sources<'_>) -> Result<i128, NoMeaning> {
    let ty = s.ty();
    if !ty.is_integer() || ty.bits() != 32 {
        return Err(NO_SUCH_FORM);
    }
    let factor = |bits: u128| if ty.is_signed() { signed(bits, 24) } else { (bits & ones(24)) as i128 };
    Ok(factor(s.bits(0, ty)?) * factor(s.bits(1, ty)?))
}

pub(crate) fn mul24(s: &Sources<'_>) -> Answer {
    number(product24(s)?, s.ty())
}

pub(crate) fn mul24_hi(s: &Sources<'_>) -> Answer {
    number(product24(s)? >> 16, s.ty())
}

pub(crate) fn mad24(s: &Sources<'_>) -> Answer {
    number(product24(s)? + s.integer(2, s.ty())?, s.ty())
}

pub(crate) fn mad24_hi(s: &Sources<'_>, sat: bool) -> Answer {
    let ty = s.ty();
    let value = integer(low(product24(s)? >> 16, 32), ty) + s.integer(2, ty)?;
    number(if sat { clamped(value, ty) } else { value }, ty)
}

pub(crate) fn fma(s: &Sources<'_>, how: &FusedMultiplyAdd) -> Answer {
    let ty = s.ty();
    let formats = arithmetic(ty).ok_or(NO_SUCH_FORM)?;
    let values = [widened(s, 0, 2)?, widened(s, 1, 2)?, s.bits(2, ty)?];
    one(by_element(formats, values, |values| float::fused(formats.0, values, how)), ty)
}

pub(crate) fn fma_mixed(s: &Sources<'_>, types: &MixedTypes) -> Answer {
    let ty = s.ty();
    if !matches!(ty, ScalarType::F32 | ScalarType::F64) || s.len() != 3 {
        return Err(NO_SUCH_FORM);
    }
    let value = |index: usize, of: ScalarType| -> Result<(Format, u64), NoMeaning> {
        let format = Format::of(of).filter(|format| format.bits() <= ty.bits()).ok_or(NO_SUCH_FORM)?;
        Ok((format, s.word(index, of)?))
    };
    let values = [value(0, types.a)?, value(1, types.b)?, value(2, types.c)?];
    let format = Format::of(ty).ok_or(NO_SUCH_FORM)?;
    one(float::fused_mixed(format, values, types.rounding).into(), ty)
}

pub(crate) fn sad(s: &Sources<'_>) -> Answer {
    let ty = s.ty();
    if !ty.is_integer() {
        return Err(NO_SUCH_FORM);
    }
    number((s.integer(0, ty)? - s.integer(1, ty)?).abs() + s.integer(2, ty)?, ty)
}

pub(crate) fn div(s: &Sources<'_>, accuracy: &Accuracy) -> Answer {
    let ty = s.ty();
    if ty.is_integer() {
        // The manual leaves a division by zero open; ptxas makes all ones of it.
        let (a, b) = (s.integer(0, ty)?, s.integer(1, ty)?);
        return number(if b == 0 { -1 } else { a / b }, ty);
    }
    let how = Finish { rounding: accuracy.rounding, ftz: accuracy.ftz, ..Finish::default() };
    let (a, b) = (s.word(0, ty)?, s.word(1, ty)?);
    let (x, y) = (f32::from_bits(a as u32), f32::from_bits(b as u32));
    let bits = match (ty, accuracy.precision) {
        (ScalarType::F32, Precision::Approx) => math::div(x, y, accuracy.ftz).to_bits().into(),
        (ScalarType::F32, Precision::Full) => math::div_full(x, y, accuracy.ftz).to_bits().into(),
        (ScalarType::F32, Precision::Ieee) => float::divide(F32, [a, b], how),
        (ScalarType::F64, _) => float::divide(F64, [a, b], Finish { ftz: false, ..how }),
        _ => return Err(NO_SUCH_FORM),
    };
    one(bits.into(), ty)
}

pub(crate) fn rem(s: &Sources<'_>) -> Answer {
    let ty = s.ty();
    if !ty.is_integer() {
        return Err(NO_SUCH_FORM);
    }
    let (a, b) = (s.integer(0, ty)?, s.integer(1, ty)?);
    number(if b == 0 { -1 } else { a % b }, ty)
}

pub(crate) fn abs(s: &Sources<'_>, ftz: bool) -> Answer {
    let ty = s.ty();
    if ty.is_integer() {
        return number(s.integer(0, ty)?.abs(), ty);
    }
    let formats = arithmetic(ty).filter(|_| ty != ScalarType::F32x2).ok_or(NO_SUCH_FORM)?;
    let ftz = ftz && ty != ScalarType::F64;
    let magnitude = |[a]: [u64; 1]| float::signed(formats.0, a, 0, ftz);
    one(by_element(formats, [s.bits(0, ty)?], magnitude), ty)
}

pub(crate) fn neg(s: &Sources<'_>, ftz: bool) -> Answer {
    let ty = s.ty();
    if ty.is_integer() {
        return number(-s.integer(0, ty)?, ty);
    }
    if is_packed_integer(ty) {
        return integer_group(ty, s.bits(0, ty)?, 0, |a, _| -a);
    }
    let formats = arithmetic(ty).filter(|_| ty != ScalarType::F32x2).ok_or(NO_SUCH_FORM)?;
    let ftz = ftz && ty != ScalarType::F64;
    let negated = |[a]: [u64; 1]| float::signed(formats.0, a, !a & formats.0.sign(), ftz);
    one(by_element(formats, [s.bits(0, ty)?], negated), ty)
}

/// The extremum of two or three values.
pub(crate) fn extremum(s: &Sources<'_>, how: &Extremum, wanted: Ordering) -> Answer {
    let ty = s.ty();
    let best = |a: i128, b: i128| if a.cmp(&b) == wanted { a } else { b };
    let rectified = |value: i128| if how.relu { value.max(0) } else { value };
    if ty.is_integer() {
        return number(rectified(best(s.integer(0, ty)?, s.integer(1, ty)?)), ty);
    }
    if is_packed_integer(ty) {
        let (a, b) = (s.bits(0, ty)?, s.bits(1, ty)?);
        return integer_group(ty, a, b, |a, b| rectified(best(a, b)));
    }
    let formats = arithmetic(ty).filter(|_| ty != ScalarType::F32x2).ok_or(NO_SUCH_FORM)?;
    // f64 knows no modifier, and `.abs` of three operands none of the signs.
    let how = if ty == ScalarType::F64 { Extremum::default() } else { *how };
    if ty == ScalarType::F32 && s.len() == 3 {
        let strip = |bits: u64| if how.xorsign_abs { bits & (F32.sign() - 1) } else { bits };
        let [a, b, c] = [strip(s.word(0, ty)?), strip(s.word(1, ty)?), strip(s.word(2, ty)?)];
        let how = Extremum { xorsign_abs: false, ..how };
        let first = float::extremum(F32, [a, b], wanted, &how);
        return one(float::extremum(F32, [first, c], wanted, &how).into(), ty);
    }
    let values = [s.bits(0, ty)?, s.bits(1, ty)?];
    one(by_element(formats, values, |values| float::extremum(formats.0, values, wanted, &how)), ty)
}

/// A word, from a bit on, of the product of two polynomials over two elements, plus a third: a coefficient is odd where an odd
/// number of pairs of ones meet.
pub(crate) fn polynomial(s: &Sources<'_>, first: u32) -> Answer {
    let ty = ScalarType::U64;
    let [a, b, c] = [s.bits(0, ty)?, s.bits(1, ty)?, s.bits(2, ty)?];
    let bit = |word: u128, at: u32| word >> at & 1;
    let coefficient = |power: u32| {
        let pairs = (0..64)
            .filter(|&of_a| power.checked_sub(of_a).is_some_and(|of_b| of_b < 64 && bit(a, of_a) * bit(b, of_b) == 1));
        (pairs.count() as u128 + bit(c, power - first)) % 2
    };
    one((0..64).map(|at| coefficient(first + at) << at).sum(), ty)
}

pub(crate) fn copysign(s: &Sources<'_>) -> Answer {
    let ty = s.ty();
    if !matches!(ty, ScalarType::F32 | ScalarType::F64) {
        return Err(NO_SUCH_FORM);
    }
    let sign = 1 << (ty.bits() - 1);
    one(s.bits(0, ty)? & sign | s.bits(1, ty)? & (sign - 1), ty)
}

pub(crate) fn testp(s: &Sources<'_>, property: warplens_isa::TestProperty) -> Answer {
    let ty = s.ty();
    let format = Format::of(ty).filter(|_| matches!(ty, ScalarType::F32 | ScalarType::F64)).ok_or(NO_SUCH_FORM)?;
    one(float::has(format, s.word(0, ty)?, property).into(), ScalarType::Pred)
}

pub(crate) fn rcp(s: &Sources<'_>, accuracy: &Accuracy) -> Answer {
    let ty = s.ty();
    let how = Finish { rounding: accuracy.rounding, ftz: accuracy.ftz, ..Finish::default() };
    let a = s.word(0, ty)?;
    let bits = match (ty, accuracy.precision) {
        (ScalarType::F32, Precision::Ieee) => float::divide(F32, [F32.one(), a], how),
        (ScalarType::F32, _) => math::rcp(f32::from_bits(a as u32), accuracy.ftz).to_bits().into(),
        (ScalarType::F64, Precision::Ieee) => float::divide(F64, [F64.one(), a], Finish { ftz: false, ..how }),
        (ScalarType::F64, _) => float64::rcp_approx(f64::from_bits(a)).to_bits(),
        _ => return Err(NO_SUCH_FORM),
    };
    one(bits.into(), ty)
}

pub(crate) fn sqrt(s: &Sources<'_>, accuracy: &Accuracy) -> Answer {
    let ty = s.ty();
    let how = Finish { rounding: accuracy.rounding, ftz: accuracy.ftz, ..Finish::default() };
    let a = s.word(0, ty)?;
    let bits = match (ty, accuracy.precision) {
        (ScalarType::F32, Precision::Ieee) => float::root(F32, a, how),
        (ScalarType::F32, _) => math::sqrt(f32::from_bits(a as u32), accuracy.ftz).to_bits().into(),
        (ScalarType::F64, _) => float::root(F64, a, Finish { ftz: false, ..how }),
        _ => return Err(NO_SUCH_FORM),
    };
    one(bits.into(), ty)
}

/// Four products of bytes, and the third source.
pub(crate) fn dp4a(s: &Sources<'_>) -> Answer {
    let byte = |bits: u128, at: u32, ty: ScalarType| part(bits, 8 * at, 8, ty);
    let (a, b) = (s.bits(0, ScalarType::B32)?, s.bits(1, ScalarType::B32)?);
    let sum: i128 = (0..4).map(|at| byte(a, at, s.inst.ty) * byte(b, at, s.inst.source_ty)).sum();
    number(sum + s.bits(2, ScalarType::B32)? as i128, ScalarType::U32)
}

/// Two products of a half and a byte, and the third source.
pub(crate) fn dp2a(s: &Sources<'_>, half: Dp2aHalf) -> Answer {
    let (a, b) = (s.bits(0, ScalarType::B32)?, s.bits(1, ScalarType::B32)?);
    let first = match half {
        Dp2aHalf::Low => 0,
        Dp2aHalf::High => 16,
    };
    let term = |at: u32| part(a, 16 * at, 16, s.inst.ty) * part(b, first + 8 * at, 8, s.inst.source_ty);
    number(term(0) + term(1) + s.bits(2, ScalarType::B32)? as i128, ScalarType::U32)
}

/// Bits of a word as an integer with the sign of a type.
fn part(bits: u128, at: u32, width: u32, ty: ScalarType) -> i128 {
    let field = bits >> at & ones(width);
    if ty.is_signed() { signed(field, width) } else { field as i128 }
}
