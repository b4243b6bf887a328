//! Reciprocals, roots and the transcendental functions of the special function unit.

use warplens_ir::Inst;
use warplens_isa::{Precision, ScalarType};

use super::{Binding, mode, no_such_form};
use crate::decode::Decoder;
use crate::raw::{map1, map1_with};
use crate::semantics::half::{Bf16, F16};
use crate::semantics::{float32, float64, math};

/// Binds an approximate f32 function whose loops are compiled with and without `.ftz`.
macro_rules! approximate {
    ($level:expr, $inst:expr, $function:path) => {
        match $inst.modifiers.ftz {
            true => map1($level, |a: f32| $function(a, true)),
            false => map1($level, |a: f32| $function(a, false)),
        }
    };
}

pub(super) fn rcp(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let level = decoder.level();
    let handler = match (inst.ty, inst.modifiers.precision) {
        (ScalarType::F32, Precision::Ieee) => map1_with(level, |a: f32, m| float32::rcp(a, mode::float(m))),
        (ScalarType::F32, _) => approximate!(level, inst, math::rcp),
        (ScalarType::F64, Precision::Ieee) => map1_with(level, |a: f64, m| float64::rcp(a, m.rounding)),
        (ScalarType::F64, _) => map1(level, |a: f64| float64::rcp_approx(a)),
        _ => return no_such_form(inst),
    };
    decoder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn sqrt(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let level = decoder.level();
    let handler = match (inst.ty, inst.modifiers.precision) {
        (ScalarType::F32, Precision::Ieee) => map1_with(level, |a: f32, m| float32::sqrt(a, mode::float(m))),
        (ScalarType::F32, _) => approximate!(level, inst, math::sqrt),
        (ScalarType::F64, _) => map1_with(level, |a: f64, m| float64::sqrt(a, m.rounding)),
        _ => return no_such_form(inst),
    };
    decoder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn rsqrt(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let level = decoder.level();
    let handler = match (inst.ty, inst.modifiers.ftz) {
        (ScalarType::F32, _) => approximate!(level, inst, math::rsqrt),
        (ScalarType::F64, true) => map1(level, |a: f64| float64::rsqrt_approx_ftz(a)),
        (ScalarType::F64, false) => map1(level, |a: f64| float64::rsqrt_approx(a)),
        _ => return no_such_form(inst),
    };
    decoder.apply(inst, handler, &[inst.ty], inst.ty)
}

/// Binds a function that exists for f32 only.
macro_rules! single_only {
    ($($name:ident;)*) => {$(
        pub(super) fn $name(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
            if inst.ty != ScalarType::F32 {
                return no_such_form(inst);
            }
            let handler = approximate!(decoder.level(), inst, math::$name);
            decoder.apply(inst, handler, &[inst.ty], inst.ty)
        }
    )*};
}

single_only! {
    sin;
    cos;
    lg2;
}

pub(super) fn ex2(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let level = decoder.level();
    let handler = match inst.ty {
        ScalarType::F32 => approximate!(level, inst, math::ex2),
        ScalarType::F16 => map1_with(level, |a: u16, m| math::ex2_half::<F16>(a, m.ftz)),
        ScalarType::Bf16 => map1_with(level, |a: u16, m| math::ex2_half::<Bf16>(a, m.ftz)),
        ScalarType::F16x2 => map1_with(level, |a: u32, m| math::ex2_half_x2::<F16>(a, m.ftz)),
        ScalarType::Bf16x2 => map1_with(level, |a: u32, m| math::ex2_half_x2::<Bf16>(a, m.ftz)),
        _ => return no_such_form(inst),
    };
    decoder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn tanh(decoder: &mut Decoder<'_>, inst: &Inst) -> Binding {
    let level = decoder.level();
    let handler = match inst.ty {
        ScalarType::F32 => map1(level, |a: f32| math::tanh(a)),
        ScalarType::F16 => map1(level, |a: u16| math::tanh_half::<F16>(a)),
        ScalarType::Bf16 => map1(level, |a: u16| math::tanh_half::<Bf16>(a)),
        ScalarType::F16x2 => map1(level, |a: u32| math::tanh_half_x2::<F16>(a)),
        ScalarType::Bf16x2 => map1(level, |a: u32| math::tanh_half_x2::<Bf16>(a)),
        _ => return no_such_form(inst),
    };
    decoder.apply(inst, handler, &[inst.ty], inst.ty)
}
