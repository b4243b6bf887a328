//! Profiles that were not counted here: saved ones, and what profilers wrote on a GPU.
//!
//! Every reader turns its text or bytes into [`Measurement`]s. What a source does not count is named in
//! [`Profile::absent`](crate::profile::Profile), never put down as zero. No reader panics, whatever its input.

mod csv;
mod manual;
mod nsight;
mod nsight_csv;
mod nsight_report;
mod visual_profiler;

pub(crate) use nsight_csv::is_table as is_nsight_csv;
pub(crate) use visual_profiler::is_log as is_visual_profiler_log;

pub use manual::page;

use crate::input::{Input, InputKind};
use crate::measure::Measurement;
use warplens_base::error::{Error, Result};
use warplens_launch::Extents;

/// What a user says about launches, for sources that do not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Shape {
    /// CTAs.
    pub(crate) grid: Option<Extents>,
    /// Threads per CTA.
    pub(crate) block: Option<Extents>,
}

/// Reads the profiles of an input.
pub fn read(input: &Input) -> Result<Vec<Measurement>> {
    read_with(input, &Shape::default())
}

/// The same; `shape` is taken where the input says nothing.
pub(crate) fn read_with(input: &Input, shape: &Shape) -> Result<Vec<Measurement>> {
    let name = &input.name;
    match input.kind {
        InputKind::Profile => crate::saved::read(name, without_mark(&input.text())),
        InputKind::VisualProfilerLog => visual_profiler::read(name, &input.text(), shape),
        InputKind::NsightCsv => nsight::profiles(name, nsight_csv::read(name, &input.text())?),
        InputKind::NsightReport => nsight::profiles(name, nsight_report::read(name, &input.bytes)?),
        _ => Err(Error::input(format!("{name} is {}, not a profile", input.kind.name()))),
    }
}

/// The text without the mark that some editors put in front of it.
fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}
