//! The guided search: coordinate descent with restarts.
//!
//! From each start the search walks along one dimension at a time to the best value there, until no dimension helps; then
//! it tries the eight neighbours in each pair of dimensions, which gets it along ridges that lie across the axes. Of a
//! dimension with few values all are tried, of one with many those at distances 1, 2, 4, and so on, so that a line costs
//! its logarithm. When nothing helps any more the next start is taken, until the budget is spent. The starts come from
//! the caller, best first. Nothing is random: the same space and budget give the same points.

use std::collections::BTreeMap;

use super::space::Choices;

/// Values of a dimension that are all tried in a line.
const WHOLE_LINE: usize = 8;

/// Points that were asked for, with their objective; none where there is no such launch.
pub(super) type Seen = BTreeMap<Choices, Option<f64>>;

/// A search under way.
pub(super) struct Guided<'s, A, E> {
    sizes: &'s [usize],
    allowed: A,
    /// Points that may still be evaluated.
    left: usize,
    seen: &'s mut Seen,
    evaluate: E,
}

impl<'s, A: Fn(&[usize]) -> bool, E: FnMut(&[Choices]) -> Vec<Option<f64>>> Guided<'s, A, E> {
    /// A search of dimensions with `sizes` values. `evaluate` gives the objective of points that are `allowed` and not in
    /// `seen`, as many as `budget` in all; the smallest is the best.
    pub(super) fn new(sizes: &'s [usize], budget: usize, seen: &'s mut Seen, allowed: A, evaluate: E) -> Self {
        Self { sizes, allowed, left: budget, seen, evaluate }
    }

    /// Descends from each start in turn. Returns how many starts were taken.
    pub(super) fn run(&mut self, starts: impl IntoIterator<Item = Choices>) -> usize {
        let mut n_starts = 0;
        for start in starts {
            if self.left == 0 {
                break;
            }
            // A start that was passed on the way leads where that way led.
            if !self.seen.contains_key(&start) {
                n_starts += 1;
                self.descend(start);
            }
        }
        n_starts
    }

    fn descend(&mut self, start: Choices) {
        self.ask(std::slice::from_ref(&start));
        let mut at = start;
        while self.left > 0 {
            let before = at.clone();
            for dimension in 0..self.sizes.len() {
                at = self.best_of(at.clone(), self.line(&at, dimension));
            }
            if at == before {
                at = self.best_of(at.clone(), self.diagonals(&at));
            }
            if at == before {
                return;
            }
        }
    }

    /// The points along one dimension.
    fn line(&self, at: &Choices, dimension: usize) -> Vec<Choices> {
        let (size, own) = (self.sizes[dimension], at[dimension]);
        let values: Vec<usize> = if size <= WHOLE_LINE {
            (0..size).collect()
        } else {
            let steps = (0..usize::BITS).map(|power| 1_usize << power).take_while(|&step| step < size);
            let both = steps.flat_map(|step| [own.checked_sub(step), own.checked_add(step)]);
            both.flatten().chain([0, size - 1]).filter(|&value| value < size).collect()
        };
        let moved = |value: usize| {
            let mut point = at.clone();
            point[dimension] = value;
            point
        };
        values.into_iter().filter(|&value| value != own).map(moved).collect()
    }

    /// The points one step away in two dimensions at once.
    fn diagonals(&self, at: &Choices) -> Vec<Choices> {
        let mut points = Vec::new();
        for first in 0..at.len() {
            for second in first + 1..at.len() {
                for (one, other) in [(-1, -1), (-1, 1), (1, -1), (1, 1)] {
                    let mut point = at.clone();
                    let step = |value: usize, by: isize| value.checked_add_signed(by);
                    let (Some(a), Some(b)) = (step(at[first], one), step(at[second], other)) else { continue };
                    if a < self.sizes[first] && b < self.sizes[second] {
                        (point[first], point[second]) = (a, b);
                        points.push(point);
                    }
                }
            }
        }
        points
    }

    /// The best of `at` and the others; `at` where none is better.
    fn best_of(&mut self, at: Choices, others: Vec<Choices>) -> Choices {
        self.ask(&others);
        let objective = |point: &Choices| self.seen.get(point).copied().flatten().unwrap_or(f64::INFINITY);
        let mut best = (objective(&at), at);
        for point in others {
            let own = objective(&point);
            if own < best.0 {
                best = (own, point);
            }
        }
        best.1
    }

    /// Evaluates those of the points that are new, as far as the budget goes.
    fn ask(&mut self, points: &[Choices]) {
        let mut new: Vec<Choices> = Vec::new();
        for point in points {
            if !self.seen.contains_key(point) && !new.contains(point) {
                if !(self.allowed)(point) {
                    self.seen.insert(point.clone(), None);
                } else if new.len() < self.left {
                    new.push(point.clone());
                }
            }
        }
        if new.is_empty() {
            return;
        }
        self.left -= new.len();
        let objectives = (self.evaluate)(&new);
        self.seen.extend(new.into_iter().zip(objectives));
    }
}

/// The numbers below `n_points` in an order that jumps about evenly: for starts where nothing else tells points apart.
pub(super) fn spread(n_points: u64) -> impl Iterator<Item = u64> {
    // Multiples of a number without a common factor visit every point once; near the golden section they spread evenly.
    let mut step = ((n_points as f64 * 0.618_033_988_749_895) as u64).max(1);
    while gcd(step, n_points) != 1 {
        step += 1;
    }
    let next = move |&at: &u64| Some(((u128::from(at) + u128::from(step)) % u128::from(n_points)) as u64);
    std::iter::successors((n_points > 0).then_some(0), next).take(usize::try_from(n_points).unwrap_or(usize::MAX))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The best value that a search finds, and how many points it asked for.
    fn search(sizes: &[usize], budget: usize, objective: impl Fn(&Choices) -> Option<f64>) -> (Option<f64>, usize) {
        let mut seen = Seen::new();
        let n_points: u64 = sizes.iter().map(|&size| size as u64).product();
        let choices = |mut number: u64| -> Choices {
            let digit = |&size: &usize| {
                let digit = (number % size as u64) as usize;
                number /= size as u64;
                digit
            };
            sizes.iter().map(digit).collect()
        };
        let evaluate = |points: &[Choices]| points.iter().map(&objective).collect();
        Guided::new(sizes, budget, &mut seen, |_| true, evaluate).run(spread(n_points).map(choices));
        let best = seen
            .values()
            .flatten()
            .copied()
            .fold(None, |best: Option<f64>, own| Some(best.map_or(own, |best| best.min(own))));
        (best, seen.len())
    }

    #[test]
    fn a_bowl_across_the_axes_is_descended() {
        let sizes = [32, 32, 4];
        let objective = |at: &Choices| {
            let [x, y, z] = [at[0] as f64, at[1] as f64, at[2] as f64];
            Some((x + y - 41.0).powi(2) * 10.0 + (x - y - 3.0).powi(2) + (z - 2.0).abs())
        };
        let (best, n_seen) = search(&sizes, 1200, objective);
        assert_eq!(best, Some(0.0));
        assert!(n_seen <= 1200, "{n_seen}");
    }

    #[test]
    fn points_without_a_launch_are_walked_around() {
        let objective = |at: &Choices| (at[0] >= 20 && at[1] >= 20).then(|| (at[0] + at[1]) as f64);
        assert_eq!(search(&[40, 40], 400, objective).0, Some(40.0));
        assert_eq!(search(&[40, 40], 400, |_| None), (None, 400));
    }

    #[test]
    fn every_number_is_visited_once() {
        for n_points in [1, 2, 3, 10, 97, 1000] {
            let mut numbers: Vec<u64> = spread(n_points).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (0..n_points).collect::<Vec<_>>());
        }
        assert_eq!(spread(0).count(), 0);
    }

    proptest! {
        #[test]
        fn a_budget_is_kept_and_enough_of_it_finds_the_best(
            sizes in proptest::collection::vec(1usize..9, 1..4), budget in 0usize..600, salt in 0u64..1000
        ) {
            let objective = |at: &Choices| {
                let mixed = at.iter().fold(salt, |sum, &value| (sum ^ value as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                Some((mixed >> 40) as f64)
            };
            let (best, n_seen) = search(&sizes, budget, objective);
            prop_assert!(n_seen <= budget);
            let n_points: usize = sizes.iter().product();
            if budget >= n_points {
                prop_assert_eq!(n_seen, n_points);
                prop_assert!(best.is_some());
            }
        }
    }
}
