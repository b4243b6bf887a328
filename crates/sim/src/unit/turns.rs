//! Accesses to shared memory with bank conflicts on machines that repeat an access for each conflict (compute capability
//! 1.x): the accesses in service take turns, pass by pass.
//!
//! One access alone gets a pass every `pass_latency` cycles although the banks take one every `pass_cycles`, so that a
//! few accesses are in service together and slow each other down only when there are enough of them to keep the banks
//! busy. What arrives later makes those in service later, which is why their ends are told anew with each arrival.

use std::collections::VecDeque;

/// Less than this is nothing: sums of times are rounded.
const ROUNDING: f64 = 1e-6;

/// State. `T` is what the owner keeps with an access.
#[derive(Clone, Debug)]
pub(crate) struct Turns<T> {
    /// Accesses in service at once.
    most: usize,
    now: f64,
    /// Accesses in the order of their arrival; the first `most` are in service.
    queue: VecDeque<Turn<T>>,
    /// Scratch space of projections: what each access in service has left, and its index.
    in_service: Vec<(f64, usize)>,
}

/// An access.
#[derive(Clone, Debug)]
struct Turn<T> {
    /// Cycles of the banks that it still needs.
    left: f64,
    /// Cycles of the banks that it takes per cycle when it is alone.
    rate: f64,
    /// When it will be done as things are.
    done: f64,
    /// What was said of that last.
    told: f64,
    owner: T,
}

impl<T> Turns<T> {
    /// Banks that take a pass every `pass_cycles`, and give one access a pass every `pass_latency` cycles.
    pub(crate) fn new(pass_cycles: f64, pass_latency: f64) -> Self {
        let most = if pass_cycles > 0.0 { (pass_latency / pass_cycles).ceil() } else { 1.0 };
        let most = if most.is_finite() { (most as usize).clamp(1, 32) } else { 1 };
        Self { most, now: 0.0, queue: VecDeque::with_capacity(64), in_service: Vec::with_capacity(most) }
    }

    /// An access arrives that needs the banks for `work` cycles and is done `alone` cycles later when it is alone; none
    /// arrives before an earlier one. Returns when it will be done as things are; `moved` hears of the others that are
    /// done at another time than was told last: the owner, that time, and the new one.
    pub(crate) fn arrive(
        &mut self,
        at: f64,
        work: f64,
        alone: f64,
        owner: T,
        mut moved: impl FnMut(&T, f64, f64),
    ) -> f64 {
        self.advance(at);
        self.queue.push_back(Turn { left: work, rate: work / alone.max(work), done: at, told: at, owner });
        self.project();
        let last = self.queue.len() - 1;
        for turn in self.queue.iter_mut().take(last).filter(|turn| turn.done > turn.told + ROUNDING) {
            moved(&turn.owner, turn.told, turn.done);
            turn.told = turn.done;
        }
        let newest = &mut self.queue[last];
        newest.told = newest.done;
        newest.done
    }

    /// When all accesses will be done as things are.
    pub(crate) fn end(&self) -> f64 {
        self.queue.iter().map(|turn| turn.done).fold(self.now, f64::max)
    }

    /// Serves the accesses up to a time.
    fn advance(&mut self, until: f64) {
        while self.now < until && !self.queue.is_empty() {
            let in_service = self.queue.len().min(self.most);
            let share = 1.0 / in_service as f64;
            let served = self.queue.iter().take(in_service);
            let first_end = served.map(|turn| turn.left / turn.rate.min(share)).fold(f64::INFINITY, f64::min);
            let step = first_end.min(until - self.now);
            for turn in self.queue.iter_mut().take(in_service) {
                turn.left -= step * turn.rate.min(share);
            }
            self.now += step;
            self.queue.retain(|turn| turn.left > ROUNDING);
        }
        self.now = self.now.max(until);
    }

    /// Finds out when each access will be done if nothing more arrives.
    fn project(&mut self) {
        let queue = &mut self.queue;
        let in_service = &mut self.in_service;
        in_service.clear();
        let mut next = 0;
        let mut now = self.now;
        loop {
            // Those that are done make room for the longest waiting, so that the order of arrival stays.
            while in_service.len() < self.most && next < queue.len() {
                in_service.push((queue[next].left, next));
                next += 1;
            }
            if in_service.is_empty() {
                return;
            }
            let share = 1.0 / in_service.len() as f64;
            let ends = in_service.iter().map(|&(left, index)| left / queue[index].rate.min(share));
            let step = ends.fold(f64::INFINITY, f64::min);
            now += step;
            in_service.retain_mut(|(left, index)| {
                let turn = &mut queue[*index];
                *left -= step * turn.rate.min(share);
                let goes_on = *left > ROUNDING;
                if !goes_on {
                    turn.done = now;
                }
                goes_on
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A 16-way conflict of both half-warps on GT200: 32 passes of 2 cycles, 192 cycles later than without it.
    const WORK: f64 = 64.0;
    const ALONE: f64 = 192.0;

    /// When each of the accesses is done after all have arrived, in the order of their arrival.
    fn ends(arrivals: &[(f64, f64)]) -> Vec<f64> {
        let mut turns = Turns::new(2.0, 6.4);
        let mut ends = vec![0.0; arrivals.len()];
        for (index, &(at, work)) in arrivals.iter().enumerate() {
            let mut moved = Vec::new();
            let end = turns.arrive(at, work, 3.0 * work, index, |&other, before, now| moved.push((other, before, now)));
            for (other, before, now) in moved {
                assert!(now > before && ends[other] == before, "told {before} of {}", ends[other]);
                ends[other] = now;
            }
            ends[index] = end;
        }
        ends
    }

    #[test]
    fn one_access_alone_takes_its_latency_and_the_fifth_waits() {
        assert_eq!(ends(&[(10.0, WORK)]), [10.0 + ALONE]);
        assert_eq!(ends(&[(0.0, WORK), (1000.0, WORK)]), [ALONE, 1000.0 + ALONE]);
        // Three share the banks without loss; four are slowed down to what the banks take.
        assert_eq!(ends(&[(0.0, WORK); 3]), [ALONE; 3]);
        assert_eq!(ends(&[(0.0, WORK); 4]), [4.0 * WORK; 4]);
        // The fifth is served after them.
        assert_eq!(ends(&[(0.0, WORK); 5])[4], 4.0 * WORK + ALONE);
    }

    #[test]
    fn many_keep_the_banks_busy() {
        let last = ends(&[(0.0, WORK); 64]).into_iter().fold(0.0, f64::max);
        assert!((last - 64.0 * WORK).abs() < 1e-6, "{last}");
    }

    proptest! {
        #[test]
        fn none_is_done_sooner_than_alone_and_the_banks_give_no_more_than_they_have(
            steps in proptest::collection::vec((0..100_u32, 1..33_u32), 1..40),
        ) {
            let mut at = 0.0;
            let arrivals: Vec<(f64, f64)> = steps.iter().map(|&(gap, passes)| {
                at += f64::from(gap);
                (at, 2.0 * f64::from(passes))
            }).collect();
            let ends = ends(&arrivals);
            let work: f64 = arrivals.iter().map(|&(_, work)| work).sum();
            for (&(at, work), end) in arrivals.iter().zip(&ends) {
                prop_assert!(*end >= at + 3.0 * work - 1e-3);
            }
            let last = ends.into_iter().fold(0.0, f64::max);
            prop_assert!(last >= arrivals[0].0 + work - 1e-3);
            prop_assert!(last <= at + 3.0 * work + 1e-3);
        }
    }
}
