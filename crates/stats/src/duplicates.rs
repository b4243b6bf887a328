//! How often the warps of a CTA load the same data.
//!
//! The n-th execution of a load by one warp and by another are taken to be in flight together: they form a group. The
//! factor is the sum of the transactions over all groups, divided by the sum of the groups' distinct segments. Loads of
//! vectors do not merge: their transactions count on both sides. Only some CTAs are looked at.

use rustc_hash::FxHashMap;
use warplens_trace::{Access, ActiveMask, WARP_SIZE, WarpIndex};

use crate::access::{AccessCounter, PatternId};
use crate::coalescing::{Segment, segments};
use crate::recorder::Times;
use crate::totals::N_COALESCING;
use crate::{CoalescingRule, Request};

/// At most this many CTAs of a launch are looked at.
pub(crate) const MAX_CTAS: u64 = 64;
/// Loads that may wait for the other warps of their CTA; beyond it the groups are closed as they are.
const MAX_WAITING: usize = 1 << 18;
/// Addresses that may be kept.
const MAX_KEPT: usize = 1 << 16;
const MAX_MEMO: usize = 1 << 14;

/// One warp's part of a group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Member {
    /// `None`: `origin` indexes the addresses that were kept.
    pattern: Option<PatternId>,
    /// Address of the lowest active lane.
    origin: u64,
}

/// Groups of one running CTA.
#[derive(Debug)]
pub(crate) struct DuplicateTracker {
    n_warps: usize,
    n_slots: usize,
    /// Executions by warp and memory instruction.
    executions: Vec<u32>,
    open: FxHashMap<(u32, u32), Vec<Member>>,
    waiting: usize,
    /// Member lists of closed groups.
    spare: Vec<Vec<Member>>,
    kept: Vec<KeptAddresses>,
}

#[derive(Debug)]
struct KeptAddresses {
    lane_bytes: u32,
    mask: ActiveMask,
    addresses: [u64; WARP_SIZE],
}

/// Sums over the groups of all CTAs that were looked at.
#[derive(Debug, Default)]
pub(crate) struct DuplicateCounter {
    pub(crate) sums: GroupSums,
    /// Sums of groups by their members, addresses counted from the first member's aligned address.
    memo: FxHashMap<Vec<Member>, GroupSums>,
    scratch: Vec<Member>,
}

/// Transactions and distinct segments, in the order of the rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct GroupSums {
    pub(crate) transactions: [u64; N_COALESCING],
    pub(crate) distinct: [u64; N_COALESCING],
}

impl GroupSums {
    pub(crate) fn add(&mut self, other: &Self) {
        self.add_times(other, Times::Exactly(1));
    }

    fn add_times(&mut self, other: &Self, times: Times) {
        for (own, other) in self.transactions.iter_mut().zip(other.transactions) {
            *own += times.of(other);
        }
        for (own, other) in self.distinct.iter_mut().zip(other.distinct) {
            *own += times.of(other);
        }
    }
}

impl DuplicateTracker {
    pub(crate) fn new(n_warps: usize, n_slots: usize) -> Self {
        Self {
            n_warps,
            n_slots,
            executions: vec![0; n_warps * n_slots],
            open: FxHashMap::default(),
            waiting: 0,
            spare: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// A warp executes the global load in `slot`.
    pub(crate) fn load(
        &mut self,
        counter: &mut DuplicateCounter,
        accesses: &AccessCounter,
        (warp, slot): (WarpIndex, u32),
        access: &Access<'_>,
        pattern: Option<PatternId>,
    ) {
        let member = self.member(access, pattern);
        if access.elements > 1 {
            let mut sums = counter.sums_of(&[member], accesses, &self.kept);
            sums.distinct = sums.transactions;
            counter.sums.add(&sums);
            if member.pattern.is_none() {
                self.kept.pop();
            }
            return;
        }
        let executions = &mut self.executions[warp.0 as usize * self.n_slots + slot as usize];
        let n = *executions;
        *executions += 1;
        let spare = &mut self.spare;
        let members = self.open.entry((slot, n)).or_insert_with(|| spare.pop().unwrap_or_default());
        members.push(member);
        self.waiting += 1;
        if members.len() == self.n_warps
            && let Some(mut members) = self.open.remove(&(slot, n))
        {
            self.waiting -= members.len();
            let sums = counter.sums_of(&members, accesses, &self.kept);
            counter.sums.add(&sums);
            members.clear();
            self.spare.push(members);
        }
        if self.waiting > MAX_WAITING || self.kept.len() > MAX_KEPT {
            self.close(counter, accesses);
        }
    }

    /// A warp executes a load without any lane that takes part.
    pub(crate) fn pass_over(&mut self, warp: WarpIndex, slot: u32) {
        self.executions[warp.0 as usize * self.n_slots + slot as usize] += 1;
    }

    /// Closes all groups.
    pub(crate) fn close(&mut self, counter: &mut DuplicateCounter, accesses: &AccessCounter) {
        for (_, members) in self.open.drain() {
            let sums = counter.sums_of(&members, accesses, &self.kept);
            counter.sums.add(&sums);
        }
        self.waiting = 0;
        self.kept.clear();
    }

    fn member(&mut self, access: &Access<'_>, pattern: Option<PatternId>) -> Member {
        if pattern.is_some() {
            let first = access.mask.lowest().unwrap_or(0);
            return Member { pattern, origin: access.addresses.of(first) };
        }
        let (lane_bytes, mask, addresses) = (access.lane_bytes(), access.mask, access.addresses.all());
        self.kept.push(KeptAddresses { lane_bytes, mask, addresses });
        Member { pattern, origin: self.kept.len() as u64 - 1 }
    }
}

impl DuplicateCounter {
    fn sums_of(&mut self, members: &[Member], accesses: &AccessCounter, kept: &[KeptAddresses]) -> GroupSums {
        if members.iter().any(|member| member.pattern.is_none()) {
            return compute(members, accesses, kept);
        }
        // Segments are aligned to 128 bytes at most, those of 16-byte words on 1.x to 256.
        let base = members.first().map_or(0, |member| member.origin & !255);
        self.scratch.clear();
        let relative = |member: &Member| Member { origin: member.origin.wrapping_sub(base), ..*member };
        self.scratch.extend(members.iter().map(relative));
        if let Some(sums) = self.memo.get(&self.scratch) {
            return *sums;
        }
        let sums = compute(members, accesses, kept);
        if self.memo.len() < MAX_MEMO {
            self.memo.insert(self.scratch.clone(), sums);
        }
        sums
    }

    /// Adds the sums of another counter, so many times.
    pub(crate) fn merge(&mut self, other: &Self, times: Times) {
        self.sums.add_times(&other.sums, times);
    }
}

fn compute(members: &[Member], accesses: &AccessCounter, kept: &[KeptAddresses]) -> GroupSums {
    let mut sums = GroupSums::default();
    let mut found: Vec<Segment> = Vec::new();
    for (index, rule) in CoalescingRule::ALL.into_iter().enumerate() {
        if rule > CoalescingRule::Cc30 {
            // The same sectors as 3.0.
            sums.transactions[index] = sums.transactions[index - 1];
            sums.distinct[index] = sums.distinct[index - 1];
            continue;
        }
        found.clear();
        for member in members {
            match member.pattern {
                Some(id) => {
                    let pattern = accesses.pattern(id);
                    let addresses = pattern.addresses(member.origin);
                    let lane_bytes = pattern.format.lane_bytes();
                    let request = Request { lane_bytes, mask: pattern.mask, addresses: &addresses };
                    segments(rule, &request, |segment| found.push(segment));
                }
                None => {
                    let KeptAddresses { lane_bytes, mask, addresses } = &kept[member.origin as usize];
                    let request = Request { lane_bytes: *lane_bytes, mask: *mask, addresses };
                    segments(rule, &request, |segment| found.push(segment));
                }
            }
        }
        sums.transactions[index] = found.len() as u64;
        found.sort_unstable();
        found.dedup();
        sums.distinct[index] = found.len() as u64;
    }
    sums
}
