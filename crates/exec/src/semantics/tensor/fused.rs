//! Fused sums of many rows at once, where all elements are finite and of a middling size, as nearly all are.

use warplens_isa::{MatrixProduct, MatrixType};

use super::block::{Adder, Output};
use super::format::Format;
use super::{Sum, TensorCores, added};
use crate::raw::{
    Elements, FARTHEST, FusedSum, Level, Leveled, NONE, WarpProduct, add_products, multiply_in_warp, with_level,
};
use crate::semantics::warp::LANES;

/// Rows that are summed at once.
const AT_ONCE: usize = 8;
/// The largest depth of a product of one warp.
const MOST_DEPTH: usize = 32;
/// Registers of its results, at most.
pub(crate) const MOST_RESULTS: usize = 4;
/// Elements of eight lines of it.
const MOST_ELEMENTS: usize = AT_ONCE * MOST_DEPTH;

/// How far a product came that was tried at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fast {
    /// It is made.
    Made,
    /// An element or a sum keeps it from being made at once, by whatever way.
    OneByOne,
    /// It is none of those that are tried here.
    Otherwise,
}

/// How sums are made here.
#[derive(Clone, Copy)]
struct Rule {
    fused: FusedSum,
    adder: Adder,
    by_halves: bool,
}

impl Rule {
    /// None where sums of `k` products are not made here.
    fn new(sum: Sum, k: usize) -> Option<Self> {
        let (adder, length, by_halves) = match sum {
            Sum::Blocks(adder, length) => (adder, length, false),
            Sum::ByHalves(adder) => (adder, k / 2, true),
        };
        let half = adder.output == Output::Half;
        let fits = half || adder.output == Output::Single { fraction_bits: 23 };
        let fused = FusedSum { kept: adder.kept as i32, length, half };
        (fits && adder.kept >= 23).then_some(Self { fused, adder, by_halves })
    }

    /// Where in the order of the sum the element of a depth comes.
    #[inline(always)]
    fn place(self, depth: usize, k: usize) -> usize {
        if self.by_halves { depth % 4 / 2 * (k / 2) + depth / 4 * 2 + depth % 2 } else { depth }
    }

    /// What the products are added to.
    #[inline(always)]
    fn first(self, c: u32) -> f32 {
        match self.by_halves {
            true => 0.0,
            false if self.fused.half => half::f16::from_bits(c as u16).to_f32(),
            false => f32::from_bits(c),
        }
    }

    /// The result, of what the products were added to.
    #[inline(always)]
    fn last(self, sum: f32, c: u32) -> u32 {
        let bits = if self.fused.half { half::f16::from_f32(sum).to_bits().into() } else { sum.to_bits() };
        if self.by_halves { added(self.adder.output, bits, c) } else { bits }
    }
}

/// Takes elements apart. False where one of them is too large, too small or no number.
#[inline(always)]
fn decode(format: Format, bits: &[u32], values: &mut [f32], exponents: &mut [i32]) -> bool {
    let mut far = 0;
    let (values, exponents) = (&mut values[..bits.len()], &mut exponents[..bits.len()]);
    // By number: iterators stay calls in code for one level of the CPU.
    for at in 0..bits.len() {
        let (value, exponent, is_far) = format.single(bits[at], NONE, FARTHEST);
        values[at] = value;
        exponents[at] = exponent;
        far |= u32::from(is_far);
    }
    far == 0
}

struct Decode<'a>(Format, &'a [u32], &'a mut [f32], &'a mut [i32]);

impl Leveled for Decode<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        decode(self.0, self.1, self.2, self.3)
    }
}

/// The results row by row of factors of `k` elements in depth, as the function for all of them has it; none where some of them
/// need it.
pub(super) fn results(
    (n, k): (usize, usize),
    (a_format, b_format): (Format, Format),
    sum: Sum,
    (a, b, c): (&[u64], &[u64], &[u64]),
) -> Option<Vec<u64>> {
    let rule = Rule::new(sum, k)?;
    if !(a.len() / k).is_multiple_of(AT_ONCE) {
        return None;
    }
    let level = Level::detect();
    let mut bits = vec![0; b.len()];
    for (line, bits) in b.chunks_exact(k).zip(bits.chunks_exact_mut(k)) {
        line.iter().enumerate().for_each(|(depth, &of)| bits[rule.place(depth, k)] = of as u32);
    }
    let (mut of_columns, mut in_columns) = (vec![0.0; b.len()], vec![0; b.len()]);
    if !with_level(level, Decode(b_format, &bits, &mut of_columns, &mut in_columns)) {
        return None;
    }
    let columns = Elements { values: &of_columns, exponents: &in_columns };
    let mut bits = vec![0; AT_ONCE * k];
    let (mut of_rows, mut in_rows) = (vec![0.0; bits.len()], vec![0; bits.len()]);
    let mut results = vec![0; c.len()];
    let mut sums = vec![[0.0; AT_ONCE]; n];
    let tiles = a.chunks_exact(AT_ONCE * k).zip(c.chunks_exact(AT_ONCE * n)).zip(results.chunks_exact_mut(AT_ONCE * n));
    for ((lines, c), results) in tiles {
        for (row, line) in lines.chunks_exact(k).enumerate() {
            line.iter().enumerate().for_each(|(depth, &of)| bits[AT_ONCE * rule.place(depth, k) + row] = of as u32);
        }
        if !with_level(level, Decode(a_format, &bits, &mut of_rows, &mut in_rows)) {
            return None;
        }
        for (row, c) in c.chunks_exact(n).enumerate() {
            sums.iter_mut().zip(c).for_each(|(sum, &c)| sum[row] = rule.first(c as u32));
        }
        let rows = Elements { values: &of_rows, exponents: &in_rows };
        if !add_products(rule.fused, rows, columns, &mut sums) {
            return None;
        }
        for (row, (results, c)) in results.chunks_exact_mut(n).zip(c.chunks_exact(n)).enumerate() {
            for ((result, sum), &c) in results.iter_mut().zip(&sums).zip(c) {
                *result = rule.last(sum[row], c as u32).into();
            }
        }
    }
    Some(results)
}

/// The registers of d, of those of a, b and c one after the other, of a product that a warp computes by itself.
pub(super) fn of_registers(
    cores: TensorCores,
    product: &MatrixProduct,
    registers: &[&[u32; LANES]],
    d: &mut [[u32; LANES]; MOST_RESULTS],
) -> Fast {
    let [d_type, a_type, b_type, c_type] = product.types;
    let k = usize::from(product.shape.k);
    let sum = cores.sum(a_type, d_type);
    let Some(formats) = sum.format(a_type).zip(sum.format(b_type)) else { return Fast::Otherwise };
    let fits = [product.shape.m, product.shape.n] == [16, 8] && k <= MOST_DEPTH && !product.is_by_quads();
    if !fits || product.sparsity.is_some() || d_type != c_type || a_type.per_register() != b_type.per_register() {
        return Fast::Otherwise;
    }
    let Some(rule) = Rule::new(sum, k) else { return Fast::Otherwise };
    let is_made = if matches!(a_type, MatrixType::F16 | MatrixType::Bf16) {
        let [_, n_a, n_b, _] = product.registers();
        let (a, rest) = registers.split_at(n_a);
        let (b, c) = rest.split_at(n_b);
        let product = WarpProduct { sum: rule.fused, depth: k, is_bf16: a_type == MatrixType::Bf16 };
        multiply_in_warp(product, [a, b, c], d)
    } else if a_type.per_register() == 1 {
        with_level(Level::detect(), OfRegisters::<1> { rule, product, formats, registers, d })
    } else {
        with_level(Level::detect(), OfRegisters::<4> { rule, product, formats, registers, d })
    };
    if is_made { Fast::Made } else { Fast::OneByOne }
}

/// A product whose factors have `PER` elements in a register.
struct OfRegisters<'a, const PER: usize> {
    rule: Rule,
    product: &'a MatrixProduct,
    formats: (Format, Format),
    registers: &'a [&'a [u32; LANES]],
    d: &'a mut [[u32; LANES]; MOST_RESULTS],
}

impl<const PER: usize> Leveled for OfRegisters<'_, PER> {
    type Output = bool;

    #[expect(clippy::needless_range_loop, reason = "iterators stay calls in code for one level of the CPU")]
    #[inline(always)]
    fn run(self) -> Self::Output {
        let Self { rule, product, formats, registers, d } = self;
        let [_, n_a, n_b, _] = product.registers();
        let k = usize::from(product.shape.k);
        let (a, rest) = registers.split_at(n_a);
        let (b, c) = rest.split_at(n_b);

        let mut bits = [0; MOST_ELEMENTS];
        gather::<PER>((rule, k), b, [k, 1], &mut bits);
        let (mut of_columns, mut in_columns) = ([0.0; MOST_ELEMENTS], [0; MOST_ELEMENTS]);
        let elements = AT_ONCE * k;
        if !decode(formats.1, &bits[..elements], &mut of_columns, &mut in_columns) {
            return false;
        }
        let columns = Elements { values: &of_columns[..elements], exponents: &in_columns[..elements] };
        let (mut of_rows, mut in_rows) = ([0.0; MOST_ELEMENTS], [0; MOST_ELEMENTS]);
        *d = [[0; LANES]; MOST_RESULTS];
        let places = Places { is_half: product.types[0] == MatrixType::F16 };
        for tile in 0..2 {
            // Of two registers side by side the second holds the rows from the eighth on.
            let mut of_tile = [a[0]; MOST_DEPTH / 4];
            let n_registers = n_a / 2;
            for number in 0..n_registers {
                of_tile[number] = a[2 * number + tile];
            }
            gather::<PER>((rule, k), &of_tile[..n_registers], [1, AT_ONCE], &mut bits);
            if !decode(formats.0, &bits[..elements], &mut of_rows, &mut in_rows) {
                return false;
            }
            let mut sums = [[0.0; AT_ONCE]; AT_ONCE];
            for row in 0..AT_ONCE {
                for column in 0..AT_ONCE {
                    sums[column][row] = rule.first(places.read(c, tile, row, column));
                }
            }
            let rows = Elements { values: &of_rows[..elements], exponents: &in_rows[..elements] };
            if !add_products(rule.fused, rows, columns, &mut sums) {
                return false;
            }
            for row in 0..AT_ONCE {
                for column in 0..AT_ONCE {
                    let result = rule.last(sums[column][row], places.read(c, tile, row, column));
                    places.add(d, tile, row, column, result);
                }
            }
        }
        true
    }
}

/// Puts elements of eight lines at the places that a step from line to line and one from depth to depth make; bits above an
/// element may be set.
#[expect(clippy::needless_range_loop, reason = "iterators stay calls in code for one level of the CPU")]
#[inline(always)]
fn gather<const PER: usize>(
    (rule, k): (Rule, usize),
    registers: &[&[u32; LANES]],
    [by_line, by_depth]: [usize; 2],
    bits: &mut [u32; MOST_ELEMENTS],
) {
    for number in 0..registers.len() {
        for line in 0..AT_ONCE {
            for thread in 0..4 {
                let word = registers[number][4 * line + thread];
                for element in 0..PER {
                    let depth = rule.place((4 * number + thread) * PER + element, k);
                    bits[(by_line * line + by_depth * depth) % MOST_ELEMENTS] = word >> (element * 32 / PER);
                }
            }
        }
    }
}

/// Where the accumulators lie.
#[derive(Clone, Copy)]
struct Places {
    is_half: bool,
}

impl Places {
    /// Register, lane, and the bits below the element.
    #[inline(always)]
    fn of(self, tile: usize, row: usize, column: usize) -> (usize, usize, u32) {
        let lane = 4 * row + column / 2;
        match self.is_half {
            true => (tile, lane, 16 * (column % 2) as u32),
            false => (2 * tile + column % 2, lane, 0),
        }
    }

    #[inline(always)]
    fn read(self, registers: &[&[u32; LANES]], tile: usize, row: usize, column: usize) -> u32 {
        let (register, lane, shift) = self.of(tile, row, column);
        registers[register][lane] >> shift
    }

    #[inline(always)]
    fn add(self, registers: &mut [[u32; LANES]], tile: usize, row: usize, column: usize, bits: u32) {
        let (register, lane, shift) = self.of(tile, row, column);
        registers[register][lane] |= bits << shift;
    }
}
