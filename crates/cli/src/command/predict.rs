//! `warplens predict INPUT`: the time on each GPU, what bounds it, and the counts behind the answer.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use warplens_question::explain::{self, Advice};
use warplens_question::gate::Judgement;
use warplens_question::glance::{self, Glance};
use warplens_report::document::sarif::{self, Finding};
use warplens_report::{Section, document, view};
use warplens_session::Analysis;
use warplens_session::predict::GpuAnalysis;

use super::{Document, Outcome};
use crate::ask::{AskFlags, Measured, Question};
use crate::flags::OutputFlags;
use crate::review::{Review, ReviewFlags, Writes};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct PredictFlags {
    #[command(flatten)]
    ask: AskFlags,
    #[command(flatten)]
    review: ReviewFlags,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &PredictFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    // What was asked for is checked before anything takes time.
    let question = flags.ask.question(threads)?;
    let review = flags.review.review(Writes { sarif: true, parquet: false })?;
    let measured = flags.ask.measure(&question, terminal)?;
    let analyses: Vec<Analysis> = measured
        .measurements
        .iter()
        .map(|measurement| question.predict(measurement.clone(), &question.choice, terminal))
        .collect();
    let answer = Answer { flags, question: &question, measured: &measured, analyses: &analyses };
    let judgement = review.judge(&document::gated::of_predictions(&document::predict::document(&analyses)))?;
    answer.write(&review, &judgement, terminal)?;
    if !analyses.iter().any(Analysis::has_answer) {
        terminal.message("no model could answer");
        return Ok(Outcome::NoAnswer);
    }
    Ok(review.outcome(&judgement, terminal))
}

/// Where a file of the source lies, below the working folder if it does: a compiler may have seen it under another path.
/// It is looked for as it is named, then beside the program and in the folders above that.
fn found(file: &Path, input: &Path) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    if let Ok(below) = file.strip_prefix(&here) {
        return below.to_owned();
    }
    let beside = input.ancestors().skip(1).map(|folder| folder.join(file));
    std::iter::once(file.to_owned()).chain(beside).find(|path| path.is_file()).unwrap_or_else(|| file.to_owned())
}

/// Changes that a screen names.
const MOST_CHANGES: usize = 3;

/// What was asked, and what came of it.
struct Answer<'a> {
    flags: &'a PredictFlags,
    question: &'a Question,
    measured: &'a Measured,
    analyses: &'a [Analysis],
}

impl Answer<'_> {
    fn write(&self, review: &Review<'_>, judgement: &Judgement, terminal: &Terminal) -> Result<()> {
        let analyses = self.analyses;
        let sections = || {
            let launches = (0..analyses.len()).flat_map(|number| self.sections(number, terminal));
            review.sections(judgement).into_iter().chain(launches).collect()
        };
        let tables = || vec![view::predict::rows(analyses)];
        let json = || document::value(&document::predict::document(analyses));
        let sarif = || document::value(&self.sarif(judgement));
        let document = Document { title: "Prediction", sections: &sections, tables: &tables, json: &json };
        review.write(&document, Some(&sarif), &self.flags.output, terminal)
    }

    fn sections(&self, number: usize, terminal: &Terminal) -> Vec<Section> {
        let analysis = &self.analyses[number];
        let next = self.flags.ask.command("explain", &[]);
        // One screen holds the changes of one GPU: the first that was named and has an answer.
        let gpu = analysis.gpus.iter().find(|gpu| gpu.prediction().is_some());
        let advice = gpu.map_or_else(Vec::new, |gpu| self.advice(number, gpu));
        let best = gpu.map(|gpu| (gpu.machine.id.as_str(), advice.as_slice()));
        let glances = glance::glances(analysis, self.question.options);
        view::predict::predictions(analysis, &glances, best, terminal.detail(), Some(&next))
    }

    /// The best changes on a GPU.
    fn advice(&self, number: usize, gpu: &GpuAnalysis) -> Vec<Advice> {
        let (measurement, trial) = (&self.analyses[number].measurement, self.measured.trial(number, self.question));
        let mut advice = explain::advice(measurement, gpu, self.question.options, trial);
        advice.truncate(MOST_CHANGES);
        advice
    }

    /// Every launch on every GPU that has an answer.
    fn sarif(&self, judgement: &Judgement) -> impl serde::Serialize + use<> {
        let subjects = document::gated::subjects(&document::predict::document(self.analyses));
        let mut all: Vec<(&str, Glance, Vec<Advice>)> = Vec::new();
        for (number, analysis) in self.analyses.iter().enumerate() {
            for glance in glance::glances(analysis, self.question.options) {
                let gpu = analysis.gpus.iter().find(|gpu| gpu.machine.id == glance.gpu);
                let advice = gpu.map_or_else(Vec::new, |gpu| self.advice(number, gpu));
                all.push((&subjects[number], glance, advice));
            }
        }
        let findings = all.iter().map(|(subject, glance, advice)| Finding { subject, glance, advice });
        let input = &self.flags.ask.launch.input;
        sarif::log(&findings.collect::<Vec<_>>(), judgement, input, &|file| found(file, input))
    }
}
