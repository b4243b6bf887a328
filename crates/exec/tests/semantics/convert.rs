//! `semantics::convert` against independent arithmetic.

use rustc_apfloat::ieee::{BFloat, Double, Half as IeeeHalf, Single};
use rustc_apfloat::{Float, FloatConvert};
use warplens_exec::semantics::FloatMods;
use warplens_exec::semantics::convert::{self, NarrowMods};
use warplens_exec::semantics::half::{Bf16, F16, Half};
use warplens_exec::semantics::integer::Int;
use warplens_isa::Rounding;

use crate::inputs::{Random, SPECIAL_F32, SPECIAL_F64, tuples_f32, tuples_f64};
use crate::oracle::{Format, ROUNDINGS, round};

/// Integers of every length, both signs, and the ends of all types.
fn integers() -> Vec<u64> {
    let mut random = Random::new(41);
    let ends = [0, 1, 127, 128, 255, 256, 32767, 32768, 65535, 65536, (1 << 31) - 1, 1 << 31, u32::MAX.into(), 1 << 63];
    let mut all: Vec<u64> = ends.into_iter().flat_map(|x: u64| [x, x.wrapping_neg(), !x]).collect();
    for _ in 0..3_000 {
        let x = random.next() >> random.below(64);
        // Long runs of zeros make ties.
        let ties = x & (u64::MAX << random.below(50)) | random.below(2);
        all.extend([x, x.wrapping_neg(), ties, ties.wrapping_neg()]);
    }
    all
}

fn check_int_to_int<S: Int, D: Int>() {
    for bits in integers() {
        let x = S::from_bits(bits);
        let value = x.to_i128();
        let wrapped: D = convert::int_to_int(x, false);
        assert_eq!(wrapped.to_bits(), value as u64 & (u64::MAX >> (64 - D::BITS)), "{value}");
        let saturated: D = convert::int_to_int(x, true);
        assert_eq!(saturated.to_i128(), value.max(D::MIN.to_i128()).min(D::MAX.to_i128()), "{value}");
    }
}

fn check_int_to_float<S: Int>() {
    for bits in integers() {
        let x = S::from_bits(bits);
        let value = x.to_i128();
        for rounding in ROUNDINGS {
            let mods = FloatMods::new(rounding);
            let expected = Single::from_i128_r(value, round(rounding)).value.bits();
            assert_eq!(u128::from(convert::int_to_f32(x, mods).to_bits()), expected, "f32 {rounding:?} {value}");
            let expected = Double::from_i128_r(value, round(rounding)).value.bits();
            assert_eq!(u128::from(convert::int_to_f64(x, mods).to_bits()), expected, "f64 {rounding:?} {value}");
            let expected = IeeeHalf::from_i128_r(value, round(rounding)).value.bits();
            assert_eq!(u128::from(convert::int_to_half::<S, F16>(x, mods)), expected, "f16 {rounding:?} {value}");
            let expected = BFloat::from_i128_r(value, round(rounding)).value.bits();
            assert_eq!(u128::from(convert::int_to_half::<S, Bf16>(x, mods)), expected, "bf16 {rounding:?} {value}");
        }
        let sat = if value >= 1 { 1.0 } else { 0.0 };
        assert_eq!(convert::int_to_f32(x, FloatMods::RN.with_sat()).to_bits(), f32::to_bits(sat as f32));
        assert_eq!(convert::int_to_f64(x, FloatMods::RN.with_sat()).to_bits(), f64::to_bits(sat));
    }
}

fn check_float_to_int<D: Int>() {
    let expected = |number: Double, nan: bool, rounding: Rounding, nan_is_top: bool| -> i128 {
        let width = D::BITS as usize;
        if nan {
            return if nan_is_top { D::from_bits(1 << (D::BITS - 1)).to_i128() } else { 0 };
        }
        let mut exact = false;
        if D::SIGNED {
            number.to_i128_r(width, round(rounding), &mut exact).value
        } else {
            number.to_u128_r(width, round(rounding), &mut exact).value as i128
        }
    };
    for rounding in ROUNDINGS {
        for bits in SPECIAL_F32.into_iter().chain(tuples_f32::<1>(42, 20_000).into_iter().map(|[x]| x)) {
            let x = f32::from_bits(bits);
            let wide: Double = Single::from_bits(u128::from(bits)).convert(&mut false).value;
            let result: D = convert::f32_to_int(x, rounding, false);
            assert_eq!(result.to_i128(), expected(wide, x.is_nan(), rounding, D::BITS == 64), "{rounding:?} {x:e}");
            if x.is_subnormal() {
                let flushed: D = convert::f32_to_int(x, rounding, true);
                assert_eq!(flushed.to_i128(), 0);
            }
        }
        for bits in SPECIAL_F64.into_iter().chain(tuples_f64::<1>(43, 20_000).into_iter().map(|[x]| x)) {
            let x = f64::from_bits(bits);
            let result: D = convert::f64_to_int(x, rounding);
            let number = Double::from_bits(u128::from(bits));
            assert_eq!(result.to_i128(), expected(number, x.is_nan(), rounding, true), "{rounding:?} {x:e}");
        }
        for bits in 0..=u16::MAX {
            let wide: Double = IeeeHalf::from_bits(u128::from(bits)).convert(&mut false).value;
            let result: D = convert::half_to_int::<F16, D>(bits, rounding);
            assert_eq!(
                result.to_i128(),
                expected(wide, wide.is_nan(), rounding, D::BITS == 64),
                "{rounding:?} {bits:04x}"
            );
        }
    }
}

macro_rules! for_all_types {
    ($check:ident) => {
        $check::<u8>();
        $check::<i8>();
        $check::<u16>();
        $check::<i16>();
        $check::<u32>();
        $check::<i32>();
        $check::<u64>();
        $check::<i64>();
    };
}

#[test]
fn integers_to_integers() {
    fn from<S: Int>() {
        check_int_to_int::<S, u8>();
        check_int_to_int::<S, i8>();
        check_int_to_int::<S, u16>();
        check_int_to_int::<S, i16>();
        check_int_to_int::<S, u32>();
        check_int_to_int::<S, i32>();
        check_int_to_int::<S, u64>();
        check_int_to_int::<S, i64>();
    }
    for_all_types!(from);
}

#[test]
fn integers_to_floats() {
    for_all_types!(check_int_to_float);
}

#[test]
fn floats_to_integers() {
    for_all_types!(check_float_to_int);
}

#[test]
fn nan_to_integer() {
    assert_eq!(convert::f32_to_int::<i32>(f32::NAN, Rounding::Zero, false), 0);
    assert_eq!(convert::f32_to_int::<u64>(f32::NAN, Rounding::Zero, false), 1 << 63);
    assert_eq!(convert::f64_to_int::<u32>(f64::NAN, Rounding::Zero), 1 << 31);
    assert_eq!(convert::f64_to_int::<i16>(f64::NAN, Rounding::Zero), i16::MIN);
}

#[test]
fn f64_to_narrower_floats() {
    for bits in SPECIAL_F64.into_iter().chain(tuples_f64::<1>(44, 40_000).into_iter().map(|[x]| x)) {
        let (x, exact) = (f64::from_bits(bits), Double::from_bits(u128::from(bits)));
        for rounding in ROUNDINGS {
            let single: Single = exact.convert_r(round(rounding), &mut false).value;
            let result = convert::f64_to_f32(x, FloatMods::new(rounding));
            // NaN keeps its sign and the upper bits of its payload.
            let nan = (bits >> 32) as u32 & 0x8000_0000 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x007f_ffff;
            let single = if x.is_nan() { u128::from(nan) } else { single.bits() };
            assert_eq!(u128::from(result.to_bits()), single, "f32 {rounding:?} {x:e}");
            let half: IeeeHalf = exact.convert_r(round(rounding), &mut false).value;
            let result = convert::f64_to_half::<F16>(x, NarrowMods::new(rounding));
            assert_eq!(u128::from(result), half.bits(), "f16 {rounding:?} {x:e}");
            let brain: BFloat = exact.convert_r(round(rounding), &mut false).value;
            let result = convert::f64_to_half::<Bf16>(x, NarrowMods::new(rounding));
            assert_eq!(u128::from(result), brain.bits(), "bf16 {rounding:?} {x:e}");
        }
    }
}

#[test]
fn modifiers_of_float_conversions() {
    let f32_to_f16 = |x, mods| convert::f32_to_half::<F16>(x, mods);
    let relu = NarrowMods { relu: true, ..NarrowMods::RN };
    let satfinite = NarrowMods { satfinite: true, ..NarrowMods::RN };
    let sat = NarrowMods { sat: true, ..NarrowMods::RN };
    let table = [
        // f32, plain, relu, satfinite, sat
        (-1.5f32, 0xbe00, 0x0000, 0xbe00, 0x0000),
        (1.5, 0x3e00, 0x3e00, 0x3e00, 0x3c00),
        (-0.0, 0x8000, 0x0000, 0x8000, 0x0000),
        (1e9, 0x7c00, 0x7c00, 0x7bff, 0x3c00),
        (-1e9, 0xfc00, 0x0000, 0xfbff, 0x0000),
        (f32::INFINITY, 0x7c00, 0x7c00, 0x7bff, 0x3c00),
        (65519.0, 0x7bff, 0x7bff, 0x7bff, 0x3c00),
        (65520.0, 0x7c00, 0x7c00, 0x7bff, 0x3c00),
        (f32::NAN, 0x7fff, 0x7fff, 0x7fff, 0x0000),
        (-f32::NAN, 0x7fff, 0x7fff, 0x7fff, 0x0000),
    ];
    for (x, plain, with_relu, with_satfinite, with_sat) in table {
        assert_eq!(f32_to_f16(x, NarrowMods::RN), plain, "{x}");
        assert_eq!(f32_to_f16(x, relu), with_relu, "{x} relu");
        assert_eq!(f32_to_f16(x, satfinite), with_satfinite, "{x} satfinite");
        assert_eq!(f32_to_f16(x, sat), with_sat, "{x} sat");
    }
    // A subnormal f32 rounded up is the smallest f16, unless flushed first.
    let up = NarrowMods::new(Rounding::Up);
    assert_eq!(f32_to_f16(f32::from_bits(1), up), 1);
    assert_eq!(f32_to_f16(f32::from_bits(1), NarrowMods { ftz: true, ..up }), 0);
    // The first operand goes to the upper half.
    assert_eq!(convert::f32_to_half_x2::<F16>(1.0, 2.0, NarrowMods::RN), 0x3c00_4000);
    assert_eq!(convert::f32_to_half_x2::<Bf16>(1.0, -2.0, relu), 0x3f80_0000);
    assert_eq!(convert::half_to_other_half::<F16, Bf16>(0x3c01, NarrowMods::RN), 0x3f80);
    assert_eq!(convert::half_to_other_half::<Bf16, F16>(0x7f7f, NarrowMods::RN), 0x7c00);
    assert_eq!(convert::half_to_other_half::<Bf16, F16>(0x7f7f, satfinite), 0x7bff);
}

#[test]
fn widening_floats() {
    assert_eq!(convert::f32_to_f64(f32::from_bits(0xffc0_1234), false, false).to_bits(), 0xfff8_0246_8000_0000);
    assert_eq!(convert::f32_to_f64(f32::from_bits(0x7f80_0001), false, false).to_bits(), 0x7ff8_0000_2000_0000);
    assert_eq!(convert::f32_to_f64(f32::from_bits(1), false, false), f64::powi(2.0, -149));
    assert_eq!(convert::f32_to_f64(f32::from_bits(0x8000_0001), true, false).to_bits(), 1 << 63);
    assert_eq!(convert::f32_to_f64(3.0, false, true), 1.0);
    assert_eq!(convert::half_to_f32::<F16>(0x0001, false, false), f32::powi(2.0, -24));
    assert_eq!(convert::half_to_f32::<F16>(0xfe00, false, false).to_bits(), 0x7fff_ffff);
    assert_eq!(convert::half_to_f32::<F16>(0xc000, false, true).to_bits(), 0);
    assert_eq!(convert::half_to_f32::<Bf16>(0x0001, true, false).to_bits(), 0);
    assert_eq!(convert::half_to_f64::<Bf16>(0xc000, false), -2.0);
    assert_eq!(convert::half_to_f64::<F16>(0x4000, true), 1.0);
}

#[test]
fn integral_numbers() {
    let table = [
        // x, to nearest even, toward zero, down, up
        (2.5, 2.0, 2.0, 2.0, 3.0),
        (3.5, 4.0, 3.0, 3.0, 4.0),
        (-2.5, -2.0, -2.0, -3.0, -2.0),
        (-0.25, -0.0, -0.0, -1.0, -0.0),
        (0.75, 1.0, 0.0, 0.0, 1.0),
        (8388609.0, 8388609.0, 8388609.0, 8388609.0, 8388609.0),
        (f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY),
    ];
    for (x, nearest, zero, down, up) in table {
        for (rounding, expected) in ROUNDINGS.into_iter().zip([nearest, zero, down, up]) {
            let single = convert::f32_to_f32(x, Some(rounding), false, false);
            assert_eq!(single.to_bits(), f32::to_bits(expected), "{x} {rounding:?}");
            let double = convert::f64_to_f64(f64::from(x), Some(rounding), false);
            assert_eq!(double.to_bits(), f64::from(expected).to_bits(), "{x} {rounding:?}");
            let half = convert::half_to_half::<F16>(F16::narrow(x, Rounding::Nearest), Some(rounding), false);
            if x.abs() < 100.0 {
                assert_eq!(half, F16::narrow(expected, Rounding::Nearest), "{x} {rounding:?}");
            }
        }
    }
    assert_eq!(convert::f32_to_f32(f32::from_bits(1), Some(Rounding::Up), false, false), 1.0);
    assert_eq!(convert::f32_to_f32(f32::from_bits(1), Some(Rounding::Up), true, false), 0.0);
    assert_eq!(convert::f32_to_f32(f32::from_bits(0xffc0_0001), None, false, false).to_bits(), 0x7fff_ffff);
    assert_eq!(convert::f32_to_f32(-3.0, None, false, true).to_bits(), 0);
}
