//! `warplens sweep STUDY.toml`: kernels, launches, GPUs and what-ifs, all of them, into a table.

mod keys;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use warplens_launch::Launch;
use warplens_question::gate::Judgement;
use warplens_question::sweep::{Configuration, Loaded, Row, Study, evaluate};
use warplens_report::{Section, document, view};
use warplens_session::journal::Journal;
use warplens_session::machines::{self, Strictness};
use warplens_session::predict::{self, CountBasis};
use warplens_session::{Choice, Error, ExecutionOptions, Generation, Input, read_text};

use super::{Document, Outcome};
use crate::flags::{CompilerArguments, ExecutionFlags, ExtentFlags, OutputFlags};
use crate::review::{Review, ReviewFlags, Writes};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct SweepFlags {
    /// The study: gpus, and one [[kernel]] with its sizes and its space for each program
    #[arg(value_name = "STUDY.toml")]
    study: PathBuf,
    /// Keep what is done in FILE, and go on from there when the study is asked again
    #[arg(long, value_name = "FILE", help_heading = "Study")]
    journal: Option<PathBuf>,
    /// Evaluate each N-th configuration from number K on, from 0, for one of N workers
    #[arg(long, value_name = "K/N", value_parser = parse_shard, help_heading = "Study")]
    shard: Option<Shard>,
    #[command(flatten)]
    compiler: CompilerArguments,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    extent: ExtentFlags,
    #[command(flatten)]
    review: ReviewFlags,
    #[command(flatten)]
    output: OutputFlags,
}

/// A part of the configurations.
#[derive(Clone, Copy, Debug)]
struct Shard {
    number: u64,
    of: u64,
}

pub(crate) fn run(flags: &SweepFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let review = flags.review.review(Writes { sarif: false, parquet: true })?;
    let loaded = flags.loaded()?;
    let mut execution = flags.execution.options(threads)?;
    execution.extent = flags.extent.extent()?;
    execution.generations = Generation::of_all(&loaded.machines);
    execution.traced_for = loaded.choice.traced(&loaded.machines);
    let wanted: Vec<&Configuration> =
        loaded.configurations().iter().filter(|own| flags.shard.is_none_or(|shard| shard.has(own.number))).collect();
    let rows = flags.rows(&loaded, &wanted, &execution, terminal)?;
    let judgement = review.judge(&document::gated::of_sweep(&document::sweep::document(&rows)))?;
    write(flags, &loaded, &rows, (&review, &judgement), terminal)?;
    match Outcome::of_models(rows.iter().any(|row| row.answer.is_ok()), terminal) {
        Outcome::Done => Ok(review.outcome(&judgement, terminal)),
        other => Ok(other),
    }
}

fn write(
    flags: &SweepFlags,
    loaded: &Loaded,
    rows: &[Row],
    (review, judgement): (&Review<'_>, &Judgement),
    terminal: &Terminal,
) -> Result<()> {
    let names = loaded.study.value_names();
    let sections =
        || -> Vec<Section> { review.sections(judgement).into_iter().chain(view::sweep::best(rows)).collect() };
    let tables = || vec![view::sweep::rows(rows, &names)];
    let json = || document::value(&document::sweep::document(rows));
    let document = Document { title: "Sweep", sections: &sections, tables: &tables, json: &json };
    review.write(&document, None, &flags.output, terminal)
}

impl SweepFlags {
    /// The study with its files, which lie beside it.
    fn loaded(&self) -> Result<Loaded> {
        let name = self.study.to_string_lossy();
        let study = Study::parse(&name, &read_text(&self.study, "study")?)?;
        let folder = self.study.parent().unwrap_or(Path::new(""));
        let machines = machines::select(&study.gpus)?;
        let choice = Choice::parse(&study.model)?;
        let strictness = if study.strict { Strictness::Strict } else { Strictness::AllowInferred };
        let options = predict::options(&choice, &[], CountBasis::AsWritten, strictness)?;
        let (mut inputs, mut launches) = (Vec::new(), Vec::new());
        for kernel in &study.kernels {
            inputs.push(Input::read(folder.join(&kernel.input))?);
            let file = kernel.launch.as_ref().map(|launch| folder.join(launch).to_string_lossy().into_owned());
            let over = Launch { registers: kernel.registers, ..Launch::default() };
            let mut own = warplens_session::source::launches(file.as_deref(), over)?;
            match (own.pop(), own.is_empty()) {
                (Some(launch), true) => launches.push(launch),
                _ => {
                    let message = format!("{name}, kernel `{}`: the launch file holds several launches", kernel.name);
                    return Err(Error::usage(message).with_help("make a [[kernel]] of each").into());
                }
            }
        }
        Ok(Loaded::new(study, inputs, launches, machines, (choice, options))?)
    }

    /// The rows of the configurations, in their order: those of the journal, and new ones.
    fn rows(
        &self,
        loaded: &Loaded,
        wanted: &[&Configuration],
        execution: &ExecutionOptions,
        terminal: &Terminal,
    ) -> Result<Vec<Row>> {
        let keys = keys::Keys::new(loaded, &self.study, &self.how())?;
        let (journal, known) = match &self.journal {
            Some(path) => Journal::open(path).map(|(journal, known)| (Some(journal), known))?,
            None => (None, BTreeMap::new()),
        };
        let mut found: BTreeMap<u64, Vec<Row>> = BTreeMap::new();
        for own in wanted {
            if let Some(rows) = known.get(&keys.of(own)).and_then(|text| read_rows(text, own.number)) {
                found.insert(own.number, rows);
            }
        }
        let new: Vec<&Configuration> = wanted.iter().copied().filter(|own| !found.contains_key(&own.number)).collect();
        if !found.is_empty() {
            terminal.message(&format!("{} of {} configurations are in the journal", found.len(), wanted.len()));
        }
        let made = std::sync::Mutex::new(BTreeMap::new());
        let done = |own: &Configuration, rows: &[Row]| {
            if let Some(journal) = &journal {
                journal.add(&keys.of(own), &rows_text(rows))?;
            }
            made.lock().expect("no holder of the lock panics").insert(own.number, rows.to_vec());
            Ok(())
        };
        let search = self.compiler.search()?;
        terminal.with_progress_of("configurations", |progress| {
            evaluate(loaded, &new, execution, &search, progress, &done)
        })?;
        found.extend(made.into_inner().expect("no holder of the lock panics"));
        Ok(found.into_values().flatten().collect())
    }

    /// What else decides about rows.
    fn how(&self) -> String {
        [self.execution.words(), self.extent.words(), self.compiler.words()].concat().join(" ")
    }
}

/// Rows in one line.
fn rows_text(rows: &[Row]) -> String {
    let rows: Vec<_> = rows.iter().map(document::sweep::row).collect();
    document::value(&rows).to_string()
}

/// The rows of a line, of a configuration that has this number now; none where another version wrote them.
fn read_rows(text: &str, number: u64) -> Option<Vec<Row>> {
    let rows: Vec<_> = serde_json::from_str(text).ok()?;
    Some(rows.into_iter().map(|row| Row { configuration: number, ..document::sweep::read(row) }).collect())
}

impl Shard {
    const fn has(self, number: u64) -> bool {
        number % self.of == self.number
    }
}

fn parse_shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((number, of)) if number < of => Ok(Shard { number, of }),
        _ => Err("write K/N with K from 0 to N-1, such as 0/4".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_part_the_configurations() {
        let shards: Vec<Shard> = (0..3).map(|number| parse_shard(&format!("{number}/3")).unwrap()).collect();
        assert!((0..100).all(|number| shards.iter().filter(|shard| shard.has(number)).count() == 1));
        for wrong in ["3/3", "1", "a/b", "0/0", "-1/2"] {
            assert!(parse_shard(wrong).is_err(), "{wrong}");
        }
    }
}
