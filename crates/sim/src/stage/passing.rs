//! Passing over instructions: warps go through their traces without time, for what remains of it in the caches, at
//! barriers and in the order of CTAs.

use warplens_isa::StateSpace;
use warplens_trace::MachineClass;

use crate::memory::Arrival;
use crate::pipeline::Sm;
use crate::stage::execute::widened;
use crate::warp::State;

/// Instructions of a turn. Blocks are not parted: a warp that went further waits until the others have come as far.
const TURN: i64 = 32;

impl Sm<'_> {
    /// Passes over so many instructions, or up to the end of the job; the clock stands at `cycle`. Warps take turns of as
    /// many instructions, so that those of a CTA stay as far apart as they were, and so that the place where a warp is
    /// found afterwards is in long blocks as often as these have instructions.
    pub(crate) fn pass_over(&mut self, instructions: u64, cycle: u64) {
        let end = self.passed + instructions;
        self.is_passing = true;
        self.memory.stop_clock(true);
        let mut left: Vec<i64> = vec![0; self.warps.len()];
        while self.passed < end {
            let mut runs = false;
            for (slot, left) in left.iter_mut().enumerate() {
                runs |= self.warps[slot].state == State::Runs;
                *left = (*left + TURN).min(TURN);
                while *left > 0 && self.warps[slot].state == State::Runs {
                    let before = self.passed;
                    self.pass_block(slot, cycle);
                    *left -= (self.passed - before).cast_signed();
                }
            }
            if !runs && !self.force_barriers() {
                break;
            }
        }
        self.memory.stop_clock(false);
        self.is_passing = false;
        (0..self.warps.len()).for_each(|slot| self.refresh(slot));
    }

    /// The warp goes to the end of its block, or to a barrier where it has to wait.
    fn pass_block(&mut self, slot: usize, cycle: u64) {
        let code = self.job.code;
        loop {
            let number = self.warps[slot].inst() as usize;
            let inst = &code.insts[number];
            self.outcome.executions[number] += 1;
            self.passed += 1;
            if inst.touches_memory() {
                self.pass_access(slot, number, cycle);
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
                return;
            }
        }
    }

    fn pass_access(&mut self, slot: usize, number: usize, cycle: u64) {
        let code = self.job.code;
        let inst = &code.insts[number];
        let (trace, step) = self.place(slot);
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
                self.memory.serve(&arrival);
            }
        }
        if speaks {
            self.speak(slot, inst, cycle as f64);
        }
    }
}
