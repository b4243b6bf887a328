//! The command as a process of a shell: its words, its streams and its exit code.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};
use warplens_base::{Keep, visible};

use crate::command::{self as verbs, Outcome};
use crate::config::Config;
use crate::flags::{self, Cli};
use crate::terminal::{self, Terminal};
use crate::{client, panic_report};

/// The input is at fault, or no model could answer.
const INPUT: u8 = 1;
/// The request is at fault.
pub(crate) const USAGE: u8 = 2;
/// A gate given with `--fail-on` is breached.
const GATE: u8 = 3;
/// The kernel uses what is not supported.
const UNSUPPORTED: u8 = 4;

/// Does what the words of this process ask for.
pub fn main() -> ExitCode {
    panic_report::install();
    let config = Config::load();
    let matches = command(&config).try_get_matches().unwrap_or_else(|error| usage_error(&error));
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| usage_error(&error));
    let terminal = Terminal::new(&cli.global, client::Client::Shell);
    match config.and_then(|_| run(cli, &matches, &terminal)) {
        Ok(outcome) => ExitCode::from(exit_code(outcome)),
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&error);
            ExitCode::from(exit_code_of(&error))
        }
    }
}

/// The command line with the defaults of the user's files. What is wrong in these is said once messages have a place.
pub(crate) fn command(config: &anyhow::Result<Config>) -> clap::Command {
    config.as_ref().map_or_else(|_| Cli::command(), Config::command)
}

/// Runs the verb, unless something would be lost that its result is to be written over.
pub(crate) fn run(cli: Cli, matches: &clap::ArgMatches, terminal: &Terminal) -> anyhow::Result<Outcome> {
    terminal.check_writable(&flags::written(matches))?;
    verbs::run(cli, terminal)
}

/// What clap says of the command line: the help, the version, or what is wrong.
fn usage_error(error: &clap::Error) -> ! {
    match shown(std::env::args_os().map(|word| word.to_string_lossy().into_owned())) {
        Some(shown) => shown.exit(),
        // A path that is no text may have been all that was wrong.
        None => error.exit(),
    }
}

/// What clap says of words that it has refused.
///
/// clap repeats the words of the command line as they are, and a word may hold what a terminal obeys. So it is asked
/// again, about words that show it.
pub(crate) fn shown(words: impl Iterator<Item = String>) -> Option<clap::Error> {
    Cli::try_parse_from(words.map(|word| visible(&word, Keep::Tabs).into_owned())).err()
}

/// The exit code of a verb that has ended.
pub(crate) const fn exit_code(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Done => 0,
        Outcome::NoAnswer => INPUT,
        Outcome::GateBreached => GATE,
        Outcome::Program(code) => code,
    }
}

/// The exit code of a verb that has failed.
pub(crate) fn exit_code_of(error: &anyhow::Error) -> u8 {
    use warplens_session::ErrorKind;
    match error.downcast_ref::<warplens_session::Error>().map(|error| error.kind) {
        Some(ErrorKind::Usage) => USAGE,
        Some(ErrorKind::Unsupported) => UNSUPPORTED,
        _ => INPUT,
    }
}
