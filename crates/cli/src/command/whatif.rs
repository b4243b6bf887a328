//! `warplens whatif INPUT --set NAME=VALUE --without EFFECT`: the same models asked again under other circumstances.

use anyhow::Result;
use clap::Args;
use warplens_launch::Launch;
use warplens_question::whatif::{self, Prices, Scenario, WhatIf};
use warplens_report::{Section, document, view};
use warplens_session::{Error, Measurement};

use super::{Document, Outcome};
use crate::ask::{AskFlags, Measured, Question};
use crate::flags::OutputFlags;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct WhatIfFlags {
    #[command(flatten)]
    ask: AskFlags,
    /// Give a parameter another value, or a factor: dram.bandwidth=2x, clock=2GHz, registers=32, barriers=0
    #[arg(long = "set", value_name = "NAME=VALUE|FACTORx", help_heading = "What if")]
    settings: Vec<String>,
    /// Suppose that an effect costs nothing, such as uncoalesced or bank-conflicts
    #[arg(long, value_name = "EFFECT", help_heading = "What if")]
    without: Vec<String>,
    /// Price every effect by itself, and all of them together
    #[arg(long, conflicts_with_all = ["settings", "without"], help_heading = "What if")]
    each: bool,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &WhatIfFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let question = flags.ask.question(threads)?;
    let scenario = Scenario::parse(&flags.settings, &flags.without)?;
    if !flags.each && scenario.texts.is_empty() {
        return Err(Error::usage("nothing to suppose: give --set NAME=VALUE, --without EFFECT or --each")
            .with_help("docs/whatif.md lists the names and effects")
            .into());
    }
    let measured = flags.ask.measure(&question, terminal)?;
    if flags.each {
        prices(flags, &question, measured, terminal)
    } else {
        answers(flags, &question, measured, &scenario, terminal)
    }
}

fn answers(
    flags: &WhatIfFlags,
    question: &Question,
    measured: Measured,
    scenario: &Scenario,
    terminal: &Terminal,
) -> Result<Outcome> {
    let again = if scenario.runs_again() { Some(second_run(question, &measured, scenario, terminal)?) } else { None };
    let launches = measured.measurements.into_iter().enumerate();
    let answers: Vec<WhatIf> = launches
        .map(|(at, measurement)| {
            let again = again.as_ref().map(|again| &again[at]);
            whatif::run(measurement, again, &question.machines, &question.choice, question.options, scenario)
        })
        .collect();
    // A question that makes sense nowhere is the question's fault.
    let gpus = || answers.iter().flat_map(|answer| &answer.gpus);
    if let Some(Err(why)) = gpus().map(|gpu| &gpu.after).next()
        && gpus().all(|gpu| gpu.after.is_err())
    {
        return Err(Error::usage(why.reason.clone()).into());
    }
    let sections = || -> Vec<Section> { answers.iter().flat_map(view::whatif::answer).collect() };
    let tables = || vec![view::whatif::rows(&answers)];
    let json = || document::value(&document::whatif::document(&answers));
    Document { title: "What if", sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)?;
    Ok(Outcome::of_models(answers.iter().any(WhatIf::has_answer), terminal))
}

/// The launches with another grid or block.
fn second_run(
    question: &Question,
    measured: &Measured,
    scenario: &Scenario,
    terminal: &Terminal,
) -> Result<Vec<Measurement>> {
    let pairs = measured.launches.iter().zip(&measured.measurements);
    let launches: Vec<Launch> = pairs
        .map(|(launch, measurement)| scenario.launch(launch, &measurement.profile.launch))
        .collect::<Result<_, _>>()?;
    measured.again(&launches, question, terminal)
}

fn prices(flags: &WhatIfFlags, question: &Question, measured: Measured, terminal: &Terminal) -> Result<Outcome> {
    let prices: Vec<Prices> = measured
        .measurements
        .into_iter()
        .map(|measurement| whatif::price(measurement, &question.machines, &question.choice, question.options))
        .collect();
    let sections = || -> Vec<Section> { prices.iter().flat_map(view::whatif::prices).collect() };
    let tables = || vec![view::whatif::price_rows(&prices)];
    let json = || document::value(&document::whatif::prices(&prices));
    Document { title: "What if", sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)?;
    let answered = prices.iter().flat_map(|prices| &prices.gpus).any(|gpu| !gpu.prices.is_empty());
    Ok(Outcome::of_models(answered, terminal))
}
