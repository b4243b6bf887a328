//! A product of f16 matrices of some size, as the timing simulation sees it: near the rate of the tensor cores where it is
//! made as libraries make it, slower where tiles are small, copies are waited for or rows lie in the same banks.

use std::path::Path;

use warplens_launch::Launch;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Choice, Options};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Extent, Program, Progress, measure};

/// Depth of the product.
const K: u64 = 2048;
/// CTAs that are executed: they all do the same.
const EXECUTED: std::ops::Range<u32> = 0..2;

/// A kernel: its name, rows and columns of a tile, threads, bytes of shared memory.
type Kernel = (&'static str, u64, u64, u64, u64);

const HALF: &str = "half_gemm.ptx";
const BEST: Kernel = ("tiles_of_128_by_256", 128, 256, 256, 92160);
/// Worse ones. At the half rate of a GeForce the tensor cores are busy enough with small tiles and with bank conflicts, too:
/// there only copies that are waited for cost time.
const WORSE: [Kernel; 3] = [
    ("one_stage", 128, 256, 256, 30720),
    ("tiles_of_64", 64, 64, 128, 30720),
    ("rows_in_the_same_banks", 128, 256, 256, 73728),
];

/// A GPU with SMs, multiply-adds of an SM per cycle with f32 sums, the clock in hertz, and the extents of a product that gives
/// each SM one tile of the best kernel.
type Board = (&'static str, f64, f64, f64, [u64; 2]);

/// Each with the number of worse kernels that are slower.
const BOARDS: [(Board, usize); 2] =
    [(("a100-80", 108.0, 1024.0, 1.41e9, [2304, 1536]), 3), (("rtx3090", 82.0, 256.0, 1.695e9, [5248, 512]), 1)];

/// A kernel as a launch of a product of so many rows and columns has it, with its factors as they are given.
fn launch_of((kernel, rows, columns, threads, shared): Kernel, [m, n]: [u64; 2], [a, b]: [String; 2]) -> String {
    format!(
        "kernel = \"{kernel}\"\ngrid = [{}, {}]\nblock = [{threads}]\nshared = {shared}\n\
         args = [\"f32[{}]\", \"{a}\", \"{b}\", \"{n}\", \"{K}\"]\n",
        n / columns,
        m / rows,
        m * n
    )
}

/// A factor of so many lines.
fn factor(lines: u64) -> String {
    format!("f16[{}]:uniform(-1,1)", lines * K)
}

fn launch(kernel: Kernel, extents: [u64; 2]) -> String {
    launch_of(kernel, extents, extents.map(factor))
}

/// The same of a kernel that takes its factors as tensors.
fn launch_of_tensors(kernel: Kernel, [m, n]: [u64; 2]) -> String {
    let tensor = |lines: u64, of_tile: u64| {
        format!("tensormap({},f16,extents({K},{lines}),box(64,{of_tile}),swizzle(128))", factor(lines))
    };
    launch_of(kernel, [m, n], [tensor(m, kernel.1), tensor(n, kernel.2)])
}

/// What models say of a launch of a file, in seconds, and what they are bound by.
fn times(file: &str, launch: &str, models: &[&str], gpu: &Machine) -> Vec<(f64, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/tensor").join(file);
    let text = std::fs::read_to_string(path).expect("the PTX can be read");
    let program = Program::from_ptx(file, text).expect("the PTX can be parsed");
    let launches = Launch::parse_file("launch", launch).expect("the launch can be read");
    let gpus = std::slice::from_ref(gpu);
    let options =
        ExecutionOptions { traced_for: gpus.to_vec(), extent: Extent::Ctas(EXECUTED), ..ExecutionOptions::new() };
    let measurements = measure(&program, &launches, options, Counting::Ptx, &Search::default(), &Progress::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let measurement = measurements.into_iter().next().expect("one launch");
    let ask = |model: &&str| {
        let choice = Choice::parse(model).expect("the model exists");
        let answered = predict::predict(measurement.clone(), gpus, &choice, Options::default());
        let answer = answered.gpus.into_iter().next().and_then(|gpu| gpu.answers.into_iter().next());
        let result = answer.expect("one model was asked").result;
        let prediction = result.unwrap_or_else(|refusal| panic!("{launch} on {}: {refusal}", gpu.id));
        (prediction.seconds().0, prediction.limiter().name().to_owned())
    };
    models.iter().map(ask).collect()
}

fn gpu(name: &str) -> Machine {
    machines::select(name).expect("the GPU is built in").remove(0)
}

#[test]
fn a_good_product_comes_near_the_tensor_rate_and_worse_ones_do_not() {
    for ((name, sms, rate, clock, extents), n_slower) in BOARDS {
        let gpu = gpu(name);
        let ideal = (extents[0] * extents[1] * K) as f64 / (sms * rate * clock);
        let best = times(HALF, &launch(BEST, extents), &["teg", "roofline", "speed-of-light"], &gpu);
        let share = ideal / best[0].0;
        println!("{name}: {:.1} us, {:.1} % of the tensor rate", 1e6 * best[0].0, 100.0 * share);
        for (bound, limiter) in &best[1..] {
            assert!((bound / ideal - 1.0).abs() < 0.01, "{name}: {bound} {ideal}");
            assert_eq!(limiter, "tensor cores", "{name}");
        }
        let mut all = vec![(0.7..=1.0).contains(&share)];
        for &kernel in &WORSE[..n_slower] {
            let (worse, _) = times(HALF, &launch(kernel, extents), &["teg"], &gpu).remove(0);
            println!("{name}: {} {:.1} us, {:.2} times", kernel.0, 1e6 * worse, worse / best[0].0);
            all.push(worse > best[0].0);
        }
        assert!(all.iter().all(|holds| *holds), "{name}: {share} {all:?}");
    }
}

/// A product by groups of four warps on a GPU with 132 SMs, a tile for each.
#[test]
fn products_of_groups_of_warps_come_near_the_tensor_rate_and_worse_ones_do_not() {
    const GROUPS: &str = "group_gemm.ptx";
    let (gpu, extents) = (gpu("h100-sxm"), [12 * 128, 11 * 256]);
    let best = ("groups_128_by_256", 128, 256, 384, 197_632);
    let worse = [("groups_two_stages", 128, 256, 384, 99_328), ("groups_128_by_64", 128, 64, 384, 99_328)];
    let ideal = (extents[0] * extents[1] * K) as f64 / (132.0 * 2048.0 * 1.98e9);
    let [(best, _), (bound, limiter)] =
        &times(GROUPS, &launch_of_tensors(best, extents), &["teg", "speed-of-light"], &gpu)[..]
    else {
        panic!("two models were asked");
    };
    println!("{:.1} us, {:.1} % of the tensor rate", 1e6 * best, 100.0 * ideal / best);
    assert!((bound / ideal - 1.0).abs() < 0.01, "{bound} {ideal}");
    assert_eq!(limiter, "tensor cores");
    // Two blocks that share what they fetch would need half of the L2 bandwidth for it.
    assert!((0.6..=1.0).contains(&(ideal / best)), "{best}");
    for kernel in worse {
        let (worse, _) = times(GROUPS, &launch_of_tensors(kernel, extents), &["teg"], &gpu).remove(0);
        println!("{} {:.1} us, {:.2} times", kernel.0, 1e6 * worse, worse / best);
        assert!(worse > *best, "{}", kernel.0);
    }
}
