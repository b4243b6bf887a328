//! `warplens config show`: what is asked for unless flags say otherwise, and which file says so.

use anyhow::Result;
use clap::{Args, CommandFactory, Subcommand};
use warplens_report::{document, view};

use super::{Document, Outcome};
use crate::config::{Config, KEYS};
use crate::flags::{Cli, OutputFlags};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct ConfigFlags {
    #[command(subcommand)]
    verb: ConfigVerb,
}

#[derive(Subcommand, Debug)]
enum ConfigVerb {
    /// Show every key of warplens.toml with its value and where that comes from
    Show {
        #[command(flatten)]
        output: OutputFlags,
    },
}

pub(crate) fn run(flags: &ConfigFlags, terminal: &Terminal) -> Result<Outcome> {
    let ConfigVerb::Show { output } = &flags.verb;
    let config = Config::load()?;
    let rows: Vec<view::config::Row> = KEYS.iter().map(|(key, about)| row(&config, key, about)).collect();
    let files: Vec<String> = config.files.iter().map(|file| file.display().to_string()).collect();
    let sections = || view::config::settings(&rows, &files);
    let json = || document::value(&view::config::document(&rows, &files));
    Document { title: "Configuration", sections: &sections, tables: &sections, json: &json }.write(output, terminal)?;
    Ok(Outcome::Done)
}

fn row(config: &Config, key: &str, about: &str) -> view::config::Row {
    let setting = config.settings.iter().find(|setting| setting.key == key);
    view::config::Row {
        key: key.to_owned(),
        about: about.to_owned(),
        value: setting.map(|setting| setting.value.clone()).or_else(|| built_in(key)),
        file: setting.map(|setting| setting.file.display().to_string()),
    }
}

/// The default of a flag; none where it has none.
fn built_in(key: &str) -> Option<String> {
    let command = Cli::command();
    let verb = command.find_subcommand("predict");
    let mut arguments = command.get_arguments().chain(verb.into_iter().flat_map(clap::Command::get_arguments));
    let argument = arguments.find(|argument| argument.get_id() == key)?;
    Some(argument.get_default_values().first()?.to_string_lossy().into_owned())
}
