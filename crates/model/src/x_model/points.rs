//! Measured points as a curve: joined and smoothed, without a bump between two points that neither of them shows.

/// A curve from the origin through measured points: a cubic between neighbours that is monotone where they are
/// (F. N. Fritsch and R. E. Carlson, "Monotone piecewise cubic interpolation", 1980), constant after the last.
#[derive(Clone, PartialEq, Debug)]
pub struct Points {
    points: Vec<Point>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Point {
    at: f64,
    value: f64,
    slope: f64,
}

/// What is wrong with measured points.
#[derive(Clone, Copy, PartialEq, Debug, thiserror::Error)]
pub enum BadPoints {
    /// No point at all.
    #[error("a measured curve needs a point")]
    None,
    /// A number that is negative or not finite, or a place that is not above 0.
    #[error("the point ({0}, {1}) is not a finite place above 0 with a finite value of at least 0")]
    Value(f64, f64),
    /// Two points at one place.
    #[error("two points lie at {0}")]
    Twice(f64),
}

impl Points {
    /// The curve through `(place, value)`, in any order; the origin is a point of every curve.
    pub fn new(points: impl IntoIterator<Item = (f64, f64)>) -> Result<Self, BadPoints> {
        let mut given: Vec<(f64, f64)> = points.into_iter().collect();
        given.sort_by(|left, right| left.0.total_cmp(&right.0));
        if let Some(&(at, value)) = given.iter().find(|(at, value)| {
            !(at.is_finite() && value.is_finite() && *at >= 0.0 && *value >= 0.0) || (*at == 0.0 && *value > 0.0)
        }) {
            return Err(BadPoints::Value(at, value));
        }
        given.retain(|(at, _)| *at > 0.0);
        if let Some(pair) = given.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(BadPoints::Twice(pair[0].0));
        }
        if given.is_empty() {
            return Err(BadPoints::None);
        }
        given.insert(0, (0.0, 0.0));
        let slopes = monotone_slopes(&given);
        let points = given.into_iter().zip(slopes).map(|((at, value), slope)| Point { at, value, slope });
        Ok(Self { points: points.collect() })
    }

    /// The points after the origin.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points[1..].iter().map(|point| (point.at, point.value))
    }

    /// The value at `at`.
    pub fn value(&self, at: f64) -> f64 {
        self.cubic(at).0
    }

    /// The slope at `at`, from the right.
    pub fn slope(&self, at: f64) -> f64 {
        self.cubic(at).1
    }

    /// The last point.
    pub fn last(&self) -> (f64, f64) {
        let last = self.points[self.points.len() - 1];
        (last.at, last.value)
    }

    /// The largest value of any point.
    pub fn highest(&self) -> f64 {
        self.points.iter().fold(0.0, |highest, point| highest.max(point.value))
    }

    fn cubic(&self, at: f64) -> (f64, f64) {
        let after = self.points.partition_point(|point| point.at <= at);
        if after >= self.points.len() {
            return (self.last().1, 0.0);
        }
        let (left, right) = (self.points[after.max(1) - 1], self.points[after.max(1)]);
        let width = right.at - left.at;
        let t = ((at - left.at) / width).clamp(0.0, 1.0);
        let (rise, start, end) = (right.value - left.value, left.slope * width, right.slope * width);
        // Hermite's form, in powers of t.
        let (square, cube) = (3.0 * rise - 2.0 * start - end, start + end - 2.0 * rise);
        let value = left.value + t * (start + t * (square + t * cube));
        (value, (start + t * (2.0 * square + 3.0 * t * cube)) / width)
    }
}

/// Slopes at the points that keep every cubic monotone: the harmonic mean of the neighbouring secants, 0 at a turn.
fn monotone_slopes(points: &[(f64, f64)]) -> Vec<f64> {
    let secant = |index: usize| {
        let (left, right): ((f64, f64), (f64, f64)) = (points[index], points[index + 1]);
        (right.1 - left.1) / (right.0 - left.0)
    };
    let last = points.len() - 1;
    (0..=last)
        .map(|index| match index {
            0 => secant(0),
            _ if index == last => 0.0,
            _ => {
                let (before, after) = (secant(index - 1), secant(index));
                if before * after <= 0.0 { 0.0 } else { 2.0 * before * after / (before + after) }
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_passes_its_points_and_stays_between_them() {
        let points = [(1.0, 1.0), (2.0, 3.0), (4.0, 3.5), (6.0, 2.0), (9.0, 2.5)];
        let curve = Points::new(points).unwrap();
        for (at, value) in points {
            assert!((curve.value(at) - value).abs() < 1e-12);
        }
        let mut ends = vec![(0.0, 0.0)];
        ends.extend(points);
        for pair in ends.windows(2) {
            let (low, high) = (pair[0].1.min(pair[1].1), pair[0].1.max(pair[1].1));
            for step in 0..=20 {
                let at = pair[0].0 + (pair[1].0 - pair[0].0) * f64::from(step) / 20.0;
                assert!((low - 1e-12..=high + 1e-12).contains(&curve.value(at)), "{at}: {}", curve.value(at));
            }
        }
        assert_eq!((curve.value(50.0), curve.slope(50.0), curve.highest()), (2.5, 0.0, 3.5));
    }

    #[test]
    fn the_slope_is_that_of_the_curve() {
        let curve = Points::new([(1.0, 0.5), (3.0, 2.0), (5.0, 1.0)]).unwrap();
        for at in [0.2, 0.9, 1.5, 2.9, 3.3, 4.8] {
            let numeric = (curve.value(at + 1e-6) - curve.value(at - 1e-6)) / 2e-6;
            assert!((curve.slope(at) - numeric).abs() < 1e-5, "{at}");
        }
    }

    #[test]
    fn points_that_make_no_curve_are_refused() {
        assert_eq!(Points::new([]), Err(BadPoints::None));
        assert_eq!(Points::new([(0.0, 0.0)]), Err(BadPoints::None));
        assert_eq!(Points::new([(0.0, 1.0)]), Err(BadPoints::Value(0.0, 1.0)));
        assert_eq!(Points::new([(2.0, 1.0), (2.0, 3.0)]), Err(BadPoints::Twice(2.0)));
        assert!(matches!(Points::new([(1.0, f64::NAN)]), Err(BadPoints::Value(..))));
        assert!(matches!(Points::new([(-1.0, 1.0)]), Err(BadPoints::Value(..))));
    }
}
