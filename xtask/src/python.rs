//! `cargo xtask python`: the wheel is built and installed in a fresh environment, and the tests of the package run there.
//!
//! Needs Python 3.11 or later with `venv`; `PYTHON` names another interpreter than `python3`. Words are handed to pytest.
//! `PROFILE=release` builds what is handed out; without it the profile of the tests serves, whose crates are there. Tests
//! that need packages beyond these (Triton, numba, Kernel Tuner, Jupyter) are skipped where they are missing, and
//! `PACKAGES="triton==3.9.0 ..."` installs more.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::dist;
use crate::workspace::{Workspace, run};

/// What the tests need, what reads the tables, and what says whether a log is SARIF.
const PACKAGES: &[&str] = &["numpy", "pytest", "pandas", "polars", "pyarrow", "jsonschema"];
/// The crate whose types of SARIF are made from the schema of the standard, and where that lies in it.
const SARIF: (&str, &str) = ("serde-sarif", "src/schema.json");
const PROJECT: &str = "python/pyproject.toml";

/// Builds, installs and tests.
pub(crate) fn check(workspace: &Workspace, words: &[&str]) -> Result<()> {
    let folder = workspace.metadata.target_directory.join("python").into_std_path_buf();
    let profile = std::env::var("PROFILE").unwrap_or_else(|_| "dev".to_owned());
    let environment = folder.join("venv");
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&environment))?;
    let program = |name: &str| environment.join("bin").join(name);
    let more = std::env::var("PACKAGES").unwrap_or_default();
    let mut install = pip(&program("python"));
    install.arg(maturin(workspace)?).args(PACKAGES).args(more.split_whitespace());
    run(&mut install)?;
    let wheel = built(workspace, &program("maturin"), &folder.join("wheels"), &profile)?;
    run(pip(&program("python")).args(["--no-deps", "--force-reinstall"]).arg(wheel))?;
    // The command, and beside it the libraries that it puts before a program.
    let mut build = workspace.cargo(&["build", "--quiet", "--locked"]);
    run(build.args(dist::PACKAGES.iter().flat_map(|package| ["--package", package])))?;
    let command = workspace.metadata.target_directory.join("debug/warplens");
    let mut tests = Command::new(program("python"));
    tests.args(["-m", "pytest", "-c", PROJECT, "-p", "no:cacheprovider", "--rootdir", "python", "python/tests"]);
    tests.args(words).env("WARPLENS_COMMAND", command).env("PYTHONDONTWRITEBYTECODE", "1");
    tests.env("SARIF_SCHEMA", schema_of_sarif(workspace)?);
    run(tests.current_dir(&workspace.root))
}

/// Where the schema lies.
fn schema_of_sarif(workspace: &Workspace) -> Result<PathBuf> {
    let (name, path) = SARIF;
    let all = workspace.resolved(&[])?;
    let found = all.packages.iter().find(|package| package.name.as_str() == name);
    let schema = found.and_then(|package| Some(package.manifest_path.parent()?.join(path).into_std_path_buf()));
    schema.filter(|schema| schema.is_file()).with_context(|| format!("the crate {name} has no {path}"))
}

fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

/// The version that the package says, with its name.
fn maturin(workspace: &Workspace) -> Result<String> {
    let text = workspace.read(PROJECT)?;
    let pinned = text.split('"').find(|word| word.starts_with("maturin==")).map(str::to_owned);
    pinned.with_context(|| format!("{PROJECT} pins no maturin"))
}

/// Builds the wheel.
fn built(workspace: &Workspace, maturin: &Path, folder: &Path, profile: &str) -> Result<PathBuf> {
    let _ = std::fs::remove_dir_all(folder);
    let mut command = Command::new(maturin);
    command.args(["build", "--quiet", "--locked", "--profile", profile]);
    // Where the package's description lies, which names the crate.
    run(command.arg("--out").arg(folder).current_dir(workspace.root.join("python")))?;
    let wheels: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    ensure!(wheels.len() == 1, "maturin has made {} wheels", wheels.len());
    Ok(wheels.into_iter().next().expect("there is one"))
}
