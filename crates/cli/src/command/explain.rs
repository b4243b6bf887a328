//! `warplens explain INPUT`: what bounds a kernel in words, and a ranked list of changes.

use anyhow::Result;
use clap::Args;
use warplens_question::explain::{self, Explanation};
use warplens_report::{Section, document, view};

use super::{Document, Outcome};
use crate::ask::AskFlags;
use crate::flags::OutputFlags;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct ExplainFlags {
    #[command(flatten)]
    ask: AskFlags,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &ExplainFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let question = flags.ask.question(threads)?;
    let measured = flags.ask.measure(&question, terminal)?;
    let explained = measured.measurements.iter().enumerate().map(|(number, measurement)| {
        let analysis = question.predict(measurement.clone(), &question.choice, terminal);
        explain::explain(analysis, question.options, measured.trial(number, &question))
    });
    let explanations: Vec<Explanation> = explained.collect();
    let command = |more: &[String]| flags.ask.command("whatif", more);
    let sections = || -> Vec<Section> {
        explanations.iter().flat_map(|explanation| view::explain::explanation(explanation, &command)).collect()
    };
    let tables = || vec![view::explain::rows(&explanations)];
    let json = || document::value(&document::explain::document(&explanations));
    Document { title: "Explanation", sections: &sections, tables: &tables, json: &json }
        .write(&flags.output, terminal)?;
    let answered = explanations.iter().any(|explanation| explanation.analysis.has_answer());
    Ok(Outcome::of_models(answered, terminal))
}
