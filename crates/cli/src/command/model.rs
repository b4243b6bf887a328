//! `warplens model NAME --input FILE`: a model evaluated on given counts, without a kernel.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use warplens_report::{document, view};
use warplens_session::machines::{self, Strictness};
use warplens_session::predict::{self, CountBasis, GivenFile};
use warplens_session::{Choice, Error, Input};

use super::{Document, Outcome};
use crate::flags::OutputFlags;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct ModelFlags {
    /// The model
    name: String,
    /// TOML or JSON with a table `inputs` of numbers by field name, or - for standard input
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The GPU that supplies what the file does not give; else the one that the file names
    #[arg(long, value_name = "NAME")]
    gpu: Option<String>,
    /// Switch an option of the model on, such as as-printed
    #[arg(long = "option", value_name = "NAME")]
    options: Vec<String>,
    /// Refuse where a machine parameter would have to be derived
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &ModelFlags, terminal: &Terminal) -> Result<Outcome> {
    let model = predict::model(&flags.name)?;
    let strictness = if flags.strict { Strictness::Strict } else { Strictness::AllowInferred };
    let choice = Choice::Named(vec![model.id()]);
    let options = predict::options(&choice, &flags.options, CountBasis::AsWritten, strictness)?;
    let input = Input::read(&flags.input)?;
    let file = GivenFile::parse(&input.name, &input.text())?;
    if let Some(other) = file.model.as_deref().filter(|other| *other != model.name()) {
        let error = Error::usage(format!("{} is for the model {other}, not for {}", input.name, model.name()));
        return Err(error.with_help(format!("warplens model {other} --input {}", input.name)).into());
    }
    let machine = flags.gpu.as_ref().or(file.gpu.as_ref()).map(|name| machines::one(name)).transpose()?;
    let result = predict::evaluate(model, &file.given, machine.as_ref(), &options)?;
    let gpu = machine.as_ref().map(|machine| machine.id.as_str());
    let sections = || view::predict::evaluation(model, file.title.as_deref(), gpu, &result);
    let tables = || vec![view::predict::quantities(&result)];
    let json = || document::value(&document::predict::model(model, machine.as_ref(), file.title.as_deref(), &result));
    let title = format!("Model {}", model.name());
    Document { title: &title, sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)?;
    Ok(if result.is_ok() { Outcome::Done } else { Outcome::NoAnswer })
}
