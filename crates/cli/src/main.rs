//! The warplens command: predicts the run time of CUDA kernels without a GPU.

mod ask;
mod command;
mod diagnostic;
mod flags;
mod panic_report;
mod progress;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

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
    let cli = Cli::parse();
    let terminal = Terminal::new(&cli.global);
    match command::run(cli, &terminal) {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::NoAnswer) => ExitCode::from(INPUT),
        Ok(Outcome::GateBreached) => ExitCode::from(GATE),
        Err(error) if terminal::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            terminal.error(&error);
            ExitCode::from(exit_code(&error))
        }
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
