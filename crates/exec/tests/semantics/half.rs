//! `semantics::half` against independent arithmetic.

use rustc_apfloat::ieee::{self, Double, Quad, Single};
use rustc_apfloat::{Float, FloatConvert};
use warplens_exec::semantics::MinMaxMods;
use warplens_exec::semantics::half::{self, Bf16, F16, Half, HalfMods, OUT_OF_BOUNDS};
use warplens_isa::Rounding;

use crate::inputs::{Random, tuples_f32};
use crate::oracle::{Format, ROUNDINGS, convert, round};

/// Triples of 16-bit patterns of near exponents, so that sums cancel and products meet addends.
fn triples(seed: u64, count: usize) -> Vec<[u16; 3]> {
    let mut random = Random::new(seed);
    let special =
        [0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x7bff, 0x7c00, 0xfc00, 0x7e01, 0x7f, 0x80, 0x7f7f, 0x7f80, 0xffff];
    (0..count)
        .map(|_| {
            std::array::from_fn(|_| match random.below(8) {
                0 => special[random.below(15) as usize],
                _ => random.next() as u16,
            })
        })
        .collect()
}

fn check<H: Half, R: Format + FloatConvert<Quad>, const N: usize>(
    name: &str,
    inputs: &[[u16; N]],
    reference: impl Fn([R; N]) -> R,
    wide: impl Fn([Quad; N]) -> Quad,
    ours: impl Fn([u16; N], HalfMods) -> u16,
) {
    let flush = |bits: u16| if bits & H::EXPONENT == 0 { bits & 0x8000 } else { bits };
    let from = |bits: u16| R::from_bits(u128::from(bits));
    for &input in inputs {
        let plain = ours(input, HalfMods::RN);
        let expected = reference(input.map(from)).bits() as u16;
        assert_eq!(plain, expected, "{name} {input:04x?}: {plain:04x}, expected {expected:04x}");

        let flushed = input.map(flush);
        let result = reference(flushed.map(from)).bits() as u16;
        let exact = wide(flushed.map(|x| from(x).convert(&mut false).value));
        let ftz = ours(input, HalfMods { ftz: true, ..HalfMods::RN });
        let expected = if is_tiny::<H>(exact) { result & 0x8000 } else { result };
        assert_eq!(ftz, expected, "{name}.ftz {input:04x?}: {ftz:04x}, expected {expected:04x}");

        let one = H::narrow(1.0, Rounding::Nearest);
        let number = H::widen(plain);
        let clamped = if number >= 1.0 {
            one
        } else if number > 0.0 {
            plain
        } else {
            0
        };
        assert_eq!(ours(input, HalfMods { sat: true, ..HalfMods::RN }), clamped, "{name}.sat {input:04x?}");
        let positive = if number.is_nan() || number > 0.0 { plain } else { 0 };
        assert_eq!(ours(input, HalfMods { relu: true, ..HalfMods::RN }), positive, "{name}.relu {input:04x?}");
    }
}

/// Whether a number, rounded to the format's precision with an unbounded exponent, is below its normal range: scaled
/// by 2^16000 the 15-bit exponent of the reference has room, and adding rounds at the format's last place.
fn is_tiny<H: Half>(exact: Quad) -> bool {
    let precision = H::FORMAT.fraction_bits as i32 + 1;
    let bias = (1 << (H::FORMAT.exponent_bits - 1)) - 1;
    let mut exponent = 0;
    if !exact.is_finite() || exact.is_zero() {
        return exact.is_zero();
    }
    let fraction = exact.frexp(&mut exponent).scalbn(precision);
    let rounded = fraction.round_to_integral(rustc_apfloat::Round::NearestTiesToEven).value;
    rounded.abs() < Quad::from_u128(1).value.scalbn(1 - bias - (exponent - precision))
}

fn check_format<H: Half, R: Format + FloatConvert<Quad>>(name: &str) {
    let triples = triples(21, 150_000);
    let pairs: Vec<[u16; 2]> = triples.iter().map(|&[a, b, _]| [a, b]).collect();
    let sum = |[a, b]: [R; 2]| (a + b).value;
    check::<H, R, 2>(&format!("add.{name}"), &pairs, sum, |[a, b]| (a + b).value, |[a, b], m| half::add::<H>(a, b, m));
    let difference = |[a, b]: [R; 2]| (a - b).value;
    check::<H, R, 2>(
        &format!("sub.{name}"),
        &pairs,
        difference,
        |[a, b]| (a - b).value,
        |[a, b], m| half::sub::<H>(a, b, m),
    );
    let product = |[a, b]: [R; 2]| (a * b).value;
    check::<H, R, 2>(
        &format!("mul.{name}"),
        &pairs,
        product,
        |[a, b]| (a * b).value,
        |[a, b], m| half::mul::<H>(a, b, m),
    );
    check::<H, R, 3>(
        &format!("fma.{name}"),
        &triples,
        |[a, b, c]| a.mul_add(b, c).value,
        |[a, b, c]| a.mul_add(b, c).value,
        |[a, b, c], m| half::fma::<H>(a, b, c, m),
    );
}

#[test]
fn f16_arithmetic() {
    check_format::<F16, ieee::Half>("f16");
}

#[test]
fn bf16_arithmetic() {
    check_format::<Bf16, ieee::BFloat>("bf16");
}

#[test]
fn fused_multiply_add_near_ties() {
    // Products that end in a tie of the destination, and addends so small that only their sign matters.
    let mut random = Random::new(22);
    for _ in 0..100_000 {
        let [a, b] = [(); 2].map(|()| 0x3f80 | random.next() as u16 & 0x7f);
        let c = (random.next() as u16 & 0x8000) | (random.below(0x20) as u16) << 7 | random.next() as u16 & 0x7f;
        let reference = ieee::BFloat::from_bits(u128::from(a))
            .mul_add(ieee::BFloat::from_bits(u128::from(b)), ieee::BFloat::from_bits(u128::from(c)));
        assert_eq!(
            u128::from(half::fma::<Bf16>(a, b, c, HalfMods::RN)),
            reference.value.to_bits(),
            "{a:04x} {b:04x} {c:04x}"
        );
    }
    // 1.0078125 * 1.5 = 1.51171875 is a tie of bf16; an addend of 2^-126 decides it.
    let fma = |c| half::fma::<Bf16>(0x3f81, 0x3fc0, c, HalfMods::RN);
    assert_eq!((fma(0x0080), fma(0x8080), fma(0)), (0x3fc2, 0x3fc1, 0x3fc2));
}

#[test]
fn widening_is_exact() {
    for bits in 0..=u16::MAX {
        let f16 = ieee::Half::from_bits(u128::from(bits));
        if f16.is_nan() {
            assert!(F16::widen(bits).is_nan());
        } else {
            assert_eq!(
                u128::from(F16::widen(bits).to_bits()),
                convert::<_, Single>(f16, Rounding::Nearest),
                "{bits:04x}"
            );
        }
        assert_eq!(Bf16::widen(bits).to_bits(), u32::from(bits) << 16);
    }
}

#[test]
fn narrowing_rounds_as_told() {
    let around_every_f16 = (0..0x7c00u16).flat_map(|bits| {
        // Each number, the tie above it, and their neighbours.
        let low = F16::widen(bits).to_bits();
        let middle = ((F16::widen(bits) + F16::widen(bits + 1)) / 2.0).to_bits();
        [low, low + 1, middle.wrapping_sub(1), middle, middle + 1, middle | 1 << 31]
    });
    let inputs = tuples_f32::<1>(23, 50_000).into_iter().map(|[x]| x).chain(around_every_f16);
    for bits in inputs {
        let x = f32::from_bits(bits);
        let exact = Single::from_bits(u128::from(bits));
        for rounding in ROUNDINGS {
            let f16 = u128::from(F16::narrow(x, rounding));
            assert_eq!(f16, convert::<_, ieee::Half>(exact, rounding), "f16 {rounding:?} {x:e}");
            let bf16 = u128::from(Bf16::narrow(x, rounding));
            assert_eq!(bf16, convert::<_, ieee::BFloat>(exact, rounding), "bf16 {rounding:?} {x:e}");
        }
    }
}

#[test]
fn narrowing_from_f64_rounds_once() {
    for [bits] in crate::inputs::tuples_f64::<1>(24, 20_000) {
        let exact = Double::from_bits(u128::from(bits));
        let x = f64::from_bits(bits);
        assert_eq!(u128::from(F16::narrow_odd(x)), convert::<_, ieee::Half>(exact, Rounding::Nearest), "f16 {x:e}");
        assert_eq!(u128::from(Bf16::narrow_odd(x)), convert::<_, ieee::BFloat>(exact, Rounding::Nearest), "bf16 {x:e}");
    }
    // Just above the tie between 1 and 1 + 2^-10, by less than f32 can say.
    assert_eq!(F16::narrow_odd(1.0 + 1.0 / 2048.0 + f64::EPSILON), 0x3c01);
    assert_eq!(F16::narrow_odd(1.0 + 1.0 / 2048.0), 0x3c00);
    assert_eq!(round(Rounding::Nearest), rustc_apfloat::Round::NearestTiesToEven);
}

#[test]
fn out_of_bounds_operands_give_zero() {
    let oob = HalfMods { oob: true, ..HalfMods::RN };
    assert_eq!(half::fma::<F16>(OUT_OF_BOUNDS, 0x3c00, 0x3c00, oob), 0);
    assert_eq!(half::fma::<F16>(0x3c00, OUT_OF_BOUNDS | 0x8000, 0x3c00, oob), 0);
    // Only factors are looked at.
    assert_eq!(half::fma::<F16>(0x3c00, 0x3c00, OUT_OF_BOUNDS, oob), 0x7fff);
    assert_eq!(half::fma::<F16>(0x3c00, 0x3c00, 0x3c00, oob), 0x4000);
    assert_eq!(half::fma::<F16>(0x7fff, 0x3c00, 0x3c00, oob), 0x7fff);
    assert_eq!(half::fma::<F16>(OUT_OF_BOUNDS, 0x3c00, 0x3c00, HalfMods::RN), 0x7fff);
}

#[test]
fn signs_and_extremes() {
    let plain = MinMaxMods::default();
    let nan = MinMaxMods { nan: true, ..plain };
    let xorsign = MinMaxMods { xorsign_abs: true, ..plain };
    let ftz = MinMaxMods { ftz: true, ..plain };
    let table = [
        // a, b, modifiers, minimum, maximum
        (0x3c00, 0x4000, plain, 0x3c00, 0x4000),
        (0x3c00, 0xc000, plain, 0xc000, 0x3c00),
        (0xbc00, 0xc000, plain, 0xc000, 0xbc00),
        (0x0000, 0x8000, plain, 0x8000, 0x0000),
        (0x8000, 0x0000, plain, 0x8000, 0x0000),
        (0x7e00, 0x3c00, plain, 0x3c00, 0x3c00),
        (0xbc00, 0xfe00, plain, 0xbc00, 0xbc00),
        (0x7e00, 0xfe01, plain, 0x7fff, 0x7fff),
        (0x7e00, 0x3c00, nan, 0x7fff, 0x7fff),
        (0x3c00, 0xfe00, nan, 0x7fff, 0x7fff),
        (0x3c00, 0xc000, xorsign, 0xbc00, 0xc000),
        (0xbc00, 0xc000, xorsign, 0x3c00, 0x4000),
        (0x0001, 0x8001, ftz, 0x8000, 0x0000),
        (0x0001, 0x8001, plain, 0x8001, 0x0001),
    ];
    for (a, b, mods, min, max) in table {
        assert_eq!(half::min::<F16>(a, b, mods), min, "min {a:04x} {b:04x} {mods:?}");
        assert_eq!(half::max::<F16>(a, b, mods), max, "max {a:04x} {b:04x} {mods:?}");
    }
    assert_eq!(half::max::<Bf16>(0x7f80, 0x7f81, plain), 0x7f80);
    for bits in 0..=u16::MAX {
        let is_nan = F16::widen(bits).is_nan();
        assert_eq!(half::neg::<F16>(bits, false), if is_nan { 0x7fff } else { bits ^ 0x8000 });
        assert_eq!(half::abs::<F16>(bits, false), if is_nan { 0x7fff } else { bits & 0x7fff });
    }
    assert_eq!((half::neg::<F16>(0x0001, true), half::abs::<F16>(0x8001, true)), (0x8000, 0));
}

#[test]
fn pairs_work_on_both_halves() {
    let mods = HalfMods::RN;
    assert_eq!(half::add_x2::<F16>(0x3c00_4000, 0x4000_c000, mods), 0x4200_0000);
    assert_eq!(half::sub_x2::<F16>(0x3c00_4000, 0x4000_c000, mods), 0xbc00_4400);
    assert_eq!(half::mul_x2::<F16>(0x3c00_4000, 0x4000_c000, mods), 0x4000_c400);
    assert_eq!(half::fma_x2::<F16>(0x3c00_4000, 0x4000_4000, 0x3c00_0000, mods), 0x4200_4400);
    assert_eq!(half::min_x2::<F16>(0x3c00_4000, 0x4000_c000, MinMaxMods::default()), 0x3c00_c000);
    assert_eq!(half::max_x2::<Bf16>(0x3c00_4000, 0x4000_c000, MinMaxMods::default()), 0x4000_4000);
    assert_eq!(half::neg_x2::<F16>(0x3c00_c000, false), 0xbc00_4000);
    assert_eq!(half::abs_x2::<Bf16>(0x3c00_c000, false), 0x3c00_4000);
    assert_eq!(half::map1(0x0001_0002, |x| x + 1), 0x0002_0003);
    assert_eq!(half::map2(0x0001_0002, 0x0010_0020, |x, y| x + y), 0x0011_0022);
}
