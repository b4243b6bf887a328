//! From counts to a profile: applies the rules, and scales what some CTAs did to the whole grid.

use std::collections::{BTreeMap, BTreeSet};

use warplens_ir::SpellingId;
use warplens_isa::{OpClass, SlowOperation, StateSpace};

use crate::parallelism::Schedule;
use crate::program::{PcFacts, Role};
use crate::recorder::Times;
use crate::statistics::Finish;
use crate::totals::Totals;
use crate::{
    BankRule, CoalescingRule, ConstantCounts, Counted, Coverage, InstructionCounts, LineCounts, MemoryCounts,
    OpcodeCount, Profile, Recorder, SharedCounts,
};

/// Which instructions count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// PTX as written.
    Ptx,
    /// An estimate of machine code: without instructions of class `virtual`, which it mostly does without.
    Machine,
}

impl Counting {
    /// True for instructions of a class that counts.
    pub fn includes(self, class: OpClass) -> bool {
        self == Self::Ptx || class != OpClass::Virtual
    }
}

/// What [`Recorder::finish`] is told.
#[derive(Clone, Copy, Debug)]
pub struct FinishOptions {
    /// Which instructions count.
    pub counting: Counting,
    /// Bytes of global memory that exist. No more sectors than these can be read or written, whatever scaling a part of
    /// the grid says.
    pub global_bytes: Option<u64>,
}

impl Recorder {
    /// The profile of what was recorded.
    pub fn finish(&self, options: FinishOptions) -> Profile {
        let launch = self.program.launch;
        let scale = self.scale();
        let by_slot = self.accesses.totals();
        let mut totals = Totals::default();
        for slot in &by_slot {
            totals.merge(slot, Times::Exactly(1));
        }
        let code = CodeCounts::new(self, scale, options.counting);
        let batches = self.batches.counts;
        let ratio = |loads: u64, batches: u64| (batches > 0).then(|| loads as f64 / batches as f64);
        let sectors = |n: u64| {
            let limit = options.global_bytes.map_or(u64::MAX, |bytes| bytes.div_ceil(32));
            scale.apply(n).min(limit.max(n))
        };
        Profile {
            kernel: self.program.kernel.clone(),
            launch,
            counted: match options.counting {
                _ if self.program.is_machine_code => Counted::Machine,
                Counting::Ptx => Counted::Ptx,
                Counting::Machine => Counted::Reduced,
            },
            absent: BTreeSet::new(),
            coverage: Coverage { ctas_executed: self.ctas.n, ctas_total: launch.n_ctas(), spread: self.ctas.spread() },
            warps: launch.n_ctas() * launch.n_warps(),
            instructions: code.instructions,
            thread_instructions: code.threads,
            thread_instructions_pred_on: code.threads_pred_on,
            branches: code.branches,
            divergent_branches: code.divergent_branches,
            barriers: code.barriers,
            high_latency: code.high_latency,
            global: scale.memory(&totals.global),
            local: scale.memory(&totals.local),
            shared: scale.shared(&totals.shared),
            constant: scale.constant(totals.constant),
            distinct_sectors_read: sectors(self.accesses.read.len()),
            distinct_sectors_written: sectors(self.accesses.written.len()),
            dram_sectors: None,
            vector_loads: scale.apply(totals.vector_loads),
            independent_loads: ratio(batches.loads, batches.batches),
            independent_loads_program_order: ratio(batches.loads, batches.batches_program_order),
            overlap_instructions: scale.apply(batches.overlap),
            duplicate_loads: self.duplicate_loads(),
            instruction_parallelism: self.parallelism(options.counting, |schedule| schedule.cycles),
            instruction_parallelism_program_order: self
                .parallelism(options.counting, |schedule| schedule.cycles_program_order),
            statistics: self.statistics.finish(&Finish { recorder: self, counting: options.counting }),
            duplicate_share: if scale.total == 0 { 0.0 } else { self.ctas.n_sampled as f64 / scale.total as f64 },
            order_dependent: self.order_dependent,
            lines: self.lines(scale, &by_slot),
        }
    }

    /// From the executed CTAs to the grid.
    pub(crate) fn scale(&self) -> Scale {
        Scale { executed: self.ctas.n, total: self.program.launch.n_ctas() }
    }

    /// Instructions over the cycles of their schedules.
    fn parallelism(&self, counting: Counting, cycles: impl Fn(&Schedule) -> u32) -> Option<f64> {
        let which = usize::from(counting == Counting::Machine);
        let blocks = self.blocks.iter().zip(&self.program.schedules);
        let sums = blocks.fold([0u64; 2], |[instructions, all_cycles], (block, schedules)| {
            let schedule = &schedules[which];
            [
                instructions + block.executions * u64::from(schedule.instructions),
                all_cycles + block.executions * u64::from(cycles(schedule)),
            ]
        });
        (sums[1] > 0).then(|| sums[0] as f64 / sums[1] as f64)
    }

    fn duplicate_loads(&self) -> BTreeMap<CoalescingRule, f64> {
        let sums = &self.duplicates.sums;
        let factors =
            sums.transactions.iter().zip(&sums.distinct).map(|(&all, &distinct)| all as f64 / distinct as f64);
        CoalescingRule::ALL.into_iter().zip(factors).filter(|(_, factor)| factor.is_finite()).collect()
    }

    fn lines(&self, scale: Scale, by_slot: &[Totals]) -> Vec<LineCounts> {
        let facts = self.program.pcs.iter().enumerate();
        let known = facts.filter_map(|(at, facts)| facts.as_ref().map(|facts| (at, facts)));
        known
            .filter(|(_, facts)| facts.role != Role::Other)
            .map(|(at, facts)| self.line(scale, by_slot, at, facts))
            .collect()
    }

    fn line(&self, scale: Scale, by_slot: &[Totals], at: usize, facts: &PcFacts) -> LineCounts {
        let totals = by_slot.get(self.program.slot_of_pc[at] as usize);
        let block = &self.blocks[facts.block];
        let is_memory = matches!(facts.role, Role::Memory(_));
        let off = if is_memory { self.off_lanes(at, facts) } else { 0 };
        let mut memory = BTreeMap::new();
        let mut shared = BTreeMap::new();
        if let Some(totals) = totals {
            let mut both = Totals { global: totals.global, ..Totals::default() };
            both.merge(&Totals { global: totals.local, ..Totals::default() }, Times::Exactly(1));
            if both.global[0].requests > 0 {
                memory = scale.memory(&both.global);
            }
            if totals.shared[0].requests > 0 {
                shared = scale.shared(&totals.shared);
            }
        }
        LineCounts {
            pc: self.program.pc_at(at),
            ptx_line: facts.ptx_line,
            source: facts.source.clone(),
            opcode: self.program.spellings[facts.spelling].clone(),
            space: match facts.role {
                Role::Memory(space) => Some(resolved_space(space, totals)),
                _ => None,
            },
            executed: scale.apply(block.executions),
            threads: scale.apply(block.lanes - off.min(block.lanes)),
            divergent: if facts.role == Role::Branch { scale.apply(self.guards[at].divergent) } else { 0 },
            memory,
            shared,
        }
    }

    /// Active lanes in which the guard of an instruction was false.
    pub(crate) fn off_lanes(&self, at: usize, facts: &PcFacts) -> u64 {
        self.guards[at].off_lanes / u64::from(facts.n_guarded.max(1))
    }
}

/// The space that the generic accesses of an instruction went to, if it was only one.
fn resolved_space(written: StateSpace, totals: Option<&Totals>) -> StateSpace {
    let (StateSpace::Generic, Some(totals)) = (written, totals) else { return written };
    let spaces = [
        (StateSpace::Global, totals.global[0].requests),
        (StateSpace::Local, totals.local[0].requests),
        (StateSpace::Shared, totals.shared[0].requests),
        (StateSpace::Const, totals.constant.requests),
    ];
    let mut touched = spaces.into_iter().filter(|&(_, requests)| requests > 0).map(|(space, _)| space);
    match (touched.next(), touched.next()) {
        (Some(space), None) => space,
        _ => StateSpace::Generic,
    }
}

/// Counts that follow from block executions and guards.
#[derive(Default)]
struct CodeCounts {
    instructions: InstructionCounts,
    threads: u64,
    threads_pred_on: u64,
    branches: u64,
    divergent_branches: u64,
    barriers: u64,
    high_latency: BTreeMap<SlowOperation, u64>,
}

impl CodeCounts {
    fn new(recorder: &Recorder, scale: Scale, counting: Counting) -> Self {
        let mut counts = Self::default();
        let mut by_spelling: BTreeMap<SpellingId, u64> = BTreeMap::new();
        for (at, facts) in recorder.program.pcs.iter().enumerate() {
            let Some(facts) = facts else { continue };
            let block = &recorder.blocks[facts.block];
            if block.executions == 0 || !counting.includes(facts.class) {
                continue;
            }
            let executed = scale.apply(block.executions);
            let lanes = scale.apply(block.lanes);
            counts.instructions.total += executed;
            *counts.instructions.by_class.entry(facts.class).or_insert(0) += executed;
            *by_spelling.entry(facts.spelling).or_insert(0) += executed;
            counts.threads += lanes;
            counts.threads_pred_on += lanes - scale.apply(recorder.off_lanes(at, facts)).min(lanes);
            if let Some(operation) = facts.high_latency {
                *counts.high_latency.entry(operation).or_insert(0) += executed;
            }
            match facts.role {
                Role::Branch => {
                    counts.branches += executed;
                    counts.divergent_branches += scale.apply(recorder.guards[at].divergent);
                }
                Role::CtaBarrier => counts.barriers += executed,
                _ => {}
            }
        }
        let spellings = &recorder.program.spellings;
        let counted = |(id, count): (SpellingId, u64)| OpcodeCount { opcode: spellings[id].clone(), count };
        counts.instructions.by_opcode = by_spelling.into_iter().map(counted).collect();
        counts
    }
}

/// From the executed CTAs to the grid.
#[derive(Clone, Copy)]
pub(crate) struct Scale {
    pub(crate) executed: u64,
    pub(crate) total: u64,
}

impl Scale {
    /// `count` x total / executed, rounded to the nearest integer.
    pub(crate) fn apply(self, count: u64) -> u64 {
        if self.executed == self.total || self.executed == 0 {
            return count;
        }
        let (executed, total) = (u128::from(self.executed), u128::from(self.total));
        ((u128::from(count) * total + executed / 2) / executed) as u64
    }

    fn memory(self, counts: &[MemoryCounts]) -> BTreeMap<CoalescingRule, MemoryCounts> {
        CoalescingRule::ALL.into_iter().zip(counts.iter().map(|counts| self.memory_counts(counts))).collect()
    }

    /// Sums are formed after scaling, so that they agree with their parts.
    fn memory_counts(self, counts: &MemoryCounts) -> MemoryCounts {
        let loads = self.apply(counts.loads);
        let stores = self.apply(counts.stores);
        let atomics = self.apply(counts.atomics);
        let requests = loads + stores + atomics;
        let t32 = self.apply(counts.t32);
        let t64 = self.apply(counts.t64);
        let t128 = self.apply(counts.t128);
        let coalesced = self.apply(counts.coalesced).min(requests);
        let coalesced_transactions = self.apply(counts.coalesced_transactions).min(t32 + t64 + t128);
        MemoryCounts {
            requests,
            loads,
            stores,
            atomics,
            t32,
            t64,
            t128,
            lines: self.apply(counts.lines),
            coalesced,
            uncoalesced: requests - coalesced,
            coalesced_transactions,
            uncoalesced_transactions: t32 + t64 + t128 - coalesced_transactions,
            ideal_t32: self.apply(counts.ideal_t32),
            ideal_t64: self.apply(counts.ideal_t64),
            ideal_t128: self.apply(counts.ideal_t128),
            bytes_requested: self.apply(counts.bytes_requested),
            bytes_moved: 32 * t32 + 64 * t64 + 128 * t128,
        }
    }

    fn shared(self, counts: &[SharedCounts]) -> BTreeMap<BankRule, SharedCounts> {
        let scaled = counts.iter().map(|counts| {
            let loads = self.apply(counts.loads);
            let stores = self.apply(counts.stores);
            let atomics = self.apply(counts.atomics);
            SharedCounts {
                requests: loads + stores + atomics,
                loads,
                stores,
                atomics,
                conflicted: self.apply(counts.conflicted),
                passes: self.apply(counts.passes),
                wavefronts: self.apply(counts.wavefronts),
                ideal_wavefronts: self.apply(counts.ideal_wavefronts),
            }
        });
        BankRule::ALL.into_iter().zip(scaled).collect()
    }

    fn constant(self, counts: ConstantCounts) -> ConstantCounts {
        ConstantCounts { requests: self.apply(counts.requests), passes: self.apply(counts.passes) }
    }
}
