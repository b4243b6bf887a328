//! The direct Coulomb summation on an RTX 2080 Ti: counts and times of 210 configurations against what was measured.
//! The tables in `validation/coulomb.md` are held; `UPDATE=1` rewrites them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use warplens_question::measured::coulomb::{CHARGES, Configuration as Row, GPU, PTX, configurations};
use warplens_question::measured::rank_correlation;
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::predict::{self, CountBasis, GpuAnalysis};
use warplens_session::profile::{CoalescingRule, Counting, OpClass};
use warplens_session::toolchain::Search;
use warplens_session::{Choice, ExecutionOptions, Extent, Measurement, Program, Progress, measure};

fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

fn program() -> Program {
    Program::from_ptx("coulomb", PTX.to_owned()).expect("the kernels are fine")
}

fn measurement(program: &Program, row: &Row, extent: Extent, traced_for: &[Machine]) -> Measurement {
    let mut options = ExecutionOptions::new();
    options.extent = extent;
    options.traced_for = traced_for.to_vec();
    let measurements =
        measure(program, &[row.launch()], options, Counting::Ptx, &Search::default(), &Progress::default());
    measurements.expect("the kernel runs").remove(0)
}

/// The counts of the whole launch from the first of its CTAs, as all do the same.
fn counts(program: &Program, row: &Row) -> Measurement {
    measurement(program, row, Extent::Ctas(0..1), &[])
}

/// One row of each kernel.
fn kernels(rows: &[Row]) -> Vec<&Row> {
    let by_name: BTreeMap<String, &Row> = rows.iter().map(|row| (row.kernel(), row)).collect();
    by_name.into_values().collect()
}

/// How the counters of every configuration give away the number of charges, whatever the compiler made of the loops.
#[test]
fn the_counters_say_64_charges() {
    for row in configurations() {
        let per_thread = |column: &str| row.of(column) / row.threads();
        let z = row.z as f64;
        // A load per charge and array, and one per point of the grid.
        let arrays = if row.layout == "aos" { 1.0 } else { 4.0 };
        assert_eq!((32.0 * per_thread("global_loads") - z) / arrays, CHARGES as f64, "{row:?}");
        // Two differences, a square and a sum for a charge, four operations for each point, one more where the loop over
        // the points is left as one, and the sum with what was there.
        let of_charge = 4.0 + 4.0 * z + if row.unroll == 0 { 0.0 } else { 1.0 };
        assert_eq!((per_thread("thread_fp32") - z) / of_charge, CHARGES as f64, "{row:?}");
    }
}

#[test]
fn operations_and_requests_are_those_counted() {
    let program = program();
    let rows = configurations();
    let kernels = kernels(&rows);
    assert_eq!((rows.len(), kernels.len()), (210, 42));
    let mut table = String::from(
        "Per thread; errors are (counted - measured)/measured in percent.\n\n\
         | kernel | operations measured | counted | error | loads measured | counted | error |\n\
         |---|---:|---:|---:|---:|---:|---:|\n",
    );
    for row in kernels {
        let profile = counts(&program, row).profile;
        // All lanes of all warps take part, so that operations of threads are 32 times those of warps.
        assert_eq!(profile.thread_instructions, 32 * profile.instructions.total, "{}", row.kernel());
        let operations = |class| 32.0 * profile.instructions.of_class(class) as f64;
        // The counter of floating-point operations counts the special functions too.
        let fp32 = operations(OpClass::Fp32) + operations(OpClass::Sfu);
        let loads = profile.global[&CoalescingRule::Cc70].loads as f64;
        write!(table, "| {} |", row.kernel()).unwrap();
        for (column, counted, lanes, limit) in [("thread_fp32", fp32, 1.0, 0.02), ("global_loads", loads, 32.0, 0.05)] {
            let error = counted / row.of(column) - 1.0;
            assert!(error.abs() <= limit, "{} {column}: {counted} off by {:.2} %", row.kernel(), 100.0 * error);
            let each = lanes / row.threads();
            write!(table, " {} | {} | {:.2} |", row.of(column) * each, counted * each, 100.0 * error).unwrap();
        }
        table.push('\n');
    }
    hold("counts", &table);
}

/// GPU at the base clock, which the counters say, and at the boost clock.
const GPUS: [&str; 2] = [GPU, "rtx2080ti@1545"];
const CLOSED_FORMS: &[&str] = &["analyzer", "x-model", "roofline"];
/// Mean of the absolute errors at the first clock that each of them may have, in percent. The first two know no cache that
/// holds what one warp leaves to another, and half of the rows live in it.
const CLOSED_FORM_MEANS: [f64; 3] = [440.0, 430.0, 42.0];

/// Predicted over measured time of each model on each GPU.
fn ratios(measurement: &Measurement, machines: &[Machine], models: &[&'static str], measured: f64) -> Vec<Vec<f64>> {
    let choice = Choice::parse(&models.join(",")).expect("these are models");
    let options = predict::options(&choice, &[], CountBasis::AsWritten, Strictness::AllowInferred)
        .expect("no option is asked for");
    let analysis = predict::predict(measurement.clone(), machines, &choice, options);
    let of_model = |gpu: &GpuAnalysis, model: &str| {
        let answer = gpu.answers.iter().find(|answer| answer.model.name() == model).expect("all were asked");
        answer.result.as_ref().expect("the machine is known").seconds().0 / measured
    };
    models.iter().map(|model| analysis.gpus.iter().map(|gpu| of_model(gpu, model)).collect()).collect()
}

/// The error that is farthest from none.
fn worst(errors: &[f64]) -> f64 {
    errors.iter().copied().fold(0.0, |worst: f64, error| if error.abs() > worst.abs() { error } else { worst })
}

/// Errors of a model over all rows: rank correlation, which is returned, then mean and worst error at each clock.
fn summary(table: &mut String, model: &str, ratios: &[Vec<f64>], measured: &[f64]) -> f64 {
    let predicted: Vec<f64> = ratios.iter().zip(measured).map(|(ratios, measured)| ratios[0] * measured).collect();
    let correlation = rank_correlation(&predicted, measured);
    write!(table, "| {model} | {correlation:.3} |").expect("strings take everything");
    for clock in 0..GPUS.len() {
        let errors: Vec<f64> = ratios.iter().map(|ratios| 100.0 * (ratios[clock] - 1.0)).collect();
        let mean = errors.iter().map(|error| error.abs()).sum::<f64>() / errors.len() as f64;
        write!(table, " {mean:.1} | {:.1} |", worst(&errors)).expect("strings take everything");
    }
    table.push('\n');
    correlation
}

const SUMMARY: &str = "| model | rank correlation | mean error at 1350 MHz | worst | at 1545 MHz | worst |\n\
                       |---|---:|---:|---:|---:|---:|\n";

#[test]
fn closed_forms_predict_the_times() {
    let program = program();
    let rows = configurations();
    let machines: Vec<Machine> = GPUS.iter().map(|gpu| machines::one(gpu).unwrap()).collect();
    let of_row = |row: &Row| ratios(&counts(&program, row), &machines, CLOSED_FORMS, 1e-6 * row.of("time_us"));
    let all: Vec<Vec<Vec<f64>>> = rows.par_iter().map(of_row).collect();
    let measured: Vec<f64> = rows.iter().map(|row| row.of("time_us")).collect();
    let mut table = String::from(SUMMARY);
    for (at, model) in CLOSED_FORMS.iter().enumerate() {
        let ratios: Vec<Vec<f64>> = all.iter().map(|models| models[at].clone()).collect();
        summary(&mut table, model, &ratios, &measured);
        let mean = ratios.iter().map(|ratios| 100.0 * (ratios[0] - 1.0).abs()).sum::<f64>() / ratios.len() as f64;
        assert!(mean <= CLOSED_FORM_MEANS[at], "{model} is {mean:.1} % off");
    }
    println!("{table}");
    hold("closed forms", &table);
}

/// What teg says of every row.
fn simulated(rows: &[Row], machines: &[Machine]) -> Vec<Vec<f64>> {
    let program = program();
    let of_row = |row: &Row| {
        let measurement = measurement(&program, row, Extent::Auto, &machines[..1]);
        ratios(&measurement, machines, &["teg"], 1e-6 * row.of("time_us")).remove(0)
    };
    rows.par_iter().map(of_row).collect()
}

#[test]
fn teg_predicts_the_times() {
    let rows = configurations();
    let machines: Vec<Machine> = GPUS.iter().map(|gpu| machines::one(gpu).unwrap()).collect();
    let ratios = simulated(&rows, &machines);
    let times: Vec<f64> = rows.iter().map(|row| row.of("time_us")).collect();
    let mut table = String::from(SUMMARY);
    let correlation = summary(&mut table, "teg", &ratios, &times);
    for (name, in_memory) in [("arrays in registers or none", false), ("arrays in local memory", true)] {
        let all = rows.iter().zip(&ratios).filter(|(row, _)| (row.of("local_bytes") > 0.0) == in_memory);
        let (times, ratios): (Vec<f64>, Vec<Vec<f64>>) =
            all.map(|(row, ratios)| (row.of("time_us"), ratios.clone())).unzip();
        summary(&mut table, &format!("teg, {} rows with {name}", times.len()), &ratios, &times);
    }
    table.push_str("\nBy kernel, over its shapes of CTAs, at 1350 MHz:\n\n");
    table.push_str(
        "| kernel | registers | local memory | measured (us) | mean error | worst |\n|---|---:|---:|---:|---:|---:|\n",
    );
    for kernel in kernels(&rows) {
        let of_kernel = |row: &(&Row, &Vec<f64>)| row.0.kernel() == kernel.kernel();
        let errors: Vec<f64> =
            rows.iter().zip(&ratios).filter(of_kernel).map(|(_, ratios)| 100.0 * (ratios[0] - 1.0)).collect();
        let of_rows = rows.iter().filter(|row| row.kernel() == kernel.kernel()).map(|row| row.of("time_us"));
        let (least, most) = of_rows.fold((f64::MAX, 0.0_f64), |(least, most), time| (least.min(time), most.max(time)));
        let [registers, local] = ["registers", "local_bytes"].map(|column| kernel.of(column));
        let name = kernel.kernel();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        writeln!(
            table,
            "| {name} | {registers} | {local} B | {least:.0} - {most:.0} | {mean:.0} | {:.0} |",
            worst(&errors)
        )
        .unwrap();
    }
    println!("{table}");
    hold("teg", &table);
    assert!(correlation >= 0.9, "{correlation}");
}

/// Holds a table of the document, or writes it.
fn hold(name: &str, table: &str) {
    warplens_literate::hold(&file("validation/coulomb.md"), name, table);
}
