//! Dispatch and retirement: CTAs come to the SM, warps go through their traces, meet at barriers and end.

use warplens_trace::MachineClass;

use crate::pipeline::{CtaSlot, Sm};
use crate::unit::barrier::{Barriers, CLUSTER_BARRIER, Meeting};
use crate::unit::phases::Phases;
use crate::unit::port::whole;
use crate::unit::scoreboard::Pending;
use crate::warp::{self, State};
use crate::{CtaSpan, Effect, Stall};

impl Sm<'_> {
    /// The next CTA of the job takes a slot; its warps may issue from cycle `at` on, or once the GPU launches it.
    pub(crate) fn dispatch(&mut self, slot: usize, at: u64) {
        let Some(cta) = self.job.ctas.get(self.next_cta) else { return };
        let index = self.next_cta as u32;
        self.next_cta += 1;
        let waits = self.config.cta_interval > 0.0 && !self.is_passing;
        let at = if waits { at.max(whole(self.next_launch)) } else { at };
        self.next_launch = at as f64 + self.config.cta_interval;
        let live = cta.warps.len() as u32;
        self.ctas[slot] = CtaSlot {
            cta: index,
            live,
            barriers: Barriers::default(),
            meeting: Meeting::default(),
            phases: Phases::default(),
            end: at,
        };
        self.outcome.ctas[index as usize] = CtaSpan { start: at, end: at, ..CtaSpan::default() };
        self.moments[index as usize] = [self.moment(at); 2];
        self.count_warps();
        for warp in 0..live {
            let place = self.warp_slot(slot, warp);
            self.warps[place].start(slot as u32, warp, self.next_age, at);
            self.progress.iter_mut().for_each(|progress| progress.begin(place, at));
            self.next_age += 1;
            self.scoreboard.clear(place);
            let trace = &cta.warps[warp as usize];
            let compact = self.without(Effect::Divergence);
            if self.warps[place].begin(self.job.code, trace, compact) {
                self.refresh(place);
            } else {
                self.end_warp(place, at, None);
            }
        }
    }

    const fn warp_slot(&self, cta_slot: usize, warp: u32) -> usize {
        cta_slot * self.warps_per_cta as usize + warp as usize
    }

    /// The warp goes on after the instruction that it issued in `cycle`.
    pub(crate) fn retire(&mut self, slot: usize, inst: u32, cycle: u64) {
        if self.go_on(slot, inst, cycle) {
            self.refresh(slot);
        }
    }

    /// The warp goes to its next instruction; false where it has ended, or waits.
    pub(crate) fn go_on(&mut self, slot: usize, inst: u32, cycle: u64) -> bool {
        if !self.warps[slot].advance_in_block() {
            let cta_slot = self.warps[slot].cta as usize;
            let trace = warp::trace(self.job.ctas, self.ctas[cta_slot].cta, self.warps[slot].index);
            let compact = self.without(Effect::Divergence);
            if !self.warps[slot].advance(self.job.code, trace, compact) {
                self.end_warp(slot, cycle + 1, Some(inst));
                return false;
            }
        }
        let code = self.job.code;
        let inst = &code.insts[inst as usize];
        if matches!(inst.class, MachineClass::Barrier | MachineClass::BarrierArrive) {
            self.arrive(slot, inst, cycle);
            if self.warps[slot].state != State::Runs {
                self.refresh(slot);
                return false;
            }
        }
        self.is_answered(slot)
    }

    /// False where the warp waits for the answer of a barrier in memory.
    fn is_answered(&mut self, slot: usize) -> bool {
        let Some(question) = self.warps[slot].asks.take() else { return true };
        let phases = &mut self.ctas[self.warps[slot].cta as usize].phases;
        let waits = phases.ended(question.address, question.parity).is_none();
        if waits && !self.without(Effect::Synchronisation) {
            self.warps[slot].state = State::ForPhase(question);
            self.refresh(slot);
            return false;
        }
        true
    }

    /// A phase of a CTA has ended: warps go on that waited for it, as if they asked then.
    pub(crate) fn end_phase(&mut self, cta_slot: usize) {
        for warp in 0..self.warps_per_cta {
            let slot = self.warp_slot(cta_slot, warp);
            let State::ForPhase(question) = self.warps[slot].state else { continue };
            let Some(ended) = self.ctas[cta_slot].phases.ended(question.address, question.parity) else { continue };
            let at = if self.is_passing { 0 } else { whole(ended) + u64::from(self.config.shared.latency) };
            self.warps[slot].state = State::Runs;
            self.warps[slot].free = self.warps[slot].free.later(Pending { at, stall: Stall::Barrier });
            self.refresh(slot);
        }
    }

    fn arrive(&mut self, slot: usize, inst: &warplens_trace::MachineInst, cycle: u64) {
        if self.without(Effect::Synchronisation) {
            return;
        }
        let cta_slot = self.warps[slot].cta as usize;
        if inst.amount == CLUSTER_BARRIER {
            return self.meet_cluster(slot, inst.class == MachineClass::BarrierArrive, cycle);
        }
        if inst.class == MachineClass::Barrier {
            self.warps[slot].state = State::AtBarrier(inst.amount);
        }
        let cta = &mut self.ctas[cta_slot];
        if cta.barriers.arrive(inst.amount, cta.live) {
            self.open(cta_slot, inst.amount, cycle);
        }
    }

    /// A half of the barrier of a cluster. The other CTAs of the cluster are taken to come when this one does: the phase ends
    /// with its last warp.
    fn meet_cluster(&mut self, slot: usize, arrives: bool, cycle: u64) {
        let cta = &mut self.ctas[self.warps[slot].cta as usize];
        let latency = self.config.cluster.map_or(self.config.barrier_latency, |cluster| cluster.barrier_latency);
        if arrives {
            self.warps[slot].meeting = cta.meeting.phase;
            if cta.meeting.arrive(cta.live, cycle) {
                self.end_meeting(self.warps[slot].cta as usize, latency);
            }
        } else if cta.meeting.phase == self.warps[slot].meeting {
            self.warps[slot].state = State::AtBarrier(CLUSTER_BARRIER);
        } else {
            let at = cta.meeting.ended + u64::from(latency);
            self.warps[slot].free = self.warps[slot].free.later(Pending { at, stall: Stall::Barrier });
        }
    }

    /// A phase of the cluster's barrier has ended: warps go on that wait for it.
    fn end_meeting(&mut self, cta_slot: usize, latency: u32) {
        let ended = self.ctas[cta_slot].meeting.ended;
        self.open_at(cta_slot, CLUSTER_BARRIER, ended + u64::from(latency.max(1)));
    }

    /// The warps at a barrier go on.
    fn open(&mut self, cta_slot: usize, barrier: u32, cycle: u64) {
        self.open_at(cta_slot, barrier, cycle + u64::from(self.config.barrier_latency.max(1)));
    }

    fn open_at(&mut self, cta_slot: usize, barrier: u32, at: u64) {
        if self.is_passing {
            self.meet_in_own_times(cta_slot, barrier);
        }
        for warp in 0..self.warps_per_cta {
            let slot = self.warp_slot(cta_slot, warp);
            if self.warps[slot].state == State::AtBarrier(barrier) {
                self.warps[slot].state = State::Runs;
                self.warps[slot].free = self.warps[slot].free.later(Pending { at, stall: Stall::Barrier });
                self.refresh(slot);
            }
        }
    }

    /// The warp has ended, with instruction `last`. When it was the last one of its CTA, the next CTA comes.
    fn end_warp(&mut self, slot: usize, cycle: u64, last: Option<u32>) {
        let warp = &mut self.warps[slot];
        warp.state = State::Empty;
        let cta_slot = warp.cta as usize;
        // Where the clock stands still, nothing is on its way; a CTA that is to start later has started.
        let start = self.outcome.ctas[self.ctas[cta_slot].cta as usize].start;
        let cycle = cycle.max(start);
        let end = if self.is_passing { cycle } else { cycle.max(whole(warp.drained_at)) };
        let n = self.schedulers.len();
        self.schedulers[slot % n].outcome.stalls.add(Stall::Drain, end - cycle);
        if let Some(last) = last {
            self.outcome.stalls[last as usize].add(Stall::Drain, end - cycle);
        }
        self.refresh(slot);
        let cta = &mut self.ctas[cta_slot];
        self.outcome.resident_warp_cycles += end - start;
        cta.live -= 1;
        cta.end = cta.end.max(end);
        let (live, cta_end, index) = (cta.live, cta.end, cta.cta as usize);
        if live == 0 {
            self.outcome.ctas[index].end = cta_end;
            self.moments[index][1] = self.moment(cta_end);
            let turnaround = if self.is_passing { 0 } else { self.config.cta_turnaround };
            if self.next_cta >= self.job.ctas.len() && self.sampling.is_in_part() {
                self.run_empty(cycle);
            }
            self.count_warps();
            self.dispatch(cta_slot, cta_end + u64::from(turnaround));
            return;
        }
        self.count_warps();
        let mut opened = [0; 16];
        let mut n_opened = 0;
        self.ctas[cta_slot].barriers.warp_ended(live, |barrier| {
            opened[n_opened] = barrier;
            n_opened += 1;
        });
        for &barrier in &opened[..n_opened] {
            self.open(cta_slot, barrier, cycle);
        }
        if self.ctas[cta_slot].meeting.warp_ended(live, cycle) {
            let latency = self.config.cluster.map_or(self.config.barrier_latency, |cluster| cluster.barrier_latency);
            self.end_meeting(cta_slot, latency);
        }
    }

    /// Warps have begun or ended.
    pub(crate) fn count_warps(&mut self) {
        if !self.is_passing {
            let at_work = self.ctas.iter().map(|cta| cta.live as usize).sum();
            let full = self.sampling.at_work() * self.warps_per_cta as usize;
            self.missing_warps.change(at_work, full, self.issued + self.passed);
        }
    }

    /// A CTA has ended, and none comes after it.
    fn run_empty(&mut self, cycle: u64) {
        if self.sampling.runs_empty() {
            if self.is_passing {
                self.is_other_stage = true;
            } else {
                let now = self.point(cycle);
                self.sampling.begin_stage(now);
            }
        }
    }

    /// Opens the barriers of the first CTA that waits for warps that never come; false when none waits.
    pub(crate) fn force_barriers(&mut self) -> bool {
        let waiting = self.warps.iter().find_map(|warp| match warp.state {
            State::AtBarrier(barrier) => Some((warp.cta as usize, barrier)),
            State::Empty | State::Runs | State::ForPhase(_) => None,
        });
        let Some((cta_slot, barrier)) = waiting else { return self.force_phase() };
        self.outcome.forced_barriers += 1;
        if barrier == CLUSTER_BARRIER {
            self.ctas[cta_slot].meeting.force();
        } else {
            self.ctas[cta_slot].barriers.force(barrier);
        }
        let last = self.warps.iter().map(|warp| warp.last_issue).filter(|&cycle| cycle != u64::MAX).max();
        self.open(cta_slot, barrier, last.unwrap_or(0));
        true
    }

    /// The same for the phase of a barrier in memory that the first warp waits for.
    fn force_phase(&mut self) -> bool {
        let waiting = self.warps.iter().find_map(|warp| match warp.state {
            State::ForPhase(question) => Some((warp.cta as usize, question.address)),
            State::Empty | State::Runs | State::AtBarrier(_) => None,
        });
        let Some((cta_slot, address)) = waiting else { return false };
        self.outcome.forced_phases += 1;
        self.ctas[cta_slot].phases.force(address);
        self.end_phase(cta_slot);
        true
    }
}
