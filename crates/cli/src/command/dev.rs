//! `warplens dev`: what each stage makes of an input, for bug reports and the curious.

use anyhow::Result;
use clap::{Args, Subcommand};
use warplens_session::{Input, stages};

use super::Outcome;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct DevFlags {
    #[command(subcommand)]
    stage: Stage,
}

#[derive(Subcommand, Debug)]
enum Stage {
    /// The tokens of a PTX text, one per line
    Tokens(InputFlag),
    /// The syntax tree of a PTX text
    Ast(InputFlag),
}

#[derive(Args, Debug)]
struct InputFlag {
    /// A PTX file, or - for standard input
    input: String,
}

pub(crate) fn run(flags: &DevFlags, terminal: &Terminal) -> Result<Outcome> {
    let (Stage::Tokens(flag) | Stage::Ast(flag)) = &flags.stage;
    let input = Input::read(&flag.input)?;
    let dump = match &flags.stage {
        Stage::Tokens(_) => stages::tokens(&input)?,
        Stage::Ast(_) => stages::syntax_tree(&input)?,
    };
    terminal.data(None, &dump.text)?;
    terminal.warnings(&dump.findings);
    Ok(Outcome::Done)
}
