//! Predictions against measured times of real GPUs. The table in `validation/accuracy.md` holds the errors; `UPDATE=1`
//! rewrites it, and it is read like code: an error that grows is a step back.

mod streams;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use warplens_launch::Launch;
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::predict::{self, CountBasis};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{Choice, ExecutionOptions, Extent, Measurement, Program, Progress, measure};

/// Elements of each array.
const N: u64 = 134_217_730;

struct Kernel {
    name: &'static str,
    /// Name in the measurements.
    measured: &'static str,
    arrays: usize,
    /// A scalar after the arrays.
    scalar: Option<&'static str>,
    /// By ptxas 13.5 for sm_80.
    registers: u32,
    /// Arrays that the measured bandwidth counts.
    moved: f64,
}

const KERNELS: &[Kernel] = &[
    Kernel { name: "init", measured: "init", arrays: 1, scalar: Some("0.23"), registers: 8, moved: 1.0 },
    Kernel { name: "read", measured: "read", arrays: 2, scalar: None, registers: 8, moved: 1.0 },
    Kernel { name: "scale", measured: "scale", arrays: 2, scalar: Some("1.2"), registers: 10, moved: 2.0 },
    Kernel { name: "triad", measured: "triad", arrays: 3, scalar: Some("1.2"), registers: 12, moved: 3.0 },
    Kernel { name: "stencil3", measured: "3pt", arrays: 2, scalar: None, registers: 13, moved: 2.0 },
    Kernel { name: "stencil5", measured: "5pt", arrays: 2, scalar: None, registers: 17, moved: 2.0 },
];

/// GPU, its name in the measurements, bytes of shared memory that leave room for two CTAs per SM.
const GPUS: &[(&str, &str, u64)] =
    &[("v100-pcie", "v100", 48 << 10), ("a100-80", "a100-80", 80 << 10), ("h200", "h200", 112 << 10)];
const MODELS: &[&str] = &["analyzer", "x-model", "roofline"];

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Measured bandwidth in bytes per second, by GPU, kernel and resident warps; two CTAs per SM hold them.
fn measured() -> BTreeMap<(String, String, u32), f64> {
    let text =
        std::fs::read_to_string(file("validation/measured/stream-occupancy.csv")).expect("the figures are there");
    let rows = text.lines().skip_while(|line| !line.starts_with("gpu,")).skip(1);
    rows.map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let (warps, bandwidth): (u32, f64) = (
            fields[2].parse().expect("the measured figures and the kernels are fine"),
            fields[3].parse().expect("the measured figures and the kernels are fine"),
        );
        ((fields[0].to_owned(), fields[1].to_owned(), warps), 1e9 * bandwidth)
    })
    .collect()
}

/// A launch of a kernel with CTAs of `threads`.
fn launch(kernel: &Kernel, threads: u64) -> Launch {
    let mut launch = Launch {
        kernel: Some(kernel.name.to_owned()),
        grid: Some([u32::try_from(N / threads + 1).expect("the measured figures and the kernels are fine"), 1, 1]),
        block: Some([u32::try_from(threads).expect("the measured figures and the kernels are fine"), 1, 1]),
        registers: Some(kernel.registers),
        ..Launch::default()
    };
    let arrays = (0..kernel.arrays).map(|_| format!("f64[{N}]"));
    let scalars = kernel.scalar.iter().map(|&scalar| scalar.to_owned());
    arrays
        .chain(scalars)
        .chain([N.to_string()])
        .for_each(|text| launch.add_argument(&text).expect("the measured figures and the kernels are fine"));
    launch
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
