//! How far fitted values may be off.

/// Quantile of the normal distribution for 95 percent.
pub(super) const TWO_SIDED: f64 = 1.96;

/// Standard errors of values that were fitted together, by how each measured number changes with each of them (a row for each
/// value) and the variance of the numbers. A value that nothing tells apart from the others may be anything.
pub(super) fn errors(slopes: &[Vec<f64>], variance: f64) -> Vec<f64> {
    let product = |left: &[f64], right: &[f64]| left.iter().zip(right).map(|(a, b)| a * b).sum::<f64>();
    let information: Vec<Vec<f64>> =
        slopes.iter().map(|left| slopes.iter().map(|right| product(left, right)).collect()).collect();
    match inverse(information) {
        Some(inverse) => (0..slopes.len()).map(|at| (variance * inverse[at][at]).max(0.0).sqrt()).collect(),
        None => vec![f64::INFINITY; slopes.len()],
    }
}

/// Of a square matrix, by elimination with the largest pivot of a column; none where it has none.
fn inverse(mut matrix: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = matrix.len();
    let mut inverse: Vec<Vec<f64>> =
        (0..n).map(|row| (0..n).map(|column| f64::from(u8::from(row == column))).collect()).collect();
    let largest = matrix.iter().flatten().fold(0.0_f64, |most, value| most.max(value.abs()));
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()))?;
        if matrix[pivot][column].abs() <= 1e-12 * largest {
            return None;
        }
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let scale = matrix[column][column];
        for at in 0..n {
            matrix[column][at] /= scale;
            inverse[column][at] /= scale;
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = matrix[row][column];
            for at in 0..n {
                matrix[row][at] -= factor * matrix[column][at];
                inverse[row][at] -= factor * inverse[column][at];
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_values_that_are_told_apart() {
        // Two numbers tell the first value, one the second.
        let errors = errors(&[vec![1.0, 1.0, 0.0], vec![0.0, 0.0, 2.0]], 4.0);
        assert!((errors[0] - 2.0_f64.sqrt()).abs() < 1e-12 && (errors[1] - 1.0).abs() < 1e-12, "{errors:?}");
    }

    #[test]
    fn values_that_are_not_told_apart_may_be_anything() {
        let slopes = [vec![1.0, 2.0], vec![2.0, 4.0]];
        assert!(errors(&slopes, 1.0).iter().all(|error| error.is_infinite()));
    }
}
