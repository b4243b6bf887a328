//! A warp scheduler: which of its ready warps it takes.

use warplens_machine::words::IssuePolicy;

use crate::SchedulerOutcome;

/// State of one scheduler. Its warps are named by their position.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    /// First cycle in which it may choose again.
    pub(crate) free_at: u64,
    /// First cycle in which each warp's next instruction may be issued, as far as the warp itself is concerned;
    /// [`NEVER`] for warps that have none.
    pub(crate) ready_at: Vec<u64>,
    /// The unit that the instruction needs, by its number in [`UnitFree`].
    pub(crate) unit: Vec<u8>,
    /// Order in which the warps came to the SM.
    pub(crate) age: Vec<u64>,
    /// The warp that issued last.
    last: usize,
    /// Scratch space: the first cycle in which each warp can be issued.
    at: Vec<u64>,
    /// What it did.
    pub(crate) outcome: SchedulerOutcome,
}

/// Units that instructions of a scheduler may need, at most.
pub(crate) const UNITS: usize = 16;

/// When each unit takes an instruction.
pub(crate) type UnitFree = [u64; UNITS];

/// The cycle of a warp that has nothing to issue.
pub(crate) const NEVER: u64 = u64::MAX;

impl Scheduler {
    pub(crate) fn new(n_warps: usize) -> Self {
        Self {
            free_at: 0,
            ready_at: vec![NEVER; n_warps],
            unit: vec![0; n_warps],
            age: vec![0; n_warps],
            last: 0,
            at: vec![NEVER; n_warps],
            outcome: SchedulerOutcome::default(),
        }
    }

    /// The first cycle in which one of the warps can be issued, and the one that is taken. `unit_free` says when each
    /// unit takes an instruction; `interval` is the distance of the cycles in which the scheduler chooses.
    pub(crate) fn choose(&mut self, policy: IssuePolicy, interval: u32, unit_free: &UnitFree) -> Option<(u64, usize)> {
        if interval == 1 {
            let (last, n) = (self.last, self.ready_at.len());
            // Those behind the last one come first.
            let turn = |position: usize| if position > last { position - last } else { position + n - last } as u64;
            return match policy {
                IssuePolicy::LongestReady => self
                    .first(unit_free, u128::MAX, |position, at, _| u128::from(at) << 64 | u128::from(turn(position))),
                IssuePolicy::LooseRoundRobin => self.first(unit_free, u64::MAX, |position, _, _| turn(position)),
                IssuePolicy::GreedyThenOldest => self.last_or(unit_free, |age| u64::MAX - age),
                IssuePolicy::GreedyThenYoungest => self.last_or(unit_free, |age| age + 1),
            };
        }
        let at = |position: usize| self.ready_at[position].max(unit_free[usize::from(self.unit[position]) % UNITS]);
        let positions = 0..self.ready_at.len();
        let earliest = positions.clone().map(at).min()?;
        if earliest == NEVER {
            return None;
        }
        let cycle = earliest.max(self.free_at).next_multiple_of(u64::from(interval));
        let ready = |position: &usize| at(*position) <= cycle;
        let taken = match policy {
            IssuePolicy::LongestReady => {
                let turn = (self.last + 1..self.ready_at.len()).chain(0..self.last + 1);
                turn.filter(ready).min_by_key(|&position| at(position))
            }
            IssuePolicy::LooseRoundRobin => {
                let mut turn = (self.last + 1..self.ready_at.len()).chain(0..self.last + 1);
                turn.find(ready)
            }
            IssuePolicy::GreedyThenOldest | IssuePolicy::GreedyThenYoungest if ready(&self.last) => Some(self.last),
            IssuePolicy::GreedyThenOldest => positions.filter(ready).min_by_key(|&position| self.age[position]),
            IssuePolicy::GreedyThenYoungest => positions.filter(ready).max_by_key(|&position| self.age[position]),
        };
        taken.map(|position| (cycle, position))
    }

    /// The same where it may choose in every cycle: the warp that can be issued first, of several the one with the lowest
    /// rank by its position, its first cycle and its age.
    fn first<R: Ord + Copy>(
        &self,
        unit_free: &UnitFree,
        last: R,
        rank: impl Fn(usize, u64, u64) -> R,
    ) -> Option<(u64, usize)> {
        let mut first = (NEVER, last, 0);
        let warps = self.ready_at.iter().zip(&self.unit).zip(&self.age).enumerate();
        for (position, ((&ready_at, &unit), &age)) in warps {
            let at = ready_at.max(unit_free[usize::from(unit) % UNITS]);
            let (cycle, rank) = (at.max(self.free_at), rank(position, at, age));
            // Without a branch for each warp.
            let is_first = (cycle < first.0) | (cycle == first.0) & (rank < first.1);
            first = if is_first { (cycle, rank, position) } else { first };
        }
        (first.0 != NEVER).then_some((first.0, first.2))
    }

    /// The same where the last warp goes on if it can, and else the one goes with the highest rank by its age, which is not 0.
    fn last_or(&mut self, unit_free: &UnitFree, rank: impl Fn(u64) -> u64) -> Option<(u64, usize)> {
        let free = |unit: u8| unit_free[usize::from(unit) % UNITS];
        let of_last = self.ready_at.get(self.last)?.max(&free(self.unit[self.last])).to_owned();
        if of_last <= self.free_at {
            return Some((self.free_at, self.last));
        }
        // Two rounds without a branch for each warp.
        let mut earliest = of_last;
        for (at, (&ready_at, &unit)) in self.at.iter_mut().zip(self.ready_at.iter().zip(&self.unit)) {
            *at = ready_at.max(free(unit));
            earliest = earliest.min(*at);
        }
        if earliest == NEVER {
            return None;
        }
        let cycle = earliest.max(self.free_at);
        if of_last <= cycle {
            return Some((cycle, self.last));
        }
        let (mut highest, mut first) = (0, 0);
        for (position, (&at, &age)) in self.at.iter().zip(&self.age).enumerate() {
            let rank = if at <= cycle { rank(age) } else { 0 };
            let is_higher = rank > highest;
            highest = if is_higher { rank } else { highest };
            first = if is_higher { position } else { first };
        }
        Some((cycle, first))
    }

    /// The warp at this position issues.
    pub(crate) fn took(&mut self, position: usize) {
        self.last = position;
        self.outcome.issued += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scheduler(ready_at: &[u64]) -> Scheduler {
        let mut scheduler = Scheduler::new(ready_at.len());
        scheduler.ready_at.copy_from_slice(ready_at);
        for (age, warp) in (0..).zip(&mut scheduler.age) {
            *warp = age;
        }
        scheduler
    }

    fn choose(policy: IssuePolicy, ready_at: [u64; 3]) -> (u64, usize) {
        let mut scheduler = scheduler(&ready_at);
        scheduler.took(1);
        scheduler.free_at = 5;
        scheduler.choose(policy, 1, &[0; UNITS]).unwrap()
    }

    #[test]
    fn policies_differ_in_whom_they_take() {
        assert_eq!(choose(IssuePolicy::LooseRoundRobin, [5, 5, 5]), (5, 2));
        assert_eq!(choose(IssuePolicy::LooseRoundRobin, [5, 5, 6]), (5, 0));
        assert_eq!(choose(IssuePolicy::LongestReady, [5, 4, 5]), (5, 1));
        assert_eq!(choose(IssuePolicy::LongestReady, [4, 4, 5]), (5, 0));
        assert_eq!(choose(IssuePolicy::LongestReady, [5, 5, 5]), (5, 2));
        assert_eq!(choose(IssuePolicy::GreedyThenOldest, [5, 5, 5]), (5, 1));
        assert_eq!(choose(IssuePolicy::GreedyThenOldest, [5, 6, 5]), (5, 0));
        assert_eq!(choose(IssuePolicy::GreedyThenYoungest, [5, 6, 5]), (5, 2));
        assert_eq!(choose(IssuePolicy::GreedyThenYoungest, [4, 6, 9]), (5, 0));
        assert_eq!(choose(IssuePolicy::GreedyThenYoungest, [8, 7, 9]), (7, 1));
    }

    #[test]
    fn it_chooses_in_its_cycles_only() {
        let at = |cycle| scheduler(&[cycle]).choose(IssuePolicy::LooseRoundRobin, 2, &[0; UNITS]);
        assert_eq!(at(7), Some((8, 0)));
        assert_eq!(at(8), Some((8, 0)));
        assert_eq!(at(NEVER), None);
    }

    #[test]
    fn a_warp_waits_for_its_unit_and_no_other() {
        let mut scheduler = scheduler(&[3, 4]);
        scheduler.unit = vec![1, 0];
        let mut choose = |unit_free: [u64; 2]| {
            let mut all = [0; UNITS];
            all[..2].copy_from_slice(&unit_free);
            scheduler.choose(IssuePolicy::GreedyThenOldest, 1, &all)
        };
        assert_eq!(choose([0, 9]), Some((4, 1)));
        assert_eq!(choose([10, 9]), Some((9, 0)));
    }

    proptest! {
        #[test]
        fn choosing_in_every_cycle_is_choosing_in_every_second_one_at_half_the_speed(
            warps in proptest::collection::vec((0..6_u64, 0..2_u8, 0..10_u64), 1..9),
            last in 0..8_usize, free_at in 0..6_u64, unit_free in proptest::array::uniform2(0..6_u64),
        ) {
            let choose = |policy, times: u64| {
                let mut scheduler = Scheduler::new(warps.len());
                scheduler.took(last % warps.len());
                scheduler.free_at = times * free_at;
                for (position, &(ready_at, unit, age)) in warps.iter().enumerate() {
                    scheduler.ready_at[position] = if ready_at == 5 { NEVER } else { times * ready_at };
                    scheduler.unit[position] = unit;
                    // No two warps come at once.
                    scheduler.age[position] = 10 * age + position as u64;
                }
                let mut all = [0; UNITS];
                all[..2].copy_from_slice(&unit_free.map(|free| times * free));
                let chosen = scheduler.choose(policy, times as u32, &all);
                chosen.map(|(cycle, position)| (cycle / times, position))
            };
            use IssuePolicy as Policy;
            for policy in
                [Policy::LongestReady, Policy::LooseRoundRobin, Policy::GreedyThenOldest, Policy::GreedyThenYoungest]
            {
                prop_assert_eq!(choose(policy, 1), choose(policy, 2), "{:?}", policy);
            }
        }
    }
}
