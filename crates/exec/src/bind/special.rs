//! Reciprocals, roots and the transcendental functions of the special function unit.

use warplens_isa::{Accuracy, Approximation, Precision, ScalarType};

use super::{Binder, Binding, no_such_form};
use crate::decoded::Decoded;
use crate::raw::{map1, map1_with};
use crate::semantics::half::{Bf16, F16};
use crate::semantics::{FloatMods, float32, float64, math};

/// Binds an approximate f32 function whose loops are compiled with and without `.ftz`.
macro_rules! approximate {
    ($level:expr, $ftz:expr, $function:path) => {
        match $ftz {
            true => map1($level, |a: f32| $function(a, true)),
            false => map1($level, |a: f32| $function(a, false)),
        }
    };
}

pub(super) fn rcp(binder: &mut Binder<'_>, inst: &Decoded, accuracy: &Accuracy) -> Binding {
    let (level, &Accuracy { rounding, ftz, .. }) = (binder.level(), accuracy);
    let exact = FloatMods { rounding, ftz, sat: false };
    let handler = match (inst.ty, accuracy.precision) {
        (ScalarType::F32, Precision::Ieee) if exact == FloatMods::RN => {
            map1(level, |a: f32| float32::rcp(a, FloatMods::RN))
        }
        (ScalarType::F32, Precision::Ieee) => map1_with(level, exact, |a: f32, m| float32::rcp(a, *m)),
        (ScalarType::F32, _) => approximate!(level, ftz, math::rcp),
        (ScalarType::F64, Precision::Ieee) => map1_with(level, rounding, |a: f64, rounding| float64::rcp(a, *rounding)),
        (ScalarType::F64, _) => map1(level, |a: f64| float64::rcp_approx(a)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn sqrt(binder: &mut Binder<'_>, inst: &Decoded, accuracy: &Accuracy) -> Binding {
    let (level, &Accuracy { rounding, ftz, .. }) = (binder.level(), accuracy);
    let exact = FloatMods { rounding, ftz, sat: false };
    let handler = match (inst.ty, accuracy.precision) {
        (ScalarType::F32, Precision::Ieee) if exact == FloatMods::RN => {
            map1(level, |a: f32| float32::sqrt(a, FloatMods::RN))
        }
        (ScalarType::F32, Precision::Ieee) => map1_with(level, exact, |a: f32, m| float32::sqrt(a, *m)),
        (ScalarType::F32, _) => approximate!(level, ftz, math::sqrt),
        (ScalarType::F64, _) => map1_with(level, rounding, |a: f64, rounding| float64::sqrt(a, *rounding)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn rsqrt(binder: &mut Binder<'_>, inst: &Decoded, approximation: &Approximation) -> Binding {
    let level = binder.level();
    let handler = match (inst.ty, approximation.ftz) {
        (ScalarType::F32, _) => approximate!(level, approximation.ftz, math::rsqrt),
        (ScalarType::F64, true) => map1(level, |a: f64| float64::rsqrt_approx_ftz(a)),
        (ScalarType::F64, false) => map1(level, |a: f64| float64::rsqrt_approx(a)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

/// Binds a function that exists for f32 only.
macro_rules! single_only {
    ($($name:ident;)*) => {$(
        pub(super) fn $name(binder: &mut Binder<'_>, inst: &Decoded, approximation: &Approximation) -> Binding {
            if inst.ty != ScalarType::F32 {
                return no_such_form(inst);
            }
            let handler = approximate!(binder.level(), approximation.ftz, math::$name);
            binder.apply(inst, handler, &[inst.ty], inst.ty)
        }
    )*};
}

single_only! {
    sin;
    cos;
    lg2;
}

pub(super) fn ex2(binder: &mut Binder<'_>, inst: &Decoded, approximation: &Approximation) -> Binding {
    let (level, ftz) = (binder.level(), approximation.ftz);
    let handler = match inst.ty {
        ScalarType::F32 => approximate!(level, ftz, math::ex2),
        ScalarType::F16 => map1_with(level, ftz, |a: u16, ftz| math::ex2_half::<F16>(a, *ftz)),
        ScalarType::Bf16 => map1_with(level, ftz, |a: u16, ftz| math::ex2_half::<Bf16>(a, *ftz)),
        ScalarType::F16x2 => map1_with(level, ftz, |a: u32, ftz| math::ex2_half_x2::<F16>(a, *ftz)),
        ScalarType::Bf16x2 => map1_with(level, ftz, |a: u32, ftz| math::ex2_half_x2::<Bf16>(a, *ftz)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}

pub(super) fn tanh(binder: &mut Binder<'_>, inst: &Decoded, _: &Approximation) -> Binding {
    let level = binder.level();
    let handler = match inst.ty {
        ScalarType::F32 => map1(level, |a: f32| math::tanh(a)),
        ScalarType::F16 => map1(level, |a: u16| math::tanh_half::<F16>(a)),
        ScalarType::Bf16 => map1(level, |a: u16| math::tanh_half::<Bf16>(a)),
        ScalarType::F16x2 => map1(level, |a: u32| math::tanh_half_x2::<F16>(a)),
        ScalarType::Bf16x2 => map1(level, |a: u32| math::tanh_half_x2::<Bf16>(a)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.ty], inst.ty)
}
