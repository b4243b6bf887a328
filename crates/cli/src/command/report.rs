//! `warplens report INPUT -o report.html`: one page with the answer, the pictures, the counts and the listing.

use anyhow::Result;
use clap::Args;
use std::path::PathBuf;
use warplens_report::view::report::{Extras, Origin};
use warplens_report::{document, view};
use warplens_session::machines::{self, Machine, Strictness};
use warplens_session::predict::{self, CountBasis};
use warplens_session::profile::{BankRule, CoalescingRule, Counting};
use warplens_session::toolchain::Search;
use warplens_session::{Analysis, Choice, Program, listing};

use super::Outcome;
use super::predict::target;
use crate::flags::{ExecutionFlags, ExtentFlags, LaunchFlags, parse_output};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct ReportFlags {
    #[command(flatten)]
    launch: LaunchFlags,
    /// GPUs: identifiers, marketing names, sm_XX for all of a target, FILE.toml, ID@MHZ, all
    #[arg(long, value_name = "LIST", default_value = "h200", help_heading = "Prediction")]
    gpu: String,
    /// Refuse where a machine parameter would have to be derived
    #[arg(long, help_heading = "Prediction")]
    strict: bool,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    extent: ExtentFlags,
    /// Write the page to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_parser = parse_output, help_heading = "Output")]
    output: Option<PathBuf>,
}

pub(crate) fn run(flags: &ReportFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let machines = machines::select(&flags.gpu)?;
    let strictness = if flags.strict { Strictness::Strict } else { Strictness::AllowInferred };
    let model_options = predict::options(&Choice::All, &[], CountBasis::AsWritten, strictness)?;
    let mut options = flags.execution.options(threads)?;
    options.extent = flags.extent.extent()?;
    let program = flags.launch.program(target(&machines).as_deref(), terminal)?;
    let launches = flags.launch.launches()?;
    let search = Search::from_environment();
    let measurements = terminal.with_progress(|progress| {
        warplens_session::measure(&program, &launches, options, Counting::Ptx, &search, progress)
    })?;
    let analyses: Vec<Analysis> = measurements
        .into_iter()
        .map(|measurement| predict::predict(measurement, &machines, &Choice::All, model_options))
        .collect();
    let origin = Origin {
        command: command(flags),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        input: program.name.clone(),
        compiler: program.compiled.as_ref().map(|(compiler, _)| compiler.clone()),
        json: serde_json::to_string(&document::predict::document(&analyses))? + "\n",
    };
    let has_answer = analyses.iter().any(Analysis::has_answer);
    let with_extras = analyses.into_iter().map(|analysis| {
        let extras = extras(flags, &program, &machines, &analysis);
        (analysis, extras)
    });
    let page = view::report::page(&with_extras.collect::<Vec<_>>(), &origin);
    terminal.data(flags.output.as_ref(), &page.html())?;
    if !has_answer {
        terminal.message("no model could answer");
        return Ok(Outcome::NoAnswer);
    }
    Ok(Outcome::Done)
}

/// The same page again, as a user types it.
fn command(flags: &ReportFlags) -> String {
    let mut words = vec!["--gpu".to_owned(), flags.gpu.clone()];
    words.extend(flags.strict.then(|| "--strict".to_owned()));
    words.extend(flags.execution.words());
    words.extend(flags.extent.words());
    let output = flags.output.iter().flat_map(|path| ["-o".to_owned(), path.to_string_lossy().into_owned()]);
    words.extend(output);
    flags.launch.command("report", &words)
}

fn extras(flags: &ReportFlags, program: &Program, machines: &[Machine], analysis: &Analysis) -> Extras {
    // The listing follows the rules of the first GPU.
    let cc = machines.first().map(|machine| machine.cc);
    let (coalescing, bank) = match cc {
        Some(cc) => (CoalescingRule::of(cc.major.into(), cc.minor.into()), BankRule::of(cc.major.into())),
        None => (CoalescingRule::Cc70, BankRule::Cc20),
    };
    let measurement = &analysis.measurement;
    let mut listings = listing::sources(program, Some(&flags.launch.input), measurement, coalescing, bank);
    listings.push(listing::ptx(program, measurement, coalescing, bank));
    Extras { changes: Vec::new(), figures: Vec::new(), listings }
}
