//! Products of eight rows, eight columns and a depth of four, four at once: each of a pair of quads of lanes.
//!
//! Only the tensor cores of 7.0 and 7.5 have them. For later ones ptxas calls a routine that computes in f32 (as
//! disassembled for 8.0): of f32 results it makes a chain of fused multiply-adds from zero and adds the accumulator last; of
//! f16 results it adds the products in pairs and rounds once at the end.

use warplens_isa::{MatrixProduct, MatrixType as M};

use super::format::{Element, Format};
use super::layout::Place;
use super::{Fragment, Sum, TensorCores, get};
use crate::semantics::warp::LANES;

/// The lane of a pair of quads with this number among its eight.
fn lane(pair: usize, at: usize) -> usize {
    4 * pair + at % 4 + 16 * (at / 4)
}

/// Element `k` of a row of a, or of a column of b. By lines, a lane holds one of them; otherwise four of them at one depth.
fn factor(pair: usize, line: usize, k: usize, is_turned: bool) -> Place {
    let (at, element) = if is_turned { (k + 4 * (line / 4), line % 4) } else { (line, k) };
    Place { register: element / 2, lane: lane(pair, at), element: element % 2 }
}

fn accumulator(ty: M, pair: usize, row: usize, column: usize) -> Place {
    if ty == M::F16 {
        return Place { register: column / 2, lane: lane(pair, row), element: column % 2 };
    }
    let at = row & 4 | column & 2 | row & 1;
    Place { register: row & 2 | column & 5, lane: lane(pair, at), element: 0 }
}

pub(super) fn product(cores: TensorCores, product: &MatrixProduct, fragments: &[Fragment]) -> Vec<Fragment> {
    let [n_d, n_a, n_b, _] = product.registers();
    let (a, rest) = fragments.split_at(n_a);
    let (b, c) = rest.split_at(n_b);
    let [d_type, _, _, c_type] = product.types;
    let [a_is_turned, b_is_turned] = product.turned;
    let mut d = vec![[0; LANES]; n_d];
    let places = (0..4).flat_map(|pair| (0..64).map(move |at| (pair, at / 8, at % 8)));
    for (pair, row, column) in places {
        let left = std::array::from_fn(|k| get(a, M::F16, factor(pair, row, k, a_is_turned)) as u16);
        let right = std::array::from_fn(|k| get(b, M::F16, factor(pair, column, k, b_is_turned)) as u16);
        let accumulator_bits = get(c, c_type, accumulator(c_type, pair, row, column)) as u32;
        let accumulated = match (c_type, d_type) {
            (M::F16, M::F32) => single(accumulator_bits as u16).to_bits(),
            _ => accumulator_bits,
        };
        let result = sum(cores, d_type, accumulated, left, right);
        let place = accumulator(d_type, pair, row, column);
        d[place.register][place.lane] |= u64::from(result) << (16 * place.element);
    }
    d
}

fn single(bits: u16) -> f32 {
    half::f16::from_bits(bits).to_f32()
}

fn sum(cores: TensorCores, ty: M, c: u32, a: [u16; 4], b: [u16; 4]) -> u32 {
    if cores <= TensorCores::Turing {
        let format = Format::of(M::F16).expect("f16 is a float of fused sums");
        let element = |bits: u16| -> Element { format.decode(bits.into()) };
        let sum: Sum = cores.sum(M::F16, ty);
        return sum.of(c, &a.map(element), &b.map(element), 2 * format.fraction_bits);
    }
    let (a, b) = (a.map(single), b.map(single));
    if ty == M::F32 {
        let chain = a.iter().zip(&b).fold(0.0, |sum: f32, (a, b)| a.mul_add(*b, sum));
        let sum = f32::from_bits(c) + chain;
        return if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() };
    }
    let pair = |at: usize| a[at + 1].mul_add(b[at + 1], a[at] * b[at]);
    let sum = (single(c as u16) + pair(0)) + pair(2);
    if sum.is_nan() { 0x7fff } else { half::f16::from_f32(sum).to_bits().into() }
}
