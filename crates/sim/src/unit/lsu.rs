//! The way of memory instructions from a scheduler to the memory unit of the SM: a queue per scheduler, which hands on an
//! instruction every few cycles, and one entrance for all.

use super::port::Port;
use crate::LsuConfig;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct Lsu {
    config: LsuConfig,
    queues: Vec<Queue>,
    entrance: Port,
}

#[derive(Clone, Debug)]
struct Queue {
    hand_on: Port,
    /// When each of the last instructions left the queue; a ring.
    left: Vec<f64>,
    oldest: usize,
}

impl Lsu {
    pub(crate) fn new(config: LsuConfig, n_schedulers: u32) -> Self {
        let queue = Queue { hand_on: Port::default(), left: vec![0.0; config.queue.max(1) as usize], oldest: 0 };
        Self { config, queues: vec![queue; n_schedulers as usize], entrance: Port::default() }
    }

    /// First time at which the queue of a scheduler has room.
    pub(crate) fn accepts(&self, scheduler: usize) -> f64 {
        let queue = &self.queues[scheduler];
        queue.left[queue.oldest]
    }

    /// Takes an instruction issued at `at`; returns when the memory unit starts with it. It does not start before
    /// `not_before`.
    pub(crate) fn enter(&mut self, scheduler: usize, at: f64, not_before: f64) -> f64 {
        let queue = &mut self.queues[scheduler];
        let handed_on = queue.hand_on.reserve(at, self.config.scheduler_interval);
        let start = self.entrance.reserve(handed_on.max(not_before), self.config.sm_interval);
        queue.left[queue.oldest] = start;
        queue.oldest = (queue.oldest + 1) % queue.left.len();
        start
    }

    /// Cycles in which the entrance was busy.
    pub(crate) const fn busy(&self) -> f64 {
        self.entrance.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sixth_instruction_waits_for_the_first_to_leave() {
        let config = LsuConfig { queue: 5, scheduler_interval: 4.0, sm_interval: 2.0 };
        let mut lsu = Lsu::new(config, 2);
        for n in 0..5 {
            assert_eq!(lsu.accepts(0), 0.0);
            assert_eq!(lsu.enter(0, f64::from(n), 0.0), 4.0 * f64::from(n));
        }
        assert_eq!(lsu.enter(0, 5.0, 0.0), 20.0);
        assert_eq!(lsu.accepts(0), 4.0);
        assert_eq!(lsu.accepts(1), 0.0);
    }

    #[test]
    fn schedulers_share_the_entrance() {
        let mut lsu = Lsu::new(LsuConfig { queue: 5, scheduler_interval: 4.0, sm_interval: 2.0 }, 4);
        let starts: Vec<f64> = (0..4).map(|scheduler| lsu.enter(scheduler, 0.0, 0.0)).collect();
        assert_eq!(starts, [0.0, 2.0, 4.0, 6.0]);
    }
}
