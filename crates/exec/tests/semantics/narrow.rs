//! The formats below 16 bits and tf32: rounding is checked against the list of all values of the format.

use rustc_apfloat::Float;
use rustc_apfloat::ieee::{Float8E4M3FN, Float8E5M2, Single};
use warplens_exec::semantics::convert::{
    self, NarrowMods, PackType, PackedFormat, f32_to_packed, f32_to_tf32, packed_to_half_x2,
};
use warplens_exec::semantics::half::{Bf16, F16, Half};
use warplens_exec::semantics::round::{Format, Overflow, from_format, to_format};
use warplens_isa::Rounding;

use crate::inputs::tuples_f32;
use crate::oracle;

const SMALL: [(PackedFormat, Format); 5] = [
    (PackedFormat::E4m3, Format::E4M3),
    (PackedFormat::E5m2, Format::E5M2),
    (PackedFormat::E3m2, Format::E3M2),
    (PackedFormat::E2m3, Format::E2M3),
    (PackedFormat::E2m1, Format::E2M1),
];

/// The bits of the nearest finite value; of two equally near ones, the even one.
fn nearest(x: f64, format: Format) -> u32 {
    let magnitude = x.abs().min(1e6);
    let distance = |bits: u32| (from_format(bits, format) - magnitude).abs();
    let best = (0..=format.max_finite)
        .min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))))
        .expect("a format has values");
    best | if x.is_sign_negative() { format.sign() } else { 0 }
}

#[test]
fn values_of_the_small_formats() {
    let maximum = [448.0, 57344.0, 28.0, 7.5, 6.0];
    let least = [1.0 / 512.0, 1.0 / 65536.0, 0.0625, 0.125, 0.5];
    for (i, (_, format)) in SMALL.into_iter().enumerate() {
        assert_eq!(from_format(format.max_finite, format), maximum[i], "{format:?}");
        assert_eq!(from_format(1, format), least[i], "{format:?}");
    }
    for bits in 0..=255u32 {
        let e4m3 = Float8E4M3FN::from_bits(u128::from(bits));
        let e5m2 = Float8E5M2::from_bits(u128::from(bits));
        let single = |x: f64| u128::from((x as f32).to_bits());
        if !e4m3.is_nan() {
            assert_eq!(single(from_format(bits, Format::E4M3)), oracle::convert::<_, Single>(e4m3, Rounding::Nearest));
        }
        if !e5m2.is_nan() {
            assert_eq!(single(from_format(bits, Format::E5M2)), oracle::convert::<_, Single>(e5m2, Rounding::Nearest));
        }
        assert_eq!(e4m3.is_nan(), from_format(bits, Format::E4M3).is_nan());
        assert_eq!(e5m2.is_nan(), from_format(bits, Format::E5M2).is_nan());
    }
}

#[test]
fn small_formats_take_the_nearest_value() {
    for (packed, format) in SMALL {
        let ties = (0..format.max_finite).flat_map(|bits| {
            let middle = ((from_format(bits, format) + from_format(bits + 1, format)) / 2.0) as f32;
            [middle, -middle, middle.next_up(), middle.next_down()]
        });
        let inputs = tuples_f32::<1>(31, 4_000).into_iter().map(|[bits]| f32::from_bits(bits)).chain(ties);
        for x in inputs {
            let expected = match x {
                _ if x.is_nan() => format.nan.unwrap_or(format.max_finite),
                _ if x.is_infinite() => nearest(f64::MAX.copysign(f64::from(x)), format),
                _ => nearest(f64::from(x), format),
            };
            assert_eq!(u32::from(f32_to_packed(0.0, x, packed, false)), expected, "{packed:?} {x:e}");
            let relu = if x.is_nan() || x > 0.0 { expected } else { 0 };
            assert_eq!(u32::from(f32_to_packed(0.0, x, packed, true)), relu, "{packed:?}.relu {x:e}");
        }
    }
}

#[test]
fn pairs_of_small_formats() {
    // 3 and 5 in each format: the first operand goes to the upper element.
    let table = [
        (PackedFormat::E4m3, 0x444a),
        (PackedFormat::E5m2, 0x4245),
        (PackedFormat::E3m2, 0x1215),
        (PackedFormat::E2m3, 0x141a),
        (PackedFormat::E2m1, 0x0056),
    ];
    for (format, expected) in table {
        let from_f32 = f32_to_packed(3.0, if format == PackedFormat::E2m1 { 4.0 } else { 5.0 }, format, false);
        assert_eq!(from_f32, expected, "{format:?}");
        let pair = packed_to_half_x2::<F16>(expected, format, false);
        let low = if format == PackedFormat::E2m1 { 0x4400 } else { 0x4500 };
        assert_eq!(pair, 0x4200_0000 | low, "{format:?}");
        assert_eq!(convert::half_x2_to_packed::<F16>(pair, format, false), expected, "{format:?}");
        let brain = packed_to_half_x2::<Bf16>(expected, format, false);
        assert_eq!(
            brain,
            Bf16::narrow(3.0, Rounding::Nearest) as u32 * 0x1_0000 + if low == 0x4400 { 0x4080 } else { 0x40a0 }
        );
    }
    assert_eq!(packed_to_half_x2::<F16>(0x7fff, PackedFormat::E4m3, false), 0x7fff_7fff);
    assert_eq!(packed_to_half_x2::<F16>(0x7cfc, PackedFormat::E5m2, false), 0x7c00_fc00);
    assert_eq!(packed_to_half_x2::<F16>(0x80b8, PackedFormat::E4m3, true), 0);
}

#[test]
fn without_saturation_the_range_ends_in_infinity_or_nan() {
    let to = |x, format| to_format(x, Rounding::Nearest, format, Overflow::Infinity);
    assert_eq!(to(1e6, Format::E5M2), 0x7c);
    assert_eq!(to(-1e6, Format::E4M3), 0xff);
    assert_eq!(to(464.0, Format::E4M3), 0x7e);
    assert_eq!(to_format(1e6, Rounding::Zero, Format::E5M2, Overflow::Infinity), 0x7b);
}

#[test]
fn tf32() {
    let table = [
        // f32 bits, nearest away, nearest even, toward zero
        (0x3f80_1000, 0x3f80_2000, 0x3f80_0000, 0x3f80_0000),
        (0x3f80_0fff, 0x3f80_0000, 0x3f80_0000, 0x3f80_0000),
        (0x3f80_3000, 0x3f80_4000, 0x3f80_4000, 0x3f80_2000),
        (0xbf80_1000, 0xbf80_2000, 0xbf80_0000, 0xbf80_0000),
        (0x7f7f_ffff, 0x7f80_0000, 0x7f80_0000, 0x7f7f_e000),
        (0x0000_1000, 0x0000_2000, 0x0000_0000, 0x0000_0000),
        (0x7fc0_0001, 0x7fff_ffff, 0x7fff_ffff, 0x7fff_ffff),
        (0xff80_0000, 0xff80_0000, 0xff80_0000, 0xff80_0000),
    ];
    for (bits, away, even, zero) in table {
        let convert = |rounding| f32_to_tf32(f32::from_bits(bits), NarrowMods::new(rounding));
        assert_eq!(convert(Rounding::NearestAway), away, "{bits:08x} rna");
        assert_eq!(convert(Rounding::Nearest), even, "{bits:08x} rn");
        assert_eq!(convert(Rounding::Zero), zero, "{bits:08x} rz");
    }
    let relu = NarrowMods { relu: true, ..NarrowMods::RN };
    assert_eq!((f32_to_tf32(-1.0, relu), f32_to_tf32(-0.0, relu), f32_to_tf32(1.0, relu)), (0, 0, 0x3f80_0000));
    let satfinite = NarrowMods { satfinite: true, ..NarrowMods::RN };
    assert_eq!(f32_to_tf32(f32::NEG_INFINITY, satfinite), 0xff7f_e000);
    assert_eq!(f32_to_tf32(f32::MAX, satfinite), 0x7f7f_e000);
}

#[test]
fn powers_of_two() {
    let table = [
        // f32, toward zero, toward positive infinity, to nearest
        (1.0f32, 127, 127, 127),
        (1.5, 127, 128, 128),
        (1.25, 127, 128, 127),
        (-1.5, 127, 128, 128),
        (f32::MAX, 254, 254, 254),
        (f32::INFINITY, 254, 254, 254),
        (f32::MIN_POSITIVE, 1, 1, 1),
        (f32::from_bits(0x0040_0000), 0, 0, 0),
        (f32::from_bits(0x0040_0001), 0, 1, 0),
        (f32::from_bits(0x0060_0000), 0, 1, 1),
        (f32::from_bits(1), 0, 0, 0),
        (0.0, 0, 0, 0),
        (f32::NAN, 255, 255, 255),
    ];
    for (x, zero, up, nearest) in table {
        let convert = |rounding| convert::f32_to_ue8m0_x2(x, 1.0, rounding, true);
        assert_eq!(convert(Rounding::Zero), zero << 8 | 127, "{x:e} rz");
        assert_eq!(convert(Rounding::Up), up << 8 | 127, "{x:e} rp");
        assert_eq!(convert(Rounding::Nearest), nearest << 8 | 127, "{x:e} rn");
    }
    assert_eq!(convert::f32_to_ue8m0_x2(f32::INFINITY, f32::MAX, Rounding::Up, false), 0xffff);
    assert_eq!(convert::ue8m0_x2_to_bf16_x2(0x7f80), 0x3f80_4000);
    assert_eq!(convert::ue8m0_x2_to_bf16_x2(0xff00), 0x7fff_0040);
    assert_eq!(convert::bf16_x2_to_ue8m0_x2(0x3fc0_4000, Rounding::Up, true), 0x8080);
}

#[test]
fn packing() {
    let to = |bits, signed| PackType { bits, signed };
    assert_eq!(convert::pack(70_000, -5, 0, to(16, false)), 0xffff_0000);
    assert_eq!(convert::pack(70_000, -70_000, 0, to(16, true)), 0x7fff_8000);
    assert_eq!(convert::pack(300, -1, 0x1122_3344, to(8, false)), 0x3344_ff00);
    assert_eq!(convert::pack(300, -300, 0x1122_3344, to(8, true)), 0x3344_7f80);
    assert_eq!(convert::pack(9, -9, 0x1122_3344, to(4, true)), 0x2233_4478);
    assert_eq!(convert::pack(9, 2, 0x1122_3344, to(2, false)), 0x1223_344e);
}
