//! Arithmetic: add, multiply, divide, minimum, maximum and their relatives.

use warplens_isa::{
    Accuracy, Carry, Dp2aHalf, Extremum, FusedMultiplyAdd, HighMultiplyAdd, MixedTypes, Precision, Product, Rounding,
    Saturation, ScalarType, Subnormals, Sum, TestProperty,
};

use super::{Binder, Binding, for_integer, mode, no_such_form};
use crate::code::{Kind, SINK};
use crate::decoded::{Decoded, Operand};
use crate::raw::{LaneFunction, Level, Source, carry, map1, map1_with, map2, map2_with, map3, map3_with};
use crate::semantics::half::{Bf16, F16, Half, HalfMods};
use crate::semantics::integer::{self, Int};
use crate::semantics::{FloatMods, MinMaxMods, float32, float64, half, math};

/// Binds a float operation of two operands: f32 with loops of their own for the common modes, f64, halves and pairs.
macro_rules! float_binary {
    ($binder:expr, $inst:expr, $mods:expr, $name:ident, $pair:ident) => {{
        let (level, inst, mods): (Level, &Decoded, FloatMods) = ($binder.level(), $inst, $mods);
        let half_mods = mode::half(mods);
        let handler = match (inst.ty, mode::is_plain(mods), mods.ftz) {
            (ScalarType::F32, true, false) => map2(level, |a: f32, b: f32| float32::$name(a, b, FloatMods::RN)),
            (ScalarType::F32, true, true) => map2(level, |a: f32, b: f32| float32::$name(a, b, FloatMods::RN_FTZ)),
            (ScalarType::F32, ..) => map2_with(level, mods, |a: f32, b: f32, m| float32::$name(a, b, *m)),
            (ScalarType::F64, true, _) => map2(level, |a: f64, b: f64| float64::$name(a, b, Rounding::Nearest)),
            (ScalarType::F64, ..) => map2_with(level, mods, |a: f64, b: f64, m| float64::$name(a, b, m.rounding)),
            (ScalarType::F16, ..) => map2_with(level, half_mods, |a: u16, b: u16, m| half::$name::<F16>(a, b, *m)),
            (ScalarType::Bf16, ..) => map2_with(level, half_mods, |a: u16, b: u16, m| half::$name::<Bf16>(a, b, *m)),
            (ScalarType::F16x2, ..) => map2_with(level, half_mods, |a: u32, b: u32, m| half::$pair::<F16>(a, b, *m)),
            (ScalarType::Bf16x2, ..) => map2_with(level, half_mods, |a: u32, b: u32, m| half::$pair::<Bf16>(a, b, *m)),
            (ScalarType::F32x2, ..) => map2_with(level, mods, |a: u64, b: u64, m| float32::$pair(a, b, *m)),
            _ => return no_such_form(inst),
        };
        $binder.apply(inst, handler, &[inst.ty, inst.ty], inst.ty)
    }};
}

pub(super) fn add(binder: &mut Binder<'_>, inst: &Decoded, sum: &Sum) -> Binding {
    let level = binder.level();
    if sum.carry.is_used() {
        return for_integer!(inst.ty, T => {
            let handler = carry(level, |a: T, b: T, _: T, carry| integer::add_carry(a, b, carry));
            with_carry(binder, inst, sum.carry, handler, 2, false)
        }, else no_such_form(inst));
    }
    let sat = sum.sat;
    let handler = match inst.ty {
        ScalarType::U16x2 | ScalarType::S16x2 if !sat => map2(level, |a: u32, b: u32| integer::add_x2(a, b)),
        ScalarType::U16x2 => map2(level, |a: u32, b: u32| integer::add_sat_x2::<u16>(a, b)),
        ScalarType::S16x2 => map2(level, |a: u32, b: u32| integer::add_sat_x2::<i16>(a, b)),
        ScalarType::U8x4 | ScalarType::S8x4 if !sat => map2(level, |a: u32, b: u32| integer::add_x4(a, b)),
        ScalarType::U8x4 => map2(level, |a: u32, b: u32| integer::add_sat_x4::<u8>(a, b)),
        ScalarType::S8x4 => map2(level, |a: u32, b: u32| integer::add_sat_x4::<i8>(a, b)),
        ty => for_integer!(ty, T => match sat {
            true => map2(level, |a: T, b: T| integer::add_sat(a, b)),
            false => map2(level, |a: T, b: T| integer::add(a, b)),
        }, else {
            return mixed(binder, inst, 1, |d, i| float_binary!(d, i, mode::sum(sum), add, add_x2));
        }),
    };
    binder.apply(inst, handler, &[inst.ty, inst.ty], inst.ty)
}

pub(super) fn sub(binder: &mut Binder<'_>, inst: &Decoded, sum: &Sum) -> Binding {
    let level = binder.level();
    if sum.carry.is_used() {
        return for_integer!(inst.ty, T => {
            let handler = carry(level, |a: T, b: T, _: T, carry| integer::sub_carry(a, b, carry));
            with_carry(binder, inst, sum.carry, handler, 2, true)
        }, else no_such_form(inst));
    }
    let sat = sum.sat;
    let handler = match inst.ty {
        ScalarType::U16x2 | ScalarType::S16x2 if !sat => map2(level, |a: u32, b: u32| integer::sub_x2(a, b)),
        ScalarType::U16x2 => map2(level, |a: u32, b: u32| integer::sub_sat_x2::<u16>(a, b)),
        ScalarType::S16x2 => map2(level, |a: u32, b: u32| integer::sub_sat_x2::<i16>(a, b)),
        ScalarType::U8x4 | ScalarType::S8x4 if !sat => map2(level, |a: u32, b: u32| integer::sub_x4(a, b)),
        ScalarType::U8x4 => map2(level, |a: u32, b: u32| integer::sub_sat_x4::<u8>(a, b)),
        ScalarType::S8x4 => map2(level, |a: u32, b: u32| integer::sub_sat_x4::<i8>(a, b)),
        ty => for_integer!(ty, T => match sat {
            true => map2(level, |a: T, b: T| integer::sub_sat(a, b)),
            false => map2(level, |a: T, b: T| integer::sub(a, b)),
        }, else {
            return mixed(binder, inst, 1, |d, i| float_binary!(d, i, mode::sum(sum), sub, sub_x2));
        }),
    };
    binder.apply(inst, handler, &[inst.ty, inst.ty], inst.ty)
}

/// Emits an extended-precision operation of `n` operands; one that reads no carry goes on from `idle`.
fn with_carry(
    binder: &mut Binder<'_>,
    inst: &Decoded,
    carry: Carry,
    handler: LaneFunction,
    n: usize,
    idle: bool,
) -> Binding {
    if inst.sources.len() < n {
        return no_such_form(inst);
    }
    let zero = Operand::Immediate(0);
    let mut operands: Vec<Operand> = inst.sources[..n].to_vec();
    operands.resize(3, zero);
    let mut sources: Vec<_> = operands.iter().map(|operand| binder.read(operand, inst.ty)).collect();
    let idle = Operand::Immediate(u64::from(idle));
    let carry_in = if carry.reads { inst.sources.get(n).copied().unwrap_or(idle) } else { idle };
    sources.push(binder.read(&carry_in, ScalarType::Pred));
    let result = binder.write(inst.destinations.first().copied().flatten(), inst.ty);
    let carry_out =
        if carry.writes { binder.write(inst.destinations.get(1).copied().flatten(), ScalarType::Pred) } else { SINK };
    binder.emit(Kind::Lane, handler, [result, carry_out], &sources);
    Ok(())
}

/// f32 arithmetic with half-precision operands: the first `n_narrow` operands are widened first, which is exact.
fn mixed(
    binder: &mut Binder<'_>,
    inst: &Decoded,
    n_narrow: usize,
    bind: impl Fn(&mut Binder<'_>, &Decoded) -> Binding,
) -> Binding {
    if inst.source_ty == inst.ty {
        return bind(binder, inst);
    }
    let level = binder.level();
    let widen = match inst.source_ty {
        ScalarType::F16 => map1(level, |a: u16| F16::widen(a)),
        ScalarType::Bf16 => map1(level, |a: u16| Bf16::widen(a)),
        _ => return no_such_form(inst),
    };
    let mut wide = inst.clone();
    wide.source_ty = inst.ty;
    for operand in wide.sources.iter_mut().take(n_narrow) {
        let source = binder.read(operand, inst.source_ty);
        let row = binder.temporary();
        binder.lane(widen, row, &[source]);
        *operand = binder.temporary_operand(row);
    }
    bind(binder, &wide)
}

pub(super) fn mul(binder: &mut Binder<'_>, inst: &Decoded, product: &Product) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map2(level, |a: T, b: T| integer::mul_lo(a, b)), else {
        return float_binary!(binder, inst, mode::product(product), mul, mul_x2);
    });
    binder.apply(inst, handler, &[inst.ty, inst.ty], inst.ty)
}

pub(super) fn mul_hi(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map2(level, |a: T, b: T| integer::mul_hi(a, b)), else {
        return no_such_form(inst);
    });
    binder.apply(inst, handler, &[inst.ty, inst.ty], inst.ty)
}

/// The type of twice the width.
fn twice(ty: ScalarType) -> Option<ScalarType> {
    Some(match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        ScalarType::S32 => ScalarType::S64,
        _ => return None,
    })
}

/// Binds an operation from 16 bits to 32, or from 32 to 64.
macro_rules! for_widening {
    ($inst:expr, $T:ident => $body:expr) => {
        match $inst.ty {
            ScalarType::U16 => {
                type $T = u16;
                $body
            }
            ScalarType::S16 => {
                type $T = i16;
                $body
            }
            ScalarType::U32 => {
                type $T = u32;
                $body
            }
            ScalarType::S32 => {
                type $T = i32;
                $body
            }
            _ => return no_such_form($inst),
        }
    };
}

pub(super) fn mul_wide(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_widening!(inst, T => map2(level, |a: T, b: T| integer::mul_wide(a, b)));
    let Some(wide) = twice(inst.ty) else { return no_such_form(inst) };
    binder.apply(inst, handler, &[inst.ty, inst.ty], wide)
}

pub(super) fn mad(binder: &mut Binder<'_>, inst: &Decoded, use_of_carry: &Carry) -> Binding {
    let level = binder.level();
    for_integer!(inst.ty, T => {
        if use_of_carry.is_used() {
            let handler = carry(level, |a: T, b: T, c: T, carry| integer::mad_lo_carry(a, b, c, carry));
            return with_carry(binder, inst, *use_of_carry, handler, 3, false);
        }
        let handler = map3(level, |a: T, b: T, c: T| integer::mad_lo(a, b, c));
        binder.apply(inst, handler, &[inst.ty; 3], inst.ty)
    }, else no_such_form(inst))
}

pub(super) fn mad_hi(binder: &mut Binder<'_>, inst: &Decoded, high: &HighMultiplyAdd) -> Binding {
    let level = binder.level();
    for_integer!(inst.ty, T => {
        if high.carry.is_used() {
            let handler = carry(level, |a: T, b: T, c: T, carry| integer::mad_hi_carry(a, b, c, carry));
            return with_carry(binder, inst, high.carry, handler, 3, false);
        }
        let handler = match high.saturation.sat {
            true => map3(level, |a: T, b: T, c: T| integer::mad_hi_sat(a, b, c)),
            false => map3(level, |a: T, b: T, c: T| integer::mad_hi(a, b, c)),
        };
        binder.apply(inst, handler, &[inst.ty; 3], inst.ty)
    }, else no_such_form(inst))
}

pub(super) fn mad_wide(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_widening!(inst, T => map3(level, |a: T, b: T, c: <T as Int>::Wide| integer::mad_wide(a, b, c)));
    let Some(wide) = twice(inst.ty) else { return no_such_form(inst) };
    binder.apply(inst, handler, &[inst.ty, inst.ty, wide], wide)
}

/// Binds an operation that exists for 32-bit integers only.
macro_rules! for_word {
    ($inst:expr, $T:ident => $body:expr) => {
        match $inst.ty {
            ScalarType::U32 | ScalarType::B32 => {
                type $T = u32;
                $body
            }
            ScalarType::S32 => {
                type $T = i32;
                $body
            }
            _ => return no_such_form($inst),
        }
    };
}

pub(super) fn mul24(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_word!(inst, T => map2(level, |a: T, b: T| integer::mul24_lo(a, b)));
    binder.apply(inst, handler, &[inst.ty; 2], inst.ty)
}

pub(super) fn mul24_hi(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_word!(inst, T => map2(level, |a: T, b: T| integer::mul24_hi(a, b)));
    binder.apply(inst, handler, &[inst.ty; 2], inst.ty)
}

pub(super) fn mad24(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_word!(inst, T => map3(level, |a: T, b: T, c: T| integer::mad24_lo(a, b, c)));
    binder.apply(inst, handler, &[inst.ty; 3], inst.ty)
}

pub(super) fn mad24_hi(binder: &mut Binder<'_>, inst: &Decoded, saturation: &Saturation) -> Binding {
    let level = binder.level();
    let handler = for_word!(inst, T => match saturation.sat {
        true => map3(level, |a: T, b: T, c: T| integer::mad24_hi_sat(a, b, c)),
        false => map3(level, |a: T, b: T, c: T| integer::mad24_hi(a, b, c)),
    });
    binder.apply(inst, handler, &[inst.ty; 3], inst.ty)
}

pub(super) fn fma(binder: &mut Binder<'_>, inst: &Decoded, fused: &FusedMultiplyAdd) -> Binding {
    // The multiplicands may be halves (fma.rn.f32.f16); the addend never is.
    mixed(binder, inst, 2, |binder, inst| plain_fma(binder, inst, fused))
}

fn plain_fma(binder: &mut Binder<'_>, inst: &Decoded, fused: &FusedMultiplyAdd) -> Binding {
    let (level, mods, half_mods) = (binder.level(), mode::fused(fused), mode::fused_half(fused));
    let handler = match (inst.ty, mode::is_plain(mods) && !fused.relu, mods.ftz) {
        (ScalarType::F32, true, false) => map3(level, |a: f32, b: f32, c: f32| float32::fma(a, b, c, FloatMods::RN)),
        (ScalarType::F32, true, true) => map3(level, |a: f32, b: f32, c: f32| float32::fma(a, b, c, FloatMods::RN_FTZ)),
        (ScalarType::F32, ..) if mods == FloatMods::new(mods.rounding) && !fused.relu => {
            directed_fma(level, mods.rounding)
        }
        (ScalarType::F32, ..) => map3_with(level, mods, |a: f32, b: f32, c: f32, m| float32::fma(a, b, c, *m)),
        (ScalarType::F64, true, _) => map3(level, |a: f64, b: f64, c: f64| float64::fma(a, b, c, Rounding::Nearest)),
        (ScalarType::F64, ..) => map3_with(level, mods, |a: f64, b: f64, c: f64, m| float64::fma(a, b, c, m.rounding)),
        (ScalarType::F16, ..) => half_fma::<F16>(level, half_mods),
        (ScalarType::Bf16, ..) => half_fma::<Bf16>(level, half_mods),
        (ScalarType::F16x2, ..) => pair_fma::<F16>(level, half_mods),
        (ScalarType::Bf16x2, ..) => pair_fma::<Bf16>(level, half_mods),
        (ScalarType::F32x2, ..) => map3_with(level, mods, |a: u64, b: u64, c: u64, m| float32::fma_x2(a, b, c, *m)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.ty; 3], inst.ty)
}

/// The handler of `fma.f32` in a rounding mode, each compiled for itself: compilers' exp asks for rounding down.
fn directed_fma(level: Level, rounding: Rounding) -> LaneFunction {
    const ZERO: FloatMods = FloatMods::new(Rounding::Zero);
    const DOWN: FloatMods = FloatMods::new(Rounding::Down);
    const UP: FloatMods = FloatMods::new(Rounding::Up);
    match rounding {
        Rounding::Nearest | Rounding::NearestAway => {
            map3(level, |a: f32, b: f32, c: f32| float32::fma(a, b, c, FloatMods::RN))
        }
        Rounding::Zero => map3(level, |a: f32, b: f32, c: f32| float32::fma(a, b, c, ZERO)),
        Rounding::Down => map3(level, |a: f32, b: f32, c: f32| float32::fma(a, b, c, DOWN)),
        Rounding::Up => map3(level, |a: f32, b: f32, c: f32| float32::fma(a, b, c, UP)),
    }
}

/// The handler that widens a float exactly to f32 or f64; none where nothing is to be widened.
fn widening(level: Level, from: ScalarType, to: ScalarType) -> Result<Option<LaneFunction>, ()> {
    Ok(Some(match (from, to) {
        (from, to) if from == to => return Ok(None),
        (ScalarType::F16, ScalarType::F32) => map1(level, |a: u16| F16::widen(a)),
        (ScalarType::Bf16, ScalarType::F32) => map1(level, |a: u16| Bf16::widen(a)),
        (ScalarType::F16, ScalarType::F64) => map1(level, |a: u16| f64::from(F16::widen(a))),
        (ScalarType::Bf16, ScalarType::F64) => map1(level, |a: u16| f64::from(Bf16::widen(a))),
        (ScalarType::F32, ScalarType::F64) => map1(level, |a: f32| f64::from(a)),
        _ => return Err(()),
    }))
}

pub(super) fn fma_mixed(binder: &mut Binder<'_>, inst: &Decoded, types: &MixedTypes) -> Binding {
    let level = binder.level();
    let mods = FloatMods { rounding: types.rounding, ftz: false, sat: false };
    let handler = match inst.ty {
        ScalarType::F32 => map3_with(level, mods, |a: f32, b: f32, c: f32, m| float32::fma(a, b, c, *m)),
        // What becomes of NaN in narrower operands is not known.
        ScalarType::F64 => {
            map3_with(level, mods, |a: f64, b: f64, c: f64, m| float64::canonical(float64::fma(a, b, c, m.rounding)))
        }
        _ => return no_such_form(inst),
    };
    if inst.sources.len() != 3 {
        return no_such_form(inst);
    }
    let mut wide = Vec::with_capacity(3);
    for (operand, ty) in inst.sources.iter().zip([types.a, types.b, types.c]) {
        let Ok(widening) = widening(level, ty, inst.ty) else { return no_such_form(inst) };
        let source = binder.read(operand, ty);
        wide.push(match widening {
            None => source,
            Some(handler) => {
                let row = binder.temporary();
                binder.lane(handler, row, &[source]);
                Source::frame(row)
            }
        });
    }
    let destination = binder.write(inst.destinations.first().copied().flatten(), inst.ty);
    binder.lane(handler, destination, &wide);
    Ok(())
}

fn half_fma<H: Half + 'static>(level: Level, mods: HalfMods) -> LaneFunction {
    map3_with(level, mods, |a: u16, b: u16, c: u16, m| half::fma::<H>(a, b, c, *m))
}

fn pair_fma<H: Half + 'static>(level: Level, mods: HalfMods) -> LaneFunction {
    map3_with(level, mods, |a: u32, b: u32, c: u32, m| half::fma_x2::<H>(a, b, c, *m))
}

pub(super) fn sad(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map3(level, |a: T, b: T, c: T| integer::sad(a, b, c)), else {
        return no_such_form(inst);
    });
    binder.apply(inst, handler, &[inst.ty; 3], inst.ty)
}

pub(super) fn div(binder: &mut Binder<'_>, inst: &Decoded, accuracy: &Accuracy) -> Binding {
    let (level, &Accuracy { rounding, ftz, .. }) = (binder.level(), accuracy);
    let exact = FloatMods { rounding, ftz, sat: false };
    let handler = match (inst.ty, accuracy.precision) {
        (ScalarType::F32, Precision::Approx) => map2_with(level, ftz, |a: f32, b: f32, ftz| math::div(a, b, *ftz)),
        (ScalarType::F32, Precision::Full) => map2_with(level, ftz, |a: f32, b: f32, ftz| math::div_full(a, b, *ftz)),
        (ScalarType::F32, Precision::Ieee) if exact == FloatMods::RN => {
            map2(level, |a: f32, b: f32| float32::div(a, b, FloatMods::RN))
        }
        (ScalarType::F32, Precision::Ieee) => map2_with(level, exact, |a: f32, b: f32, m| float32::div(a, b, *m)),
        (ScalarType::F64, _) => map2_with(level, rounding, |a: f64, b: f64, rounding| float64::div(a, b, *rounding)),
        (ty, _) => for_integer!(ty, T => map2(level, |a: T, b: T| integer::div(a, b)), else return no_such_form(inst)),
    };
    binder.apply(inst, handler, &[inst.ty; 2], inst.ty)
}

pub(super) fn rem(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = for_integer!(inst.ty, T => map2(level, |a: T, b: T| integer::rem(a, b)), else {
        return no_such_form(inst);
    });
    binder.apply(inst, handler, &[inst.ty; 2], inst.ty)
}

pub(super) fn abs(binder: &mut Binder<'_>, inst: &Decoded, subnormals: &Subnormals) -> Binding {
    let (level, ftz) = (binder.level(), subnormals.ftz);
    let handler = match inst.ty {
        ScalarType::F32 => map1_with(level, ftz, |a: f32, ftz| float32::abs(a, *ftz)),
        ScalarType::F64 => map1(level, |a: f64| float64::abs(a)),
        ScalarType::F16 => map1_with(level, ftz, |a: u16, ftz| half::abs::<F16>(a, *ftz)),
        ScalarType::Bf16 => map1_with(level, ftz, |a: u16, ftz| half::abs::<Bf16>(a, *ftz)),
        ScalarType::F16x2 => map1_with(level, ftz, |a: u32, ftz| half::abs_x2::<F16>(a, *ftz)),
        ScalarType::Bf16x2 => map1_with(level, ftz, |a: u32, ftz| half::abs_x2::<Bf16>(a, *ftz)),
        ty => for_integer!(ty, T => map1(level, |a: T| integer::abs(a)), else return no_such_form(inst)),
    };
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn neg(binder: &mut Binder<'_>, inst: &Decoded, subnormals: &Subnormals) -> Binding {
    let (level, ftz) = (binder.level(), subnormals.ftz);
    let handler = match inst.ty {
        ScalarType::F32 => map1_with(level, ftz, |a: f32, ftz| float32::neg(a, *ftz)),
        ScalarType::F64 => map1(level, |a: f64| float64::neg(a)),
        ScalarType::F16 => map1_with(level, ftz, |a: u16, ftz| half::neg::<F16>(a, *ftz)),
        ScalarType::Bf16 => map1_with(level, ftz, |a: u16, ftz| half::neg::<Bf16>(a, *ftz)),
        ScalarType::F16x2 => map1_with(level, ftz, |a: u32, ftz| half::neg_x2::<F16>(a, *ftz)),
        ScalarType::Bf16x2 => map1_with(level, ftz, |a: u32, ftz| half::neg_x2::<Bf16>(a, *ftz)),
        ScalarType::U16x2 | ScalarType::S16x2 => map1(level, |a: u32| integer::neg_x2(a)),
        ScalarType::U8x4 | ScalarType::S8x4 => map1(level, |a: u32| integer::neg_x4(a)),
        ty => for_integer!(ty, T => map1(level, |a: T| integer::neg(a)), else return no_such_form(inst)),
    };
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

const PLAIN_EXTREMUM: MinMaxMods = MinMaxMods { ftz: false, nan: false, xorsign_abs: false };

/// Binds minimum or maximum of two or three values.
macro_rules! extremum {
    ($binder:expr, $inst:expr, $extremum:expr, $two:ident, $three:ident, $pair:ident, $four:ident) => {{
        let (level, inst, relu): (Level, &Decoded, bool) = ($binder.level(), $inst, $extremum.relu);
        let mods = mode::min_max($extremum);
        let is_plain = mods == PLAIN_EXTREMUM;
        let handler = match inst.ty {
            ScalarType::F32 if inst.sources.len() == 3 => {
                let handler = map3_with(level, mods, |a: f32, b: f32, c: f32, m| float32::$three(a, b, c, *m));
                return $binder.apply(inst, handler, &[inst.ty; 3], inst.ty);
            }
            ScalarType::F32 if is_plain => map2(level, |a: f32, b: f32| float32::$two(a, b, PLAIN_EXTREMUM)),
            ScalarType::F32 => map2_with(level, mods, |a: f32, b: f32, m| float32::$two(a, b, *m)),
            ScalarType::F64 => map2(level, |a: f64, b: f64| float64::$two(a, b)),
            ScalarType::F16 => map2_with(level, mods, |a: u16, b: u16, m| half::$two::<F16>(a, b, *m)),
            ScalarType::Bf16 => map2_with(level, mods, |a: u16, b: u16, m| half::$two::<Bf16>(a, b, *m)),
            ScalarType::F16x2 => map2_with(level, mods, |a: u32, b: u32, m| half::$pair::<F16>(a, b, *m)),
            ScalarType::Bf16x2 => map2_with(level, mods, |a: u32, b: u32, m| half::$pair::<Bf16>(a, b, *m)),
            ScalarType::U16x2 => map2(level, |a: u32, b: u32| integer::$pair::<u16>(a, b)),
            ScalarType::S16x2 => map2_with(level, relu, |a: u32, b: u32, relu| {
                let value = integer::$pair::<i16>(a, b);
                if *relu { integer::relu_x2(value) } else { value }
            }),
            ScalarType::U8x4 => map2(level, |a: u32, b: u32| integer::$four::<u8>(a, b)),
            ScalarType::S8x4 => map2_with(level, relu, |a: u32, b: u32, relu| {
                let value = integer::$four::<i8>(a, b);
                if *relu { integer::relu_x4(value) } else { value }
            }),
            ty => for_integer!(ty, T => match relu {
                true => map2(level, |a: T, b: T| integer::relu(integer::$two(a, b))),
                false => map2(level, |a: T, b: T| integer::$two(a, b)),
            }, else return no_such_form(inst)),
        };
        $binder.apply(inst, handler, &[inst.ty; 2], inst.ty)
    }};
}

pub(super) fn min(binder: &mut Binder<'_>, inst: &Decoded, extremum: &Extremum) -> Binding {
    extremum!(binder, inst, extremum, min, min3, min_x2, min_x4)
}

pub(super) fn max(binder: &mut Binder<'_>, inst: &Decoded, extremum: &Extremum) -> Binding {
    extremum!(binder, inst, extremum, max, max3, max_x2, max_x4)
}

pub(super) fn copysign(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let level = binder.level();
    let handler = match inst.ty {
        ScalarType::F32 => map2(level, |a: f32, b: f32| float32::copysign(a, b)),
        ScalarType::F64 => map2(level, |a: f64, b: f64| float64::copysign(a, b)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.ty; 2], inst.ty)
}

pub(super) fn testp(binder: &mut Binder<'_>, inst: &Decoded, property: &TestProperty) -> Binding {
    let level = binder.level();
    let handler = match inst.ty {
        ScalarType::F32 => map1_with(level, *property, |a: f32, property| float32::testp(a, *property)),
        ScalarType::F64 => map1_with(level, *property, |a: f64, property| float64::testp(a, *property)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.ty], ScalarType::Pred)
}

/// Binds a dot product for the signedness of its operands: `ty` is that of the first, `source_ty` that of the second.
macro_rules! dot_product {
    ($binder:expr, $inst:expr, |$a:ident, $b:ident, $c:ident, $a_signed:ident, $b_signed:ident| $body:expr) => {{
        let level = $binder.level();
        let handler = match ($inst.ty.is_signed(), $inst.source_ty.is_signed()) {
            (false, false) => signed_dot!(level, false, false, $a, $b, $c, $a_signed, $b_signed, $body),
            (false, true) => signed_dot!(level, false, true, $a, $b, $c, $a_signed, $b_signed, $body),
            (true, false) => signed_dot!(level, true, false, $a, $b, $c, $a_signed, $b_signed, $body),
            (true, true) => signed_dot!(level, true, true, $a, $b, $c, $a_signed, $b_signed, $body),
        };
        $binder.apply($inst, handler, &[ScalarType::U32; 3], ScalarType::U32)
    }};
}

macro_rules! signed_dot {
    ($level:expr, $x:literal, $y:literal, $a:ident, $b:ident, $c:ident, $as:ident, $bs:ident, $body:expr) => {
        map3($level, |$a: u32, $b: u32, $c: u32| {
            let ($as, $bs) = ($x, $y);
            $body
        })
    };
}

pub(super) fn dp4a(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    dot_product!(binder, inst, |a, b, c, a_signed, b_signed| integer::dp4a(a, b, c, a_signed, b_signed))
}

pub(super) fn dp2a(binder: &mut Binder<'_>, inst: &Decoded, half: &Dp2aHalf) -> Binding {
    match half {
        Dp2aHalf::Low => dot_product!(binder, inst, |a, b, c, a_signed, b_signed| {
            integer::dp2a(a, b, c, a_signed, b_signed, false)
        }),
        Dp2aHalf::High => dot_product!(binder, inst, |a, b, c, a_signed, b_signed| {
            integer::dp2a(a, b, c, a_signed, b_signed, true)
        }),
    }
}
