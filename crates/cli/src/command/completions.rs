//! `warplens completions SHELL`.

use anyhow::Result;
use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::Outcome;
use crate::flags::Cli;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct CompletionsFlags {
    /// The shell that is to complete
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(flags: &CompletionsFlags, terminal: &Terminal) -> Result<Outcome> {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "warplens", &mut script);
    terminal.data(None, &String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
