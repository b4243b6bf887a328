//! Issue: which warp goes next, and what the others waited for.

use warplens_machine::words::IssueScoreboard;
use warplens_trace::{MachineInst, RegisterNumber};

use crate::pipeline::{Choice, Sm};
use crate::prepared::Prepared;
use crate::unit::scheduler::{NEVER, UNITS};
use crate::unit::scoreboard::Pending;
use crate::warp::State;
use crate::{Effect, Event, Stall};

impl<'a> Sm<'a> {
    /// What the scheduler would issue next.
    pub(crate) fn choose(&mut self, scheduler: usize) -> Option<Choice> {
        let state = &mut self.schedulers[scheduler];
        let unit_free = &self.unit_free[scheduler];
        let (cycle, position) = state.choose(self.config.policy, self.config.issue_interval, unit_free)?;
        Some(Choice { cycle, position })
    }

    /// Finds out when the warp's next instruction can be issued, and lets its scheduler choose anew.
    pub(crate) fn refresh(&mut self, slot: usize) {
        let (scheduler, position) = (slot % self.schedulers.len(), slot / self.schedulers.len());
        let (mut at, mut unit, mut age) = (NEVER, 0, 0);
        if self.warps[slot].state == State::Runs {
            let ready = self.operands(slot);
            let warp = &mut self.warps[slot];
            warp.ready = ready;
            (at, age) = (ready.at, warp.age);
            unit = self.next_prepared(slot).unit;
        }
        let state = &mut self.schedulers[scheduler];
        (state.ready_at[position], state.unit[position], state.age[position]) = (at, unit, age);
        self.choices.forget(scheduler);
    }

    fn next_inst(&self, slot: usize) -> &'a MachineInst {
        let code = self.job.code;
        &code.insts[self.warps[slot].inst() as usize]
    }

    fn next_prepared(&self, slot: usize) -> &Prepared {
        &self.prepared[self.warps[slot].inst() as usize]
    }

    /// When the unit that the warp's next instruction needs takes it.
    fn unit_free(&self, scheduler: usize, slot: usize) -> u64 {
        self.unit_free[scheduler][usize::from(self.next_prepared(slot).unit) % UNITS]
    }

    /// When the operands of the warp's next instruction are there; what the warp itself waits for counts, too.
    fn operands(&self, slot: usize) -> Pending {
        let warp = &self.warps[slot];
        if self.without(Effect::DependenceLatency) {
            return warp.free;
        }
        let inst = self.next_inst(slot);
        let registers = self.job.code.registers(inst.reads);
        let late =
            (self.config.scoreboard == IssueScoreboard::LateAddend && inst.touches_memory()).then_some(inst.addend);
        let latest = match late.flatten() {
            None => self.scoreboard.all(slot, registers),
            Some(addend) => {
                let wait = self.addend_wait(inst);
                registers.iter().fold(Pending::READY, |latest, &register| {
                    let pending = self.scoreboard.pending(slot, register);
                    let wait = if register == addend { wait } else { 0 };
                    latest.later(Pending { at: pending.at.saturating_sub(wait), ..pending })
                })
            }
        };
        // A result must not be overtaken by an earlier one of the same register.
        let written = self.scoreboard.all(slot, self.overwritten(inst));
        let shortest = self.next_prepared(slot).shortest_latency;
        let overwritten = Pending { at: written.at.saturating_sub(shortest), ..written };
        let guard = inst.guard.map_or(Pending::READY, |guard| {
            let pending = self.scoreboard.pending(slot, guard);
            let extra = if pending.at == 0 { 0 } else { self.guard_extra };
            Pending { at: pending.at + extra, ..pending }
        });
        warp.free.later(latest).later(overwritten).later(guard)
    }

    /// Cycles after its issue at which arithmetic with a shared operand reads its addend.
    fn addend_wait(&self, inst: &MachineInst) -> u64 {
        u64::from(self.config.shared.operand_latency.saturating_sub(self.config.class(inst.timed_as()).latency))
    }

    /// Registers that an instruction writes, of which earlier results must have come.
    fn overwritten(&self, inst: &MachineInst) -> &[RegisterNumber] {
        if inst.beside { &[] } else { self.job.code.registers(inst.writes) }
    }

    /// True when the warp can issue its next instruction in the same cycle as the one before.
    pub(crate) fn may_pair(&self, scheduler: usize, slot: usize, cycle: u64) -> bool {
        let warp = &self.warps[slot];
        if warp.state != State::Runs || self.unit_free(scheduler, slot) > cycle {
            return false;
        }
        let inst = self.next_inst(slot);
        let registers = self.job.code.registers(inst.reads).iter().chain(self.overwritten(inst));
        let there = |register: &u16| self.scoreboard.pending(slot, *register).at <= cycle;
        let guard = inst.guard.is_none_or(|guard| {
            let at = self.scoreboard.pending(slot, guard).at;
            at == 0 || at + self.guard_extra <= cycle
        });
        // After a branch, a barrier or a fence the warp waits for more than its operands.
        warp.free.at <= cycle + 1 && guard && registers.into_iter().all(there)
    }

    /// The warp at the chosen position issues its next instruction; returns it. `paired` where it is the second one of
    /// the warp in this cycle.
    pub(crate) fn issue(&mut self, scheduler: usize, choice: Choice, slot: usize, paired: bool) -> u32 {
        let number = self.warps[slot].inst();
        let index = number as usize;
        self.outcome.executions[index] += 1;
        self.progress[0].issued(slot);
        self.issued += 1;
        self.schedulers[scheduler].took(choice.position);
        if paired {
            return number;
        }
        let unit_free = self.unit_free(scheduler, slot);
        let throttle = self.prepared[index].throttle;
        let warp = &self.warps[slot];
        let since = warp.last_issue.wrapping_add(1);
        let until = [
            (warp.free.at, warp.free.stall),
            (warp.ready.at, warp.ready.stall),
            (unit_free, throttle),
            (choice.cycle, Stall::NotSelected),
        ];
        let mut at = since;
        let waits = until.map(|(time, stall)| {
            let time = time.min(choice.cycle);
            let cycles = time.saturating_sub(at);
            at = at.max(time);
            (stall, cycles)
        });
        let (of_scheduler, of_inst) = (&mut self.schedulers[scheduler].outcome.stalls, &mut self.outcome.stalls[index]);
        // Mostly some are none, and which ones no host can foresee: adding nothing is faster than asking.
        for (stall, cycles) in waits.into_iter().chain([(Stall::Selected, 1)]) {
            of_scheduler.add(stall, cycles);
            of_inst.add(stall, cycles);
        }
        if self.options.timeline_warps > 0 {
            let issue = choice.cycle;
            self.note(slot, |cta, warp| Event {
                cta,
                warp,
                inst: number,
                waits_from: since,
                waits: waits.map(|(stall, cycles)| if cycles > 0 { (stall, cycles) } else { (Stall::Wait, 0) }),
                issue,
                done: issue,
            });
        }
        self.warps[slot].last_issue = choice.cycle;
        number
    }
}
