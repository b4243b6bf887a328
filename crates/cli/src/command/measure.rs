//! `warplens measure TABLE.csv`: the launches of a table on a GPU that is there, with their times.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::{Args, ValueEnum};
use warplens_question::hardware::{self, Asked};
use warplens_session::hardware::{Cache, Gpu, Repeats};
use warplens_session::{Error, machines, read_text};

use super::Outcome;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
#[command(after_help = TABLES)]
pub(crate) struct MeasureFlags {
    /// The launches: those without a time are measured
    #[arg(value_name = "TABLE.csv")]
    table: PathBuf,
    /// What the rows shall call this GPU; as they do already unless given
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    #[command(flatten)]
    how: MeasuringFlags,
    /// Write the table here, instead of to standard output
    #[arg(short, long, value_name = "FILE.csv")]
    output: Option<PathBuf>,
}

/// How launches are timed.
#[derive(Args, Debug)]
pub(crate) struct MeasuringFlags {
    /// Number of the GPU in this machine
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: u32,
    /// What the L2 cache holds before each launch
    #[arg(long, value_enum, default_value_t = CacheState::Cold)]
    cache: CacheState,
    /// Launches of each row, at least
    #[arg(long, value_name = "N", default_value_t = 11)]
    repeats: usize,
    /// Time for more launches of each row
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1)]
    seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum CacheState {
    /// Other data
    Cold,
    /// What the launch before has left
    Warm,
}

const TABLES: &str = "The table is one of `validate` with an empty column measured_us. A row has input (PTX or CUDA C++), \
or is of the kernels that `calibrate --plan` lists; kernel; grid, block, shared, registers and args, or a launch file \
(launch). read (BUFFER:COUNT) names a buffer, by its number, whose first elements are kept in values. The clocks of the \
GPU stay as they are.";

/// Longest time for launches of a row, in seconds.
const MOST_SECONDS: f64 = 3600.0;

impl MeasuringFlags {
    /// Opens the GPU.
    pub(crate) fn open(&self) -> Result<(Gpu, Repeats)> {
        if !(0.0..=MOST_SECONDS).contains(&self.seconds) {
            return Err(Error::usage(format!("--seconds {}: not from 0 to {MOST_SECONDS}", self.seconds)).into());
        }
        let cache = match self.cache {
            CacheState::Cold => Cache::Cold,
            CacheState::Warm => Cache::Warm,
        };
        let repeats = Repeats { least: self.repeats, within: Duration::from_secs_f64(self.seconds), cache };
        let error = |error: Error| match error.help {
            Some(_) => error,
            None => {
                error.with_help("a table that was measured elsewhere can be read: calibrate --from, validate TABLE.csv")
            }
        };
        Ok((Gpu::open(self.device).map_err(error)?, repeats))
    }

    /// As it is written.
    pub(crate) fn command(&self) -> String {
        let cache = if self.cache == CacheState::Cold { "cold" } else { "warm" };
        format!("--cache {cache} --repeats {} --seconds {}", self.repeats, self.seconds)
    }
}

pub(crate) fn run(flags: &MeasureFlags, terminal: &Terminal) -> Result<Outcome> {
    let name = flags.table.display().to_string();
    let text = read_text(&flags.table, "table of launches")?;
    let machine = flags.gpu.as_deref().map(machines::one).transpose()?;
    terminal.check_writable(flags.output.as_slice())?;
    let folder = flags.table.parent().unwrap_or(Path::new(""));
    let (gpu, repeats) = flags.how.open()?;
    // Where the table lies is nobody's business but this machine's.
    let file = flags.table.file_name().unwrap_or_default().to_string_lossy();
    let command = format!("warplens measure {file} {}", flags.how.command());
    let asked = Asked { gpu: machine.as_ref(), repeats, command: &command, date: &today() };
    let filled = terminal
        .with_progress_of("launches", |progress| hardware::fill(&gpu, &name, &text, folder, asked, progress))?;
    terminal.data(flags.output.as_ref(), &filled.text)?;
    for (row, error) in &filled.failed {
        terminal.message(&format!("{row}: {}", error.message));
        error.details.iter().for_each(|detail| terminal.message(&format!("  {detail}")));
    }
    terminal.message(&format!("{} launches timed, {} failed", filled.n_timed, filled.failed.len()));
    Ok(if filled.failed.is_empty() { Outcome::Done } else { Outcome::NoAnswer })
}

/// The day in UTC, as year-month-day.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    date(seconds / 86_400)
}

/// The day so many days after 1970-01-01: whole cycles of 400 years, centuries, cycles of 4 years, years that begin in
/// March, and months of 30.6 days on average.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + 400 * era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_dates() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (11_017, "2000-03-01"),
            (20_783, "2026-11-26"),
        ] {
            assert_eq!(date(days), expected);
        }
    }
}
