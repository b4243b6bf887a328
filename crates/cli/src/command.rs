//! The verbs: one file and three lines here for each. Help, completions, man pages and the manual follow from the list.

pub(crate) mod annotate;
pub(crate) mod calibrate;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod dev;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod glossary;
pub(crate) mod gpu;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod model;
pub(crate) mod picture;
pub(crate) mod plot;
pub(crate) mod predict;
pub(crate) mod profile;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod scale;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod tune;
pub(crate) mod validate;
pub(crate) mod whatif;
pub(crate) mod which;

use anyhow::Result;
use clap::Subcommand;
use warplens_base::is_control;
use warplens_report::{Section, render};

use crate::flags::{Cli, Format, OutputFlags};
use crate::terminal::Terminal;

// Every verb, in the order of the help. Not a doc comment: it would be the text of the help.
#[derive(Subcommand, Debug)]
pub(crate) enum Verb {
    /// Predict the run time of a kernel on GPUs, and what bounds it
    Predict(predict::PredictFlags),
    /// Say what bounds a kernel, and rank what to change about it
    Explain(explain::ExplainFlags),
    /// List a kernel with what its warps wait for at each line
    Annotate(annotate::AnnotateFlags),
    /// Predict the cycles from one warp to a full SM, and what stops the scaling
    Scale(scale::ScaleFlags),
    /// Ask the models again under other circumstances, or price what costs time
    Whatif(whatif::WhatIfFlags),
    /// Execute a kernel and show what it computed
    Run(run::RunFlags),
    /// Run a program that uses CUDA, without a GPU, and predict the time of its kernels
    Exec(exec::ExecFlags),
    /// Execute a kernel and show every count
    Profile(profile::ProfileFlags),
    /// Draw a picture: roofline, occupancy, timeline of warps and others
    Plot(plot::PlotFlags),
    /// Compare kernels, variants or GPUs side by side
    Compare(compare::CompareFlags),
    /// Rank GPUs by the time of a kernel, and by what a run costs there
    Which(which::WhichFlags),
    /// Search for the fastest block size, grid, shared memory and macros
    Tune(tune::TuneFlags),
    /// Predict all kernels, launches, GPUs and what-ifs of a study, into a table
    Sweep(sweep::SweepFlags),
    /// Compare predictions with measured times: of the project, or of tables of yours
    Validate(validate::ValidateFlags),
    /// Time the launches of a table on a GPU that is there
    Measure(measure::MeasureFlags),
    /// Find the parameters of a GPU by measured times of micro-benchmarks
    Calibrate(calibrate::CalibrateFlags),
    /// Write a page with the answer, pictures, counts and listing
    Report(report::ReportFlags),
    /// Answer questions on a page of this machine while sliders move
    Serve(serve::ServeFlags),
    /// Evaluate a model on given counts, without a kernel
    Model(model::ModelFlags),
    /// List the known GPUs, show one, or compare two
    Gpu(gpu::GpuFlags),
    /// Say what a term of the field means
    Glossary(glossary::GlossaryFlags),
    /// Say what a key of the results means, and what Nsight Compute calls it
    Metrics(glossary::MetricsFlags),
    /// Show what each stage makes of an input
    Dev(dev::DevFlags),
    /// Show the defaults of flags, and the files that say so
    Config(config::ConfigFlags),
    /// Print shell completions
    Completions(completions::CompletionsFlags),
    /// Print the manual page
    Man,
}

/// How a verb ended when nothing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// There is a result.
    Done,
    /// No model could answer; what they lack was shown.
    NoAnswer,
    /// A gate is breached; which one was shown.
    GateBreached,
    /// The exit code is that of a program, or says why it could not be run.
    Program(u8),
}

impl Outcome {
    /// Done where a model `answered`; else says that none did.
    pub(crate) fn of_models(answered: bool, terminal: &Terminal) -> Self {
        if answered {
            return Self::Done;
        }
        terminal.message("no model could answer");
        Self::NoAnswer
    }
}

/// Runs the verb.
pub(crate) fn run(cli: Cli, terminal: &Terminal) -> Result<Outcome> {
    let threads = cli.global.threads;
    match cli.verb {
        Verb::Predict(flags) => predict::run(&flags, threads, terminal),
        Verb::Explain(flags) => explain::run(&flags, threads, terminal),
        Verb::Annotate(flags) => annotate::run(&flags, threads, terminal),
        Verb::Scale(flags) => scale::run(&flags, threads, terminal),
        Verb::Compare(flags) => compare::run(&flags, threads, terminal),
        Verb::Validate(flags) => validate::run(&flags, threads, terminal),
        Verb::Measure(flags) => measure::run(&flags, terminal),
        Verb::Calibrate(flags) => calibrate::run(&flags, threads, terminal),
        Verb::Tune(flags) => tune::run(&flags, threads, terminal),
        Verb::Which(flags) => which::run(&flags, threads, terminal),
        Verb::Sweep(flags) => sweep::run(&flags, threads, terminal),
        Verb::Whatif(flags) => whatif::run(&flags, threads, terminal),
        Verb::Model(flags) => model::run(&flags, terminal),
        Verb::Run(flags) => run::run(&flags, threads, terminal),
        Verb::Exec(flags) => Ok(exec::run(&flags, threads, terminal)),
        Verb::Profile(flags) => profile::run(&flags, threads, terminal),
        Verb::Plot(flags) => plot::run(&flags, threads, terminal),
        Verb::Report(flags) => report::run(&flags, threads, terminal),
        Verb::Serve(flags) => serve::run(&flags, threads, terminal),
        Verb::Gpu(flags) => gpu::run(&flags, terminal),
        Verb::Glossary(flags) => glossary::run(&flags, terminal),
        Verb::Metrics(flags) => glossary::metrics(&flags, terminal),
        Verb::Dev(flags) => dev::run(&flags, terminal),
        Verb::Config(flags) => config::run(&flags, terminal),
        Verb::Completions(flags) => completions::run(&flags, terminal),
        Verb::Man => man::run(terminal),
    }
}

/// A result in all the forms that a format may want.
pub(crate) struct Document<'d> {
    /// Heading of a page.
    pub(crate) title: &'d str,
    /// For people.
    pub(crate) sections: &'d dyn Fn() -> Vec<Section>,
    /// For spreadsheets: the tables with every digit.
    pub(crate) tables: &'d dyn Fn() -> Vec<Section>,
    /// For programs.
    pub(crate) json: &'d dyn Fn() -> serde_json::Value,
}

impl Document<'_> {
    /// Writes the result in the wanted format to the wanted place.
    pub(crate) fn write(&self, flags: &OutputFlags, terminal: &Terminal) -> Result<()> {
        terminal.keep_tables(self.tables);
        let text = match flags.format {
            Format::Text => {
                // A file is read by anyone, not by this terminal.
                let (style, width) = match flags.output {
                    Some(_) => (render::Style::Plain, terminal.file_width),
                    None => (terminal.style, terminal.width),
                };
                render::text(&(self.sections)(), style, width)
            }
            Format::Json => json_text(&(self.json)())?,
            Format::Csv => render::csv(&(self.tables)()),
            Format::Md => render::markdown(&(self.sections)()),
            Format::Html => render::html(self.title, &(self.sections)()),
        };
        terminal.data(flags.output.as_ref(), &text)
    }
}

/// A document as text. JSON writes control characters as numbers, and may write others so: those that a terminal obeys.
pub(crate) fn json_text(value: &serde_json::Value) -> Result<String> {
    let text = serde_json::to_string_pretty(value)? + "\n";
    if text.chars().all(|c| c == '\n' || !is_control(c)) {
        return Ok(text);
    }
    // Beside line breaks they stand within strings alone.
    let written = |c: char| match c != '\n' && is_control(c) {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    Ok(text.chars().map(written).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_holds_no_character_that_a_terminal_obeys() {
        let value = serde_json::json!({"a\u{9b}": "\u{1b}[2J\u{202e}\u{7f}\n\u{e9}"});
        let text = json_text(&value).unwrap();
        assert_eq!(text, "{\n  \"a\\u009b\": \"\\u001b[2J\\u202e\\u007f\\n\u{e9}\"\n}\n");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
