//! A warp scheduler: which of its ready warps it takes.

use crate::{Policy, SchedulerOutcome};

/// State of one scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    /// Slots of its warps, in order of their numbers.
    pub(crate) slots: Vec<u32>,
    /// First cycle in which it may choose again.
    pub(crate) free_at: u64,
    /// Position in `slots` of the warp that issued last.
    last: usize,
    /// What it did.
    pub(crate) outcome: SchedulerOutcome,
}

/// A warp that could be taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    /// First cycle in which its next instruction may be issued.
    pub(crate) at: u64,
    /// Order in which it came to the SM.
    pub(crate) age: u64,
}

impl Scheduler {
    pub(crate) fn new(slots: Vec<u32>) -> Self {
        Self { slots, free_at: 0, last: 0, outcome: SchedulerOutcome::default() }
    }

    /// The first cycle in which one of the warps can be issued, and the position of the one that is taken. `candidate`
    /// tells of the warp in a slot; `interval` is the distance of the cycles in which the scheduler chooses.
    pub(crate) fn choose(
        &self,
        policy: Policy,
        interval: u32,
        mut candidate: impl FnMut(u32) -> Option<Candidate>,
    ) -> Option<(u64, usize)> {
        let mut earliest = u64::MAX;
        let mut known = [None; MAX_WARPS];
        for (position, &slot) in self.slots.iter().enumerate() {
            known[position] = candidate(slot);
            if let Some(warp) = known[position] {
                earliest = earliest.min(warp.at);
            }
        }
        if earliest == u64::MAX {
            return None;
        }
        let cycle = earliest.max(self.free_at).next_multiple_of(u64::from(interval));
        let ready = |position: usize| known[position].filter(|warp| warp.at <= cycle);
        let positions = 0..self.slots.len();
        let taken = match policy {
            Policy::LooseRoundRobin => {
                let turn = (self.last + 1..self.slots.len()).chain(0..=self.last);
                turn.into_iter().find(|&position| position < self.slots.len() && ready(position).is_some())
            }
            Policy::GreedyThenOldest | Policy::GreedyThenYoungest if ready(self.last).is_some() => Some(self.last),
            Policy::GreedyThenOldest => {
                positions.filter_map(|p| Some((ready(p)?.age, p))).min().map(|(_, position)| position)
            }
            Policy::GreedyThenYoungest => {
                positions.filter_map(|p| Some((ready(p)?.age, p))).max().map(|(_, position)| position)
            }
        };
        taken.map(|position| (cycle, position))
    }

    /// The warp at this position issues.
    pub(crate) fn took(&mut self, position: usize) {
        self.last = position;
        self.outcome.issued += 1;
    }
}

/// Most warps of a scheduler.
pub(crate) const MAX_WARPS: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(scheduler: &Scheduler, policy: Policy, at: [u64; 3]) -> (u64, usize) {
        let warps = |slot: u32| Some(Candidate { at: at[slot as usize], age: u64::from(slot) });
        scheduler.choose(policy, 1, warps).unwrap()
    }

    #[test]
    fn policies_differ_in_whom_they_take() {
        let mut scheduler = Scheduler::new(vec![0, 1, 2]);
        scheduler.took(1);
        scheduler.free_at = 5;
        assert_eq!(choose(&scheduler, Policy::LooseRoundRobin, [5, 5, 5]), (5, 2));
        assert_eq!(choose(&scheduler, Policy::GreedyThenOldest, [5, 5, 5]), (5, 1));
        assert_eq!(choose(&scheduler, Policy::GreedyThenOldest, [5, 6, 5]), (5, 0));
        assert_eq!(choose(&scheduler, Policy::GreedyThenYoungest, [5, 6, 5]), (5, 2));
        assert_eq!(choose(&scheduler, Policy::GreedyThenYoungest, [4, 6, 9]), (5, 0));
        assert_eq!(choose(&scheduler, Policy::GreedyThenYoungest, [8, 7, 9]), (7, 1));
    }

    #[test]
    fn it_chooses_in_its_cycles_only() {
        let scheduler = Scheduler::new(vec![0]);
        let at = |cycle| scheduler.choose(Policy::LooseRoundRobin, 2, |_| Some(Candidate { at: cycle, age: 0 }));
        assert_eq!(at(7), Some((8, 0)));
        assert_eq!(at(8), Some((8, 0)));
        assert_eq!(scheduler.choose(Policy::LooseRoundRobin, 2, |_| None), None);
    }
}
