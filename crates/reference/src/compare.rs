//! Comparisons and selections.

use std::cmp::Ordering;

use warplens_isa::{CompareOp, Comparison, ScalarType};

use crate::bits::combined;
use crate::exact::{F32, Format, order};
use crate::value::{NO_SUCH_FORM, NoMeaning, Results, Sources, element, integer, one};

type Answer = Result<Results, NoMeaning>;

/// Whether a comparison holds between values in this order; none of two of which one is NaN.
fn holds(op: CompareOp, order: Option<Ordering>) -> bool {
    let Some(order) = order else {
        return match op {
            CompareOp::Equ | CompareOp::Neu | CompareOp::Ltu | CompareOp::Leu | CompareOp::Gtu | CompareOp::Geu => true,
            CompareOp::Nan => true,
            CompareOp::Eq | CompareOp::Ne | CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => false,
            CompareOp::Lo | CompareOp::Ls | CompareOp::Hi | CompareOp::Hs | CompareOp::Num => false,
        };
    };
    match op {
        CompareOp::Eq | CompareOp::Equ => order.is_eq(),
        CompareOp::Ne | CompareOp::Neu => order.is_ne(),
        CompareOp::Lt | CompareOp::Ltu | CompareOp::Lo => order.is_lt(),
        CompareOp::Le | CompareOp::Leu | CompareOp::Ls => order.is_le(),
        CompareOp::Gt | CompareOp::Gtu | CompareOp::Hi => order.is_gt(),
        CompareOp::Ge | CompareOp::Geu | CompareOp::Hs => order.is_ge(),
        CompareOp::Num => true,
        CompareOp::Nan => false,
    }
}

/// How two values of a scalar type are ordered.
fn ordered(comparison: &Comparison, ty: ScalarType, a: u128, b: u128) -> Result<Option<Ordering>, NoMeaning> {
    if ty.is_integer() {
        let is_unsigned = matches!(comparison.op, CompareOp::Lo | CompareOp::Ls | CompareOp::Hi | CompareOp::Hs);
        return Ok(Some(if is_unsigned { a.cmp(&b) } else { integer(a, ty).cmp(&integer(b, ty)) }));
    }
    let format = Format::of(ty).ok_or(NO_SUCH_FORM)?;
    let ftz = comparison.ftz && ty != ScalarType::F64;
    let number = |bits: u128| format.number(if ftz { format.flushed(bits as u64) } else { bits as u64 });
    Ok(order(number(a), number(b)))
}

/// The answers: one, or one for each element of packed pairs.
fn answers(s: &Sources<'_>, comparison: &Comparison) -> Result<Vec<bool>, NoMeaning> {
    let ty = s.inst.source_ty;
    let (a, b) = (s.bits(0, ty)?, s.bits(1, ty)?);
    let answer = |ty, a, b| ordered(comparison, ty, a, b).map(|order| holds(comparison.op, order));
    match ty {
        ScalarType::F16x2 | ScalarType::Bf16x2 => {
            let element = element(ty).ok_or(NO_SUCH_FORM)?;
            Ok(vec![answer(element, a & 0xffff, b & 0xffff)?, answer(element, a >> 16, b >> 16)?])
        }
        ty => Ok(vec![answer(ty, a, b)?]),
    }
}

/// A truth as the instruction combines it with its predicate operand.
fn with_operand(s: &Sources<'_>, comparison: &Comparison, truth: bool) -> Result<bool, NoMeaning> {
    match comparison.combination.op {
        Some(op) if s.len() > 2 => Ok(combined(op, truth, s.truth(2)?)),
        _ => Ok(truth),
    }
}

/// Of scalars the second predicate is the combination of the complement; of pairs it is the answer of the upper half.
pub(crate) fn setp(s: &Sources<'_>, comparison: &Comparison) -> Answer {
    let truths = match answers(s, comparison)?[..] {
        [low, high] => [low, high],
        [truth] => [truth, !truth],
        _ => return Err(NO_SUCH_FORM),
    };
    let truths = [with_operand(s, comparison, truths[0])?, with_operand(s, comparison, truths[1])?];
    Ok(truths.iter().map(|&truth| (truth.into(), ScalarType::Pred)).collect())
}

/// True is 1.0 in a float, and all ones in an integer.
pub(crate) fn set(s: &Sources<'_>, comparison: &Comparison) -> Answer {
    let ty = s.ty();
    let answers = answers(s, comparison)?;
    let (one_of, width): (u128, u32) = match (element(ty), Format::of(ty)) {
        (Some(of), _) if Format::of(of).is_some() => (Format::of(of).map_or(0, Format::one).into(), of.bits()),
        (_, Some(format)) => (format.one().into(), ty.bits()),
        _ => (u128::MAX >> (128 - ty.bits() / answers.len() as u32), ty.bits() / answers.len() as u32),
    };
    let mut bits = 0;
    for (at, answer) in answers.into_iter().enumerate() {
        if with_operand(s, comparison, answer)? {
            bits |= one_of << (width * at as u32);
        }
    }
    one(bits, ty)
}

pub(crate) fn selp(s: &Sources<'_>) -> Answer {
    let ty = s.ty();
    if ty == ScalarType::Pred || ty.bits() > 64 {
        return Err(NO_SUCH_FORM);
    }
    one(if s.truth(2)? { s.bits(0, ty)? } else { s.bits(1, ty)? }, ty)
}

/// The first if the third is not negative; neither is -0, but NaN takes the second.
pub(crate) fn slct(s: &Sources<'_>, ftz: bool) -> Answer {
    let ty = s.ty();
    let takes_first = match s.inst.source_ty {
        ScalarType::F32 => {
            let bits = s.word(2, ScalarType::F32)?;
            let number = F32.number(if ftz { F32.flushed(bits) } else { bits });
            order(number, F32.number(0)).is_some_and(Ordering::is_ge)
        }
        _ => s.integer(2, ScalarType::S32)? >= 0,
    };
    one(if takes_first { s.bits(0, ty)? } else { s.bits(1, ty)? }, ty)
}
