//! Floating-point arithmetic: exact, then rounded once, then what the modifiers say.

use std::cmp::Ordering;

use warplens_isa::{Extremum, FusedMultiplyAdd, Rounding, ScalarType, TestProperty};

use crate::exact::{self, F64, Format, Number, order};

/// What is done to operands and to the result.
#[derive(Clone, Copy, Default)]
pub(crate) struct Finish {
    pub(crate) rounding: Rounding,
    /// Subnormal operands and results become zeros of their sign.
    pub(crate) ftz: bool,
    /// The result is clamped to [0, 1]; NaN and -0 become +0.
    pub(crate) sat: bool,
    /// A result with a sign becomes +0.
    pub(crate) relu: bool,
}

/// The mark of an element out of bounds, without its sign: `.oob` makes zero of what has such a factor.
const OUT_OF_BOUNDS: u64 = 0x7ff7;

/// An operand as a number.
fn operand(format: Format, bits: u64, ftz: bool) -> Number {
    format.number(if ftz { format.flushed(bits) } else { bits })
}

/// The bits of an exact result.
pub(crate) fn finish(format: Format, number: Number, how: Finish) -> u64 {
    let bits = format.round(number, how.rounding, false);
    let bits = match number {
        Number::Finite(exact) if how.ftz && format.is_tiny(exact, how.rounding) => bits & format.sign(),
        _ => bits,
    };
    let bits = if how.sat { saturated(format, bits) } else { bits };
    if how.relu { rectified(format, bits) } else { bits }
}

/// Clamped to [0, 1]; NaN and -0 become +0.
pub(crate) fn saturated(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) || bits & format.sign() != 0 { 0 } else { bits.min(format.one()) }
}

/// Without negative numbers, -0 among them.
pub(crate) fn rectified(format: Format, bits: u64) -> u64 {
    if format.is_nan(bits) {
        format.nan()
    } else if bits & format.sign() != 0 {
        0
    } else {
        bits
    }
}

/// The result, but where an operand of f64 is NaN that one, the first of them, in its quiet form.
fn or_nan(format: Format, operands: &[u64], result: u64) -> u64 {
    let nan = operands.iter().find(|&&bits| format == F64 && format.is_nan(bits));
    nan.map_or(result, |bits| bits | 1 << 51)
}

/// a + b
pub(crate) fn add(format: Format, values: [u64; 2], how: Finish) -> u64 {
    let [a, b] = values.map(|bits| operand(format, bits, how.ftz));
    or_nan(format, &values, finish(format, exact::sum(a, b, how.rounding), how))
}

/// a - b
pub(crate) fn subtract(format: Format, [a, b]: [u64; 2], how: Finish) -> u64 {
    or_nan(format, &[a, b], add(format, [a, b ^ format.sign()], how))
}

/// a * b
pub(crate) fn multiply(format: Format, values: [u64; 2], how: Finish) -> u64 {
    let [a, b] = values.map(|bits| operand(format, bits, how.ftz));
    or_nan(format, &values, finish(format, exact::product(a, b), how))
}

/// a * b + c
pub(crate) fn fused(format: Format, values: [u64; 3], fma: &FusedMultiplyAdd) -> u64 {
    let how = Finish { rounding: fma.rounding, ftz: fma.ftz, sat: fma.sat, relu: fma.relu };
    if fma.oob && values[..2].iter().any(|value| value & 0x7fff == OUT_OF_BOUNDS) {
        return 0;
    }
    let [a, b, c] = values.map(|bits| operand(format, bits, how.ftz));
    let sum = finish(format, exact::sum(exact::product(a, b), c, how.rounding), how);
    or_nan(format, &[values[0], values[2], values[1]], sum)
}

/// a * b + c of operands in formats of their own.
pub(crate) fn fused_mixed(format: Format, values: [(Format, u64); 3], rounding: Rounding) -> u64 {
    let [a, b, c] = values.map(|(format, bits)| format.number(bits));
    let how = Finish { rounding, ..Finish::default() };
    finish(format, exact::sum(exact::product(a, b), c, rounding), how)
}

/// a / b
pub(crate) fn divide(format: Format, values: [u64; 2], how: Finish) -> u64 {
    let [a, b] = values.map(|bits| operand(format, bits, how.ftz));
    or_nan(format, &values, finish(format, exact::quotient(a, b), how))
}

/// The square root.
pub(crate) fn root(format: Format, a: u64, how: Finish) -> u64 {
    or_nan(format, &[a], finish(format, exact::root(operand(format, a, how.ftz)), how))
}

/// A value with another sign, or the same; NaN becomes the one that arithmetic makes.
pub(crate) fn signed(format: Format, value: u64, sign: u64, ftz: bool) -> u64 {
    if format.is_nan(value) {
        return or_nan(format, &[value], format.nan());
    }
    let bits = value & !format.sign() | sign;
    if ftz { format.flushed(bits) } else { bits }
}

/// The extremum of two values; -0 is below +0. NaN loses against numbers, unless the instruction says otherwise.
pub(crate) fn extremum(format: Format, values: [u64; 2], wanted: Ordering, how: &Extremum) -> u64 {
    let [a, b] = values.map(|bits| if how.ftz { format.flushed(bits) } else { bits });
    let sign = (a ^ b) & format.sign();
    let strip = |bits: u64| if how.xorsign_abs { bits & (format.sign() - 1) } else { bits };
    let (a, b) = (strip(a), strip(b));
    let chosen = match (format.is_nan(a), format.is_nan(b)) {
        (true, true) => return or_nan(format, &[a, b], format.nan()),
        (true, false) | (false, true) if how.nan => return format.nan(),
        (true, false) => b,
        (false, true) => a,
        (false, false) => match order(format.number(a), format.number(b)) {
            Some(Ordering::Equal) | None => {
                // Zeros of different signs, or the same number twice.
                let negative = if a & format.sign() != 0 { a } else { b };
                let positive = if a & format.sign() != 0 { b } else { a };
                if wanted == Ordering::Less { negative } else { positive }
            }
            Some(order) if order == wanted => a,
            Some(_) => b,
        },
    };
    if how.xorsign_abs { chosen | sign } else { chosen }
}

/// `testp`: zeros count as normal numbers.
pub(crate) fn has(format: Format, bits: u64, property: TestProperty) -> bool {
    let is_subnormal = format.flushed(bits) != bits;
    match (format.number(bits), property) {
        (number, TestProperty::NotANumber) => number == Number::Nan,
        (number, TestProperty::Number) => number != Number::Nan,
        (number, TestProperty::Infinite) => matches!(number, Number::Infinite { .. }),
        (number, TestProperty::Finite) => matches!(number, Number::Finite(_)),
        (number, TestProperty::Normal) => matches!(number, Number::Finite(_)) && !is_subnormal,
        (_, TestProperty::Subnormal) => is_subnormal,
    }
}

/// The type that a packed or scalar float type has its arithmetic in, with the number of elements.
pub(crate) fn arithmetic(ty: ScalarType) -> Option<(Format, u32)> {
    match crate::value::element(ty) {
        Some(element) => Format::of(element).map(|format| (format, 2)),
        None => Format::of(ty).map(|format| (format, 1)),
    }
}

/// Applies a function to each element of packed values.
pub(crate) fn by_element<const N: usize>(
    (format, n): (Format, u32),
    values: [u128; N],
    function: impl Fn([u64; N]) -> u64,
) -> u128 {
    let bits = format.bits();
    (0..n).fold(0, |packed, at| {
        let elements = values.map(|value| (value >> (bits * at) & crate::value::ones(bits)) as u64);
        packed | u128::from(function(elements)) << (bits * at)
    })
}
