//! Products of matrices that lie in shared memory, and those of quads of lanes: where their elements are, written from the
//! instruction set.

use warplens_exec::TensorCores;
use warplens_exec::engine::LaneValues;
use warplens_isa::{GroupProduct, MatrixProduct, MatrixType as M};

use crate::tensor::{self, Precision};

/// The bytes of the elements of a matrix in shared memory, by line and depth. `read` gives 16 bytes at an address.
pub(crate) fn matrix<E>(
    descriptor: u64,
    ty: M,
    (first, count, depth): (u64, u64, u64),
    is_turned: bool,
    mut read: impl FnMut(u64) -> Result<Vec<u8>, E>,
) -> Result<Vec<Vec<u64>>, E> {
    let part = |from: u64, bits: u64| descriptor >> from & ((1 << bits) - 1);
    let (start, leading, stride) = (part(0, 14) << 4, part(16, 14) << 4, part(32, 14) << 4);
    let base = part(49, 3);
    // Bytes of a row that is exchanged as a whole.
    let row_bytes = match descriptor >> 62 {
        0 => 16,
        1 => 128,
        2 => 64,
        _ => 32,
    };
    let place = |line: u64, bit: u64| {
        let byte = bit / 8;
        match (is_turned, row_bytes) {
            (false, 16) => line % 8 * 16 + line / 8 * stride + byte / 16 * leading + byte % 16,
            (false, _) => line % 8 * row_bytes + line / 8 * stride + byte,
            (true, _) => {
                // The depth counts in elements of two bytes; the lines are what lies side by side.
                let (depth, along) = (byte / 2, 2 * line);
                if row_bytes == 16 {
                    depth % 8 * 16 + depth / 8 * leading + along / 16 * stride + along % 16
                } else {
                    depth % 8 * row_bytes + depth / 8 * stride + along / row_bytes * leading + along % row_bytes
                }
            }
        }
    };
    let mut lines = Vec::new();
    for line in first..first + count {
        let mut elements = Vec::new();
        for k in 0..depth {
            let bits = u64::from(ty.bits());
            let linear = start + place(line, k * bits);
            let pieces = row_bytes / 16;
            let swap = ((linear / 128 + 8 - base) % pieces) * 16;
            let address = linear ^ swap;
            let bytes = read(address / 16 * 16)?;
            let from = (address % 16) as usize;
            let wide = bytes[from..].iter().take(8).rev().fold(0, |all: u64, byte| all << 8 | u64::from(*byte));
            let value = wide >> (k * bits % 8);
            elements.push(if bits == 64 { value } else { value % (1 << bits) });
        }
        lines.push(elements);
    }
    Ok(lines)
}

/// The registers of d, of the rows and columns and the accumulators that a warp has.
pub(crate) fn product(
    cores: TensorCores,
    group: &GroupProduct,
    (a, b): (&[Vec<u64>], &[Vec<u64>]),
    accumulators: &[LaneValues],
    metadata: Option<&LaneValues>,
) -> Vec<LaneValues> {
    let product = &group.product;
    let [d_type, a_type, b_type, _] = product.types;
    let per_register = if d_type == M::F16 { 2 } else { 1 };
    let negative = |bits: u64, ty: M, is_negated: bool| if is_negated { bits ^ 1 << (ty.bits() - 1) } else { bits };
    let is_fp8 = matches!(a_type, M::E4m3 | M::E5m2);
    let precision = if is_fp8 { Precision::GroupsOfBytes } else { Precision::Of(cores) };
    let depths = metadata.map(|metadata| tensor::depths_held(product, metadata));
    let mut d = vec![[0; 32]; accumulators.len()];
    for lane in 0..32 {
        for at in 0..usize::from(product.shape.n) / 8 * 4 {
            let (row, column) = (lane / 4 + at % 4 / 2 * 8, at / 4 * 8 + lane % 4 * 2 + at % 2);
            let (register, shift) = (at / per_register, 16 * (at % per_register));
            let c = if per_register == 2 {
                accumulators[register][lane] >> shift & 0xffff
            } else {
                accumulators[register][lane]
            };
            let across: Vec<u64> = match &depths {
                Some(depths) => depths[row].iter().map(|&depth| b[column][depth]).collect(),
                None => b[column].clone(),
            };
            let pairs: Vec<(u64, u64)> = a[row]
                .iter()
                .zip(&across)
                .map(|(&a, &b)| (negative(a, a_type, group.negated[0]), negative(b, b_type, group.negated[1])))
                .collect();
            d[register][lane] |= tensor::element(precision, product, c, &pairs) << shift;
        }
    }
    d
}

/// Four products of 8 by 8 by 4: of each pair of quads, of which the second begins with lane 16.
pub(crate) fn quads(cores: TensorCores, product: &MatrixProduct, fragments: &[LaneValues]) -> Vec<LaneValues> {
    let [d_type, _, _, c_type] = product.types;
    let halves = |registers: &[LaneValues], lane: usize| -> Vec<u64> {
        registers.iter().flat_map(|values| [values[lane] & 0xffff, values[lane] >> 16 & 0xffff]).collect()
    };
    let place = |ty: M, lane: usize, i: usize| {
        let below = if lane < 16 { 0 } else { 4 };
        match ty {
            M::F16 => (lane % 4 + below, i),
            _ => ((lane & 1) + (i & 2) + below, (i & 4) + (lane & 2) + (i & 1)),
        }
    };
    let mut d = vec![[0; 32]; if d_type == M::F16 { 4 } else { 8 }];
    for pair in 0..4 {
        let lanes: Vec<usize> = (0..32).filter(|lane| lane % 16 / 4 == pair).collect();
        let (mut a, mut b, mut c) = ([[0; 4]; 8], [[0; 8]; 4], [[0; 8]; 8]);
        for &lane in &lanes {
            let below = if lane < 16 { 0 } else { 4 };
            for (i, bits) in halves(&fragments[..2], lane).into_iter().enumerate() {
                let (row, k) = if product.turned[0] { (i + below, lane % 4) } else { (lane % 4 + below, i) };
                a[row][k] = bits;
            }
            for (i, bits) in halves(&fragments[2..4], lane).into_iter().enumerate() {
                let (k, column) = if product.turned[1] { (lane % 4, i + below) } else { (i, lane % 4 + below) };
                b[k][column] = bits;
            }
            let held: Vec<u64> = match c_type {
                M::F16 => halves(&fragments[4..], lane),
                _ => fragments[4..].iter().map(|values| values[lane]).collect(),
            };
            for (i, bits) in held.into_iter().enumerate() {
                let (row, column) = place(c_type, lane, i);
                c[row][column] = bits;
            }
        }
        for &lane in &lanes {
            for i in 0..8 {
                let (row, column) = place(d_type, lane, i);
                let pairs: Vec<(u64, u64)> = (0..4).map(|k| (a[row][k], b[k][column])).collect();
                let bits = tensor::of_four(cores, product, c[row][column], &pairs);
                match d_type {
                    M::F16 => d[i / 2][lane] |= bits << (16 * (i % 2)),
                    _ => d[i][lane] = bits,
                }
            }
        }
    }
    d
}
