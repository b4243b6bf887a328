//! Where demand meets supply: all intersections of d(k) and f(k), which of them last, and which one the machine reaches.
//!
//! f is cut at its corners and its local extrema. Where it rises, f - d rises and has at most one zero. Where it falls,
//! the piece is searched on a grid, between whose points every near-miss is followed to its end: so pairs of
//! intersections that nearly touch are found, too. The paper draws three; equation (5) can give five.

use super::curve::{Computation, Supply, System};
use super::shape::extrema;

/// A steady state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Intersection {
    /// k: threads in the memory system.
    pub k: f64,
    /// x: threads in the computation system.
    pub x: f64,
    /// f(k): requests per cycle.
    pub memory_throughput: f64,
    /// Z f(k): operations per cycle.
    pub computation_throughput: f64,
    /// Whether the machine stays there.
    pub stability: Stability,
    /// df/dk, from the right.
    pub supply_slope: f64,
    /// dd/dk, from the right.
    pub demand_slope: f64,
}

/// Whether the machine returns to a state after a disturbance (6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stability {
    /// It does: one thread more in memory is served faster than one more asks.
    Stable,
    /// It leaves the state in the direction of the disturbance, so that nobody observes it.
    Unstable,
    /// The curves touch: it returns from one side and leaves on the other.
    Touching,
}

impl Stability {
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Unstable => "unstable",
            Self::Touching => "touching",
        }
    }
}

/// Grid points of a piece on which f falls.
const GRID: u32 = 240;
/// What counts as no difference between f and d, relative to them.
const EQUAL: f64 = 1e-13;

/// Every intersection, by the number of threads in memory; at least one.
pub fn intersections(system: &System) -> Vec<Intersection> {
    let samples = samples(system);
    let mut found = Vec::new();
    let mut side = -1.0;
    let mut touched: Option<f64> = None;
    let mut before = 0.0;
    for &k in &samples {
        let sign = difference_sign(system, k);
        if sign != side && touched.is_none() {
            let root = first_off_side(system, before, k, side);
            if sign == 0.0 {
                touched = Some(root);
            } else {
                found.push(at(system, root, crossing(side, sign)));
            }
        } else if sign != 0.0
            && let Some(root) = touched.take()
        {
            found.push(at(system, root, crossing(side, sign)));
        }
        if sign != 0.0 {
            side = sign;
        }
        before = k;
    }
    if let Some(root) = touched {
        found.push(at(system, root, Stability::Stable));
    }
    found
}

/// Stable where f - d goes from below to above: then (6) holds, |dd/dx| > |df/dk| where f falls.
fn crossing(before: f64, after: f64) -> Stability {
    match (before < 0.0, after < 0.0) {
        (true, false) => Stability::Stable,
        (false, true) => Stability::Unstable,
        _ => Stability::Touching,
    }
}

fn at(system: &System, k: f64, stability: Stability) -> Intersection {
    let memory_throughput = system.supply.value(k);
    Intersection {
        k,
        x: system.threads - k,
        memory_throughput,
        computation_throughput: system.intensity * memory_throughput,
        stability,
        supply_slope: system.supply.slope(k),
        demand_slope: system.demand_slope(k),
    }
}

fn difference(system: &System, k: f64) -> f64 {
    system.supply.value(k) - system.demand(k)
}

/// The sign of f - d, 0 where the two are equal but for rounding.
fn difference_sign(system: &System, k: f64) -> f64 {
    let (supply, demand) = (system.supply.value(k), system.demand(k));
    let difference = supply - demand;
    if difference.abs() <= EQUAL * supply.max(demand) { 0.0 } else { difference.signum() }
}

/// The first place between `left` and `right` at which f - d is no longer on `side`.
fn first_off_side(system: &System, mut left: f64, mut right: f64, side: f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (left + right);
        if middle <= left || middle >= right {
            break;
        }
        if difference_sign(system, middle) == side {
            left = middle;
        } else {
            right = middle;
        }
    }
    right
}

/// Places from 0 to n, between two of which f - d crosses 0 at most once.
fn samples(system: &System) -> Vec<f64> {
    let n = system.threads;
    let mut cuts: Vec<f64> = extrema(&system.supply).iter().map(|extremum| extremum.k).collect();
    cuts.extend(system.supply.corners());
    cuts.extend(system.computation.corners().into_iter().map(|x| n - x));
    cuts.retain(|&k| k > 0.0 && k < n);
    cuts.push(n);
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    let mut samples = Vec::new();
    let mut left = 0.0;
    for &right in &cuts {
        if !rises(system, left, right) {
            samples.extend(searched(system, left, right));
        }
        samples.push(right);
        left = right;
    }
    samples
}

/// Whether f - d rises from `left` to `right`, a piece without an extremum of f.
fn rises(system: &System, left: f64, right: f64) -> bool {
    matches!(system.computation, Computation::Lanes(_)) && system.supply.value(left) <= system.supply.value(right)
}

/// A grid inside a piece, dense at its left end, too, and every place between where f - d comes close to 0 and turns.
fn searched(system: &System, left: f64, right: f64) -> Vec<f64> {
    let share = |step: u32| f64::from(step) / f64::from(GRID);
    let mut grid: Vec<f64> = (1..GRID).map(|step| left + (right - left) * share(step)).collect();
    if left > 0.0 {
        grid.extend((1..GRID).map(|step| left * libm::pow(right / left, share(step))));
        grid.sort_by(f64::total_cmp);
    }
    let ends: Vec<f64> = std::iter::once(left).chain(grid.iter().copied()).chain([right]).collect();
    let mut turns = Vec::new();
    for three in ends.windows(3) {
        let [first, middle, last] = [0, 1, 2].map(|index| difference(system, three[index]));
        let same_side = first * middle > 0.0 && middle * last > 0.0;
        if same_side && middle.abs() <= first.abs() && middle.abs() <= last.abs() {
            turns.push(closest(system, three[0], three[2], middle.signum()));
        }
    }
    grid.extend(turns);
    grid.sort_by(f64::total_cmp);
    grid
}

/// The place between `left` and `right` at which f - d, on `side`, is closest to 0 or farthest beyond.
fn closest(system: &System, left: f64, right: f64, side: f64) -> f64 {
    smallest(left, right, |k| side * difference(system, k))
}

/// The place of the smallest value of a function that falls and then rises, by golden sections.
pub(super) fn smallest(mut left: f64, mut right: f64, value: impl Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let mut low = right - GOLDEN * (right - left);
    let mut high = left + GOLDEN * (right - left);
    let (mut at_low, mut at_high) = (value(low), value(high));
    for _ in 0..90 {
        if at_low <= at_high {
            (right, high, at_high) = (high, low, at_low);
            low = right - GOLDEN * (right - left);
            at_low = value(low);
        } else {
            (left, low, at_low) = (low, high, at_high);
            high = left + GOLDEN * (right - left);
            at_high = value(high);
        }
    }
    if at_low <= at_high { low } else { high }
}

/// Where the slope of f changes sign between two places without a corner.
pub(super) fn turn(supply: &Supply, mut left: f64, mut right: f64) -> f64 {
    let rising = supply.slope(left) > 0.0;
    for _ in 0..200 {
        let middle = 0.5 * (left + right);
        if middle <= left || middle >= right {
            break;
        }
        if (supply.slope(middle) > 0.0) == rising {
            left = middle;
        } else {
            right = middle;
        }
    }
    0.5 * (left + right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::x_model::{Cache, Lanes, Memory};

    /// The example with five intersections.
    fn five() -> System {
        let cache = Cache { bytes: 16384.0, latency: 20.0, alpha: 4.0, beta: 1000.0 };
        System {
            threads: 60.0,
            intensity: 1.0,
            supply: Supply::Memory(Memory { latency: 400.0, throughput: 0.1, knee: None, cache: Some(cache) }),
            computation: Computation::Lanes(Lanes { throughput: 0.243, parallelism: 0.05, latency: 1.0 }),
        }
    }

    #[test]
    fn equation_5_can_give_five_intersections() {
        let found = intersections(&five());
        let wanted = [8.8, 16.1, 28.5, 43.5, 55.9];
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            // The wanted places are known to a digit after the point, the last one not quite.
            assert!((found.k - wanted).abs() < 0.06, "{} is not {wanted}", found.k);
            assert!((found.memory_throughput / five().demand(found.k) - 1.0).abs() < 1e-12);
            let stability = if index % 2 == 0 { Stability::Stable } else { Stability::Unstable };
            assert_eq!(found.stability, stability);
            if found.supply_slope < 0.0 {
                let steeper = found.demand_slope.abs() > found.supply_slope.abs();
                assert_eq!(steeper, stability == Stability::Stable, "(6) at {}", found.k);
            }
        }
    }
}
