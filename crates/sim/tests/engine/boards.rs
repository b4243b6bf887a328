//! Micro-benchmarks on the built-in machines, against what was measured on the boards.

use warplens_machine::{Reader, Strictness, builtin};
use warplens_sim::{Options, SmConfig, simulate};
use warplens_trace::MachineClass;

use crate::common::Program;

fn read(id: &str, used: &[MachineClass]) -> SmConfig {
    let machine = builtin::machine(id).expect("a built-in name").expect("a good file");
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    SmConfig::read(&mut reader, used).unwrap_or_else(|missing| panic!("{missing}"))
}

/// Cycles per copy of what `add` appends: the difference of two programs of different length.
fn per_copy(config: &SmConfig, warps: u32, add: impl Fn(&mut Program, u16)) -> f64 {
    const SHORT: u16 = 100;
    let cycles = |copies: u16| {
        let mut program = Program::new();
        for n in 0..copies {
            add(&mut program, n);
        }
        simulate(config, &program.job(1, warps, 1), Options::default()).cycles
    };
    (cycles(2 * SHORT) - cycles(SHORT)) as f64 / f64::from(SHORT)
}

/// ademeure/QuickRunCUDA, `justifications/24_latency_table.md`: 22 + 2 W cycles on B300. Only W = 1 is in the file. Here the
/// schedulers pass arrivals on independently, which is up to eight cycles better than one after the other.
#[test]
fn barriers_of_more_warps_take_longer() {
    let config = read("b200", &[MachineClass::Barrier]);
    for (warps, measured) in [(1, 24.04), (2, 26.05), (4, 30.06), (8, 38.08), (16, 54.12), (32, 86.24)] {
        let simulated = per_copy(&config, warps, |program, _| program.inst(MachineClass::Barrier, &[], &[]));
        assert!(simulated - measured < 1.0 && measured - simulated <= 8.0, "{warps} warps: {simulated} for {measured}");
    }
}

/// te42kyfo/gpu-benches @1c36d50, gpu-strides: loads of neighbouring floats that hit the L1 cache.
#[test]
fn loads_that_hit_come_as_fast_as_the_memory_unit_takes_them() {
    for (id, measured) in [("a100-80", 1.02), ("h200", 1.01), ("a40", 2.00)] {
        let config = read(id, &[MachineClass::Load]);
        let warps = 32;
        let all = per_copy(&config, warps, |program, n| program.load(n, &[], &[n % 8], |lane| 4096 + 4 * lane));
        let simulated = all / f64::from(warps);
        assert!((simulated / measured - 1.0_f64).abs() < 0.05, "{id}: {simulated} for {measured}");
    }
}

/// Lai and Seznec, section 3.2.2: 21 additions that depend on each other, between two readings of the clock, take 514
/// cycles; reading the clock takes 28, issuing the last addition 8.
#[test]
fn a_chain_on_gt200_takes_what_the_paper_measured() {
    let config = read("gtx280", &[MachineClass::Fp32]);
    let simulated = per_copy(&config, 1, |program, _| program.inst(MachineClass::Fp32, &[1, 2], &[1]));
    assert!((simulated - (514.0 - 28.0 - 8.0) / 20.0).abs() < 0.5, "{simulated}");
}

/// Accel-Sim's micro-benchmarks on a TITAN V (`util/tuner/GPU_Microbenchmark/output.file`): results per cycle of an SM.
#[test]
fn arithmetic_on_volta_comes_at_the_measured_rates() {
    for (class, latency, per_clk) in
        [(MachineClass::Fp32, 4.13, 63.4), (MachineClass::Fp64, 8.08, 32.0), (MachineClass::Sfu, 21.1, 16.0)]
    {
        let config = read("v100-pcie", &[class]);
        let chain = per_copy(&config, 1, |program, _| program.inst(class, &[1], &[1]));
        assert!((chain / latency - 1.0_f64).abs() < 0.05, "{class}: {chain} for {latency}");
        let warps = 32;
        let all = per_copy(&config, warps, |program, n| program.inst(class, &[], &[n % 16]));
        let rate = 32.0 * f64::from(warps) / all;
        assert!((rate / per_clk - 1.0_f64).abs() < 0.05, "{class}: {rate} for {per_clk}");
    }
}
