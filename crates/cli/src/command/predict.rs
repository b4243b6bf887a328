//! `warplens predict INPUT`: the time on each GPU, what bounds it, and the counts behind the answer.

use anyhow::Result;
use clap::Args;
use warplens_question::{Gate, explain, glance};
use warplens_report::{Section, document, view};
use warplens_session::Analysis;

use super::{Document, Outcome};
use crate::ask::{AskFlags, Measured, Question};
use crate::flags::OutputFlags;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct PredictFlags {
    #[command(flatten)]
    ask: AskFlags,
    /// Exit with 3 when a prediction is like this, for example 'time_us>100'
    #[arg(long, value_name = "EXPR", help_heading = "Prediction")]
    fail_on: Vec<String>,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &PredictFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    // What was asked for is checked before anything takes time.
    let question = flags.ask.question(threads)?;
    let gates: Vec<Gate> = flags.fail_on.iter().map(|text| Gate::parse(text)).collect::<Result<_, _>>()?;
    let measured = flags.ask.measure(&question, terminal)?;
    let analyses: Vec<Analysis> = measured
        .measurements
        .iter()
        .map(|measurement| question.predict(measurement.clone(), &question.choice, terminal))
        .collect();
    let breaches = breaches(&gates, flags, &analyses)?;
    write(flags, &analyses, &measured, &question, terminal)?;
    if !analyses.iter().any(Analysis::has_answer) {
        terminal.message("no model could answer");
        return Ok(Outcome::NoAnswer);
    }
    breaches.iter().for_each(|breach| terminal.message(breach));
    Ok(if breaches.is_empty() { Outcome::Done } else { Outcome::GateBreached })
}

/// Changes that a screen names.
const MOST_CHANGES: usize = 3;

fn write(
    flags: &PredictFlags,
    analyses: &[Analysis],
    measured: &Measured,
    question: &Question,
    terminal: &Terminal,
) -> Result<()> {
    let options = question.options;
    let detail = terminal.detail();
    let next = flags.ask.command("explain", &[]);
    let of_one = |(number, analysis): (usize, &Analysis)| {
        // One screen holds the changes of one GPU: the first that was named and has an answer.
        let gpu = analysis.gpus.iter().find(|gpu| gpu.prediction().is_some());
        let advice = gpu.map_or_else(Vec::new, |gpu| {
            explain::advice(&analysis.measurement, gpu, options, measured.trial(number, question))
        });
        let best = gpu.map(|gpu| (gpu.machine.id.as_str(), &advice[..advice.len().min(MOST_CHANGES)]));
        let glances = glance::glances(analysis, options);
        view::predict::predictions(analysis, &glances, best, detail, Some(&next))
    };
    let sections = || -> Vec<Section> { analyses.iter().enumerate().flat_map(of_one).collect() };
    let tables = || vec![view::predict::rows(analyses)];
    let json = || document::value(&document::predict::document(analyses));
    Document { title: "Prediction", sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)
}

/// One message for each gate and GPU.
fn breaches(gates: &[Gate], flags: &PredictFlags, analyses: &[Analysis]) -> Result<Vec<String>> {
    let mut messages = Vec::new();
    for (gate, text) in gates.iter().zip(&flags.fail_on) {
        let breaches = gate.breaches(analyses)?;
        messages
            .extend(breaches.iter().map(|(gpu, value)| format!("gate {text} is breached on {gpu}: {}", short(*value))));
    }
    Ok(messages)
}

/// Six significant digits; a gate may be breached by less than what tables show.
fn short(value: f64) -> String {
    format!("{value:.5e}").parse().map_or_else(|_| value.to_string(), |rounded: f64| rounded.to_string())
}
