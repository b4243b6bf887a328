//! What a review of a change asks of an answer: gates, an earlier answer to hold it against, and files for who reads it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use warplens_question::gate::{self, Gate, Judgement, Row};
use warplens_report::{Block, Section, document, render, view};
use warplens_session::{Error, read_text};

use crate::command::{Document, Outcome, json_text};
use crate::flags::{Format, OutputFlags, parse_output};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct ReviewFlags {
    /// Exit with 3 when an answer is like this: 'time_us>100', or 'time_us>+5%' against an earlier one
    #[arg(long, value_name = "EXPR", help_heading = "Review")]
    fail_on: Vec<String>,
    /// The same answer of an earlier time, as --format json wrote it: changes are shown and judged
    #[arg(long, value_name = "FILE.json", help_heading = "Review")]
    against: Option<PathBuf>,
    /// Write the result to FILE as well, in the format of its ending: .txt, .json, .csv, .md, .html; of predict .sarif, of
    /// sweep .parquet
    #[arg(long, value_name = "FILE", value_parser = parse_output, help_heading = "Review")]
    write: Vec<PathBuf>,
}

/// What was asked for, checked.
#[derive(Debug)]
pub(crate) struct Review<'f> {
    flags: &'f ReviewFlags,
    gates: Vec<Gate>,
    baseline: Option<Vec<Row>>,
}

/// How a file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Written {
    As(Format),
    Sarif,
    Parquet,
}

/// Endings that only some verbs can write.
const SARIF: &str = "sarif";
const PARQUET: &str = "parquet";
const ENDINGS: [(&str, Format); 5] =
    [("txt", Format::Text), ("json", Format::Json), ("csv", Format::Csv), ("md", Format::Md), ("html", Format::Html)];

impl ReviewFlags {
    /// Reads gates and baseline.
    pub(crate) fn review(&self, writes: Writes) -> Result<Review<'_>> {
        let gates: Vec<Gate> = self.fail_on.iter().map(|text| Gate::parse(text)).collect::<Result<_, _>>()?;
        if let (Some(gate), None) = (gates.iter().find(|gate| gate.is_on_change()), &self.against) {
            return Err(gate::without_baseline(gate).into());
        }
        for path in &self.write {
            let is_written = match written(path) {
                Some(Written::As(_)) => true,
                Some(Written::Sarif) => writes.sarif,
                Some(Written::Parquet) => writes.parquet,
                None => false,
            };
            if !is_written {
                return Err(unknown_ending(path, writes).into());
            }
        }
        let read = |path: &PathBuf| -> Result<Vec<Row>> {
            let text = read_text(path, "baseline")?;
            Ok(document::gated::of_baseline(&path.to_string_lossy(), &text)?)
        };
        Ok(Review { flags: self, gates, baseline: self.against.as_ref().map(read).transpose()? })
    }
}

/// What a verb can write beside the formats of all verbs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Writes {
    /// Lines to blame.
    pub(crate) sarif: bool,
    /// Rows.
    pub(crate) parquet: bool,
}

/// Makes the log of lines to blame.
pub(crate) type Sarif<'s> = &'s dyn Fn() -> serde_json::Value;

impl Review<'_> {
    /// Holds the answer against gates and baseline. Without either nothing is judged.
    pub(crate) fn judge(&self, rows: &[Row]) -> Result<Judgement> {
        if self.gates.is_empty() && self.baseline.is_none() {
            return Ok(Judgement::default());
        }
        Ok(gate::judge(&self.gates, rows, self.baseline.as_deref())?)
    }

    /// The table of the judgement, if there is something to say.
    pub(crate) fn sections(&self, judgement: &Judgement) -> Vec<Section> {
        let baseline = self.flags.against.as_ref().map(|path| path.to_string_lossy());
        view::gate::judgement(judgement, baseline.as_deref()).into_iter().collect()
    }

    /// Writes the result to where it is wanted, and the further files.
    pub(crate) fn write(
        &self,
        document: &Document<'_>,
        sarif: Option<Sarif<'_>>,
        output: &OutputFlags,
        terminal: &Terminal,
    ) -> Result<()> {
        for path in &self.flags.write {
            match written(path) {
                Some(Written::As(format)) => {
                    document.write(&OutputFlags { format, output: Some(path.clone()) }, terminal)?;
                }
                Some(Written::Sarif) => {
                    let log = sarif.map_or(serde_json::Value::Null, |sarif| sarif());
                    terminal.data(Some(path), &json_text(&log)?)?;
                }
                Some(Written::Parquet) => terminal.bytes(Some(path), &rows(&(document.tables)())?)?,
                None => unreachable!("endings were checked before"),
            }
        }
        document.write(output, terminal)
    }

    /// Says which gates are breached, and which could not be applied.
    pub(crate) fn outcome(&self, judgement: &Judgement, terminal: &Terminal) -> Outcome {
        judgement.unjudged.iter().for_each(|unjudged| terminal.message(&format!("warning: {}", unjudged.message())));
        judgement.breaches.iter().for_each(|breach| terminal.message(&breach.message()));
        if judgement.breaches.is_empty() { Outcome::Done } else { Outcome::GateBreached }
    }
}

fn written(path: &Path) -> Option<Written> {
    let ending = path.extension()?.to_str()?;
    let format = ENDINGS.iter().find(|(own, _)| *own == ending).map(|(_, format)| Written::As(*format));
    match ending {
        SARIF => Some(Written::Sarif),
        PARQUET => Some(Written::Parquet),
        _ => format,
    }
}

/// The rows of the first table.
fn rows(sections: &[Section]) -> Result<Vec<u8>> {
    let mut blocks = sections.iter().flat_map(|section| &section.blocks);
    let table = blocks.find_map(|block| if let Block::Table(table) = block { Some(table) } else { None });
    let table = table.context("a result in rows has a table")?;
    Ok(render::parquet(table, &view::sweep::WORDS)?)
}

fn unknown_ending(path: &Path, writes: Writes) -> Error {
    let endings = ENDINGS.iter().map(|(ending, _)| *ending).chain(writes.sarif.then_some(SARIF));
    let endings = endings.chain(writes.parquet.then_some(PARQUET));
    let endings: Vec<String> = endings.map(|ending| format!(".{ending}")).collect();
    Error::usage(format!("--write {}: the ending says no format", path.display()))
        .with_help(format!("there are {}", endings.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_say_formats() {
        assert_eq!(written(Path::new("a/b.md")), Some(Written::As(Format::Md)));
        assert_eq!(written(Path::new("b.sarif")), Some(Written::Sarif));
        assert_eq!(written(Path::new("md")), None);
        assert_eq!(written(Path::new("a.pdf")), None);
    }
}
