//! What must hold between the counts of a saved profile.

use warplens_document::{Fault, Place};
use warplens_stats::{Count, MemoryCounts, Profile, SharedCounts};

type Result = std::result::Result<(), Fault>;

pub(super) fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

pub(super) fn agree(place: &Place, left: &str, a: u64, right: &str, b: u64) -> Result {
    if a == b { Ok(()) } else { Err(place.fault(format!("{left} is {a}, but {right} is {b}"))) }
}

pub(super) fn within(place: &Place, left: &str, a: u64, right: &str, b: u64) -> Result {
    if a <= b { Ok(()) } else { Err(place.fault(format!("{left} is {a}, more than {right}, which is {b}"))) }
}

/// Bytes that transactions move.
pub(super) const fn moved(counts: &MemoryCounts) -> u64 {
    let bytes = counts.t32.saturating_mul(32).saturating_add(counts.t64.saturating_mul(64));
    bytes.saturating_add(counts.t128.saturating_mul(128))
}

/// Which counts of a space are there.
pub(super) struct Known {
    pub(super) requests: bool,
    pub(super) kinds: bool,
    pub(super) transactions: bool,
    pub(super) coalesced: bool,
}

/// What must hold between the counts of a space under one rule.
pub(super) fn memory(place: &Place, counts: &MemoryCounts, known: &Known) -> Result {
    if known.requests && known.kinds {
        let kinds = sum([counts.loads, counts.stores, counts.atomics]);
        agree(place, "loads + stores + atomics", kinds, "requests", counts.requests)?;
    }
    if known.requests && known.coalesced {
        let both = sum([counts.coalesced, counts.uncoalesced]);
        agree(place, "coalesced + uncoalesced", both, "requests", counts.requests)?;
    }
    if known.transactions {
        let all = sum([counts.t32, counts.t64, counts.t128]);
        if known.coalesced {
            let both = sum([counts.coalesced_transactions, counts.uncoalesced_transactions]);
            agree(place, "coalesced_transactions + uncoalesced_transactions", both, "t32 + t64 + t128", all)?;
        }
        agree(place, "32 t32 + 64 t64 + 128 t128", moved(counts), "bytes_moved", counts.bytes_moved)?;
    }
    Ok(())
}

/// What must hold between the counts of shared memory under one rule.
pub(super) fn shared(place: &Place, counts: &SharedCounts, has: impl Fn(Count) -> bool) -> Result {
    if has(Count::SharedRequests) && has(Count::SharedKinds) {
        let kinds = sum([counts.loads, counts.stores, counts.atomics]);
        agree(place, "loads + stores + atomics", kinds, "requests", counts.requests)?;
    }
    if has(Count::SharedRequests) && has(Count::SharedConflicted) {
        within(place, "conflicted", counts.conflicted, "requests", counts.requests)?;
    }
    if has(Count::SharedWavefronts) {
        within(place, "ideal_wavefronts", counts.ideal_wavefronts, "wavefronts", counts.wavefronts)?;
    }
    Ok(())
}

/// What must hold between counts of different keys.
pub(super) fn profile(place: &Place, profile: &Profile) -> Result {
    let instructions = &profile.instructions;
    let has = |counts: &[Count]| counts.iter().all(|&count| profile.has(count));
    if has(&[Count::Instructions, Count::Classes]) {
        let classes = sum(instructions.by_class.values().copied());
        within(place, "the sum of instructions.by_class", classes, "instructions.total", instructions.total)?;
    }
    if has(&[Count::Instructions, Count::Opcodes]) {
        let opcodes = sum(instructions.by_opcode.iter().map(|counted| counted.count));
        within(place, "the sum of instructions.by_opcode", opcodes, "instructions.total", instructions.total)?;
    }
    if has(&[Count::ThreadInstructions, Count::PredicatedOn]) {
        let (on, all) = (profile.thread_instructions_pred_on, profile.thread_instructions);
        within(place, "thread_instructions_pred_on", on, "thread_instructions", all)?;
    }
    if has(&[Count::Branches, Count::DivergentBranches]) {
        within(place, "divergent_branches", profile.divergent_branches, "branches", profile.branches)?;
    }
    // Counts that were scaled one by one may exceed their bound by rounding.
    let is_whole = profile.coverage.ctas_executed == profile.coverage.ctas_total;
    if is_whole && has(&[Count::Instructions, Count::ThreadInstructions]) {
        let most = instructions.total.saturating_mul(32);
        within(place, "thread_instructions", profile.thread_instructions, "32 instructions.total", most)?;
    }
    if profile.duplicate_share > 1.0 {
        return Err(place.fault(format!("duplicate_share is {}; a share is at most 1", profile.duplicate_share)));
    }
    Ok(())
}
