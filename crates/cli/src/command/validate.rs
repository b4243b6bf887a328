//! `warplens validate [TABLE.csv...]`: predictions against measured times, and against those of an earlier run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use warplens_question::plot::accuracy;
use warplens_question::validate::{self, Request, Table, Validation, baseline};
use warplens_report::{document, view};
use warplens_session::Choice;
use warplens_session::machines::{self, Strictness};
use warplens_session::predict::{self, CountBasis};

use super::{Document, Outcome, picture};
use crate::flags::{CodeArgument, ExecutionFlags, OutputFlags};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
#[command(after_help = TABLES)]
pub(crate) struct ValidateFlags {
    /// Measured times; those that the project holds without any
    #[arg(value_name = "TABLE.csv")]
    tables: Vec<PathBuf>,
    /// Only rows of these GPUs: identifiers, marketing names, sm_XX for all of a target, FILE.toml, ID@MHZ, all
    #[arg(long, value_name = "LIST", help_heading = "Prediction")]
    gpu: Option<String>,
    /// Models, or `auto` for the preferred one that answers, or `all`
    #[arg(long, value_name = "NAME|auto|all", default_value = "all", help_heading = "Prediction")]
    model: String,
    /// Switch an option of the models on, such as as-printed
    #[arg(long = "option", value_name = "NAME", help_heading = "Prediction")]
    options: Vec<String>,
    /// Refuse where a machine parameter would have to be derived
    #[arg(long, help_heading = "Prediction")]
    strict: bool,
    /// Fail where predictions are further off than those of an earlier run, which `--predictions` wrote
    #[arg(long, value_name = "FILE.csv")]
    baseline: Option<PathBuf>,
    /// By how many percent the mean error of a group may grow beyond that of the baseline
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, requires = "baseline")]
    tolerance: f64,
    /// Write every prediction to this file, as a table of given predictions
    #[arg(long, value_name = "FILE.csv")]
    predictions: Option<PathBuf>,
    /// Draw into this folder: predicted against measured times of each model, and counts against counters
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    #[command(flatten)]
    code: CodeArgument,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    output: OutputFlags,
}

const TABLES: &str = "The first line of a TABLE.csv names its columns: gpu and measured_us; input (PTX or CUDA C++), \
with launch (a launch file) or grid, block, shared, registers and args (with semicolons between them); or \
predicted_us, a prediction that is there already (with model, bound_by and simulated). kernel names a kernel or the row, ctas (N..M) the blocks that are \
executed where all do the same, class puts rows together, set is training or held-out, \
caches is emptied where a profiler emptied them before each launch, instead_of is the line of the \
row of which this one is a change that does the same work: the gains of changes are compared too. instructions, \
thread_fp32, global_loads, shared_wavefronts and dram_bytes are counters of a profiler, which counts are held against.";

pub(crate) fn run(flags: &ValidateFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let choice = Choice::parse(&flags.model)?;
    let strictness = if flags.strict { Strictness::Strict } else { Strictness::AllowInferred };
    let options = predict::options(&choice, &flags.options, CountBasis::AsWritten, strictness)?;
    let gpus = flags.gpu.as_deref().map(machines::select).transpose()?;
    let execution = flags.execution.options(threads)?;
    let tables: Vec<Table> = match flags.tables.as_slice() {
        [] => validate::tables_of_project(),
        paths => paths.iter().map(|path| validate::table(path)).collect::<warplens_session::Result<_>>()?,
    };
    if let Some(folder) = &flags.plots {
        let of_models = choice.candidates().into_iter().map(|model| times_of(folder, model.name()));
        let paths: Vec<PathBuf> = of_models.chain([folder.join(COUNTS)]).collect();
        terminal.check_writable(&paths)?;
    }
    let request = Request { choice, options, execution, gpus, code: flags.code.kind() };
    let mut validation = terminal.with_progress(|progress| validate::validate(&tables, &request, progress))?;
    if let Some(path) = &flags.predictions {
        terminal.data(Some(path), &baseline::text(&validation))?;
    }
    if let Some(path) = &flags.baseline {
        let earlier = validate::table(path)?;
        validation.worse = baseline::worse(&earlier, &tables, &validation, &request, flags.tolerance / 100.0)?;
    }
    let sections = || view::validate::sections(&validation);
    let tables = || view::validate::tables(&validation);
    let json = || document::value(&view::validate::document(&validation));
    Document { title: "Validation", sections: &sections, tables: &tables, json: &json }
        .write(&flags.output, terminal)?;
    if let Some(folder) = &flags.plots {
        draw(&validation, folder, terminal)?;
    }
    if !validation.worse.is_empty() {
        terminal.message("predictions are further off than those of the baseline");
        return Ok(Outcome::GateBreached);
    }
    Ok(Outcome::of_models(!validation.pairs.is_empty(), terminal))
}

/// The picture of the counts.
const COUNTS: &str = "counts.svg";

/// The picture of the times that a model says. Tables of predictions may call it by any text.
fn times_of(folder: &Path, model: &str) -> PathBuf {
    let plain = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
    folder.join(format!("times-{}.svg", model.chars().map(plain).collect::<String>()))
}

/// A picture of the times for each model, and one of the counts.
fn draw(validation: &Validation, folder: &Path, terminal: &Terminal) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let models: BTreeSet<&str> = validation.pairs.iter().map(|pair| pair.model.as_str()).collect();
    for model in models {
        let of_model = validation.pairs.iter().filter(|pair| pair.model == model);
        let pair = |pair: &validate::Pair| accuracy::Pair {
            kernel: pair.kernel.clone(),
            gpu: pair.gpu.clone(),
            measured_us: pair.measured_us,
            predicted_us: pair.predicted_us,
        };
        let figure = view::figure::accuracy(&accuracy::summary(of_model.map(pair).collect(), Vec::new())?);
        picture::write(&figure, &times_of(folder, model), terminal)?;
    }
    match view::figure::counts(validation) {
        Some(figure) => picture::write(&figure, &folder.join(COUNTS), terminal),
        None => Ok(()),
    }
}
