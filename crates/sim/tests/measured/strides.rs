//! Loads from the L1 cache by 32 warps, 8 in a loop: lane `i` at `i` times a stride, or lanes in rows of a matrix.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use warplens_sim::SmConfig;
use warplens_trace::{MachineClass as Class, WarpTrace};

use crate::document::{hold, measured, number};
use crate::program::{Loop, WarpLoad, config};

/// Elements by which the 8 loads of the loop are apart.
const OFFSETS: [u64; 8] = [0, 4, 8, 12, 20, 16, 24, 28];
/// Threads of the only CTA.
const THREADS: u64 = 1024;
/// Elements from row to row.
const PITCH: u64 = 4098;

/// The loop: eight loads, the products of two each added up, and the counting of the loop.
fn body(double: bool) -> Loop {
    let mut program = Loop::default();
    program.inst(Class::IntMul, &[0, 1], &[0]);
    program.inst(Class::Int, &[2], &[2]);
    program.inst(Class::Int, &[2], &[3]);
    for register in 0..8 {
        program.load(&[0], &[10 + register]);
    }
    let sum = if double { Class::Fp64 } else { Class::Fp32 };
    for pair in 0..4 {
        program.inst(sum, &[10 + 2 * pair, 11 + 2 * pair, 4], &[4]);
    }
    program.inst(Class::Branch, &[3], &[]);
    program
}

/// The element that a thread's first load reads.
fn element(mode: &str, argument: u64, thread: u64) -> u64 {
    match mode {
        "stride" => (thread % 64) * argument,
        _ => (thread % argument) % 64 + ((thread / argument) % 32 + 1) * PITCH,
    }
}

/// Cycles per load of a warp, in the steady state.
fn cycles(program: &Loop, config: &SmConfig, bytes: u8, first: impl Fn(u64) -> u64) -> f64 {
    let cta = |rounds: usize| -> Vec<WarpTrace> {
        let warp = |warp: u64| {
            let load = |offset: u64| {
                let address = |lane: u64| (1 << 32) + u64::from(bytes) * (first(32 * warp + lane) + offset);
                WarpLoad::Listed(Box::new(std::array::from_fn(|lane| address(lane as u64))))
            };
            program.warp(bytes, (0..rounds).flat_map(|_| OFFSETS.map(load)))
        };
        (0..THREADS / 32).map(warp).collect()
    };
    let time = |rounds: usize| program.run(config, 0, [cta(rounds)]).cycles as f64;
    let (few, many) = (8, 40);
    (time(many) - time(few)) / ((many - few) * OFFSETS.len()) as f64 / (THREADS / 32) as f64
}

#[test]
fn strided_loads_take_the_cycles_of_tags_banks_and_units() {
    let programs = [body(false), body(true)];
    let mut configs = BTreeMap::new();
    let mut groups: BTreeMap<(String, String, String), Vec<(f64, String)>> = BTreeMap::new();
    let mut plateaus = String::new();
    for row in measured("l1-strides.csv") {
        let [id, kind, mode, argument, real] = [0, 1, 2, 3, 4].map(|column: usize| row[column].clone());
        let double = kind == "double";
        let used =
            [Class::Load, Class::Int, Class::IntMul, Class::Branch, if double { Class::Fp64 } else { Class::Fp32 }];
        let config = configs.entry((id.clone(), double)).or_insert_with(|| config(&id, &used));
        let step = argument.parse().expect("a whole number");
        let bytes = if double { 8 } else { 4 };
        let program = &programs[usize::from(double)];
        let predicted = cycles(program, config, bytes, |thread| element(&mode, step, thread));
        let error = predicted / number(&real) - 1.0;
        if mode == "stride" && step.is_power_of_two() || step == 0 {
            let _ =
                writeln!(plateaus, "| {id} | {kind} | {argument} | {real} | {predicted:.2} | {:.1} |", 100.0 * error);
            assert!(error.abs() <= 0.10, "{id}, {kind} stride {argument}: {predicted} instead of {real}");
        }
        groups.entry((id, kind, mode)).or_default().push((error, argument));
    }
    let mut text = String::from(
        "Errors of the cycles per load of a warp, in percent: mean of the absolute errors over the strides from 0 to 64 \
         (to 15 on H200), or over widths of the rows of 1 to 64, and the worst.\n\n\
         | GPU | type | lanes in a | rows | mean | worst | at |\n|---|---|---|---:|---:|---:|---:|\n",
    );
    for ((id, kind, mode), errors) in &groups {
        let mean = errors.iter().map(|(error, _)| error.abs()).sum::<f64>() / errors.len() as f64;
        let (worst, at) = errors.iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())).expect("a group has rows");
        let _ = writeln!(
            text,
            "| {id} | {kind} | {mode} | {} | {:.1} | {:.1} | {at} |",
            errors.len(),
            100.0 * mean,
            100.0 * worst
        );
    }
    let head = "Cycles per load where banks alone decide: strides that are powers of two.\n\n\
                | GPU | type | stride | measured | predicted | error, % |\n|---|---|---:|---:|---:|---:|\n";
    hold("strided loads", &format!("{text}\n{head}{plateaus}"));
}
