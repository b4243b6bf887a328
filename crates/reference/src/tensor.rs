//! Products of matrices, written from what is known of the hardware: terms are kept as f64, which holds each exactly, and
//! are cut to multiples of a unit by division.

use warplens_exec::TensorCores;
use warplens_exec::engine::LaneValues;
use warplens_isa::{BoolOp, FusedMultiplyAdd, MatrixProduct, MatrixType as M, Rounding};

use crate::exact::F64;
use crate::{float, group};

/// The fragment of d.
pub(crate) fn product(cores: TensorCores, product: &MatrixProduct, fragments: &[LaneValues]) -> Vec<LaneValues> {
    if product.is_by_quads() {
        return group::quads(cores, product, fragments);
    }
    let [d_type, a_type, b_type, c_type] = product.types;
    let [n_d, n_a, n_b, n_c] = product.registers();
    let [m, n, k] = [product.shape.m, product.shape.n, product.shape.k].map(usize::from);
    let held = if product.sparsity.is_some() { k / 2 } else { k };
    let mut a = vec![vec![0; held]; m];
    let mut b = vec![vec![0; n]; k];
    let mut c = vec![vec![0; n]; m];
    for lane in 0..32 {
        let (group, thread) = (lane / 4, lane % 4);
        for (register, values) in fragments[..n_a].iter().enumerate() {
            let row = if m == 16 { group + 8 * (register % 2) } else { group };
            let step = if m == 16 { register / 2 } else { register };
            let elements = split(values[lane], a_type);
            let first = (step * 4 + thread) * elements.len();
            elements.into_iter().enumerate().for_each(|(at, bits)| a[row][first + at] = bits);
        }
        for (register, values) in fragments[n_a..][..n_b].iter().enumerate() {
            let elements = split(values[lane], b_type);
            let first = (register * 4 + thread) * elements.len();
            elements.into_iter().enumerate().for_each(|(at, bits)| b[first + at][group] = bits);
        }
        let elements = fragments[n_a + n_b..][..n_c].iter().flat_map(|values| split(values[lane], c_type));
        elements.enumerate().for_each(|(at, bits)| c[group + 8 * (at / 2)][2 * thread + at % 2] = bits);
    }
    let depths = fragments.get(n_a + n_b + n_c).map(|metadata| depths_held(product, metadata));
    let element = |row: usize, column: usize| {
        let depth_of = |at: usize| depths.as_ref().map_or(at, |depths| depths[row][at]);
        let pairs: Vec<(u64, u64)> = (0..held).map(|at| (a[row][at], b[depth_of(at)][column])).collect();
        element(Precision::Of(cores), product, c[row][column], &pairs)
    };
    let mut d = vec![[0; 32]; n_d];
    let count = m * n / 32;
    let width = if d_type == M::F16 { 2 } else { 1 };
    for (lane, at) in (0..32).flat_map(|lane| (0..count).map(move |at| (lane, at))) {
        let bits = element(lane / 4 + 8 * (at / 2), lane % 4 * 2 + at % 2);
        d[at / width][lane] |= bits << (16 * (at % width));
    }
    d
}

/// For each row of a sparse matrix the depths at which its elements stand that are held, in the order in which they are.
///
/// Lane by lane: what of the matrix the metadata of a lane are about depends on where the lane stands among those of its
/// four that have any.
pub(crate) fn depths_held(product: &MatrixProduct, metadata: &LaneValues) -> Vec<Vec<usize>> {
    let [k, ty] = [usize::from(product.shape.k), product.types[1].bits() as usize];
    let selector = product.sparsity.map_or(0, |sparsity| usize::from(sparsity.selector));
    // Elements of a group, and lanes that have metadata.
    let (group, n_lanes) = match ty {
        32 => (2, k / 8),
        16 => (4, k / 16),
        8 => (4, k / 16),
        _ => (8, k / 32),
    };
    let mut rows = vec![vec![0; k / 2]; 16];
    for lane in (0..32).filter(|lane| lane % 4 / n_lanes == selector) {
        let part = lane % 4 % n_lanes;
        for nibble in 0..8 {
            let (row, number) = if ty >= 16 {
                (lane / 4 + if nibble >= 4 { 8 } else { 0 }, 4 * part + nibble % 4)
            } else {
                (lane / 4 + if part % 2 == 1 { 8 } else { 0 }, 8 * (part / 2) + nibble)
            };
            let bits = (metadata[lane] >> (4 * nibble)) as usize;
            let (low, high) = (bits % 4, bits / 4 % 4);
            let places = match group {
                2 => vec![low / 2],
                4 => vec![low, high],
                _ => vec![low * 2, low * 2 + 1, high * 2, high * 2 + 1],
            };
            for (at, place) in places.into_iter().enumerate() {
                rows[row][number * group / 2 + at] = number * group + place;
            }
        }
    }
    rows
}

/// How floats are summed.
#[derive(Clone, Copy)]
pub(crate) enum Precision {
    /// As products of one warp are.
    Of(TensorCores),
    /// As products of fp8 of four warps are: 32 at once, with 13 bits.
    GroupsOfBytes,
}

/// One result: the accumulator and the products of the pairs.
pub(crate) fn element(precision: Precision, product: &MatrixProduct, c: u64, pairs: &[(u64, u64)]) -> u64 {
    match (product.types[0], precision) {
        (M::F64, _) => chain(c, pairs, product.rounding),
        (M::S32, _) => integers(product, c, pairs),
        (_, Precision::Of(cores)) => floats(cores, product, c, pairs),
        (_, Precision::GroupsOfBytes) => pairs.chunks(32).fold(c, |sum, pairs| block(13, product, sum, pairs)),
    }
}

/// One result of a product of depth four.
pub(crate) fn of_four(cores: TensorCores, product: &MatrixProduct, c: u64, pairs: &[(u64, u64)]) -> u64 {
    let [d_type, _, _, c_type] = product.types;
    let single = |bits: u64, ty: M| value(bits, ty).0 as f32;
    let bits = match cores {
        TensorCores::Volta => 23,
        TensorCores::Turing => 24,
        _ => {
            let (c, pairs): (f32, Vec<(f32, f32)>) =
                (single(c, c_type), pairs.iter().map(|&(a, b)| (single(a, M::F16), single(b, M::F16))).collect());
            let two = |at: usize| pairs[at + 1].0.mul_add(pairs[at + 1].1, pairs[at].0 * pairs[at].1);
            return match d_type {
                M::F16 => nearest(f64::from(c + two(0) + two(2)), d_type),
                _ => nearest(f64::from(c + pairs.iter().fold(0.0, |sum, (a, b)| a.mul_add(*b, sum))), d_type),
            };
        }
    };
    let c = if c_type == d_type { c } else { single(c, c_type).to_bits().into() };
    block(bits, product, c, pairs)
}

/// The 16 rows of a first factor that the lanes hold.
pub(crate) fn rows(held: &[LaneValues], ty: M, depth: usize) -> Vec<Vec<u64>> {
    let mut rows = vec![vec![0; depth]; 16];
    for lane in 0..32 {
        for (register, values) in held.iter().enumerate() {
            let elements = split(values[lane], ty);
            let first = (register / 2 * 4 + lane % 4) * elements.len();
            let row = &mut rows[lane / 4 + 8 * (register % 2)];
            elements.into_iter().enumerate().for_each(|(at, bits)| row[first + at] = bits);
        }
    }
    rows
}

/// The elements of a register, lowest first.
fn split(register: u64, ty: M) -> Vec<u64> {
    match ty.bits() {
        64 => vec![register],
        bits => (0..32 / bits).map(|at| (register >> (at * bits)) % (1 << bits)).collect(),
    }
}

fn chain(c: u64, pairs: &[(u64, u64)], rounding: Rounding) -> u64 {
    let how = FusedMultiplyAdd { rounding, ..FusedMultiplyAdd::default() };
    // Of NaN that of b counts before that of the sum, and this before that of a.
    pairs.iter().fold(c, |sum, &(a, b)| float::fused(F64, [b, a, sum], &how))
}

fn integers(product: &MatrixProduct, c: u64, pairs: &[(u64, u64)]) -> u64 {
    let value = |bits: u64, ty: M| match ty {
        M::S8 => i64::from(bits as u8 as i8),
        M::S4 if bits >= 8 => bits as i64 - 16,
        _ => bits as i64,
    };
    let [_, a_type, b_type, _] = product.types;
    let mut sum = i64::from(c as u32 as i32);
    for &(a, b) in pairs {
        sum += match product.combination {
            Some(BoolOp::And) => i64::from(a == 1 && b == 1),
            Some(BoolOp::Xor) => i64::from(a != b),
            Some(BoolOp::Or) => i64::from(a == 1 || b == 1),
            None => value(a, a_type) * value(b, b_type),
        };
    }
    match product.satfinite {
        true if sum > i64::from(i32::MAX) => 0x7fff_ffff,
        true if sum < i64::from(i32::MIN) => 0x8000_0000,
        _ => sum as u64 & 0xffff_ffff,
    }
}

/// Exponent bits and fraction bits.
fn fields(ty: M) -> (u32, u32) {
    match ty {
        M::F16 => (5, 10),
        M::Bf16 => (8, 7),
        M::Tf32 | M::F32 => (8, 23),
        M::E4m3 => (4, 3),
        M::E5m2 => (5, 2),
        M::E3m2 => (3, 2),
        M::E2m3 => (2, 3),
        M::E2m1 => (2, 1),
        _ => unreachable!("the others are no floats of a fused sum"),
    }
}

/// The value, and the exponent: that of the smallest normal numbers for what is below them.
fn value(bits: u64, ty: M) -> (f64, i32) {
    let (exponent_bits, fraction_bits) = fields(ty);
    let bits = match ty {
        M::Tf32 => bits & !0x1fff,
        // In the middle of its byte.
        M::E2m1 => bits / 4,
        _ => bits,
    };
    let fraction = bits % (1 << fraction_bits);
    let field = (bits >> fraction_bits) % (1 << exponent_bits);
    let sign = if bits >> (fraction_bits + exponent_bits) & 1 == 1 { -1.0 } else { 1.0 };
    let bias = (1 << (exponent_bits - 1)) - 1;
    let exponent = (field as i32).max(1) - bias;
    let is_last = field == (1 << exponent_bits) - 1;
    let magnitude = match ty {
        M::E4m3 if is_last && fraction == 7 => f64::NAN,
        M::E4m3 | M::E3m2 | M::E2m3 | M::E2m1 => normal(field, fraction, fraction_bits, exponent),
        _ if is_last && fraction != 0 => f64::NAN,
        _ if is_last => f64::INFINITY,
        _ => normal(field, fraction, fraction_bits, exponent),
    };
    (sign * magnitude, exponent)
}

fn normal(field: u64, fraction: u64, fraction_bits: u32, exponent: i32) -> f64 {
    let leading = if field == 0 { 0.0 } else { 1.0 };
    (leading + fraction as f64 / (1u64 << fraction_bits) as f64) * 2f64.powi(exponent)
}

fn floats(cores: TensorCores, product: &MatrixProduct, c: u64, pairs: &[(u64, u64)]) -> u64 {
    use TensorCores as T;
    let [d_type, a_type, b_type, _] = product.types;
    let is_fp8 = matches!(a_type, M::E4m3 | M::E5m2 | M::E3m2 | M::E2m3 | M::E2m1);
    let is_old = matches!(cores, T::Volta | T::Turing | T::Ampere | T::Ada);
    let bits = match cores {
        T::Volta => 23,
        T::Ada if is_fp8 => 13,
        _ if is_old => 24,
        _ => 25,
    };
    if is_fp8 && matches!(cores, T::Hopper | T::Blackwell) {
        // The elements become f16 before.
        let single = |bits: u64, ty: M| nearest(value(bits, ty).0, M::F16);
        let pairs: Vec<(u64, u64)> = pairs.iter().map(|&(a, b)| (single(a, a_type), single(b, b_type))).collect();
        let of_f16 = MatrixProduct { types: [d_type, M::F16, M::F16, d_type], ..*product };
        let mut sum = 0;
        for odd in [false, true] {
            let half: Vec<(u64, u64)> = (0..pairs.len()).filter(|at| (at % 4 > 1) == odd).map(|at| pairs[at]).collect();
            sum = block(bits, &of_f16, sum, &half);
        }
        let total = value(sum, d_type).0 + value(c, d_type).0;
        return nearest(total, d_type);
    }
    let length = match a_type {
        M::Tf32 => {
            if is_old {
                4
            } else {
                8
            }
        }
        _ if is_fp8 => {
            if is_old {
                16
            } else {
                32
            }
        }
        _ if cores == T::Volta => 4,
        _ => {
            if is_old {
                8
            } else {
                16
            }
        }
    };
    pairs.chunks(length).fold(c, |sum, pairs| block(bits, product, sum, pairs))
}

fn block(bits: i32, product: &MatrixProduct, c: u64, pairs: &[(u64, u64)]) -> u64 {
    let [d_type, a_type, b_type, _] = product.types;
    let mut terms = vec![value(c, d_type)];
    for &(a, b) in pairs {
        let ((a, of_a), (b, of_b)) = (value(a, a_type), value(b, b_type));
        terms.push((a * b, of_a + of_b));
    }
    let plain: f64 = terms.iter().map(|term| term.0).filter(|term| !term.is_finite()).sum();
    if plain != 0.0 {
        return nearest(plain, d_type);
    }
    let exponents = terms.iter().filter(|term| term.0 != 0.0).map(|term| term.1);
    let least = if d_type == M::F32 { Some(-108 - bits) } else { None };
    let Some(largest) = exponents.chain(least).max() else { return 0 };
    let unit = 2f64.powi(largest - bits);
    let sum: f64 = terms.iter().map(|term| (term.0 / unit).trunc()).sum();
    match d_type {
        // Never a negative zero.
        M::F16 => Some(nearest(sum * unit, d_type)).filter(|&bits| bits != 0x8000).unwrap_or(0),
        _ => truncated(sum * unit, bits.min(23)),
    }
}

/// The exponent of a value.
fn exponent(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// An f32 with so many fraction bits, rounded toward zero.
fn truncated(value: f64, bits: i32) -> u64 {
    if value == 0.0 {
        return 0;
    }
    if exponent(value) > 127 {
        return if value > 0.0 { 0x7f80_0000 } else { 0xff80_0000 };
    }
    let unit = 2f64.powi(exponent(value).max(-126) - bits);
    (((value / unit).trunc() * unit) as f32 + 0.0).to_bits().into()
}

/// Rounded to nearest, ties to even.
fn nearest(value: f64, ty: M) -> u64 {
    if ty == M::F32 {
        return if value.is_nan() { 0x7fff_ffff } else { (value as f32).to_bits().into() };
    }
    if value.is_nan() {
        return 0x7fff;
    }
    let sign = u64::from(value.is_sign_negative()) << 15;
    let exponent = exponent(value).max(-14);
    let count = (value.abs() / 2f64.powi(exponent - 10)).round_ties_even();
    if exponent > 15 || count * 2f64.powi(exponent - 10) >= 65536.0 {
        return sign | 0x7c00;
    }
    let field = (exponent + 14) as u64;
    sign | (field * 1024 + count as u64)
}

#[cfg(test)]
mod tests {
    use warplens_isa::{MatrixShape, Sparsity};

    use super::*;

    /// Types, the shapes that they come in, and how bits are combined.
    type Shapes = ([M; 4], &'static [(u16, u16, u16)], Option<BoolOp>);

    /// Both interpretations of random matrices agree, on all generations. Exponents are drawn near each other as well as
    /// far apart, and some bits at random make what is no number.
    #[test]
    fn both_engines_multiply_alike() {
        let shapes: &[Shapes] = &[
            ([M::F32, M::F16, M::F16, M::F32], &[(8, 8, 4), (16, 8, 8), (16, 8, 16)], None),
            ([M::F32, M::F16, M::F16, M::F16], &[(8, 8, 4)], None),
            ([M::F16; 4], &[(8, 8, 4), (16, 8, 8), (16, 8, 16)], None),
            ([M::F32, M::Bf16, M::Bf16, M::F32], &[(16, 8, 8), (16, 8, 16)], None),
            ([M::F32, M::Tf32, M::Tf32, M::F32], &[(16, 8, 4), (16, 8, 8)], None),
            ([M::F32, M::E4m3, M::E5m2, M::F32], &[(16, 8, 16), (16, 8, 32)], None),
            ([M::F16, M::E5m2, M::E4m3, M::F16], &[(16, 8, 16), (16, 8, 32)], None),
            ([M::F32, M::E3m2, M::E2m1, M::F32], &[(16, 8, 32)], None),
            ([M::F16, M::E2m3, M::E4m3, M::F16], &[(16, 8, 32)], None),
            ([M::F64; 4], &[(8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)], None),
            ([M::S32, M::S8, M::U8, M::S32], &[(8, 8, 16), (16, 8, 16), (16, 8, 32)], None),
            ([M::S32, M::U4, M::S4, M::S32], &[(8, 8, 32), (16, 8, 32), (16, 8, 64)], None),
            ([M::S32, M::B1, M::B1, M::S32], &[(8, 8, 128), (16, 8, 256)], Some(BoolOp::Xor)),
            ([M::S32, M::B1, M::B1, M::S32], &[(8, 8, 128), (16, 8, 128)], Some(BoolOp::And)),
        ];
        agree(shapes, false);
        let sparse: &[Shapes] = &[
            ([M::F32, M::F16, M::F16, M::F32], &[(16, 8, 16), (16, 8, 32)], None),
            ([M::F16; 4], &[(16, 8, 16), (16, 8, 32)], None),
            ([M::F32, M::Bf16, M::Bf16, M::F32], &[(16, 8, 16), (16, 8, 32)], None),
            ([M::F32, M::Tf32, M::Tf32, M::F32], &[(16, 8, 8), (16, 8, 16)], None),
            ([M::F32, M::E4m3, M::E5m2, M::F32], &[(16, 8, 64)], None),
            ([M::F16, M::E2m1, M::E3m2, M::F16], &[(16, 8, 64)], None),
            ([M::S32, M::S8, M::U8, M::S32], &[(16, 8, 32), (16, 8, 64)], None),
            ([M::S32, M::U4, M::S4, M::S32], &[(16, 8, 64), (16, 8, 128)], None),
        ];
        agree(sparse, true);
    }

    fn agree(shapes: &[Shapes], is_sparse: bool) {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.wrapping_mul(0x2545_f491_4f6c_dd1d)
        };
        use TensorCores as T;
        for cores in [T::Volta, T::Turing, T::Ampere, T::Ada, T::Hopper, T::Blackwell, T::RtxBlackwell] {
            for &(types, shapes, combination) in shapes {
                for &(m, n, k) in shapes {
                    for round in 0..40 {
                        let shape = MatrixShape { m, n, k };
                        let satfinite = round % 2 == 0;
                        let it = MatrixProduct { satfinite, combination, ..MatrixProduct::new(shape, types) };
                        let turned = [it.is_by_quads() && round % 3 == 1, it.is_by_quads() && round % 5 == 2];
                        let roundings = [Rounding::Nearest, Rounding::Zero, Rounding::Down, Rounding::Up];
                        let rounding = if types[0] == M::F64 { roundings[round % 4] } else { Rounding::Nearest };
                        let mut it = MatrixProduct { turned, rounding, ..it };
                        if is_sparse {
                            let ordered = round % 2 == 1;
                            let parts = 4 / it.metadata_lanes();
                            it.sparsity = Some(Sparsity { selector: (round % parts) as u8, ordered });
                        }
                        let [_, n_a, n_b, n_c] = it.registers();
                        // In most rounds the exponents are cut to a few, so that terms meet.
                        let keep = match types[1] {
                            _ if round % 4 == 0 => u64::MAX,
                            M::F16 => 0x8fff_8fff,
                            M::Bf16 => 0x87ff_87ff,
                            M::Tf32 => 0x87ff_ffff,
                            M::F64 => 0x807f_ffff_ffff_ffff,
                            M::E4m3 | M::E5m2 => 0x9f9f_9f9f,
                            _ => u64::MAX,
                        };
                        let wide = if types[0] == M::F64 { u64::MAX } else { 0xffff_ffff };
                        let of_sum = if types[0] == M::F32 { 0x87ff_ffff } else { wide };
                        let mut fragments: Vec<LaneValues> = Vec::new();
                        for at in 0..n_a + n_b + n_c {
                            let mask = if at < n_a + n_b { keep & wide } else { of_sum };
                            fragments.push(std::array::from_fn(|_| random() & mask));
                        }
                        if is_sparse {
                            fragments.push(std::array::from_fn(|_| random() & 0xffff_ffff));
                        }
                        let fast = cores.product(&it, &fragments);
                        assert_eq!(fast, product(cores, &it, &fragments), "{cores:?} {it:?} round {round}");
                    }
                }
            }
        }
    }
}
