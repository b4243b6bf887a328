//! The CTAs that do the same as the one that is walked.
//!
//! One CTA is walked for many. Every value carries how it changes from CTA to CTA: by a constant per step along each
//! axis of the grid, or in a way that is not followed. Wherever a value decides something, the region shrinks to the
//! CTAs in which the decision is the same; where only every n-th CTA decides alike, the box is split and walked anew.

use crate::walk::Stop;

/// Largest number of boxes that one split makes.
const MAX_SPLIT: u64 = 256;

/// How a value changes with the CTA's place in the box that is walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Dependence {
    /// Added per step along each axis, as far as it is known.
    pub(crate) step: [i64; 3],
    /// Axes (bit 0 for x) along which it changes in a way that was not followed.
    pub(crate) opaque: u8,
}

impl Dependence {
    /// The same in every CTA.
    pub(crate) const NONE: Self = Self { step: [0; 3], opaque: 0 };

    pub(crate) const fn is_none(&self) -> bool {
        let [x, y, z] = self.step;
        x == 0 && y == 0 && z == 0 && self.opaque == 0
    }

    /// Axes along which the value changes.
    pub(crate) fn axes(&self) -> u8 {
        (0..3).fold(self.opaque, |axes, axis| axes | u8::from(self.step[axis] != 0) << axis)
    }

    /// Changes along these axes in a way that is not followed.
    pub(crate) const fn opaque(axes: u8) -> Self {
        Self { step: [0; 3], opaque: axes }
    }

    /// Of a value that is in some lanes one, in some the other.
    pub(crate) fn of_either(&self, other: &Self) -> Self {
        self.zip(other, |own, other| (own == other).then_some(own))
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        self.zip(other, |own, other| Some(own.wrapping_add(other)))
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        self.zip(other, |own, other| Some(own.wrapping_sub(other)))
    }

    /// Each step changed; `None` is a change that cannot be followed.
    pub(crate) fn map(&self, change: impl Fn(i64) -> Option<i64>) -> Self {
        self.zip(&Self::NONE, |own, _| change(own))
    }

    fn zip(&self, other: &Self, combine: impl Fn(i64, i64) -> Option<i64>) -> Self {
        let mut result = Self { step: [0; 3], opaque: self.opaque | other.opaque };
        for axis in 0..3 {
            if result.opaque >> axis & 1 == 0 {
                match combine(self.step[axis], other.step[axis]) {
                    Some(step) => result.step[axis] = step,
                    None => result.opaque |= 1 << axis,
                }
            }
        }
        result
    }

    /// The same change of a value of so many bits, which is counted modulo two to the power of them.
    pub(crate) fn in_bits(&self, bits: u32) -> Self {
        if bits >= 64 {
            return *self;
        }
        self.map(|step| Some(step << (64 - bits) >> (64 - bits)))
    }
}

/// CTAs at equal distances along each axis of the grid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Lattice {
    pub(crate) start: [u32; 3],
    pub(crate) step: [u32; 3],
    pub(crate) count: [u32; 3],
}

impl Lattice {
    /// All CTAs of a grid.
    pub(crate) const fn grid(count: [u32; 3]) -> Self {
        Self { start: [0; 3], step: [1; 3], count }
    }

    pub(crate) fn n_ctas(&self) -> u64 {
        self.count.iter().map(|&count| u64::from(count)).product()
    }

    /// The positions `first..first + count` of an axis.
    fn part(mut self, axis: usize, first: u32, count: u32) -> Self {
        self.start[axis] += first * self.step[axis];
        self.count[axis] = count;
        self
    }

    /// The boxes of every `factor`-th position of an axis.
    pub(crate) fn split(&self, axis: usize, factor: u32) -> Vec<Self> {
        let every = |first: u32| {
            let mut part = *self;
            part.start[axis] += first * self.step[axis];
            part.step[axis] = self.step[axis].saturating_mul(factor);
            part.count[axis] = (self.count[axis] - first).div_ceil(factor);
            part
        };
        (0..factor.min(self.count[axis])).map(every).collect()
    }
}

/// The part of a box in which all CTAs do what the walked one does, as far as it has been walked.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    lattice: Lattice,
    /// Position of the walked CTA.
    at: [u32; 3],
    /// Distances to the lowest and highest position that do the same.
    low: [i64; 3],
    high: [i64; 3],
}

impl Region {
    /// Before anything was decided: the whole box, with the CTA in its middle.
    pub(crate) fn new(lattice: Lattice) -> Self {
        let at = lattice.count.map(|count| count / 2);
        let low = at.map(|at| -i64::from(at));
        let high = [0, 1, 2].map(|axis| i64::from(lattice.count[axis]) - 1 - i64::from(at[axis]));
        Self { lattice, at, low, high }
    }

    /// Coordinates of the walked CTA.
    pub(crate) fn cta(&self) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.lattice.start[axis] + self.lattice.step[axis] * self.at[axis])
    }

    /// Coordinates of the CTAs at its corners; the same several times where it is thin.
    pub(crate) fn corners(&self) -> impl Iterator<Item = [u32; 3]> {
        (0..8).map(|corner| {
            std::array::from_fn(|axis| {
                let distance = if corner >> axis & 1 == 0 { self.low[axis] } else { self.high[axis] };
                self.lattice.start[axis] + self.lattice.step[axis] * (i64::from(self.at[axis]) + distance) as u32
            })
        })
    }

    /// How the coordinate along an axis changes.
    pub(crate) fn coordinate(&self, axis: usize) -> Dependence {
        let mut dependence = Dependence::NONE;
        if self.varies(axis) {
            dependence.step[axis] = i64::from(self.lattice.step[axis]);
        }
        dependence
    }

    fn varies(&self, axis: usize) -> bool {
        self.low[axis] < self.high[axis]
    }

    /// Number of CTAs.
    pub(crate) fn n_ctas(&self) -> u64 {
        (0..3).map(|axis| (self.high[axis] - self.low[axis] + 1) as u64).product()
    }

    /// Distances along an axis from the walked CTA.
    pub(crate) fn range(&self, axis: usize) -> (i64, i64) {
        (self.low[axis], self.high[axis])
    }

    /// Keeps only the position of the walked CTA along these axes.
    pub(crate) fn pin(&mut self, axes: u8) {
        for axis in (0..3).filter(|axis| axes >> axis & 1 == 1) {
            (self.low[axis], self.high[axis]) = (0, 0);
        }
    }

    /// Keeps the CTAs in which a number that is between `least` and `most` in the lanes of the walked one stays within
    /// `low..=high`.
    pub(crate) fn keep(&mut self, dependence: &Dependence, least: i128, most: i128, low: i128, high: i128) {
        self.pin(dependence.opaque);
        let (mut above, mut below) = ((high - most).max(0), (least - low).max(0));
        for axis in 0..3 {
            let step = i128::from(dependence.step[axis]);
            if step == 0 || !self.varies(axis) {
                continue;
            }
            let (up, down) = if step > 0 { (above / step, below / step) } else { (below / -step, above / -step) };
            let clamp = |limit: i128| i64::try_from(limit).unwrap_or(i64::MAX);
            self.high[axis] = self.high[axis].min(clamp(up));
            self.low[axis] = self.low[axis].max(-clamp(down));
            let (rise, fall) = (step * i128::from(self.high[axis]), step * i128::from(self.low[axis]));
            above -= rise.max(fall);
            below += rise.min(fall);
        }
    }

    /// True when a value modulo `modulus` is the same in all CTAs, or a split of the box makes it so.
    pub(crate) fn can_keep_modulo(&self, dependence: &Dependence, modulus: u64) -> bool {
        (0..3).all(|axis| {
            let step = dependence.step[axis].unsigned_abs();
            !self.varies(axis) || self.split_factor(axis, step, modulus).is_some()
        })
    }

    /// Boxes to split an axis into, so that its steps are multiples of `modulus`; `None` where that is no gain over
    /// single positions.
    fn split_factor(&self, axis: usize, step: u64, modulus: u64) -> Option<u64> {
        let factor = modulus / gcd(step, modulus);
        (factor < u64::from(self.lattice.count[axis]) && factor <= MAX_SPLIT).then_some(factor)
    }

    /// Sees to it that the steps are multiples of `modulus`, so that the value modulo it is the same in all CTAs.
    pub(crate) fn keep_modulo(&mut self, dependence: &Dependence, modulus: u64) -> Result<(), Stop> {
        self.pin(dependence.opaque);
        for axis in 0..3 {
            let step = dependence.step[axis].unsigned_abs();
            if step.is_multiple_of(modulus) || !self.varies(axis) {
                continue;
            }
            match self.split_factor(axis, step, modulus) {
                Some(factor) => return Err(Stop::Split { axis, factor: factor as u32 }),
                None => self.pin(1 << axis),
            }
        }
        Ok(())
    }

    /// True when a value modulo `modulus` is the same in all CTAs.
    pub(crate) fn keeps_modulo(&self, dependence: &Dependence, modulus: u64) -> bool {
        (0..3).all(|axis| !self.varies(axis) || dependence.step[axis].unsigned_abs().is_multiple_of(modulus))
            && dependence.opaque == 0
    }

    /// By how much a value modulo `modulus` moves from the walked CTA, and in how many CTAs by that much.
    pub(crate) fn moves(&self, dependence: &Dependence, modulus: u64) -> Vec<(i64, u64)> {
        let mut moves = vec![(0, 1)];
        for axis in (0..3).filter(|&axis| self.varies(axis)) {
            let step = dependence.step[axis];
            // Of a step of 0 the period is 1.
            let period = (modulus / gcd(step.unsigned_abs(), modulus)) as i64;
            let (low, high) = (self.low[axis], self.high[axis]);
            // Positions low..=high that are `first` plus a multiple of the period.
            let n = |first: i64| (high - first) / period + 1;
            let firsts = low..=high.min(low + period - 1);
            let along: Vec<(i64, u64)> = firsts.map(|first| (first * step, n(first) as u64)).collect();
            moves = moves.iter().flat_map(|&(by, n)| along.iter().map(move |&(more, m)| (by + more, n * m))).collect();
        }
        moves
    }

    /// Number of moves at most, before the region has shrunk.
    pub(crate) fn n_moves(&self, dependence: &Dependence, modulus: u64) -> u64 {
        let along = |axis: usize| {
            let period = modulus / gcd(dependence.step[axis].unsigned_abs(), modulus);
            if self.varies(axis) { period.min((self.high[axis] - self.low[axis] + 1) as u64) } else { 1 }
        };
        (0..3).map(along).product()
    }

    /// The rest of the box.
    pub(crate) fn rest(&self) -> Vec<Lattice> {
        let mut rest = Vec::new();
        let mut inner = self.lattice;
        for axis in (0..3).rev() {
            let first = (i64::from(self.at[axis]) + self.low[axis]) as u32;
            let end = (i64::from(self.at[axis]) + self.high[axis]) as u32 + 1;
            let count = inner.count[axis];
            if first > 0 {
                rest.push(inner.part(axis, 0, first));
            }
            if end < count {
                rest.push(inner.part(axis, end, count - end));
            }
            inner = inner.part(axis, first, end - first);
        }
        rest
    }
}

/// Greatest common divisor; that with 0 is the other number.
pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn ctas(lattice: &Lattice) -> Vec<[u32; 3]> {
        let along = |axis: usize| (0..lattice.count[axis]).map(move |at| lattice.start[axis] + at * lattice.step[axis]);
        along(2).flat_map(|z| along(1).flat_map(move |y| along(0).map(move |x| [x, y, z]))).collect()
    }

    #[test]
    fn the_region_and_its_rest_are_the_box() {
        let mut region = Region::new(Lattice::grid([10, 7, 3]));
        let dependence = Dependence { step: [4, -3, 0], opaque: 0b100 };
        region.keep(&dependence, 5, 9, 0, 20);
        let rest: Vec<[u32; 3]> = region.rest().iter().flat_map(ctas).collect();
        let unique: BTreeSet<[u32; 3]> = rest.iter().copied().collect();
        assert_eq!(unique.len(), rest.len());
        assert_eq!(rest.len() as u64 + region.n_ctas(), 210);
        assert!(!unique.contains(&region.cta()));
        let corners: BTreeSet<[u32; 3]> = region.corners().collect();
        let own: BTreeSet<[u32; 3]> = ctas(&Lattice::grid([10, 7, 3])).into_iter().collect();
        let own: BTreeSet<[u32; 3]> = own.difference(&unique).copied().collect();
        assert!(corners.is_subset(&own));
        let ends = |of: &BTreeSet<[u32; 3]>, axis: usize| {
            let along = || of.iter().map(|cta| cta[axis]);
            (along().min(), along().max())
        };
        assert!((0..3).all(|axis| ends(&corners, axis) == ends(&own, axis)));
    }

    #[test]
    fn every_cta_of_the_region_keeps_the_bound_and_its_neighbours_do_not() {
        let mut region = Region::new(Lattice::grid([100, 1, 1]));
        // 50 is walked; the number there is 200 to 203, and 4 more per CTA.
        region.keep(&Dependence { step: [4, 0, 0], opaque: 0 }, 200, 203, 100, 250);
        assert_eq!(region.range(0), (-25, 11));
        let falling = Dependence { step: [-4, 0, 0], opaque: 0 };
        region.keep(&falling, 200, 203, 180, 1000);
        assert_eq!(region.range(0), (-25, 5));
    }

    #[test]
    fn two_axes_share_the_room() {
        let mut region = Region::new(Lattice::grid([9, 9, 1]));
        let dependence = Dependence { step: [3, 5, 0], opaque: 0 };
        region.keep(&dependence, 0, 0, -20, 20);
        let ((low_x, high_x), (low_y, high_y)) = (region.range(0), region.range(1));
        assert_eq!((low_x, high_x), (-4, 4));
        assert!(3 * high_x + 5 * high_y <= 20 && 3 * low_x + 5 * low_y >= -20);
        assert_eq!((low_y, high_y), (-1, 1));
    }

    #[test]
    fn moves_are_as_many_as_ctas() {
        let mut region = Region::new(Lattice::grid([37, 5, 4]));
        region.keep(&Dependence { step: [1, 0, 0], opaque: 0 }, 18, 18, 3, 30);
        let dependence = Dependence { step: [12, -100, 0], opaque: 0 };
        let moves = region.moves(&dependence, 256);
        assert!(moves.len() as u64 <= region.n_moves(&dependence, 256));
        assert_eq!(moves.iter().map(|(_, n)| n).sum::<u64>(), region.n_ctas());
        let mut listed: Vec<i64> = moves.iter().flat_map(|&(by, n)| (0..n).map(move |_| by.rem_euclid(256))).collect();
        let ((x0, x1), (y0, y1)) = (region.range(0), region.range(1));
        let mut all: Vec<i64> =
            (x0..=x1).flat_map(|x| (y0..=y1).flat_map(move |y| [(12 * x - 100 * y).rem_euclid(256); 4])).collect();
        listed.sort_unstable();
        all.sort_unstable();
        assert_eq!(listed, all);
    }

    #[test]
    fn a_value_that_is_the_same_in_every_nth_cta_splits_the_box() {
        let mut region = Region::new(Lattice::grid([1000, 1, 1]));
        let by = |step| Dependence { step: [step, 0, 0], opaque: 0 };
        assert!(region.keep_modulo(&by(512), 256).is_ok());
        let split = region.keep_modulo(&by(96), 256);
        assert!(matches!(split, Err(Stop::Split { axis: 0, factor: 8 })), "{split:?}");
        let parts = Lattice::grid([1000, 1, 1]).split(0, 8);
        let all: BTreeSet<[u32; 3]> = parts.iter().flat_map(ctas).collect();
        assert_eq!((parts.len(), all.len()), (8, 1000));
        assert_eq!(parts[3].start, [3, 0, 0]);
        // Few CTAs are walked one by one.
        let mut few = Region::new(Lattice::grid([5, 1, 1]));
        assert!(few.keep_modulo(&by(1), 256).is_ok());
        assert_eq!(few.n_ctas(), 1);
    }
}
