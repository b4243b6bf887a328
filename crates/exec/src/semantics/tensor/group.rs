//! The part of a warp in a product of four warps: 16 rows of a by all columns of b.

use warplens_isa::{GroupProduct, MatrixType as M};

use super::block::{Adder, Output};
use super::{Fragment, Sum, TensorCores, get, layout, results, sparse};
use crate::semantics::warp::LANES;

/// The elements of a row of the first factor or of a column of the second, by their depth.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Line(Vec<u64>);

impl Line {
    /// Appends the elements that lie in some bytes.
    pub(crate) fn push_bytes(&mut self, bytes: &[u8], ty: M) {
        match ty.bits() {
            1 => self.0.extend(bytes.iter().flat_map(|byte| (0..8).map(move |bit| u64::from(byte >> bit & 1)))),
            16 => self.0.extend(bytes.as_chunks().0.iter().map(|&of| u64::from(u16::from_le_bytes(of)))),
            8 => self.0.extend(bytes.iter().map(|&of| u64::from(of))),
            bits => {
                let width = bits as usize / 8;
                let element = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
                self.0.extend(bytes.chunks(width).map(element));
            }
        }
    }
}

/// The rows that a warp holds in registers.
pub(crate) fn held(registers: &[Fragment], ty: M, depth: usize) -> Vec<Line> {
    let line = |row| Line((0..depth).map(|k| get(registers, ty, layout::factor(16, ty, row, k))).collect());
    (0..16).map(line).collect()
}

/// The registers of the results of a warp.
pub(crate) fn product(
    cores: TensorCores,
    group: &GroupProduct,
    (a, b): (&[Line], &[Line]),
    accumulators: &[Fragment],
    metadata: Option<&Fragment>,
) -> Vec<Fragment> {
    let product = &group.product;
    let [d_type, a_type, b_type, _] = product.types;
    let n = usize::from(product.shape.n);
    let per_tile = accumulators.len() / (n / 8);
    let flat = |lines: &[Line], ty: M, is_negated: bool| -> Vec<u64> {
        let sign = if is_negated { 1 << (ty.bits() - 1) } else { 0 };
        lines.iter().flat_map(|line| &line.0).map(|bits| bits ^ sign).collect()
    };
    let (a, b) = (flat(a, a_type, group.negated[0]), flat(b, b_type, group.negated[1]));
    // Line by line; the places of a row in a tile of eight columns are those in all of them.
    let in_tile: Vec<layout::Place> = (0..16 * 8).map(|at| layout::accumulator(d_type, at / 8, at % 8)).collect();
    let places = (0..16 * n).map(|at| {
        let (row, column) = (at / n, at % n);
        let place = in_tile[8 * row + column % 8];
        let shift = place.element as u32 * d_type.bits();
        (place.register + column / 8 * per_tile, place.lane, shift)
    });
    let mask = u64::MAX >> (64 - d_type.bits());
    let c: Vec<u64> =
        places.clone().map(|(register, lane, shift)| accumulators[register][lane] >> shift & mask).collect();
    let sum = sum(cores, a_type, d_type);
    let sums = match metadata {
        Some(metadata) => sparse::results(product, sum, (&a, &b, &c), metadata),
        None => results(product, sum, (&a, &b, &c)),
    };
    let mut d = vec![[0; LANES]; accumulators.len()];
    for ((register, lane, shift), bits) in places.zip(sums) {
        d[register][lane] |= bits << shift;
    }
    d
}

/// These have a unit for fp8 where the products of one warp have none: blocks of 32 with 13 fraction bits.
fn sum(cores: TensorCores, factor: M, result: M) -> Option<Sum> {
    match factor {
        M::E4m3 | M::E5m2 | M::E3m2 | M::E2m3 | M::E2m1 => {
            let output = if result == M::F16 { Output::Half } else { Output::Single { fraction_bits: 13 } };
            Some(Sum::Blocks(Adder { kept: 13, output }, 32))
        }
        M::S8 | M::U8 | M::S4 | M::U4 | M::B1 | M::S32 | M::F64 => None,
        M::F16 | M::Bf16 | M::Tf32 | M::F32 => Some(cores.sum(factor, result)),
    }
}
