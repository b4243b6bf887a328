//! Profiles made by hand for the tests of models.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use warplens_isa::{OpClass, Pc, SlowOperation, StateSpace};
use warplens_machine::{Machine, builtin};
use warplens_ptx::spelling;
use warplens_stats::{
    BankRule, CoalescingRule, ConstantCounts, Counted, Coverage, InstructionCounts, LaunchShape, LineCounts,
    MemoryCounts, OpcodeCount, Profile, RegistersBasis, Statistics,
};

/// The machines that every release is judged on.
pub(crate) const JUDGED: [&str; 6] = ["gtx280", "c1060", "k40", "v100-pcie", "a100-80", "h200"];

/// A built-in machine.
pub(crate) fn machine(id: &str) -> Machine {
    static BOARDS: LazyLock<Vec<Machine>> = LazyLock::new(|| builtin::all().expect("the shipped files load"));
    BOARDS.iter().find(|machine| machine.id == id).expect("a shipped machine").clone()
}

/// A profile of `grid` CTAs of `block` threads that does nothing yet.
pub(crate) fn empty(kernel: &str, grid: u32, block: u32, registers: u32, shared_bytes: u64) -> Profile {
    let launch = LaunchShape {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        cluster: None,
        shared_bytes,
        registers,
        registers_basis: RegistersBasis::User,
    };
    Profile {
        kernel: kernel.to_owned(),
        launch,
        counted: Counted::Ptx,
        absent: BTreeSet::new(),
        coverage: Coverage { ctas_executed: u64::from(grid), ctas_total: u64::from(grid), spread: 0.0 },
        warps: launch.n_ctas() * launch.n_warps(),
        instructions: InstructionCounts::default(),
        thread_instructions: 0,
        thread_instructions_pred_on: 0,
        branches: 0,
        divergent_branches: 0,
        barriers: 0,
        high_latency: BTreeMap::new(),
        global: BTreeMap::new(),
        local: BTreeMap::new(),
        shared: BTreeMap::new(),
        constant: ConstantCounts::default(),
        distinct_sectors_read: 0,
        distinct_sectors_written: 0,
        dram_sectors: None,
        vector_loads: 0,
        independent_loads: None,
        independent_loads_program_order: None,
        overlap_instructions: 0,
        duplicate_loads: BTreeMap::new(),
        duplicate_share: 1.0,
        instruction_parallelism: Some(1.6),
        instruction_parallelism_program_order: Some(1.3),
        statistics: Statistics::default(),
        order_dependent: false,
        lines: Vec::new(),
    }
}

/// Adds slow operations per warp to those that a profile counts, by kind and type.
pub(crate) fn slow(profile: &mut Profile, name: &str, per_warp: u64) {
    let operation = SlowOperation::from_name(name).expect("a slow operation");
    profile.high_latency.insert(operation, per_warp * profile.warps);
}

/// Adds `count` instructions per warp.
pub(crate) fn instructions(profile: &mut Profile, class: OpClass, opcode: &str, per_warp: u64) {
    let count = per_warp * profile.warps;
    profile.instructions.total += count;
    *profile.instructions.by_class.entry(class).or_default() += count;
    profile.instructions.by_opcode.push(OpcodeCount { opcode: spelling(opcode), count });
}

/// What one request to global memory makes: (32, 64, 128)-byte transactions and whether it is coalesced, on 1.2 and from
/// 3.0 on.
#[derive(Clone, Copy)]
pub(crate) struct Pattern {
    pub(crate) cc12: (u64, u64, u64),
    pub(crate) sectors: u64,
    pub(crate) coalesced: bool,
}

/// 32 lanes in 128 bytes that follow each other.
pub(crate) const STREAM: Pattern = Pattern { cc12: (0, 2, 0), sectors: 4, coalesced: true };

/// Adds `per_warp` global accesses of 4 bytes per lane.
pub(crate) fn access(profile: &mut Profile, opcode: &str, per_warp: u64, pattern: Pattern) {
    instructions(profile, OpClass::Memory, opcode, per_warp);
    let requests = per_warp * profile.warps;
    let mut by_rule = BTreeMap::new();
    for rule in CoalescingRule::ALL {
        let (t32, t64, t128) = match rule {
            CoalescingRule::Cc10 | CoalescingRule::Cc12 => pattern.cc12,
            CoalescingRule::Cc20 => (0, 0, pattern.sectors.div_ceil(4)),
            _ => (pattern.sectors, 0, 0),
        };
        let ideal = match rule {
            _ if pattern.coalesced => (t32, t64, t128),
            // 32 lanes of 4 bytes side by side, where that is no more transactions and bytes.
            CoalescingRule::Cc10 | CoalescingRule::Cc12
                if t32 + t64 + t128 < 2 || 32 * t32 + 64 * t64 + 128 * t128 < 128 =>
            {
                (t32, t64, t128)
            }
            CoalescingRule::Cc10 | CoalescingRule::Cc12 => (0, 2, 0),
            CoalescingRule::Cc20 => (0, 0, 1),
            _ => (pattern.sectors.min(4), 0, 0),
        };
        let counts = MemoryCounts {
            requests,
            loads: if spelling(opcode).key.is_load() { requests } else { 0 },
            stores: if spelling(opcode).key.is_store() { requests } else { 0 },
            atomics: 0,
            t32: t32 * requests,
            t64: t64 * requests,
            t128: t128 * requests,
            lines: 0,
            coalesced: if pattern.coalesced { requests } else { 0 },
            uncoalesced: if pattern.coalesced { 0 } else { requests },
            coalesced_transactions: if pattern.coalesced { (t32 + t64 + t128) * requests } else { 0 },
            uncoalesced_transactions: if pattern.coalesced { 0 } else { (t32 + t64 + t128) * requests },
            bytes_requested: 128 * requests,
            bytes_moved: (32 * t32 + 64 * t64 + 128 * t128) * requests,
            ideal_t32: ideal.0 * requests,
            ideal_t64: ideal.1 * requests,
            ideal_t128: ideal.2 * requests,
        };
        add(profile.global.entry(rule).or_default(), &counts);
        by_rule.insert(rule, counts);
    }
    profile.lines.push(LineCounts {
        pc: Pc(profile.lines.len() as u32),
        ptx_line: 1,
        source: None,
        opcode: spelling(opcode),
        space: Some(StateSpace::Global),
        executed: requests,
        threads: 32 * requests,
        divergent: 0,
        memory: by_rule,
        shared: BTreeMap::new(),
    });
}

fn add(sum: &mut MemoryCounts, other: &MemoryCounts) {
    sum.requests += other.requests;
    sum.loads += other.loads;
    sum.stores += other.stores;
    sum.atomics += other.atomics;
    sum.t32 += other.t32;
    sum.t64 += other.t64;
    sum.t128 += other.t128;
    sum.lines += other.lines;
    sum.coalesced += other.coalesced;
    sum.uncoalesced += other.uncoalesced;
    sum.coalesced_transactions += other.coalesced_transactions;
    sum.uncoalesced_transactions += other.uncoalesced_transactions;
    sum.ideal_t32 += other.ideal_t32;
    sum.ideal_t64 += other.ideal_t64;
    sum.ideal_t128 += other.ideal_t128;
    sum.bytes_requested += other.bytes_requested;
    sum.bytes_moved += other.bytes_moved;
}

/// Adds `per_warp` shared-memory loads of which each takes `ways` times the passes of one without conflict.
pub(crate) fn shared_loads(profile: &mut Profile, per_warp: u64, ways: [u64; 3]) {
    instructions(profile, OpClass::Memory, "ld.shared.f32", per_warp);
    let requests = per_warp * profile.warps;
    for (rule, ways) in BankRule::ALL.into_iter().zip(ways) {
        let ideal = if rule == BankRule::Cc10 { 2 * requests } else { requests };
        let counts = profile.shared.entry(rule).or_default();
        counts.requests += requests;
        counts.loads += requests;
        counts.conflicted += if ways > 1 { requests } else { 0 };
        counts.passes += ways * requests;
        counts.ideal_wavefronts += ideal;
        counts.wavefronts += ways * ideal;
    }
}

/// Sets both counts of independent loads.
pub(crate) fn independent(profile: &mut Profile, loads: f64) {
    profile.independent_loads = Some(loads);
    profile.independent_loads_program_order = Some(loads);
}

/// The vector addition of `n` floats, as nvcc writes it: 22 instructions per thread.
pub(crate) fn vector_add(n: u64) -> Profile {
    let mut profile = empty("vector_add", (n / 256) as u32, 256, 10, 0);
    access(&mut profile, "ld.global.f32", 2, STREAM);
    access(&mut profile, "st.global.f32", 1, STREAM);
    instructions(&mut profile, OpClass::Virtual, "ld.param.u64", 10);
    instructions(&mut profile, OpClass::Int, "add.s64", 5);
    instructions(&mut profile, OpClass::IntMul, "mul.wide.s32", 1);
    instructions(&mut profile, OpClass::Fp32, "add.f32", 1);
    instructions(&mut profile, OpClass::Control, "bra", 2);
    independent(&mut profile, 2.0);
    profile.distinct_sectors_read = 2 * n / 8;
    profile.distinct_sectors_written = n / 8;
    profile
}

/// C = A B of n x n floats by CTAs of 16 x 16, every element read from global memory where it is needed.
pub(crate) fn naive_product(n: u64) -> Profile {
    let mut profile = empty("naive", (n * n / 256) as u32, 256, 20, 0);
    // A warp is two rows: one element of A per row, the same 16 elements of B for both.
    access(&mut profile, "ld.global.f32", n, Pattern { cc12: (2, 0, 0), sectors: 2, coalesced: false });
    access(&mut profile, "ld.global.f32", n, Pattern { cc12: (0, 2, 0), sectors: 2, coalesced: false });
    access(&mut profile, "st.global.f32", 1, Pattern { cc12: (0, 2, 0), sectors: 4, coalesced: true });
    instructions(&mut profile, OpClass::Fp32, "fma.rn.f32", n);
    instructions(&mut profile, OpClass::Int, "add.s64", n / 2);
    instructions(&mut profile, OpClass::Control, "bra", n / 4);
    instructions(&mut profile, OpClass::Int, "setp.ne.s32", n / 4 + 20);
    independent(&mut profile, 8.0);
    for rule in CoalescingRule::ALL {
        // Eight warps read the same part of B; on 1.x both halves of a warp do.
        let factor = if rule <= CoalescingRule::Cc12 { 32.0 / 17.0 } else { 32.0 / 18.0 };
        profile.duplicate_loads.insert(rule, factor);
    }
    profile.distinct_sectors_read = 2 * n * n / 8;
    profile.distinct_sectors_written = n * n / 8;
    profile
}

/// The same through tiles in shared memory, whose loads take `ways` times their passes for one of two operands.
pub(crate) fn tiled_product(n: u64, ways: [u64; 3]) -> Profile {
    let tiles = n / 16;
    let mut profile = empty("tiled", (n * n / 256) as u32, 256, 24, 2048);
    let tile_row = Pattern { cc12: (0, 2, 0), sectors: 4, coalesced: true };
    access(&mut profile, "ld.global.f32", 2 * tiles, tile_row);
    access(&mut profile, "st.global.f32", 1, tile_row);
    instructions(&mut profile, OpClass::Memory, "st.shared.f32", 2 * tiles);
    shared_loads(&mut profile, n, [1; 3]);
    shared_loads(&mut profile, n, ways);
    instructions(&mut profile, OpClass::Fp32, "fma.rn.f32", n);
    instructions(&mut profile, OpClass::Barrier, "bar.sync", 2 * tiles);
    profile.barriers = 2 * tiles * profile.warps;
    instructions(&mut profile, OpClass::Int, "add.s64", 6 * tiles + 20);
    instructions(&mut profile, OpClass::Control, "bra", tiles);
    independent(&mut profile, 2.0);
    profile.distinct_sectors_read = 2 * n * n / 8;
    profile.distinct_sectors_written = n * n / 8;
    profile
}

/// Sum of four fields of `n` points, 16 bytes each, as structures or as arrays.
pub(crate) fn sum_of_fields(n: u64, as_structures: bool) -> Profile {
    let mut profile = empty("fields", (n / 256) as u32, 256, 12, 0);
    let strided = Pattern { cc12: (0, 0, 4), sectors: 16, coalesced: false };
    access(&mut profile, "ld.global.f32", 4, if as_structures { strided } else { STREAM });
    access(&mut profile, "st.global.f32", 1, STREAM);
    instructions(&mut profile, OpClass::Fp32, "add.f32", 3);
    instructions(&mut profile, OpClass::Int, "add.s64", 12);
    instructions(&mut profile, OpClass::Virtual, "ld.param.u64", 8);
    independent(&mut profile, 4.0);
    profile.distinct_sectors_read = 4 * n / 8;
    profile.distinct_sectors_written = n / 8;
    profile
}
