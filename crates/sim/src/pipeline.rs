//! The simulated SM: all units, and the order of the stages. This is the only place that knows that order.
//!
//! 1. dispatch: CTAs from the job take free slots ([`dispatch`](crate::stage::dispatch));
//! 2. issue: the scheduler that can issue first takes one of its ready warps ([`issue`](crate::stage::issue));
//! 3. execute: the instruction reserves its units and says when its result is there ([`execute`](crate::stage::execute));
//! 4. retire: the warp goes on, waits at a barrier, or ends ([`dispatch`](crate::stage::dispatch)).
//!
//! Schedulers are served in the order of the cycles in which they issue, so that units see requests in order.

use warplens_base::stop;
use warplens_machine::words::IssueOccupies;
use warplens_trace::{MachineClass, Operands};

use crate::memory::Memory;
use crate::prepared::Prepared;
use crate::sampling::{Due, MissingWarps, Moment, Point, Sampling};
use crate::stage::passing::Progress;
use crate::unit::UnitKind;
use crate::unit::barrier::{Barriers, Meeting};
use crate::unit::lsu::Lsu;
use crate::unit::phases::Phases;
use crate::unit::port::{Port, whole};
use crate::unit::register_file::RegisterFile;
use crate::unit::scheduler::{NEVER, Scheduler, UnitFree};
use crate::unit::scoreboard::Scoreboard;
use crate::unit::turns::Turns;
use crate::warp::Warp;
use crate::{CtaSpan, Effect, Event, Job, L1Holds, Options, Outcome, Pipe, SmConfig, StallCycles, UnitOutcome};

/// Steps after which it is looked whether the simulation is still wanted: some hundredths of a second.
const CHECK_INTERVAL: u32 = 1 << 16;

/// Everything that changes while a job runs.
pub(crate) struct Sm<'a> {
    pub(crate) config: &'a SmConfig,
    pub(crate) job: Job<'a>,
    pub(crate) options: Options,
    /// By instruction.
    pub(crate) prepared: Box<[Prepared]>,
    pub(crate) schedulers: Vec<Scheduler>,
    pub(crate) choices: Choices,
    pub(crate) warps: Vec<Warp>,
    pub(crate) scoreboard: Scoreboard,
    /// By scheduler and pipe.
    pub(crate) pipes: Vec<[Port; Pipe::ALL.len()]>,
    /// When each of these, and the queue of the memory unit, takes an instruction of the scheduler: 0 where instructions
    /// occupy the scheduler and not units.
    pub(crate) unit_free: Vec<UnitFree>,
    /// By scheduler.
    pub(crate) register_files: Vec<RegisterFile>,
    pub(crate) lsu: Lsu,
    pub(crate) memory: Memory<'a>,
    /// Accesses to shared memory with conflicts, where they take turns.
    pub(crate) turns: Turns<InTurn>,
    /// Scratch space: those that another one delays, with the times told before and now.
    pub(crate) delayed: Vec<(InTurn, f64, f64)>,
    pub(crate) ctas: Vec<CtaSlot>,
    pub(crate) next_cta: usize,
    pub(crate) next_age: u64,
    /// When the GPU launches the next CTA to this SM, at the earliest.
    pub(crate) next_launch: f64,
    pub(crate) warps_per_cta: u32,
    /// Instructions that were issued, and that were passed over.
    pub(crate) issued: u64,
    pub(crate) passed: u64,
    /// How many warps have been missing.
    pub(crate) missing_warps: MissingWarps,
    /// How far warps have come in what is being passed over, in times of their own.
    pub(crate) own_times: Vec<f64>,
    /// Cycles in which schedulers were held back by reads of registers.
    pub(crate) held_back: u64,
    /// True while instructions are passed over.
    pub(crate) is_passing: bool,
    /// True once so few CTAs are left that what was measured before says no more how fast the SM is.
    pub(crate) is_other_stage: bool,
    /// How far warps have come in the current half of a window, and in the one before.
    pub(crate) progress: [Progress; 2],
    /// Cycles for which the banks were busy with each instruction.
    pub(crate) bank_cycles: Vec<f64>,
    /// What is simulated in detail.
    pub(crate) sampling: Sampling,
    /// Start and end of each CTA.
    pub(crate) moments: Vec<[Moment; 2]>,
    /// What was found so far.
    pub(crate) outcome: Outcome,
    /// Guard registers are there later than the same predicates are as data.
    pub(crate) guard_extra: u64,
}

/// A warp's instruction whose access takes turns with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InTurn {
    /// The warp, by its slot and its age, and what the instruction writes.
    pub(crate) slot: usize,
    pub(crate) age: u64,
    pub(crate) writes: Operands,
    /// Others write the same registers in other lanes.
    pub(crate) beside: bool,
    /// Cycles from the end of its turns to the result.
    pub(crate) latency: f64,
}

/// What a scheduler would issue next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) cycle: u64,
    pub(crate) position: usize,
}

impl Choice {
    /// Of a scheduler that has nothing to issue.
    const NOTHING: Self = Self { cycle: NEVER, position: 0 };
}

/// What each scheduler would issue next, as far as it is known.
#[derive(Clone, Debug)]
pub(crate) struct Choices {
    /// By scheduler; in cycle [`NEVER`] where it has nothing to issue.
    of: Vec<Choice>,
    is_known: Vec<bool>,
    /// Those whose choice is not known, each once.
    unknown: Vec<usize>,
}

impl Choices {
    fn new(n_schedulers: usize) -> Self {
        Self {
            of: vec![Choice::NOTHING; n_schedulers],
            is_known: vec![false; n_schedulers],
            unknown: (0..n_schedulers).collect(),
        }
    }

    /// The choice of a scheduler is not known any more.
    pub(crate) fn forget(&mut self, scheduler: usize) {
        if std::mem::take(&mut self.is_known[scheduler]) {
            self.unknown.push(scheduler);
        }
    }

    fn next_unknown(&mut self) -> Option<usize> {
        self.unknown.pop()
    }

    fn know(&mut self, scheduler: usize, choice: Option<Choice>) {
        self.is_known[scheduler] = true;
        self.of[scheduler] = choice.unwrap_or(Choice::NOTHING);
    }

    /// The scheduler that issues first, of several the first one.
    fn first(&self) -> Option<(usize, Choice)> {
        let mut first = 0;
        let mut cycle = NEVER;
        for (scheduler, choice) in self.of.iter().enumerate() {
            // Without a branch for each scheduler: which one it is cannot be foreseen.
            let is_first = choice.cycle < cycle;
            first = if is_first { scheduler } else { first };
            cycle = cycle.min(choice.cycle);
        }
        (cycle != NEVER).then(|| (first, self.of[first]))
    }
}

/// A place for a CTA on the SM.
#[derive(Clone, Debug)]
pub(crate) struct CtaSlot {
    /// The CTA, by its index in the job.
    pub(crate) cta: u32,
    /// Warps that have not ended.
    pub(crate) live: u32,
    pub(crate) barriers: Barriers,
    /// The barrier of its cluster.
    pub(crate) meeting: Meeting,
    /// Its barriers in memory.
    pub(crate) phases: Phases,
    /// When its last warp has ended.
    pub(crate) end: u64,
}

/// The machine without the effects that are numbers of the machine.
pub(crate) fn without_effects(config: &SmConfig, options: Options) -> SmConfig {
    let mut config = config.clone();
    let without = |effect| options.without.contains(effect);
    if without(Effect::ChannelSkew) {
        config.dram.channels = None;
    }
    if without(Effect::IssueOccupancy) {
        config.issue_interval = 1;
        config.shared.same_warp = 1;
        for class in &mut config.classes {
            class.interval = class.interval.min(1.0);
            class.same_warp = 1;
        }
    }
    if without(Effect::MemoryLatency) {
        let nearest = config.l1.filter(|l1| l1.holds == L1Holds::All).map_or(config.shared.latency, |l1| l1.latency);
        config.dram.latency = config.dram.latency.min(nearest);
        if let Some(l2) = &mut config.l2 {
            l2.latency = l2.latency.min(nearest);
            l2.far_latency = l2.far_latency.map(|latency| latency.min(nearest));
        }
    }
    if without(Effect::MemoryBandwidth) {
        config.dram.bytes_per_clk = f64::INFINITY;
        config.dram.one_way_bytes_per_clk = f64::INFINITY;
        config.dram.in_flight = None;
        config.dram.channels = None;
        if let Some(l2) = &mut config.l2 {
            l2.bytes_per_clk = f64::INFINITY;
            l2.sm_bytes_per_clk = f64::INFINITY;
        }
    }
    config
}

impl<'a> Sm<'a> {
    pub(crate) fn new(config: &'a SmConfig, job: &Job<'a>, options: Options) -> Self {
        let warps_per_cta = job.ctas.iter().map(|cta| cta.warps.len()).max().unwrap_or(0);
        let resident = (job.resident.max(1) as usize).min(job.ctas.len().max(1));
        let n_warps = resident * warps_per_cta;
        let n_schedulers = config.schedulers.max(1) as usize;
        // Warps are dealt out to the schedulers in turn.
        let of_scheduler = |scheduler: usize| (scheduler..n_warps).step_by(n_schedulers).len();
        let schedulers = (0..n_schedulers).map(|scheduler| Scheduler::new(of_scheduler(scheduler))).collect();
        let n_insts = job.code.insts.len();
        let outcome = Outcome {
            ctas: vec![CtaSpan::default(); job.ctas.len()],
            stalls: vec![StallCycles::default(); n_insts],
            executions: vec![0; n_insts],
            timeline: Vec::with_capacity(if options.timeline_warps > 0 { 4096 } else { 0 }),
            ..Outcome::default()
        };
        let longest_interval = if options.without.contains(Effect::IssueOccupancy) { 1.0 } else { f64::INFINITY };
        let int_latency = u64::from(config.class(MachineClass::Int).latency);
        Self {
            config,
            job: *job,
            options,
            prepared: job.code.insts.iter().map(|inst| Prepared::new(inst, config, longest_interval)).collect(),
            choices: Choices::new(n_schedulers),
            schedulers,
            warps: vec![Warp::empty(); n_warps],
            scoreboard: Scoreboard::new(n_warps, job.code.n_registers),
            pipes: vec![[Port::default(); Pipe::ALL.len()]; n_schedulers],
            unit_free: vec![UnitFree::default(); n_schedulers],
            register_files: vec![RegisterFile::default(); n_schedulers],
            lsu: Lsu::new(config.lsu, config.schedulers.max(1)),
            turns: Turns::new(config.shared.pass_cycles, config.shared.pass_latency),
            delayed: Vec::with_capacity(64),
            memory: Memory::new(config, job, options.without),
            ctas: vec![
                CtaSlot {
                    cta: 0,
                    live: 0,
                    barriers: Barriers::default(),
                    meeting: Meeting::default(),
                    phases: Phases::default(),
                    end: 0
                };
                resident
            ],
            next_cta: 0,
            next_age: 0,
            next_launch: 0.0,
            warps_per_cta: warps_per_cta as u32,
            issued: 0,
            passed: 0,
            missing_warps: MissingWarps::default(),
            own_times: vec![0.0; n_warps],
            held_back: 0,
            is_passing: false,
            is_other_stage: false,
            progress: [Progress::new(n_warps), Progress::new(n_warps)],
            bank_cycles: vec![0.0; n_insts],
            sampling: Sampling::new(
                if options.budget.is_some() { crate::work(job.code, job.ctas) } else { 0 },
                options.budget,
                resident.min(job.ctas.len()),
            ),
            moments: vec![[Moment::default(); 2]; job.ctas.len()],
            outcome,
            guard_extra: u64::from(config.predicate_latency).saturating_sub(int_latency),
        }
    }

    /// Runs the job to its end.
    pub(crate) fn run(mut self) -> Outcome {
        for slot in 0..self.ctas.len() {
            self.dispatch(slot, slot as u64 * u64::from(self.config.cta_start));
        }
        let mut unchecked = 0;
        loop {
            unchecked += 1;
            if unchecked == CHECK_INTERVAL {
                stop::check();
                unchecked = 0;
            }
            match self.first_to_issue() {
                Some((scheduler, choice)) => {
                    self.step(scheduler, choice);
                    if self.issued >= self.sampling.next() {
                        self.sample(choice.cycle);
                    }
                }
                // Warps wait at barriers for warps that never come.
                None if self.force_barriers() => {}
                None => break,
            }
        }
        self.finish()
    }

    /// Passes over instructions where it is time to.
    fn sample(&mut self, cycle: u64) {
        let now = self.point(cycle);
        let due = self.sampling.reached(now.clone());
        if due == Due::Nothing {
            self.progress.swap(0, 1);
            self.progress[0].restart(cycle);
        }
        if let Due::Gap(instructions) = due {
            let bytes = self.memory.dram.bytes;
            self.pass_over(instructions, cycle);
            let least = self.memory.dram.cycles(self.memory.dram.bytes - bytes);
            let end = self.point(cycle);
            self.sampling.passed(now, end, least);
        }
    }

    /// A moment, with how often each instruction has been executed.
    pub(crate) fn point(&self, cycle: u64) -> Point {
        let moment = self.moment(cycle);
        let missing = self.missing_warps.up_to(moment.instructions);
        Point { moment, executions: self.outcome.executions.as_slice().into(), missing }
    }

    /// A cycle, with what all warps have gone through up to now.
    pub(crate) fn moment(&self, cycle: u64) -> Moment {
        Moment { cycle, instructions: self.issued + self.passed }
    }

    /// The scheduler that issues first, and what.
    fn first_to_issue(&mut self) -> Option<(usize, Choice)> {
        while let Some(scheduler) = self.choices.next_unknown() {
            let choice = self.choose(scheduler);
            self.choices.know(scheduler, choice);
        }
        self.choices.first()
    }

    /// One choice of one scheduler: up to `issue_width` instructions of one warp.
    fn step(&mut self, scheduler: usize, choice: Choice) {
        let slot = choice.position * self.schedulers.len() + scheduler;
        let mut blocked = f64::from(self.config.issue_interval);
        for n in 0..self.config.issue_width.max(1) {
            if n > 0 && !self.may_pair(scheduler, slot, choice.cycle) {
                break;
            }
            let inst = self.issue(scheduler, choice, slot, n > 0);
            let late = self.read_registers(scheduler, inst, choice.cycle);
            blocked += late as f64;
            let banks_before = self.memory.banks.busy;
            let occupied = self.execute(scheduler, slot, inst, (choice.cycle, late));
            self.bank_cycles[inst as usize] += self.memory.banks.busy - banks_before;
            if self.config.occupies == IssueOccupies::Scheduler {
                blocked = blocked.max(occupied);
            }
            self.retire(slot, inst, choice.cycle);
        }
        let scheduler_state = &mut self.schedulers[scheduler];
        scheduler_state.free_at = choice.cycle + blocked.ceil() as u64;
        self.choices.forget(scheduler);
    }

    fn finish(mut self) -> Outcome {
        let ends = self.outcome.ctas.iter().map(|cta| cta.end).max().unwrap_or(0);
        let outcome = &mut self.outcome;
        // Accesses that nobody waits for may be delayed after their warps have ended.
        outcome.cycles = ends.max(whole(self.turns.end()));
        outcome.detailed = self.issued;
        outcome.schedulers = self.schedulers.into_iter().map(|scheduler| scheduler.outcome).collect();
        outcome.issued = self.issued + self.passed;
        outcome.traffic = self.memory.traffic;
        outcome.traffic.dram_bytes = self.memory.dram.bytes;
        let n = self.config.schedulers.max(1);
        let pipes = Pipe::ALL.iter().enumerate().map(|(index, pipe)| UnitOutcome {
            kind: UnitKind::Pipe(*pipe),
            count: n,
            busy: self.pipes.iter().map(|pipes| pipes[index].busy).sum(),
        });
        let one = |(kind, busy)| UnitOutcome { kind, count: 1, busy };
        outcome.units = pipes.collect();
        outcome.units.push(UnitOutcome {
            kind: UnitKind::Issue,
            count: n,
            busy: (self.issued + self.held_back) as f64,
        });
        outcome.units.push(one((UnitKind::MemoryIssue, self.lsu.busy())));
        outcome.units.extend(self.memory.busy().map(one));
        let end = Moment { cycle: outcome.cycles, instructions: outcome.issued };
        let missing = self.missing_warps.up_to(end.instructions);
        let end_of_all = Point { moment: end, executions: outcome.executions.as_slice().into(), missing };
        let clock = self.sampling.clock(end_of_all, &self.bank_cycles);
        if !clock.is_plain() {
            outcome.extend_to(clock.time(end));
            for (cta, [start, end]) in outcome.ctas.iter_mut().zip(&self.moments) {
                *cta = CtaSpan { start: clock.time(*start), end: clock.time(*end), ..*cta };
            }
        }
        for (cta, [start, end]) in outcome.ctas.iter_mut().zip(&self.moments) {
            (cta.issued_before, cta.issued_after) = (start.instructions, end.instructions);
        }
        self.outcome
    }

    /// Remembers what a warp did, where that was asked for.
    pub(crate) fn note(&mut self, slot: usize, event: impl FnOnce(u32, u32) -> Event) {
        let warp = &self.warps[slot];
        let cta = self.ctas[warp.cta as usize].cta;
        let number = cta.saturating_mul(self.warps_per_cta).saturating_add(warp.index);
        if number < self.options.timeline_warps {
            let event = event(cta, warp.index);
            let (from, to) = self.options.timeline_cycles.unwrap_or((0, u64::MAX));
            // Waiting that begins inside counts, wherever it ends.
            if event.issue >= from && event.waits_from < to {
                self.outcome.timeline.push(event);
            }
        }
    }

    /// True where the effect is left out.
    pub(crate) const fn without(&self, effect: Effect) -> bool {
        self.options.without.contains(effect)
    }
}
