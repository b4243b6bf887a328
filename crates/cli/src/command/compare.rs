//! `warplens compare INPUT...`: kernels, variants and GPUs side by side, and what makes the difference.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use warplens_question::compare::{self, CompareOptions, Comparison, MeasuredTimes};
use warplens_question::gate::Judgement;
use warplens_report::{document, view};
use warplens_session::{Error, Generation, Input, machines};

use super::{Document, Outcome, picture};
use crate::ask::ModelFlags;
use crate::flags::{ExecutionFlags, ExtentFlags, OutputFlags};
use crate::review::{Review, ReviewFlags, Writes};
use crate::terminal::Terminal;
use crate::variants::{Execution, VariantFlags};

#[derive(Args, Debug)]
pub(crate) struct CompareFlags {
    #[command(flatten)]
    variants: VariantFlags,
    #[command(flatten)]
    model: ModelFlags,
    /// What the others are compared with: the name of a variant or a GPU; the first unless given
    #[arg(long, value_name = "NAME", help_heading = "Comparison")]
    baseline: Option<String>,
    /// Times that differ by less than this are equal
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent, help_heading = "Comparison")]
    band: f64,
    /// Times from hardware: columns variant, time_us, and where needed gpu and block
    #[arg(long, value_name = "FILE.csv", help_heading = "Comparison")]
    measured: Option<PathBuf>,
    #[command(flatten)]
    review: ReviewFlags,
    /// Draw a picture to the file of -o; the result goes to standard output
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Output")]
    plot: Option<Plot>,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    extent: ExtentFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Plot {
    /// Each variant against each other: faster, equal, slower
    Sign,
    /// Time of each variant by block size, or by GPU
    Heat,
    /// Speed-up beside the number of instructions
    Instructions,
    /// Speed-up beside the number of memory requests
    Memory,
}

impl Plot {
    const fn name(self) -> &'static str {
        match self {
            Self::Sign => "sign",
            Self::Heat => "heat",
            Self::Instructions => "instructions",
            Self::Memory => "memory",
        }
    }
}

pub(crate) fn run(flags: &CompareFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    // What was asked for is checked before anything takes time.
    let machines = machines::select(&flags.model.gpu)?;
    let (choice, options) = flags.model.choice()?;
    if flags.plot.is_some() {
        picture::check(flags.output.output.as_deref())?;
    }
    let review = flags.review.review(Writes::default())?;
    let measured = flags.measured.as_deref().map(read_measured).transpose()?;
    let asked = flags.variants.asked()?;
    let mut execution = flags.execution.options(threads)?;
    execution.extent = flags.extent.extent()?;
    execution.traced_for = choice.traced(&machines);
    execution.generations = Generation::of_all(&machines);
    let how = Execution { flags: &flags.execution, extent: &flags.extent, options: &execution, machines: &machines };
    let variants = flags.variants.measure(&asked, &how, terminal)?;
    let variants: Vec<_> = variants.into_iter().map(|measured| measured.variant).collect();
    if variants.len() == 1 && machines.len() == 1 {
        return Err(Error::usage("one variant on one GPU has nothing to be compared with")
            .with_help("give several inputs, several -k or --launch, --blocks, or several GPUs with --gpu a,b")
            .into());
    }
    let how = CompareOptions { choice, options, baseline: flags.baseline.clone(), band: flags.band, measured };
    let comparison = compare::compare(variants, machines, &how)?;
    let judgement = review.judge(&document::gated::of_comparison(&document::compare::document(&comparison)))?;
    write(flags, &comparison, (&review, &judgement), terminal)?;
    match Outcome::of_models(comparison.has_answer(), terminal) {
        Outcome::Done => Ok(review.outcome(&judgement, terminal)),
        other => Ok(other),
    }
}

fn write(
    flags: &CompareFlags,
    comparison: &Comparison,
    (review, judgement): (&Review<'_>, &Judgement),
    terminal: &Terminal,
) -> Result<()> {
    let sections = || {
        let judged = review.sections(judgement);
        judged.into_iter().chain(view::compare::comparison(comparison, terminal.detail())).collect()
    };
    let tables = || vec![view::compare::rows(comparison)];
    let json = || document::value(&document::compare::document(comparison));
    let document = Document { title: "Comparison", sections: &sections, tables: &tables, json: &json };
    let (Some(plot), Some(path)) = (flags.plot, flags.output.output.as_deref()) else {
        return review.write(&document, None, &flags.output, terminal);
    };
    match view::compare::figure(comparison, plot.name()) {
        Some(figure) => picture::write(&figure, path, terminal)?,
        None => {
            let why = match plot {
                Plot::Sign => "a sign plot needs two variants",
                _ => "no variant has a time",
            };
            return Err(Error::usage(format!("--plot {}: there is nothing to draw: {why}", plot.name())).into());
        }
    }
    review.write(&document, None, &flags.output.to_stdout(), terminal)
}

fn read_measured(path: &Path) -> Result<MeasuredTimes> {
    let input = Input::read(path)?;
    Ok(MeasuredTimes::parse(&input.name, &input.text())?)
}

/// A percentage as a fraction.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim().parse().ok();
    match number.filter(|number| number.is_finite() && *number >= 0.0) {
        Some(number) => Ok(number / 100.0),
        None => Err("write a percentage, such as 10".to_owned()),
    }
}
