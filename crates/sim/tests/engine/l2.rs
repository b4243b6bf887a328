//! What the slices of the L2 cache take for a request.

use warplens_sim::{L2Config, Options, SmConfig, simulate};

use crate::common::{Program, modern};

const ROUNDS: u16 = 64;
const LANES: u64 = 32;

/// An SM whose L2 cache delivers a sector per cycle, and nothing else holds back.
fn config(request_sectors: f64, store_cost: f64) -> SmConfig {
    let mut config = modern();
    config.l1 = None;
    (config.dram.bytes_per_clk, config.dram.one_way_bytes_per_clk) = (1e6, 1e6);
    let l2 = config.l2.expect("it has one");
    config.l2 = Some(L2Config { bytes_per_clk: 32.0, sm_bytes_per_clk: 1e6, request_sectors, store_cost, ..l2 });
    config
}

/// Cycles of many accesses whose lanes are so many bytes apart, per sector that they touch.
fn per_sector(config: &SmConfig, apart: u64, is_store: bool) -> f64 {
    let mut program = Program::new();
    for round in 0..ROUNDS {
        let address = move |lane| u64::from(round) * LANES * 128 + lane * apart;
        if is_store {
            program.store(round, address);
        } else {
            program.load(round, &[], &[round], address);
        }
    }
    let cycles = simulate(config, &program.job(1, 4, 1), Options::default()).cycles;
    let sectors = u64::from(ROUNDS) * 4 * LANES * apart.min(32) / 32;
    cycles as f64 / sectors as f64
}

fn is_about(value: f64, expected: f64) -> bool {
    (value / expected - 1.0).abs() < 0.1
}

#[test]
fn a_request_for_one_sector_takes_as_long_as_for_two() {
    let (plain, wide) = (config(1.0, 1.0), config(2.0, 1.0));
    for apart in [32, 64, 128] {
        assert!(is_about(per_sector(&plain, apart, false), 1.0), "{apart} bytes apart");
    }
    for (apart, expected) in [(32, 1.0), (64, 1.0), (128, 2.0)] {
        let cycles = per_sector(&wide, apart, false);
        assert!(is_about(cycles, expected), "{apart} bytes apart: {cycles}");
    }
}

#[test]
fn stores_cost_more_than_loads() {
    for (apart, expected) in [(32, 1.9), (128, 1.9)] {
        let cycles = per_sector(&config(1.8, 1.9), apart, true);
        assert!(is_about(cycles, expected), "{apart} bytes apart: {cycles}");
        assert!(is_about(per_sector(&config(1.0, 1.0), apart, true), 1.0));
    }
}
