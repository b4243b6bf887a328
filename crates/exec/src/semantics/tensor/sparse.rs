//! Products with a sparse first factor, of which each row holds half of its elements.
//!
//! Each row is a dense product of half the depth with those elements of the columns of b that stand across from the elements
//! which the row holds. The blocks of such a sum are counted in elements that are held: so it is on an H200, and elsewhere the
//! instructions of twice the depth take as long as the dense ones.

use warplens_isa::{MatrixProduct, MatrixShape, MatrixType};

use super::{Fragment, Sum};

/// As the function of dense products, with the register of the metadata.
pub(super) fn results(
    product: &MatrixProduct,
    sum: Option<Sum>,
    (a, b, c): (&[u64], &[u64], &[u64]),
    metadata: &Fragment,
) -> Vec<u64> {
    let (n, k) = (usize::from(product.shape.n), usize::from(product.shape.k));
    let shape = MatrixShape { m: 1, n: product.shape.n, k: product.held_depth() };
    let of_row = MatrixProduct { shape, sparsity: None, ..*product };
    let rows = a.chunks(k / 2).zip(c.chunks(n)).enumerate();
    rows.flat_map(|(row, (held, accumulators))| {
        let depths = depths(product, metadata, row);
        let across: Vec<u64> = b.chunks(k).flat_map(|column| depths.iter().map(|&depth| column[depth])).collect();
        super::results(&of_row, sum, (held, &across, accumulators))
    })
    .collect()
}

/// The depths of the elements that a row of the 16 of a warp holds.
fn depths(product: &MatrixProduct, metadata: &Fragment, row: usize) -> Vec<usize> {
    let ty = product.types[1];
    let length = ty.sparse_group();
    let groups = 0..usize::from(product.shape.k) / length;
    groups
        .flat_map(|group| {
            held_of_group(ty, bits_of_group(product, metadata, row, group)).map(move |at| group * length + at)
        })
        .collect()
}

/// The four bits of a group.
///
/// A lane has those of eight groups of a row, or, where an element has at least 16 bits, those of four groups of a row and
/// below them of the row eight further down.
fn bits_of_group(product: &MatrixProduct, metadata: &Fragment, row: usize, group: usize) -> u32 {
    let selector = product.sparsity.map_or(0, |sparsity| usize::from(sparsity.selector));
    let first = 4 * (row % 8) + selector * product.metadata_lanes();
    let (lane, at) = match product.types[1].bits() {
        16.. => (first + group / 4, 4 * (row / 8) + group % 4),
        _ => (first + 2 * (group / 8) + row / 8, group % 8),
    };
    (metadata[lane] >> (4 * at)) as u32 & 0xf
}

/// The places of the elements of a group that are held, one after the other.
fn held_of_group(ty: MatrixType, bits: u32) -> impl Iterator<Item = usize> {
    let [first, second] = [bits & 3, bits >> 2].map(|place| place as usize);
    let places = match ty.sparse_group() {
        // Places are those of halves of an element.
        2 => [first / 2..first / 2 + 1, 0..0],
        4 => [first..first + 1, second..second + 1],
        _ => [2 * first..2 * first + 2, 2 * second..2 * second + 2],
    };
    places.into_iter().flatten()
}
