//! Both arms of a conditional write the same register, in different lanes.

use crate::common::{Program, modern};
use warplens_sim::{Options, simulate};
use warplens_trace::MachineClass;

/// Cycles of a warp that loads from two lines to the same register, and reads it.
fn cycles(is_beside: bool) -> u64 {
    let mut program = Program::new();
    for arm in 0..2_u16 {
        program.load(arm, &[0], &[1], move |lane| (u64::from(arm) << 20) + 4 * lane);
        program.beside(0, is_beside);
    }
    program.inst(MachineClass::Fp32, &[1], &[2]);
    simulate(&modern(), &program.job(1, 1, 1), Options::default()).cycles
}

#[test]
fn neither_waits_for_the_other() {
    let latency = u64::from(modern().dram.latency);
    assert!(cycles(false) > latency + latency / 2, "a load must not overtake one before it to the same register");
    let beside = cycles(true);
    assert!((latency..latency + latency / 4).contains(&beside), "{beside} cycles, {latency} of a load");
}
