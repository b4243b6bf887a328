//! Integer instructions against wide arithmetic and bit-by-bit definitions.

use warplens_exec::semantics::integer::{self, Int};
use warplens_isa::PrmtMode;

use crate::inputs::Random;

/// Bit patterns with the ends of all types and all lengths.
fn words(seed: u64, count: usize) -> Vec<u64> {
    let mut random = Random::new(seed);
    let ends = [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, 1 << 63];
    let mut all: Vec<u64> = ends.into_iter().flat_map(|x: u64| [x, !x]).collect();
    all.extend((0..count).map(|_| random.next() >> random.below(64) ^ random.below(2).wrapping_neg()));
    all
}

fn wrap<T: Int>(value: i128) -> T {
    T::from_bits(value as u64)
}

fn clamp<T: Int>(value: i128) -> T {
    wrap(value.max(T::MIN.to_i128()).min(T::MAX.to_i128()))
}

/// The product shifted right, without overflow of 128 bits: high words of 64-bit products are made from halves.
fn product_high<T: Int>(a: T, b: T) -> T {
    let (x, y) = (a.to_i128(), b.to_i128());
    let (x1, x0) = (x >> 32, x & 0xffff_ffff);
    let (y1, y0) = (y >> 32, y & 0xffff_ffff);
    let middle = x1 * y0 + ((x0 * y0) >> 32);
    let high = x1 * y1 + (middle >> 32) + ((x0 * y1 + (middle & 0xffff_ffff)) >> 32);
    if T::BITS == 64 { wrap(high) } else { wrap((x * y) >> T::BITS) }
}

fn check_arithmetic<T: Int>() {
    let words = words(51, 120);
    for &a in &words {
        for &b in &words {
            let (a, b) = (T::from_bits(a), T::from_bits(b));
            let (x, y) = (a.to_i128(), b.to_i128());
            let at = format!("{x} {y}");
            assert_eq!(integer::add(a, b), wrap(x + y), "{at}");
            assert_eq!(integer::sub(a, b), wrap(x - y), "{at}");
            assert_eq!(integer::add_sat(a, b), clamp(x + y), "{at}");
            assert_eq!(integer::sub_sat(a, b), clamp(x - y), "{at}");
            assert_eq!(integer::mul_lo(a, b), wrap(x.wrapping_mul(y)), "{at}");
            assert_eq!(integer::mul_hi(a, b), product_high(a, b), "{at}");
            assert_eq!(integer::mad_lo(a, b, a), wrap(x.wrapping_mul(y).wrapping_add(x)), "{at}");
            assert_eq!(integer::mad_hi(a, b, a), wrap(product_high(a, b).to_i128() + x), "{at}");
            assert_eq!(integer::mad_hi_sat(a, b, a), clamp(product_high(a, b).to_i128() + x), "{at}");
            assert_eq!(integer::sad(a, b, a), wrap(x + (x - y).abs()), "{at}");
            assert_eq!((integer::min(a, b).to_i128(), integer::max(a, b).to_i128()), (x.min(y), x.max(y)), "{at}");
            if y == 0 {
                assert_eq!((integer::div(a, b), integer::rem(a, b)), (wrap(-1), wrap(-1)), "{at}");
            } else {
                assert_eq!((integer::div(a, b), integer::rem(a, b)), (wrap(x / y), wrap(x % y)), "{at}");
            }
            if T::BITS < 64 {
                let c = T::Wide::from_bits(0x1234_5678_9abc_def0);
                assert_eq!(integer::mul_wide(a, b).to_i128(), wrap::<T::Wide>(x * y).to_i128(), "{at}");
                assert_eq!(integer::mad_wide(a, b, c), wrap(x * y + c.to_i128()), "{at}");
            }
            for carry in [false, true] {
                let (p, q) = (u128::from(a.to_bits()), u128::from(b.to_bits()));
                let sum = p + q + u128::from(carry);
                assert_eq!(integer::add_carry(a, b, carry), (wrap(sum as i128), sum >> T::BITS == 1), "{at} {carry}");
                let fits = p >= q + u128::from(!carry);
                assert_eq!(integer::sub_carry(a, b, carry), (wrap(x - y - i128::from(!carry)), fits), "{at} {carry}");
                let low = integer::mul_lo(a, b);
                assert_eq!(integer::mad_lo_carry(a, b, a, carry), integer::add_carry(low, a, carry));
                assert_eq!(integer::mad_hi_carry(a, b, a, carry), integer::add_carry(product_high(a, b), a, carry));
            }
        }
    }
}

fn check_unary<T: Int>() {
    for bits in words(52, 2_000) {
        let a = T::from_bits(bits);
        let x = a.to_i128();
        let bits: Vec<bool> = (0..T::BITS).map(|i| a.to_bits() >> i & 1 == 1).collect();
        assert_eq!((integer::abs(a), integer::neg(a)), (wrap(x.abs()), wrap(-x)), "{x}");
        assert_eq!(integer::relu(a), wrap(x.max(0)), "{x}");
        assert_eq!(integer::cnot(a), wrap(i128::from(x == 0)), "{x}");
        assert_eq!(integer::popc(a) as usize, bits.iter().filter(|&&bit| bit).count(), "{x}");
        assert_eq!(integer::clz(a) as usize, bits.iter().rev().take_while(|&&bit| !bit).count(), "{x}");
        let reversed = bits.iter().fold(0, |sum, &bit| sum << 1 | u64::from(bit));
        assert_eq!(integer::brev(a).to_bits(), reversed, "{x}");
        let interesting = !(T::SIGNED && x < 0);
        let top = bits.iter().rposition(|&bit| bit == interesting).map_or(u32::MAX, |i| i as u32);
        assert_eq!(integer::bfind(a), top, "{x}");
        assert_eq!(integer::bfind_shiftamt(a), if top == u32::MAX { top } else { T::BITS - 1 - top }, "{x}");
        for amount in [0, 1, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 1 << 31, u32::MAX] {
            let left = if amount < 64 { x << amount } else { 0 };
            assert_eq!(integer::shl(a, amount), wrap(if amount < T::BITS { left } else { 0 }), "{x} << {amount}");
            assert_eq!(integer::shr(a, amount), wrap(x >> amount.min(64)), "{x} >> {amount}");
        }
    }
}

fn check_fields<T: Int>() {
    let mut random = Random::new(53);
    let bit = |a: T, i: u32| a.to_bits() >> i & 1 == 1;
    for value in words(54, 100) {
        for _ in 0..60 {
            let (a, b) = (T::from_bits(value), T::from_bits(random.next()));
            let (position, length) = (random.below(70) as u32, random.below(70) as u32);
            let sign = T::SIGNED && length > 0 && bit(a, (position + length - 1).min(T::BITS - 1));
            let mut extracted = 0;
            let mut inserted = 0;
            for i in 0..T::BITS {
                let from_a = if i < length && position + i < T::BITS { bit(a, position + i) } else { sign };
                extracted |= u64::from(from_a) << i;
                let inside = (position..position + length).contains(&i);
                inserted |= u64::from(if inside { bit(a, i - position) } else { bit(b, i) }) << i;
            }
            assert_eq!(integer::bfe(a, position, length).to_bits(), extracted, "bfe {a:?} {position} {length}");
            // Only the low eight bits of position and length count, but for fields of 64 bits, which ptxas makes of others.
            if T::BITS == 32 {
                assert_eq!(integer::bfe(a, position + 256, length + 512).to_bits(), extracted);
            } else {
                assert_eq!(integer::bfi(a, b, position + 256, length), b);
            }
            assert_eq!(integer::bfi(a, b, position, length).to_bits(), inserted, "bfi {a:?} {b:?} {position} {length}");
        }
        let a = T::from_bits(value);
        assert_eq!(integer::bfe(a, 255, 255).to_bits() != 0, T::SIGNED && a < T::default());
        assert_eq!(integer::bfi(a, T::default(), 255, 255), T::default());
    }
}

macro_rules! for_types {
    ($check:ident: $($type:ty)*) => {
        $($check::<$type>();)*
    };
}

#[test]
fn arithmetic() {
    for_types!(check_arithmetic: u16 i16 u32 i32 u64 i64);
}

#[test]
fn single_operand_and_shifts() {
    for_types!(check_unary: u16 i16 u32 i32 u64 i64);
}

#[test]
fn bit_fields() {
    for_types!(check_fields: u32 i32 u64 i64);
}

#[test]
fn twenty_four_bits() {
    assert_eq!(integer::mul24_lo(0xff00_0003u32, 0xff00_0005), 15);
    assert_eq!(integer::mul24_lo(0x00ff_ffffi32, 3), -3);
    assert_eq!(integer::mul24_lo(0x00ff_ffffu32, 0x00ff_ffff), 0xfe00_0001);
    assert_eq!(integer::mul24_hi(0x00ff_ffffu32, 0x00ff_ffff), 0xffff_fe00);
    assert_eq!(integer::mul24_hi(0x0080_0000i32, 0x0080_0000), 0x4000_0000);
    assert_eq!(integer::mad24_lo(2u32, 3, 4), 10);
    assert_eq!(integer::mad24_hi(0x0001_0000u32, 0x0001_0000, 1), 0x0001_0001);
    assert_eq!(integer::mad24_hi_sat(0x0080_0000i32, 0x0080_0000, i32::MAX), i32::MAX);
    assert_eq!(integer::mad24_hi(0x0080_0000i32, 0x0080_0000, i32::MAX), i32::MIN + 0x3fff_ffff);
}

#[test]
fn funnel_shifts() {
    let (low, high) = (0x89ab_cdef, 0x0123_4567);
    for amount in (0..=64).chain([u32::MAX]) {
        let pair = u128::from(high) << 32 | u128::from(low);
        let (clamped, wrapped) = (amount.min(32), amount % 32);
        assert_eq!(integer::shf_l_clamp(low, high, amount), (pair << clamped >> 32) as u32, "{amount}");
        assert_eq!(integer::shf_l_wrap(low, high, amount), (pair << wrapped >> 32) as u32, "{amount}");
        assert_eq!(integer::shf_r_clamp(low, high, amount), (pair >> clamped) as u32, "{amount}");
        assert_eq!(integer::shf_r_wrap(low, high, amount), (pair >> wrapped) as u32, "{amount}");
    }
}

#[test]
fn masks_and_extension() {
    let table = [
        // position, width, clamped, wrapped
        (4, 8, 0x0ff0, 0x0ff0),
        (0, 32, 0xffff_ffff, 0),
        (28, 8, 0xf000_0000, 0xf000_0000),
        (32, 4, 0, 0xf),
        (0, 0, 0, 0),
        (100, 36, 0, 0xf0),
    ];
    for (position, width, clamped, wrapped) in table {
        assert_eq!(integer::bmsk_clamp(position, width), clamped, "{position} {width}");
        assert_eq!(integer::bmsk_wrap(position, width), wrapped, "{position} {width}");
    }
    let table = [
        // value, width, signed clamp, unsigned clamp, signed wrap
        (0x0000_00f8, 8, -8, 0xf8, -8),
        (0x0000_00f8, 4, -8, 8, -8),
        (0x0000_00f8, 3, 0, 0, 0),
        (0x1234_5678, 0, 0, 0, 0),
        (0x8000_0001u32, 32, -0x7fff_ffff, 0x8000_0001, 0),
        (0x8000_0001, 33, -0x7fff_ffff, 0x8000_0001, -1),
    ];
    for (value, width, signed, unsigned, wrapped) in table {
        assert_eq!(integer::szext_clamp(value as i32, width), signed, "{value:x} {width}");
        assert_eq!(integer::szext_clamp(value, width), unsigned, "{value:x} {width}");
        assert_eq!(integer::szext_wrap(value as i32, width), wrapped, "{value:x} {width}");
    }
}

#[test]
fn three_input_logic() {
    let (a, b, c) = (0xf0f0_1234, 0xcccc_5678, 0xaaaa_9abc);
    // The table of a function is the function of these constants.
    let (ta, tb, tc) = (0xf0u8, 0xcc, 0xaa);
    assert_eq!(integer::lop3(a, b, c, ta & tb & tc), a & b & c);
    assert_eq!(integer::lop3(a, b, c, ta ^ tb ^ tc), a ^ b ^ c);
    assert_eq!(integer::lop3(a, b, c, (ta & tb) | (!ta & tc)), (a & b) | (!a & c));
    for table in 0..=255u8 {
        let result = integer::lop3(a, b, c, table);
        for i in 0..32 {
            let index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
            assert_eq!(result >> i & 1, u32::from(table) >> index & 1, "{table:02x} {i}");
        }
    }
}

#[test]
fn nth_set_bit() {
    let mask = 0b1010_0110;
    let table = [
        // base, offset, position
        (0, 1, 1),
        (0, 2, 2),
        (0, 4, 7),
        (0, 5, u32::MAX),
        (2, 1, 2),
        (7, -1, 7),
        (7, -2, 5),
        (6, -1, 5),
        (0, -1, u32::MAX),
        (1, 0, 1),
        (0, 0, u32::MAX),
        (31, 1, u32::MAX),
    ];
    for (base, offset, position) in table {
        assert_eq!(integer::fns(mask, base, offset), position, "{base} {offset}");
    }
}

#[test]
fn byte_permutation() {
    let (a, b) = (0x8382_8180, 0x0706_0504);
    let table = [
        (PrmtMode::Default, 0x3210, 0x8382_8180),
        (PrmtMode::Default, 0x7531, 0x0705_8381),
        (PrmtMode::Default, 0xb8c4, 0xffff_0004),
        (PrmtMode::F4e, 1, 0x0483_8281),
        (PrmtMode::F4e, 6, 0x0504_8382),
        (PrmtMode::B4e, 0, 0x0506_0780),
        (PrmtMode::B4e, 3, 0x8081_8283),
        (PrmtMode::Rc8, 2, 0x8282_8282),
        (PrmtMode::Ecl, 2, 0x8382_8282),
        (PrmtMode::Ecr, 1, 0x8181_8180),
        (PrmtMode::Rc16, 0, 0x8180_8180),
        (PrmtMode::Rc16, 3, 0x8382_8382),
    ];
    for (mode, control, expected) in table {
        assert_eq!(integer::prmt(a, b, control, mode), expected, "{mode:?} {control:x}");
    }
}

#[test]
fn dot_products() {
    let mut random = Random::new(55);
    for _ in 0..2_000 {
        let [a, b, c] = [(); 3].map(|()| random.next() as u32);
        for (a_signed, b_signed) in [(false, false), (false, true), (true, false), (true, true)] {
            let byte = |word: u32, i: usize, signed: bool| {
                let byte = word.to_le_bytes()[i];
                if signed { i64::from(byte as i8) } else { i64::from(byte) }
            };
            let four: i64 = (0..4).map(|i| byte(a, i, a_signed) * byte(b, i, b_signed)).sum();
            assert_eq!(integer::dp4a(a, b, c, a_signed, b_signed), (i64::from(c) + four) as u32);
            let half = |i: usize| {
                let half = (a >> (16 * i)) as u16;
                if a_signed { i64::from(half as i16) } else { i64::from(half) }
            };
            for high in [false, true] {
                let first = if high { 2 } else { 0 };
                let two: i64 = (0..2).map(|i| half(i) * byte(b, first + i, b_signed)).sum();
                assert_eq!(integer::dp2a(a, b, c, a_signed, b_signed, high), (i64::from(c) + two) as u32);
            }
        }
    }
}

#[test]
fn packed_halves() {
    let (a, b) = (0x7fff_ffff, 0x0001_0001);
    assert_eq!(integer::add_x2(a, b), 0x8000_0000);
    assert_eq!(integer::sub_x2(b, a), 0x8002_0002);
    assert_eq!(integer::add_sat_x2::<i16>(a, b), 0x7fff_0000);
    assert_eq!(integer::add_sat_x2::<u16>(a, b), 0x8000_ffff);
    assert_eq!(integer::sub_sat_x2::<u16>(b, a), 0);
    assert_eq!(integer::sub_sat_x2::<i16>(0x8000_0001, b), 0x8000_0000);
    assert_eq!(integer::min_x2::<i16>(a, b), 0x0001_ffff);
    assert_eq!(integer::min_x2::<u16>(a, b), 0x0001_0001);
    assert_eq!(integer::max_x2::<i16>(a, b), 0x7fff_0001);
    assert_eq!(integer::max_x2::<u16>(a, b), 0x7fff_ffff);
    assert_eq!(integer::relu_x2(a), 0x7fff_0000);
    assert_eq!(integer::neg_x2(b), 0xffff_ffff);
}
