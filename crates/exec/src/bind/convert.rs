//! Conversions between types.
//!
//! A signed result narrower than a word is sign-extended to the whole word: PTX extends it to the register's width,
//! and operations on narrower registers look at their low bits only.

use warplens_isa::{Conversion, PackedWidth, Rounding, ScalarType};

use super::{Binder, Binding, for_integer, mode, no_such_form};
use crate::decoded::{Decoded, Operand};
use crate::raw::{LaneFunction, Level, map1, map1_with, map2_with, map3, map3_with};
use crate::semantics::FloatMods;
use crate::semantics::convert::{self, PackType, PackedFormat};
use crate::semantics::half::{Bf16, F16};

/// Evaluates `$body` with `$FORMAT` as the constant of a format that exists only in packed pairs.
macro_rules! for_packed {
    ($ty:expr, $FORMAT:ident => $body:expr, else $other:expr) => {
        for_packed!(@arms $ty, $FORMAT, $body, $other, [E4m3x2 E4m3, E5m2x2 E5m2, E3m2x2 E3m2, E2m3x2 E2m3, E2m1x2 E2m1])
    };
    (@arms $ty:expr, $FORMAT:ident, $body:expr, $other:expr, [$($pair:ident $format:ident),*]) => {
        match $ty {
            $(ScalarType::$pair => {
                const $FORMAT: PackedFormat = PackedFormat::$format;
                $body
            })*
            _ => $other,
        }
    };
}

pub(super) fn cvt(binder: &mut Binder<'_>, inst: &Decoded, conversion: &Conversion) -> Binding {
    if inst.sources.len() == 3 {
        return cvt_random(binder, inst, *conversion);
    }
    if inst.sources.len() == 2 {
        return cvt_pair(binder, inst, *conversion);
    }
    let level = binder.level();
    let handler = match (inst.ty, inst.source_ty) {
        (to, from) if to.is_integer() && from.is_integer() => int_to_int(level, inst, conversion.sat),
        (to, _) if to.is_integer() => float_to_int(level, inst, *conversion),
        (_, from) if from.is_integer() => int_to_float(level, inst, mode::conversion(conversion)),
        _ => float_to_float(level, inst, *conversion),
    };
    let Some(handler) = handler else { return no_such_form(inst) };
    let result = match inst.ty {
        ScalarType::S8 | ScalarType::S16 => ScalarType::S32,
        ty => ty,
    };
    binder.apply(inst, handler, &[inst.source_ty], result)
}

fn int_to_int(level: Level, inst: &Decoded, sat: bool) -> Option<LaneFunction> {
    for_integer!(inst.ty, D => for_integer!(inst.source_ty, S => {
        Some(match sat {
            true => map1(level, |a: S| register_form(convert::int_to_int::<S, D>(a, true))),
            false => map1(level, |a: S| register_form(convert::int_to_int::<S, D>(a, false))),
        })
    }, else None), else None)
}

/// What a converted value becomes in a register.
trait RegisterForm {
    type Register: crate::raw::LaneOutput;
    fn register_form(self) -> Self::Register;
}

macro_rules! register_forms {
    ($($ty:ty => $register:ty;)*) => {$(
        impl RegisterForm for $ty {
            type Register = $register;
            #[inline(always)]
            fn register_form(self) -> $register {
                <$register>::from(self)
            }
        }
    )*};
}

register_forms! {
    i8 => i32;
    i16 => i32;
    u8 => u8;
    u16 => u16;
    u32 => u32;
    i32 => i32;
    u64 => u64;
    i64 => i64;
}

#[inline(always)]
fn register_form<T: RegisterForm>(value: T) -> T::Register {
    value.register_form()
}

fn float_to_int(level: Level, inst: &Decoded, conversion: Conversion) -> Option<LaneFunction> {
    for_integer!(inst.ty, D => {
        let towards_zero = conversion.rounding == Rounding::Zero && !conversion.ftz;
        match inst.source_ty {
            ScalarType::F32 if towards_zero => {
                Some(map1(level, |a: f32| register_form(convert::f32_to_int::<D>(a, Rounding::Zero, false))))
            }
            ScalarType::F32 => Some(map1_with(level, conversion, |a: f32, m| {
                register_form(convert::f32_to_int::<D>(a, m.rounding, m.ftz))
            })),
            ScalarType::F64 => {
                Some(map1_with(level, conversion, |a: f64, m| register_form(convert::f64_to_int::<D>(a, m.rounding))))
            }
            ScalarType::F16 => Some(map1_with(level, conversion, |a: u16, m| {
                register_form(convert::half_to_int::<F16, D>(a, m.rounding))
            })),
            ScalarType::Bf16 => Some(map1_with(level, conversion, |a: u16, m| {
                register_form(convert::half_to_int::<Bf16, D>(a, m.rounding))
            })),
            _ => None,
        }
    }, else None)
}

fn int_to_float(level: Level, inst: &Decoded, mods: FloatMods) -> Option<LaneFunction> {
    let is_plain = mode::is_plain(mods);
    for_integer!(inst.source_ty, S => match inst.ty {
        ScalarType::F32 if is_plain => Some(map1(level, |a: S| convert::int_to_f32(a, FloatMods::RN))),
        ScalarType::F32 => Some(map1_with(level, mods, |a: S, m| convert::int_to_f32(a, *m))),
        ScalarType::F64 if is_plain => Some(map1(level, |a: S| convert::int_to_f64(a, FloatMods::RN))),
        ScalarType::F64 => Some(map1_with(level, mods, |a: S, m| convert::int_to_f64(a, *m))),
        ScalarType::F16 => Some(map1_with(level, mods, |a: S, m| convert::int_to_half::<S, F16>(a, *m))),
        ScalarType::Bf16 => Some(map1_with(level, mods, |a: S, m| convert::int_to_half::<S, Bf16>(a, *m))),
        _ => None,
    }, else None)
}

fn integral(conversion: &Conversion) -> Option<Rounding> {
    conversion.integral.then_some(conversion.rounding)
}

fn float_to_float(level: Level, inst: &Decoded, conversion: Conversion) -> Option<LaneFunction> {
    use ScalarType as T;
    Some(match (inst.ty, inst.source_ty) {
        (T::F32, T::F32) => map1_with(level, conversion, |a: f32, m| convert::f32_to_f32(a, integral(m), m.ftz, m.sat)),
        (T::F64, T::F64) => map1_with(level, conversion, |a: f64, m| convert::f64_to_f64(a, integral(m), m.sat)),
        (T::F16, T::F16) => {
            map1_with(level, conversion, |a: u16, m| convert::half_to_half::<F16>(a, integral(m), m.sat))
        }
        (T::Bf16, T::Bf16) => {
            map1_with(level, conversion, |a: u16, m| convert::half_to_half::<Bf16>(a, integral(m), m.sat))
        }
        (T::F64, T::F32) => map1_with(level, conversion, |a: f32, m| convert::f32_to_f64(a, m.ftz, m.sat)),
        (T::F32, T::F64) => map1_with(level, conversion, |a: f64, m| convert::f64_to_f32(a, mode::conversion(m))),
        (T::F32, T::F16) => map1_with(level, conversion, |a: u16, m| convert::half_to_f32::<F16>(a, m.ftz, m.sat)),
        (T::F32, T::Bf16) => map1_with(level, conversion, |a: u16, m| convert::half_to_f32::<Bf16>(a, m.ftz, m.sat)),
        (T::F64, T::F16) => map1_with(level, conversion, |a: u16, m| convert::half_to_f64::<F16>(a, m.sat)),
        (T::F64, T::Bf16) => map1_with(level, conversion, |a: u16, m| convert::half_to_f64::<Bf16>(a, m.sat)),
        (T::F16, T::F32) => map1_with(level, conversion, |a: f32, m| convert::f32_to_half::<F16>(a, mode::narrow(m))),
        (T::Bf16, T::F32) => map1_with(level, conversion, |a: f32, m| convert::f32_to_half::<Bf16>(a, mode::narrow(m))),
        (T::F16, T::F64) => map1_with(level, conversion, |a: f64, m| convert::f64_to_half::<F16>(a, mode::narrow(m))),
        (T::Bf16, T::F64) => map1_with(level, conversion, |a: f64, m| convert::f64_to_half::<Bf16>(a, mode::narrow(m))),
        (T::F16, T::Bf16) => {
            map1_with(level, conversion, |a: u16, m| convert::half_to_other_half::<Bf16, F16>(a, mode::narrow(m)))
        }
        (T::Bf16, T::F16) => {
            map1_with(level, conversion, |a: u16, m| convert::half_to_other_half::<F16, Bf16>(a, mode::narrow(m)))
        }
        (T::Tf32, T::F32) => map1_with(level, conversion, |a: f32, m| convert::f32_to_tf32(a, mode::narrow(m))),
        (T::Bf16x2, T::Ue8m0x2) => map1(level, |a: u16| convert::ue8m0_x2_to_bf16_x2(a)),
        (T::Ue8m0x2, T::Bf16x2) => {
            map1_with(level, conversion, |a: u32, m| convert::bf16_x2_to_ue8m0_x2(a, m.rounding, m.satfinite))
        }
        (T::F16x2, from) => for_packed!(from, FORMAT => map1_with(level, conversion, |a: u16, m| {
            convert::packed_to_half_x2::<F16>(a, FORMAT, m.relu)
        }), else return None),
        (T::Bf16x2, from) => for_packed!(from, FORMAT => map1_with(level, conversion, |a: u16, m| {
            convert::packed_to_half_x2::<Bf16>(a, FORMAT, m.relu)
        }), else return None),
        (to, T::F16x2) => for_packed!(to, FORMAT => map1_with(level, conversion, |a: u32, m| {
            convert::half_x2_to_packed::<F16>(a, FORMAT, m.relu)
        }), else return None),
        (to, T::Bf16x2) => for_packed!(to, FORMAT => map1_with(level, conversion, |a: u32, m| {
            convert::half_x2_to_packed::<Bf16>(a, FORMAT, m.relu)
        }), else return None),
        _ => return None,
    })
}

/// Two scalars to a packed pair: the first source is the upper half.
fn cvt_pair(binder: &mut Binder<'_>, inst: &Decoded, conversion: Conversion) -> Binding {
    use ScalarType as T;
    let level = binder.level();
    let handler = match (inst.ty, inst.source_ty) {
        (T::F16x2, T::F32) => {
            map2_with(level, conversion, |a: f32, b: f32, m| convert::f32_to_half_x2::<F16>(a, b, mode::narrow(m)))
        }
        (T::Bf16x2, T::F32) => {
            map2_with(level, conversion, |a: f32, b: f32, m| convert::f32_to_half_x2::<Bf16>(a, b, mode::narrow(m)))
        }
        (T::Ue8m0x2, T::F32) => {
            map2_with(level, conversion, |a: f32, b: f32, m| convert::f32_to_ue8m0_x2(a, b, m.rounding, m.satfinite))
        }
        (to, T::F32) => for_packed!(to, FORMAT => map2_with(level, conversion, |a: f32, b: f32, m| {
            convert::f32_to_packed(a, b, FORMAT, m.relu)
        }), else return no_such_form(inst)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[inst.source_ty; 2], inst.ty)
}

/// Two scalars to a packed pair, rounded by the random bits that the third source brings.
fn cvt_random(binder: &mut Binder<'_>, inst: &Decoded, conversion: Conversion) -> Binding {
    use ScalarType as T;
    let level = binder.level();
    let handler = match (inst.ty, inst.source_ty) {
        (T::F16x2, T::F32) => map3_with(level, conversion, |a: f32, b: f32, random: u32, m| {
            convert::f32_to_half_x2_random::<F16>(a, b, random, mode::narrow(m))
        }),
        (T::Bf16x2, T::F32) => map3_with(level, conversion, |a: f32, b: f32, random: u32, m| {
            convert::f32_to_half_x2_random::<Bf16>(a, b, random, mode::narrow(m))
        }),
        (to, T::F32) => for_packed!(to, FORMAT => map3_with(level, conversion, |a: f32, b: f32, random: u32, m| {
            convert::f32_to_packed_random(a, b, random, FORMAT, m.relu)
        }), else return no_such_form(inst)),
        _ => return no_such_form(inst),
    };
    binder.apply(inst, handler, &[T::F32, T::F32, T::B32], inst.ty)
}

/// Binds `cvt.pack` for one destination type.
macro_rules! pack_to {
    ($level:expr, $source:ty, $bits:literal, $signed:literal) => {
        map3($level, |a: $source, b: $source, c: u32| {
            convert::pack(i64::from(a), i64::from(b), c, PackType { bits: $bits, signed: $signed })
        })
    };
}

pub(super) fn cvt_pack(binder: &mut Binder<'_>, inst: &Decoded, width: &PackedWidth) -> Binding {
    use ScalarType as T;
    let level = binder.level();
    let handler = match (inst.ty, inst.source_ty.is_signed()) {
        (T::S8, true) if *width == PackedWidth::Four => pack_to!(level, i32, 4, true),
        (T::U8, true) if *width == PackedWidth::Four => pack_to!(level, i32, 4, false),
        (T::S8, true) if *width == PackedWidth::Two => pack_to!(level, i32, 2, true),
        (T::U8, true) if *width == PackedWidth::Two => pack_to!(level, i32, 2, false),
        _ if *width != PackedWidth::OfType => return no_such_form(inst),
        (T::S16, true) => pack_to!(level, i32, 16, true),
        (T::U16, true) => pack_to!(level, i32, 16, false),
        (T::S8, true) => pack_to!(level, i32, 8, true),
        (T::U8, true) => pack_to!(level, i32, 8, false),
        (T::S16, false) => pack_to!(level, u32, 16, true),
        (T::U16, false) => pack_to!(level, u32, 16, false),
        (T::S8, false) => pack_to!(level, u32, 8, true),
        (T::U8, false) => pack_to!(level, u32, 8, false),
        _ => return no_such_form(inst),
    };
    let mut complete = inst.clone();
    complete.sources.resize(3, Operand::Immediate(0));
    binder.apply(&complete, handler, &[inst.source_ty, inst.source_ty, T::U32], T::B32)
}
