//! Execute: an instruction reserves its units, and its results get the cycle in which they can be used.

use warplens_isa::{MbarrierOp, StateSpace};
use warplens_machine::words::IssueOccupies;
use warplens_trace::{AccessKind, ActiveMask, MachineClass, MachineInst, Step, Told, WARP_SIZE, WarpAccess, WarpTrace};

use crate::memory::Arrival;
use crate::pipeline::{InTurn, Sm};
use crate::prepared::{LSU, Prepared, Way};
use crate::unit::port::whole;
use crate::unit::scheduler::UNITS;
use crate::unit::scoreboard::Pending;
use crate::warp::{self, Question, State};
use crate::{Effect, Stall};

impl<'a> Sm<'a> {
    /// Cycles by which an instruction issued in `cycle` is late because its registers cannot all be read at once.
    pub(crate) fn read_registers(&mut self, scheduler: usize, inst: u32, cycle: u64) -> u64 {
        let reads = self.job.code.insts[inst as usize].bank_reads;
        let Some(read_cycles) = self.config.register_read_cycles.filter(|_| reads != [0; 2]) else { return 0 };
        let late = self.register_files[scheduler].read(cycle, reads, u64::from(read_cycles));
        self.held_back += late;
        late
    }

    /// Executes an instruction issued in `cycle`, which has its operands `late` cycles later than others; returns the cycles
    /// for which it occupies what issued it.
    pub(crate) fn execute(&mut self, scheduler: usize, slot: usize, inst: u32, (cycle, late): (u64, u64)) -> f64 {
        let code = self.job.code;
        let prepared = self.prepared[inst as usize];
        let inst = &code.insts[inst as usize];
        let Prepared { interval, latency, .. } = prepared;
        let mut start = (cycle + late) as f64;
        if self.config.occupies == IssueOccupies::Unit && prepared.way != Way::Memory {
            let pipe = &mut self.pipes[scheduler][usize::from(prepared.unit)];
            start = pipe.reserve(start, interval);
            self.unit_free[scheduler][usize::from(prepared.unit) % UNITS] = whole(pipe.free_at());
        }
        let mut stall = prepared.waits;
        let mut done = start + latency.max(interval);
        match prepared.way {
            Way::Memory => (done, stall) = self.memory_instruction(scheduler, slot, (inst, &prepared), cycle),
            Way::SharedOperand => {
                done = self.shared_operand(slot, inst, start).max(done);
                stall = Stall::ShortScoreboard;
            }
            Way::Plain => {
                if inst.class == MachineClass::TensorAsync {
                    // The next product of the same sums follows without a gap; whoever waits for the group has them later.
                    done = start + interval;
                }
                self.control(slot, inst, cycle, done + latency);
            }
        }
        // What a copy writes to a register it knows when it is issued.
        let written = match inst.class {
            MachineClass::AsyncCopy => start + latency,
            _ if prepared.is_spaced => start,
            _ => done,
        };
        let result = Pending { at: whole(written), stall };
        let registers = self.job.code.registers(inst.writes);
        if inst.beside {
            self.scoreboard.write_beside(slot, registers, result);
        } else {
            self.scoreboard.write(slot, registers, result);
        }
        if self.options.timeline_warps > 0
            && let Some(event) = self.outcome.timeline.last_mut()
            && event.issue == cycle
            && (event.cta, event.warp) == (self.ctas[self.warps[slot].cta as usize].cta, self.warps[slot].index)
        {
            event.done = result.at;
        }
        let warp = &mut self.warps[slot];
        // Registers are freed when nothing is on its way to them any more.
        warp.drained_at = warp.drained_at.max(done);
        let free = cycle + late + prepared.same_warp;
        if free > warp.free.at {
            warp.free = Pending { at: free, stall: Stall::Wait };
        }
        interval
    }

    /// Barriers are left to retirement; here is what keeps the warp itself from going on. A product of a group of warps can
    /// be waited for from `complete` on.
    fn control(&mut self, slot: usize, inst: &MachineInst, cycle: u64, complete: f64) {
        let config = self.config;
        let warp = &mut self.warps[slot];
        let wait = match inst.class {
            MachineClass::Branch => Some((cycle + u64::from(config.branch_latency), Stall::BranchResolving)),
            MachineClass::Fence => Some((cycle + u64::from(config.fence_latency), Stall::Membar)),
            MachineClass::TensorAsync => {
                warp.open_group = warp.open_group.max(complete);
                None
            }
            MachineClass::AsyncCommit => {
                warp.groups.push_back(std::mem::take(&mut warp.open_group));
                None
            }
            MachineClass::AsyncWait => {
                let pending = inst.amount as usize;
                let closed = warp.groups.len().saturating_sub(pending);
                let done = warp.groups.drain(..closed).fold(0.0, f64::max);
                Some((whole(done), Stall::LongScoreboard))
            }
            MachineClass::Fp32
            | MachineClass::Fp32Mul
            | MachineClass::Int
            | MachineClass::IntMul
            | MachineClass::Fp64
            | MachineClass::Fp16
            | MachineClass::Sfu
            | MachineClass::Convert
            | MachineClass::Move
            | MachineClass::Uniform
            | MachineClass::Tensor
            | MachineClass::TensorFp32
            | MachineClass::TensorFp64
            | MachineClass::Shuffle
            | MachineClass::Vote
            | MachineClass::Load
            | MachineClass::Texture
            | MachineClass::Store
            | MachineClass::Atomic
            | MachineClass::Reduction
            | MachineClass::AsyncCopy
            | MachineClass::Barrier
            | MachineClass::BarrierArrive
            | MachineClass::Exit
            | MachineClass::Nop => None,
        };
        let waits = inst.class != MachineClass::AsyncWait || !self.options.without.contains(Effect::DependenceLatency);
        if let Some((at, stall)) = wait.filter(|_| waits) {
            warp.free = warp.free.later(Pending { at, stall });
        }
    }

    /// Arithmetic with an operand in shared memory (compute capability 1.x).
    fn shared_operand(&mut self, slot: usize, inst: &MachineInst, start: f64) -> f64 {
        let (trace, step) = self.place(slot);
        let cta = self.warps[slot].cta;
        let latency = f64::from(self.config.shared.operand_latency);
        let mut done = start;
        for access in trace.accesses_at(&step, inst.turn, inst.slot) {
            let arrival = Arrival {
                at: start,
                trace,
                access: &access,
                slot,
                is_copy: false,
                source: None,
                cta,
                amount: inst.amount,
            };
            // Operands without conflicts are read while the instruction is issued, which takes as long.
            done = done.max(self.in_turn(inst, &arrival, latency).unwrap_or(start + latency));
        }
        done
    }

    /// An access to shared memory that has conflicts and takes turns with others of its kind; returns when its result is
    /// there, as things are.
    fn in_turn(&mut self, inst: &MachineInst, arrival: &Arrival<'_>, latency: f64) -> Option<f64> {
        if self.config.occupies == IssueOccupies::Unit || arrival.access.space != StateSpace::Shared {
            return None;
        }
        let (work, alone) = self.memory.conflicts(arrival)?;
        let slot = arrival.slot;
        let owner = InTurn { slot, age: self.warps[slot].age, writes: inst.writes, beside: inst.beside, latency };
        let mut delayed = std::mem::take(&mut self.delayed);
        let done =
            self.turns.arrive(arrival.at, work, alone, owner, |&other, before, now| delayed.push((other, before, now)));
        for (other, before, now) in delayed.drain(..) {
            self.delay(other, before + other.latency, now + other.latency);
        }
        self.delayed = delayed;
        Some(done + latency)
    }

    /// A result comes at another time than was said.
    fn delay(&mut self, of: InTurn, before: f64, now: f64) {
        let warp = &mut self.warps[of.slot];
        if warp.age != of.age || warp.state == State::Empty {
            return;
        }
        warp.drained_at = warp.drained_at.max(now);
        for &register in self.job.code.registers(of.writes) {
            let pending = self.scoreboard.pending(of.slot, register);
            // A register that was written anew since then is left alone.
            let now = Pending { at: whole(now), ..pending };
            if of.beside {
                self.scoreboard.write_beside(of.slot, &[register], now);
            } else if pending.at == whole(before) {
                self.scoreboard.write(of.slot, &[register], now);
            }
        }
        self.refresh(of.slot);
    }

    /// A load, store, atomic or exchange; returns when its result can be used and what waiting for it is called.
    fn memory_instruction(
        &mut self,
        scheduler: usize,
        slot: usize,
        (inst, prepared): (&MachineInst, &Prepared),
        cycle: u64,
    ) -> (f64, Stall) {
        let writes_out = matches!(inst.class, MachineClass::Store | MachineClass::Reduction) && !prepared.is_on_chip;
        let not_before = if writes_out { self.memory.accepts_store() } else { 0.0 };
        let at = match self.config.occupies {
            IssueOccupies::Scheduler => (cycle as f64).max(not_before),
            IssueOccupies::Unit => {
                let at = self.lsu.enter(scheduler, cycle as f64, not_before);
                self.unit_free[scheduler][LSU] = whole(self.lsu.accepts(scheduler));
                at
            }
        };
        if inst.class == MachineClass::Shuffle {
            let start = self.memory.banks.reserve(at, 1.0);
            return (start + prepared.latency, Stall::ShortScoreboard);
        }
        if inst.class == MachineClass::Texture && !inst.touches_memory() {
            return (self.memory.query(at).at, Stall::LongScoreboard);
        }
        let is_copy = inst.class == MachineClass::AsyncCopy;
        let (trace, step) = self.place(slot);
        let cta = self.warps[slot].cta;
        let accesses = trace.accesses_at(&step, inst.turn, inst.slot);
        let speaks = accesses.clone().any(|access| trace.speaks(&access));
        if is_copy && speaks {
            let brought = self.bulk_copy(slot, inst, at);
            let done = self.speak(slot, inst, brought + f64::from(self.config.bulk_latency));
            return (done, Stall::LongScoreboard);
        }
        let mut done = at;
        let mut long = false;
        let mut fetched = None;
        for access in accesses {
            let source = fetched.as_ref().filter(|_| access.kind == AccessKind::Store);
            let access = &widened(inst, access);
            let arrival = Arrival { at, trace, access, slot, is_copy, source, cta, amount: inst.amount };
            if let Some(there) = self.in_turn(inst, &arrival, f64::from(self.config.shared.latency)) {
                done = done.max(there);
                continue;
            }
            let served = self.memory.serve(&arrival);
            done = done.max(served.at);
            long |= served.long;
            fetched = fetched.or(is_copy.then_some(*access));
        }
        let mut waits = false;
        if speaks {
            let answered = self.speak(slot, inst, done);
            waits = answered > done;
            done = answered;
        } else if is_copy {
            let warp = &mut self.warps[slot];
            warp.open_group = warp.open_group.max(done);
        }
        let stall = match (waits, long) {
            (true, _) => Stall::Barrier,
            (false, true) => Stall::LongScoreboard,
            (false, false) => Stall::ShortScoreboard,
        };
        (done, stall)
    }

    /// A copy in bulk, which tells its barrier itself; returns when its bytes are there. What comes from the L2 cache for
    /// several CTAs of a cluster leaves it once and comes to each of them: the others, which do the same, send as much here.
    fn bulk_copy(&mut self, slot: usize, inst: &MachineInst, at: f64) -> f64 {
        let (trace, step) = self.place(slot);
        let cta = self.warps[slot].cta;
        let (mut done, mut is_from_l2, mut n_targets) = (at, false, 0);
        for access in trace.accesses_at(&step, inst.turn, inst.slot).filter(|access| !trace.speaks(access)) {
            let (access, amount) = (&access, inst.amount);
            let arrival = Arrival { at, trace, access, slot, is_copy: true, source: None, cta, amount };
            let is_target = access.kind == AccessKind::Store && access.space == StateSpace::Shared;
            if is_target && is_from_l2 {
                n_targets += 1;
                self.memory.deliver(&arrival, n_targets > 1);
                continue;
            }
            if !is_target {
                (is_from_l2, n_targets) = (access.space != StateSpace::Shared, 0);
            }
            done = done.max(self.memory.serve_bulk(&arrival).at);
        }
        done
    }

    /// Barriers in memory are told, or asked, what the accesses of an instruction say that are made at a time. Returns when
    /// the instruction has its answer: where that is not known yet, the warp will wait.
    pub(crate) fn speak(&mut self, slot: usize, inst: &MachineInst, done: f64) -> f64 {
        let (trace, step) = self.place(slot);
        let warp = &self.warps[slot];
        let (cta_slot, copies) = (warp.cta as usize, warp.groups.iter().fold(warp.open_group, |a, &b| a.max(b)));
        let mut answered = done;
        let (mut ends, mut asks, mut tells) = (false, false, false);
        for access in trace.accesses_at(&step, inst.turn, inst.slot).filter(|access| trace.speaks(access)) {
            let mut addresses = [0; WARP_SIZE];
            trace.expand(&access, &mut addresses);
            for told in access.mask.lanes().filter_map(|lane| Told::of(addresses[lane])) {
                let phases = &mut self.ctas[cta_slot].phases;
                match told {
                    (Told::Op(op, number), address) => {
                        tells |= op != MbarrierOp::Init;
                        let waits = matches!(op, MbarrierOp::CopiesArrive | MbarrierOp::AwaitCopies);
                        let at = if waits { done.max(copies) } else { done };
                        ends |= phases.tell(address, op, number, at);
                    }
                    (Told::Asked { parity }, address) => {
                        asks = true;
                        match phases.ended(address, parity) {
                            Some(ended) => answered = answered.max(ended + f64::from(self.config.shared.latency)),
                            None => self.warps[slot].asks = Some(Question { address, parity }),
                        }
                    }
                }
            }
        }
        self.outcome.questions += u64::from(asks);
        self.outcome.told += u64::from(tells && inst.class != MachineClass::AsyncCopy);
        if ends {
            self.end_phase(cta_slot);
        }
        answered
    }

    /// The trace of a warp, and the step that it is in.
    pub(crate) fn place(&self, slot: usize) -> (&'a WarpTrace, Step) {
        let warp = &self.warps[slot];
        debug_assert_eq!(warp.state, State::Runs);
        let cta = self.ctas[warp.cta as usize].cta;
        (warp::trace(self.job.ctas, cta, warp.index), *warp.step())
    }
}

/// The access of an instruction: wider than in the trace for a load that was made of several neighbouring ones, and of one
/// lane for an atomic operation that does those of all.
pub(crate) fn widened(inst: &MachineInst, access: WarpAccess) -> WarpAccess {
    match inst.class {
        MachineClass::Load => {
            let times = u8::try_from(inst.amount).ok().filter(|&times| times > 1);
            WarpAccess { elements: access.elements.saturating_mul(times.unwrap_or(1)), ..access }
        }
        MachineClass::Atomic | MachineClass::Reduction if inst.amount == MachineInst::ADDED_UP => {
            let lowest = access.mask.lowest().map_or(0, |lane| 1 << lane);
            WarpAccess { mask: ActiveMask(lowest), ..access }
        }
        _ => access,
    }
}
