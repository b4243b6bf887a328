//! `semantics::float32` against independent arithmetic.

use std::hint::black_box;

use rustc_apfloat::ieee::{Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round};
use warplens_exec::semantics::round::NAN_F32;
use warplens_exec::semantics::{FloatMods, MinMaxMods};
use warplens_exec::semantics::{float32, math};
use warplens_isa::{Rounding, TestProperty};

use crate::inputs::{SPECIAL_F32, pairs_f32, tuples_f32};
use crate::oracle::{Format, ROUNDINGS, is_sqrt, round};

fn single(bits: u32) -> Single {
    Single::from_bits(u128::from(bits))
}

fn flush(bits: u32) -> u32 {
    if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits }
}

/// The reference with the modifiers: inputs flushed, result below the normal range (of unbounded exponent) flushed,
/// saturated, NaN canonical. `f` is evaluated on numbers scaled by 2^`scale` to tell the latter.
fn check<const N: usize>(
    name: &str,
    inputs: &[[u32; N]],
    reference: impl Fn([Single; N], Round) -> Single,
    wide: impl Fn([Quad; N], Round) -> Quad,
    ours: impl Fn([f32; N], FloatMods) -> f32,
) {
    for &input in inputs {
        for rounding in ROUNDINGS {
            let plain = ours(input.map(f32::from_bits), FloatMods::new(rounding)).to_bits();
            let expected = reference(input.map(single), round(rounding)).bits() as u32;
            assert_eq!(plain, expected, "{name} {rounding:?} {input:08x?}: {plain:08x}, expected {expected:08x}");

            let flushed = input.map(flush);
            let result = reference(flushed.map(single), round(rounding)).bits() as u32;
            let exact = wide(flushed.map(|x| single(x).convert(&mut false).value), round(rounding));
            let expected = if is_tiny(exact, rounding) { result & 0x8000_0000 } else { result };
            let ftz = ours(input.map(f32::from_bits), FloatMods::new(rounding).with_ftz()).to_bits();
            assert_eq!(ftz, expected, "{name}.ftz {rounding:?} {input:08x?}: {ftz:08x}, expected {expected:08x}");

            let number = f32::from_bits(plain);
            let clamped = if number >= 1.0 {
                1.0
            } else if number > 0.0 {
                number
            } else {
                0.0f32
            };
            let sat = ours(input.map(f32::from_bits), FloatMods::new(rounding).with_sat()).to_bits();
            assert_eq!(sat, clamped.to_bits(), "{name}.sat {rounding:?} {input:08x?}");
        }
    }
}

/// Whether a number, rounded to 24 bits with an unbounded exponent, is below 2^-126. `exact` has 113 bits,
/// rounded in the same mode.
fn is_tiny(exact: Quad, rounding: Rounding) -> bool {
    let scaled = exact.scalbn(64);
    let rounded: Single = scaled.convert_r(round(rounding), &mut false).value;
    rounded.abs() < Single::from_bits(0x0080_0000).scalbn(64)
}

#[test]
fn sums() {
    let inputs = pairs_f32(1, 20_000);
    check(
        "add",
        &inputs,
        |[a, b], r| a.add_r(b, r).value,
        |[a, b], r| a.add_r(b, r).value,
        |[a, b], m| float32::add(a, b, m),
    );
    check(
        "sub",
        &inputs,
        |[a, b], r| a.sub_r(b, r).value,
        |[a, b], r| a.sub_r(b, r).value,
        |[a, b], m| float32::sub(a, b, m),
    );
}

#[test]
fn products() {
    let inputs = pairs_f32(2, 30_000);
    check(
        "mul",
        &inputs,
        |[a, b], r| a.mul_r(b, r).value,
        |[a, b], r| a.mul_r(b, r).value,
        |[a, b], m| float32::mul(a, b, m),
    );
}

#[test]
fn products_near_the_smallest_normal_number() {
    let inputs: Vec<[u32; 2]> = (0..2000).map(|i| [0x3f00_0000 - 1000 + i, 0x0100_0000 + (i * 7919) % 64]).collect();
    check(
        "mul",
        &inputs,
        |[a, b], r| a.mul_r(b, r).value,
        |[a, b], r| a.mul_r(b, r).value,
        |[a, b], m| float32::mul(a, b, m),
    );
}

#[test]
fn fused_multiply_add() {
    let inputs = tuples_f32::<3>(3, 60_000);
    check(
        "fma",
        &inputs,
        |[a, b, c], r| a.mul_add_r(b, c, r).value,
        |[a, b, c], r| a.mul_add_r(b, c, r).value,
        |[a, b, c], m| float32::fma(a, b, c, m),
    );
}

#[test]
fn quotients() {
    let inputs = pairs_f32(4, 20_000);
    check(
        "div",
        &inputs,
        |[a, b], r| a.div_r(b, r).value,
        |[a, b], r| a.div_r(b, r).value,
        |[a, b], m| float32::div(a, b, m),
    );
    let inputs: Vec<[u32; 1]> = inputs.iter().map(|&[a, _]| [a]).collect();
    let one = || Single::from_bits(0x3f80_0000);
    let wide_one = || Quad::from_bits(0x3fff << 112);
    check(
        "rcp",
        &inputs,
        |[a], r| one().div_r(a, r).value,
        |[a], r| wide_one().div_r(a, r).value,
        |[a], m| float32::rcp(a, m),
    );
}

#[test]
fn square_roots() {
    for [bits, _] in pairs_f32(5, 20_000) {
        let x = f32::from_bits(bits);
        for rounding in ROUNDINGS {
            let root = float32::sqrt(x, FloatMods::new(rounding));
            if x.is_nan() || x < 0.0 {
                assert_eq!(root.to_bits(), 0x7fff_ffff);
            } else if x == 0.0 || x.is_infinite() {
                assert_eq!(root.to_bits(), bits);
            } else {
                let [down, up] = [root.next_down(), root.next_up()].map(f64::from);
                assert!(
                    is_sqrt(f64::from(x), f64::from(root), down, up, rounding),
                    "sqrt {rounding:?} {x:e}: {root:e}"
                );
            }
        }
    }
    assert_eq!(float32::sqrt(f32::from_bits(1), FloatMods::RN_FTZ), 0.0);
    assert_eq!(float32::sqrt(f32::from_bits(0x8000_0001), FloatMods::RN_FTZ).to_bits(), 0x8000_0000);
}

/// A function of one operation, which the compiler may fit to the host's instruction as a whole.
#[inline(never)]
fn root_to_nearest(x: f32) -> f32 {
    float32::sqrt(x, FloatMods::RN)
}

#[inline(never)]
fn approximate_root(x: f32) -> f32 {
    math::sqrt(x, false)
}

#[test]
fn the_nan_of_a_square_root_is_not_the_hosts() {
    for bits in [0xff80_0000, 0xbf80_0000, 0x7fc0_0000, 0x7f80_0001, 0xffc1_2345] {
        let x = black_box(f32::from_bits(bits));
        assert_eq!(root_to_nearest(x).to_bits(), NAN_F32, "sqrt.rn {bits:08x}");
        assert_eq!(approximate_root(x).to_bits(), NAN_F32, "sqrt.approx {bits:08x}");
    }
}

#[test]
fn minimum_and_maximum() {
    let plain = MinMaxMods::default();
    let nan = MinMaxMods { nan: true, ..plain };
    let xorsign = MinMaxMods { xorsign_abs: true, ..plain };
    let ftz = MinMaxMods { ftz: true, ..plain };
    let (one, two, minus_two, zero, minus_zero) = (0x3f80_0000, 0x4000_0000, 0xc000_0000, 0, 0x8000_0000);
    let (quiet, other, canonical) = (0x7fc0_0000, 0xffc1_2345, 0x7fff_ffff);
    let table = [
        // a, b, modifiers, minimum, maximum
        (one, two, plain, one, two),
        (two, minus_two, plain, minus_two, two),
        (zero, minus_zero, plain, minus_zero, zero),
        (minus_zero, zero, plain, minus_zero, zero),
        (quiet, one, plain, one, one),
        (one, quiet, plain, one, one),
        (minus_zero, quiet, plain, minus_zero, minus_zero),
        (quiet, other, plain, canonical, canonical),
        (quiet, one, nan, canonical, canonical),
        (one, quiet, nan, canonical, canonical),
        (one, minus_two, xorsign, 0xbf80_0000, minus_two),
        (minus_two, 0xbf80_0000, xorsign, one, two),
        (quiet, minus_two, xorsign, minus_two, minus_two),
        (other, minus_two, xorsign, two, two),
        (quiet, other, xorsign, canonical, canonical),
        (1, 0x8000_0001, ftz, minus_zero, zero),
        (1, 0x8000_0001, plain, 0x8000_0001, 1),
        (0x7f80_0000, 0xff80_0000, plain, 0xff80_0000, 0x7f80_0000),
    ];
    for (a, b, mods, min, max) in table {
        let [a, b]: [f32; 2] = [a, b].map(f32::from_bits);
        assert_eq!(float32::min(a, b, mods).to_bits(), min, "min {a} {b} {mods:?}");
        assert_eq!(float32::max(a, b, mods).to_bits(), max, "max {a} {b} {mods:?}");
    }
}

#[test]
fn three_inputs() {
    let plain = MinMaxMods::default();
    let abs = MinMaxMods { xorsign_abs: true, ..plain };
    let nan = MinMaxMods { nan: true, ..plain };
    assert_eq!(float32::min3(1.0, -2.0, 3.0, plain), -2.0);
    assert_eq!(float32::max3(1.0, -2.0, 3.0, plain), 3.0);
    assert_eq!(float32::min3(-1.0, -2.0, -3.0, abs), 1.0);
    assert_eq!(float32::max3(-1.0, -2.0, -3.0, abs), 3.0);
    assert_eq!(float32::max3(f32::NAN, -2.0, f32::NAN, plain), -2.0);
    assert_eq!(float32::max3(1.0, f32::NAN, 2.0, nan).to_bits(), 0x7fff_ffff);
    assert_eq!(float32::min3(1.0, 2.0, f32::NAN, nan).to_bits(), 0x7fff_ffff);
}

#[test]
fn signs() {
    for bits in SPECIAL_F32 {
        let x = f32::from_bits(bits);
        if x.is_nan() {
            let results =
                [float32::neg(x, false), float32::abs(x, false), float32::neg(x, true), float32::abs(x, true)];
            assert_eq!(results.map(f32::to_bits), [0x7fff_ffff; 4]);
            continue;
        }
        assert_eq!(float32::neg(x, false).to_bits(), bits ^ 0x8000_0000);
        assert_eq!(float32::abs(x, false).to_bits(), bits & 0x7fff_ffff);
        assert_eq!(float32::neg(x, true).to_bits(), flush(bits) ^ 0x8000_0000);
        assert_eq!(float32::abs(x, true).to_bits(), flush(bits) & 0x7fff_ffff);
    }
    // The sign comes from the first operand, the magnitude from the second.
    assert_eq!(float32::copysign(-1.0, 2.0), -2.0);
    assert_eq!(float32::copysign(1.0, -2.0), 2.0);
    assert_eq!(float32::copysign(-0.0, f32::INFINITY), f32::NEG_INFINITY);
}

#[test]
fn properties() {
    use TestProperty::{Finite, Infinite, Normal, NotANumber, Number, Subnormal};
    let table: [(u32, &[TestProperty]); 6] = [
        (0x0000_0000, &[Finite, Number, Normal]),
        (0x8000_0000, &[Finite, Number, Normal]),
        (0x0000_0001, &[Finite, Number, Subnormal]),
        (0xc000_0000, &[Finite, Number, Normal]),
        (0xff80_0000, &[Infinite, Number]),
        (0x7f80_0001, &[NotANumber]),
    ];
    for (bits, holds) in table {
        for property in [Finite, Infinite, Number, NotANumber, Normal, Subnormal] {
            assert_eq!(
                float32::testp(f32::from_bits(bits), property),
                holds.contains(&property),
                "{bits:08x} {property:?}"
            );
        }
    }
}

#[test]
fn flushing_asks_for_the_result_before_the_coarser_grid() {
    // As the PTX assembler folds these: 2^-126 (1 - 2^-24) flushes although the subnormal grid rounds it up to a normal
    // number; 2^-126 (1 - 2^-46) does not, because 24 bits round it to 2^-126.
    let mul = |a, b| float32::mul(f32::from_bits(a), f32::from_bits(b), FloatMods::RN_FTZ).to_bits();
    assert_eq!(mul(0x00ff_ffff, 0x3f00_0000), 0);
    assert_eq!(mul(0x0080_0001, 0x3f7f_fffe), 0x0080_0000);
    let plain = float32::mul(f32::from_bits(0x00ff_ffff), 0.5, FloatMods::RN).to_bits();
    assert_eq!(plain, 0x0080_0000);
}

#[test]
fn packed_pairs() {
    let pair = |low: f32, high: f32| u64::from(high.to_bits()) << 32 | u64::from(low.to_bits());
    let (a, b) = (pair(1.0, -2.0), pair(3.0, 5.0));
    assert_eq!(float32::add_x2(a, b, FloatMods::RN), pair(4.0, 3.0));
    assert_eq!(float32::sub_x2(a, b, FloatMods::RN), pair(-2.0, -7.0));
    assert_eq!(float32::mul_x2(a, b, FloatMods::RN), pair(3.0, -10.0));
    assert_eq!(float32::fma_x2(a, b, pair(0.5, 10.0), FloatMods::RN), pair(3.5, 0.0));
}
