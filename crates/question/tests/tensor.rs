//! A product of f16 matrices of some size, as the timing simulation sees it: near the rate of the tensor cores where it is
//! made as libraries make it, slower where tiles are small, copies are waited for or rows lie in the same banks.

use std::path::Path;

use warplens_launch::Launch;
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Choice, Options};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Extent, Program, Progress, measure};

/// Extents of the product.
const M: u64 = 2304;
const N: u64 = 1536;
const K: u64 = 2048;
/// CTAs that are executed: they all do the same.
const EXECUTED: std::ops::Range<u32> = 0..4;

/// What a model says of a kernel, in seconds.
fn time(kernel: &str, (tile, shared): (u64, u64), model: &str, gpu: &Machine) -> (f64, String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../validation/tensor/half_gemm.ptx");
    let text = std::fs::read_to_string(path).expect("the PTX can be read");
    let program = Program::from_ptx("half_gemm", text).expect("the PTX can be parsed");
    let launch = format!(
        "kernel = \"{kernel}\"\ngrid = [{}, {}]\nblock = [128]\nshared = {shared}\n\
         args = [\"f32[{}]\", \"f16[{}]:uniform(-1,1)\", \"f16[{}]:uniform(-1,1)\", \"{N}\", \"{K}\"]\n",
        N / tile,
        M / tile,
        M * N,
        M * K,
        N * K
    );
    let launches = Launch::parse_file("launch", &launch).expect("the launch can be read");
    let gpus = std::slice::from_ref(gpu);
    let options =
        ExecutionOptions { traced_for: gpus.to_vec(), extent: Extent::Ctas(EXECUTED), ..ExecutionOptions::new() };
    let measurements = measure(&program, &launches, options, Counting::Ptx, &Search::default(), &Progress::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let choice = Choice::parse(model).expect("the model exists");
    let measurement = measurements.into_iter().next().expect("one launch");
    let answer = predict::predict(measurement, gpus, &choice, Options::default()).gpus.remove(0).answers.remove(0);
    let prediction = answer.result.unwrap_or_else(|refusal| panic!("{kernel} on {}: {refusal}", gpu.id));
    let limiter = prediction.limiter().name().to_owned();
    (prediction.seconds().0, limiter)
}

fn gpu(name: &str) -> Machine {
    machines::select(name).expect("the GPU is built in").remove(0)
}

/// SMs, multiply-adds of an SM per cycle with f32 sums, and the clock in hertz.
const GPUS: [(&str, f64, f64, f64); 2] = [("a100-80", 108.0, 1024.0, 1.41e9), ("rtx3090", 82.0, 256.0, 1.695e9)];

#[test]
fn a_good_product_comes_near_the_tensor_rate_and_worse_ones_do_not() {
    for (name, sms, rate, clock) in GPUS {
        let gpu = gpu(name);
        let ideal = (M * N * K) as f64 / (sms * rate * clock);
        let (best, _) = time("tiles_of_128", (128, 61440), "teg", &gpu);
        let share = ideal / best;
        println!("{name}: {:.1} us, {:.1} % of the tensor rate", 1e6 * best, 100.0 * share);
        assert!((0.7..=1.0).contains(&share), "{name}: {share}");
        for (kernel, tile, shared) in
            [("tiles_of_64", 64, 30720), ("one_stage", 128, 20480), ("rows_in_the_same_banks", 128, 49152)]
        {
            let (worse, _) = time(kernel, (tile, shared), "teg", &gpu);
            println!("{name}: {kernel} {:.1} us, {:.2} times", 1e6 * worse, worse / best);
            assert!(worse > best, "{name}: {kernel} {worse} {best}");
        }
    }
}

#[test]
fn bounds_are_those_of_the_tensor_cores() {
    for (name, sms, rate, clock) in GPUS {
        let gpu = gpu(name);
        let ideal = (M * N * K) as f64 / (sms * rate * clock);
        for model in ["roofline", "speed-of-light"] {
            let (bound, limiter) = time("tiles_of_128", (128, 61440), model, &gpu);
            println!("{name}: {model} {:.1} us, ideal {:.1} us, {limiter}", 1e6 * bound, 1e6 * ideal);
            assert!((bound / ideal - 1.0).abs() < 0.01, "{name}, {model}: {bound} {ideal}");
            assert!(limiter.contains("tensor"), "{name}, {model}: {limiter}");
        }
    }
}
