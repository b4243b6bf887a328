//! `cargo xtask dist --check`: the release installed from its folder alone, in a fresh Debian without compilers, CUDA and
//! network, and the commands of the README there.
//!
//! debootstrap makes the root, which takes the rights of the system. The workflow that `examples/ci` shows is then run
//! step by step, with the folder in place of the site that releases are loaded from.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::archive::DOCUMENTS;
use super::{Release, SUMS, copy, listed, printed};
use crate::workspace::{Workspace, run};

/// The system that is installed.
const SUITE: &str = "bookworm";

/// The version of Python that it has.
const PYTHON: &str = "3.11";

/// Where in it a release goes.
const PREFIX: &str = "/usr/local";

/// What opens a screen of the README, and what closes it.
const SCREEN: [&str; 2] = ["```console\n$ ", "```\n"];

/// What a clean root does not have.
const ABSENT: [&str; 4] = ["cargo", "rustc", "nvcc", "nvidia-smi"];

/// Installs the release and uses it.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let release = Release::of(workspace)?;
    ensure!(release.archive().is_file(), "there is no release; `cargo xtask dist` makes it");
    run(Command::new("sha256sum").args(["--check", "--quiet", SUMS]).current_dir(&release.folder))?;
    let wheels: Vec<String> =
        listed(&release.folder)?.into_iter().map(|(name, _)| name).filter(|name| name.ends_with(".whl")).collect();
    let root = Root::fresh(workspace, !wheels.is_empty())?;
    for program in ABSENT {
        let found = root.command(&["sh", "-c", "command -v \"$0\"", program]).output()?.status.success();
        ensure!(!found, "the root has {program}, and is not clean");
    }
    root.take(&release.archive())?;
    let name = format!("/{}.tar.gz", release.name());
    run(&mut root.command(&["tar", "-xzf", &name, "-C", PREFIX, "--strip-components=1"]))?;
    version(&root, &release)?;
    screen(workspace, &root)?;
    run(&mut root.command(&["warplens", "exec", "--gpu", "h200", "--", "true"]))?;
    for wheel in &wheels {
        python(workspace, &root, &release.folder.join(wheel))?;
    }
    println!("the release works in a fresh {SUITE} without network");
    workflow(workspace, &release)
}

fn version(root: &Root, release: &Release) -> Result<()> {
    let said = printed(&mut root.command(&["warplens", "--version"]))?;
    ensure!(said == format!("warplens {}\n", release.version), "the program says it is {said}");
    Ok(())
}

/// The first command of the README, among the files that came with the program, prints the first screen of the README.
fn screen(workspace: &Workspace, root: &Root) -> Result<()> {
    let readme = workspace.read("README.md")?;
    let (_, rest) = readme.split_once(SCREEN[0]).context("the README has no screen")?;
    let (command, rest) = rest.split_once('\n').context("a command is a line")?;
    let (expected, _) = rest.split_once(SCREEN[1]).context("a screen is closed")?;
    let script = format!("cd {PREFIX}/{DOCUMENTS} && {command}");
    let said = printed(&mut root.command(&["sh", "-c", &script]))?;
    ensure!(said == expected, "`{command}` prints something else than in the README:\n{said}");
    println!("$ {command}\n{said}");
    Ok(())
}

/// The wheel with what it depends on, which is loaded before: there is no network.
fn python(workspace: &Workspace, root: &Root, wheel: &Path) -> Result<()> {
    let wheels = workspace.target().join("wheels");
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(python);
    command.args(["-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--python-version", PYTHON, "--dest"]);
    run(command.arg(&wheels).arg(wheel).stdin(Stdio::null()))?;
    root.take(&wheels)?;
    let install = ["pip", "install", "--quiet", "--no-index", "--find-links", "/wheels", "--break-system-packages"];
    run(root.command(&install).arg("warplens"))?;
    run(&mut root.command(&["python3", "-c", "import warplens; print('warplens', warplens.__version__, 'for Python')"]))
}

/// The steps of the workflow for pull requests, in a scratch repository with a change that the gate lets pass and one
/// that it stops.
fn workflow(workspace: &Workspace, release: &Release) -> Result<()> {
    // The site has a folder for each version.
    let site = workspace.target().join("site");
    if site.exists() {
        std::fs::remove_dir_all(&site).context("removing the former site")?;
    }
    copy(&release.folder, &site.join(format!("v{}", release.version)))?;
    let tests = workspace.root.join("tests/workflows");
    let npm = ["ci", "--silent", "--no-audit", "--no-fund"];
    run(Command::new("npm").args(npm).current_dir(&tests).stdin(Stdio::null()))?;
    let mut command = Command::new("node");
    command.arg("run.mjs").arg(workspace.root.join("examples/ci/pull-request.yml")).arg(&workspace.root).arg(&site);
    run(command.current_dir(&tests).stdin(Stdio::null()))
}

/// The root of a system that is changed by nobody else.
struct Root {
    folder: PathBuf,
}

impl Root {
    /// Makes one, or a copy of the one that was made before.
    fn fresh(workspace: &Workspace, with_python: bool) -> Result<Self> {
        let packages: &[&str] = if with_python { &["--include=python3-pip"] } else { &[] };
        let made = workspace.target().join(if with_python { "root-python" } else { "root" });
        if !made.join("etc/debian_version").is_file() {
            let mut command = Command::new("debootstrap");
            command.arg("--variant=minbase").args(packages).arg(SUITE).arg(&made);
            run(command.stdin(Stdio::null()).stdout(Stdio::null())).context("Debian: `apt-get install debootstrap`")?;
        }
        let folder = workspace.target().join("root-used");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).context("removing the root that was used before")?;
        }
        run(Command::new("cp").arg("-a").arg(&made).arg(&folder))?;
        Ok(Self { folder })
    }

    /// Puts a file into its uppermost folder.
    fn take(&self, file: &Path) -> Result<()> {
        copy(file, &self.folder.join(file.file_name().expect("it is a file")))
    }

    /// A command in it, without network and without what is set here.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        // A program asks the process file system where it lies.
        let processes = format!("--mount-proc={}", self.folder.join("proc").display());
        command.args(["--net", "--pid", "--fork", &processes, "chroot"]).arg(&self.folder);
        command.args(["/usr/bin/env", "-i", "LANG=C.UTF-8"]);
        command.arg("PATH=/usr/local/bin:/usr/bin:/bin").args(words).stdin(Stdio::null());
        command
    }
}
