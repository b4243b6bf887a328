//! The launches of the papers' micro-benchmarks, of sizes that a simulation can follow.

use super::super::steps::{Point, Shape};
use super::{COSTS, pairs};

/// Threads of a CTA, so that a few of them fill an SM of any generation.
const THREADS: u64 = 256;
/// Loads of a round of the thesis's kernels.
const CONFIG: u64 = 4;
/// The permutation that leaves an operand as it is.
const IDENTITY: &str = "12816";

/// Lengths of the thesis's kernels, on full SMs as there. Odd ones, so that warps do not all start in the same channel of a
/// memory whose channels take turns.
fn of_thesis(shape: &Shape, point: impl Fn(u64, u64) -> Point) -> Vec<Point> {
    let grid = shape.full_grid();
    [11, 13, 15, 17, 19, 21, 23, 25].map(|rounds| point(grid, rounds)).into()
}

pub(super) fn no_loads(shape: &Shape) -> Vec<Point> {
    of_thesis(shape, |grid, rounds| {
        // Without loads a round is short.
        Point::new("no_loads", (grid, THREADS), &["f32[1]", "1", &(10 * rounds).to_string()])
    })
}

/// Loads of which each brings the step to the next: `words` words, of which a warp needs so many for each load.
fn loads(shape: &Shape, kernel: &'static str, words: u64, step: u64) -> Vec<Point> {
    of_thesis(shape, |grid, rounds| {
        let all = (grid * THREADS / 32 * CONFIG * rounds + 1) * words;
        let source = format!("f32[{all}]:fill({step})");
        Point::new(kernel, (grid, THREADS), &["f32[1]", &source, "1", &rounds.to_string()])
    })
}

/// Of GPUs with sectors every transaction has 32 bytes; eight of a request keep the memory of a large one busy.
pub(super) fn loads_of_32(shape: &Shape) -> Vec<Point> {
    if shape.l2_bytes > 0 { loads_of_128(shape) } else { loads(shape, "scalar_32_apart", 32, 32) }
}

pub(super) fn loads_of_64(shape: &Shape) -> Vec<Point> {
    loads(shape, "scalar_64_apart", 32, 32)
}

pub(super) fn loads_of_128(shape: &Shape) -> Vec<Point> {
    loads(shape, "scalar_128_apart", 64, 64)
}

pub(super) fn loads_of_vectors(shape: &Shape) -> Vec<Point> {
    loads(shape, "vector_apart", 8, 2)
}

/// Rounds of Mb1 to Mb7; the paper has 601, and its equations count for each.
const ROUNDS_OF_MB: [u64; 2] = [31, 45];

pub(super) fn mb(shape: &Shape) -> Vec<Point> {
    // Loads that are not coalesced touch a quarter of the bytes between them.
    let words = shape.beyond_caches();
    let grid = shape.full_grid();
    let threads = grid * THREADS;
    let point = |kernel: &'static str, scale: u64, rounds: u64| {
        let (out, buffer, mask) = (format!("f32[{threads}]"), format!("f32[{words}]"), (words - 1).to_string());
        let (turn, scale, rounds) = (threads.to_string(), scale.to_string(), rounds.to_string());
        let arguments = [out.as_str(), &buffer, &mask, &turn, &scale, "0", "0", "1", &rounds];
        Point::new(kernel, (grid, THREADS), &arguments)
    };
    // Neighbours in this order are held out in turns, so that both sets have every kernel.
    let mut points = Vec::new();
    for kernel in ["mb1", "mb2", "mb3", "mb4", "mb5", "mb6", "mb7"] {
        points.extend(ROUNDS_OF_MB.map(|rounds| point(kernel, 1, rounds)));
        if kernel != "mb1" {
            points.extend(ROUNDS_OF_MB.map(|rounds| point(kernel, 32, rounds)));
        }
    }
    points
}

/// The kernels of a pair repeat 16 times so many rounds; 625 are the paper's 10,000.
const ROUNDS_OF_COSTS: [u64; 3] = [375, 625, 875];

pub(super) fn costs(_: &Shape) -> Vec<Point> {
    let mut kernels: Vec<&'static str> = Vec::new();
    for (with, without) in COSTS.iter().flat_map(|&key| pairs(key)) {
        for kernel in [without, with] {
            if !kernels.contains(kernel) {
                kernels.push(kernel);
            }
        }
    }
    let point = |kernel: &'static str, rounds: u64| {
        let (values, start) =
            if kernel.contains("float") { ("f32[32]:fill(3)", "1") } else { ("s32[32]:fill(3)", "0") };
        Point::new(kernel, (1, 32), &["u64[2]", values, start, IDENTITY, &rounds.to_string()])
    };
    kernels.into_iter().flat_map(|kernel| ROUNDS_OF_COSTS.map(|rounds| point(kernel, rounds))).collect()
}

/// Additions to a load; above 64 they come in a loop.
const ADDITIONS: [(&str, u64); 6] =
    [("cpd_4", 4), ("cpd_16", 16), ("cpd_64", 64), ("cpd_more", 128), ("cpd_more", 256), ("cpd_more", 1024)];
/// Warps of an SM.
const WARPS: [u64; 9] = [1, 2, 4, 8, 16, 24, 32, 48, 64];

pub(super) fn cpd(shape: &Shape) -> Vec<Point> {
    let words = shape.beyond_caches() / 4;
    let mut points = Vec::new();
    for (at, (kernel, additions)) in ADDITIONS.into_iter().enumerate() {
        // Long enough that the launch is little of it, and short enough to be simulated.
        let rounds = (4096 / additions).clamp(6, 64);
        let of_warps = WARPS.into_iter().filter(|warps| 32 * warps <= shape.threads);
        let mut row: Vec<Point> = of_warps
            .map(|warps| {
                let block = 32 * warps.min(THREADS / 32);
                let grid = shape.sms * 32 * warps / block;
                let (out, threads) = (format!("u64[{}]", shape.sms * warps * 2), grid * block);
                let (buffer, mask, turn) = (format!("u32[{words}]"), (words - 1).to_string(), threads.to_string());
                let (more, rounds) = ((additions / 64).to_string(), rounds.to_string());
                let mut arguments = vec![out.as_str(), &buffer, &mask, &turn, "1"];
                arguments.extend((kernel == "cpd_more").then_some(more.as_str()));
                arguments.push(&rounds);
                Point::new(kernel, (grid, block), &arguments)
            })
            .collect();
        // Every other point of the surface is held out, in both directions.
        if at % 2 == 1 {
            row.reverse();
        }
        points.extend(row);
    }
    points
}
