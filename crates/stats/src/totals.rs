//! Memory counts of one instruction under every rule.

use warplens_isa::StateSpace;
use warplens_trace::AccessKind;

use crate::access::Format;
use crate::recorder::Times;
use crate::{BankRule, CoalescingRule, ConstantCounts, MemoryCounts, Request, SharedCounts, Transactions};
use crate::{bank, coalescing};

pub(crate) const N_COALESCING: usize = CoalescingRule::ALL.len();
pub(crate) const N_BANK: usize = BankRule::ALL.len();

/// Counts by space and rule, in the order of the rules.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) global: [MemoryCounts; N_COALESCING],
    pub(crate) local: [MemoryCounts; N_COALESCING],
    pub(crate) shared: [SharedCounts; N_BANK],
    pub(crate) constant: ConstantCounts,
    /// Global loads of several elements per lane.
    pub(crate) vector_loads: u64,
}

impl Totals {
    /// Adds `n` executions of `request`.
    pub(crate) fn add(&mut self, format: Format, request: &Request<'_>, n: u64) {
        match format.space {
            StateSpace::Global | StateSpace::Generic => {
                if format.kind == AccessKind::Load && format.elements > 1 {
                    self.vector_loads += n;
                }
                add_memory(&mut self.global, format.kind, request, &coalescing::all_transactions(request), n);
            }
            StateSpace::Local => {
                add_memory(&mut self.local, format.kind, request, &coalescing::all_local_transactions(request), n);
            }
            StateSpace::Shared => {
                for (counts, passes) in self.shared.iter_mut().zip(bank::all_passes(format.kind, request)) {
                    counts.requests += n;
                    *of_kind(format.kind, &mut counts.loads, &mut counts.stores, &mut counts.atomics) += n;
                    counts.conflicted += if passes.passes > 1 { n } else { 0 };
                    counts.passes += n * u64::from(passes.passes);
                    counts.wavefronts += n * u64::from(passes.wavefronts);
                    counts.ideal_wavefronts += n * u64::from(passes.ideal);
                }
            }
            StateSpace::Const => {
                self.constant.requests += n;
                self.constant.passes += n * u64::from(bank::constant_passes(request));
            }
            // Counted by a statistic of its own.
            StateSpace::Texture | StateSpace::Surface => {}
            StateSpace::Param => {}
        }
    }

    /// Adds the counts of `other`, so many times.
    pub(crate) fn merge(&mut self, other: &Self, times: Times) {
        for (own, other) in self.global.iter_mut().zip(&other.global) {
            add_counts(own, other, times);
        }
        for (own, other) in self.local.iter_mut().zip(&other.local) {
            add_counts(own, other, times);
        }
        for (own, other) in self.shared.iter_mut().zip(&other.shared) {
            own.requests += times.of(other.requests);
            own.loads += times.of(other.loads);
            own.stores += times.of(other.stores);
            own.atomics += times.of(other.atomics);
            own.conflicted += times.of(other.conflicted);
            own.passes += times.of(other.passes);
            own.wavefronts += times.of(other.wavefronts);
            own.ideal_wavefronts += times.of(other.ideal_wavefronts);
        }
        self.constant.requests += times.of(other.constant.requests);
        self.constant.passes += times.of(other.constant.passes);
        self.vector_loads += times.of(other.vector_loads);
    }
}

fn of_kind<'a>(kind: AccessKind, load: &'a mut u64, store: &'a mut u64, atomic: &'a mut u64) -> &'a mut u64 {
    match kind {
        AccessKind::Load => load,
        AccessKind::Store => store,
        AccessKind::Atomic => atomic,
    }
}

fn add_memory(
    by_rule: &mut [MemoryCounts; N_COALESCING],
    kind: AccessKind,
    request: &Request<'_>,
    transactions: &[Transactions; N_COALESCING],
    n: u64,
) {
    let bytes_requested = n * u64::from(request.mask.count() * request.lane_bytes);
    for (counts, served) in by_rule.iter_mut().zip(transactions) {
        counts.requests += n;
        *of_kind(kind, &mut counts.loads, &mut counts.stores, &mut counts.atomics) += n;
        counts.t32 += n * u64::from(served.t32);
        counts.t64 += n * u64::from(served.t64);
        counts.t128 += n * u64::from(served.t128);
        counts.lines += n * u64::from(served.lines);
        let transactions = n * u64::from(served.count());
        if served.coalesced {
            counts.coalesced += n;
            counts.coalesced_transactions += transactions;
        } else {
            counts.uncoalesced += n;
            counts.uncoalesced_transactions += transactions;
        }
        counts.ideal_t32 += n * u64::from(served.ideal.t32);
        counts.ideal_t64 += n * u64::from(served.ideal.t64);
        counts.ideal_t128 += n * u64::from(served.ideal.t128);
        counts.bytes_requested += bytes_requested;
        counts.bytes_moved += n * u64::from(served.bytes());
    }
}

fn add_counts(own: &mut MemoryCounts, other: &MemoryCounts, times: Times) {
    own.requests += times.of(other.requests);
    own.loads += times.of(other.loads);
    own.stores += times.of(other.stores);
    own.atomics += times.of(other.atomics);
    own.t32 += times.of(other.t32);
    own.t64 += times.of(other.t64);
    own.t128 += times.of(other.t128);
    own.lines += times.of(other.lines);
    own.coalesced += times.of(other.coalesced);
    own.uncoalesced += times.of(other.uncoalesced);
    own.coalesced_transactions += times.of(other.coalesced_transactions);
    own.uncoalesced_transactions += times.of(other.uncoalesced_transactions);
    own.ideal_t32 += times.of(other.ideal_t32);
    own.ideal_t64 += times.of(other.ideal_t64);
    own.ideal_t128 += times.of(other.ideal_t128);
    own.bytes_requested += times.of(other.bytes_requested);
    own.bytes_moved += times.of(other.bytes_moved);
}
