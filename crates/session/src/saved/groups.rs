//! Which counts are known together.

use warplens_document::Held;
use warplens_document::profile::{Memory, Shared};
use warplens_stats::{Count, MemoryCounts, SharedCounts};

/// Counts of a space of memory.
pub(super) struct MemoryGroups {
    pub(super) requests: Count,
    pub(super) kinds: Count,
    pub(super) transactions: Count,
    pub(super) lines: Count,
    pub(super) coalesced: Count,
    pub(super) bytes: Count,
}

impl MemoryGroups {
    pub(super) const fn all(&self) -> [Count; 6] {
        [self.requests, self.kinds, self.transactions, self.lines, self.coalesced, self.bytes]
    }
}

pub(super) const GLOBAL: MemoryGroups = MemoryGroups {
    requests: Count::GlobalRequests,
    kinds: Count::GlobalKinds,
    transactions: Count::GlobalTransactions,
    lines: Count::GlobalLines,
    coalesced: Count::GlobalCoalesced,
    bytes: Count::GlobalBytes,
};

pub(super) const LOCAL: MemoryGroups = MemoryGroups {
    requests: Count::LocalRequests,
    kinds: Count::LocalKinds,
    transactions: Count::LocalTransactions,
    lines: Count::LocalLines,
    coalesced: Count::LocalCoalesced,
    bytes: Count::LocalBytes,
};

pub(super) const SHARED: [Count; 5] =
    [Count::SharedRequests, Count::SharedKinds, Count::SharedConflicted, Count::SharedPasses, Count::SharedWavefronts];

/// Counts of memory as they are written; those for which `has` says no are left out.
pub(super) fn memory(counts: &MemoryCounts, groups: &MemoryGroups, has: impl Fn(Count) -> bool) -> Memory {
    let of = |group: Count, count: u64| Held(has(group).then_some(count));
    let is_ideal_known = counts.ideal_transactions().is_some();
    let ideal = |count: u64| Held(is_ideal_known.then_some(count));
    Memory {
        requests: of(groups.requests, counts.requests),
        loads: of(groups.kinds, counts.loads),
        stores: of(groups.kinds, counts.stores),
        atomics: of(groups.kinds, counts.atomics),
        t32: of(groups.transactions, counts.t32),
        t64: of(groups.transactions, counts.t64),
        t128: of(groups.transactions, counts.t128),
        lines: of(groups.lines, counts.lines),
        coalesced: of(groups.coalesced, counts.coalesced),
        uncoalesced: of(groups.coalesced, counts.uncoalesced),
        coalesced_transactions: of(groups.coalesced, counts.coalesced_transactions),
        uncoalesced_transactions: of(groups.coalesced, counts.uncoalesced_transactions),
        ideal_t32: ideal(counts.ideal_t32),
        ideal_t64: ideal(counts.ideal_t64),
        ideal_t128: ideal(counts.ideal_t128),
        bytes_requested: of(groups.bytes, counts.bytes_requested),
        bytes_moved: of(groups.transactions, counts.bytes_moved),
    }
}

/// Counts of shared memory as they are written; those for which `has` says no are left out.
pub(super) fn shared(counts: &SharedCounts, has: impl Fn(Count) -> bool) -> Shared {
    let of = |group: Count, count: u64| Held(has(group).then_some(count));
    Shared {
        requests: of(Count::SharedRequests, counts.requests),
        loads: of(Count::SharedKinds, counts.loads),
        stores: of(Count::SharedKinds, counts.stores),
        atomics: of(Count::SharedKinds, counts.atomics),
        conflicted: of(Count::SharedConflicted, counts.conflicted),
        passes: of(Count::SharedPasses, counts.passes),
        wavefronts: of(Count::SharedWavefronts, counts.wavefronts),
        ideal_wavefronts: of(Count::SharedWavefronts, counts.ideal_wavefronts),
    }
}
