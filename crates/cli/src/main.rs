//! The warplens command: predicts the run time of CUDA kernels without a GPU.

mod ask;
mod command;
mod diagnostic;
mod flags;
mod panic_report;
mod progress;
mod terminal;
mod variants;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use warplens_base::{Keep, visible};

use crate::command::Outcome;
use crate::flags::Cli;
use crate::terminal::Terminal;

/// The input is at fault, or no model could answer.
const INPUT: u8 = 1;
/// The request is at fault.
const USAGE: u8 = 2;
/// A gate given with `--fail-on` is breached.
const GATE: u8 = 3;
/// The kernel uses what is not supported.
const UNSUPPORTED: u8 = 4;

fn main() -> ExitCode {
    panic_report::install();
    let matches = Cli::command().try_get_matches().unwrap_or_else(|error| usage_error(&error));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| usage_error(&error));
    let terminal = Terminal::new(&cli.global);
    let written = flags::written(&matches);
    let done = terminal.check_writable(&written).and_then(|()| command::run(cli, &terminal));
    match done {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NoAnswer) => ExitCode::from(INPUT),
        Ok(Outcome::GateBreached) => ExitCode::from(GATE),
        Ok(Outcome::Program(code)) => ExitCode::from(code),
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&error);
            ExitCode::from(exit_code(&error))
        }
    }
}

/// What clap says of the command line: the help, the version, or what is wrong.
///
/// clap repeats the words of the command line as they are, and a word may hold what a terminal obeys. So it is asked
/// again, about words that show it.
fn usage_error(error: &clap::Error) -> ! {
    let words = std::env::args_os().map(|word| visible(&word.to_string_lossy(), Keep::Tabs).into_owned());
    match Cli::try_parse_from(words) {
        Err(shown) => shown.exit(),
        // A path that is no text may have been all that was wrong.
        Ok(_) => error.exit(),
    }
}

fn exit_code(error: &anyhow::Error) -> u8 {
    use warplens_session::ErrorKind;
    match error.downcast_ref::<warplens_session::Error>().map(|error| error.kind) {
        Some(ErrorKind::Usage) => USAGE,
        Some(ErrorKind::Unsupported) => UNSUPPORTED,
        _ => INPUT,
    }
}
