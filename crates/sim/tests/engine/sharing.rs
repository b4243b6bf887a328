//! CTAs on one SM that load the same lines: where latencies decide, several end earlier together than one of them alone.
//!
//! That is so on a GPU, too: a chain of loads is as long as those of its loads that miss, and a line that any warp of the
//! SM has loaded is in the L1 cache for all. So "more CTAs never take less time" is no law, except for CTAs that load lines
//! of their own, as the first test says of the same accesses moved apart.

use crate::common::{Program, modern};
use warplens_sim::{Options, simulate};

/// Loads of a warp, each of which waits for the one before.
const ROUNDS: u16 = 256;
/// Lines of a table.
const LINES: u64 = 256;

/// Cycles of so many CTAs of one warp that gather from a table, or each from a table of its own.
fn cycles(n_ctas: u32, is_shared: bool) -> u64 {
    let mut program = Program::new();
    for round in 0..ROUNDS {
        program.load_of_warp(round, &[1], &[1], move |warp, _| {
            let number = u64::from(warp) * u64::from(ROUNDS) + u64::from(round);
            let line = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
            let table = if is_shared { 0 } else { u64::from(warp) };
            (table << 32) + 128 * (line % LINES)
        });
    }
    simulate(&modern(), &program.job(n_ctas, 1, n_ctas), Options::default()).cycles
}

#[test]
fn ctas_that_gather_from_tables_of_their_own_do_not_help_each_other() {
    let mut before = 0;
    for n_ctas in [1, 2, 4, 8, 16, 32] {
        let now = cycles(n_ctas, false);
        assert!(now >= before, "{n_ctas} CTAs take {now} cycles, half of them {before}");
        before = now;
    }
}

#[test]
fn ctas_that_gather_from_one_table_load_lines_for_each_other() {
    let (alone, two, eight) = (cycles(1, true), cycles(2, true), cycles(8, true));
    assert!(two < alone - alone / 20 && eight < two - two / 20, "{alone}, {two} and {eight} cycles");
    // All lines of the table come from memory by the first touch of any of them, and from the cache from then on.
    let config = modern();
    let (hit, miss) = (u64::from(config.l1.expect("it has one").latency), u64::from(config.dram.latency));
    assert!(eight > u64::from(ROUNDS) * hit && alone > LINES / 2 * miss, "{alone} and {eight} cycles");
}
