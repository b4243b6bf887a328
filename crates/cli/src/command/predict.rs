//! `warplens predict INPUT`: the time on each GPU, what bounds it, and the counts behind the answer.

use anyhow::Result;
use clap::Args;
use warplens_report::{Section, document, view};
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::predict::{self, CountBasis};
use warplens_session::profile::Counting;
use warplens_session::statics;
use warplens_session::toolchain::Search;
use warplens_session::{Analysis, Choice, Gate};

use super::profile::CountFlag;
use super::{Document, Outcome};
use crate::flags::{ExecutionFlags, ExtentFlags, LaunchFlags, OutputFlags, StaticFlags};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct PredictFlags {
    #[command(flatten)]
    pub(crate) launch: LaunchFlags,
    /// GPUs: identifiers, marketing names, sm_XX for all of a target, FILE.toml, ID@MHZ, all
    #[arg(long, value_name = "LIST", default_value = "h200", help_heading = "Prediction")]
    gpu: String,
    /// Models, or `auto` for the preferred one that answers, or `all`
    #[arg(long, value_name = "NAME|auto|all", default_value = "auto", help_heading = "Prediction")]
    model: String,
    /// Switch an option of the models on, such as as-printed
    #[arg(long = "option", value_name = "NAME", help_heading = "Prediction")]
    options: Vec<String>,
    /// Refuse where a machine parameter would have to be derived
    #[arg(long, help_heading = "Prediction")]
    strict: bool,
    /// Which instructions count
    #[arg(long, value_enum, default_value_t = CountFlag::Ptx, help_heading = "Prediction")]
    count: CountFlag,
    /// Exit with 3 when a prediction is like this, for example 'time_us>100'
    #[arg(long, value_name = "EXPR", help_heading = "Prediction")]
    fail_on: Vec<String>,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    extent: ExtentFlags,
    #[command(flatten)]
    statics: StaticFlags,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &PredictFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    // What was asked for is checked before anything takes time.
    let machines = machines::select(&flags.gpu)?;
    let choice = Choice::parse(&flags.model)?;
    let counts = match flags.count {
        CountFlag::Ptx => CountBasis::AsWritten,
        CountFlag::Machine => CountBasis::Machine,
    };
    let strictness = if flags.strict { Strictness::Strict } else { Strictness::AllowInferred };
    let model_options = predict::options(&choice, &flags.options, counts, strictness)?;
    let gates: Vec<Gate> = flags.fail_on.iter().map(|text| Gate::parse(text)).collect::<Result<_, _>>()?;
    let given = flags.statics.given()?;
    let mut options = flags.execution.options(threads)?;
    options.extent = flags.extent.extent()?;
    let program = flags.launch.program(target(&machines).as_deref(), terminal)?;
    let launches = flags.launch.launches()?;
    let search = Search::from_environment();
    // The models leave virtual instructions out themselves where that is asked for.
    let measurements = match given {
        Some(given) => statics::count(&program, &launches, &given, options, Counting::Ptx, &search)?,
        None => terminal.with_progress(|progress| {
            warplens_session::measure(&program, &launches, options, Counting::Ptx, &search, progress)
        })?,
    };
    let analyses: Vec<Analysis> = measurements
        .into_iter()
        .map(|measurement| predict::predict(measurement, &machines, &choice, model_options))
        .collect();
    let breaches = breaches(&gates, flags, &analyses)?;
    write(flags, &analyses, terminal)?;
    if !analyses.iter().any(Analysis::has_answer) {
        terminal.message("no model could answer");
        return Ok(Outcome::NoAnswer);
    }
    breaches.iter().for_each(|breach| terminal.message(breach));
    Ok(if breaches.is_empty() { Outcome::Done } else { Outcome::GateBreached })
}

fn write(flags: &PredictFlags, analyses: &[Analysis], terminal: &Terminal) -> Result<()> {
    let detail = match terminal.verbose {
        0 => view::predict::Detail::Screen,
        1 => view::predict::Detail::Quantities,
        _ => view::predict::Detail::Parameters,
    };
    let next = flags
        .launch
        .command("profile", &[flags.execution.words(), flags.extent.words(), flags.statics.words(), vec!["--lines".into()]].concat());
    let sections = || -> Vec<Section> {
        analyses.iter().flat_map(|analysis| view::predict::predictions(analysis, detail, Some(&next))).collect()
    };
    let tables = || vec![view::predict::rows(analyses)];
    let json = || document::predict::document(analyses);
    Document { title: "Prediction", sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)
}

/// One message for each gate and GPU.
fn breaches(gates: &[Gate], flags: &PredictFlags, analyses: &[Analysis]) -> Result<Vec<String>> {
    let mut messages = Vec::new();
    for (gate, text) in gates.iter().zip(&flags.fail_on) {
        let breaches = gate.breaches(analyses)?;
        messages
            .extend(breaches.iter().map(|(gpu, value)| format!("gate {text} is breached on {gpu}: {}", short(*value))));
    }
    Ok(messages)
}

/// Six significant digits; a gate may be breached by less than what tables show.
fn short(value: f64) -> String {
    format!("{value:.5e}").parse().map_or_else(|_| value.to_string(), |rounded: f64| rounded.to_string())
}

/// The target for CUDA C++: what the oldest of the GPUs runs, as far back as current compilers go.
fn target(machines: &[Machine]) -> Option<String> {
    const OLDEST: machines::ComputeCapability = machines::ComputeCapability::new(7, 5);
    machines.iter().map(|machine| machine.cc).min().map(|cc| cc.max(OLDEST).target())
}
