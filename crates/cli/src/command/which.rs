//! `warplens which INPUT`: GPUs by time, and by what a run costs there.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use warplens_question::which::{self, Prices};
use warplens_report::{document, view};
use warplens_session::machines::{self, Machine};
use warplens_session::{Analysis, Error, read_text};

use super::{Document, Outcome};
use crate::ask::AskFlags;
use crate::flags::OutputFlags;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct WhichFlags {
    #[command(flatten)]
    ask: AskFlags,
    /// What an hour of each GPU costs: currency = "EUR", and a table [per_hour] with gpu = price; its GPUs are asked
    /// where --gpu names none
    #[arg(long, value_name = "FILE.toml", help_heading = "Prediction")]
    prices: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &WhichFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let read = |path: &PathBuf| -> Result<Prices> {
        Ok(Prices::parse(&path.to_string_lossy(), &read_text(path, "price file")?)?)
    };
    let prices = flags.prices.as_ref().map(read).transpose()?;
    let question = match &prices {
        Some(prices) => flags.ask.question_of_gpus(&prices.gpus(), threads)?,
        None => flags.ask.question(threads)?,
    };
    let priced = prices.as_ref().map(|prices| priced(prices, &question.machines)).transpose()?;
    let measured = flags.ask.measure(&question, terminal)?;
    let ask =
        |measurement: &warplens_session::Measurement| question.predict(measurement.clone(), &question.choice, terminal);
    let analyses: Vec<Analysis> = measured.measurements.iter().map(ask).collect();
    let which = which::which(&analyses, priced.as_ref().map(|(currency, prices)| (*currency, prices.as_slice())));
    let sections = || view::which::answer(&which);
    let tables = || vec![view::which::rows(&which)];
    let json = || document::value(&view::which::document(&which));
    Document { title: "Which GPU", sections: &sections, tables: &tables, json: &json }
        .write(&flags.output, terminal)?;
    Ok(Outcome::of_models(!which.gpus.is_empty(), terminal))
}

/// The prices of the GPUs that are asked, in their order.
fn priced<'p>(prices: &'p Prices, machines: &[Machine]) -> Result<(&'p str, Vec<Option<f64>>)> {
    let mut found = vec![None; machines.len()];
    for (gpu, price) in &prices.per_hour {
        // A reference such as sm_90 may mean several.
        for machine in machines::select(gpu)? {
            let own = machines.iter().position(|own| own.id == machine.id);
            if own.is_some_and(|at| found[at].replace(*price).is_some()) {
                let message = format!("the price of {} is given twice", machine.id);
                return Err(Error::usage(message).into());
            }
        }
    }
    Ok((&prices.currency, found))
}
