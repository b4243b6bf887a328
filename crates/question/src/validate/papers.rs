//! The measures by which the papers of the models say how good their predictions are.
//!
//! None of the papers defines its measure beyond a name or an equation. Hong and Kim (2009) have the geometric mean of the
//! errors. Luo and Suda (2011) have the accuracy (14), the smaller of both times over the larger, with its arithmetic and
//! geometric mean. Li et al. (2016) have an accuracy of computation throughput; as the operations are given, the error of
//! a throughput is the measured time over the predicted one, less 1.

use warplens_model::luo_suda::figures::accuracies;

use super::Pair;

/// Errors below it count as it in a geometric mean, which a single 0 would make 0.
const LEAST_ERROR: f64 = 1e-4;

/// The measures over some rows, as shares.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Papers {
    /// Geometric mean of the absolute errors (Hong and Kim).
    pub geometric_error: f64,
    /// Arithmetic mean of the accuracy (Luo and Suda).
    pub accuracy: f64,
    /// Geometric mean of the accuracy (Luo and Suda).
    pub geometric_accuracy: f64,
    /// 1 less the mean absolute error of the throughput (Li et al.); below 0 where that is above 1.
    pub throughput_accuracy: f64,
}

impl Papers {
    /// The measures over these rows, of which there is one at least.
    pub(super) fn of<'p>(pairs: impl Iterator<Item = &'p Pair> + Clone) -> Self {
        let n = pairs.clone().count() as f64;
        let logarithms = pairs.clone().map(|pair| pair.error().abs().max(LEAST_ERROR).ln());
        let times: Vec<(f64, f64)> = pairs.clone().map(|pair| (pair.measured_us, pair.predicted_us)).collect();
        let (_, accuracy, geometric_accuracy) = accuracies(&times);
        let of_throughput = pairs.map(|pair| (pair.measured_us / pair.predicted_us - 1.0).abs());
        Self {
            geometric_error: (logarithms.sum::<f64>() / n).exp(),
            accuracy,
            geometric_accuracy,
            throughput_accuracy: 1.0 - of_throughput.sum::<f64>() / n,
        }
    }
}
