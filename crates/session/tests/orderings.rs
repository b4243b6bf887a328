//! What any useful model must say about the examples: the better variant is faster, and newer GPUs stream faster.

use std::path::Path;

use warplens_launch::Launch;
use warplens_session::machines::{self, Strictness};
use warplens_session::predict::{self, CountBasis, GpuAnalysis};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{Analysis, Choice, ExecutionOptions, Program, Progress, measure};

const GPUS: &str = "gtx280,c1060,k40,v100,a100-80,h200";

/// Every model's answers for an example; `launch` names its launch file.
fn answers(example: &str, launch: &str) -> Analysis {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let text = std::fs::read_to_string(folder.join("ptx/sm_80.ptx")).expect("the PTX can be read");
    let program = Program::from_ptx(example, text).expect("the PTX is fine");
    let launch = folder.join(launch);
    let launches =
        warplens_session::source::launches(launch.to_str(), Launch::default()).expect("the launch file is fine");
    let progress = Progress::default();
    let measurements =
        measure(&program, &launches, ExecutionOptions::new(), Counting::Ptx, &Search::default(), &progress)
            .expect("the example runs");
    let options = predict::options(&Choice::All, &[], CountBasis::AsWritten, Strictness::AllowInferred)
        .expect("no option is asked for");
    let machines = machines::select(GPUS).expect("the GPUs are built in");
    let measurement = measurements.into_iter().next().expect("there is one launch");
    let analysis = predict::predict(measurement, &machines, &Choice::All, options);
    check_every_model(example, &analysis);
    analysis
}

/// Every model gives a time or names what it lacks, and no model beats the lower bound.
fn check_every_model(example: &str, analysis: &Analysis) {
    for gpu in &analysis.gpus {
        assert_eq!(gpu.answers.len(), predict::models().len());
        for answer in &gpu.answers {
            if let Err(refusal) = &answer.result {
                assert!(!refusal.reason.is_empty(), "{example} {} {}", gpu.machine.id, answer.model);
            }
        }
        let (bound, analyzer) = (time_of(gpu, "roofline"), time_of(gpu, "analyzer"));
        assert!(bound <= analyzer, "{example} on {}: roofline {bound} us, analyzer {analyzer} us", gpu.machine.id);
    }
}

/// Microseconds that a model predicts.
fn time_of(gpu: &GpuAnalysis, model: &str) -> f64 {
    let answer = gpu.answers.iter().find(|answer| answer.model.name() == model).expect("every model was asked");
    match &answer.result {
        Ok(prediction) => prediction.seconds().microseconds(),
        Err(refusal) => panic!("{model} refuses {}: {refusal}", gpu.machine.id),
    }
}

/// `better` is faster than `worse` by at least 5 % on every GPU, according to the analyzer.
fn assert_faster(better: (&str, &str), worse: (&str, &str)) {
    let (fast, slow) = (answers(better.0, better.1), answers(worse.0, worse.1));
    for (fast, slow) in fast.gpus.iter().zip(&slow.gpus) {
        let (a, b) = (time_of(fast, "analyzer"), time_of(slow, "analyzer"));
        assert!(1.05 * a <= b, "{}: {} {a} us, {} {b} us", fast.machine.id, better.0, worse.0);
    }
}

#[test]
fn tiles_make_the_matrix_product_faster() {
    assert_faster(("matmul_tiled", "launch-512.toml"), ("matmul_naive", "launch-512.toml"));
}

#[test]
fn a_structure_of_arrays_is_faster() {
    assert_faster(("layout_soa", "launch-large.toml"), ("layout_aos", "launch-large.toml"));
}

#[test]
fn bank_conflicts_cost_time() {
    assert_faster(("abt_conflict_free", "launch-512.toml"), ("abt_conflict", "launch-512.toml"));
}

#[test]
fn newer_gpus_stream_faster() {
    let analysis = answers("vector_add", "launch-large.toml");
    let time = |id: &str| {
        let gpu = analysis.gpus.iter().find(|gpu| gpu.machine.id == id).expect("the GPU was asked about");
        time_of(gpu, "analyzer")
    };
    let times = ["h200", "a100-80", "v100-pcie", "k40", "gtx280"].map(time);
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}
