//! CTA barriers.
//!
//! From compute capability 7.0 on a barrier waits for every thread that has not exited, at whichever instruction it comes
//! to the barrier; a warp has come when all of these have. Before, a warp comes as a whole as soon as some of its
//! threads do, and waits as a whole.

/// Number of barriers of a CTA.
pub(crate) const N_BARRIERS: u32 = 16;

/// Whom CTA barriers wait for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum BarrierRule {
    /// Warps, of which some thread has to come: before compute capability 7.0.
    Warps,
    /// Threads that have not exited: from compute capability 7.0 on.
    #[default]
    Threads,
}

/// The barriers of a CTA.
pub(crate) struct Barriers {
    barriers: Vec<Barrier>,
    n_warps: usize,
    rule: BarrierRule,
}

/// Who has come to a barrier.
#[derive(Clone, Default)]
struct Barrier {
    /// By warp: the lanes that have come. Empty while nobody has.
    arrived: Vec<u32>,
    /// By warp: the lanes whose predicate is true.
    truths: Vec<u32>,
    /// Threads that must come; `None` for all of the CTA.
    count: Option<u32>,
}

/// Predicates that came together at a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reduction {
    /// Lanes whose predicate is true.
    pub truths: u32,
    /// Lanes that came.
    pub arrived: u32,
    /// Warps that came or have exited, a bit each.
    pub warps: u32,
}

impl Barriers {
    pub(crate) fn new(n_warps: usize, rule: BarrierRule) -> Self {
        Self { barriers: vec![Barrier::default(); N_BARRIERS as usize], n_warps, rule }
    }

    /// Lanes of a warp come to a barrier.
    pub(crate) fn arrive(&mut self, barrier: u32, warp: usize, lanes: u32, truths: u32, count: Option<u32>) {
        let barrier = &mut self.barriers[barrier as usize];
        if barrier.arrived.is_empty() {
            barrier.arrived.resize(self.n_warps, 0);
            barrier.truths.resize(self.n_warps, 0);
        }
        barrier.arrived[warp] |= lanes;
        barrier.truths[warp] |= truths & lanes;
        barrier.count = count.or(barrier.count);
    }

    /// If all that a barrier waits for have come, resets it and returns the reduction. `live` gives the lanes of a warp
    /// that have not exited. A warp counts with its full 32 threads, or not at all.
    pub(crate) fn complete(&mut self, barrier: u32, live: impl Fn(usize) -> u32) -> Option<Reduction> {
        let barrier = &mut self.barriers[barrier as usize];
        if barrier.arrived.is_empty() {
            return None;
        }
        let is_there = |warp: usize, lanes: u32| match self.rule {
            BarrierRule::Warps => lanes != 0 || live(warp) == 0,
            BarrierRule::Threads => lanes & live(warp) == live(warp),
        };
        let warps = || barrier.arrived.iter().enumerate();
        let is_complete = match barrier.count {
            None => warps().all(|(warp, &lanes)| is_there(warp, lanes)),
            Some(count) => {
                let n_there = warps().filter(|&(warp, &lanes)| lanes != 0 && is_there(warp, lanes)).count();
                32 * n_there as u64 >= u64::from(count)
            }
        };
        if !is_complete {
            return None;
        }
        let total = |lanes: &[u32]| lanes.iter().map(|lanes| lanes.count_ones()).sum();
        let came = warps().filter(|&(warp, &lanes)| lanes != 0 || live(warp) == 0);
        let warps = came.fold(0, |mask, (warp, _)| mask | 1 << warp);
        let reduction = Reduction { truths: total(&barrier.truths), arrived: total(&barrier.arrived), warps };
        barrier.arrived.clear();
        barrier.truths.clear();
        barrier.count = None;
        Some(reduction)
    }
}
