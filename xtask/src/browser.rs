//! `cargo xtask browser`: report pages of shipped examples and the live page, opened and used in a headless Chromium.
//!
//! Needs node and Chromium (Debian: `apt-get install nodejs npm chromium`); `CHROMIUM` names another one. With
//! `SCREENSHOTS=folder` pictures of the pages are kept.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::workspace::{Workspace, run};

/// Examples whose pages are opened: name and GPUs.
const PAGES: &[(&str, &str)] = &[("matmul_tiled", "h200,c1060"), ("layout_aos", "a100-80"), ("mandelbrot", "v100,k40")];

/// Writes the pages, and has them and the live page checked.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let folder = workspace.metadata.target_directory.join("browser").into_std_path_buf();
    std::fs::create_dir_all(&folder).context("making the folder of the pages")?;
    let mut pages = Vec::new();
    for (example, gpus) in PAGES {
        let page = folder.join(format!("{example}.html"));
        let path = |file: &str| format!("examples/{example}/{file}");
        let mut command = workspace.cargo(&["run", "--quiet", "--locked", "--bin", "warplens", "--", "report"]);
        command.args([path("ptx/sm_80.ptx"), "--launch".into(), path("launch.toml"), "--gpu".into(), (*gpus).into()]);
        run(command.arg("--force").arg("-o").arg(&page))?;
        pages.push(page);
    }
    let tests = workspace.root.join("tests/browser");
    let npm = ["ci", "--silent", "--no-audit", "--no-fund"];
    run(Command::new("npm").args(npm).current_dir(&tests).stdin(Stdio::null()))?;
    run(Command::new("node").arg("report.mjs").args(&pages).current_dir(&tests).stdin(Stdio::null()))?;
    let (program, examples) =
        (workspace.metadata.target_directory.join("debug/warplens"), workspace.root.join("examples"));
    let mut live = Command::new("node");
    live.arg("serve.mjs").arg(program).arg(examples);
    run(live.current_dir(&tests).stdin(Stdio::null()))
}
