//! A product of f16 matrices of some size, as the timing simulation sees it: near the rate of the tensor cores where it is
//! made as libraries make it, slower where tiles are small, copies are waited for or rows lie in the same banks.

use std::path::Path;

use warplens_launch::Launch;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Choice, Options};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Extent, Program, Progress, measure};

/// CTAs that are executed where they all do the same.
const FEW: Extent = Extent::Ctas(0..2);

/// A kernel: its name, rows and columns of a tile, threads, bytes of shared memory.
type Kernel = (&'static str, u64, u64, u64, u64);

const HALF: &str = "half_gemm.ptx";
const BEST: Kernel = ("tiles_of_128_by_256", 128, 256, 256, 92160);
const ONE_STAGE: Kernel = ("one_stage", 128, 256, 256, 30720);
const SAME_BANKS: Kernel = ("rows_in_the_same_banks", 128, 256, 256, 73728);
const TILES_OF_64: Kernel = ("tiles_of_64", 64, 64, 128, 30720);
const TILES_OF_32: Kernel = ("tiles_of_32", 32, 32, 128, 15360);

/// A GPU with SMs, multiply-adds of an SM per cycle with f32 sums, and the clock in hertz.
type Board = (&'static str, f64, f64, f64);

/// Each with worse kernels. At the rate of a GeForce, a quarter of the other, tiles of 64 ask the L2 cache for just what it
/// gives, and many of them divide among the SMs better than large ones: only smaller ones are worse there. Bank conflicts
/// are hidden behind the products there.
const BOARDS: [(Board, &[Kernel]); 2] = [
    (("a100-80", 108.0, 1024.0, 1.41e9), &[ONE_STAGE, SAME_BANKS, TILES_OF_64]),
    (("rtx3090", 82.0, 256.0, 1.695e9), &[ONE_STAGE, TILES_OF_32]),
];

/// Rows, columns and depth of a product.
type Extents = [u64; 3];

/// A kernel as a launch on so many tiles per axis of the grid, with its factors as they are given.
fn launch_of(kernel: Kernel, [x, y]: [u64; 2], [m, n, k]: Extents, [a, b]: [String; 2]) -> String {
    let (name, _, _, threads, shared) = kernel;
    format!(
        "kernel = \"{name}\"\ngrid = [{x}, {y}]\nblock = [{threads}]\nshared = {shared}\n\
         args = [\"f32[{}]\", \"{a}\", \"{b}\", \"{n}\", \"{k}\"]\n",
        m * n
    )
}

/// A factor of so many lines.
fn factor(lines: u64, k: u64) -> String {
    format!("f16[{}]:uniform(-1,1)", lines * k)
}

fn launch(kernel: Kernel, [m, n, k]: Extents) -> String {
    let (_, rows, columns, ..) = kernel;
    launch_of(kernel, [n / columns, m / rows], [m, n, k], [m, n].map(|lines| factor(lines, k)))
}

/// The same of a kernel that takes its factors as tensors. Blocks of a pair lie below each other, and each fetches half of
/// a tile of b.
fn launch_of_tensors(kernel: Kernel, [m, n, k]: Extents) -> String {
    let (name, rows, columns, ..) = kernel;
    let tensor = |lines: u64, of_box: u64| {
        format!("tensormap({},f16,extents({k},{lines}),box(64,{of_box}),swizzle(128))", factor(lines, k))
    };
    let (grid, of_b) = match name.starts_with("pairs") {
        true => ([m / rows, n / columns], columns / 2),
        false => ([n / columns, m / rows], columns),
    };
    launch_of(kernel, grid, [m, n, k], [tensor(m, rows), tensor(n, of_b)])
}

/// What models say of a launch of a file, in seconds, and what they are bound by.
fn times(file: &str, launch: &str, extent: Extent, models: &[&str], gpu: &Machine) -> Vec<(f64, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/tensor").join(file);
    let text = std::fs::read_to_string(path).expect("the PTX can be read");
    let program = Program::from_ptx(file, text).expect("the PTX can be parsed");
    let launches = Launch::parse_file("launch", launch).expect("the launch can be read");
    let gpus = std::slice::from_ref(gpu);
    let options = ExecutionOptions { traced_for: gpus.to_vec(), extent, ..ExecutionOptions::new() };
    let measurements = measure(&program, &launches, options, Counting::Ptx, &Search::default(), &Progress::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let measurement = measurements.into_iter().next().expect("one launch");
    let ask = |model: &&str| {
        let choice = Choice::parse(model).expect("the model exists");
        let answered = predict::predict(measurement.clone(), gpus, &choice, Options::default());
        let answer = answered.gpus.into_iter().next().and_then(|gpu| gpu.answers.into_iter().next());
        let result = answer.expect("one model was asked").result;
        let prediction = result.unwrap_or_else(|refusal| panic!("{launch} on {}: {refusal}", gpu.id));
        // How near the tensor rate a kernel comes is about its CTAs, and not about the launch around them.
        let cycles = prediction.teg().map_or(prediction.time.0, |simulated| simulated.cycles());
        (cycles / prediction.clock.0, prediction.limiter().name().to_owned())
    };
    models.iter().map(ask).collect()
}

fn gpu(name: &str) -> Machine {
    machines::select(name).expect("the GPU is built in").remove(0)
}

#[test]
fn a_good_product_comes_near_the_tensor_rate_and_worse_ones_do_not() {
    const EXTENTS: Extents = [4096; 3];
    for ((name, sms, rate, clock), kernels) in BOARDS {
        let gpu = gpu(name);
        let ideal = EXTENTS.iter().product::<u64>() as f64 / (sms * rate * clock);
        let best = times(HALF, &launch(BEST, EXTENTS), FEW, &["teg", "roofline", "speed-of-light"], &gpu);
        let share = ideal / best[0].0;
        println!("{name}: {:.1} us, {:.1} % of the tensor rate", 1e6 * best[0].0, 100.0 * share);
        for (bound, limiter) in &best[1..] {
            assert!((bound / ideal - 1.0).abs() < 0.01, "{name}: {bound} {ideal}");
            assert_eq!(limiter, "tensor cores", "{name}");
        }
        let mut all = vec![(0.7..=1.0).contains(&share)];
        for &kernel in kernels {
            let (worse, _) = times(HALF, &launch(kernel, EXTENTS), FEW, &["teg"], &gpu).remove(0);
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
    const EXTENTS: Extents = [12 * 128, 11 * 256, 2048];
    let gpu = gpu("h100-sxm");
    // Who fetches what of the tiles that blocks share is seen by neighbouring pairs.
    let best = ("pairs_128_by_256", 128, 256, 384, 197_632);
    let worse = [
        (("pairs_two_stages", 128, 256, 384, 99_328), Extent::Auto),
        // Who shares with nobody asks the L2 cache for more than it gives.
        (("groups_128_by_256", 128, 256, 384, 197_632), FEW),
        (("groups_128_by_64", 128, 64, 384, 99_328), FEW),
    ];
    let ideal = EXTENTS.iter().product::<u64>() as f64 / (132.0 * 2048.0 * 1.98e9);
    let [(best, _), (bound, limiter)] =
        &times(GROUPS, &launch_of_tensors(best, EXTENTS), Extent::Auto, &["teg", "speed-of-light"], &gpu)[..]
    else {
        panic!("two models were asked");
    };
    println!("{:.1} us, {:.1} % of the tensor rate", 1e6 * best, 100.0 * ideal / best);
    assert!((bound / ideal - 1.0).abs() < 0.01, "{bound} {ideal}");
    assert_eq!(limiter, "tensor cores");
    assert!((0.7..=1.0).contains(&(ideal / best)), "{best}");
    for (kernel, extent) in worse {
        let (worse, _) = times(GROUPS, &launch_of_tensors(kernel, EXTENTS), extent, &["teg"], &gpu).remove(0);
        println!("{} {:.1} us, {:.2} times", kernel.0, 1e6 * worse, worse / best);
        assert!(worse > *best, "{}", kernel.0);
    }
}
