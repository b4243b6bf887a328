//! The equations at their edges: misprints, limits, continuity and monotonicity.

use proptest::prelude::*;
use warplens_model::analyzer::BarrierWarps;
use warplens_model::mwp_cwp::{Case, Situation, execute};
use warplens_model::workload::Transactions;
use warplens_model::{Reading, Waves, analyzer, hong_kim};

/// Memory 350, computation 100, MWP 4, N 20, 10 memory instructions: the case in which (23) falls below the time to
/// issue everything.
fn below_the_issue_bound() -> Situation {
    Situation {
        n: 20.0,
        mwp: 4.0,
        mwp_one_load: 4.0,
        mem_cycles: 350.0,
        comp_cycles: 100.0,
        hidden_cycles: 0.0,
        mem_insts: 10.0,
        mem_l: 35.0,
        departure_delay: 0.0,
        synch_insts: 0.0,
        active_blocks: 1.0,
        barrier_warps: f64::INFINITY,
        waiting_blocks: 1.0,
        rep: 1.0,
    }
}

#[test]
fn memory_bound_time_has_the_issue_bound_as_floor() {
    let situation = below_the_issue_bound();
    let documented = execute(&situation, Reading::Documented).unwrap();
    assert_eq!((documented.case, documented.on_floor, documented.total()), (Case::MemoryBound, true, 2000.0));
    let printed = execute(&situation, Reading::AsPrinted).unwrap();
    assert_eq!((printed.case, printed.on_floor, printed.total()), (Case::MemoryBound, false, 1780.0));
}

#[test]
fn the_printed_or_sends_compute_bound_kernels_to_the_memory_case() {
    // Computation above memory, MWP above CWP: Case 5 of figure 7.
    let situation = Situation { mwp: 10.0, mwp_one_load: 10.0, mem_cycles: 50.0, ..below_the_issue_bound() };
    let documented = execute(&situation, Reading::Documented).unwrap();
    assert_eq!((documented.case, documented.total()), (Case::ComputeBound, 35.0 + 2000.0));
    let printed = execute(&situation, Reading::AsPrinted).unwrap();
    assert_eq!((printed.case, printed.total()), (Case::MemoryBound, 50.0 * 20.0 / 10.0 + 10.0 * 9.0));
}

#[test]
fn a_barrier_holds_up_the_warps_of_a_block() {
    // MWP 4, two warps per block, three resident blocks, five barriers, 7 cycles between two requests.
    let with_barriers = Situation {
        departure_delay: 7.0,
        synch_insts: 5.0,
        active_blocks: 3.0,
        waiting_blocks: 3.0,
        ..below_the_issue_bound()
    };
    assert_eq!(execute(&with_barriers, Reading::Documented).unwrap().synch, 7.0 * 3.0 * 5.0 * 3.0);
    let of_blocks = Situation { barrier_warps: 2.0, waiting_blocks: 1.0, ..with_barriers };
    let execution = execute(&of_blocks, Reading::Documented).unwrap();
    assert_eq!((execution.synch, execution.synch_unlimited), (7.0 * 1.0 * 5.0 * 1.0, 7.0 * 3.0 * 5.0 * 3.0));
}

#[test]
fn barriers_cost_what_is_printed_where_no_later_gpu_is_named() {
    // 200 transactions of 37 cycles for 100 requests: 74 cycles per request, four warps, five barriers.
    let inputs = |barrier_warps| analyzer::Inputs {
        threads_per_block: 64.0,
        active_blocks_per_sm: 2.0,
        blocks: 60.0,
        synch_insts: 5.0,
        barrier_warps,
        ..four_warps(1.0)
    };
    let execution = |scope, reading| inputs(scope).evaluate(reading, Waves::Real).unwrap().execution;
    let printed = 74.0 * 3.0 * 5.0 * 2.0;
    assert_eq!(execution(BarrierWarps::InFlight, Reading::Documented).synch, printed);
    let of_block = execution(BarrierWarps::OfBlock, Reading::Documented);
    assert_eq!((of_block.synch, of_block.synch_unlimited), (74.0 * 1.0 * 5.0 * 1.0, printed));
    // The named option brings the printed cost back on every GPU.
    assert_eq!(execution(BarrierWarps::OfBlock, Reading::AsPrinted).synch, printed);
}

#[test]
fn fewer_than_one_warp_in_flight_adds_no_negative_time() {
    let situation = Situation { mwp: 0.5, mwp_one_load: 0.5, mem_cycles: 3500.0, ..below_the_issue_bound() };
    for reading in [Reading::Documented, Reading::AsPrinted] {
        assert_eq!(execute(&situation, reading).unwrap().total(), 3500.0 * 20.0 / 0.5);
    }
    let fractional = Situation { mem_insts: 0.25, mwp: 2.0, mwp_one_load: 2.0, ..below_the_issue_bound() };
    // Comp_cycles is divided by at least one memory instruction.
    assert_eq!(execute(&fractional, Reading::AsPrinted).unwrap().total(), 350.0 * 10.0 + 100.0);
}

/// N 4, 100 requests of two 32-byte transactions, 400 instructions, on a C1060.
fn four_warps(independent_loads: f64) -> analyzer::Inputs {
    analyzer::Inputs {
        threads_per_block: 128.0,
        blocks: 30.0,
        active_blocks_per_sm: 1.0,
        active_sms: 30.0,
        compute_cycles: 1600.0,
        special_overlap: 0.0,
        in_warp_overlap: 0.0,
        warp_mem: 100.0,
        transactions: Transactions { t32: 200.0, ..Transactions::default() },
        independent_loads,
        duplicate_loads: 1.0,
        synch_insts: 0.0,
        barrier_warps: BarrierWarps::OfBlock,
        freq: 1.312e9,
        total_mem_bandwidth: 102.4e9,
        base_mem_latency: 450.0,
        dep_delay: analyzer::DepartureDelays { d32: 37.0, ..analyzer::DepartureDelays::default() },
    }
}

fn analyzer_time(inputs: &analyzer::Inputs) -> f64 {
    inputs.evaluate(Reading::Documented, Waves::Real).unwrap().execution.total()
}

#[test]
fn a_second_independent_load_does_not_fall_off_a_cliff() {
    assert_eq!(analyzer_time(&four_warps(1.0)), 50348.0);
    let slightly_more = analyzer_time(&four_warps(1.01));
    assert!((49_800.0..50_348.0).contains(&slightly_more), "{slightly_more}");
    let printed = |loads| four_warps(loads).evaluate(Reading::AsPrinted, Waves::Real).unwrap().execution.total();
    assert_eq!(printed(1.0), 50348.0);
    assert_eq!(printed(1.01), 6887.0);
}

#[test]
fn endless_independent_loads_do_not_beat_the_issue_bound() {
    let inputs = analyzer::Inputs {
        compute_cycles: 14_000.0,
        total_mem_bandwidth: 1e15,
        dep_delay: analyzer::DepartureDelays { d32: 0.01, ..analyzer::DepartureDelays::default() },
        ..four_warps(1000.0)
    };
    let execution = inputs.evaluate(Reading::Documented, Waves::Real).unwrap().execution;
    // (22) alone would give 45000 x 4 / 4000 + 14000 + 420.
    assert_eq!((execution.total(), execution.on_floor), (56_000.0, true));
}

/// N 4, MWP 6.6 by the transactions: case (22). A third of 1600 cycles stands between loads and uses.
#[test]
fn what_overlaps_with_the_warps_own_loads_is_not_added_to_them() {
    let plain = four_warps(1.0);
    let period = 487.0 * 100.0;
    assert_eq!(analyzer_time(&plain), period + 1600.0 + 16.0 * 3.0);
    let overlapped = analyzer::Inputs { in_warp_overlap: 0.25, ..plain };
    assert_eq!(analyzer_time(&overlapped), period + 1200.0 + 12.0 * 3.0);
    // No more than the memory periods can be hidden, and nothing of what has to be issued.
    let long = analyzer::Inputs { compute_cycles: 100_000.0, in_warp_overlap: 1.0, ..plain };
    assert_eq!(analyzer_time(&long), 400_000.0 + 487.0);
}

/// 400 of 1600 cycles can run beside the others: with four warps three quarters of them do.
#[test]
fn special_functions_run_beside_the_other_instructions_of_other_warps() {
    let alone = analyzer::Inputs { warp_mem: 0.0, transactions: Transactions::default(), ..four_warps(1.0) };
    let overlapped = analyzer::Inputs { special_overlap: 400.0, ..alone };
    assert_eq!((analyzer_time(&alone), analyzer_time(&overlapped)), (6400.0, 4.0 * 1300.0));
    let one_warp = analyzer::Inputs { threads_per_block: 32.0, ..overlapped };
    assert_eq!(analyzer_time(&one_warp), 1600.0);
}

/// Two warps per block: the factors that the MWP printed for FMM imply are 1.56 and 1.45 (mean 1.5), and 1.63.
#[test]
fn the_factor_of_duplicate_loads_follows_the_occupancy() {
    let fmm = |occupancy| analyzer::effective_duplicate_loads(2.0, 2.0, occupancy);
    assert_eq!((fmm(0.5), fmm(0.375)), (1.5, 1.625));
    assert_eq!((fmm(0.0), fmm(1.0)), (2.0, 1.0));
    // The two half-warps of a warp do not count: at most the warps of a block do.
    assert_eq!(analyzer::effective_duplicate_loads(4.0, 2.0, 0.5), 1.5);
    assert_eq!(analyzer::effective_duplicate_loads(8.0, 8.0, 0.5), 4.5);
}

#[test]
fn waves_are_real_numbers_unless_whole_ones_are_asked_for() {
    let inputs = analyzer::Inputs { blocks: 45.0, ..four_warps(1.0) };
    assert_eq!(inputs.evaluate(Reading::Documented, Waves::Real).unwrap().rep, 1.5);
    assert_eq!(inputs.evaluate(Reading::Documented, Waves::Whole).unwrap().rep, 2.0);
}

#[test]
fn a_grid_below_one_wave_takes_a_whole_wave_of_what_it_fills() {
    let full = analyzer::Inputs { active_blocks_per_sm: 4.0, blocks: 120.0, ..four_warps(1.0) };
    let evaluation = |blocks| analyzer::Inputs { blocks, ..full }.evaluate(Reading::Documented, Waves::Real).unwrap();
    assert_eq!(evaluation(120.0).active_warps, 16.0);
    // 61 blocks: the busiest of the 30 SMs holds 3.
    assert_eq!((evaluation(61.0).active_warps, evaluation(61.0).rep), (12.0, 1.0));
    // 10 blocks leave 20 SMs without work.
    let small = evaluation(10.0);
    assert_eq!((small.active_warps, small.rep, small.residency.active_sms), (4.0, 1.0, 10.0));
    assert_eq!(evaluation(1.0).execution.total(), evaluation(30.0).execution.total());
}

#[test]
fn one_warp_waits_for_every_request() {
    let inputs = analyzer::Inputs { threads_per_block: 32.0, blocks: 1.0, ..four_warps(1.0) };
    let evaluation = inputs.evaluate(Reading::Documented, Waves::Real).unwrap();
    assert_eq!(evaluation.execution.case, Case::FewWarps);
    assert_eq!(evaluation.execution.total(), 100.0 * 487.0 + 1600.0);
}

#[test]
fn without_memory_the_computations_follow_each_other() {
    let inputs = analyzer::Inputs { warp_mem: 0.0, transactions: Transactions::default(), ..four_warps(1.0) };
    let evaluation = inputs.evaluate(Reading::Documented, Waves::Real).unwrap();
    assert_eq!((evaluation.mwp, evaluation.execution.total()), (4.0, 6400.0));
    let inputs = hong_kim::Inputs { uncoal_mem_insts: 0.0, coal_mem_insts: 0.0, ..figure_12() };
    let evaluation = inputs.evaluate(Reading::Documented, Waves::Real).unwrap();
    assert_eq!((evaluation.mwp, evaluation.execution.total()), (20.0, 4.0 * 27.0 * 20.0));
}

#[test]
fn endless_bandwidth_leaves_the_warps_as_limit() {
    let inputs = analyzer::Inputs {
        total_mem_bandwidth: f64::MAX,
        dep_delay: analyzer::DepartureDelays::default(),
        ..four_warps(1.0)
    };
    assert_eq!(inputs.evaluate(Reading::Documented, Waves::Real).unwrap().mwp, 4.0);
}

fn figure_12() -> hong_kim::Inputs {
    hong_kim::Inputs {
        threads_per_block: 128.0,
        blocks: 80.0,
        active_blocks_per_sm: 5.0,
        active_sms: 16.0,
        comp_insts: 27.0,
        uncoal_mem_insts: 6.0,
        coal_mem_insts: 0.0,
        synch_insts: 6.0,
        uncoal_per_mw: 32.0,
        coal_per_mw: 1.0,
        load_bytes_per_warp: 128.0,
        issue_cycles: 4.0,
        freq: 1e9,
        mem_bandwidth: 80e9,
        mem_ld: 420.0,
        departure_del_uncoal: 10.0,
        departure_del_coal: 4.0,
    }
}

/// Micro-benchmarks of table 4: memory and computation instructions of a loop that runs 601 times.
const MICRO_BENCHMARKS: [(f64, f64); 7] =
    [(0.0, 23.0), (1.0, 17.0), (1.0, 29.0), (2.0, 27.0), (2.0, 35.0), (4.0, 47.0), (6.0, 59.0)];

/// CPI of a micro-benchmark on an FX5600 with 24 resident warps.
fn micro_benchmark_cpi((loads, computation): (f64, f64), coalesced: bool) -> f64 {
    let loads = 601.0 * loads;
    let inputs = hong_kim::Inputs {
        threads_per_block: 128.0,
        blocks: 16.0 * 6.0 * 10.0,
        active_blocks_per_sm: 6.0,
        comp_insts: 601.0 * computation,
        uncoal_mem_insts: if coalesced { 0.0 } else { loads },
        coal_mem_insts: if coalesced { loads } else { 0.0 },
        synch_insts: 0.0,
        freq: 1.35e9,
        mem_bandwidth: 76.8e9,
        ..figure_12()
    };
    inputs.evaluate(Reading::Documented, Waves::Real).unwrap().cpi
}

/// The shape of figure 14.
#[test]
fn coalesced_micro_benchmarks_issue_every_fourth_cycle() {
    for benchmark in MICRO_BENCHMARKS {
        let cpi = micro_benchmark_cpi(benchmark, true);
        assert!((4.0..4.1).contains(&cpi), "{benchmark:?}: {cpi}");
    }
}

/// The shape of figure 14.
#[test]
fn uncoalesced_micro_benchmarks_grow_with_the_loads() {
    for benchmark @ (loads, computation) in &MICRO_BENCHMARKS[1..] {
        let cycles_per_loop = micro_benchmark_cpi((*loads, *computation), false) * (loads + computation);
        let per_load = cycles_per_loop / loads;
        assert!((319.0..326.0).contains(&per_load), "{benchmark:?}: {per_load} cycles per load");
    }
    // With the same number of float operations the CPI grows with the loads.
    let same_work = [0, 2, 4, 5, 6].map(|index| micro_benchmark_cpi(MICRO_BENCHMARKS[index], false));
    assert!(same_work.is_sorted_by(|less, more| less < more), "{same_work:?}");
}

prop_compose! {
    fn any_analyzer_inputs()(
        warps_per_block in 1u32..=16,
        blocks in 1u32..=5000,
        active_blocks in 1u32..=8,
        sms in 1u32..=144,
        compute_cycles in 0.5f64..20_000.0,
        [special, in_warp_overlap] in [prop_oneof![Just(0.0f64), 0.0f64..1.0], prop_oneof![Just(0.0f64), 0.0f64..1.0]],
        warp_mem in prop_oneof![Just(1.0f64), 0.01f64..1.0, 1.0f64..2000.0],
        sizes in [0.0f64..33.0, 0.0f64..5.0, 0.0f64..5.0, 0.0f64..5.0],
        duplicate_loads in prop_oneof![Just(1.0f64), 1.0f64..16.0],
        (synch_insts, of_block) in (prop_oneof![Just(0.0f64), 0.0f64..50.0], any::<bool>()),
        bandwidth in 1e10f64..5e12,
        base_mem_latency in 100.0f64..1500.0,
        delays in [0.1f64..60.0, 0.1f64..60.0, 0.1f64..60.0, 0.1f64..60.0],
    ) -> analyzer::Inputs {
        let [t32, t64, t128, t32_vector] = sizes.map(|per_request| per_request * warp_mem);
        let [d32, d64, d128, d32_vector] = delays;
        analyzer::Inputs {
            threads_per_block: f64::from(32 * warps_per_block),
            blocks: f64::from(blocks),
            active_blocks_per_sm: f64::from(active_blocks),
            active_sms: f64::from(sms),
            compute_cycles,
            // At most half of everything runs beside the other half.
            special_overlap: 0.5 * special * compute_cycles,
            in_warp_overlap,
            warp_mem,
            transactions: Transactions { t32, t64, t128, t32_vector },
            independent_loads: 1.0,
            duplicate_loads,
            synch_insts,
            barrier_warps: if of_block { BarrierWarps::OfBlock } else { BarrierWarps::InFlight },
            freq: 1.4e9,
            total_mem_bandwidth: bandwidth,
            base_mem_latency,
            dep_delay: analyzer::DepartureDelays { d32, d64, d128, d32_vector },
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn independent_loads_never_cost_time(inputs in any_analyzer_inputs(), from in 1.0f64..12.0, more in 0.0f64..12.0) {
        let time = |independent_loads| analyzer_time(&analyzer::Inputs { independent_loads, ..inputs });
        let (fewer, more) = (time(from), time(from + more));
        prop_assert!(more <= fewer * (1.0 + 1e-12), "{fewer} grows to {more}");
    }

    #[test]
    fn time_is_continuous_in_the_independent_loads(inputs in any_analyzer_inputs()) {
        // Steps double, so that every jump lies in one of them; a step is then halved until it is tiny.
        let time = |independent_loads| analyzer_time(&analyzer::Inputs { independent_loads, ..inputs });
        let mut low = 1.0f64;
        while low < 64.0 {
            let (mut from, mut to) = (low, low * 1.25);
            low = to;
            while to - from > 1e-9 {
                let middle = f64::midpoint(from, to);
                if (time(from) - time(middle)).abs() > (time(middle) - time(to)).abs() {
                    to = middle;
                } else {
                    from = middle;
                }
            }
            let jump = (time(from) - time(to)).abs();
            prop_assert!(jump <= 1e-6 * time(from), "jumps by {jump} of {} at {from}", time(from));
        }
    }

    /// Without duplicates MWP_c is the same for any number of independent loads, and the equations are taken as they are.
    #[test]
    fn without_duplicates_all_of_mwp_is_in_use(inputs in any_analyzer_inputs(), independent_loads in 1.0f64..16.0) {
        let inputs = analyzer::Inputs { independent_loads, duplicate_loads: 1.0, ..inputs };
        let evaluation = inputs.evaluate(Reading::Documented, Waves::Real).unwrap();
        prop_assert_eq!(evaluation.execution.mwp_used, evaluation.mwp);
        prop_assert_eq!(evaluation.execution.total(), evaluation.execution.total_at_mwp);
    }

    #[test]
    fn one_independent_load_is_the_plain_model(inputs in any_analyzer_inputs()) {
        let evaluation = inputs.evaluate(Reading::Documented, Waves::Real).unwrap();
        prop_assert_eq!(evaluation.execution.mwp_used, evaluation.mwp);
    }

    /// (22) and (24) add one period to (23) where they meet it, so that a faster memory can cost that much, and no more.
    #[test]
    fn more_bandwidth_costs_no_more_than_a_period(inputs in any_analyzer_inputs(), factor in 1.0f64..8.0) {
        let plain = analyzer::Inputs { synch_insts: 0.0, ..inputs };
        let faster = analyzer::Inputs { total_mem_bandwidth: plain.total_mem_bandwidth * factor, ..plain };
        let evaluation = plain.evaluate(Reading::Documented, Waves::Real).unwrap();
        let memory_period = evaluation.memory.map_or(0.0, |memory| memory.mem_latency_final);
        let period = plain.compute_cycles.max(memory_period) * evaluation.rep;
        // With one request at most per warp, (23) itself rises by less than a computation period before it ends.
        let slack = if plain.warp_mem <= 1.0 { 2.0 * plain.compute_cycles * evaluation.rep } else { 0.0 };
        let (slow, fast) = (analyzer_time(&plain), analyzer_time(&faster));
        prop_assert!(fast <= (slow + period + slack) * (1.0 + 1e-12), "{slow} grows to {fast}, period {period}");
    }

    #[test]
    fn nothing_is_faster_than_issuing_or_moving_everything(inputs in any_analyzer_inputs(), loads in 1.0f64..8.0) {
        let inputs = analyzer::Inputs { independent_loads: loads, ..inputs };
        let warps = inputs.blocks * inputs.threads_per_block / 32.0;
        let issue = (inputs.compute_cycles - inputs.special_overlap) * warps / inputs.active_sms;
        let memory = inputs.transactions.bytes() * warps / inputs.total_mem_bandwidth * inputs.freq;
        let time = analyzer_time(&inputs);
        prop_assert!(time >= issue.max(memory) * (1.0 - 1e-12), "{time} below {issue} or {memory}");
    }

    /// Each overlap, alone or beside the other one, takes no more time than without it, and more of it no more than less.
    #[test]
    fn overlaps_never_cost_time(inputs in any_analyzer_inputs(), less in 0.0f64..1.0) {
        let time = |special: f64, in_warp: f64| analyzer_time(&analyzer::Inputs {
            special_overlap: special * inputs.special_overlap,
            in_warp_overlap: in_warp * inputs.in_warp_overlap,
            ..inputs
        });
        let allowed = |time: f64| time * (1.0 + 1e-12);
        let (neither, both) = (time(0.0, 0.0), time(1.0, 1.0));
        for one in [time(1.0, 0.0), time(0.0, 1.0)] {
            prop_assert!(one <= allowed(neither) && both <= allowed(one), "{neither}, {one}, {both}");
        }
        prop_assert!(time(0.0, 1.0) <= allowed(time(0.0, less)), "{less} of the overlap in a warp");
        let printed = |inputs: &analyzer::Inputs| inputs.evaluate(Reading::AsPrinted, Waves::Real).unwrap().execution;
        let without = analyzer::Inputs { special_overlap: 0.0, in_warp_overlap: 0.0, ..inputs };
        prop_assert_eq!(printed(&inputs), printed(&without));
    }

    #[test]
    fn fewer_loads_merge_where_more_warps_are_resident(
        ideal in 1.0f64..32.0, warps in 1.0f64..32.0, occupancy in 0.0f64..1.0, more in 0.0f64..1.0,
    ) {
        let factor = analyzer::effective_duplicate_loads(ideal, warps, occupancy);
        prop_assert!((1.0..=ideal.min(warps).max(1.0)).contains(&factor));
        prop_assert!(analyzer::effective_duplicate_loads(ideal, warps, (occupancy + more).min(1.0)) <= factor);
        prop_assert!(analyzer::effective_duplicate_loads(ideal, warps + 4.0, occupancy) >= factor);
    }

    #[test]
    fn time_grows_with_latency_and_computation(inputs in any_analyzer_inputs(), factor in 1.0f64..4.0) {
        let plain = analyzer::Inputs { synch_insts: 0.0, ..inputs };
        let evaluation = plain.evaluate(Reading::Documented, Waves::Real).unwrap();
        // Where the warps limit MWP, a longer round trip costs time.
        let by_warps = evaluation.memory.is_some_and(|memory| {
            memory.active_warps_for_mwp < memory.mwp_peak_bandwidth.min(memory.mwp_without_bw_full)
        });
        let slower = analyzer::Inputs { base_mem_latency: plain.base_mem_latency * factor, ..plain };
        if by_warps && evaluation.execution.case == Case::FewWarps {
            prop_assert!(analyzer_time(&slower) >= analyzer_time(&plain) * (1.0 - 1e-12));
        }
    }
}
