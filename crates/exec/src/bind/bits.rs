//! Logic, shifts, bit fields and bit counts.

use warplens_isa::{BfindAnswer, Combination, FunnelShift, PrmtMode, ScalarType, ShiftDirection, ShiftMode};

use super::predicate::combining;
use super::{Binder, Binding, for_integer, no_such_form};
use crate::decoded::Decoded;
use crate::raw::{LaneFunction, Level, Source, map1, map2, map3, map3_with, map4, masks};
use crate::semantics::integer;

/// Binds a bitwise operation of two operands on words, pairs and predicates.
macro_rules! logic {
    ($($name:ident $op:tt;)*) => {$(
        pub(super) fn $name(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
            let level = binder.level();
            let handler = match inst.ty.bits() {
                1 => masks(level, |a, b| a $op b),
                64 => map2(level, |a: u64, b: u64| a $op b),
                128 => return no_such_form(inst),
                _ => map2(level, |a: u32, b: u32| a $op b),
            };
            binder.apply(inst, handler, &[inst.ty; 2], inst.ty)
        }
    )*};
}

logic! {
    and &;
    or |;
    xor ^;
}

pub(super) fn not(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    if inst.ty == ScalarType::Pred {
        return binder.apply(inst, masks(level, |a, _| !a), &[inst.ty], inst.ty);
    }
    let handler = for_integer!(inst.ty, T => map1(level, |a: T| !a), else return no_such_form(inst));
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn cnot(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map1(level, |a: T| integer::cnot(a)), else return no_such_form(inst));
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn lop3(binder: &mut Binder<'_>, inst: &Decoded, combination: &Combination) -> Binding {
    let level = binder.level();
    let handler = map4(level, |a: u32, b: u32, c: u32, table: u8| integer::lop3(a, b, c, table));
    let Some(op) = combination.op else {
        return binder.apply(inst, handler, &[ScalarType::B32; 4], ScalarType::B32);
    };
    let [a, b, c, table, predicate] = &inst.sources[..] else { return no_such_form(inst) };
    let sources = [a, b, c, table].map(|operand| binder.read(operand, ScalarType::B32));
    let predicate = binder.read(predicate, ScalarType::Pred);
    // Both results are made before a register is written: the value may go to a source, the truth to the predicate.
    let (value, truth) = (binder.temporary(), binder.temporary_predicate());
    binder.lane(handler, value, &sources);
    binder.lane(map1(level, |value: u32| value != 0), truth, &[Source::frame(value)]);
    let destination = binder.write(inst.destinations.first().copied().flatten(), ScalarType::B32);
    binder.lane(map1(level, |value: u32| value), destination, &[Source::frame(value)]);
    let destination = binder.write(inst.destinations.get(1).copied().flatten(), ScalarType::Pred);
    binder.lane(combining(level, op, false), destination, &[Source::frame(truth), predicate]);
    Ok(())
}

pub(super) fn shl(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map2(level, |a: T, n: u32| integer::shl(a, n)), else {
        return no_such_form(inst);
    });
    binder.apply(inst, handler, &[inst.ty, ScalarType::U32], inst.ty)
}

pub(super) fn shr(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map2(level, |a: T, n: u32| integer::shr(a, n)), else {
        return no_such_form(inst);
    });
    binder.apply(inst, handler, &[inst.ty, ScalarType::U32], inst.ty)
}

pub(super) fn shf(binder: &mut Binder<'_>, inst: &Decoded, shift: &FunnelShift) -> Binding {
    let level = binder.level();
    let handler = match (shift.direction, shift.mode) {
        (ShiftDirection::Left, ShiftMode::Clamp) => {
            map3(level, |low: u32, high: u32, n: u32| integer::shf_l_clamp(low, high, n))
        }
        (ShiftDirection::Left, ShiftMode::Wrap) => {
            map3(level, |low: u32, high: u32, n: u32| integer::shf_l_wrap(low, high, n))
        }
        (ShiftDirection::Right, ShiftMode::Clamp) => {
            map3(level, |low: u32, high: u32, n: u32| integer::shf_r_clamp(low, high, n))
        }
        (ShiftDirection::Right, ShiftMode::Wrap) => {
            map3(level, |low: u32, high: u32, n: u32| integer::shf_r_wrap(low, high, n))
        }
    };
    binder.apply(inst, handler, &[ScalarType::B32; 3], ScalarType::B32)
}

/// Binds a bit count, whose result is always 32 bits wide.
macro_rules! counts {
    ($($name:ident;)*) => {$(
        pub(super) fn $name(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
            let level = binder.level();
            let handler = for_integer!(inst.ty, T => map1(level, |a: T| integer::$name(a)), else {
                return no_such_form(inst);
            });
            binder.apply(inst, handler, &[inst.ty], ScalarType::U32)
        }
    )*};
}

counts! {
    popc;
    clz;
}

pub(super) fn bfind(binder: &mut Binder<'_>, inst: &Decoded, answer: &BfindAnswer) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => match answer {
        BfindAnswer::ShiftAmount => map1(level, |a: T| integer::bfind_shiftamt(a)),
        BfindAnswer::Position => map1(level, |a: T| integer::bfind(a)),
    }, else return no_such_form(inst));
    binder.apply(inst, handler, &[inst.ty], ScalarType::U32)
}

pub(super) fn brev(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map1(level, |a: T| integer::brev(a)), else return no_such_form(inst));
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn bfe(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map3(level, |a: T, at: u32, n: u32| integer::bfe(a, at, n)), else {
        return no_such_form(inst);
    });
    binder.apply(inst, handler, &[inst.ty, ScalarType::U32, ScalarType::U32], inst.ty)
}

pub(super) fn bfi(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map4(level, |a: T, b: T, at: u32, n: u32| integer::bfi(a, b, at, n)),
        else return no_such_form(inst));
    binder.apply(inst, handler, &[inst.ty, inst.ty, ScalarType::U32, ScalarType::U32], inst.ty)
}

pub(super) fn bmsk(binder: &mut Binder<'_>, inst: &Decoded, mode: &ShiftMode) -> Binding {
    let level = binder.level();
    let handler = match mode {
        ShiftMode::Clamp => map2(level, |at: u32, n: u32| integer::bmsk_clamp(at, n)),
        ShiftMode::Wrap => map2(level, |at: u32, n: u32| integer::bmsk_wrap(at, n)),
    };
    binder.apply(inst, handler, &[ScalarType::B32; 2], ScalarType::B32)
}

pub(super) fn szext(binder: &mut Binder<'_>, inst: &Decoded, mode: &ShiftMode) -> Binding {
    let level = binder.level();
    let handler = match (inst.ty, mode) {
        (ScalarType::S32, ShiftMode::Clamp) => map2(level, |a: i32, n: u32| integer::szext_clamp(a, n)),
        (ScalarType::S32, ShiftMode::Wrap) => map2(level, |a: i32, n: u32| integer::szext_wrap(a, n)),
        (_, ShiftMode::Clamp) => map2(level, |a: u32, n: u32| integer::szext_clamp(a, n)),
        (_, ShiftMode::Wrap) => map2(level, |a: u32, n: u32| integer::szext_wrap(a, n)),
    };
    binder.apply(inst, handler, &[inst.ty, ScalarType::U32], inst.ty)
}

pub(super) fn prmt(binder: &mut Binder<'_>, inst: &Decoded, mode: &PrmtMode) -> Binding {
    let handler = prmt_handler(binder.level(), *mode);
    binder.apply(inst, handler, &[ScalarType::B32; 3], ScalarType::B32)
}

fn prmt_handler(level: Level, mode: PrmtMode) -> LaneFunction {
    match mode {
        PrmtMode::Default => map3(level, |a: u32, b: u32, c: u32| integer::prmt(a, b, c, PrmtMode::Default)),
        _ => map3_with(level, mode, |a: u32, b: u32, c: u32, mode| integer::prmt(a, b, c, *mode)),
    }
}
