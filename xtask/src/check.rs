//! `cargo xtask check`: the steps, their times and a summary of what failed.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Result, bail};

use crate::workspace::{Workspace, run as run_command};
use crate::{generate, tidy};

/// One check.
pub(crate) struct Step {
    /// What one types to run it alone.
    pub(crate) name: &'static str,
    /// What it makes sure of.
    pub(crate) about: &'static str,
    run: fn(&Workspace) -> Result<()>,
}

/// All checks, the quick ones first.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "format", about: "rustfmt would change nothing", run: format },
    Step { name: "tidy", about: "layers, file lengths, module docs, prose", run: tidy::run },
    Step { name: "clippy", about: "no warning on any target", run: clippy },
    Step { name: "rustdoc", about: "the reference builds without a warning", run: rustdoc },
    Step { name: "generate", about: "generated documents are fresh", run: generate::check },
    Step { name: "deny", about: "versions, licences and sources of dependencies", run: deny },
];

/// Runs the named steps, or all, goes on after a failure and lists the failures at the end.
pub(crate) fn run(workspace: &Workspace, names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let known: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        bail!("no step `{unknown}`; there are: {}", known.join(", "));
    }
    let started = Instant::now();
    let mut failures = Vec::new();
    let mut n_steps = 0;
    for step in STEPS.iter().filter(|step| names.is_empty() || names.contains(&step.name)) {
        n_steps += 1;
        println!("==> {}: {}", step.name, step.about);
        let step_started = Instant::now();
        let outcome = (step.run)(workspace);
        let seconds = step_started.elapsed().as_secs_f64();
        match outcome {
            Ok(()) => println!("    {}: ok ({seconds:.1} s)", step.name),
            Err(error) => {
                println!("    {}: FAILED ({seconds:.1} s)\n{error:#}", step.name);
                failures.push(step.name);
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    if !failures.is_empty() {
        bail!("{} of {n_steps} steps failed ({seconds:.1} s): {}", failures.len(), failures.join(", "));
    }
    println!("==> all {n_steps} steps passed ({seconds:.1} s)");
    Ok(())
}

fn format(workspace: &Workspace) -> Result<()> {
    run_command(&mut workspace.cargo(&["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace) -> Result<()> {
    run_command(&mut workspace.cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))
}

fn rustdoc(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    run_command(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn deny(workspace: &Workspace) -> Result<()> {
    let Some(program) = cargo_deny(workspace) else {
        bail!("cargo-deny is not installed; `cargo install --locked cargo-deny` does it");
    };
    let mut command = Command::new(program);
    command.args(["--locked", "check", "bans", "licenses", "sources"]);
    run_command(command.current_dir(&workspace.root).stdin(Stdio::null()))
}

/// The program, from the search path or from `tools/bin` in the target folder, where the integration script puts it.
fn cargo_deny(workspace: &Workspace) -> Option<PathBuf> {
    let local = workspace.metadata.target_directory.join("tools/bin/cargo-deny").into_std_path_buf();
    let answers = |program: &PathBuf| {
        let mut command = Command::new(program);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    [PathBuf::from("cargo-deny"), local].into_iter().find(answers)
}
