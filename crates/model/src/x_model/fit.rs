//! Parameters from measurements: R, L and the knee from points of f(k), alpha and beta from hit rates.
//!
//! Both are least squares of relative (f) or absolute (hit rate) differences, found by a downhill simplex
//! (J. A. Nelder and R. Mead, 1965) over the logarithms of the parameters, from several starts: no random numbers.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::curve::{Cache, Memory, Supply};

/// f(k) fitted to points.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Fit {
    /// R: the throughput that f approaches. With a soft knee it lies above every point, the more so the less the points
    /// show of saturation: it is an asymptote, not a peak that anybody measured.
    pub throughput: f64,
    /// L: threads over throughput where few threads are in memory; its unit follows from those of the points.
    pub latency: f64,
    /// p: the sharpness of the knee; none in the paper's form.
    pub knee: Option<f64>,
    /// Mean of |f(k) - measured| / measured over the points of the fit.
    pub error: f64,
}

/// What f(k) is fitted with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// min(k/L, R), as the paper has it.
    Corner,
    /// 1/((L/k)^p + (1/R)^p)^(1/p).
    Knee,
}

impl Fit {
    /// The memory system with these parameters, without a cache.
    pub fn memory(&self) -> Memory {
        Memory { latency: self.latency, throughput: self.throughput, knee: self.knee, cache: None }
    }

    /// Mean of |f(k) - measured| / measured over other points.
    pub fn error_on(&self, points: &[(f64, f64)]) -> f64 {
        mean_error(&self.memory(), points)
    }
}

/// Fits f(k) to measured points (k, throughput); none with fewer points than parameters, or with one not above 0.
pub fn fit(points: &[(f64, f64)], form: Form) -> Option<Fit> {
    let n_parameters = if form == Form::Corner { 2 } else { 3 };
    let usable = points.iter().all(|(k, value)| k.is_finite() && value.is_finite() && *k > 0.0 && *value > 0.0);
    if points.len() < n_parameters || !usable {
        return None;
    }
    let memory = |x: &[f64]| Memory {
        latency: libm::exp(x[0]),
        throughput: libm::exp(x[1]),
        knee: x.get(2).map(|p| libm::exp(*p)),
        cache: None,
    };
    let loss = |x: &[f64]| {
        let supply = Supply::Memory(memory(x));
        let squares = points.iter().map(|(k, value)| (supply.value(*k) / value - 1.0).powi(2));
        squares.sum::<f64>() / points.len() as f64
    };
    let steepest = points.iter().map(|(k, value)| k / value).fold(f64::INFINITY, f64::min);
    let highest = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let start = |knee: f64| vec![libm::log(steepest), libm::log(highest), libm::log(knee)];
    let starts: Vec<Vec<f64>> = match form {
        Form::Corner => vec![start(1.0)[..2].to_vec()],
        Form::Knee => [1.0, 2.0, 4.0, 8.0, 20.0].into_iter().map(start).collect(),
    };
    let best = best_of(starts, &loss);
    let memory = memory(&best);
    let error = mean_error(&memory, points);
    Some(Fit { throughput: memory.throughput, latency: memory.latency, knee: memory.knee, error })
}

fn mean_error(memory: &Memory, points: &[(f64, f64)]) -> f64 {
    let supply = Supply::Memory(*memory);
    points.iter().map(|(k, value)| (supply.value(*k) / value - 1.0).abs()).sum::<f64>() / points.len() as f64
}

/// alpha and beta fitted to a hit rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Locality {
    /// alpha.
    pub alpha: f64,
    /// beta in bytes.
    pub beta: f64,
    /// Mean of |h - given| over the points.
    pub error: f64,
}

/// Logarithm of alpha - 1 beyond which a fit does not go: equation (3) is an exponential there.
const MOST_ALPHA: f64 = 4.6;

impl Locality {
    /// Where equation (3) has become 1 - exp(-S$ / (beta k) (alpha - 1)), the bytes beta / (alpha - 1), which are all that the
    /// hit rates tell: any greater alpha with a beta as many times greater fits them as well.
    pub fn only_scale(&self) -> Option<f64> {
        let is_exponential = libm::log(self.alpha - 1.0) > 0.95 * MOST_ALPHA;
        is_exponential.then(|| self.beta / (self.alpha - 1.0))
    }
}

/// A fit and the points that it is of.
type Fitted = (Vec<(f64, f64)>, Locality);

/// The last fits. What-if questions ask about one launch again and again, and a fit takes longer than all else that the
/// model does; the same points have the same fit.
static FITTED: Mutex<VecDeque<Fitted>> = Mutex::new(VecDeque::new());
const MOST_FITTED: usize = 64;

/// Fits equation (3) to points (bytes of cache per thread, hit rate); none without a point. Where nothing ever hits,
/// alpha is 1.
pub fn fit_locality(points: &[(f64, f64)]) -> Option<Locality> {
    if points.is_empty() || points.iter().any(|(bytes, rate)| !(*bytes > 0.0 && (0.0..=1.0).contains(rate))) {
        return None;
    }
    // Entries are whole or missing, whoever panicked.
    let fitted = || FITTED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, found)) = fitted().iter().find(|(own, _)| own == points) {
        return Some(*found);
    }
    let found = fit_hit_rates(points);
    let mut fitted = fitted();
    fitted.push_back((points.to_vec(), found));
    if fitted.len() > MOST_FITTED {
        fitted.pop_front();
    }
    Some(found)
}

fn fit_hit_rates(points: &[(f64, f64)]) -> Locality {
    if points.iter().all(|(_, rate)| *rate == 0.0) {
        return Locality { alpha: 1.0, beta: 1.0, error: 0.0 };
    }
    let cache =
        |bytes: f64, x: &[f64]| Cache { bytes, latency: 1.0, alpha: 1.0 + libm::exp(x[0]), beta: libm::exp(x[1]) };
    let error = |x: &[f64], power: i32| {
        let differences = points.iter().map(|(bytes, rate)| (cache(*bytes, x).hit_rate(1.0) - rate).abs().powi(power));
        differences.sum::<f64>() / points.len() as f64
    };
    // Far beyond these, equation (3) is an exponential, and only the ratio of the two matters.
    let loss = |x: &[f64]| {
        let beyond = |value: f64, limit: f64| (value.abs() - limit).max(0.0);
        error(x, 2) + 1e-3 * (beyond(x[0], MOST_ALPHA) + beyond(x[1], 25.0))
    };
    let middle = libm::log(points[points.len() / 2].0);
    let starts = [0.1, 1.0, 10.0]
        .into_iter()
        .flat_map(|alpha| [-3.0, 0.0, 3.0].map(|shift| vec![libm::log(alpha), middle + shift]));
    let best = best_of(starts.collect(), &loss);
    let Cache { alpha, beta, .. } = cache(1.0, &best);
    Locality { alpha, beta, error: error(&best, 1) }
}

/// The best of what the simplex finds from several starts, each improved once more.
fn best_of(starts: Vec<Vec<f64>>, loss: &impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let found = starts.into_iter().map(|start| {
        let once = simplex(start, loss);
        simplex(once, loss)
    });
    let best = found.min_by(|left, right| loss(left).total_cmp(&loss(right)));
    best.expect("there is a start")
}

/// The downhill simplex method.
fn simplex(start: Vec<f64>, loss: &impl Fn(&[f64]) -> f64) -> Vec<f64> {
    const ROUNDS: usize = 600;
    let n = start.len();
    let mut corners: Vec<(Vec<f64>, f64)> = (0..=n)
        .map(|index| {
            let mut corner = start.clone();
            if let Some(axis) = index.checked_sub(1) {
                corner[axis] += 0.15;
            }
            let at = loss(&corner);
            (corner, at)
        })
        .collect();
    for _ in 0..ROUNDS {
        corners.sort_by(|left, right| left.1.total_cmp(&right.1));
        if corners[n].1 - corners[0].1 < 1e-15 {
            break;
        }
        let centre: Vec<f64> =
            (0..n).map(|axis| corners[..n].iter().map(|(corner, _)| corner[axis]).sum::<f64>() / n as f64).collect();
        let along = |share: f64| {
            let corner: Vec<f64> =
                centre.iter().zip(&corners[n].0).map(|(centre, worst)| centre + share * (centre - worst)).collect();
            let at = loss(&corner);
            (corner, at)
        };
        let reflected = along(1.0);
        let next = if reflected.1 < corners[0].1 {
            let expanded = along(2.0);
            if expanded.1 < reflected.1 { expanded } else { reflected }
        } else if reflected.1 < corners[n - 1].1 {
            reflected
        } else {
            along(-0.5)
        };
        if next.1 < corners[n].1 {
            corners[n] = next;
            continue;
        }
        let best = corners[0].0.clone();
        for (corner, at) in &mut corners[1..] {
            for (value, best) in corner.iter_mut().zip(&best) {
                *value = 0.5 * (*value + best);
            }
            *at = loss(corner);
        }
    }
    corners.sort_by(|left, right| left.1.total_cmp(&right.1));
    corners.swap_remove(0).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fit_finds_the_parameters_that_made_the_points() {
        for knee in [0.9, 2.5, 9.0] {
            let made = Memory { latency: 0.013, throughput: 1800.0, knee: Some(knee), cache: None };
            let points: Vec<_> =
                (1..=32).map(|k| f64::from(2 * k)).map(|k| (k, Supply::Memory(made).value(k))).collect();
            let found = fit(&points, Form::Knee).unwrap();
            assert!(found.error < 1e-4, "{found:?}");
            assert!((found.throughput / 1800.0 - 1.0).abs() < 1e-2 && (found.latency / 0.013 - 1.0).abs() < 1e-2);
        }
        let corner = Memory { latency: 918.0, throughput: 0.05, knee: None, cache: None };
        let points: Vec<_> = (1..=60).map(f64::from).map(|k| (k, Supply::Memory(corner).value(k))).collect();
        let found = fit(&points, Form::Corner).unwrap();
        assert!(found.error < 1e-3 && (found.throughput * found.latency / 45.9 - 1.0).abs() < 1e-2, "{found:?}");
    }

    #[test]
    fn locality_comes_back_from_its_own_hit_rates() {
        for (alpha, beta) in [(4.0, 1000.0), (1.6, 300.0), (9.0, 20_000.0)] {
            let made = |bytes: f64| Cache { bytes, latency: 1.0, alpha, beta };
            let points: Vec<_> =
                (7..=18).map(|power| f64::from(1 << power)).map(|bytes| (bytes, made(bytes).hit_rate(1.0))).collect();
            let found = fit_locality(&points).unwrap();
            assert!(found.error < 2e-3, "{found:?}");
        }
        assert_eq!(fit_locality(&[(128.0, 0.0), (4096.0, 0.0)]).unwrap().alpha, 1.0);
        assert_eq!(fit_locality(&[]), None);
    }

    /// Hit rates that rise at once, as those of a loop over the same lines: they tell where, but neither alpha nor beta.
    #[test]
    fn hit_rates_of_a_step_tell_one_number() {
        let shares: Vec<f64> = (0..=60).map(|step| 170.0 * 1.148_f64.powi(step)).collect();
        let step = |at: f64| fit_locality(&shares.iter().map(|&s| (s, f64::from(s > at))).collect::<Vec<_>>()).unwrap();
        let (found, twice) = (step(8192.0), step(16384.0));
        let (scale, scale_of_twice) = (found.only_scale().unwrap(), twice.only_scale().unwrap());
        assert!((scale_of_twice / scale - 2.0).abs() < 0.2, "{scale} {scale_of_twice}");
        let rate = |alpha: f64, beta: f64| Cache { bytes: 8192.0, latency: 1.0, alpha, beta }.hit_rate(1.0);
        let other = rate(1.0 + 3.0 * (found.alpha - 1.0), 3.0 * found.beta);
        assert!((other - rate(found.alpha, found.beta)).abs() < 5e-3, "three times of both fit as well");
        let smooth = Locality { alpha: 4.0, beta: 1000.0, error: 0.0 };
        assert_eq!(smooth.only_scale(), None);
        assert_eq!(fit(&[(1.0, 1.0)], Form::Corner), None);
    }
}
