//! The simulated SM's share of something that all SMs of the chip use: the bandwidth of the L2 cache or of device memory.
//!
//! SMs do not ask at the same time: while one computes or starts a CTA, the others have its part. So a share that was
//! left unused is not lost at once: the SM may be served ahead of its share by as much as it was behind it, for as long as
//! SMs are out of step. At the start of a launch they are in step, and nobody is ahead. In the long run the SM gets its
//! share and no more.

use super::port::later;

/// State.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// When the SM's share would be done with all that it was asked for.
    due: f64,
    /// Cycles by which unused time carries over.
    slack: f64,
    /// Cycles in which it was busy.
    pub(crate) busy: f64,
}

impl Share {
    /// One of `n_sharers`, that are out of step by `out_of_step` cycles. A single one has everything at all times.
    pub(crate) fn new(n_sharers: f64, out_of_step: f64) -> Self {
        Self { due: 0.0, slack: out_of_step * (1.0 - 1.0 / n_sharers.max(1.0)), busy: 0.0 }
    }

    /// First time at which a request would not wait.
    pub(crate) const fn free_at(&self) -> f64 {
        self.due
    }

    /// Takes a request that arrives at `at` and needs the share for `cycles`; returns when it starts.
    pub(crate) fn reserve(&mut self, at: f64, cycles: f64) -> f64 {
        let start = later(at, self.due);
        self.due = later(self.due, at - self.slack) + cycles;
        self.busy += cycles;
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_after_a_pause_is_ahead_and_the_long_run_is_not() {
        let mut share = Share::new(100.0, 1000.0);
        // At the start all SMs ask.
        assert_eq!(share.reserve(0.0, 50.0), 0.0);
        assert_eq!(share.reserve(0.0, 50.0), 50.0);
        // The pause of 900 cycles covers 18 requests, and the one that begins when they are used up.
        let late = (0..20).filter(|_| share.reserve(1000.0, 50.0) > 1000.0).count();
        assert_eq!(late, 1);
        let last = (0..1000).map(|_| share.reserve(1000.0, 50.0)).fold(0.0, f64::max);
        assert_eq!(last, 100.0 + 1019.0 * 50.0);
    }

    #[test]
    fn a_single_user_has_everything_and_nothing_to_carry_over() {
        let mut share = Share::new(1.0, 1000.0);
        assert_eq!(share.reserve(500.0, 50.0), 500.0);
        assert_eq!(share.reserve(500.0, 50.0), 550.0);
    }
}
