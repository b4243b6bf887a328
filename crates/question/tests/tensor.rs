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
const EXECUTED: std::ops::Range<u32> = 0..4;

/// A kernel: its name, rows and columns of a tile, threads, bytes of shared memory.
type Kernel = (&'static str, u64, u64, u64, u64);

const BEST: Kernel = ("tiles_of_128_by_256", 128, 256, 256, 92160);
const WORSE: [Kernel; 3] = [
    ("tiles_of_64", 64, 64, 128, 30720),
    ("one_stage", 128, 256, 256, 30720),
    ("rows_in_the_same_banks", 128, 256, 256, 73728),
];

/// A GPU with SMs, multiply-adds of an SM per cycle with f32 sums, the clock in hertz, and the extents of a product that gives
/// each SM one tile.
type Board = (&'static str, f64, f64, f64, [u64; 2]);

const BOARDS: [Board; 2] =
    [("a100-80", 108.0, 1024.0, 1.41e9, [2304, 1536]), ("rtx3090", 82.0, 256.0, 1.695e9, [5248, 512])];

/// What models say of a kernel, in seconds, and what they are bound by.
fn times(
    (kernel, rows, columns, threads, shared): Kernel,
    [m, n]: [u64; 2],
    models: &[&str],
    gpu: &Machine,
) -> Vec<(f64, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/tensor/half_gemm.ptx");
    let text = std::fs::read_to_string(path).expect("the PTX can be read");
    let program = Program::from_ptx("half_gemm", text).expect("the PTX can be parsed");
    let launch = format!(
        "kernel = \"{kernel}\"\ngrid = [{}, {}]\nblock = [{threads}]\nshared = {shared}\n\
         args = [\"f32[{}]\", \"f16[{}]:uniform(-1,1)\", \"f16[{}]:uniform(-1,1)\", \"{n}\", \"{K}\"]\n",
        n / columns,
        m / rows,
        m * n,
        m * K,
        n * K
    );
    let launches = Launch::parse_file("launch", &launch).expect("the launch can be read");
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
        let prediction = result.unwrap_or_else(|refusal| panic!("{kernel} on {}: {refusal}", gpu.id));
        (prediction.seconds().0, prediction.limiter().name().to_owned())
    };
    models.iter().map(ask).collect()
}

fn gpu(name: &str) -> Machine {
    machines::select(name).expect("the GPU is built in").remove(0)
}

#[test]
fn a_good_product_comes_near_the_tensor_rate_and_worse_ones_do_not() {
    for (name, sms, rate, clock, extents) in BOARDS {
        let gpu = gpu(name);
        let ideal = (extents[0] * extents[1] * K) as f64 / (sms * rate * clock);
        let best = times(BEST, extents, &["teg", "roofline", "speed-of-light"], &gpu);
        let share = ideal / best[0].0;
        println!("{name}: {:.1} us, {:.1} % of the tensor rate", 1e6 * best[0].0, 100.0 * share);
        for (bound, limiter) in &best[1..] {
            assert!((bound / ideal - 1.0).abs() < 0.01, "{name}: {bound} {ideal}");
            assert_eq!(limiter, "tensor cores", "{name}");
        }
        let mut all = vec![(0.7..=1.0).contains(&share)];
        for kernel in WORSE {
            let (worse, _) = times(kernel, extents, &["teg"], &gpu).remove(0);
            println!("{name}: {} {:.1} us, {:.2} times", kernel.0, 1e6 * worse, worse / best[0].0);
            all.push(worse > best[0].0);
        }
        assert!(all.iter().all(|holds| *holds), "{name}: {share} {all:?}");
    }
}
