//! `warplens gpu list|show|diff`.

use anyhow::Result;
use clap::{Args, Subcommand};
use warplens_report::{document, view};
use warplens_session::machines::{self, Strictness};

use super::{Document, Outcome};
use crate::flags::OutputFlags;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct GpuFlags {
    #[command(subcommand)]
    verb: GpuVerb,
}

#[derive(Subcommand, Debug)]
enum GpuVerb {
    /// List the GPUs that are built in
    List {
        #[command(flatten)]
        output: OutputFlags,
    },
    /// Show every parameter of a GPU with its unit, basis and source
    Show {
        /// Identifier, marketing name, sm_XX where it means one GPU, or FILE.toml; ID@MHZ asks about another clock
        name: String,
        /// Do not derive what is not stated
        #[arg(long)]
        strict: bool,
        #[command(flatten)]
        output: OutputFlags,
    },
    /// Show the parameters in which two GPUs differ
    Diff {
        /// The first GPU
        left: String,
        /// The second GPU
        right: String,
        /// Do not derive what is not stated
        #[arg(long)]
        strict: bool,
        #[command(flatten)]
        output: OutputFlags,
    },
}

pub(crate) fn run(flags: &GpuFlags, terminal: &Terminal) -> Result<Outcome> {
    match &flags.verb {
        GpuVerb::List { output } => list(output, terminal)?,
        GpuVerb::Show { name, strict, output } => show(name, strictness(*strict), output, terminal)?,
        GpuVerb::Diff { left, right, strict, output } => diff(left, right, strictness(*strict), output, terminal)?,
    }
    Ok(Outcome::Done)
}

fn strictness(strict: bool) -> Strictness {
    if strict { Strictness::Strict } else { Strictness::AllowInferred }
}

fn list(output: &OutputFlags, terminal: &Terminal) -> Result<()> {
    let entries: Vec<machines::Entry> = machines::all()?.iter().map(machines::entry).collect();
    let sections = || vec![view::gpu::list(&entries)];
    let json = || document::value(&document::gpu::list(&entries));
    Document { title: "GPUs", sections: &sections, tables: &sections, json: &json }.write(output, terminal)
}

fn show(name: &str, strictness: Strictness, output: &OutputFlags, terminal: &Terminal) -> Result<()> {
    let machine = machines::one(name)?;
    let rows = machines::show(&machine, strictness);
    let sections = || view::gpu::show(&machine, &rows);
    let tables = || vec![view::gpu::parameters(&rows)];
    let json = || document::value(&document::gpu::show(&machine, &rows));
    Document { title: &machine.name, sections: &sections, tables: &tables, json: &json }.write(output, terminal)
}

fn diff(left: &str, right: &str, strictness: Strictness, output: &OutputFlags, terminal: &Terminal) -> Result<()> {
    let (left, right) = (machines::one(left)?, machines::one(right)?);
    let differences = machines::diff(&left, &right, strictness);
    let sections = || vec![view::gpu::diff(&left, &right, &differences)];
    let json = || document::value(&document::gpu::diff(&left, &right, &differences));
    let title = format!("{} and {}", left.name, right.name);
    Document { title: &title, sections: &sections, tables: &sections, json: &json }.write(output, terminal)
}
