//! Comparisons and selections.

use warplens_isa::{BoolOp, CompareOp, Comparison, ScalarType, Subnormals};

use super::{Binder, Binding, for_integer, no_such_form};
use crate::code::Wide;
use crate::decoded::Decoded;
use crate::raw::{LaneFunction, Level, Source, map1, map2, map2_with, map3, map3_with, masks};
use crate::semantics::compare;
use crate::semantics::half::{Bf16, F16};

/// The handler that copies a predicate.
pub(crate) fn copy_predicate(level: Level) -> LaneFunction {
    masks(level, |a, _| a)
}

/// Evaluates `$body` with `$OP` as a constant comparison, so that each gets its own loop.
macro_rules! for_comparison {
    ($compare:expr, $OP:ident => $body:expr, [$($name:ident)*], else $other:expr) => {
        match $compare {
            $(CompareOp::$name => {
                const $OP: CompareOp = CompareOp::$name;
                $body
            })*
            _ => $other,
        }
    };
}

/// The handler that compares two values of type `source_ty` and writes a predicate.
fn comparing(level: Level, inst: &Decoded, comparison: &Comparison) -> Option<LaneFunction> {
    let &Comparison { op, ftz, .. } = comparison;
    Some(match inst.source_ty {
        ScalarType::F32 => for_comparison!(op, OP => match ftz {
            true => map2(level, |a: f32, b: f32| compare::float32(OP, a, b, true)),
            false => map2(level, |a: f32, b: f32| compare::float32(OP, a, b, false)),
        }, [Eq Ne Lt Le Gt Ge Equ Neu Ltu Leu Gtu Geu Num Nan], else return None),
        ScalarType::F64 => for_comparison!(op, OP => map2(level, |a: f64, b: f64| compare::float64(OP, a, b)),
            [Eq Ne Lt Le Gt Ge Equ Neu Ltu Leu Gtu Geu Num Nan], else return None),
        ScalarType::F16 => map2_with(level, *comparison, |a: u16, b: u16, m| compare::half::<F16>(m.op, a, b, m.ftz)),
        ScalarType::Bf16 => map2_with(level, *comparison, |a: u16, b: u16, m| compare::half::<Bf16>(m.op, a, b, m.ftz)),
        ty => for_integer!(unsigned_if(ty, op), T => for_comparison!(op,
            OP => map2(level, |a: T, b: T| compare::integer::<T>(OP, a, b)),
            [Eq Ne Lt Le Gt Ge Lo Ls Hi Hs], else return None), else return None),
    })
}

/// `lo`, `ls`, `hi` and `hs` compare without sign whatever the type says.
fn unsigned_if(ty: ScalarType, op: CompareOp) -> ScalarType {
    match (op, ty) {
        (CompareOp::Lo | CompareOp::Ls | CompareOp::Hi | CompareOp::Hs, ScalarType::S8) => ScalarType::U8,
        (CompareOp::Lo | CompareOp::Ls | CompareOp::Hi | CompareOp::Hs, ScalarType::S16) => ScalarType::U16,
        (CompareOp::Lo | CompareOp::Ls | CompareOp::Hi | CompareOp::Hs, ScalarType::S32) => ScalarType::U32,
        (CompareOp::Lo | CompareOp::Ls | CompareOp::Hi | CompareOp::Hs, ScalarType::S64) => ScalarType::U64,
        _ => ty,
    }
}

/// Emits the comparison of the first two sources into a temporary or the given predicate.
fn compare_into(binder: &mut Binder<'_>, inst: &Decoded, comparison: &Comparison, destination: u32) -> Binding {
    let handler = comparing(binder.level(), inst, comparison);
    let (Some(handler), [a, b, ..]) = (handler, &inst.sources[..]) else { return no_such_form(inst) };
    let sources = [binder.read(a, inst.source_ty), binder.read(b, inst.source_ty)];
    binder.lane(handler, destination, &sources);
    Ok(())
}

/// The handler that combines a comparison with a predicate, or the complement of the comparison.
pub(super) fn combining(level: Level, op: BoolOp, complement: bool) -> LaneFunction {
    match (op, complement) {
        (BoolOp::And, false) => masks(level, |a, b| a & b),
        (BoolOp::Or, false) => masks(level, |a, b| a | b),
        (BoolOp::Xor, false) => masks(level, |a, b| a ^ b),
        (BoolOp::And, true) => masks(level, |a, b| !a & b),
        (BoolOp::Or, true) => masks(level, |a, b| !a | b),
        (BoolOp::Xor, true) => masks(level, |a, b| !a ^ b),
    }
}

pub(super) fn setp(binder: &mut Binder<'_>, inst: &Decoded, comparison: &Comparison) -> Binding {
    match inst.source_ty {
        ScalarType::F16x2 | ScalarType::Bf16x2 => return setp_pair(binder, inst, comparison),
        _ => {}
    }
    let first = inst.destinations.first().copied().flatten();
    let second = inst.destinations.get(1).copied().flatten();
    if comparison.combination.op.is_none() && second.is_none() {
        let destination = binder.write(first, ScalarType::Pred);
        return compare_into(binder, inst, comparison, destination);
    }
    // Both results are needed before either register is written: the predicate operand may be one of them.
    let truth = binder.temporary_predicate();
    compare_into(binder, inst, comparison, truth)?;
    let level = binder.level();
    let (op, operand) = match (comparison.combination.op, inst.sources.get(2)) {
        (Some(op), Some(operand)) => (op, binder.read(operand, ScalarType::Pred)),
        _ => (BoolOp::And, Source::pool(1)),
    };
    let complement = binder.temporary_predicate();
    if second.is_some() {
        binder.lane(combining(level, op, true), complement, &[Source::frame(truth), operand]);
    }
    let destination = binder.write(first, ScalarType::Pred);
    binder.lane(combining(level, op, false), destination, &[Source::frame(truth), operand]);
    if second.is_some() {
        let destination = binder.write(second, ScalarType::Pred);
        binder.lane(copy_predicate(level), destination, &[Source::frame(complement)]);
    }
    Ok(())
}

/// Packed comparison: the first predicate gets the answer of the low halves, the second that of the high ones.
fn setp_pair(binder: &mut Binder<'_>, inst: &Decoded, comparison: &Comparison) -> Binding {
    let level = binder.level();
    let handlers = if inst.source_ty == ScalarType::F16x2 {
        [
            map2_with(level, *comparison, |a: u32, b: u32, m| compare::half_x2::<F16>(m.op, a, b, m.ftz)[0]),
            map2_with(level, *comparison, |a: u32, b: u32, m| compare::half_x2::<F16>(m.op, a, b, m.ftz)[1]),
        ]
    } else {
        [
            map2_with(level, *comparison, |a: u32, b: u32, m| compare::half_x2::<Bf16>(m.op, a, b, m.ftz)[0]),
            map2_with(level, *comparison, |a: u32, b: u32, m| compare::half_x2::<Bf16>(m.op, a, b, m.ftz)[1]),
        ]
    };
    let [a, b, ..] = &inst.sources[..] else { return no_such_form(inst) };
    let sources = [binder.read(a, inst.source_ty), binder.read(b, inst.source_ty)];
    let operand = match (comparison.combination.op, inst.sources.get(2)) {
        (Some(op), Some(operand)) => Some((op, binder.read(operand, ScalarType::Pred))),
        _ => None,
    };
    let mut results = Vec::new();
    for handler in handlers {
        let truth = binder.temporary_predicate();
        binder.lane(handler, truth, &sources);
        if let Some((op, operand)) = operand {
            binder.lane(combining(level, op, false), truth, &[Source::frame(truth), operand]);
        }
        results.push(truth);
    }
    for (truth, register) in results.into_iter().zip(&inst.destinations) {
        let destination = binder.write(*register, ScalarType::Pred);
        binder.lane(copy_predicate(level), destination, &[Source::frame(truth)]);
    }
    Ok(())
}

pub(super) fn set(binder: &mut Binder<'_>, inst: &Decoded, comparison: &Comparison) -> Binding {
    let level = binder.level();
    if matches!(inst.source_ty, ScalarType::F16x2 | ScalarType::Bf16x2) {
        return set_pair(binder, inst, comparison);
    }
    let truth = binder.temporary_predicate();
    compare_into(binder, inst, comparison, truth)?;
    if let (Some(op), Some(operand)) = (comparison.combination.op, inst.sources.get(2)) {
        let operand = binder.read(operand, ScalarType::Pred);
        binder.lane(combining(level, op, false), truth, &[Source::frame(truth), operand]);
    }
    let handler = match inst.ty {
        ScalarType::F32 => map1(level, |truth: bool| compare::set_f32(truth)),
        ScalarType::F16 => map1(level, |truth: bool| compare::set_half::<F16>(truth)),
        ScalarType::Bf16 => map1(level, |truth: bool| compare::set_half::<Bf16>(truth)),
        ScalarType::U16 | ScalarType::S16 => map1(level, |truth: bool| compare::set_u16(truth)),
        _ => map1(level, |truth: bool| compare::set_u32(truth)),
    };
    let destination = binder.write(inst.destinations.first().copied().flatten(), inst.ty);
    binder.lane(handler, destination, &[Source::frame(truth)]);
    Ok(())
}

/// Packed comparison into a packed result: 1.0 or 0.0 per half, or all ones or zeros for an integer result. A predicate
/// operand is combined with the answers of both halves.
fn set_pair(binder: &mut Binder<'_>, inst: &Decoded, comparison: &Comparison) -> Binding {
    let [a, b, ..] = &inst.sources[..] else { return no_such_form(inst) };
    let level = binder.level();
    let mut sources = vec![binder.read(a, inst.source_ty), binder.read(b, inst.source_ty)];
    if comparison.combination.op.is_some() {
        let Some(operand) = inst.sources.get(2) else { return no_such_form(inst) };
        sources.push(binder.read(operand, ScalarType::Pred));
    } else {
        sources.push(Source::pool(0));
    }
    let handler = if inst.source_ty == ScalarType::F16x2 {
        map3_with(level, *comparison, |a: u32, b: u32, c: bool, m| {
            combined(m, compare::half_x2::<F16>(m.op, a, b, m.ftz), c)
        })
    } else {
        map3_with(level, *comparison, |a: u32, b: u32, c: bool, m| {
            combined(m, compare::half_x2::<Bf16>(m.op, a, b, m.ftz), c)
        })
    };
    let truths = binder.temporary();
    binder.lane(handler, truths, &sources);
    let one = match inst.ty {
        ScalarType::F16x2 => compare::set_half::<F16>(true),
        ScalarType::Bf16x2 => compare::set_half::<Bf16>(true),
        _ => u16::MAX,
    };
    let one = binder.constant(u64::from(one) * 0x1_0001, Wide::No);
    let destination = binder.write(inst.destinations.first().copied().flatten(), inst.ty);
    binder.lane(map2(level, |truths: u32, one: u32| truths & one), destination, &[Source::frame(truths), one]);
    Ok(())
}

/// The answers of both halves as masks of 16 bits, after the combination with a predicate.
fn combined(comparison: &Comparison, answers: [bool; 2], predicate: bool) -> u32 {
    let half = |answer: bool| {
        let truth = match comparison.combination.op {
            None => answer,
            Some(BoolOp::And) => answer & predicate,
            Some(BoolOp::Or) => answer | predicate,
            Some(BoolOp::Xor) => answer ^ predicate,
        };
        if truth { 0xffff } else { 0 }
    };
    half(answers[0]) | half(answers[1]) << 16
}

pub(super) fn selp(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = match inst.ty.bits() {
        64 => map3(level, |a: u64, b: u64, truth: bool| if truth { a } else { b }),
        1 | 128 => return no_such_form(inst),
        _ => map3(level, |a: u32, b: u32, truth: bool| if truth { a } else { b }),
    };
    binder.apply(inst, handler, &[inst.ty, inst.ty, ScalarType::Pred], inst.ty)
}

pub(super) fn slct(binder: &mut Binder<'_>, inst: &Decoded, subnormals: &Subnormals) -> Binding {
    let (level, ftz) = (binder.level(), subnormals.ftz);
    let handler = match (inst.ty.bits(), inst.source_ty) {
        (128, _) => return no_such_form(inst),
        (64, ScalarType::F32) => map3_with(level, ftz, |a: u64, b: u64, c: f32, ftz| compare::slct_f32(a, b, c, *ftz)),
        (64, _) => map3(level, |a: u64, b: u64, c: i32| compare::slct_s32(a, b, c)),
        (_, ScalarType::F32) => map3_with(level, ftz, |a: u32, b: u32, c: f32, ftz| compare::slct_f32(a, b, c, *ftz)),
        _ => map3(level, |a: u32, b: u32, c: i32| compare::slct_s32(a, b, c)),
    };
    binder.apply(inst, handler, &[inst.ty, inst.ty, inst.source_ty], inst.ty)
}
