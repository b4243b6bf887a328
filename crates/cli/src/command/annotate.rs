//! `warplens annotate INPUT`: the listing with what warps wait for at each line.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use warplens_question::native;
use warplens_question::timing::annotate::By;
use warplens_question::timing::{self, Annotated, Answer};
use warplens_report::{document, view};

use super::{Document, Outcome};
use crate::ask::{AskFlags, Measured, Question};
use crate::flags::{OutputFlags, parse_output};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct AnnotateFlags {
    #[command(flatten)]
    ask: AskFlags,
    /// Lines beside which the warp cycles stand
    #[arg(long, value_enum, default_value_t = ByFlag::Auto, help_heading = "Listing")]
    by: ByFlag,
    /// Write what a few warps do, cycle by cycle, to FILE.json for Perfetto or chrome://tracing
    #[arg(long, value_name = "FILE.json", value_parser = parse_output, help_heading = "Listing")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    window: WindowFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum ByFlag {
    /// Those of machine code with those of the source between them; of PTX those of the source, where it names them and
    /// the file is found; else those of the input
    Auto,
    /// Those of the program that was compiled
    Source,
    /// Those of the PTX, of the machine code or of the native listing
    Input,
}

/// Which warps are followed, and when.
#[derive(Args, Debug)]
pub(crate) struct WindowFlags {
    /// Cycles of the simulation that a trace or a timeline shows
    #[arg(long, value_name = "N..M", help_heading = "Timeline")]
    cycles: Option<String>,
    /// Warps that a trace or a timeline shows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Timeline")]
    warps: Option<u32>,
}

/// What a trace file holds unless more is asked.
const TRACED: timing::Window = timing::Window { warps: 16, cycles: (0, 50_000) };

impl WindowFlags {
    /// Warps and cycles, those of the flags or else these.
    pub(crate) fn window(&self, usual: timing::Window) -> Result<timing::Window> {
        let cycles = self.cycles.as_deref().map_or(Ok(usual.cycles), timing::parse_cycles)?;
        Ok(timing::Window { warps: self.warps.unwrap_or(usual.warps), cycles })
    }

    /// A flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        self.cycles.as_ref().map(|_| "--cycles").or(self.warps.map(|_| "--warps"))
    }
}

pub(crate) fn run(flags: &AnnotateFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let window = flags.window.window(TRACED)?;
    if let Some(flag) = flags.window.given().filter(|_| flags.trace.is_none()) {
        return Err(warplens_session::Error::usage(format!("{flag} says what --trace FILE.json shows")).into());
    }
    let question = flags.ask.question_of_teg(threads)?;
    if flags.trace.is_some() && native::is_native(&flags.ask.launch.input) {
        let message = "--trace FILE.json follows warps of a program, not of a listing or a trace";
        return Err(warplens_session::Error::usage(message).into());
    }
    let answers = match flags.ask.native(&question, native::annotated)? {
        Some(answers) => answers,
        None => executed(flags, &question, window, terminal)?,
    };
    let sections = || view::timing::annotations(&answers, terminal.verbose > 0);
    let tables = || vec![view::timing::annotation_rows(&answers)];
    let json = || document::value(&document::timing::annotate(&answers));
    Document { title: "Stalls by line", sections: &sections, tables: &tables, json: &json }
        .write(&flags.output, terminal)?;
    Ok(Outcome::of_models(answers.iter().any(|answer| answer.result.is_ok()), terminal))
}

/// The answers about a program, and what its warps do in a file where that is wanted.
fn executed(
    flags: &AnnotateFlags,
    question: &Question,
    window: timing::Window,
    terminal: &Terminal,
) -> Result<Vec<Answer<Annotated>>> {
    let measured = flags.ask.measure(question, terminal)?;
    let by = match flags.by {
        ByFlag::Auto => By::Auto,
        ByFlag::Source => By::Source,
        ByFlag::Input => By::Input,
    };
    let answers = answers(&flags.ask, &measured, question, by)?;
    if let Some(path) = &flags.trace {
        trace(path, &measured, (question, window), terminal)?;
    }
    Ok(answers)
}

/// Every launch on every GPU.
pub(crate) fn answers(
    ask: &AskFlags,
    measured: &Measured,
    question: &Question,
    by: By,
) -> Result<Vec<Answer<Annotated>>> {
    let text =
        timing::annotate::Text { program: measured.program.as_deref(), input: Some(ask.launch.input.as_path()), by };
    let mut answers = Vec::new();
    for measurement in &measured.measurements {
        for machine in &question.machines {
            answers.push(timing::annotated(measurement, machine, question.options, &text)?);
        }
    }
    Ok(answers)
}

/// Writes the trace of the one launch on the one GPU.
fn trace(
    path: &Path,
    measured: &Measured,
    (question, window): (&Question, timing::Window),
    terminal: &Terminal,
) -> Result<()> {
    let cycles = super::plot::one_timeline(&measured.measurements, question, window)?;
    let text = serde_json::to_string(&document::value(&document::trace_events::document(&cycles)))? + "\n";
    terminal.file(path, text.as_bytes())
}
