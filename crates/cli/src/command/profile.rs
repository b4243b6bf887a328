//! `warplens profile INPUT`: every count of a launch.

use anyhow::Result;
use clap::{Args, ValueEnum};
use warplens_report::{Section, document, view};
use warplens_session::profile::Counting;
use warplens_session::statics;

use super::{Document, Outcome};
use crate::flags::{ExecutionFlags, ExtentFlags, LaunchFlags, OutputFlags, StaticFlags};
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
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CountFlag {
    /// Those of the PTX as written
    Ptx,
    /// Without register copies, address conversions and parameter loads: an estimate of machine code
    Machine,
}

pub(crate) fn run(flags: &ProfileFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let given = flags.statics.given()?;
    let search = warplens_session::toolchain::Search::from_environment();
    let program = flags.launch.program(None, terminal)?;
    let launches = flags.launch.launches()?;
    let mut options = flags.execution.options(threads)?;
    options.extent = flags.extent.extent()?;
    let counting = match flags.count {
        CountFlag::Ptx => Counting::Ptx,
        CountFlag::Machine => Counting::Machine,
    };
    let measurements = match given {
        Some(given) => statics::count(&program, &launches, &given, options, counting, &search)?,
        None => terminal.with_progress(|progress| {
            warplens_session::measure(&program, &launches, options, counting, &search, progress)
        })?,
    };
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
    let json = || document::profile::document(&measurements);
    let title = format!("Profile of {}", program.name);
    Document { title: &title, sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)?;
    Ok(Outcome::Done)
}
