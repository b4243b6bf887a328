//! Passing over instructions: warps go through their traces without time, for what remains of it in the caches, at
//! barriers and in the order of CTAs.

use warplens_base::stop;
use warplens_isa::StateSpace;
use warplens_trace::MachineClass;

use crate::memory::Arrival;
use crate::pipeline::Sm;
use crate::sampling::BOUND;
use crate::stage::execute::widened;
use crate::warp::State;

/// Instructions of a turn, at least. Blocks are not parted.
const TURN: u64 = 32;
/// How many times as fast as the mean a warp is taken to be at most, and as slow.
const FASTEST: f64 = 20.0;
/// Part of a warp's speed that it keeps over a gap, in the mean.
const HOLDS_ON: f64 = 0.5;

/// How far warps have come in half of a window.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// When it began.
    since: u64,
    /// By slot: when the warp began, if later, and what it has issued.
    of_warps: Vec<(u64, u64)>,
}

impl Progress {
    pub(crate) fn new(n_warps: usize) -> Self {
        Self { since: 0, of_warps: vec![(0, 0); n_warps] }
    }

    pub(crate) fn restart(&mut self, cycle: u64) {
        self.since = cycle;
        self.of_warps.fill((cycle, 0));
    }

    /// Another warp begins in a slot.
    pub(crate) fn begin(&mut self, slot: usize, cycle: u64) {
        self.of_warps[slot] = (cycle, 0);
    }

    pub(crate) fn issued(&mut self, slot: usize) {
        self.of_warps[slot].1 += 1;
    }

    /// Instructions per cycle of all warps up to `end`, but of those that have made room for others.
    fn issued_per_cycle(&self, end: u64) -> f64 {
        let issued: u64 = self.of_warps.iter().map(|(_, issued)| issued).sum();
        issued as f64 / end.saturating_sub(self.since).max(1) as f64
    }

    /// By slot: the logarithm of how fast the warp was up to `end`, over the mean of all; none of warps that are not at work
    /// or had just begun.
    fn speeds(&self, end: u64, at_work: impl Fn(usize) -> bool) -> Vec<Option<f64>> {
        let all = end.saturating_sub(self.since).max(1);
        let speed = |slot: usize| {
            let (begin, issued) = self.of_warps[slot];
            let span = end.saturating_sub(begin);
            (at_work(slot) && 4 * span >= all).then(|| issued as f64 / span.max(1) as f64)
        };
        let speeds: Vec<Option<f64>> = (0..self.of_warps.len()).map(speed).collect();
        let n = speeds.iter().flatten().count().max(1);
        let mean = speeds.iter().flatten().sum::<f64>() / n as f64;
        let of_mean = |speed: f64| if mean > 0.0 { (speed / mean).clamp(1.0 / FASTEST, FASTEST).ln() } else { 0.0 };
        speeds.into_iter().map(|speed| speed.map(of_mean)).collect()
    }
}

/// Which part of the differences now is explained by those before, of what is known in both: the square of the correlation,
/// or 0 where that is negative.
fn foretold(before: &[Option<f64>], now: &[Option<f64>]) -> f64 {
    let pairs: Vec<(f64, f64)> = before.iter().zip(now).filter_map(|(&before, &now)| before.zip(now)).collect();
    let n = pairs.len().max(1) as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|pair| of(pair.0 - x, pair.1 - y)).sum::<f64>();
    let (xx, yy, xy) = (sum(&|x, _| x * x), sum(&|_, y| y * y), sum(&|x, y| x * y));
    if xx > 0.0 && yy > 0.0 && xy > 0.0 { xy * xy / (xx * yy) } else { 0.0 }
}

/// How fast warps are taken to be in a gap.
#[derive(Clone, PartialEq, Debug)]
struct Speeds {
    /// The logarithm by how many younger warps its scheduler has: that schedulers prefer some holds for those that come, too.
    of_ranks: Vec<f64>,
    /// By slot: what the warp itself has beyond that.
    own: Vec<f64>,
}

impl Speeds {
    /// From what warps had of the mean in both halves of a window, and their ranks: as in the second half, as far as that was
    /// foretold by the first half. What is not was chance. Schedulers prefer some ranks for ever, but that decides only where
    /// issue slots are what the time goes by: where they are `busy` for most of it. What a warp has of its own wears off: those
    /// that come ahead find less of what they load in the caches, and those behind more.
    fn new(before: &[Option<f64>], now: &[Option<f64>], ranks: &[usize], busy: f64) -> Self {
        let (of_ranks_before, of_ranks) = if busy >= BOUND { of_ranks(before, now, ranks) } else { Default::default() };
        let beyond = |speeds: &[Option<f64>], of_ranks: &[f64]| -> Vec<Option<f64>> {
            let of_rank = |rank: usize| of_ranks.get(rank).copied().unwrap_or(0.0);
            speeds.iter().zip(ranks).map(|(speed, &rank)| speed.map(|speed| speed - of_rank(rank))).collect()
        };
        let (before, now) = (beyond(before, &of_ranks_before), beyond(now, &of_ranks));
        let holds = HOLDS_ON * foretold(&before, &now);
        Self { of_ranks, own: now.into_iter().map(|speed| holds * speed.unwrap_or(0.0)).collect() }
    }

    /// Of the warp in a slot, over the mean of all. Its rank is asked for where ranks matter.
    fn of(&self, slot: usize, rank: impl FnOnce() -> usize) -> f64 {
        let of_rank = if self.of_ranks.is_empty() { None } else { self.of_ranks.get(rank()) };
        (of_rank.copied().unwrap_or(0.0) + self.own[slot]).exp()
    }
}

/// By rank: the mean of what its warps had in both halves of a window, as far as the second was foretold by the first.
fn of_ranks(before: &[Option<f64>], now: &[Option<f64>], ranks: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let n_ranks = ranks.iter().max().map_or(0, |most| most + 1);
    let by_rank = |speeds: &[Option<f64>]| -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0_u32); n_ranks];
        for (speed, &rank) in speeds.iter().zip(ranks) {
            if let Some(speed) = speed {
                sums[rank] = (sums[rank].0 + speed, sums[rank].1 + 1);
            }
        }
        sums.into_iter().map(|(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect()
    };
    let (before, now) = (by_rank(before), by_rank(now));
    let holds = foretold(&before, &now);
    let [before, now] =
        [before, now].map(|speeds| speeds.into_iter().map(|speed| holds * speed.unwrap_or(0.0)).collect());
    (before, now)
}

impl Sm<'_> {
    /// Passes over so many instructions, or up to where the SM runs empty or to the end of the job; the clock stands at
    /// `cycle`. The warp that is least far in a time of its own goes on for a turn: the time grows by a cycle for each
    /// instruction and by what its loads take on an idle machine. So warps that find their data in the L1 cache are ahead of
    /// others, as they are in detail, and keep finding it: local memory that is larger than the cache serves some warps well,
    /// and not all of them badly. Warps that were faster than others in both halves of the window before, since
    /// schedulers prefer them, are so here: they come as far apart as in detail, where each loads lines that the others
    /// have lost again.
    pub(crate) fn pass_over(&mut self, instructions: u64, cycle: u64) {
        let end = self.passed + instructions;
        self.is_passing = true;
        self.is_other_stage = false;
        self.memory.stop_clock(true);
        self.own_times.fill(0.0);
        let mut speeds = self.speeds(cycle);
        while self.passed < end && !self.is_other_stage {
            stop::check();
            let runs = |&slot: &usize| self.warps[slot].state == State::Runs;
            let times = &self.own_times;
            let least = (0..self.warps.len()).filter(runs).min_by(|&a, &b| times[a].total_cmp(&times[b]));
            match least {
                Some(slot) => {
                    self.count_warps_at(self.own_times[slot]);
                    self.pass_turn(slot, cycle, &mut speeds);
                }
                None if self.force_barriers() => {}
                None => break,
            }
        }
        self.memory.stop_clock(false);
        self.is_passing = false;
        self.count_warps();
        (0..self.warps.len()).for_each(|slot| self.refresh(slot));
    }

    /// A warp misses from when all others have come to where it ended: those of a CTA that end together do so one after the other
    /// here.
    fn count_warps_at(&mut self, time: f64) {
        let has_ended = |&slot: &usize| {
            let warp = &self.warps[slot];
            warp.state == State::Empty && self.ctas[warp.cta as usize].live > 0 && self.own_times[slot] <= time
        };
        let missing = (0..self.warps.len()).filter(has_ended).count();
        let full = self.sampling.at_work() * self.warps_per_cta as usize;
        self.missing_warps.change(full.saturating_sub(missing), full, self.issued + self.passed);
    }

    /// The slots of the warps of a CTA.
    fn of_cta(&self, cta_slot: usize) -> std::ops::Range<usize> {
        let first = cta_slot * self.warps_per_cta as usize;
        first..first + self.warps_per_cta as usize
    }

    /// The warps that wait at a barrier go on when the last one has come.
    pub(crate) fn meet_in_own_times(&mut self, cta_slot: usize, barrier: u32) {
        let of_cta = self.of_cta(cta_slot);
        let latest = of_cta.clone().map(|slot| self.own_times[slot]).fold(0.0, f64::max);
        for slot in of_cta.filter(|&slot| self.warps[slot].state == State::AtBarrier(barrier)) {
            self.own_times[slot] = latest;
        }
    }

    /// Younger warps on the same scheduler.
    fn rank(&self, slot: usize) -> usize {
        let age = self.warps[slot].age;
        let of_scheduler = self.warps.iter().skip(slot % self.schedulers.len()).step_by(self.schedulers.len());
        of_scheduler.filter(|warp| warp.state != State::Empty && warp.age > age).count()
    }

    /// How fast warps are taken to be after the window that ends in `cycle`.
    fn speeds(&self, cycle: u64) -> Speeds {
        let [now, before] = &self.progress;
        let busy = now.issued_per_cycle(cycle) * f64::from(self.config.issue_interval) / self.schedulers.len() as f64;
        let at_work = |slot: usize| self.warps[slot].state != State::Empty;
        let of = |progress: &Progress, end: u64| -> Vec<Option<f64>> { progress.speeds(end, at_work) };
        let (now, before) = (of(now, cycle), of(before, now.since));
        let ranks: Vec<usize> = (0..self.warps.len()).map(|slot| self.rank(slot)).collect();
        Speeds::new(&before, &now, &ranks, busy.min(1.0))
    }

    /// The warp goes on for a turn, or to where it ends or has to wait.
    fn pass_turn(&mut self, slot: usize, cycle: u64, speeds: &mut Speeds) {
        let (end, age) = (self.passed + TURN, self.warps[slot].age);
        let cta_slot = self.warps[slot].cta as usize;
        let cta = self.ctas[cta_slot].cta;
        let speed = speeds.of(slot, || self.rank(slot));
        let mut time = self.own_times[slot];
        while self.passed < end && self.warps[slot].state == State::Runs && self.warps[slot].age == age {
            let before = self.passed;
            let waited = self.pass_block(slot, cycle);
            time += ((self.passed - before) as f64 + waited) / speed;
            // Where it met others, it is as late as the last of them.
            self.own_times[slot] = self.own_times[slot].max(time);
        }
        if self.ctas[cta_slot].cta != cta {
            // It was the last warp of its CTA, and the next CTA begins.
            let of_cta = self.of_cta(cta_slot);
            let start = self.own_times[of_cta.clone()].iter().copied().fold(0.0, f64::max);
            self.own_times[of_cta.clone()].fill(start);
            speeds.own[of_cta].fill(0.0);
        }
    }

    /// The warp goes to the end of its block, or to a barrier where it has to wait; returns the cycles that its loads take.
    fn pass_block(&mut self, slot: usize, cycle: u64) -> f64 {
        let code = self.job.code;
        let mut waited = 0.0;
        loop {
            let number = self.warps[slot].inst() as usize;
            let inst = &code.insts[number];
            self.outcome.executions[number] += 1;
            self.passed += 1;
            if inst.touches_memory() {
                waited += self.pass_access(slot, number, cycle);
            }
            let warp = &mut self.warps[slot];
            if inst.class == MachineClass::AsyncCommit {
                warp.groups.push_back(std::mem::take(&mut warp.open_group));
            } else if inst.class == MachineClass::AsyncWait {
                let closed = warp.groups.len().saturating_sub(inst.amount as usize);
                warp.groups.drain(..closed);
            }
            let is_last = warp.ends_block();
            if !self.go_on(slot, number as u32, cycle) || is_last {
                return waited;
            }
        }
    }

    /// Returns the cycles that a load takes.
    fn pass_access(&mut self, slot: usize, number: usize, cycle: u64) -> f64 {
        let code = self.job.code;
        let inst = &code.insts[number];
        let (trace, step) = self.place(slot);
        let cta = self.warps[slot].cta;
        let mut done = cycle as f64;
        let mut speaks = false;
        for access in trace.accesses_at(&step, inst.turn, inst.slot) {
            speaks |= trace.speaks(&access);
            let passes_caches = match access.space {
                StateSpace::Global
                | StateSpace::Local
                | StateSpace::Generic
                | StateSpace::Texture
                | StateSpace::Surface => true,
                StateSpace::Shared | StateSpace::Const | StateSpace::Param => false,
            };
            if passes_caches {
                let is_copy = inst.class == MachineClass::AsyncCopy;
                let arrival = Arrival {
                    at: cycle as f64,
                    trace,
                    access: &widened(inst, access),
                    slot,
                    is_copy,
                    source: None,
                    cta,
                    amount: inst.amount,
                };
                done = done.max(self.memory.serve(&arrival).at);
            }
        }
        if speaks {
            self.speak(slot, inst, cycle as f64);
        }
        if inst.class == MachineClass::Load { done - cycle as f64 } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_foretold_holds_on_and_chance_does_not() {
        let all = |values: [f64; 4]| values.map(Some);
        let persists = foretold(&all([0.5, 0.1, -0.2, -0.4]), &all([1.0, 0.2, -0.4, -0.8]));
        assert!((persists - 1.0).abs() < 1e-12, "{persists}");
        assert_eq!(foretold(&all([0.1, -0.1, 0.1, -0.1]), &all([0.1, 0.1, -0.1, -0.1])), 0.0);
        assert_eq!(foretold(&all([1.0, 0.5, -0.5, -1.0]), &all([-1.0, -0.5, 0.5, 1.0])), 0.0);
        assert_eq!(foretold(&[None, Some(1.0)], &[Some(1.0), Some(1.0)]), 0.0);
    }

    /// Two schedulers with three warps each, of which the youngest is fast, one with a lead of its own.
    #[test]
    fn ranks_hold_on_and_what_is_a_warps_own_by_half() {
        let ranks = [0, 0, 1, 1, 2, 2];
        let had = [1.0, 1.0, 0.0, 0.0, -1.0, -1.0].map(Some);
        let speeds = Speeds::new(&had, &had, &ranks, 1.0);
        assert_eq!(speeds.of_ranks, [1.0, 0.0, -1.0]);
        assert_eq!(speeds.own, [0.0; 6]);
        assert!((speeds.of(5, || 0) - 1.0_f64.exp()).abs() < 1e-12, "who comes to be the youngest is as fast");
        assert_eq!(speeds.of(0, || 7), 1.0, "nothing is known of so old a warp");
        let idle = Speeds::new(&had, &had, &ranks, 0.5);
        assert_eq!((idle.of(0, || 0), idle.of(5, || 0)), (0.5_f64.exp(), (-0.5_f64).exp()), "all of it is their own");
        let had = [1.5, 0.5, 0.0, 0.0, -1.0, -1.0].map(Some);
        let speeds = Speeds::new(&had, &had, &ranks, 1.0);
        assert_eq!(speeds.of_ranks, [1.0, 0.0, -1.0]);
        assert_eq!(speeds.own, [0.25, -0.25, 0.0, 0.0, 0.0, 0.0]);
        let turned = had.map(|speed| speed.map(|speed: f64| -speed));
        assert_eq!(Speeds::new(&turned, &had, &ranks, 1.0).of_ranks, [0.0; 3], "chance");
        assert_eq!(Speeds::new(&[], &[], &[], 1.0).of_ranks, [0.0; 0]);
    }

    #[test]
    fn speeds_are_those_of_warps_that_have_been_there_for_long() {
        let mut progress = Progress::new(4);
        progress.restart(100);
        progress.begin(2, 190);
        for (slot, issued) in [(0, 20), (1, 80), (2, 9), (3, 1)] {
            (0..issued).for_each(|_| progress.issued(slot));
        }
        let speeds = progress.speeds(200, |slot| slot != 3);
        assert_eq!(speeds[2..], [None, None]);
        assert_eq!(speeds[..2], [Some(0.4_f64.ln()), Some(1.6_f64.ln())]);
    }
}
