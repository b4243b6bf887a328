//! Tasks of the workspace: `cargo xtask check` runs what the continuous integration runs besides the tests.
//!
//! A task is a function in a module of its own; [`check::STEPS`] lists the checks in the order they run, and
//! [`generate::DOCUMENTS`] the parts of the documentation that are written by the program.

// A task talks to the terminal: that is all it does.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod book;
mod browser;
mod changelog;
mod check;
mod dist;
mod fuzz;
mod generate;
mod lists;
mod python;
mod sanitize;
mod suite;
mod tidy;
mod validate;
mod workflows;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

const USAGE: &str = "\
Usage: cargo xtask TASK

Tasks:
  check [STEP...]      All checks besides the tests, or the named ones
  book                 The manual as a book, with every link followed
  browser              Report pages of examples and the live page, opened in a headless Chromium
  changelog            The fragments of changelog/ put together under the version of the manifests
  dist                 The folder of a release: archive, wheel, book, bills of materials, sums
  dist --check         That folder installed in a fresh Debian, and the workflow of examples/ci run with it
  python [WORD...]     The wheel of the Python package, in a fresh environment, and its tests; words go to pytest
  fuzz [--seconds N] [TARGET...]
                       The fuzz targets, each for 60 seconds or N
  sanitize [NAME...]   Tests of the unsafe code under the sanitizers `address` and `thread`, or `miri`
  suite [WORD...]      Kernels of four compilers, executed and held against NumPy; words go to validation/suite/run.py
  validate             Predict everything measured, and compare with validation/baseline.csv; UPDATE=1 rewrites it
  workflows            The workflows for continuous integration and releases, linted
  generate [--check]   Write the generated documents, or only say which are stale
  help                 This text

Steps of `check`, in order:
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["check", steps @ ..] => check::run(&Workspace::find()?, steps),
        ["book"] => book::build(&Workspace::find()?).map(drop),
        ["browser"] => browser::check(&Workspace::find()?),
        ["python", words @ ..] => python::check(&Workspace::find()?, words),
        ["changelog"] => changelog::assemble(&Workspace::find()?),
        ["dist"] => dist::make(&Workspace::find()?),
        ["dist", "--check"] => dist::check(&Workspace::find()?),
        ["fuzz", words @ ..] => fuzz::check(&Workspace::find()?, words),
        ["sanitize", names @ ..] => sanitize::check(&Workspace::find()?, names),
        ["suite", words @ ..] => suite::check(&Workspace::find()?, words),
        ["validate"] => validate::run(&Workspace::find()?),
        ["workflows"] => workflows::check(&Workspace::find()?),
        ["generate"] => generate::write(&Workspace::find()?),
        ["generate", "--check"] => generate::check(&Workspace::find()?),
        [] | ["help" | "-h" | "--help"] => {
            print!("{USAGE}");
            for step in check::STEPS {
                println!("  {:<10} {}", step.name, step.about);
            }
            Ok(())
        }
        [task, ..] => bail!("no task `{task}`; `cargo xtask help` lists them"),
    }
}
