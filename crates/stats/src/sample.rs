//! The warps whose streams are looked at one by one, because their statistics have an order or cost much.
//!
//! Of the CTAs that are looked at closely, at most 64 and evenly spaced, each gives as many warps as make 64 together,
//! but at least one. They are evenly spaced in the CTA; which one is the first goes around from CTA to CTA.

use warplens_isa::StateSpace;
use warplens_trace::{Access, AccessKind, WarpIndex};

use crate::access::PatternId;
use crate::periods::{BlockTasks, PeriodCounter, PeriodTracker};
use crate::recorder::Times;
use crate::reuse::{Reuse, ReuseTracker};

/// Warps that are looked at when there are enough.
const WARPS: usize = 64;

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
