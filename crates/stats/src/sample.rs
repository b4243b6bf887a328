//! The warps whose streams are looked at one by one, because their statistics have an order or cost much.
//!
//! At most 64 CTAs are looked at, one from each of as many equal parts of the grid. Its place in the part changes from
//! part to part, so that the CTAs are not all of one column of a grid. Each gives as many warps as make 64 together, but
//! at least one; they are evenly spaced in the CTA, and which is the first goes around from CTA to CTA.

use warplens_isa::StateSpace;
use warplens_trace::{Access, AccessKind, WarpIndex};

use crate::access::PatternId;
use crate::periods::{BlockTasks, PeriodCounter, PeriodTracker};
use crate::recorder::Times;
use crate::reuse::{Reuse, ReuseTracker};

/// Warps that are looked at when there are enough.
const WARPS: usize = 64;

/// Position, among `n` CTAs, of the one that stands for part `index` of `n_parts`.
pub(crate) fn place(index: u64, n: u64, n_parts: u64) -> u64 {
    let (start, end) = (index * n / n_parts, (index + 1) * n / n_parts);
    // The fractions of the multiples of the golden ratio are spread evenly, whatever their number.
    let fraction = index.wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
    start + ((u128::from(end - start) * u128::from(fraction)) >> 32) as u64
}

/// What was learnt from the warps that have ended.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    pub(crate) reuse: Reuse,
    pub(crate) periods: PeriodCounter,
}

impl Streams {
    pub(crate) fn merge(&mut self, other: &Self, times: Times) {
        self.reuse.merge(&other.reuse, times);
        self.periods.merge(&other.periods, times);
    }
}

/// The warps of a running CTA that are looked at.
#[derive(Debug)]
pub(crate) struct CtaSample {
    /// By warp of the CTA.
    warps: Vec<Option<WarpTracker>>,
}

#[derive(Debug, Default)]
struct WarpTracker {
    reuse: ReuseTracker,
    periods: PeriodTracker,
}

impl CtaSample {
    /// The sample of the CTA that is number `at` of `n_ctas` that are looked at.
    pub(crate) fn new(n_warps: usize, at: usize, n_ctas: usize) -> Self {
        let mut warps: Vec<Option<WarpTracker>> = std::iter::repeat_with(|| None).take(n_warps).collect();
        let n = (WARPS / n_ctas.max(1)).clamp(1, n_warps.max(1));
        for index in 0..n {
            if let Some(warp) = warps.get_mut((index * n_warps / n + at) % n_warps.max(1)) {
                *warp = Some(WarpTracker::default());
            }
        }
        Self { warps }
    }

    /// A warp enters the block at `position`.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter(&mut self, tasks: &BlockTasks, warp: WarpIndex, position: usize) {
        if let Some(warp) = &mut self.warps[warp.0 as usize] {
            warp.periods.enter(tasks, position);
        }
    }

    /// A warp accesses memory.
    pub(crate) fn access(
        &mut self,
        streams: &mut Streams,
        (warp, slot): (WarpIndex, u32),
        access: &Access<'_>,
        pattern: Option<PatternId>,
    ) {
        let Some(warp) = &mut self.warps[warp.0 as usize] else { return };
        warp.periods.access(&mut streams.periods, slot, access, pattern);
        if access.space == StateSpace::Global && access.kind == AccessKind::Load {
            warp.reuse.load(&mut streams.reuse, access);
        }
    }

    /// The CTA has ended.
    pub(crate) fn end(self, tasks: &BlockTasks, streams: &mut Streams) {
        for warp in self.warps.into_iter().flatten() {
            warp.reuse.end(&mut streams.reuse);
            warp.periods.end(tasks, &mut streams.periods);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_not_all_of_one_column() {
        // 64 rows of 32 CTAs.
        let places: Vec<u64> = (0..64).map(|index| place(index, 2048, 64)).collect();
        assert!(places.iter().zip(0..).all(|(place, row)| place / 32 == row));
        let mut columns: Vec<u64> = places.iter().map(|place| place % 32).collect();
        columns.sort_unstable();
        columns.dedup();
        assert_eq!(columns.len(), 32);
    }

    #[test]
    fn a_small_grid_is_looked_at_as_a_whole() {
        let places: Vec<u64> = (0..5).map(|index| place(index, 5, 5)).collect();
        assert_eq!(places, [0, 1, 2, 3, 4]);
    }
}
