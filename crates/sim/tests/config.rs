//! What the simulation reads from the machines.

use warplens_machine::words::{IssueOccupies, IssuePolicy, IssueScoreboard};
use warplens_machine::{Basis, Key, Machine, Reader, Readings, Strictness, builtin};
use warplens_sim::{AtomicConfig, L1Holds, Pipe, SmConfig};
use warplens_stats::sector::LINE_BYTES;
use warplens_stats::{BankRule, CoalescingRule};
use warplens_trace::{MachineClass as C, MachineInst};

/// A kernel in single precision with shared memory, as a compiler makes it.
const SIMPLE: &[C] = &[
    C::Fp32,
    C::Int,
    C::IntMul,
    C::Move,
    C::Load,
    C::Store,
    C::Barrier,
    C::Branch,
    C::Exit,
    C::Sfu,
    C::Convert,
    C::Shuffle,
];

fn machine(id: &str) -> Machine {
    builtin::machine(id).expect("a built-in name").expect("a good file")
}

fn read(id: &str, used: &[C]) -> (SmConfig, Readings) {
    let machine = machine(id);
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let config = SmConfig::read(&mut reader, used).unwrap_or_else(|missing| panic!("{missing}"));
    (config, reader.finish())
}

#[test]
fn every_board_with_a_cache_for_data_says_how_fast_atomics_on_a_word_are() {
    for id in builtin::ids() {
        let (config, _) = read(id, &[C::Load, C::Reduction]);
        assert_eq!(config.delays.atomics.global.is_some(), config.l2.is_some(), "{id}");
        let (config, _) = read(id, &[C::Load]);
        assert_eq!(
            config.delays.atomics,
            AtomicConfig::default(),
            "{id}: nothing is read for a kernel without atomics"
        );
    }
}

#[test]
fn every_board_can_simulate_a_simple_kernel() {
    for id in builtin::ids() {
        let (config, _) = read(id, SIMPLE);
        for class in SIMPLE {
            let timing = config.class(*class);
            assert!(timing.interval > 0.0 && timing.interval <= 64.0, "{id} {class}: {timing:?}");
            assert!(timing.latency <= 100 && timing.same_warp >= 1, "{id} {class}: {timing:?}");
        }
        assert!(config.class(C::Fp32).latency >= 4, "{id}");
        assert!((1..=4).contains(&config.schedulers) && config.issue_interval >= 1, "{id}");
        assert!((10..=60).contains(&config.shared.latency), "{id}: {:?}", config.shared);
        assert!(config.lsu.queue >= 1 && config.lsu.sm_interval >= 1.0, "{id}: {:?}", config.lsu);
        let (dram, l2) = (config.dram, config.l2);
        assert!(dram.latency > 200 && dram.bytes_per_clk > 20.0, "{id}: {dram:?}");
        if let Some(l2) = l2 {
            assert!(l2.latency < dram.latency && l2.bytes_per_clk > dram.bytes_per_clk, "{id}: {l2:?} {dram:?}");
            assert!(l2.far_latency.is_none_or(|far| far > l2.latency), "{id}: {l2:?}");
        }
        if let (Some(l1), Some(l2)) = (config.l1, l2) {
            assert!(l1.latency < l2.latency && LINE_BYTES < l1.bytes, "{id}: {l1:?}");
        }
    }
}

#[test]
fn big_chips_can_simulate_half_and_double_precision_and_tensor_operations() {
    for id in ["a100-80", "h100-sxm", "h100-pcie", "h200", "b200"] {
        let (config, _) = read(id, &[C::Fp16, C::Tensor, C::Fp64, C::TensorFp64, C::Uniform, C::Vote, C::Atomic]);
        assert_eq!(config.class(C::Fp16).interval, 1.0, "{id}: 256 halves per cycle are two per lane of a warp");
        assert!((8..=10).contains(&config.class(C::Fp64).latency), "{id}");
    }
    // 16 x 8 x 16 multiply-adds on 1024 per cycle of the SM, a quarter of them a scheduler's.
    let (a100, _) = read("a100-80", &[C::Tensor]);
    assert_eq!(a100.class(C::Tensor).interval * 2048.0, 8.0);
    assert_eq!((a100.class(C::Tensor).latency, a100.class(C::Tensor).pipe), (24, Pipe::Tensor));
}

/// Cycles of a scheduler's tensor pipe: of 16 x 8 x 16 multiply-adds of halves, of the same that add in f32, and of the part
/// of a warp of 64 x 256 x 16, where groups of warps have it.
#[test]
fn tensor_instructions_take_what_their_type_and_their_sum_take() {
    for (id, half, single, group) in [
        ("v100-sxm2", 16.0, 16.0, None),
        ("t4", 16.0, 16.0, None),
        ("rtx2080ti", 16.0, 32.0, None),
        ("a100-80", 8.0, 8.0, None),
        ("a40", 16.0, 16.0, None),
        ("rtx3090", 16.0, 32.0, None),
        ("l40s", 16.0, 16.0, None),
        ("rtx4090", 16.0, 32.0, None),
        ("h100-sxm", 6.0, 6.0, Some(128.0)),
        ("rtx5090", 16.0, 32.0, None),
    ] {
        let (config, _) = read(id, &[C::Tensor, C::TensorFp32]);
        let cycles = |class: C| (config.class(class).interval * 2048.0 * 10.0).round() / 10.0;
        assert_eq!((cycles(C::Tensor), cycles(C::TensorFp32)), (half, single), "{id}");
        if let Some(group) = group {
            let (config, _) = read(id, &[C::TensorAsync]);
            assert_eq!(config.class(C::TensorAsync).interval * 65536.0, group, "{id}");
        }
    }
    let (a100, _) = read("a100-80", &[C::TensorFp32]);
    let latencies = [1024, 2048].map(|amount| {
        let inst = MachineInst { amount, ..MachineInst::new(C::TensorFp32, 0) };
        a100.class(C::TensorFp32).latency_of(&inst)
    });
    assert_eq!(latencies, [16, 24]);
}

/// Lai and Seznec, table 1: execution latency, issue latency to another warp, and to the same.
#[test]
fn gt200_is_the_papers() {
    let (config, readings) = read("gtx280", &[C::Fp32, C::Fp32Mul, C::Int, C::Fp64, C::Load, C::Sfu]);
    for (class, latency, interval, same_warp) in
        [(C::Int, 24, 4.0, 8), (C::Fp32, 24, 4.0, 8), (C::Fp32Mul, 24, 2.0, 8), (C::Fp64, 48, 32.0, 32)]
    {
        let timing = config.class(class);
        assert_eq!((timing.latency, timing.interval, timing.same_warp), (latency, interval, same_warp), "{class}");
    }
    assert_eq!((config.class(C::Load).interval, config.class(C::Load).same_warp), (4.0, 60));
    assert_eq!(config.class(C::Sfu).interval, 16.0);
    assert_eq!((config.issue_interval, config.schedulers, config.occupies), (2, 1, IssueOccupies::Scheduler));
    assert_eq!((config.policy, config.scoreboard), (IssuePolicy::LongestReady, IssueScoreboard::LateAddend));
    let (barriers, _) = read("gtx280", &[C::Barrier]);
    assert_eq!((barriers.class(C::Barrier).interval, barriers.barrier_latency), (4.0, 20));
    let shared = config.shared;
    assert_eq!((shared.banks, shared.latency, shared.operand_latency), (BankRule::Cc10, 38, 74));
    // Section 3.3.3: 266 cycles where both half-warps have a 16-way conflict, 32 passes in place of 2.
    assert!((f64::from(shared.operand_latency) + 30.0 * shared.pass_latency - 266.0).abs() < 1e-9);
    assert_eq!(shared.pass_cycles, 2.0);
    let dram = config.dram;
    assert_eq!((dram.latency, dram.channels), (440, Some((8, 256))));
    assert_eq!((config.n_sms, config.sms_per_cluster, config.coalescing), (30, 3, CoalescingRule::Cc12));
    // The bytes of a memory pipeline in flight, and as transactions of 8-byte elements: the paper takes 140 GB/s.
    let in_flight = dram.in_flight.expect("limited");
    let of_paper = in_flight * 140.0 / 141.7;
    assert!((of_paper - 4753.1).abs() < 0.1, "{of_paper}");
    assert!((of_paper / 256.0 - 18.57).abs() < 0.005);
    assert_eq!((config.l1, config.l2), (None, None));
    assert_eq!(config.cta_turnaround, 329);
    assert!(
        readings.assumptions.iter().any(|said| said.starts_with("cta.turnaround: as long as on the V100")),
        "{readings:?}"
    );
}

#[test]
fn later_designs_issue_one_instruction_per_scheduler_and_cycle() {
    for (id, schedulers, fp32, sfu, policy) in [
        ("v100-pcie", 4, 2.0, 8.0, IssuePolicy::GreedyThenYoungest),
        ("a100-80", 4, 2.0, 8.0, IssuePolicy::GreedyThenYoungest),
        ("h200", 4, 1.0, 8.0, IssuePolicy::GreedyThenYoungest),
        ("rtx2080ti", 4, 2.0, 8.0, IssuePolicy::GreedyThenYoungest),
        ("a6000", 4, 1.0, 8.0, IssuePolicy::GreedyThenYoungest),
        ("p100", 2, 1.0, 4.0, IssuePolicy::GreedyThenOldest),
        ("gtx1080", 4, 1.0, 4.0, IssuePolicy::GreedyThenOldest),
    ] {
        let (config, _) = read(id, SIMPLE);
        assert_eq!(
            (config.schedulers, config.issue_interval, config.occupies),
            (schedulers, 1, IssueOccupies::Unit),
            "{id}"
        );
        assert_eq!((config.class(C::Fp32).interval, config.class(C::Sfu).interval), (fp32, sfu), "{id}");
        assert_eq!(config.class(C::Fp32).same_warp, 1, "{id}");
        assert_eq!(config.policy, policy, "{id}");
        let before_volta = machine(id).cc.major < 7;
        assert_eq!(config.issue_width, if before_volta { 2 } else { 1 }, "{id}");
        assert_eq!(config.class(C::Int).pipe, if before_volta { Pipe::Fma } else { Pipe::Alu }, "{id}");
    }
}

#[test]
fn passes_of_a_bank_conflict() {
    for (id, cycles, latency) in [
        ("gtx280", 2.0, 6.4),
        ("gtx480", 2.0, 2.0),
        ("v100-pcie", 1.0, 2.0),
        ("rtx2080ti", 2.0, 2.0),
        ("l40", 1.0, 2.0),
        ("b200", 1.0, 1.94),
    ] {
        let shared = read(id, &[C::Load]).0.shared;
        assert_eq!((shared.pass_cycles, shared.pass_latency), (cycles, latency), "{id}");
    }
}

#[test]
fn global_memory_takes_lines_of_the_sm_also_where_no_cache_holds_it() {
    for (id, holds, tags, bytes_per_clk) in [
        ("gtx480", L1Holds::All, 0.5, 64.0),
        ("k40", L1Holds::Local, 0.5, 64.0),
        ("gtx750ti", L1Holds::Nothing, 1.0, 32.0),
        ("p100", L1Holds::All, 1.0, 32.0),
        ("gtx1080", L1Holds::Nothing, 1.0, 32.0),
        ("v100-pcie", L1Holds::All, 4.0, 128.0),
    ] {
        let l1 = read(id, &[C::Load]).0.l1.expect("it has one");
        assert_eq!((l1.holds, l1.tags_per_clk, l1.bytes_per_clk), (holds, tags, bytes_per_clk), "{id}");
    }
}

#[test]
fn one_way_is_wider_where_it_was_measured() {
    for (id, is_wider) in [("v100-pcie", true), ("a100-80", true), ("h200", true), ("h100-pcie", false), ("k40", false)]
    {
        let dram = read(id, &[C::Load]).0.dram;
        assert_eq!(dram.one_way_bytes_per_clk > dram.bytes_per_clk, is_wider, "{id}: {dram:?}");
    }
    // What was measured on one board is a time on its siblings.
    let (h200, h100) = (read("h200", &[C::Load]).0, read("h100-pcie", &[C::Load]).0);
    assert!((h200.dram.turnaround / h200.clock - h100.dram.turnaround / h100.clock).abs() < 1e-12);
}

#[test]
fn products_take_what_they_become_where_no_lanes_multiply() {
    let (config, readings) = read("gtx1080", &[C::Int, C::IntMul]);
    let (one, product) = (config.class(C::Int), config.class(C::IntMul));
    assert_eq!((product.interval, product.latency), (3.0 * one.interval, 3 * one.latency), "three XMADs");
    assert!(readings.assumptions.iter().any(|said| said.contains("takes the 3 instructions")), "{readings:?}");
}

#[test]
fn only_what_is_used_is_needed() {
    // Nothing is known of tensor operations of the GTX 1080, and nothing is asked for.
    read("gtx1080", SIMPLE);
    for (id, class, key) in [
        ("gtx1080", C::Tensor, Key::LanesTensorWarp),
        ("gtx280", C::Fence, Key::LatencyFence),
        ("gtx280", C::Fp16, Key::LanesFp16),
        ("v100-pcie", C::TensorFp64, Key::LanesTensorFp64),
    ] {
        let machine = machine(id);
        let mut reader = Reader::new(&machine, Strictness::AllowInferred);
        let missing = SmConfig::read(&mut reader, &[class]).expect_err("nobody knows");
        assert_eq!((missing.key, missing.machine.as_str()), (key, id));
        assert!(missing.to_string().starts_with(&format!("{id} has no value for {key}: ")), "{missing}");
    }
}

#[test]
fn what_is_taken_from_another_design_is_said() {
    let (_, readings) = read("h200", SIMPLE);
    let basis = |key: Key| readings.parameters.iter().find(|read| read.key == key).map(|read| read.basis);
    assert_eq!(basis(Key::LatencyShuffle), Some(Basis::Measured));
    assert_eq!(basis(Key::LatencyFp32), Some(Basis::Compiler));
    let said = "latency.conversion: latency.sfu: a special function's latency, which the same unit computes";
    assert!(readings.assumptions.iter().any(|one| one == said), "{said} in {:#?}", readings.assumptions);
    // Neither number stands in for one that nobody knows: each is of a design or a board that states it.
    for (id, said) in [
        ("p100", "cta.turnaround: the value of sm_70, the nearest design that states one (fitted)"),
        ("k40", "cta.turnaround: the value of sm_70, the nearest design that states one (fitted)"),
        (
            "gtx1080",
            "dram.row_cycle: 47.0 ns, as on Tesla P100 SXM2 16GB, the nearest board that states one (recalled)",
        ),
        ("a6000", "dram.row_cycle: 47.0 ns, as on A100 SXM4 80GB, the nearest board that states one (recalled)"),
    ] {
        let (config, readings) = read(id, SIMPLE);
        assert!(readings.assumptions.iter().any(|one| one == said), "{said} in {:#?}", readings.assumptions);
        assert!(config.cta_turnaround > 0, "{id}");
    }
    let machine = machine("h200");
    let strict = SmConfig::read(&mut Reader::new(&machine, Strictness::Strict), SIMPLE).expect_err("much is inferred");
    assert!(strict.to_string().contains("which strict mode refuses"), "{strict}");
}
