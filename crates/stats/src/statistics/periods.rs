//! Calculate periods: what a warp computes until it accesses memory, and what it accesses until it computes again.
//!
//! The executed instructions of a warp are a queue in which computation tasks (runs of computation instructions) and
//! memory tasks (runs of accesses to global and local memory) take turns; a period is one of each. Tasks are counts by
//! [`CostKind`], so that a model can price them with any table. Runs go on from block to block; what the parts of a
//! diverged warp execute stands one after the other, as it was executed.
//!
//! Periods with the same runs of the same blocks and the same memory instructions are one and share the mean of their
//! traffic. The sequence of a warp's periods has its repetitions folded; warps with the same sequence share it.

mod compress;
mod tasks;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Event, Finish, Statistic};
use crate::access::{AccessCounter, PatternId};
use crate::recorder::Times;
use crate::totals::{N_COALESCING, Totals};
use crate::{CoalescingRule, Counting, Program};
use compress::{Folded, Folder};
pub(crate) use tasks::BlockTasks;
use tasks::Item;
pub use tasks::{CostKind, NumberKind};
use warplens_isa::StateSpace;
use warplens_trace::Access;

/// Different periods that a warp may have, and parts of its folded sequence; what comes later is only counted.
const MAX_PERIODS: usize = 64;
const MAX_PARTS: usize = 1024;
/// Shapes of accesses whose traffic is remembered.
const MAX_MEMO: usize = 1 << 14;

/// The calculate periods of some warps.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Periods {
    /// Warps that were looked at.
    pub warps: u64,
    /// The different periods.
    pub kinds: Vec<Period>,
    /// Their sequences, the most frequent first.
    pub streams: Vec<PeriodStream>,
}

/// A computation task and the memory task that follows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Period {
    /// Executions in the warps that were looked at.
    pub executions: u64,
    /// Instructions of the computation task by kind; none where the stream starts with an access.
    pub computation: BTreeMap<CostKind, u64>,
    /// Instructions of the memory task by kind; none behind the last access of the stream.
    pub memory: BTreeMap<CostKind, u64>,
    /// Bytes that the lanes ask for, mean per execution.
    pub bytes_requested: f64,
    /// Transactions of the memory task by rule, mean per execution.
    pub transactions: BTreeMap<CoalescingRule, f64>,
}

/// The sequence of a warp's periods.
#[derive(Clone, PartialEq, Debug)]
pub struct PeriodStream {
    /// Warps with this sequence.
    pub warps: u64,
    /// Periods of one of them that the sequence does not hold, because it became too long: they follow its end.
    pub left_out: u64,
    /// The sequence.
    pub parts: Vec<StreamPart>,
}

/// A part of a sequence of periods.
#[derive(Clone, PartialEq, Debug)]
pub enum StreamPart {
    /// Index into [`Periods::kinds`].
    Period(usize),
    /// Parts that come several times.
    Loop {
        /// How often.
        times: u64,
        /// What comes.
        body: Vec<StreamPart>,
    },
}

impl PeriodStream {
    /// Periods that the sequence holds, repetitions counted.
    pub fn len(&self) -> u64 {
        fn len(parts: &[StreamPart]) -> u64 {
            let one = |part: &StreamPart| match part {
                StreamPart::Period(_) => 1,
                StreamPart::Loop { times, body } => times.saturating_mul(len(body)),
            };
            parts.iter().map(one).fold(0, u64::saturating_add)
        }
        len(&self.parts)
    }

    /// True without any period.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

/// What memory moves for some accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Traffic {
    bytes_requested: u64,
    transactions: [u64; N_COALESCING],
}

impl Traffic {
    fn add(&mut self, other: &Self) {
        self.bytes_requested += other.bytes_requested;
        self.transactions.iter_mut().zip(other.transactions).for_each(|(own, other)| *own += other);
    }

    fn of(totals: &Totals) -> Self {
        let sum =
            |get: fn(&crate::MemoryCounts) -> u64, rule: usize| get(&totals.global[rule]) + get(&totals.local[rule]);
        Self {
            bytes_requested: sum(|counts| counts.bytes_requested, 0),
            transactions: std::array::from_fn(|rule| sum(crate::MemoryCounts::transactions, rule)),
        }
    }
}

/// Runs and accesses of a period, each with how often: the number of runs, the runs, the accesses.
type PeriodKey = Vec<u64>;

#[derive(Clone, Copy, Debug, Default)]
struct Executions {
    count: u64,
    traffic: Traffic,
}

impl Executions {
    fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.traffic.add(&other.traffic);
    }

    fn times(&self, times: Times) -> Self {
        let Traffic { bytes_requested, transactions } = self.traffic;
        let traffic = Traffic {
            bytes_requested: times.of(bytes_requested),
            transactions: transactions.map(|transactions| times.of(transactions)),
        };
        Self { count: times.of(self.count), traffic }
    }
}

/// The periods of the warps that have ended.
#[derive(Debug, Default)]
pub(crate) struct PeriodCounter {
    warps: u64,
    ids: FxHashMap<PeriodKey, u32>,
    list: Vec<(PeriodKey, Executions)>,
    /// Warps by sequence and by what was left out of it.
    streams: FxHashMap<(Vec<Folded>, u64), u64>,
    /// Traffic of a pattern by the phase of its first address.
    memo: FxHashMap<(PatternId, u64), Traffic>,
}

/// The periods of a running warp.
#[derive(Debug, Default)]
pub(crate) struct PeriodTracker {
    /// Position of the block under way.
    block: Option<u32>,
    /// Its accesses so far.
    accessed: Vec<(u32, Traffic)>,
    /// Runs of the open period, each with how often, ascending.
    runs: Vec<(u32, u64)>,
    /// Its accesses.
    accesses: Vec<(u32, u64)>,
    traffic: Traffic,
    scratch: PeriodKey,
    ids: FxHashMap<PeriodKey, u32>,
    list: Vec<(PeriodKey, Executions)>,
    folder: Folder,
    left_out: u64,
}

impl PeriodTracker {
    /// The warp enters the block at `position`.
    fn enter(&mut self, tasks: &BlockTasks, position: usize) {
        self.leave(tasks);
        self.block = Some(position as u32);
    }

    /// The warp accesses global or local memory.
    fn access(&mut self, counter: &mut PeriodCounter, slot: u32, access: &Access<'_>, pattern: Option<PatternId>) {
        if !matches!(access.space, StateSpace::Global | StateSpace::Local) {
            return;
        }
        let traffic = counter.traffic(access, pattern);
        match self.accessed.iter_mut().find(|(other, _)| *other == slot) {
            Some((_, sum)) => sum.add(&traffic),
            None => self.accessed.push((slot, traffic)),
        }
    }

    fn leave(&mut self, tasks: &BlockTasks) {
        let Some(block) = self.block.take() else { return };
        for &item in tasks.items(block as usize) {
            match item {
                Item::Compute(run) => self.compute(run),
                Item::Access { slot, otherwise } => {
                    match self.accessed.iter().find(|(other, _)| *other == slot).map(|(_, traffic)| *traffic) {
                        Some(traffic) => {
                            bump(&mut self.accesses, slot);
                            self.traffic.add(&traffic);
                        }
                        None => self.compute(otherwise),
                    }
                }
            }
        }
        self.accessed.clear();
    }

    fn compute(&mut self, run: u32) {
        if !self.accesses.is_empty() {
            self.close();
        }
        bump(&mut self.runs, run);
    }

    /// The open period is complete.
    fn close(&mut self) {
        let execution = Executions { count: 1, traffic: std::mem::take(&mut self.traffic) };
        self.scratch.clear();
        self.scratch.push(self.runs.len() as u64);
        let entries = self.runs.drain(..).chain(self.accesses.drain(..));
        self.scratch.extend(entries.flat_map(|(what, times)| [u64::from(what), times]));
        if self.left_out > 0 || self.folder.size() >= MAX_PARTS {
            self.left_out += 1;
            return;
        }
        let id = match self.ids.get(&self.scratch) {
            Some(&id) => id,
            None if self.list.len() == MAX_PERIODS => {
                self.left_out += 1;
                return;
            }
            None => {
                let id = self.list.len() as u32;
                self.ids.insert(self.scratch.clone(), id);
                self.list.push((self.scratch.clone(), Executions::default()));
                id
            }
        };
        self.list[id as usize].1.add(&execution);
        self.folder.push(id);
    }

    /// The warp has ended.
    fn end(mut self, tasks: &BlockTasks, counter: &mut PeriodCounter) {
        self.leave(tasks);
        if !self.runs.is_empty() || !self.accesses.is_empty() {
            self.close();
        }
        counter.warps += 1;
        let ids: Vec<u32> = self.list.into_iter().map(|(key, executions)| counter.add(key, &executions)).collect();
        let parts = renumber(&self.folder.finish(), &ids);
        *counter.streams.entry((parts, self.left_out)).or_insert(0) += 1;
    }
}

/// Counts one more of `what`.
fn bump(list: &mut Vec<(u32, u64)>, what: u32) {
    match list.binary_search_by_key(&what, |&(known, _)| known) {
        Ok(at) => list[at].1 += 1,
        Err(at) => list.insert(at, (what, 1)),
    }
}

fn renumber(parts: &[Folded], ids: &[u32]) -> Vec<Folded> {
    let one = |part: &Folded| match part {
        Folded::Symbol(symbol) => Folded::Symbol(ids[*symbol as usize]),
        Folded::Loop { times, body } => Folded::Loop { times: *times, body: renumber(body, ids) },
    };
    parts.iter().map(one).collect()
}

impl Statistic for PeriodCounter {
    type Warp = PeriodTracker;
    type Counts = Periods;

    fn new() -> Self {
        Self::default()
    }

    fn enter(&mut self, warp: &mut PeriodTracker, program: &Program, position: usize) {
        warp.enter(&program.tasks, position);
    }

    fn follow(&mut self, warp: &mut PeriodTracker, event: &Event<'_>) {
        warp.access(self, event.slot, event.access, event.pattern);
    }

    fn end_warp(&mut self, warp: PeriodTracker, program: &Program) {
        warp.end(&program.tasks, self);
    }

    /// What happens only in a share of the cases is no stream of its own.
    fn merge(&mut self, other: &Self, times: Times) {
        if matches!(times, Times::Share(_)) {
            return;
        }
        self.warps += times.of(other.warps);
        let ids: Vec<u32> =
            other.list.iter().map(|(key, executions)| self.add(key.clone(), &executions.times(times))).collect();
        for ((parts, left_out), &warps) in &other.streams {
            *self.streams.entry((renumber(parts, &ids), *left_out)).or_insert(0) += times.of(warps);
        }
    }

    /// Not scaled: it is about single warps. Its order follows from its content: streams by weight, then by their runs;
    /// periods as they appear.
    fn finish(&self, finish: &Finish<'_>) -> Periods {
        self.periods(&finish.recorder.program.tasks, finish.counting)
    }

    /// What a single warp does one after the other is not known where something had to be guessed.
    fn without_run(counts: &mut Option<Periods>, is_exact: bool) {
        counts.take_if(|_| !is_exact);
    }
}

impl PeriodCounter {
    fn add(&mut self, key: PeriodKey, executions: &Executions) -> u32 {
        if let Some(&id) = self.ids.get(&key) {
            self.list[id as usize].1.add(executions);
            return id;
        }
        let id = self.list.len() as u32;
        self.ids.insert(key.clone(), id);
        self.list.push((key, *executions));
        id
    }

    fn traffic(&mut self, access: &Access<'_>, pattern: Option<PatternId>) -> Traffic {
        let lowest = access.addresses.of(access.mask.lowest().unwrap_or(0));
        let key = pattern.map(|pattern| (pattern, AccessCounter::phase(lowest)));
        if let Some(known) = key.and_then(|key| self.memo.get(&key)) {
            return *known;
        }
        let traffic = Traffic::of(&AccessCounter::totals_of(access));
        if let Some(key) = key
            && self.memo.len() < MAX_MEMO
        {
            self.memo.insert(key, traffic);
        }
        traffic
    }

    fn periods(&self, tasks: &BlockTasks, counting: Counting) -> Periods {
        let mut by_key: Vec<usize> = (0..self.list.len()).collect();
        by_key.sort_unstable_by(|&left, &right| self.list[left].0.cmp(&self.list[right].0));
        let mut ranks = vec![0; by_key.len()];
        by_key.iter().zip(0..).for_each(|(&id, rank)| ranks[id] = rank);
        let mut streams: Vec<_> = self
            .streams
            .iter()
            .map(|((parts, left_out), &warps)| (std::cmp::Reverse(warps), renumber(parts, &ranks), *left_out))
            .collect();
        streams.sort_unstable();
        let mut order = Vec::new();
        let mut positions = vec![None; by_key.len()];
        let streams = streams.into_iter().map(|(warps, folded, left_out)| {
            let parts = in_order(&folded, &mut order, &mut positions);
            PeriodStream { warps: warps.0, left_out, parts }
        });
        let streams = streams.collect();
        let kinds = order.into_iter().map(|rank| period(tasks, counting, &self.list[by_key[rank]])).collect();
        Periods { warps: self.warps, kinds, streams }
    }
}

/// Numbers periods as they appear.
fn in_order(folded: &[Folded], order: &mut Vec<usize>, positions: &mut [Option<usize>]) -> Vec<StreamPart> {
    let one = |part: &Folded| match part {
        Folded::Symbol(rank) => {
            let rank = *rank as usize;
            StreamPart::Period(*positions[rank].get_or_insert_with(|| {
                order.push(rank);
                order.len() - 1
            }))
        }
        Folded::Loop { times, body } => StreamPart::Loop { times: *times, body: in_order(body, order, positions) },
    };
    folded.iter().map(one).collect()
}

fn period(tasks: &BlockTasks, counting: Counting, (key, executions): &(PeriodKey, Executions)) -> Period {
    let mut computation = BTreeMap::new();
    let mut memory = BTreeMap::new();
    let (n_runs, entries) = key.split_first().map_or((0, &[][..]), |(&n, entries)| (n as usize, entries));
    for (at, entry) in entries.chunks_exact(2).enumerate() {
        let (what, times) = (entry[0] as usize, entry[1]);
        if at >= n_runs {
            let kind = &tasks.kinds[tasks.kind_of_slot[what] as usize];
            *memory.entry(*kind).or_insert(0) += times;
            continue;
        }
        for count in &tasks.runs[what] {
            if count.count > 0 && !(counting == Counting::Machine && count.is_virtual) {
                *computation.entry(tasks.kinds[count.kind as usize]).or_insert(0) += times * count.count;
            }
        }
    }
    let mean = |total: u64| total as f64 / executions.count as f64;
    let transactions = executions.traffic.transactions.map(mean);
    Period {
        executions: executions.count,
        computation,
        memory,
        bytes_requested: mean(executions.traffic.bytes_requested),
        transactions: CoalescingRule::ALL.into_iter().zip(transactions).collect(),
    }
}
