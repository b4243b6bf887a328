//! Predictions against measured times.
//!
//! The times come from a CSV file with the columns `gpu` and `measured_us`, in any order. `kernel` says which launch a
//! row means; `input` and `launch` name the files to be predicted, relative to the CSV file; `predicted_us` is a
//! prediction that is there already.

use std::path::{Path, PathBuf};

use warplens_base::nearest;
use warplens_model::Options;

use warplens_base::error::{Error, Result};
use warplens_launch::Launch;
use warplens_session::Generation;
use warplens_session::Input;
use warplens_session::Measurement;
use warplens_session::Program;
use warplens_session::execution::{ExecutionOptions, Progress};
use warplens_session::machines::{self, ComputeCapability, Machine};
use warplens_session::measure;
use warplens_session::predict::{Choice, measured_on};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;

/// Columns that are understood.
const COLUMNS: [&str; 6] = ["kernel", "gpu", "measured_us", "predicted_us", "input", "launch"];

/// A row of the file.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
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
    /// What to predict.
    pub input: Option<PathBuf>,
    /// How it was launched.
    pub launch: Option<PathBuf>,
}

/// All pairs of times.
#[derive(Clone, PartialEq, Debug)]
pub struct Accuracy {
    /// The pairs, in the order of the file.
    pub pairs: Vec<Pair>,
    /// Rows without a prediction, with the reason.
    pub refused: Vec<String>,
    /// Mean of |predicted - measured| / measured.
    pub mean_error: f64,
    /// Geometric mean of the larger over the smaller of both times, less 1.
    pub geometric_error: f64,
    /// Pairs whose prediction is within 10 % of the measurement.
    pub within_tenth: usize,
}

/// A measurement and its prediction.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// The kernel, or the name of the row.
    pub kernel: String,
    /// Identifier of the GPU.
    pub gpu: String,
    /// Microseconds.
    pub measured_us: f64,
    /// Microseconds.
    pub predicted_us: f64,
}

/// Reads the file; `name` stands in messages, and paths in it are relative to `folder`.
pub fn parse(name: &str, text: &str, folder: &Path) -> Result<Vec<Row>> {
    let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let (_, heading) = lines.next().ok_or_else(|| Error::input(format!("{name} is empty")).with_help(HELP))?;
    let columns: Vec<String> = fields(heading);
    for column in &columns {
        if !COLUMNS.contains(&column.as_str())
            && let Some(near) = nearest(column, COLUMNS)
        {
            let error = Error::input(format!("{name}, line 1: unknown column `{column}`"));
            return Err(error.with_help(format!("did you mean `{near}`?")));
        }
    }
    let at = |wanted: &str| columns.iter().position(|column| column == wanted);
    for needed in ["gpu", "measured_us"] {
        if at(needed).is_none() {
            return Err(Error::input(format!("{name} has no column `{needed}`")).with_help(HELP));
        }
    }
    let row = |(number, line): (usize, &str)| {
        let line_number = number + 1;
        let fields = fields(line);
        let field = |wanted: &str| at(wanted).and_then(|at| fields.get(at)).filter(|field| !field.is_empty()).cloned();
        let time = |wanted: &str| {
            let Some(text) = field(wanted) else { return Ok(None) };
            let number: Option<f64> = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
            let bad =
                || Error::input(format!("{name}, line {line_number}: `{wanted}` is `{text}`, not a time above 0"));
            number.map(Some).ok_or_else(bad)
        };
        let lacks = |wanted: &str| Error::input(format!("{name}, line {line_number}: no `{wanted}`"));
        Ok(Row {
            line: line_number,
            kernel: field("kernel"),
            gpu: field("gpu").ok_or_else(|| lacks("gpu"))?,
            measured_us: time("measured_us")?.ok_or_else(|| lacks("measured_us"))?,
            predicted_us: time("predicted_us")?,
            input: field("input").map(|path| folder.join(path)),
            launch: field("launch").map(|path| folder.join(path)),
        })
    };
    let rows: Vec<Row> = lines.map(row).collect::<Result<_>>()?;
    if rows.is_empty() {
        return Err(Error::input(format!("{name} has no row")).with_help(HELP));
    }
    Ok(rows)
}

const HELP: &str =
    "its first line names the columns: gpu, measured_us and one of predicted_us, input (with launch and kernel)";

/// Fields of a line; quotes keep commas, and a quote in quotes is doubled.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        let field = fields.last_mut().expect("there is always a field");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => field.extend(characters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            _ => field.push(c),
        }
    }
    fields.into_iter().map(|field| field.trim().to_owned()).collect()
}

/// What it takes to predict rows.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which models answer.
    pub choice: Choice,
    /// Their options.
    pub options: Options,
    /// How kernels are executed.
    pub execution: ExecutionOptions,
}

/// Predicts what is not predicted yet, and compares.
pub fn accuracy(name: &str, rows: &[Row], request: &Request, progress: &Progress) -> Result<Accuracy> {
    let mut measured: Vec<(&PathBuf, Option<&PathBuf>, Vec<Measurement>)> = Vec::new();
    let (mut pairs, mut refused) = (Vec::new(), Vec::new());
    let gpus: Vec<Machine> = rows.iter().filter_map(|row| machines::one(&row.gpu).ok()).collect();
    let traced_for = request.choice.traced(&gpus);
    let generations = Generation::of_all(&gpus);
    let request = &Request {
        execution: ExecutionOptions { traced_for, generations, ..request.execution.clone() },
        ..request.clone()
    };
    for row in rows {
        let place = format!("{name}, line {}", row.line);
        let named = row.kernel.clone();
        if let Some(predicted_us) = row.predicted_us {
            let kernel = named.unwrap_or_else(|| format!("line {}", row.line));
            pairs.push(Pair { kernel, gpu: row.gpu.clone(), measured_us: row.measured_us, predicted_us });
            continue;
        }
        let machine = machines::one(&row.gpu)?;
        let Some(input) = &row.input else {
            return Err(Error::input(format!("{place}: neither `predicted_us` nor `input`")).with_help(HELP));
        };
        let launch = row.launch.as_ref();
        let at = match measured.iter().position(|(path, file, _)| *path == input && *file == launch) {
            Some(at) => at,
            None => {
                let cc = machine.cc.max(ComputeCapability::new(7, 5));
                measured.push((input, launch, run(input, launch, &cc.target(), request, progress)?));
                measured.len() - 1
            }
        };
        let measurements = &measured[at].2;
        let is_meant = |measurement: &&Measurement| {
            let kernel = &measurement.kernel;
            named.as_ref().is_none_or(|name| *name == kernel.mangled || *name == kernel.demangled)
        };
        // A row's name may also be a label of its own where there is no choice.
        let found = measurements.iter().find(is_meant).or(measurements.first().filter(|_| measurements.len() == 1));
        let Some(measurement) = found else {
            let known: Vec<&str> =
                measurements.iter().map(|measurement| measurement.kernel.demangled.as_str()).collect();
            let error = Error::input(format!("{place}: no launch of kernel `{}`", named.unwrap_or_default()));
            return Err(error.with_help(format!("the launches are of {}", known.join(", "))));
        };
        let answer = measured_on(measurement, &machine, &request.choice, request.options);
        let kernel = named.unwrap_or_else(|| measurement.kernel.demangled.clone());
        match answer.time() {
            Some(time) => {
                pairs.push(Pair { kernel, gpu: machine.id, measured_us: row.measured_us, predicted_us: time.0 * 1e6 });
            }
            None => {
                let reason = answer.answers.iter().find_map(|answer| answer.result.as_ref().err());
                let reason = reason.map_or_else(String::new, |refusal| format!(": {}", refusal.reason));
                refused.push(format!("{kernel} on {}{reason}", machine.id));
            }
        }
    }
    summary(pairs, refused)
}

fn run(
    input: &Path,
    launch: Option<&PathBuf>,
    target: &str,
    request: &Request,
    progress: &Progress,
) -> Result<Vec<Measurement>> {
    let search = Search::from_environment();
    let program = Program::load(&Input::read(input)?, target, &search)?;
    let file = launch.map(|path| path.to_string_lossy().into_owned());
    let launches = warplens_session::source::launches(file.as_deref(), Launch::default())?;
    measure(&program, &launches, request.execution.clone(), Counting::Ptx, &search, progress)
}

fn summary(pairs: Vec<Pair>, refused: Vec<String>) -> Result<Accuracy> {
    if pairs.is_empty() {
        let error = Error::input("no measured time has a prediction");
        return Err(refused.into_iter().fold(error, Error::with_detail));
    }
    let n = pairs.len() as f64;
    let error = |pair: &Pair| (pair.predicted_us - pair.measured_us).abs() / pair.measured_us;
    let logarithms: f64 = pairs.iter().map(|pair| (pair.predicted_us / pair.measured_us).ln().abs()).sum();
    Ok(Accuracy {
        mean_error: pairs.iter().map(error).sum::<f64>() / n,
        geometric_error: (logarithms / n).exp() - 1.0,
        within_tenth: pairs.iter().filter(|pair| error(pair) <= 0.1).count(),
        pairs,
        refused,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> std::result::Result<Vec<Row>, String> {
        parse("t.csv", text, Path::new("folder")).map_err(|error| match error.help {
            Some(help) if help != HELP => format!("{}; {help}", error.message),
            _ => error.message,
        })
    }

    #[test]
    fn columns_come_in_any_order() {
        let rows =
            rows("measured_us,gpu,kernel,input,note\n1.5,h200,\"f(int, int)\",a.ptx,\"a \"\"b\"\"\"\n\n2,c1060,,,\n");
        let rows = rows.unwrap();
        assert_eq!((rows[0].line, rows[0].measured_us, rows[0].gpu.as_str()), (2, 1.5, "h200"));
        assert_eq!(rows[0].kernel.as_deref(), Some("f(int, int)"));
        assert_eq!(rows[0].input.as_deref(), Some(Path::new("folder/a.ptx")));
        assert_eq!((rows[1].line, rows[1].kernel.as_deref()), (4, None));
    }

    #[test]
    fn bad_files_are_named_with_their_line() {
        assert_eq!(rows(""), Err("t.csv is empty".into()));
        assert_eq!(rows("gpu,measured_us\n"), Err("t.csv has no row".into()));
        assert_eq!(rows("gpu\nh200\n"), Err("t.csv has no column `measured_us`".into()));
        assert_eq!(
            rows("gpu,mesured_us\n"),
            Err("t.csv, line 1: unknown column `mesured_us`; did you mean `measured_us`?".into())
        );
        assert_eq!(
            rows("gpu,measured_us\nh200,-1\n"),
            Err("t.csv, line 2: `measured_us` is `-1`, not a time above 0".into())
        );
        assert_eq!(rows("gpu,measured_us\n,1\n"), Err("t.csv, line 2: no `gpu`".into()));
    }

    #[test]
    fn errors_are_means_over_pairs() {
        let pair = |measured_us, predicted_us| Pair { kernel: "k".into(), gpu: "g".into(), measured_us, predicted_us };
        let accuracy = summary(vec![pair(10.0, 10.5), pair(10.0, 20.0)], Vec::new()).unwrap();
        assert!((accuracy.mean_error - 0.525).abs() < 1e-12);
        assert!((accuracy.geometric_error - (2.1f64.sqrt() - 1.0)).abs() < 1e-12);
        assert_eq!(accuracy.within_tenth, 1);
        assert!(summary(Vec::new(), vec!["x".into()]).is_err());
    }
}
