//! `warplens run INPUT`: executes and shows what the kernel computed.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use warplens_report::{document, view};
use warplens_session::{Error, OutputRequest};

use super::{Document, Outcome};
use crate::flags::{ExecutionFlags, LaunchFlags, OutputFlags, parse_output};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct RunFlags {
    #[command(flatten)]
    launch: LaunchFlags,
    #[command(flatten)]
    execution: ExecutionFlags,
    /// Show a buffer or variable afterwards: an argument's name or position, with the number of elements
    #[arg(long, value_name = "NAME|INDEX[:COUNT]", help_heading = "Results")]
    print: Vec<String>,
    /// Write a buffer or variable to a NumPy file afterwards
    #[arg(long, value_name = "NAME|INDEX=FILE.npy", help_heading = "Results")]
    save: Vec<String>,
    #[command(flatten)]
    output: OutputFlags,
}

pub(crate) fn run(flags: &RunFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    let prints: Vec<OutputRequest> =
        flags.print.iter().map(|text| OutputRequest::parse(text)).collect::<Result<_, _>>()?;
    if let Some(twice) = (1..prints.len()).find(|&at| prints[..at].iter().any(|before| before.key == prints[at].key)) {
        return Err(Error::usage(format!("--print {}: `{0}` is printed already", prints[twice].key)).into());
    }
    let saves: Vec<(OutputRequest, PathBuf)> = flags.save.iter().map(|text| parse_save(text)).collect::<Result<_>>()?;
    let program = flags.launch.program(terminal)?;
    let launches = flags.launch.launches()?;
    let requests: Vec<OutputRequest> = prints.iter().chain(saves.iter().map(|(request, _)| request)).cloned().collect();
    let options = flags.execution.options(threads)?;
    let mut result =
        terminal.with_progress(|progress| warplens_session::run(&program, &launches, &requests, options, progress))?;
    let saved = result.outputs.split_off(prints.len());
    for ((_, path), output) in saves.iter().zip(&saved) {
        terminal.file(path, &output.to_npy())?;
    }
    let counts: HashMap<&str, u64> =
        prints.iter().filter_map(|request| Some((request.key.as_str(), request.count?))).collect();
    let limit =
        |key: &str| counts.get(key).map_or(view::run::SHOWN, |&count| usize::try_from(count).unwrap_or(usize::MAX));
    let sections = || view::run::buffers(&result, limit);
    let tables = || vec![view::run::elements(&result)];
    let json = || document::value(&document::run::document(&result));
    Document { title: "Results", sections: &sections, tables: &tables, json: &json }.write(&flags.output, terminal)?;
    Ok(Outcome::Done)
}

fn parse_save(text: &str) -> Result<(OutputRequest, PathBuf)> {
    let Some((name, path)) = text.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty()) else {
        return Err(Error::usage(format!("--save {text}: write NAME=FILE.npy")).into());
    };
    let path = parse_output(path).map_err(|why| Error::usage(format!("--save {text}: {why}")))?;
    if path.extension().is_none_or(|extension| extension != "npy") {
        return Err(Error::usage(format!("--save {text}: the file must be named *.npy")).into());
    }
    Ok((OutputRequest { key: name.to_owned(), count: None }, path))
}
