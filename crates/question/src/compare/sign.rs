//! The sign plot of Dasgupta's thesis (section 5.2.3): is the kernel of a row faster than the kernel of a column?
//!
//! 1 says that it is faster by more than the band, -1 that it is slower by more than the band, 0 that the two are equal
//! within it. The band is taken of the shorter time, so that the matrix is antisymmetric.

use super::Comparison;
use warplens_launch::Extents;
use warplens_session::predict::ModelId;

/// Every variant against every other, on one GPU by one model, at one block.
#[derive(Clone, PartialEq, Debug)]
pub struct SignMatrix {
    /// Position of the GPU.
    pub gpu: usize,
    /// The model.
    pub model: ModelId,
    /// The block, where several are compared.
    pub block: Option<Extents>,
    /// Positions of the variants: rows and columns.
    pub variants: Vec<usize>,
    /// By row and column: the sign of the prediction.
    pub predicted: Vec<Vec<Option<i8>>>,
    /// The same of the measured times; none where nothing was measured.
    pub measured: Vec<Vec<Option<i8>>>,
    /// How often the two agree; none where nothing was measured.
    pub agreement: Option<Agreement>,
}

/// Pairs of variants whose order is predicted as it was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreement {
    /// Pairs with the same sign.
    pub n_same: usize,
    /// Pairs with both signs.
    pub n_pairs: usize,
}

/// 1 where `row` is shorter than `column` by more than `band`, -1 where it is longer, else 0.
pub fn sign(row: f64, column: f64, band: f64) -> i8 {
    if column > row * (1.0 + band) {
        1
    } else if row > column * (1.0 + band) {
        -1
    } else {
        0
    }
}

pub(super) fn matrices(comparison: &Comparison) -> Vec<SignMatrix> {
    let mut matrices = Vec::new();
    for gpu in 0..comparison.gpus.len() {
        for model in comparison.models(gpu) {
            for block in comparison.blocks() {
                let variants: Vec<usize> =
                    (0..comparison.variants.len()).filter(|&at| comparison.variants[at].block == block).collect();
                if variants.len() > 1 {
                    matrices.push(matrix(comparison, gpu, model, block, variants));
                }
            }
        }
    }
    matrices
}

fn matrix(
    comparison: &Comparison,
    gpu: usize,
    model: ModelId,
    block: Option<Extents>,
    variants: Vec<usize>,
) -> SignMatrix {
    let entries = variants.iter().map(|&variant| comparison.entry(gpu, model, variant));
    let (predicted, measured): (Vec<Option<f64>>, Vec<Option<f64>>) =
        entries.map(|entry| (entry.and_then(|own| own.time_us()), entry.and_then(|own| own.measured_us))).unzip();
    let signs = |times: &[Option<f64>]| -> Vec<Vec<Option<i8>>> {
        let row =
            |row: &Option<f64>| times.iter().map(|column| Some(sign((*row)?, (*column)?, comparison.band))).collect();
        times.iter().map(row).collect()
    };
    let (predicted, measured) = (signs(&predicted), signs(&measured));
    let (mut n_same, mut n_pairs) = (0, 0);
    for row in 0..variants.len() {
        for column in 0..row {
            if let (Some(own), Some(other)) = (predicted[row][column], measured[row][column]) {
                n_pairs += 1;
                n_same += usize::from(own == other);
            }
        }
    }
    let agreement = (n_pairs > 0).then_some(Agreement { n_same, n_pairs });
    SignMatrix { gpu, model, block, variants, predicted, measured, agreement }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_tenth_is_equal_and_more_is_not() {
        assert_eq!([sign(100.0, 110.0, 0.1), sign(100.0, 110.1, 0.1), sign(110.1, 100.0, 0.1)], [0, 1, -1]);
    }

    proptest! {
        #[test]
        fn what_is_faster_one_way_is_slower_the_other(row in 0.1f64..1e6, column in 0.1f64..1e6, band in 0.0f64..1.0) {
            prop_assert_eq!(sign(row, column, band), -sign(column, row, band));
            prop_assert_eq!(sign(row, row, band), 0);
        }
    }
}
