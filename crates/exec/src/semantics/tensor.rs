//! Products of matrices, bit by bit as the tensor cores of each generation compute them.
//!
//! | Types | Sum |
//! |---|---|
//! | f16, bf16, tf32, fp8 | fused blocks (`block`), the result of one is the accumulator of the next |
//! | f64 | a chain of fused multiply-adds, ascending in depth |
//! | integers, bits | exact, modulo 2^32 or clamped |
//!
//! Generations differ in the length of the blocks and in how many fraction bits these keep; see [`TensorCores`].

mod block;
mod format;
mod fused;
pub(crate) mod group;
mod layout;
mod quads;
pub(crate) mod shared;
mod sparse;

use warplens_isa::{BoolOp, MatrixProduct, MatrixType};

use self::block::{Adder, Output};
use self::format::{Element, Format};
pub(crate) use self::fused::{Fast, MOST_RESULTS};
use super::float64;
use super::warp::LANES;

/// Whose tensor cores compute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum TensorCores {
    /// Compute capability 7.0: blocks of 4, 23 fraction bits.
    Volta,
    /// 7.5: blocks of 8, 24 fraction bits.
    Turing,
    /// 8.0 to 8.7: as Turing; tf32 in blocks of 4.
    Ampere,
    /// 8.9: as Ampere; fp8 in blocks of 16 with 13 fraction bits.
    Ada,
    /// 9.0: blocks of 16 (tf32 8), 25 fraction bits. Products of fp8 are computed in f16.
    Hopper,
    /// 10.x: as Hopper.
    Blackwell,
    /// 12.x: as Hopper, but fp8 in blocks of 32. What runs where no GPU is named.
    #[default]
    RtxBlackwell,
}

/// One register of all lanes; those of 32 bits are extended with zeros.
pub type Fragment = [u64; LANES];

/// How floats are summed.
#[derive(Clone, Copy, Debug)]
enum Sum {
    /// Blocks of a length, one after the other.
    Blocks(Adder, usize),
    /// The elements with k mod 4 in {0, 1}, then those in {2, 3}, from zero; the accumulator is added at the end. This is
    /// what ptxas makes of fp8 where there is no unit for it.
    ByHalves(Adder),
}

impl TensorCores {
    fn sum(self, factor: MatrixType, result: MatrixType) -> Sum {
        let is_small = factor.is_small_float();
        let is_recent = self >= Self::Hopper;
        let kept = match self {
            Self::Volta => 23,
            Self::Turing | Self::Ampere => 24,
            Self::Ada if is_small => 13,
            Self::Ada => 24,
            Self::Hopper | Self::Blackwell | Self::RtxBlackwell => 25,
        };
        let output = match result {
            MatrixType::F16 => Output::Half,
            _ if kept < 23 => Output::Single { fraction_bits: kept },
            _ => Output::Single { fraction_bits: 23 },
        };
        let adder = Adder { kept, output };
        match factor {
            _ if is_small && matches!(self, Self::Hopper | Self::Blackwell) => Sum::ByHalves(adder),
            _ if is_small => Sum::Blocks(adder, if is_recent { 32 } else { 16 }),
            MatrixType::Tf32 => Sum::Blocks(adder, if is_recent { 8 } else { 4 }),
            _ if self == Self::Volta => Sum::Blocks(adder, 4),
            _ => Sum::Blocks(adder, if is_recent { 16 } else { 8 }),
        }
    }

    /// As [`Self::product`], of registers of 32 bits to those of d, where that can be done at once.
    pub(crate) fn fast_product(
        self,
        product: &MatrixProduct,
        registers: &[&[u32; LANES]],
        d: &mut [[u32; LANES]; MOST_RESULTS],
    ) -> Fast {
        fused::of_registers(self, product, registers, d)
    }

    /// As [`Self::product`], where [`Self::fast_product`] has found that it is to be made one by one.
    pub(crate) fn product_one_by_one(self, product: &MatrixProduct, fragments: &[Fragment]) -> Vec<Fragment> {
        with_results(self, product, fragments, one_by_one)
    }

    /// The fragment of d, of those of a, b and c one after the other, and of the metadata of a sparse a. c has the type of d,
    /// but for products by quads.
    pub fn product(self, product: &MatrixProduct, fragments: &[Fragment]) -> Vec<Fragment> {
        if product.is_by_quads() {
            return quads::product(self, product, fragments);
        }
        with_results(self, product, fragments, results)
    }
}

/// What gives the results of a product without metadata, as [`results`].
type Dense = fn(&MatrixProduct, Option<Sum>, (&[u64], &[u64], &[u64])) -> Vec<u64>;

/// The fragment of d, where `dense` gives the results of products without metadata.
fn with_results(cores: TensorCores, product: &MatrixProduct, fragments: &[Fragment], dense: Dense) -> Vec<Fragment> {
    let [n_d, n_a, n_b, n_c] = product.registers();
    let (a, rest) = fragments.split_at(n_a);
    let (b, rest) = rest.split_at(n_b);
    let (c, metadata) = rest.split_at(n_c);
    let [d_type, a_type, b_type, c_type] = product.types;
    let [m, n, k] = [product.shape.m, product.shape.n, product.shape.k].map(usize::from);
    let (a, b) = (lines((m, product.held_depth().into()), a, a_type), lines((n, k), b, b_type));
    let places = (0..m).flat_map(|row| (0..n).map(move |column| (row, column)));
    let accumulator = |(row, column)| get(c, c_type, layout::accumulator(c_type, row, column));
    let c: Vec<u64> = places.clone().map(accumulator).collect();
    let sum = Format::of(a_type).map(|_| cores.sum(a_type, d_type));
    let results = match metadata.first() {
        Some(metadata) => sparse::results(product, sum, (&a, &b, &c), metadata),
        None => dense(product, sum, (&a, &b, &c)),
    };
    let mut d = vec![[0; LANES]; n_d];
    for ((row, column), bits) in places.zip(results) {
        let place = layout::accumulator(d_type, row, column);
        d[place.register][place.lane] |= bits << (place.element as u32 * d_type.bits() % 64);
    }
    d
}

/// The results row by row, of the elements of a by rows, of b by columns, and of the accumulators by rows. Floats but f64 are
/// summed as `sum` says.
fn results(product: &MatrixProduct, sum: Option<Sum>, (a, b, c): (&[u64], &[u64], &[u64])) -> Vec<u64> {
    let [_, a_type, b_type, _] = product.types;
    let extents = (usize::from(product.shape.n), usize::from(product.shape.k));
    let formats = |sum: Sum| Some((sum.format(a_type)?, sum.format(b_type)?));
    let fast = sum.and_then(|sum| fused::results(extents, formats(sum)?, sum, (a, b, c)));
    fast.unwrap_or_else(|| one_by_one(product, sum, (a, b, c)))
}

/// As [`results`], without looking for what can be done at once.
fn one_by_one(product: &MatrixProduct, sum: Option<Sum>, (a, b, c): (&[u64], &[u64], &[u64])) -> Vec<u64> {
    let [_, a_type, b_type, _] = product.types;
    let (n, k) = (usize::from(product.shape.n), usize::from(product.shape.k));
    let each = |compute: &dyn Fn(usize, usize, u64) -> u64| -> Vec<u64> {
        c.iter().enumerate().map(|(at, &c)| compute(at / n * k, at % n * k, c)).collect()
    };
    let formats = sum.and_then(|sum| Some((sum.format(a_type)?, sum.format(b_type)?, sum)));
    match formats {
        Some((a_format, b_format, sum)) => {
            let a: Vec<Element> = a.iter().map(|&bits| a_format.decode(bits)).collect();
            let b: Vec<Element> = b.iter().map(|&bits| b_format.decode(bits)).collect();
            let fraction_bits = a_format.fraction_bits + b_format.fraction_bits;
            each(&|row, column, c| sum.of(c as u32, &a[row..][..k], &b[column..][..k], fraction_bits).into())
        }
        _ if a_type == MatrixType::F64 => each(&|row, column, c| {
            let pairs = a[row..][..k].iter().zip(&b[column..][..k]);
            // The other way round: NaN of b counts before that of the sum, and this before that of a.
            let fused =
                |sum, (&a, &b): (&u64, &u64)| float64::fma(f64::from_bits(b), f64::from_bits(a), sum, product.rounding);
            pairs.fold(f64::from_bits(c), fused).to_bits()
        }),
        _ => {
            let a: Vec<i32> = a.iter().map(|&bits| integer(bits, a_type)).collect();
            let b: Vec<i32> = b.iter().map(|&bits| integer(bits, b_type)).collect();
            each(&|row, column, c| {
                let pairs = a[row..][..k].iter().zip(&b[column..][..k]);
                let products = pairs.map(|(&a, &b)| match product.combination {
                    Some(BoolOp::Xor) => a ^ b,
                    Some(BoolOp::And) => a & b,
                    Some(BoolOp::Or) | None => a * b,
                });
                let sum = i64::from(c as u32 as i32) + products.map(i64::from).sum::<i64>();
                let sum = if product.satfinite { sum.clamp(i32::MIN.into(), i32::MAX.into()) } else { sum };
                u64::from(sum as u32)
            })
        }
    }
}

impl Sum {
    /// How the elements of a factor are taken apart.
    fn format(self, ty: MatrixType) -> Option<Format> {
        let format = Format::of(ty)?;
        Some(match self {
            Self::Blocks(..) => format,
            Self::ByHalves(_) => format.as_half(),
        })
    }

    #[inline]
    fn of(self, accumulator: u32, a: &[Element], b: &[Element], fraction_bits: u32) -> u32 {
        match self {
            Self::Blocks(adder, length) => a
                .chunks(length)
                .zip(b.chunks(length))
                .fold(accumulator, |sum, (a, b)| adder.add(sum, a, b, fraction_bits)),
            Self::ByHalves(adder) => {
                let half = |line: &[Element], at: usize| -> Vec<Element> {
                    line.chunks_exact(4).flat_map(|four| four[at..][..2].to_vec()).collect()
                };
                let sum =
                    [0, 2].into_iter().fold(0, |sum, at| adder.add(sum, &half(a, at), &half(b, at), fraction_bits));
                added(adder.output, sum, accumulator)
            }
        }
    }
}

/// A sum rounded to nearest.
fn added(output: Output, a: u32, b: u32) -> u32 {
    match output {
        Output::Single { .. } => {
            let sum = f32::from_bits(a) + f32::from_bits(b);
            if sum.is_nan() { 0x7fff_ffff } else { sum.to_bits() }
        }
        Output::Half => {
            // The sum of two f16 in f32 is so much more exact that the second rounding decides alone.
            let value = |bits: u32| half::f16::from_bits(bits as u16).to_f32();
            let sum = value(a) + value(b);
            if sum.is_nan() { 0x7fff } else { half::f16::from_f32(sum).to_bits().into() }
        }
    }
}

fn get(fragments: &[Fragment], ty: MatrixType, place: layout::Place) -> u64 {
    let word = fragments[place.register][place.lane] >> (place.element as u32 * ty.bits() % 64);
    word & u64::MAX >> (64 - ty.bits())
}

/// The elements of the rows of a, or of the columns of b, one after the other.
fn lines((n, k): (usize, usize), fragments: &[Fragment], ty: MatrixType) -> Vec<u64> {
    let places = (0..n).flat_map(|line| (0..k).map(move |k| (line, k)));
    places.map(|(line, k)| get(fragments, ty, layout::factor(n, ty, line, k))).collect()
}

fn integer(bits: u64, ty: MatrixType) -> i32 {
    let unused = 32 - ty.bits().min(32);
    match ty {
        MatrixType::S8 | MatrixType::S4 => (bits as i32) << unused >> unused,
        _ => bits as i32,
    }
}

#[cfg(test)]
mod tests;
