//! `warplens validate [TABLE.csv...]`: predictions against measured times, and against those of an earlier run.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use warplens_question::validate::{self, Request, Table, baseline};
use warplens_report::{document, view};
use warplens_session::Choice;
use warplens_session::machines::{self, Strictness};
use warplens_session::predict::{self, CountBasis};

use super::{Document, Outcome};
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
executed where all do the same, class puts rows together, set is training or held-out, instead_of is the line of the \
row of which this one is a change that does the same work: the gains of changes are compared too.";

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
    if !validation.worse.is_empty() {
        terminal.message("predictions are further off than those of the baseline");
        return Ok(Outcome::GateBreached);
    }
    Ok(Outcome::of_models(!validation.pairs.is_empty(), terminal))
}
