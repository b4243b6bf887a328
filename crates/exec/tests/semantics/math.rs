//! The approximate instructions: special values as the instruction set lists them, and the error against f64.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{BFloat, Double, Half as IeeeHalf};
use warplens_exec::semantics::half::{Bf16, F16, Half};
use warplens_exec::semantics::math;
use warplens_isa::Rounding;

use crate::oracle::convert;

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
/// Just above the ties that a correctly rounded result may not cross, in units of the last place.
const NEARLY_ROUNDED: f64 = 0.501;

/// Compares bits, but for NaN, which must be canonical.
fn check(name: &str, f: impl Fn(f32) -> f32, table: &[(f32, f32)]) {
    for &(x, expected) in table {
        let bits = if expected.is_nan() { 0x7fff_ffff } else { expected.to_bits() };
        assert_eq!(f(x).to_bits(), bits, "{name}({x:e}) = {:e}, expected {expected:e}", f(x));
    }
}

fn tiny(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[test]
fn special_values_of_sine_and_cosine() {
    let (low, negative_low) = (tiny(1), tiny(0x8000_0001));
    check("sin", |x| math::sin(x, false), &[(-INF, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, NAN), (NAN, NAN), (low, low)]);
    check("sin.ftz", |x| math::sin(x, true), &[(negative_low, -0.0), (low, 0.0)]);
    check("cos", |x| math::cos(x, false), &[(-INF, NAN), (-0.0, 1.0), (0.0, 1.0), (INF, NAN), (NAN, NAN), (low, 1.0)]);
    check("cos.ftz", |x| math::cos(x, true), &[(negative_low, 1.0), (low, 1.0)]);
}

#[test]
fn special_values_of_logarithm_and_power() {
    let (low, negative_low) = (tiny(1), tiny(0x8000_0001));
    let logarithms = [(-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, -INF), (INF, INF), (NAN, NAN), (1.0, 0.0)];
    check("lg2", |x| math::lg2(x, false), &logarithms);
    check(
        "lg2",
        |x| math::lg2(x, false),
        &[(low, -149.0), (negative_low, NAN), (tiny(0x0040_0000), -127.0), (8.0, 3.0)],
    );
    check("lg2.ftz", |x| math::lg2(x, true), &logarithms);
    check("lg2.ftz", |x| math::lg2(x, true), &[(low, -INF), (negative_low, -INF)]);
    let powers =
        [(-INF, 0.0), (-0.0, 1.0), (0.0, 1.0), (INF, INF), (NAN, NAN), (low, 1.0), (negative_low, 1.0), (5.0, 32.0)];
    check("ex2", |x| math::ex2(x, false), &powers);
    check(
        "ex2",
        |x| math::ex2(x, false),
        &[(-149.0, low), (-150.0, 0.0), (-1e30, 0.0), (128.0, INF), (-127.0, tiny(0x0040_0000))],
    );
    check("ex2.ftz", |x| math::ex2(x, true), &powers);
    check("ex2.ftz", |x| math::ex2(x, true), &[(-127.0, 0.0), (-126.0, tiny(0x0080_0000)), (1e30, INF)]);
}

#[test]
fn special_values_of_roots_and_quotients() {
    let (low, negative_low) = (tiny(1), tiny(0x8000_0001));
    check(
        "rcp",
        |x| math::rcp(x, false),
        &[(-INF, -0.0), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN), (low, INF)],
    );
    check("rcp", |x| math::rcp(x, false), &[(f32::MAX, tiny(0x0020_0000)), (tiny(0x0040_0000), f32::powi(2.0, 127))]);
    check("rcp.ftz", |x| math::rcp(x, true), &[(negative_low, -INF), (low, INF), (f32::MAX, 0.0), (-f32::MAX, -0.0)]);
    check(
        "sqrt",
        |x| math::sqrt(x, false),
        &[(-INF, NAN), (-1.0, NAN), (-0.0, -0.0), (0.0, 0.0), (INF, INF), (NAN, NAN)],
    );
    check("sqrt", |x| math::sqrt(x, false), &[(negative_low, NAN), (tiny(4), f32::powi(2.0, -73) * f32::sqrt(0.5))]);
    check("sqrt.ftz", |x| math::sqrt(x, true), &[(negative_low, -0.0), (low, 0.0)]);
    check(
        "rsqrt",
        |x| math::rsqrt(x, false),
        &[(-INF, NAN), (-1.0, NAN), (-0.0, -INF), (0.0, INF), (INF, 0.0), (NAN, NAN)],
    );
    check("rsqrt", |x| math::rsqrt(x, false), &[(negative_low, NAN), (tiny(2), f32::powi(2.0, 74)), (4.0, 0.5)]);
    check("rsqrt.ftz", |x| math::rsqrt(x, true), &[(negative_low, -INF), (low, INF)]);
    check(
        "tanh",
        math::tanh,
        &[(-INF, -1.0), (-0.0, -0.0), (0.0, 0.0), (INF, 1.0), (NAN, NAN), (low, low), (negative_low, negative_low)],
    );
}

#[test]
fn division_by_large_numbers() {
    let large = f32::powi(2.0, 126);
    let above = large.next_up();
    let div = |a, b| math::div(a, b, false).to_bits();
    assert_eq!(div(large, large), 1.0f32.to_bits());
    assert_eq!(div(1.0, large), tiny(0x0080_0000).to_bits());
    assert_eq!((div(1.0, above), div(-1.0, above), div(-1.0, -above)), (0, 0x8000_0000, 0));
    assert_eq!((div(above, above), div(1.0, INF), div(-1.0, INF)), (0, 0, 0x8000_0000));
    assert_eq!((div(INF, above), div(INF, INF), div(0.0, 0.0)), (0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff));
    assert_eq!((div(1.0, -0.0), div(3.0, 2.0)), ((-INF).to_bits(), 1.5f32.to_bits()));
    assert_eq!(math::div(1.0, tiny(1), true), INF);
    assert_eq!(math::div(tiny(1), 1.0, true), 0.0);
    let full = |a, b| math::div_full(a, b, false).to_bits();
    assert_eq!((full(1.0, above), full(above, above)), (0x007f_ffff, 1.0f32.to_bits()));
    assert_eq!(math::div_full(1.0, f32::powi(2.0, 127), true), 0.0);
}

/// The largest error in units of the last place of f32 results, over every 997th f32.
fn largest_error(name: &str, f: impl Fn(f32) -> f32, reference: impl Fn(f64) -> f64) -> f64 {
    let mut largest = 0.0f64;
    for bits in (0..=u32::MAX).step_by(997) {
        let x = f32::from_bits(bits);
        let (result, exact) = (f(x), reference(f64::from(x)));
        if exact.is_nan() || (exact as f32).is_infinite() {
            assert_eq!(result.is_nan(), exact.is_nan(), "{name}({x:e}) = {result:e}");
            assert!(result.is_nan() || result == exact as f32, "{name}({x:e}) = {result:e}, expected {exact:e}");
            continue;
        }
        let place = (exact as f32).abs().max(f32::MIN_POSITIVE);
        let unit = f64::from(place.next_up()) - f64::from(place);
        let error = ((f64::from(result) - exact) / unit).abs();
        assert!(error < NEARLY_ROUNDED, "{name}({x:e}) = {result:e} is {error} units off {exact:e}");
        largest = largest.max(error);
    }
    largest
}

#[test]
fn results_are_almost_always_correctly_rounded() {
    largest_error("sin", |x| math::sin(x, false), f64::sin);
    largest_error("cos", |x| math::cos(x, false), f64::cos);
    largest_error("lg2", |x| math::lg2(x, false), f64::log2);
    largest_error("ex2", |x| math::ex2(x, false), f64::exp2);
    largest_error("tanh", math::tanh, f64::tanh);
    largest_error("rsqrt", |x| math::rsqrt(x, false), |x| 1.0 / x.sqrt());
    // A bound that nothing meets would test nothing: rounding to nearest comes close to half a unit.
    assert!(largest_error("rcp", |x| math::rcp(x, false), |x| 1.0 / x) > 0.49);
}

#[test]
fn multiples_of_a_quarter_turn() {
    // The f32 nearest to multiples of pi / 2, where the reduced angle is smallest, and the hardest f32 of all.
    for k in 1..20_000 {
        let x = (f64::from(k) * std::f64::consts::FRAC_PI_2) as f32;
        for (result, exact) in [(math::sin(x, false), f64::from(x).sin()), (math::cos(x, false), f64::from(x).cos())] {
            assert!(
                (f64::from(result) - exact).abs() <= exact.abs() * f64::powi(2.0, -23),
                "{x:e}: {result:e} {exact:e}"
            );
        }
    }
    for x in [f32::MAX, 1.0e30, 16367173.0 * f32::powi(2.0, 72)] {
        let (sine, cosine) = (f64::from(x).sin(), f64::from(x).cos());
        assert!((f64::from(math::sin(x, false)) - sine).abs() < 1e-7, "{x:e}");
        assert!((f64::from(math::cos(x, false)) - cosine).abs() < 1e-7, "{x:e}");
    }
}

#[test]
fn every_half_precision_argument() {
    let nearest = |exact: f64| Double::from_bits(u128::from(exact.to_bits()));
    for bits in 0..=u16::MAX {
        let x = f64::from(F16::widen(bits));
        let (power, tangent) = (convert::<_, IeeeHalf>(nearest(x.exp2()), Rounding::Nearest), nearest(x.tanh()));
        assert_eq!(u128::from(math::ex2_half::<F16>(bits, false)), power, "ex2.f16 {x}");
        let tangent = convert::<_, IeeeHalf>(tangent, Rounding::Nearest);
        assert_eq!(u128::from(math::tanh_half::<F16>(bits)), tangent, "tanh.f16 {x}");
        let x = f64::from(Bf16::widen(bits));
        let power = convert::<_, BFloat>(nearest(x.exp2()), Rounding::Nearest);
        assert_eq!(u128::from(math::ex2_half::<Bf16>(bits, false)), power, "ex2.bf16 {x}");
        let tangent = convert::<_, BFloat>(nearest(x.tanh()), Rounding::Nearest);
        assert_eq!(u128::from(math::tanh_half::<Bf16>(bits)), tangent, "tanh.bf16 {x}");
    }
    assert_eq!(math::ex2_half_x2::<F16>(0x3c00_4000, false), 0x4000_4400);
    assert_eq!(math::tanh_half_x2::<Bf16>(0x7f80_8000), 0x3f80_8000);
    // 2^-126 is the smallest normal bf16; with .ftz nothing lies below it.
    assert_eq!(math::ex2_half::<Bf16>(0xc2fc, true), 0x0080);
    assert_eq!(math::ex2_half::<Bf16>(0xc2fe, true), 0);
    assert_eq!(math::ex2_half::<Bf16>(0xc2fe, false), 0x0040);
}
