//! Edits of a profile that keep its counts consistent: lines with totals, classes with their sum.

use std::collections::BTreeMap;

use warplens_isa::{InstKey, OpClass, StateSpace};
use warplens_stats::{CoalescingRule, LineCounts, MemoryCounts, Profile};

/// The instructions that a change of the number of instructions means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Group {
    /// Memory accesses of every space.
    Memory,
    /// CTA barriers and fences.
    Barrier,
    /// Everything else.
    Compute,
}

impl Group {
    /// The group of a class.
    pub(crate) fn of(class: OpClass) -> Self {
        match class {
            OpClass::Memory | OpClass::Atomic => Self::Memory,
            OpClass::Barrier => Self::Barrier,
            _ => Self::Compute,
        }
    }

    /// The group of an instruction.
    fn of_key(key: &InstKey) -> Self {
        match () {
            () if key.accesses_memory() => Self::Memory,
            () if key.is_synchronisation() => Self::Barrier,
            () => Self::Compute,
        }
    }
}

/// `count` times `factor`, to the nearest integer.
pub(crate) fn scaled(count: u64, factor: f64) -> u64 {
    (count as f64 * factor).round() as u64
}

/// Scales the instructions of a group. Thread instructions follow, so that the mean number of active lanes stays.
pub(crate) fn scale_instructions(profile: &mut Profile, group: Group, factor: f64) {
    let lanes = profile.mean_active_lanes();
    let on = ratio(profile.thread_instructions_pred_on, profile.thread_instructions);
    let instructions = &mut profile.instructions;
    let classed: u64 = instructions.by_class.values().sum();
    let mut unclassed = instructions.total.saturating_sub(classed);
    if group == Group::Compute {
        unclassed = scaled(unclassed, factor);
        for count in profile.high_latency.values_mut() {
            *count = scaled(*count, factor);
        }
    }
    for (_, count) in instructions.by_class.iter_mut().filter(|(class, _)| Group::of(**class) == group) {
        *count = scaled(*count, factor);
    }
    for counted in instructions.by_opcode.iter_mut().filter(|counted| Group::of_key(&counted.opcode.key) == group) {
        counted.count = scaled(counted.count, factor);
    }
    instructions.total = instructions.by_class.values().sum::<u64>() + unclassed;
    follow_lanes(profile, lanes, on);
}

/// Adds to or takes from the instructions of one class.
pub(crate) fn shift_class(profile: &mut Profile, class: OpClass, difference: i64) {
    let lanes = profile.mean_active_lanes();
    let on = ratio(profile.thread_instructions_pred_on, profile.thread_instructions);
    let count = profile.instructions.by_class.entry(class).or_default();
    let before = *count;
    *count = count.saturating_add_signed(difference);
    profile.instructions.total = profile.instructions.total + *count - before;
    follow_lanes(profile, lanes, on);
}

fn follow_lanes(profile: &mut Profile, lanes: f64, on: f64) {
    profile.thread_instructions = scaled(profile.instructions.total, lanes);
    profile.thread_instructions_pred_on = scaled(profile.thread_instructions, on);
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Whose memory counts are edited.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'l> {
    /// The instruction; none for counts that no line claims.
    pub(crate) line: Option<&'l LineCounts>,
    /// The rule of the counts.
    pub(crate) rule: CoalescingRule,
}

/// Requests to global and local memory. Every rule counts the same.
pub(crate) fn requests(profile: &Profile) -> u64 {
    let most = |by_rule: &BTreeMap<CoalescingRule, MemoryCounts>| {
        by_rule.values().map(|counts| counts.requests).max().unwrap_or(0)
    };
    most(&profile.global) + most(&profile.local)
}

/// Edits the counts of global and local memory, of every instruction and rule; totals follow.
///
/// The transactions of calculate periods change in the proportion of all.
pub(crate) fn edit_memory(profile: &mut Profile, edit: impl Fn(Place<'_>, &mut MemoryCounts)) {
    let before: Vec<(CoalescingRule, u64)> =
        profile.global.iter().map(|(&rule, counts)| (rule, counts.transactions())).collect();
    let mut rest = [profile.global.clone(), profile.local.clone()];
    let mut sums = [&mut profile.global, &mut profile.local];
    for sum in &mut sums {
        for counts in sum.values_mut() {
            *counts = MemoryCounts::default();
        }
    }
    for line in &mut profile.lines {
        let space = usize::from(line.space == Some(StateSpace::Local));
        let facts = LineCounts { memory: Default::default(), ..line.clone() };
        for (&rule, counts) in &mut line.memory {
            if let Some(rest) = rest[space].get_mut(&rule) {
                *rest = by_field(rest, counts, u64::saturating_sub);
            }
            edit(Place { line: Some(&facts), rule }, counts);
            let sum = sums[space].entry(rule).or_default();
            *sum = by_field(sum, counts, u64::saturating_add);
        }
    }
    for (sum, rest) in sums.into_iter().zip(rest) {
        for (rule, mut counts) in rest {
            if counts != MemoryCounts::default() {
                edit(Place { line: None, rule }, &mut counts);
            }
            let sum = sum.entry(rule).or_default();
            *sum = by_field(sum, &counts, u64::saturating_add);
        }
    }
    let Some(periods) = &mut profile.statistics.periods else { return };
    for (rule, before) in before {
        let factor = ratio(profile.global.get(&rule).map_or(0, MemoryCounts::transactions), before);
        for transactions in periods.kinds.iter_mut().filter_map(|period| period.transactions.get_mut(&rule)) {
            // A request still takes one.
            *transactions = if *transactions > 1.0 { (*transactions * factor).max(1.0) } else { *transactions };
        }
    }
}

/// Scales requests; transactions and bytes stay.
pub(crate) fn scale_requests(counts: &mut MemoryCounts, factor: f64) {
    for count in [&mut counts.loads, &mut counts.stores, &mut counts.atomics] {
        *count = scaled(*count, factor);
    }
    counts.requests = counts.loads + counts.stores + counts.atomics;
    counts.coalesced = scaled(counts.coalesced, factor).min(counts.requests);
    counts.uncoalesced = counts.requests - counts.coalesced;
}

/// Scales requests with all that they ask for and move.
pub(crate) fn scale_accesses(counts: &mut MemoryCounts, factor: f64) {
    scale_requests(counts, factor);
    scale_transactions(counts, factor);
    counts.bytes_requested = scaled(counts.bytes_requested, factor);
}

/// Scales transactions and the bytes that they move; requests stay.
pub(crate) fn scale_transactions(counts: &mut MemoryCounts, factor: f64) {
    let share = ratio(counts.coalesced_transactions, counts.transactions());
    for count in [
        &mut counts.t32,
        &mut counts.t64,
        &mut counts.t128,
        &mut counts.lines,
        &mut counts.ideal_t32,
        &mut counts.ideal_t64,
        &mut counts.ideal_t128,
    ] {
        *count = scaled(*count, factor);
    }
    split_transactions(counts, share);
}

/// Gives each request the transactions that its distinct bytes need.
pub(crate) fn coalesce(counts: &mut MemoryCounts) {
    if counts.ideal_transactions().is_some() {
        (counts.t32, counts.t64, counts.t128) = (counts.ideal_t32, counts.ideal_t64, counts.ideal_t128);
    } else if counts.bytes_moved > 0 {
        // Nobody counted distinct bytes: those asked for are no fewer, and each request takes one transaction at least.
        let by_bytes = counts.bytes_requested as f64 / counts.bytes_moved as f64;
        let one_each = ratio(counts.requests, counts.transactions());
        scale_transactions(counts, by_bytes.max(one_each).min(1.0));
    }
    counts.coalesced = counts.requests;
    counts.uncoalesced = 0;
    split_transactions(counts, 1.0);
}

fn split_transactions(counts: &mut MemoryCounts, coalesced_share: f64) {
    counts.coalesced_transactions = scaled(counts.transactions(), coalesced_share);
    counts.uncoalesced_transactions = counts.transactions() - counts.coalesced_transactions;
    counts.bytes_moved = 32 * counts.t32 + 64 * counts.t64 + 128 * counts.t128;
}

/// `op` on each pair of fields.
fn by_field(left: &MemoryCounts, right: &MemoryCounts, op: fn(u64, u64) -> u64) -> MemoryCounts {
    macro_rules! fields {
        ($($field:ident)*) => { MemoryCounts { $($field: op(left.$field, right.$field),)* } };
    }
    fields! {
        requests loads stores atomics t32 t64 t128 lines coalesced uncoalesced coalesced_transactions
        uncoalesced_transactions ideal_t32 ideal_t64 ideal_t128 bytes_requested bytes_moved
    }
}

/// Scales the requests of each instruction by a factor of at most 1, as if one request did the work of several. The
/// transactions stay; the loads in flight become fewer with the loads.
pub fn scale_line_requests(profile: &mut Profile, factor: impl Fn(&LineCounts) -> f64) {
    let factors: Vec<f64> = profile.lines.iter().map(|line| factor(line).clamp(0.0, 1.0)).collect();
    let (mut loads, mut fewer_loads) = (0.0, 0.0);
    for (line, factor) in profile.lines.iter().zip(&factors).filter(|(line, _)| line.opcode.key.is_load()) {
        let requests = line.memory.values().map(|counts| counts.requests).max().unwrap_or(0) as f64;
        loads += requests;
        fewer_loads += requests * factor;
    }
    let by_pc: BTreeMap<_, _> = profile.lines.iter().map(|line| line.pc).zip(factors).collect();
    let before = requests(profile);
    edit_memory(profile, |place, counts| {
        if let Some(factor) = place.line.and_then(|line| by_pc.get(&line.pc)) {
            scale_requests(counts, *factor);
        }
    });
    let fewer = before.saturating_sub(requests(profile));
    shift_class(profile, OpClass::Memory, -i64::try_from(fewer).unwrap_or(i64::MAX));
    for batch in [&mut profile.independent_loads, &mut profile.independent_loads_program_order].into_iter().flatten() {
        if loads > 0.0 {
            *batch = (*batch * fewer_loads / loads).max(1.0);
        }
    }
}
