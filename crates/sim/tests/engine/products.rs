//! Products of groups of warps: they queue up behind each other, and whoever waits for a group has its sums later.

use warplens_sim::{ClassTiming, Options, Pipe, SmConfig, simulate};
use warplens_trace::MachineClass as C;

use crate::common::{Program, modern};

/// Cycles of so many products of one sum, and of the wait for all of them.
fn cycles(products: u32, interval: f64, latency: u32) -> u64 {
    let mut program = Program::new();
    for _ in 0..products {
        program.inst(C::TensorAsync, &[1], &[1]);
    }
    // The wait leaves one group pending, which is empty.
    program.inst(C::AsyncCommit, &[], &[]);
    program.inst(C::AsyncCommit, &[], &[]);
    program.inst(C::AsyncWait, &[], &[]);
    program.inst(C::Fp32, &[1], &[2]);
    let mut config: SmConfig = modern();
    config.classes[C::TensorAsync as usize] =
        ClassTiming { pipe: Pipe::Tensor, latency, short_latency: latency, interval, same_warp: 1, variable: true };
    simulate(&config, &program.job(1, 1, 1), Options::default()).cycles
}

#[test]
fn a_group_is_there_when_its_last_product_has_left_the_lanes_and_its_latency_has_passed() {
    let base = cycles(1, 128.0, 66);
    assert_eq!(cycles(4, 128.0, 66), base + 3 * 128);
    assert_eq!(cycles(4, 128.0, 166), base + 3 * 128 + 100);
    // Short ones of the same sum do not wait for each other's latency.
    assert_eq!(cycles(4, 32.0, 66), base - 96 + 3 * 32);
    assert!((128 + 66..128 + 66 + 12).contains(&base), "{base}");
}
