//! Passing over instructions: warps go through their traces without time, for what remains of it in the caches, at
//! barriers and in the order of CTAs.

use warplens_isa::StateSpace;
use warplens_trace::MachineClass;

use crate::memory::Arrival;
use crate::pipeline::Sm;
use crate::stage::execute::widened;
use crate::warp::State;

/// Instructions of a turn, at least. Blocks are not parted.
const TURN: u64 = 32;
/// How many times as fast as the mean a warp is taken to be at most, and as slow.
const FASTEST: f64 = 20.0;

impl Sm<'_> {
    /// Passes over so many instructions, or up to where the SM runs empty or to the end of the job; the clock stands at
    /// `cycle`. The warp that is least far in a time of its own goes on for a turn: the time grows by a cycle for each
    /// instruction and by what its loads take on an idle machine. So warps that find their data in the L1 cache are ahead of
    /// others, as they are in detail, and keep finding it: local memory that is larger than the cache serves some warps well,
    /// and not all of them badly. Warps that were faster than others in the window before, since schedulers prefer them,
    /// are so here: they come as far apart as in detail, where each loads lines that the others have lost again.
    pub(crate) fn pass_over(&mut self, instructions: u64, cycle: u64) {
        let end = self.passed + instructions;
        self.is_passing = true;
        self.is_other_stage = false;
        self.memory.stop_clock(true);
        let mut times: Vec<f64> = vec![0.0; self.warps.len()];
        let mut speeds = self.speeds(cycle);
        while self.passed < end && !self.is_other_stage {
            let runs = |&slot: &usize| self.warps[slot].state == State::Runs;
            let least = (0..self.warps.len()).filter(runs).min_by(|&a, &b| times[a].total_cmp(&times[b]));
            match least {
                Some(slot) => self.pass_turn(slot, cycle, (&mut times, &mut speeds)),
                None if self.force_barriers() => {}
                None => break,
            }
        }
        self.memory.stop_clock(false);
        self.is_passing = false;
        (0..self.warps.len()).for_each(|slot| self.refresh(slot));
    }

    /// By slot: how fast the warp was in the window, over the mean of all. Only half of that, by its logarithm, is taken to
    /// hold on: the rest was chance. Of warps that have just begun nothing is known.
    fn speeds(&self, cycle: u64) -> Vec<f64> {
        let at_work = |slot: usize| self.warps[slot].state != State::Empty;
        let span = |slot: usize| cycle.saturating_sub(self.progress[slot].1);
        let slots = 0..self.warps.len();
        let longest = slots.clone().filter(|&slot| at_work(slot)).map(span).max().unwrap_or(0);
        let speed = |slot: usize| {
            let is_known = at_work(slot) && 4 * span(slot) >= longest.max(1);
            is_known.then(|| self.progress[slot].0 as f64 / span(slot).max(1) as f64)
        };
        let known: Vec<f64> = slots.clone().filter_map(speed).collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let of_mean = |speed: f64| if mean > 0.0 { (speed / mean).clamp(1.0 / FASTEST, FASTEST).sqrt() } else { 1.0 };
        slots.map(|slot| speed(slot).map_or(1.0, of_mean)).collect()
    }

    /// The warp goes on for a turn, or to where it ends or has to wait.
    fn pass_turn(&mut self, slot: usize, cycle: u64, (times, speeds): (&mut [f64], &mut [f64])) {
        let (end, age) = (self.passed + TURN, self.warps[slot].age);
        let cta_slot = self.warps[slot].cta as usize;
        let cta = self.ctas[cta_slot].cta;
        while self.passed < end && self.warps[slot].state == State::Runs && self.warps[slot].age == age {
            let before = self.passed;
            let waited = self.pass_block(slot, cycle);
            times[slot] += ((self.passed - before) as f64 + waited) / speeds[slot];
        }
        if self.ctas[cta_slot].cta != cta {
            // It was the last warp of its CTA, and the next CTA begins.
            let first = cta_slot * self.warps_per_cta as usize;
            let of_cta = &mut times[first..first + self.warps_per_cta as usize];
            let start = of_cta.iter().copied().fold(0.0, f64::max);
            of_cta.fill(start);
            speeds[first..first + self.warps_per_cta as usize].fill(1.0);
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
                let arrival = Arrival { at: cycle as f64, trace, access: &widened(inst, access), slot, is_copy };
                done = done.max(self.memory.serve(&arrival).at);
            }
        }
        if speaks {
            self.speak(slot, inst, cycle as f64);
        }
        if inst.class == MachineClass::Load { done - cycle as f64 } else { 0.0 }
    }
}
