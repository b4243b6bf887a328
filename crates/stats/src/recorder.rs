//! The observer that counts everything a profile holds.

use std::sync::Arc;

use warplens_isa::{BlockId, Pc, StateSpace};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, Observer, WarpIndex};

use crate::Program;
use crate::access::{AccessCounter, PatternId};
use crate::batches::{BatchCounter, StateId};
use crate::dependence::Loaded;
use crate::duplicates::{DuplicateCounter, DuplicateTracker, MAX_CTAS};
use crate::program::NO_SLOT;
use crate::sample::{self, Warps};
use crate::statistics::{Event, Folds, Followed};

/// Counts the events of an execution; [`Recorder::finish`] turns them into a [`Profile`](crate::Profile).
///
/// Everything is a sum, minimum, maximum or union of integers, so that neither the order of CTAs nor their distribution
/// over forked recorders changes the result.
pub struct Recorder {
    pub(crate) program: Arc<Program>,
    /// CTAs in which duplicate loads are counted, ascending.
    pub(crate) sampled: Arc<[CtaId]>,
    /// CTAs that have warps whose streams are followed, ascending.
    with_streams: Arc<[CtaId]>,
    pub(crate) blocks: Vec<BlockCount>,
    pub(crate) guards: Vec<GuardCount>,
    /// The program's, at hand for every access.
    slot_of_pc: Arc<[u32]>,
    pub(crate) accesses: AccessCounter,
    pub(crate) batches: BatchCounter,
    pub(crate) duplicates: DuplicateCounter,
    pub(crate) statistics: Folds,
    pub(crate) ctas: CtaCounts,
    pub(crate) order_dependent: bool,
    /// Arrays of CTAs that have ended.
    spare: Vec<Vec<WarpRecord>>,
}

/// How often recorded events happen.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Times {
    /// So many times, one after the other.
    Exactly(u64),
    /// In this share of the cases; counts are rounded.
    Share(f64),
}

impl Times {
    /// The count of so many times `count` events.
    pub(crate) fn of(self, count: u64) -> u64 {
        match self {
            Self::Exactly(n) => count * n,
            Self::Share(share) => (count as f64 * share).round() as u64,
        }
    }
}

/// Executions of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockCount {
    pub(crate) executions: u64,
    pub(crate) lanes: u64,
    /// Instructions of one execution.
    instructions: u32,
}

/// Effect of the guard of an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GuardCount {
    /// Active lanes in which the guard was false.
    pub(crate) off_lanes: u64,
    /// Executions that sent lanes both ways.
    pub(crate) divergent: u64,
}

/// The CTAs that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CtaCounts {
    pub(crate) n: u64,
    /// Of those, looked at for duplicate loads.
    pub(crate) n_sampled: u64,
    pub(crate) fewest_instructions: u64,
    pub(crate) most_instructions: u64,
    pub(crate) instructions: u64,
}

/// What a [`Recorder`] keeps for a running CTA.
#[derive(Debug)]
pub struct CtaRecord {
    instructions: u64,
    warps: Vec<WarpRecord>,
    sample: Option<Box<Sample>>,
}

/// What is kept only for the CTAs that are looked at closely.
#[derive(Debug)]
struct Sample {
    duplicates: Option<DuplicateTracker>,
    warps: Option<Warps<Followed>>,
}

impl Sample {
    /// What the statistics keep for a warp, if it is one of the few that they look at.
    #[inline]
    fn warp(&mut self, warp: WarpIndex) -> Option<&mut Followed> {
        self.warps.as_mut()?.get(warp)
    }
}

/// Load batches of a warp.
#[derive(Clone, Copy, Debug)]
struct WarpRecord {
    /// Open batches, before the block that is under way.
    state: StateId,
    /// Position of the block under way if some of its loads may not take place, else [`NO_BLOCK`].
    block: u32,
    /// Those that did.
    loaded: Loaded,
}

const NO_BLOCK: u32 = u32::MAX;

impl WarpRecord {
    const START: Self = Self { state: 0, block: NO_BLOCK, loaded: 0 };
}

impl Recorder {
    /// A recorder for the CTAs that will be executed.
    pub fn new(program: Arc<Program>, executed: impl ExactSizeIterator<Item = CtaId>) -> Self {
        let n = executed.len() as u64;
        let n_sampled = n.min(MAX_CTAS);
        let (mut sampled, mut with_streams) = (Vec::new(), Vec::new());
        let (mut executed, mut passed) = (executed, 0);
        loop {
            let (next, next_stream) = (sampled.len() as u64, with_streams.len() as u64);
            let place = (next < n_sampled).then(|| next * n / n_sampled);
            let stream = (next_stream < n_sampled).then(|| sample::place(next_stream, n, n_sampled));
            // One by one, the blocks of the largest grids would take longer than executing a part of them.
            let Some(at) = place.into_iter().chain(stream).min() else { break };
            let Some(cta) = executed.nth((at - passed) as usize) else { break };
            passed = at + 1;
            sampled.extend((place == Some(at)).then_some(cta));
            with_streams.extend((stream == Some(at)).then_some(cta));
        }
        sampled.sort_unstable();
        with_streams.sort_unstable();
        let slot_of_pc = program.slot_of_pc.as_slice().into();
        Self::with_samples(program, slot_of_pc, sampled.into(), with_streams.into())
    }

    fn with_samples(
        program: Arc<Program>,
        slot_of_pc: Arc<[u32]>,
        sampled: Arc<[CtaId]>,
        with_streams: Arc<[CtaId]>,
    ) -> Self {
        let blocks = program.block_instructions.iter();
        Self {
            sampled,
            with_streams,
            blocks: blocks.map(|&instructions| BlockCount { executions: 0, lanes: 0, instructions }).collect(),
            guards: vec![GuardCount::default(); program.pcs.len()],
            slot_of_pc,
            accesses: AccessCounter::new(program.slots.len()),
            batches: BatchCounter::new(program.clone()),
            duplicates: DuplicateCounter::default(),
            statistics: Folds::new(),
            ctas: CtaCounts {
                n: 0,
                n_sampled: 0,
                fewest_instructions: u64::MAX,
                most_instructions: 0,
                instructions: 0,
            },
            order_dependent: false,
            spare: Vec::new(),
            program,
        }
    }

    /// Takes over what another recorder of the same program counted, as if it had happened `times` as often.
    /// With a share of less than once the CTAs and the range of their work stay what they are.
    pub fn merge_times(&mut self, other: Self, times: Times) {
        for (own, other) in self.blocks.iter_mut().zip(&other.blocks) {
            own.executions += times.of(other.executions);
            own.lanes += times.of(other.lanes);
        }
        for (own, other) in self.guards.iter_mut().zip(&other.guards) {
            own.off_lanes += times.of(other.off_lanes);
            own.divergent += times.of(other.divergent);
        }
        self.accesses.merge(other.accesses, times);
        self.batches.counts.add(&other.batches.counts, times);
        self.duplicates.merge(&other.duplicates, times);
        self.statistics.merge(&other.statistics, times);
        if let Times::Exactly(n) = times {
            self.ctas.merge(&other.ctas, n);
        }
        self.order_dependent |= other.order_dependent;
    }

    /// A store or atomic whose counts are added by other means: it is only part of what its warp does.
    pub fn follow_store(&mut self, cta: &mut CtaRecord, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        let slot = self.slot_of_pc[self.program.pc_position(pc)];
        if let Some(sample) = &mut cta.sample
            && slot != NO_SLOT
            && access.kind != AccessKind::Load
            && let Some(warp) = sample.warp(warp)
        {
            self.statistics.follow(warp, &Event { slot, access, pattern: None });
        }
    }

    /// Counts an execution of a branch that may part the lanes, where nothing is known about its condition.
    pub fn may_diverge(&mut self, pc: Pc) {
        self.guards[self.program.pc_position(pc)].divergent += 1;
    }

    /// Counts the load batches of the block that a warp has executed, now that it is known which loads took place.
    #[inline]
    fn leave_block(&mut self, warp: &mut WarpRecord) {
        let WarpRecord { state, block, loaded } = *warp;
        if block == NO_BLOCK {
            return;
        }
        let position = block as usize;
        warp.block = NO_BLOCK;
        warp.state = if loaded == self.program.sometimes[position] {
            self.batches.enter(state, position)
        } else {
            self.batches.enter_partly(state, position, loaded)
        };
    }

    /// A global load of a block whose loads may not all take place.
    #[cold]
    #[inline(never)]
    fn follow_load(&self, warp: &mut WarpRecord, slot: u32) {
        if let Some((block, bits)) = self.program.sometimes_of_slot[slot as usize]
            && block == warp.block
        {
            warp.loaded |= bits;
        }
    }

    /// An access of a CTA that is looked at closely.
    #[cold]
    #[inline(never)]
    fn follow_access(
        &mut self,
        sample: &mut Sample,
        (warp, slot): (WarpIndex, u32),
        access: &Access<'_>,
        pattern: Option<PatternId>,
    ) {
        if access.space == StateSpace::Global
            && access.kind == AccessKind::Load
            && let Some(duplicates) = &mut sample.duplicates
        {
            duplicates.load(&mut self.duplicates, &self.accesses, (warp, slot), access, pattern);
        }
        if let Some(warp) = sample.warp(warp) {
            self.statistics.follow(warp, &Event { slot, access, pattern });
        }
    }

    /// An access that a statistic counts. The event is made here, so that those that none counts make no room for it.
    #[cold]
    #[inline(never)]
    fn count_access(&mut self, slot: u32, access: &Access<'_>, pattern: Option<PatternId>) {
        self.statistics.count(&Event { slot, access, pattern });
    }

    /// A warp of a CTA that is looked at closely enters the block at `position`.
    #[cold]
    #[inline(never)]
    fn follow_block(&mut self, sample: &mut Sample, warp: WarpIndex, position: usize) {
        if let Some(warp) = sample.warp(warp) {
            self.statistics.enter(warp, &self.program, position);
        }
    }
}

impl Observer for Recorder {
    const RECORDS: bool = true;

    type Cta = CtaRecord;

    fn fork(&self) -> Self {
        let Self { program, slot_of_pc, sampled, with_streams, .. } = self;
        Self::with_samples(program.clone(), slot_of_pc.clone(), sampled.clone(), with_streams.clone())
    }

    fn merge(&mut self, other: Self) {
        self.merge_times(other, Times::Exactly(1));
    }

    fn begin_cta(&mut self, id: CtaId) -> CtaRecord {
        let n_warps = self.program.n_warps();
        let mut warps = self.spare.pop().unwrap_or_default();
        warps.clear();
        warps.resize(n_warps, WarpRecord::START);
        let is_sampled = self.sampled.binary_search(&id).is_ok();
        let duplicates = is_sampled.then(|| DuplicateTracker::new(n_warps, self.program.slots.len()));
        let stream = self.with_streams.binary_search(&id).ok();
        let followed = stream.map(|at| Warps::new(n_warps, at, self.with_streams.len()));
        let sample =
            (duplicates.is_some() || followed.is_some()).then(|| Box::new(Sample { duplicates, warps: followed }));
        CtaRecord { instructions: 0, warps, sample }
    }

    fn end_cta(&mut self, mut cta: CtaRecord) {
        for warp in &mut cta.warps {
            self.leave_block(warp);
        }
        self.ctas.add(cta.instructions);
        if let Some(sample) = cta.sample {
            if let Some(mut duplicates) = sample.duplicates {
                duplicates.close(&mut self.duplicates, &self.accesses);
                self.ctas.n_sampled += 1;
            }
            if let Some(warps) = sample.warps {
                for warp in warps.into_all() {
                    self.statistics.end_warp(*warp, &self.program);
                }
            }
        }
        self.spare.push(cta.warps);
    }

    #[inline]
    fn block(&mut self, cta: &mut CtaRecord, warp: WarpIndex, block: BlockId, mask: ActiveMask) {
        let position = self.program.block_position(block);
        let count = &mut self.blocks[position];
        count.executions += 1;
        count.lanes += u64::from(mask.count());
        cta.instructions += u64::from(count.instructions);
        if let Some(sample) = &mut cta.sample {
            self.follow_block(sample, warp, position);
        }
        let warp = &mut cta.warps[warp.0 as usize];
        if warp.block != NO_BLOCK {
            self.leave_block(warp);
        }
        if self.program.sometimes[position] == 0 {
            warp.state = self.batches.enter(warp.state, position);
        } else {
            *warp = WarpRecord { block: position as u32, loaded: 0, ..*warp };
        }
    }

    #[inline]
    fn predicated(&mut self, cta: &mut CtaRecord, warp: WarpIndex, pc: Pc, active: ActiveMask, on: ActiveMask) {
        let on = on & active;
        let position = self.program.pc_position(pc);
        let count = &mut self.guards[position];
        count.off_lanes += u64::from(active.without(on).count());
        count.divergent += u64::from(!on.is_empty() && on != active);
        let slot = self.slot_of_pc[position];
        if let Some(sample) = &mut cta.sample
            && on.is_empty()
            && slot != NO_SLOT
            && let Some(duplicates) = &mut sample.duplicates
        {
            duplicates.pass_over(warp, slot);
        }
    }

    #[inline]
    fn branch_indexed(&mut self, _: &mut CtaRecord, _: WarpIndex, pc: Pc, n_targets: u32) {
        self.guards[self.program.pc_position(pc)].divergent += u64::from(n_targets > 1);
    }

    #[inline]
    fn access(&mut self, cta: &mut CtaRecord, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        if access.space == StateSpace::Param || access.mask.is_empty() {
            return;
        }
        let slot = self.slot_of_pc[self.program.pc_position(pc)];
        debug_assert_ne!(slot, NO_SLOT, "{pc} reports an access but has no memory operand");
        if slot == NO_SLOT {
            return;
        }
        let pattern = self.accesses.count(slot, access);
        let record = &mut cta.warps[warp.0 as usize];
        if access.space == StateSpace::Global && access.kind == AccessKind::Load && record.block != NO_BLOCK {
            self.follow_load(record, slot);
        }
        if Folds::listen(access) {
            self.count_access(slot, access, pattern);
        }
        if let Some(sample) = &mut cta.sample {
            self.follow_access(sample, (warp, slot), access, pattern);
        }
    }

    fn order_dependent(&mut self, _: &mut CtaRecord, _: Pc) {
        self.order_dependent = true;
    }
}

impl CtaCounts {
    fn add(&mut self, instructions: u64) {
        self.n += 1;
        self.fewest_instructions = self.fewest_instructions.min(instructions);
        self.most_instructions = self.most_instructions.max(instructions);
        self.instructions += instructions;
    }

    fn merge(&mut self, other: &Self, times: u64) {
        self.n += other.n * times;
        self.n_sampled += other.n_sampled * times;
        self.fewest_instructions = self.fewest_instructions.min(other.fewest_instructions);
        self.most_instructions = self.most_instructions.max(other.most_instructions);
        self.instructions += other.instructions * times;
    }

    /// (largest - smallest) / mean; 0 when all CTAs do the same.
    pub(crate) fn spread(&self) -> f64 {
        if self.instructions == 0 {
            return 0.0;
        }
        let mean = self.instructions as f64 / self.n as f64;
        (self.most_instructions - self.fewest_instructions) as f64 / mean
    }
}
