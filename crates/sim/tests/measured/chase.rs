//! Pointer chase: a warp follows a random cycle through a buffer, an element of 8 bytes every 64 bytes, all lanes together.

use std::fmt::Write as _;

use warplens_machine::{Key, Value, builtin};
use warplens_sim::SmConfig;
use warplens_trace::MachineClass as Class;

use crate::document::{hold, measured, number};
use crate::program::{Loop, WarpLoad, config};

const BOARDS: &[&str] = &["v100-pcie", "a100-40", "a100-80", "h100-pcie", "l40"];
/// Bytes from element to element.
const DISTANCE: u64 = 64;
/// Loads that are timed at most.
const TIMED: usize = 8_192;
const UNROLLED: usize = 32;
/// Allowed error of a plateau.
const TOLERANCE: f64 = 0.10;
/// Rows closer than these factors are left out: about the size of a cache, and elsewhere.
const STEPS: (f64, f64) = (1.15, 2.5);
/// What counts as about the size.
const ABOUT: std::ops::Range<f64> = 0.8..1.5;

/// The loop: 32 loads, each with the address that the one before gave, and the counting of the loop.
fn chase() -> Loop {
    let mut program = Loop::default();
    for _ in 0..UNROLLED {
        program.load(&[0], &[0]);
    }
    program.inst(Class::Int, &[1], &[1]);
    program.inst(Class::Int, &[1], &[2]);
    program.inst(Class::Branch, &[2], &[]);
    program
}

/// Elements of the cycle in its order.
fn cycle(n: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..u32::try_from(n).expect("a small buffer")).collect();
    let mut state = 0x853c_49e6_748f_ea9b_u64;
    for last in (1..n).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let other = ((u128::from(state) * (last as u128 + 1)) >> 64) as usize;
        order.swap(last, other);
    }
    order
}

/// Cycles of a load in a buffer of so many bytes, after it was gone through once. Of a buffer beyond all caches the end of
/// the first pass is enough: it fills them with what is not asked for next.
fn latency(program: &Loop, config: &SmConfig, shared: u64, bytes: u64) -> f64 {
    let beyond = config.l2.map_or(0, |l2| l2.bytes) / 2 * 3;
    let n = usize::try_from(bytes / DISTANCE).expect("a small buffer").max(UNROLLED);
    let warm = n.min(usize::try_from(beyond / DISTANCE).expect("a small cache"));
    let order = cycle(if warm < n { warm + TIMED } else { n });
    let load = |index: usize| WarpLoad::Affine {
        base: (1 << 32) + DISTANCE * u64::from(order[index % order.len()]),
        stride: 0,
    };
    let whole = |loads: usize| loads.next_multiple_of(UNROLLED);
    let (first, timed) = (whole(warm), whole(TIMED.min(2 * n)));
    let pass = |from: usize, loads: usize| vec![program.warp(8, (from..from + loads).map(load))];
    let outcome = program.run(config, shared, [pass(0, first), pass(first, timed)]);
    (outcome.ctas[1].end - outcome.ctas[1].start) as f64 / timed as f64
}

/// Shared memory that the driver takes from the L1 cache for a kernel without any: room for what the system keeps for each
/// of as many CTAs of 64 threads as fit.
fn carveout(id: &str) -> u64 {
    let machine = builtin::machine(id).expect("a built-in name").expect("a good file");
    let number = |key| machine.number(key).expect("stated");
    let ctas = (number(Key::LimitsMaxThreads) / 64.0).min(number(Key::LimitsMaxBlocks));
    let needed = ctas * number(Key::SharedReservedPerBlock);
    let Some(Value::List(sizes)) = machine.fact(Key::SharedConfigurable).map(|fact| &fact.value) else {
        panic!("the sizes of {id} are stated")
    };
    sizes.iter().copied().find(|size| *size >= needed).expect("so many CTAs fit") as u64
}

/// A memory, the range of working sets in which it serves all loads, and the size of the one before it, in bytes.
fn plateaus(config: &SmConfig, shared: u64) -> Vec<(&'static str, f64, f64, f64)> {
    let (l1, l2) = ((config.l1.expect("all have one").bytes - shared) as f64, config.l2.expect("all have one"));
    let (near, whole) = (l2.bytes as f64 / if l2.far_latency.is_some() { 2.0 } else { 1.0 }, l2.bytes as f64);
    let mut plateaus = vec![("L1", 0.0, 0.5 * l1, 0.0), ("L2, near", 2.0 * l1, 0.8 * near, l1)];
    if l2.far_latency.is_some() {
        plateaus.push(("L2, far", 1.6 * near, 0.95 * whole, near));
    }
    plateaus.push(("memory", 3.0 * whole, f64::INFINITY, whole));
    plateaus
}

/// The working set at which a series goes through `level` for the first time, between two of its points.
fn crossing(series: &[(f64, f64)], level: f64) -> Option<f64> {
    let (low, high) = series.iter().zip(&series[1..]).find(|(low, high)| low.1 < level && high.1 >= level)?;
    Some(low.0 + (high.0 - low.0) * (level - low.1) / (high.1 - low.1))
}

fn mean(series: &[(f64, f64)], from: f64, to: f64) -> f64 {
    let inside: Vec<f64> = series.iter().filter(|(at, _)| (from..=to).contains(at)).map(|point| point.1).collect();
    assert!(!inside.is_empty(), "no working set between {from} and {to}");
    inside.iter().sum::<f64>() / inside.len() as f64
}

/// Measured latencies by working set in bytes, thinned out, at the clock of the measurement.
fn series(id: &str, sizes: &[f64]) -> Vec<(f64, f64)> {
    let rows = measured("pointer-chase.csv");
    let machine = builtin::machine(id).expect("a built-in name").expect("a good file");
    let clock = machine.number(Key::ClockBoost).expect("stated");
    let mut series: Vec<(f64, f64)> = Vec::new();
    for row in rows.iter().filter(|row| row[0] == id) {
        assert_eq!(number(&row[1]) * 1e6, clock, "{id} was measured at its boost clock");
        let bytes = 1024.0 * number(&row[2]);
        let is_near = sizes.iter().any(|size| ABOUT.contains(&(bytes / size)));
        let step = if is_near { STEPS.0 } else { STEPS.1 };
        if series.last().is_none_or(|last| bytes > step * last.0) {
            series.push((bytes, number(&row[3])));
        }
    }
    series
}

#[test]
fn pointer_chases_find_the_caches() {
    let program = chase();
    let mut levels = String::from(
        "Mean latency in cycles over the working sets that a memory holds.\n\n\
         | GPU | memory | measured | predicted | error, % |\n|---|---|---:|---:|---:|\n",
    );
    let mut changes = String::from(
        "Working set in KiB at which the latency is half-way from one memory to the next.\n\n\
         | GPU | change | measured | predicted |\n|---|---|---:|---:|\n",
    );
    for id in BOARDS {
        let config = config(id, &[Class::Load, Class::Int, Class::Branch]);
        let shared = carveout(id);
        let plateaus = plateaus(&config, shared);
        let sizes: Vec<f64> = plateaus[1..].iter().map(|plateau| plateau.3).collect();
        let measured = series(id, &sizes);
        // One working set beyond all caches is like another.
        let last = plateaus.last().expect("there are some").1;
        let n = measured.iter().take_while(|point| point.0 < last).count() + 1;
        let predicted: Vec<(f64, f64)> =
            measured[..n].iter().map(|&(bytes, _)| (bytes, latency(&program, &config, shared, bytes as u64))).collect();
        let mut levels_of = Vec::new();
        for &(name, from, to, _) in &plateaus {
            let (real, simulated) = (mean(&measured, from, to), mean(&predicted, from, to));
            let error = simulated / real - 1.0;
            let _ = writeln!(levels, "| {id} | {name} | {real:.0} | {simulated:.0} | {:.1} |", 100.0 * error);
            assert!(error.abs() <= TOLERANCE, "{id}, {name}: {simulated} instead of {real} cycles");
            levels_of.push((name, real, simulated));
        }
        for pair in levels_of.windows(2) {
            let [(from, real_from, simulated_from), (to, real_to, simulated_to)] = pair else { continue };
            let kib = |series: &[(f64, f64)], low: f64, high: f64| {
                crossing(series, (low + high) / 2.0).map_or("-".to_owned(), |bytes| format!("{:.0}", bytes / 1024.0))
            };
            let (real, simulated) =
                (kib(&measured, *real_from, *real_to), kib(&predicted, *simulated_from, *simulated_to));
            let _ = writeln!(changes, "| {id} | {from} to {to} | {real} | {simulated} |");
        }
    }
    hold("pointer chase", &format!("{levels}\n{changes}"));
}
