//! Micro-benchmarks whose cycles follow from the numbers of the machine.

use crate::common::{Program, gt200, modern};
use warplens_sim::{Effect, L1Config, Options, Without, simulate};
use warplens_trace::{AccessKind, MachineClass};

const TIMELINE: Options = Options { without: Without::NOTHING, timeline_warps: 1, timeline_cycles: None, budget: None };

#[test]
fn a_chain_of_additions_takes_its_latencies() {
    let mut program = Program::new();
    for _ in 0..21 {
        program.inst(MachineClass::Fp32, &[4, 2], &[4]);
    }
    program.inst(MachineClass::Fp32, &[5], &[6]);
    let outcome = simulate(&gt200(), &program.job(1, 1, 1), TIMELINE);
    assert_eq!(outcome.timeline[20].issue, 20 * 24);
    assert_eq!(outcome.timeline[21].issue, 20 * 24 + 8);
}

#[test]
fn unloaded_latencies_are_the_sums_of_their_parts() {
    let config = modern();
    let (l1, l2) = (config.l1.unwrap(), config.l2.unwrap());
    let cold = |without: Without| {
        let mut program = Program::new();
        program.load(0, &[], &[1], |lane| 4096 + 4 * lane);
        program.inst(MachineClass::Fp32, &[1], &[2]);
        let outcome = simulate(&config, &program.job(1, 1, 1), Options { without, ..TIMELINE });
        outcome.timeline[1].issue - outcome.timeline[0].issue
    };
    assert_eq!(cold(Without::NOTHING), u64::from(config.dram.latency));
    assert_eq!(cold(Without::NOTHING.and(Effect::CacheMisses)), u64::from(l1.latency));
    assert_eq!(cold(Without::NOTHING.and(Effect::MemoryLatency)), u64::from(l1.latency));
    let mut program = Program::new();
    program.load(0, &[], &[1], |lane| 4096 + 4 * lane);
    program.load(1, &[1], &[2], |lane| 4096 + 4 * lane);
    program.inst(MachineClass::Fp32, &[2], &[3]);
    let outcome = simulate(&config, &program.job(1, 1, 1), TIMELINE);
    assert_eq!(outcome.timeline[2].issue - outcome.timeline[1].issue, u64::from(l1.latency));
    assert!(l1.latency < l2.latency && l2.latency < config.dram.latency);
}

#[test]
fn streaming_approaches_the_peak_bandwidth_and_never_exceeds_it() {
    let config = modern();
    for warps in [1, 4, 16, 64] {
        let mut program = Program::new();
        for n in 0..64 {
            program.load_of_warp(n, &[], &[1 + n], move |warp, lane| {
                (u64::from(warp) * 64 + u64::from(n)) * 4096 + 4 * lane
            });
        }
        let outcome = simulate(&config, &program.job(1, warps, 1), Options::default());
        let rate = outcome.traffic.dram_bytes as f64 / outcome.cycles as f64;
        assert!(rate <= config.dram.bytes_per_clk, "{warps} warps: {rate}");
        assert!(warps < 16 || rate > 0.9 * config.dram.bytes_per_clk, "{warps} warps: {rate}");
    }
}

#[test]
fn issue_bound_code_approaches_the_peak_issue_and_never_exceeds_it() {
    for config in [gt200(), modern()] {
        let peak = f64::from(config.schedulers) / config.class(MachineClass::Fp32).interval;
        for warps in [1, 4, 16] {
            let mut program = Program::new();
            for n in 0..512_u16 {
                program.inst(MachineClass::Fp32, &[], &[n % 64]);
            }
            let outcome = simulate(&config, &program.job(1, warps, 1), Options::default());
            let rate = outcome.issued as f64 / outcome.cycles as f64;
            assert!(rate <= peak, "{warps} warps: {rate} of {peak}");
            assert!(warps < 16 || rate > 0.95 * peak, "{warps} warps: {rate} of {peak}");
        }
    }
}

#[test]
fn every_cycle_of_every_warp_has_one_state() {
    let config = modern();
    let mut program = Program::new();
    for n in 0..32_u16 {
        program.load_of_warp(n, &[], &[n], move |warp, lane| u64::from(warp) * 8192 + u64::from(n) * 128 + 4 * lane);
        program.inst(MachineClass::Fp32, &[n], &[40]);
    }
    let outcome = simulate(&config, &program.job(4, 8, 2), Options::default());
    assert_eq!(outcome.stalls().total(), outcome.resident_warp_cycles);
    assert_eq!(outcome.issued, 4 * 8 * 64);
    assert_eq!(outcome.executions.iter().sum::<u64>(), outcome.issued);
    let by_instruction: u64 = outcome.stalls.iter().map(|stalls| stalls.total()).sum();
    assert_eq!(by_instruction, outcome.resident_warp_cycles);
}

#[test]
fn stores_to_local_memory_go_on_to_the_l2_where_the_l1_writes_through() {
    let mut program = Program::new();
    for slot in 0..8 {
        program.local(slot, AccessKind::Store, &[1]);
    }
    program.local(8, AccessKind::Load, &[2]);
    // Two CTAs after each other in the same place: the second writes over the local memory of the first.
    let mut sectors = |writes_back: bool| {
        let mut config = modern();
        config.l1 = config.l1.map(|l1| L1Config { writes_back, ..l1 });
        let traffic = simulate(&config, &program.job(2, 1, 1), TIMELINE).traffic;
        assert_eq!((traffic.l1_sectors, traffic.l1_hits), (8, 8));
        traffic.l2_sectors
    };
    assert_eq!(sectors(true), 0);
    assert_eq!(sectors(false), 2 * 8 * 4);
}

#[test]
fn shared_memory_takes_one_of_its_divisions_from_the_l1() {
    // 32 lines of 128 bytes, read twice.
    let mut program = Program::new();
    for slot in 0..64 {
        program.load(slot, &[], &[1], move |lane| 4096 + 128 * u64::from(slot % 32) + 4 * lane);
        program.inst(MachineClass::Fp32, &[1], &[2]);
    }
    let mut hits = |divisions: &[u64]| {
        let mut config = modern();
        config.l1 = config.l1.map(|l1| L1Config { bytes: 8 << 10, ..l1 });
        config.shared_divisions = divisions.to_vec();
        simulate(&config, &program.job(1, 1, 1), TIMELINE).traffic.l1_hits
    };
    assert_eq!(hits(&[0, 6 << 10]), 128);
    assert!(hits(&[6 << 10]) < 64, "{}", hits(&[6 << 10]));
}
