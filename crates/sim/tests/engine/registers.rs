//! Banks of the register file, as the whole shows them.

use crate::common::{Program, modern};
use warplens_machine::Key;
use warplens_machine::builtin;
use warplens_sim::{ClassTiming, Options, Outcome, SmConfig, UnitKind, simulate};
use warplens_trace::MachineClass;

/// A machine whose multiply-adds leave no time between them.
fn full_rate(register_read_cycles: Option<u32>) -> SmConfig {
    let mut config = SmConfig { register_read_cycles, ..modern() };
    let fp32 = &mut config.classes[MachineClass::Fp32 as usize];
    *fp32 = ClassTiming { interval: 1.0, ..*fp32 };
    config
}

/// 512 multiply-adds of each of `warps` warps that do not wait for each other, taking turns of these reads.
fn run(config: &SmConfig, warps: u32, turns: &[[u8; 2]]) -> Outcome {
    let mut program = Program::new();
    for n in 0..512_u16 {
        program.of_banks(turns[usize::from(n) % turns.len()], &[n % 64]);
    }
    simulate(config, &program.job(1, warps, 1), Options::default())
}

#[test]
fn a_bank_gives_one_register_per_cycle_to_all_warps_of_its_scheduler() {
    for warps in [4, 16] {
        let cycles = |turns: &[[u8; 2]]| run(&full_rate(Some(3)), warps, turns).cycles as f64;
        let plain = cycles(&[[1, 1]]);
        // Turns of two banks make up for each other.
        for (turns, times) in [(&[[2, 0]][..], 2.0), (&[[1, 2]], 2.0), (&[[0, 3]], 3.0), (&[[2, 1], [1, 2]], 1.5)] {
            let ratio = cycles(turns) / plain;
            assert!((ratio / times - 1.0).abs() < 0.03, "{warps} warps, {turns:?}: {ratio}");
        }
    }
}

#[test]
fn where_banks_are_unknown_they_take_no_time() {
    let without = run(&full_rate(None), 4, &[[3, 0]]);
    assert_eq!(without.cycles, run(&full_rate(Some(3)), 4, &[[1, 1]]).cycles);
    assert_eq!(without, run(&full_rate(None), 4, &[[0, 0]]));
}

#[test]
fn a_pipe_that_is_slow_anyway_leaves_the_ports_time() {
    // Half rate: two registers of a bank come in the time of one instruction.
    let config = SmConfig { register_read_cycles: Some(3), ..modern() };
    assert_eq!(run(&config, 8, &[[2, 1]]).cycles, run(&config, 8, &[[1, 1]]).cycles);
    assert!(run(&config, 8, &[[3, 0]]).cycles > run(&config, 8, &[[1, 1]]).cycles * 7 / 5);
}

#[test]
fn cycles_that_wait_for_registers_are_told_and_counted() {
    let outcome = run(&full_rate(Some(3)), 16, &[[2, 0]]);
    let issue = outcome.units.iter().find(|unit| unit.kind == UnitKind::Issue).expect("it is told");
    assert!(issue.utilisation(outcome.cycles) > 0.95, "{issue:?}");
    assert_eq!(outcome.stalls().total(), outcome.resident_warp_cycles);
}

#[test]
fn ampere_and_later_read_three_registers_of_one_bank_in_time() {
    for (id, cycles) in [("a6000", Some(3.0)), ("h200", Some(3.0)), ("k40", None)] {
        let machine = builtin::machine(id).expect("a built-in name").expect("a good file");
        assert_eq!(machine.number(Key::RegistersReadCycles), cycles, "{id}");
    }
}
