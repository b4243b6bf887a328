//! `warplens completions SHELL`.

use anyhow::Result;
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::{Generator, Shell as Known};
use clap_complete_nushell::Nushell;

use super::Outcome;
use crate::flags::Cli;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct CompletionsFlags {
    /// The shell that is to complete
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Shell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    #[value(name = "powershell")]
    Power,
    Zsh,
}

pub(crate) fn run(flags: &CompletionsFlags, terminal: &Terminal) -> Result<Outcome> {
    let script = match flags.shell {
        Shell::Bash => script(Known::Bash),
        Shell::Elvish => script(Known::Elvish),
        Shell::Fish => script(Known::Fish),
        Shell::Nushell => script(Nushell),
        Shell::Power => script(Known::PowerShell),
        Shell::Zsh => script(Known::Zsh),
    };
    terminal.data(None, &String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}

fn script(shell: impl Generator) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "warplens", &mut script);
    script
}
