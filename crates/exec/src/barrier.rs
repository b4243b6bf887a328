//! CTA barriers.

/// Number of barriers of a CTA.
pub(crate) const N_BARRIERS: u32 = 16;

/// The barriers of a CTA.
pub(crate) struct Barriers {
    barriers: Vec<Barrier>,
    n_warps: usize,
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
#[derive(Clone, Copy)]
pub(crate) struct Reduction {
    /// Lanes whose predicate is true.
    pub(crate) truths: u32,
    /// Lanes that came.
    pub(crate) arrived: u32,
}

impl Barriers {
    pub(crate) fn new(n_warps: usize) -> Self {
        Self { barriers: vec![Barrier::default(); N_BARRIERS as usize], n_warps }
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
    /// that have not exited; a warp whose live lanes are all there counts with its full 32 threads.
    pub(crate) fn complete(&mut self, barrier: u32, live: impl Fn(usize) -> u32) -> Option<Reduction> {
        let barrier = &mut self.barriers[barrier as usize];
        if barrier.arrived.is_empty() {
            return None;
        }
        let is_whole = |(warp, &lanes): (usize, &u32)| lanes & live(warp) == live(warp);
        let is_complete = match barrier.count {
            None => barrier.arrived.iter().enumerate().all(is_whole),
            Some(count) => {
                let threads = |(warp, lanes): (usize, &u32)| match *lanes {
                    0 => 0,
                    lanes if is_whole((warp, &lanes)) => 32,
                    lanes => lanes.count_ones(),
                };
                barrier.arrived.iter().enumerate().map(threads).sum::<u32>() >= count.next_multiple_of(32)
            }
        };
        if !is_complete {
            return None;
        }
        let total = |lanes: &[u32]| lanes.iter().map(|lanes| lanes.count_ones()).sum();
        let reduction = Reduction { truths: total(&barrier.truths), arrived: total(&barrier.arrived) };
        *barrier = Barrier::default();
        Some(reduction)
    }
}
