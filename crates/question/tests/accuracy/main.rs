//! Predictions against measured times of real GPUs. The table in `validation/accuracy.md` holds the errors; `UPDATE=1`
//! rewrites it, and it is read like code: an error that grows is a step back.

mod streams;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use warplens_question::measured::stream::{self, GPUS, KERNELS, Kernel, N, launch};
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::predict::{self, CountBasis};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{Choice, ExecutionOptions, Extent, Measurement, Program, Progress, measure};

const MODELS: &[&str] = &["analyzer", "x-model", "roofline"];
/// Mean of the absolute errors over all kernels and occupancies that each of them may have.
const MEANS: [f64; 3] = [0.18, 0.17, 0.27];

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Measured bandwidth in bytes per second, by GPU, kernel and resident warps; two CTAs per SM hold them.
fn measured() -> BTreeMap<(String, String, u32), f64> {
    let key = |point: &stream::Point| {
        (GPUS[point.gpu].1.to_owned(), KERNELS[point.kernel].measured.to_owned(), point.resident_warps)
    };
    stream::points().iter().map(|point| (key(point), point.bandwidth)).collect()
}

/// The counts of a kernel with CTAs of `threads`, from the first CTAs: all do the same.
fn counts(program: &Program, kernel: &Kernel, threads: u64) -> Measurement {
    let launch = launch(kernel, threads);
    let mut options = ExecutionOptions::new();
    options.extent = Extent::Ctas(1..33);
    let progress = Progress::default();
    let measurements = measure(program, &[launch], options, Counting::Ptx, &Search::default(), &progress);
    measurements.expect("the kernel runs").remove(0)
}

/// (predicted - measured)/measured of some models.
fn errors(measurement: &Measurement, machine: &Machine, models: &[&str], seconds: f64) -> Vec<f64> {
    let options = predict::options(&Choice::All, &[], CountBasis::AsWritten, Strictness::AllowInferred)
        .expect("the measured figures and the kernels are fine");
    let analysis = predict::predict(measurement.clone(), std::slice::from_ref(machine), &Choice::All, options);
    let of_model = |model: &&str| {
        let answer =
            analysis.gpus[0].answers.iter().find(|answer| answer.model.name() == *model).expect("all were asked");
        answer.result.as_ref().expect("the machine is known").seconds().0 / seconds - 1.0
    };
    models.iter().map(of_model).collect()
}

#[test]
fn streaming_kernels_at_every_occupancy() {
    let program =
        Program::from_ptx("stream", std::fs::read_to_string(file("validation/stream/sm_80.ptx")).unwrap()).unwrap();
    let measured = measured();
    let machines: Vec<Machine> = GPUS.iter().map(|(id, ..)| machines::one(id).unwrap()).collect();
    let mut text = String::from(
        "Errors of predicted times, (predicted - measured)/measured in percent: mean of the absolute errors over 32 \
         occupancies, and the worst.\n\n| GPU | kernel |",
    );
    MODELS.iter().for_each(|model| write!(text, " {model} mean | worst |").unwrap());
    text.push_str("\n|---|---|");
    MODELS.iter().for_each(|_| text.push_str("---:|---:|"));
    let mut all: Vec<Vec<f64>> = vec![Vec::new(); MODELS.len()];
    let mut rows: BTreeMap<(usize, usize), Vec<Vec<f64>>> = BTreeMap::new();
    for (k, kernel) in KERNELS.iter().enumerate() {
        for warps in 1..=32u32 {
            let mut measurement = counts(&program, kernel, u64::from(32 * warps));
            for (g, &(_, name, shared)) in GPUS.iter().enumerate() {
                measurement.profile.launch.shared_bytes = shared;
                let bandwidth = measured[&(name.to_owned(), kernel.measured.to_owned(), 2 * warps)];
                let seconds = 8.0 * N as f64 * kernel.moved / bandwidth;
                rows.entry((g, k)).or_default().push(errors(&measurement, &machines[g], MODELS, seconds));
            }
        }
    }
    for ((g, k), errors) in &rows {
        write!(text, "\n| {} | {} |", GPUS[*g].0, KERNELS[*k].name).unwrap();
        for (model, all) in all.iter_mut().enumerate() {
            let of_model: Vec<f64> = errors.iter().map(|errors| errors[model]).collect();
            write!(text, " {:.1} | {:.1} |", 100.0 * mean(&of_model), 100.0 * worst(&of_model)).unwrap();
            all.extend(of_model);
        }
    }
    text.push_str("\n| all | all |");
    for errors in &all {
        write!(text, " {:.1} | {:.1} |", 100.0 * mean(errors), 100.0 * worst(errors)).unwrap();
    }
    text.push('\n');
    hold("streaming kernels", &text);
    for ((model, errors), most) in MODELS.iter().zip(&all).zip(MEANS) {
        assert!(mean(errors) <= most, "{model} is {:.1} % off", 100.0 * mean(errors));
    }
}

/// Compares a table with the document, or puts it there.
fn hold(section: &str, table: &str) {
    warplens_literate::hold(&file("validation/accuracy.md"), section, table);
}

fn worst(errors: &[f64]) -> f64 {
    errors.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).expect("there are errors")
}

fn mean(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64
}
