//! `warplens profile INPUT`: every count of a launch.

use anyhow::Result;
use clap::{Args, ValueEnum};
use warplens_report::{Section, document, view};
use warplens_session::profile::Counting;
use warplens_session::source::Source;
use warplens_session::{Error, Generation, Measurement, machines};

use super::{Document, Outcome};
use crate::flags::{ExecutionFlags, ExtentFlags, Format, LaunchFlags, OutputFlags, StaticFlags, gather};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct ProfileFlags {
    #[command(flatten)]
    launch: LaunchFlags,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    extent: ExtentFlags,
    #[command(flatten)]
    statics: StaticFlags,
    /// Which instructions count
    #[arg(long, value_enum, default_value_t = CountFlag::Ptx, help_heading = "Counting")]
    count: CountFlag,
    /// List each memory instruction, branch and barrier with its lines
    #[arg(long, help_heading = "Counting")]
    lines: bool,
    /// GPUs for which a JSON document keeps what teg simulates, as predict takes them; `none` for counts alone
    #[arg(long, value_name = "LIST|none", default_value = ALL_GPUS, help_heading = "Recording")]
    record: String,
    #[command(flatten)]
    output: OutputFlags,
}

const ALL_GPUS: &str = "all";
const NO_GPU: &str = "none";

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CountFlag {
    /// Those of the PTX as written
    Ptx,
    /// Without register copies, address conversions and parameter loads: an estimate of machine code
    Machine,
}

pub(crate) fn run(flags: &ProfileFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let mut recorded = Vec::new();
    if flags.output.format == Format::Json && flags.record != NO_GPU {
        recorded = machines::select(&flags.record)?;
    }
    let sources = flags.launch.sources(&recorded, terminal)?;
    let counting = match flags.count {
        CountFlag::Ptx => Counting::Ptx,
        CountFlag::Machine => Counting::Machine,
    };
    let was_counted = sources.iter().any(|source| matches!(source, Source::Counted(_)));
    if counting != Counting::Ptx && was_counted {
        return Err(
            Error::usage("the launches were counted before: --count machine cannot change what they count").into()
        );
    }
    let mut options = flags.execution.options(threads)?;
    options.extent = flags.extent.extent()?;
    options.statics = flags.statics.given()?;
    options.generations = Generation::of_all(&recorded);
    options.traced_for = recorded;
    let mut measurements = gather(sources, &flags.execution, &flags.extent, &options, counting, terminal)?;
    if flags.record == NO_GPU {
        measurements.iter_mut().for_each(Measurement::forget_recording);
    }
    let sections = || -> Vec<Section> {
        let of_one = |measurement| {
            let mut sections = view::profile::summary(measurement);
            if flags.lines {
                sections.push(view::profile::lines(measurement));
            }
            sections
        };
        measurements.iter().flat_map(of_one).collect()
    };
    let tables = || measurements.iter().map(view::profile::lines_in_full).collect();
    let json = || document::value(&document::profile::document(&measurements));
    let title = format!("Profile of {}", flags.launch.input.display());
    Document { title: &title, sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)?;
    Ok(Outcome::Done)
}
