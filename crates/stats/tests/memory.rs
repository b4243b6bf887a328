//! Counts of memory accesses: requests, transactions, sectors, duplicates, lines.

mod support;

use proptest::prelude::*;
use support::{Kernel, W0, access, by_lane, guarded, in_cta, p, profile, r, shape};
use warplens_ir::{Flow, FunctionId, Inst, MemoryReference, Operand};
use warplens_isa::{Atomic, AtomicOp, BlockId, Operation, Pc, ScalarType, StateSpace};
use warplens_stats::coalescing::all_transactions;
use warplens_stats::{BankRule, CoalescingRule, Counting, FinishOptions, MemoryCounts, Program, Recorder, Request};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, Observer, WarpIndex};

const BASE: u64 = 0x10_0000_0000;
const B0: BlockId = BlockId(0);

/// A kernel of one block with these memory instructions.
fn kernel(make: impl FnOnce(&mut Kernel) -> Vec<Inst>) -> (Kernel, Vec<Pc>) {
    let mut k = Kernel::new();
    let mut insts = make(&mut k);
    let pcs = insts.iter().map(|inst| inst.pc).collect();
    insts.push(k.exit());
    k.block(insts, Flow::Exit { next: None });
    (k, pcs)
}

fn load_and_store() -> (Kernel, Vec<Pc>) {
    kernel(|k| {
        vec![
            k.load(StateSpace::Global, r(1), r(0), 0),
            k.store(StateSpace::Global, r(2), 0, r(3)),
            k.inst(
                "red.global.add.u32",
                Operation::Red(Atomic { op: AtomicOp::Add, ordered: false }),
                ScalarType::U32,
                &[],
                &[r(3)],
            ),
        ]
        .into_iter()
        .map(with_global_memory)
        .collect()
    })
}

fn with_global_memory(inst: Inst) -> Inst {
    let memory = MemoryReference { space: StateSpace::Global, base: Operand::Register(r(0)), offset: 0, elements: 1 };
    Inst { memory: inst.memory.one().unwrap_or(memory).into(), ..inst }
}

#[test]
fn loads_stores_and_atomics() {
    let (k, pcs) = load_and_store();
    let mut recorder = k.recorder(1, 32);
    let row = by_lane(|lane| BASE + 4 * lane);
    let column = by_lane(|lane| BASE + 4096 + 256 * lane);
    let one = by_lane(|_| BASE + 512);
    in_cta(&mut recorder, 0, |recorder, cta| {
        recorder.block(cta, W0, B0, ActiveMask::FULL);
        recorder.access(cta, W0, pcs[0], &access(StateSpace::Global, AccessKind::Load, &row));
        recorder.access(cta, W0, pcs[1], &access(StateSpace::Global, AccessKind::Store, &column));
        recorder.access(cta, W0, pcs[2], &access(StateSpace::Global, AccessKind::Atomic, &one));
    });
    let profile = profile(&recorder);
    let counts = profile.global[&CoalescingRule::Cc12];
    // Load: 2 x 64 B. Store: 32 x 32 B. Atomic: one 32 B per half-warp.
    let expected = MemoryCounts {
        requests: 3,
        loads: 1,
        stores: 1,
        atomics: 1,
        t32: 34,
        t64: 2,
        t128: 0,
        lines: 0,
        coalesced: 2,
        uncoalesced: 1,
        coalesced_transactions: 4,
        uncoalesced_transactions: 32,
        // Store: 2 x 64 B, as the load.
        ideal_t32: 2,
        ideal_t64: 4,
        ideal_t128: 0,
        bytes_requested: 3 * 128,
        bytes_moved: 34 * 32 + 2 * 64,
    };
    assert_eq!(counts, expected);
    let sectors = profile.global[&CoalescingRule::Cc70];
    assert_eq!((sectors.t32, sectors.lines, sectors.bytes_moved), (4 + 32 + 1, 1 + 32 + 1, 37 * 32));
    assert_eq!((sectors.coalesced, sectors.uncoalesced), (2, 1));
    let strict = profile.global[&CoalescingRule::Cc10];
    assert_eq!((strict.t32, strict.t64, strict.coalesced), (64, 2, 1));
    // An atomic reads and writes its sector.
    assert_eq!((profile.distinct_sectors_read, profile.distinct_sectors_written), (5, 33));
    assert_eq!(profile.local[&CoalescingRule::Cc70], MemoryCounts::default());
    let lines: Vec<_> = profile.lines.iter().map(|line| line.memory[&CoalescingRule::Cc70].t32).collect();
    assert_eq!(lines, [4, 32, 1]);
    assert_eq!(profile.lines[1].space, Some(StateSpace::Global));
    assert_eq!((profile.lines[1].opcode.to_string().as_str(), profile.lines[1].ptx_line), ("st.global.f32", 11));
}

#[test]
fn other_spaces() {
    let (k, pcs) = kernel(|k| {
        vec![
            k.load(StateSpace::Shared, r(1), r(0), 0),
            k.load(StateSpace::Local, r(1), r(0), 0),
            k.load(StateSpace::Const, r(1), r(0), 0),
            k.load(StateSpace::Generic, r(1), r(0), 0),
        ]
    });
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        recorder.block(cta, W0, B0, ActiveMask::FULL);
        let mut load = |pc, space, addresses: [u64; 32]| {
            recorder.access(cta, W0, pc, &access(space, AccessKind::Load, &addresses));
        };
        load(pcs[0], StateSpace::Shared, by_lane(|lane| 4 * lane));
        load(pcs[0], StateSpace::Shared, by_lane(|lane| 128 * lane));
        load(pcs[1], StateSpace::Local, [16; 32]);
        load(pcs[2], StateSpace::Const, by_lane(|lane| 4 * (lane % 2)));
        load(pcs[2], StateSpace::Param, [0; 32]);
        load(pcs[3], StateSpace::Shared, by_lane(|lane| 8 * lane));
        load(pcs[3], StateSpace::Global, by_lane(|lane| BASE + 4 * lane));
    });
    let profile = profile(&recorder);
    let shared = profile.shared[&BankRule::Cc20];
    assert_eq!((shared.requests, shared.loads, shared.stores, shared.conflicted), (3, 3, 0, 2));
    assert_eq!((shared.passes, shared.wavefronts, shared.ideal_wavefronts), (1 + 32 + 2, 1 + 32 + 2, 3));
    let early = profile.shared[&BankRule::Cc10];
    assert_eq!((early.passes, early.conflicted), (1 + 16 + 2, 2));
    assert_eq!((early.wavefronts, early.ideal_wavefronts), (2 + 32 + 4, 6));
    let kepler = profile.shared[&BankRule::Cc30];
    assert_eq!((kepler.passes, kepler.conflicted), (1 + 16 + 1, 1));
    let local = profile.local[&CoalescingRule::Cc50];
    assert_eq!((local.requests, local.t32, local.coalesced), (1, 4, 1));
    assert_eq!((profile.constant.requests, profile.constant.passes), (1, 2));
    assert_eq!(profile.global[&CoalescingRule::Cc50].requests, 1);
    let spaces: Vec<_> = profile.lines.iter().map(|line| line.space).collect();
    let expected = [StateSpace::Shared, StateSpace::Local, StateSpace::Const, StateSpace::Generic].map(Some);
    assert_eq!(spaces, expected);
    assert_eq!(profile.lines[0].shared[&BankRule::Cc20].passes, 33);
    assert_eq!(profile.lines[3].shared[&BankRule::Cc20].passes, 2);
    assert_eq!(profile.lines[3].memory[&CoalescingRule::Cc50].t32, 4);
}

#[test]
fn guarded_accesses_count_the_lanes_that_take_part() {
    let (k, pcs) = kernel(|k| {
        let load = k.load(StateSpace::Global, r(1), r(0), 0);
        vec![guarded(load, Some(p(0)))]
    });
    let mut recorder = k.recorder(1, 32);
    let row = by_lane(|lane| BASE + 4 * lane);
    in_cta(&mut recorder, 0, |recorder, cta| {
        // Lanes 0..8 in the first execution; none in the second, which is no request.
        for mask in [ActiveMask::first(8), ActiveMask::EMPTY] {
            recorder.block(cta, W0, B0, ActiveMask::FULL);
            recorder.predicated(cta, W0, pcs[0], ActiveMask::FULL, mask);
            if !mask.is_empty() {
                let access = Access { mask, ..access(StateSpace::Global, AccessKind::Load, &row) };
                recorder.access(cta, W0, pcs[0], &access);
            }
        }
    });
    let profile = profile(&recorder);
    let counts = profile.global[&CoalescingRule::Cc70];
    assert_eq!((counts.requests, counts.t32, counts.bytes_requested), (1, 1, 32));
    assert_eq!((profile.lines[0].executed, profile.lines[0].threads), (2, 8));
}

/// Eight warps read the same 128 B in each of two iterations, then each its own.
#[test]
fn duplicate_loads_of_a_cta() {
    let (k, pcs) = load_and_store();
    let mut recorder = k.recorder(1, 256);
    in_cta(&mut recorder, 0, |recorder, cta| {
        for iteration in 0..3 {
            for warp in 0..8 {
                let own = if iteration == 2 { 128 * u64::from(warp) } else { 0 };
                let row = by_lane(|lane| BASE + 4096 * iteration + own + 4 * lane);
                let access = access(StateSpace::Global, AccessKind::Load, &row);
                recorder.access(cta, WarpIndex(warp), pcs[0], &access);
            }
        }
    });
    let profile = profile(&recorder);
    // Per rule: every request takes the same number of transactions; 24 requests, 1 + 1 + 8 distinct.
    for (rule, factor) in &profile.duplicate_loads {
        assert!((factor - 2.4).abs() < 1e-12, "{} {factor}", rule.name());
    }
    assert_eq!(profile.duplicate_loads.len(), 7);
    assert_eq!(profile.duplicate_share, 1.0);
}

#[test]
fn groups_pair_the_same_execution_of_each_warp() {
    let (k, pcs) = load_and_store();
    let run = |addresses: [[u64; 2]; 2]| {
        let mut recorder = k.recorder(1, 64);
        in_cta(&mut recorder, 0, |recorder, cta| {
            // One warp runs ahead of the other.
            for (warp, executions) in addresses.into_iter().enumerate() {
                for start in executions {
                    let row = by_lane(|lane| BASE + start + 4 * lane);
                    let access = access(StateSpace::Global, AccessKind::Load, &row);
                    recorder.access(cta, WarpIndex(warp as u32), pcs[0], &access);
                }
            }
        });
        profile(&recorder).duplicate_loads[&CoalescingRule::Cc70]
    };
    assert_eq!(run([[0, 128], [0, 128]]), 2.0);
    assert_eq!(run([[0, 128], [128, 0]]), 1.0);
    // Warp 1 is two sectors behind: 4 + 4 transactions, 6 distinct sectors, in both groups.
    assert!((run([[0, 256], [64, 320]]) - 8.0 / 6.0).abs() < 1e-12);
}

#[test]
fn vector_loads_and_stores_do_not_merge() {
    let (k, pcs) = kernel(|k| {
        let mut load = k.load(StateSpace::Global, r(4), r(0), 0);
        load.memory =
            load.memory.one().map(|memory| MemoryReference { elements: 4, ..memory }.into()).unwrap_or_default();
        vec![load, k.store(StateSpace::Global, r(0), 0, r(1)), k.load(StateSpace::Global, r(1), r(0), 0)]
    });
    let mut recorder = k.recorder(1, 64);
    let quads = by_lane(|lane| BASE + 16 * lane);
    let row = by_lane(|lane| BASE + 4 * lane);
    in_cta(&mut recorder, 0, |recorder, cta| {
        for warp in [W0, WarpIndex(1)] {
            let vector = Access { elements: 4, ..access(StateSpace::Global, AccessKind::Load, &quads) };
            recorder.access(cta, warp, pcs[0], &vector);
            recorder.access(cta, warp, pcs[1], &access(StateSpace::Global, AccessKind::Store, &row));
            recorder.access(cta, warp, pcs[2], &access(StateSpace::Global, AccessKind::Load, &row));
        }
    });
    let profile = profile(&recorder);
    assert_eq!(profile.vector_loads, 2);
    // Vector: 2 x 16 sectors on both sides. Scalar: 8 sectors, 4 distinct. Stores do not take part.
    let factor = profile.duplicate_loads[&CoalescingRule::Cc70];
    assert!((factor - 40.0 / 36.0).abs() < 1e-12, "{factor}");
}

#[test]
fn duplicates_are_counted_in_64_evenly_spaced_ctas() {
    let (k, pcs) = load_and_store();
    let mut recorder = k.recorder(640, 64);
    for cta in 0..640 {
        in_cta(&mut recorder, cta, |recorder, record| {
            for warp in 0..2 {
                // Only in every tenth CTA, those that are looked at, do the warps read the same.
                let own = if cta % 10 == 0 { 0 } else { 4096 * u64::from(warp) };
                let row = by_lane(|lane| BASE + own + 4 * lane);
                let access = access(StateSpace::Global, AccessKind::Load, &row);
                recorder.access(record, WarpIndex(warp), pcs[0], &access);
            }
        });
    }
    let profile = profile(&recorder);
    assert_eq!(profile.duplicate_loads[&CoalescingRule::Cc20], 2.0);
    assert_eq!(profile.duplicate_share, 0.1);
}

#[test]
fn distinct_sectors_are_a_union_over_the_launch() {
    let (k, pcs) = load_and_store();
    let mut recorder = k.recorder(100, 32);
    for cta in 0..100 {
        in_cta(&mut recorder, cta, |recorder, record| {
            // Neighbours overlap by half; every CTA also reads one far sector per lane, always the same.
            let row = by_lane(|lane| BASE + 64 * u64::from(cta) + 4 * lane);
            recorder.access(record, W0, pcs[0], &access(StateSpace::Global, AccessKind::Load, &row));
            let far = by_lane(|lane| 2 * BASE + (lane << 24));
            recorder.access(record, W0, pcs[0], &access(StateSpace::Global, AccessKind::Load, &far));
            recorder.access(record, W0, pcs[1], &access(StateSpace::Global, AccessKind::Store, &row));
        });
    }
    let profile = profile(&recorder);
    assert_eq!((profile.distinct_sectors_read, profile.distinct_sectors_written), (2 * 100 + 2 + 32, 202));
}

/// Lanes step through their rows: the sectors change only every eighth step.
#[test]
fn sectors_of_rows_walked_in_parallel() {
    let (k, pcs) = load_and_store();
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, record| {
        for step in 0..20 {
            let rows = by_lane(|lane| BASE + 4096 * lane + 4 * step);
            recorder.access(record, W0, pcs[0], &access(StateSpace::Global, AccessKind::Load, &rows));
        }
    });
    let profile = profile(&recorder);
    assert_eq!(profile.distinct_sectors_read, 32 * 3);
    assert_eq!(profile.global[&CoalescingRule::Cc70].t32, 32 * 20);
}

#[test]
fn no_more_sectors_than_memory_exists() {
    let (k, pcs) = load_and_store();
    let program = Program::new(&k.module, FunctionId(0), shape(1000, 32));
    let mut recorder = Recorder::new(program, [CtaId(0)].into_iter());
    let row = by_lane(|lane| BASE + 4 * lane);
    in_cta(&mut recorder, 0, |recorder, record| {
        recorder.access(record, W0, pcs[0], &access(StateSpace::Global, AccessKind::Load, &row));
    });
    let read =
        |global_bytes| recorder.finish(FinishOptions { counting: Counting::Ptx, global_bytes }).distinct_sectors_read;
    assert_eq!([read(None), read(Some(3200)), read(Some(32))], [4000, 100, 4]);
}

fn any_access() -> impl Strategy<Value = (usize, u32, u64, [u64; 32], u32)> {
    let steps = prop::sample::select(vec![0u64, 4, 8, 32, 36, 4096]);
    let irregular = prop::collection::vec(0u64..4000, 32);
    (0usize..3, any::<u32>(), 0u64..2000, steps, irregular, 0u32..10).prop_map(
        |(inst, mask, start, step, irregular, choice)| {
            let mask = if choice < 5 { u32::MAX } else { mask | 1 };
            let addresses = match choice % 5 {
                0 => std::array::from_fn(|lane| BASE + 4 * (irregular[lane] + start)),
                1 => by_lane(|lane| BASE + 4 * start + (1 << 34) * lane),
                2 => by_lane(|lane| BASE + 4 * start + step * (31 - lane)),
                _ => by_lane(|lane| BASE + 4 * start + step * lane),
            };
            (inst, mask, start, addresses, choice)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Shapes, their memo and the direct path add up to the rules applied one by one; forks add up to one recorder.
    #[test]
    fn totals_are_those_of_the_rules(accesses in prop::collection::vec(any_access(), 1..400)) {
        let (k, pcs) = load_and_store();
        let kinds = [AccessKind::Load, AccessKind::Store, AccessKind::Atomic];
        let mut expected = [[0u64; 6]; 7];
        let mut read = std::collections::BTreeSet::new();
        let mut whole = k.recorder(4, 32);
        let mut forks = [whole.fork(), whole.fork(), whole.fork()];
        for (index, (inst, mask, _, addresses, _)) in accesses.iter().enumerate() {
            let mask = ActiveMask(*mask);
            let access = Access { mask, ..access(StateSpace::Global, kinds[*inst], addresses) };
            let cta = index as u32 % 4;
            in_cta(&mut whole, cta, |whole, record| whole.access(record, W0, pcs[*inst], &access));
            in_cta(&mut forks[index % 3], cta, |fork, record| fork.access(record, W0, pcs[*inst], &access));
            let all = all_transactions(&Request { lane_bytes: 4, mask, addresses });
            for (sum, served) in expected.iter_mut().zip(all) {
                let parts = [served.t32, served.t64, served.t128, served.lines, u32::from(served.coalesced), served.bytes()];
                for (sum, part) in sum.iter_mut().zip(parts) {
                    *sum += u64::from(part);
                }
            }
            if *inst != 1 {
                read.extend(mask.lanes().map(|lane| addresses[lane] / 32));
            }
        }
        let executed = |recorder: &Recorder| {
            // Every access was a CTA of its own: as many executed as the grid has would be scaled otherwise.
            let profile = profile(recorder);
            let scale = |n: u64| (n as f64 * 4.0 / accesses.len() as f64).round() as u64;
            (profile, scale)
        };
        let (profile, scale) = executed(&whole);
        for (rule, sum) in CoalescingRule::ALL.into_iter().zip(expected) {
            let counts = profile.global[&rule];
            let [t32, t64, t128, lines, coalesced, _] = sum.map(scale);
            prop_assert_eq!((counts.t32, counts.t64, counts.t128), (t32, t64, t128), "{}", rule.name());
            prop_assert_eq!((counts.lines, counts.coalesced), (lines, coalesced), "{}", rule.name());
        }
        prop_assert_eq!(profile.distinct_sectors_read, scale(read.len() as u64));
        let mut merged = whole.fork();
        for fork in forks {
            merged.merge(fork);
        }
        prop_assert_eq!(executed(&merged).0, profile);
    }
}

/// More patterns than an instruction may have: the rest is counted without them, with the same result.
#[test]
fn gathers_beyond_the_pattern_limit() {
    let (k, pcs) = load_and_store();
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 40
    };
    let mut whole = k.recorder(1, 32);
    let mut forks = [whole.fork(), whole.fork()];
    let mut record = whole.begin_cta(CtaId(0));
    let mut records = forks.each_mut().map(|fork| fork.begin_cta(CtaId(0)));
    let mut expected = [(0u64, 0u64, 0u64); 7];
    for index in 0..2000 {
        let addresses = std::array::from_fn(|_| BASE + 4 * (random() % 5000));
        let load = access(StateSpace::Global, AccessKind::Load, &addresses);
        whole.access(&mut record, W0, pcs[0], &load);
        forks[index % 2].access(&mut records[index % 2], W0, pcs[0], &load);
        let request = Request { lane_bytes: 4, mask: ActiveMask::FULL, addresses: &addresses };
        for (sum, served) in expected.iter_mut().zip(all_transactions(&request)) {
            sum.0 += u64::from(served.t32);
            sum.1 += u64::from(served.t64);
            sum.2 += u64::from(served.t128);
        }
    }
    whole.end_cta(record);
    let counts = profile(&whole).global;
    for (rule, expected) in CoalescingRule::ALL.into_iter().zip(expected) {
        assert_eq!((counts[&rule].t32, counts[&rule].t64, counts[&rule].t128), expected, "{}", rule.name());
    }
    let mut merged = whole.fork();
    for (mut fork, record) in forks.into_iter().zip(records) {
        fork.end_cta(record);
        merged.merge(fork);
    }
    let merged = merged.finish(FinishOptions { counting: Counting::Ptx, global_bytes: None });
    // Both halves ran as CTA 0, so that counts are halved; the sums must be even then.
    for rule in CoalescingRule::ALL {
        assert_eq!(merged.global[&rule].t32, counts[&rule].t32.div_ceil(2), "{}", rule.name());
    }
}
