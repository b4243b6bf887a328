//! The benchmarks of the papers, written afresh as examples: their counts beside the papers', and the direction of the
//! predictions. `UPDATE=1` writes `docs/studies.md`, which otherwise must say what is counted here.

mod page;

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use warplens_launch::Launch;
use warplens_session::machines::{self, Strictness};
use warplens_session::predict::{self, CountBasis};
use warplens_session::profile::{Counting, Profile};
use warplens_session::toolchain::Search;
use warplens_session::{Choice, ExecutionOptions, Extent, Measurement, Program, Progress, measure};

/// The same boxes for every kernel: two rows in the middle of the grid.
const BOXES: Range<u32> = 279..297;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn studies() -> Table {
    include_str!("studies.toml").parse().expect("the studies are a table")
}

fn rows<'s>(studies: &'s Table, study: &str) -> impl Iterator<Item = &'s Value> {
    studies[study].as_array().expect("a study is a list of kernels").iter()
}

fn text<'s>(row: &'s Value, key: &str) -> &'s str {
    row[key].as_str().expect("the entry is a text")
}

fn number(row: &Value, key: &str) -> f64 {
    row[key].as_float().expect("the entry is a number")
}

/// Measures an example; for one of several kernels `kernel` has its name and registers.
fn measured(example: &str, launch: &str, kernel: Option<(&str, u32)>, extent: Extent) -> Measurement {
    let folder = root().join("examples").join(example);
    let ptx = std::fs::read_to_string(folder.join("ptx/sm_80.ptx")).expect("the PTX can be read");
    let program = Program::from_ptx(example, ptx).expect("the PTX is fine");
    let flags = Launch {
        kernel: kernel.map(|(name, _)| name.to_owned()),
        registers: kernel.map(|(_, registers)| registers),
        shared: kernel.is_some_and(|(name, _)| name.contains("shmem")).then_some(1024),
        ..Launch::default()
    };
    let launches =
        warplens_session::source::launches(folder.join(launch).to_str(), flags).expect("the launch file is fine");
    let options = ExecutionOptions { extent, ..ExecutionOptions::new() };
    let measurements = measure(&program, &launches, options, Counting::Ptx, &Search::default(), &Progress::default());
    let measurements = measurements.unwrap_or_else(|error| panic!("{example}: {error}"));
    measurements.into_iter().next().expect("there is one launch")
}

/// The profile of an example; the CTAs of all but the image filters do the same.
fn profile(example: &str, launch: &str) -> Profile {
    let extent = if matches!(example, "sepia" | "linear") { Extent::Full } else { Extent::Ctas(0..2) };
    measured(example, launch, None, extent).profile
}

/// Milliseconds of the FMM kernels on the thesis's GPU by its model, with the options called `options`.
fn predicted(measurements: &[Measurement], options: &[&str]) -> Vec<f64> {
    let model = Choice::parse("analyzer").expect("analyzer is a model");
    let names: Vec<String> = options.iter().map(|&name| name.to_owned()).collect();
    let options = predict::options(&model, &names, CountBasis::AsWritten, Strictness::AllowInferred)
        .expect("the model has these options");
    let machines = machines::select("c1060").expect("the GPU is built in");
    let time = |measurement: &Measurement| {
        let analysis = predict::predict(measurement.clone(), &machines, &model, options);
        let answer = &analysis.gpus[0].answers[0];
        answer.result.as_ref().expect("the model answers").seconds().0 * 1e3
    };
    measurements.iter().map(time).collect()
}

#[test]
fn the_page_says_what_is_counted() {
    let page = page::page(&studies());
    let path = root().join("docs/studies.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == page,
        "docs/studies.md is stale; `UPDATE=1 cargo test -p warplens-session --test studies` writes it"
    );
}
