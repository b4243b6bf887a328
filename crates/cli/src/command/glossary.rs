//! `warplens glossary TERM` and `warplens metrics TEXT`: what words and keys mean.

use anyhow::Result;
use clap::Args;
use warplens_question::glossary;
use warplens_report::document::keys::{Key, keys};
use warplens_report::{document, view};
use warplens_session::Error;

use super::{Document, Outcome};
use crate::flags::OutputFlags;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct GlossaryFlags {
    /// A term, or a part of it; all terms unless given
    term: Option<String>,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Args, Debug)]
pub(crate) struct MetricsFlags {
    /// Keys whose path, meaning or profiler's name has this text; all keys unless given
    text: Option<String>,
    /// Keys of this document alone, such as profile or predict
    #[arg(long, value_name = "NAME", value_parser = document_name)]
    document: Option<String>,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &GlossaryFlags, terminal: &Terminal) -> Result<Outcome> {
    let terms = match &flags.term {
        Some(word) => glossary::find(word)?,
        None => glossary::terms(),
    };
    let sections = || view::glossary::terms(&terms);
    let json = || document::value(&view::glossary::document(&terms));
    Document { title: "Glossary", sections: &sections, tables: &sections, json: &json }
        .write(&flags.output, terminal)?;
    Ok(Outcome::Done)
}

pub(crate) fn metrics(flags: &MetricsFlags, terminal: &Terminal) -> Result<Outcome> {
    let asked = document::documents().filter(|entry| flags.document.as_deref().is_none_or(|name| name == entry.name()));
    let wanted = flags.text.as_deref().unwrap_or_default().to_lowercase();
    let has = |text: &str| text.to_lowercase().contains(&wanted);
    let is_asked = |key: &Key| has(&key.path) || has(&key.meaning) || key.nsight.iter().any(|name| has(name));
    let found: Vec<Key> = asked.flat_map(keys).filter(is_asked).collect();
    if found.is_empty() {
        let error = Error::usage(format!("no key has `{wanted}` in its name or meaning"));
        return Err(error.with_help("warplens metrics lists all keys").into());
    }
    let sections = || view::glossary::metrics(&found);
    let json = || document::value(&view::glossary::metrics_document(&found));
    Document { title: "Metrics", sections: &sections, tables: &sections, json: &json }
        .write(&flags.output, terminal)?;
    Ok(Outcome::Done)
}

fn document_name(text: &str) -> Result<String, String> {
    let names: Vec<&str> = document::documents().map(document::Entry::name).collect();
    match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("the documents are {}", names.join(", "))),
    }
}
