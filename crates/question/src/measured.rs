//! Measured times of launches: tables of users, and those that the project holds.

pub mod convolution;
pub mod coulomb;
pub mod counters;
mod h200;
pub mod stream;
mod table;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use warplens_base::error::{Error, Result};
use warplens_launch::Launch;
use warplens_model::{CachesBefore, Options};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{
    ExecutionOptions, Extent, Input, Measurement, OutputRequest, Program, Progress, measure, source,
};

use counters::Counter;
pub use table::parse;
pub(crate) use table::{HELP, fields, lines as lines_of, parse_open, quoted};

/// What was measured, and what of.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// What messages call its table.
    pub table: String,
    /// Its line, from 1.
    pub line: usize,
    /// The kernel, or another name of the row.
    pub kernel: Option<String>,
    /// The GPU on which it was measured.
    pub gpu: String,
    /// Microseconds.
    pub measured_us: f64,
    /// Microseconds, where a prediction is given.
    pub predicted_us: Option<f64>,
    /// Which model the given prediction is of, where the table says so.
    pub model: Option<String>,
    /// The resource that bounds the launch, where the table says so.
    pub bound_by: Option<String>,
    /// How much of it was simulated for the given prediction, where the table says so.
    pub simulated: Option<String>,
    /// What messages call the row in place of its table and line.
    pub name: Option<String>,
    /// What to predict.
    pub input: Option<Kernels>,
    /// A file that says how it was launched.
    pub launch_file: Option<PathBuf>,
    /// How it was launched, where the row says it.
    pub launch: Option<Launch>,
    /// The CTAs that are executed, where all do the same.
    pub ctas: Option<Range<u32>>,
    /// What the row has in common with others.
    pub class: Option<String>,
    /// What a calibration finds by it.
    pub parameter: Option<String>,
    /// Cycles between two reads of the clock in the kernel.
    pub clock_cycles: Option<f64>,
    /// Whether models were fitted to it, where the table says so.
    pub set: Option<Set>,
    /// What the caches held when it was launched, where the table says so.
    pub caches: Option<CachesBefore>,
    /// The row, as messages call it, of which it is a change that does the same work.
    pub instead_of: Option<String>,
    /// What of a buffer is kept beside the time, where the row is measured.
    pub read: Option<OutputRequest>,
    /// What a profiler counted.
    pub counters: Vec<(Counter, f64)>,
}

/// Where the kernels of a row are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kernels {
    /// In a file.
    File(PathBuf),
    /// In PTX that the program holds.
    Held {
        /// What messages call it.
        name: &'static str,
        /// Its text.
        ptx: &'static str,
    },
    /// In PTX that is written for one shape of the convolution.
    Convolution(convolution::Shape),
}

/// What rows are for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Set {
    /// They may be looked at while a model, a rule or a parameter is chosen.
    Training,
    /// They only tell how good the choice was.
    HeldOut,
}

impl Set {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Training, Self::HeldOut];

    /// Its name, in tables and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::HeldOut => "held-out",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == text)
    }
}

/// What a sector counts for.
const BYTES_PER_SECTOR: f64 = 32.0;

/// A measured table of the project.
#[derive(Clone, PartialEq, Debug)]
pub struct Held {
    /// Its file, from the root of the project.
    pub name: &'static str,
    /// Its rows.
    pub rows: Vec<Row>,
    /// Rows that no model predicts, and why.
    pub left_out: Option<(usize, &'static str)>,
}

/// Why the micro-benchmarks of latencies and strides are left out.
const CYCLES: &str = "cycles per load of a micro-benchmark, no time of a launch; its kernels are not held";

/// Every measured table of the project.
pub fn held() -> Vec<Held> {
    let unread = |name, text: &str| Held {
        name,
        rows: Vec::new(),
        left_out: Some((text.lines().filter(|line| !line.starts_with("gpu,")).count(), CYCLES)),
    };
    let own = h200::held();
    let published = [
        stream::held(),
        coulomb::held(),
        convolution::held(),
        listed(
            "validation/measured/sgemm-a6000.csv",
            include_str!("../validation/measured/sgemm-a6000.csv"),
            Kernels::Held {
                name: "validation/sgemm/sm_86_nvcc.ptx",
                ptx: include_str!("../validation/sgemm/sm_86_nvcc.ptx"),
            },
        ),
        listed(
            "validation/measured/textbook-k40.csv",
            include_str!("../validation/measured/textbook-k40.csv"),
            Kernels::Held {
                name: "validation/textbook/sm_35.ptx",
                ptx: include_str!("../validation/textbook/sm_35.ptx"),
            },
        ),
        unread("validation/measured/pointer-chase.csv", include_str!("../validation/measured/pointer-chase.csv")),
        unread("validation/measured/l1-strides.csv", include_str!("../validation/measured/l1-strides.csv")),
    ];
    published.into_iter().chain(own).collect()
}

/// A table of the project that has the columns of a user's, all of whose rows are of the same kernels.
fn listed(name: &'static str, text: &str, kernels: Kernels) -> Held {
    let mut rows = parse(name, text, Path::new("")).expect("the table is the project's own");
    rows.iter_mut().for_each(|row| row.input = Some(kernels.clone()));
    Held { name, rows, left_out: None }
}

/// The lines of a table of the project with their numbers and their fields by column.
fn lines(table: &'static str) -> impl Iterator<Item = (usize, BTreeMap<&'static str, &'static str>)> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("the table has a header").split(',').collect();
    lines.enumerate().map(move |(at, line)| (at + 2, columns.iter().copied().zip(line.split(',')).collect()))
}

/// Every figure of a line, by column.
fn figures(fields: &BTreeMap<&str, &str>) -> BTreeMap<String, f64> {
    let figure = |(&name, field): (&&str, &&str)| Some((name.to_owned(), field.parse().ok()?));
    fields.iter().filter_map(figure).collect()
}

/// The set that a line of a table of the project is in.
fn set_of(fields: &BTreeMap<&str, &str>) -> Set {
    fields.get("set").and_then(|name| Set::parse(name)).expect("every line of the project's tables has a set")
}

/// A row without a name, for messages.
fn line_of(table: &str, line: usize) -> String {
    format!("{table}, line {line}")
}

impl Row {
    /// How models are asked about the row: as asked for, but for what the table says of it.
    pub(crate) fn options(&self, asked: Options) -> Options {
        Options { caches_before: self.caches.unwrap_or(asked.caches_before), ..asked }
    }

    /// The row, for messages.
    pub fn place(&self) -> String {
        self.name.clone().unwrap_or_else(|| line_of(&self.table, self.line))
    }

    /// Reads the kernels of the row; CUDA C++ is compiled for `target`.
    pub fn program(&self, target: &str, search: &Search) -> Result<Program> {
        let held = |name: &str, ptx: String| Program::from_ptx(name, ptx)?.in_code(target, search);
        match &self.input {
            Some(Kernels::File(path)) => Program::load(&Input::read(path)?, target, search),
            Some(Kernels::Held { name, ptx }) => held(name, (*ptx).to_owned()),
            Some(Kernels::Convolution(shape)) => held("convolution", shape.ptx()),
            None => Err(Error::input(format!("{}: neither `predicted_us` nor `input`", self.place())).with_help(HELP)),
        }
    }

    /// The launches of the row.
    pub fn launches(&self, program: &Program) -> Result<Vec<Launch>> {
        match &self.launch {
            // A row's name may also be a label of its own where there is no choice.
            Some(launch) if program.kernels().len() == 1 => Ok(vec![Launch { kernel: None, ..launch.clone() }]),
            Some(launch) => Ok(vec![launch.clone()]),
            None => {
                let file = self.launch_file.as_ref().map(|path| path.to_string_lossy().into_owned());
                source::launches(file.as_deref(), Launch::default())
            }
        }
    }

    /// Executes and counts the launches of the row.
    pub fn measure(
        &self,
        program: &Program,
        execution: &ExecutionOptions,
        search: &Search,
        progress: &Progress,
    ) -> Result<Vec<Measurement>> {
        let launches = self.launches(program)?;
        let mut execution = execution.clone();
        if let Some(ctas) = &self.ctas {
            execution.extent = Extent::Ctas(ctas.clone());
        }
        measure(program, &launches, execution, Counting::Ptx, search, progress)
    }

    /// The launch that the row means.
    pub fn chosen<'m>(&self, measurements: &'m [Measurement]) -> Result<&'m Measurement> {
        let is_meant = |measurement: &&Measurement| {
            let kernel = &measurement.kernel;
            self.kernel.as_ref().is_none_or(|name| *name == kernel.mangled || *name == kernel.demangled)
        };
        let only = || measurements.first().filter(|_| measurements.len() == 1);
        measurements.iter().find(is_meant).or_else(only).ok_or_else(|| {
            let known: Vec<&str> =
                measurements.iter().map(|measurement| measurement.kernel.demangled.as_str()).collect();
            let name = self.kernel.clone().unwrap_or_default();
            let error = Error::input(format!("{}: no launch of kernel `{name}`", self.place()));
            error.with_help(format!("the launches are of {}", known.join(", ")))
        })
    }
}

/// Rank correlation of two lists (Spearman); equal values share the mean of their ranks. Not a number where one of the
/// lists holds a single value.
pub fn rank_correlation(left: &[f64], right: &[f64]) -> f64 {
    let ranks = |values: &[f64]| -> Vec<f64> {
        let rank = |value: f64| {
            let less = values.iter().filter(|other| **other < value).count();
            let equal = values.iter().filter(|other| **other == value).count();
            less as f64 + 0.5 * (equal as f64 - 1.0)
        };
        values.iter().map(|value| rank(*value)).collect()
    };
    let (left, right) = (ranks(left), ranks(right));
    let mean = (left.len() as f64 - 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    product(&left, &right) / (product(&left, &left) * product(&right, &right)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_correlate_as_the_definition_says() {
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[10.0, 20.0, 90.0]), 1.0);
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]), -1.0);
        // 1 - 6 * 2 / (4 * 15)
        assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 0.8).abs() < 1e-12);
        assert!(rank_correlation(&[1.0, 2.0], &[3.0, 3.0]).is_nan());
    }

    #[test]
    fn every_table_of_the_project_is_held_with_all_its_rows() {
        // Those of folders are looked at where they are read.
        let is_published = |held: &&Held| !held.name.contains("/h200/");
        let counts: Vec<(&str, usize, Option<usize>)> = held()
            .iter()
            .filter(is_published)
            .map(|table| (table.name, table.rows.len(), table.left_out.map(|(count, _)| count)))
            .collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/measured");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let csv = files.filter(|name| name.to_string_lossy().ends_with(".csv")).count();
        assert_eq!(counts.len(), csv, "a table lies in the folder that is not listed here");
        for (name, rows, left_out) in counts {
            let text = std::fs::read_to_string(format!("{folder}/../../{name}")).unwrap();
            assert_eq!(rows + left_out.unwrap_or(0), text.lines().count() - 1, "{name}");
        }
    }
}
