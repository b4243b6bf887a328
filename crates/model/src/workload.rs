//! What one warp does on the average, from a profile, under the rules of one machine's generation.

use std::collections::BTreeMap;

use warplens_isa::{InstKey, OpClass, Spelling, StateSpace, TensorLanes, TensorWork};
use warplens_machine::ComputeCapability;
use warplens_stats::{BankRule, CoalescingRule, Count, Counted, MemoryCounts, Profile, RegistersBasis, SharedCounts};

use crate::assumption::AssumptionId;
use crate::{Assumption, CountBasis, FermiL1, LoadOrder, Options};

/// Mean counts of one launched warp. All are real numbers: divergent kernels average over warps.
#[derive(Clone, PartialEq, Debug)]
pub struct Workload {
    /// Launched warps, at least one.
    pub n_warps: f64,
    /// Warp instructions.
    pub total_insts: f64,
    /// Warp instructions by class; together `total_insts`.
    pub by_class: BTreeMap<OpClass, f64>,
    /// Executions of operations that expand or are slow, as the program writes them.
    pub high_latency: Vec<(Spelling, f64)>,
    /// Requests to global and local memory.
    pub mem_insts: f64,
    /// Of those, coalesced.
    pub coalesced: f64,
    /// Of those, not coalesced.
    pub uncoalesced: f64,
    /// Mean transactions of a coalesced request; 1 where there is none.
    pub transactions_per_coalesced: f64,
    /// Mean transactions of an uncoalesced request; 1 where there is none.
    pub transactions_per_uncoalesced: f64,
    /// Bytes that the lanes ask for.
    pub bytes_requested: f64,
    /// Transactions of global loads, which may merge.
    pub loads: Transactions,
    /// All other transactions: stores, atomics, local memory.
    pub others: Transactions,
    /// Bytes of distinct global sectors, read and written, as far as the transactions move as many.
    pub distinct_bytes: f64,
    /// Loads that a warp has in flight before it needs the first one's value, at least 1.
    pub independent_loads: f64,
    /// Loads in flight that fetch the same data, at least 1.
    pub duplicate_loads: f64,
    /// Share of the loads' transactions that hit in a cache before DRAM; 0 until a model says otherwise.
    pub hits: f64,
    /// Instructions between a load and the first use of its value.
    pub overlap_insts: f64,
    /// CTA barriers.
    pub barriers: f64,
    /// Wavefronts of shared-memory accesses beyond the one that each access takes (two, one per half-warp, on 1.x).
    pub extra_passes: f64,
    /// Constant-memory requests.
    pub constant_requests: f64,
    /// Products of matrices: instructions, and their work on the tensor lanes, by the sort of these.
    pub products: BTreeMap<TensorLanes, (f64, f64)>,
}

/// Transactions by size.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Transactions {
    /// Of 32 bytes.
    pub t32: f64,
    /// Of 64 bytes.
    pub t64: f64,
    /// Of 128 bytes.
    pub t128: f64,
    /// Of 32 bytes, by loads of vectors.
    pub t32_vector: f64,
}

impl Transactions {
    /// Of all sizes.
    pub fn count(&self) -> f64 {
        self.t32 + self.t64 + self.t128 + self.t32_vector
    }

    /// Bytes that they move.
    pub fn bytes(&self) -> f64 {
        32.0 * (self.t32 + self.t32_vector) + 64.0 * self.t64 + 128.0 * self.t128
    }

    /// `factor` times as many.
    pub fn scaled(&self, factor: f64) -> Self {
        Self {
            t32: self.t32 * factor,
            t64: self.t64 * factor,
            t128: self.t128 * factor,
            t32_vector: self.t32_vector * factor,
        }
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            t32: self.t32 + other.t32,
            t64: self.t64 + other.t64,
            t128: self.t128 + other.t128,
            t32_vector: self.t32_vector + other.t32_vector,
        }
    }
}

impl Workload {
    /// The workload of `profile` on a machine of compute capability `cc`.
    pub fn new(profile: &Profile, cc: ComputeCapability, options: &Options) -> Self {
        let rule = coalescing_rule(cc, options.fermi_l1);
        let n_warps = profile.warps.max(1) as f64;
        let per_warp = |count: u64| count as f64 / n_warps;
        let global = profile.global.get(&rule).copied().unwrap_or_default();
        let local = profile.local.get(&rule).copied().unwrap_or_default();
        let mean = |transactions: u64, requests: u64| {
            if requests == 0 { 1.0 } else { transactions as f64 / requests as f64 }
        };
        let (loads, others) = transactions(profile, rule, &global, &local);
        let distinct = 32 * sectors_moved(profile);
        let independent_loads = match options.loads {
            LoadOrder::Reordered => profile.independent_loads,
            LoadOrder::Program => profile.independent_loads_program_order,
        };
        let by_class = by_class(profile, options.counts, n_warps);
        let shared = profile.shared.get(&BankRule::of(u32::from(cc.major))).copied().unwrap_or_default();
        Self {
            n_warps,
            total_insts: by_class.values().fold(0.0, |sum, count| sum + count),
            by_class,
            high_latency: high_latency(profile, n_warps),
            mem_insts: per_warp(global.requests + local.requests),
            coalesced: per_warp(global.coalesced + local.coalesced),
            uncoalesced: per_warp(global.uncoalesced + local.uncoalesced),
            transactions_per_coalesced: mean(
                global.coalesced_transactions + local.coalesced_transactions,
                global.coalesced + local.coalesced,
            ),
            transactions_per_uncoalesced: mean(
                global.uncoalesced_transactions + local.uncoalesced_transactions,
                global.uncoalesced + local.uncoalesced,
            ),
            bytes_requested: per_warp(global.bytes_requested + local.bytes_requested),
            // An atomic both reads and writes its sector in one transaction.
            distinct_bytes: match profile.has(Count::DistinctSectors) {
                true => per_warp(distinct).min(loads.plus(&others).bytes() / n_warps),
                false => per_warp(distinct),
            },
            loads: loads.scaled(1.0 / n_warps),
            others: others.scaled(1.0 / n_warps),
            independent_loads: independent_loads.unwrap_or(1.0).max(1.0),
            duplicate_loads: profile.duplicate_loads.get(&rule).copied().unwrap_or(1.0).max(1.0),
            hits: 0.0,
            overlap_insts: per_warp(profile.overlap_instructions),
            barriers: per_warp(profile.barriers),
            extra_passes: match profile.has(Count::SharedRequests) && profile.has(Count::SharedWavefronts) {
                true => per_warp(extra_passes(&shared, cc)),
                false => 0.0,
            },
            constant_requests: per_warp(profile.constant.requests),
            products: products(profile, n_warps),
        }
    }

    /// The transactions that reach memory: loads of the same data merged, but each distinct sector moved once. Also says
    /// whether the latter made a difference.
    pub fn merged(&self) -> (Transactions, bool) {
        let merged = self.loads.scaled((1.0 - self.hits) / self.duplicate_loads).plus(&self.others);
        let bytes = merged.bytes();
        if bytes > 0.0 && bytes < self.distinct_bytes {
            return (merged.scaled(self.distinct_bytes / bytes), true);
        }
        (merged, false)
    }
}

/// The coalescing rule of a generation.
pub fn coalescing_rule(cc: ComputeCapability, fermi_l1: FermiL1) -> CoalescingRule {
    match CoalescingRule::of(u32::from(cc.major), u32::from(cc.minor)) {
        CoalescingRule::Cc20 if fermi_l1 == FermiL1::Off => CoalescingRule::Cc20L1Off,
        rule => rule,
    }
}

/// Distinct sectors, or where those are not counted what was measured at DRAM; 0 where nothing is known.
fn sectors_moved(profile: &Profile) -> u64 {
    if profile.has(Count::DistinctSectors) {
        return profile.distinct_sectors_read + profile.distinct_sectors_written;
    }
    profile.dram_sectors.map_or(0, |[read, written]| read + written)
}

/// Transactions of global loads, and all others, of the launch.
fn transactions(
    profile: &Profile,
    rule: CoalescingRule,
    global: &MemoryCounts,
    local: &MemoryCounts,
) -> (Transactions, Transactions) {
    let mut loads = Transactions::default();
    for line in &profile.lines {
        let Some(counts) = line.memory.get(&rule) else { continue };
        if !line.opcode.key.is_load() || line.space == Some(StateSpace::Local) {
            continue;
        }
        let is_vector = line.opcode.key.is_vector();
        let t32 = counts.t32 as f64;
        loads.t32 += if is_vector { 0.0 } else { t32 };
        loads.t32_vector += if is_vector { t32 } else { 0.0 };
        loads.t64 += counts.t64 as f64;
        loads.t128 += counts.t128 as f64;
    }
    let all = |size: fn(&MemoryCounts) -> u64| (size(global) + size(local)) as f64;
    // Lines are scaled one by one, so that their sum may differ from the total by rounding.
    let others = Transactions {
        t32: (all(|counts| counts.t32) - loads.t32 - loads.t32_vector).max(0.0),
        t64: (all(|counts| counts.t64) - loads.t64).max(0.0),
        t128: (all(|counts| counts.t128) - loads.t128).max(0.0),
        t32_vector: 0.0,
    };
    (loads, others)
}

/// Instructions per warp by class; what no class claims is of class `other`.
fn by_class(profile: &Profile, counts: CountBasis, n_warps: f64) -> BTreeMap<OpClass, f64> {
    let instructions = &profile.instructions;
    let mut by_class: BTreeMap<OpClass, f64> =
        instructions.by_class.iter().map(|(&class, &count)| (class, count as f64 / n_warps)).collect();
    let classed: u64 = instructions.by_class.values().sum();
    let rest = instructions.total.saturating_sub(classed);
    if rest > 0 {
        *by_class.entry(OpClass::Other).or_default() += rest as f64 / n_warps;
    }
    if counts == CountBasis::Machine {
        by_class.remove(&OpClass::Virtual);
    }
    by_class
}

/// Operations that expand or are slow, as the program writes them where that is known, else by kind and type.
fn high_latency(profile: &Profile, n_warps: f64) -> Vec<(Spelling, f64)> {
    let mut left = profile.high_latency.clone();
    let mut found: Vec<(Spelling, f64)> = Vec::new();
    for counted in &profile.instructions.by_opcode {
        let operation = counted.opcode.key.slow_operation();
        let Some(left) = operation.and_then(|operation| left.get_mut(&operation)) else { continue };
        let executed = counted.count.min(*left);
        *left -= executed;
        found.push((counted.opcode.clone(), executed as f64 / n_warps));
    }
    found.extend(left.into_iter().map(|(operation, left)| (InstKey::from(operation).into(), left as f64 / n_warps)));
    found.retain(|(_, count)| *count > 0.0);
    found
}

/// Products of matrices of one warp, and their work.
fn products(profile: &Profile, n_warps: f64) -> BTreeMap<TensorLanes, (f64, f64)> {
    let mut products: BTreeMap<TensorLanes, (f64, f64)> = BTreeMap::new();
    for counted in &profile.instructions.by_opcode {
        let Some(TensorWork { lanes, work, .. }) = counted.opcode.key.tensor_work() else { continue };
        let count = counted.count as f64 / n_warps;
        let (instructions, all) = products.entry(lanes).or_default();
        *instructions += count;
        *all += count * f64::from(work);
    }
    products
}

/// Wavefronts beyond those that an access takes anyway: one, on 1.x one for each half-warp.
fn extra_passes(shared: &SharedCounts, cc: ComputeCapability) -> u64 {
    let phases = if cc.major < 2 { 2 } else { 1 };
    shared.wavefronts.saturating_sub(shared.ideal_wavefronts.min(phases * shared.requests))
}

/// What the numbers of a profile assume, whatever the model.
pub(crate) fn assumptions(profile: &Profile, options: &Options) -> Vec<Assumption> {
    let share = profile.instructions.virtual_share();
    let mut sentences = vec![match options.counts {
        _ if profile.counted == Counted::Machine => AssumptionId::ProfiledCounts.plain(),
        _ if profile.counted == Counted::Reduced => AssumptionId::MachineCounts.plain(),
        CountBasis::AsWritten => AssumptionId::PtxCounts
            .with(format!("{:.1} % are register copies, address conversions and parameter loads", 100.0 * share)),
        CountBasis::Machine => AssumptionId::MachineCounts.plain(),
    }];
    let coverage = &profile.coverage;
    if coverage.ctas_executed < coverage.ctas_total {
        sentences.push(AssumptionId::Sampled.with(format!(
            "{} of {} CTAs, {}",
            coverage.ctas_executed,
            coverage.ctas_total,
            coverage.difference()
        )));
    }
    if profile.launch.registers_basis == RegistersBasis::Estimate {
        sentences.push(AssumptionId::RegistersEstimated.with(format!("{} per thread", profile.launch.registers)));
    }
    if profile.order_dependent {
        sentences.push(AssumptionId::OrderDependent.plain());
    }
    if profile.constant.requests > 0 {
        sentences.push(AssumptionId::ConstantHits.plain());
    }
    sentences
}
