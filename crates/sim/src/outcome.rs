//! What a simulation of one SM found.

use crate::stall::{Stall, StallCycles};
use crate::unit::UnitKind;

/// Everything found in one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Cycles from the start of the first CTA to the end of the last one, its stores included.
    pub cycles: u64,
    /// Warp instructions issued.
    pub issued: u64,
    /// Of these, simulated in detail; the others were passed over, and took as long as those around them.
    pub detailed: u64,
    /// Start and end of each CTA, in the order in which they were handed to the SM.
    pub ctas: Vec<CtaSpan>,
    /// Warp cycles by state for each machine instruction: those spent until it was issued.
    pub stalls: Vec<StallCycles>,
    /// Executions of each machine instruction.
    pub executions: Vec<u64>,
    /// Per warp scheduler.
    pub schedulers: Vec<SchedulerOutcome>,
    /// Busy cycles of each unit; more than one unit of a kind adds up.
    pub units: Vec<UnitOutcome>,
    /// Where global and local accesses found their data.
    pub traffic: Traffic,
    /// Warp-cycles of resident warps, for the achieved warps: divided by `cycles`.
    pub resident_warp_cycles: u64,
    /// Barriers that were opened although warps that they wait for never came: the trace says who arrives, not how many
    /// are waited for.
    pub forced_barriers: u64,
    /// Questions that barriers in memory were asked.
    pub questions: u64,
    /// Warp instructions that told a barrier in memory something, but for those that begin its first phase and for copies.
    pub told: u64,
    /// Phases of barriers in memory that were ended although they lacked something.
    pub forced_phases: u64,
    /// What the first warps did, where it was asked for.
    pub timeline: Vec<Event>,
}

impl Outcome {
    /// Takes what was found in detail for all that was passed over, too: the job takes so many cycles.
    pub(crate) fn extend_to(&mut self, cycles: u64) {
        let longer = |count: u64| (count as f64 * cycles as f64 / self.cycles.max(1) as f64).round() as u64;
        // Units and schedulers have had their part of the work, however long it took.
        let all = self.issued as f64 / self.detailed.max(1) as f64;
        let of_all = |count: u64| (count as f64 * all).round() as u64;
        self.resident_warp_cycles = longer(self.resident_warp_cycles);
        self.stalls.iter_mut().for_each(|stalls| stalls.scale(longer));
        for scheduler in &mut self.schedulers {
            scheduler.stalls.scale(longer);
            scheduler.issued = of_all(scheduler.issued);
        }
        for unit in &mut self.units {
            unit.busy = (unit.busy * all).min(cycles as f64 * f64::from(unit.count));
        }
        self.traffic.conflict_passes = of_all(self.traffic.conflict_passes);
        self.cycles = cycles;
    }

    /// Mean number of resident warps.
    pub fn achieved_warps(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.resident_warp_cycles as f64 / self.cycles as f64 }
    }

    /// Warp instructions issued per cycle.
    pub fn ipc(&self) -> f64 {
        if self.cycles == 0 { 0.0 } else { self.issued as f64 / self.cycles as f64 }
    }

    /// Warp cycles by state of the whole run.
    pub fn stalls(&self) -> StallCycles {
        let mut all = StallCycles::default();
        for scheduler in &self.schedulers {
            all.merge(&scheduler.stalls);
        }
        all
    }
}

/// When a CTA was on the SM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CtaSpan {
    /// Cycle in which its warps may issue first.
    pub start: u64,
    /// Cycle in which its last warp has ended.
    pub end: u64,
    /// Instructions of all warps that were issued before its start.
    pub issued_before: u64,
    /// Those that were issued before its end.
    pub issued_after: u64,
}

/// What a warp scheduler did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SchedulerOutcome {
    /// Warp instructions issued.
    pub issued: u64,
    /// Warp cycles by state.
    pub stalls: StallCycles,
}

/// How busy a unit was.
#[derive(Clone, PartialEq, Debug)]
pub struct UnitOutcome {
    /// The unit.
    pub kind: UnitKind,
    /// Units of the kind in the SM.
    pub count: u32,
    /// Cycles in which they were busy, all together.
    pub busy: f64,
}

impl UnitOutcome {
    /// Share of the cycles in which the units were busy.
    pub fn utilisation(&self, cycles: u64) -> f64 {
        if cycles == 0 { 0.0 } else { self.busy / (cycles as f64 * f64::from(self.count)) }
    }
}

/// Sectors by where they were found, and bytes moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    /// Load sectors asked of the L1 cache (or of the memory pipeline, where there is none).
    pub l1_sectors: u64,
    /// Of these, found there.
    pub l1_hits: u64,
    /// Sectors asked of the L2 cache, loads and stores.
    pub l2_sectors: u64,
    /// Of these, found there.
    pub l2_hits: u64,
    /// Bytes moved between the chip and device memory for this SM.
    pub dram_bytes: u64,
    /// Passes through shared memory beyond the fewest possible.
    pub conflict_passes: u64,
}

impl Traffic {
    /// Share of the sectors asked of the L1 cache that it had; none where it was asked for none.
    pub fn l1_hit_share(&self) -> Option<f64> {
        (self.l1_sectors > 0).then(|| self.l1_hits as f64 / self.l1_sectors as f64)
    }

    /// Share of the sectors asked of the L2 cache that it had; none where it was asked for none.
    pub fn l2_hit_share(&self) -> Option<f64> {
        (self.l2_sectors > 0).then(|| self.l2_hits as f64 / self.l2_sectors as f64)
    }
}

/// An instruction of one warp in the timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The CTA, by its index in [`Outcome::ctas`].
    pub cta: u32,
    /// The warp's index in its CTA.
    pub warp: u32,
    /// The machine instruction.
    pub inst: u32,
    /// Cycle from which the warp waited to issue it.
    pub waits_from: u64,
    /// Why, one reason after the other with its cycles.
    pub waits: [(Stall, u64); 4],
    /// Cycle of the issue.
    pub issue: u64,
    /// Cycle in which the result can be used.
    pub done: u64,
}
