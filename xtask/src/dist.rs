//! `cargo xtask dist`: one folder with everything that a release consists of, `released/` of the target folder.
//!
//! The program with its libraries, manual page, completions and book in one archive, the Python wheel, the book, the list
//! of what all of that is made of, and the sums. `cargo xtask dist --check` installs from the folder into a clean root.

mod archive;
mod check;
mod licences;
mod packages;
mod parts;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::book;
use crate::workspace::{Workspace, run};

pub(crate) use check::check;
pub(crate) use parts::PACKAGES;

/// The list of sums.
const SUMS: &str = "SHA256SUMS";

/// A release: its names and where it is made.
struct Release {
    version: String,
    /// The system that it is for, as compilers call it.
    target: String,
    folder: PathBuf,
}

impl Release {
    fn of(workspace: &Workspace) -> Result<Self> {
        let program = workspace.packages().into_iter().find(|package| *package.name == "warplens-cli");
        let version = program.context("the workspace has no command")?.version.to_string();
        let folder = workspace.target().join("released");
        Ok(Self { version, target: host()?, folder })
    }

    /// The name of the archive without its ending, which is also that of the folder in it.
    fn name(&self) -> String {
        format!("warplens-{}-{}", self.version, self.target)
    }

    fn archive(&self) -> PathBuf {
        self.folder.join(format!("{}.tar.gz", self.name()))
    }
}

/// Makes the folder anew.
pub(crate) fn make(workspace: &Workspace) -> Result<()> {
    let release = Release::of(workspace)?;
    if release.folder.exists() {
        std::fs::remove_dir_all(&release.folder).context("removing the former release")?;
    }
    std::fs::create_dir_all(&release.folder).context("making the folder of the release")?;
    packages::check(workspace)?;
    let built = parts::build(workspace)?;
    let pages = book::build(workspace)?;
    let bills = parts::bills(workspace, &release)?;
    archive::make(workspace, &release, &built, &pages, &bills)?;
    archive::pack(pages.parent().expect("the pages lie in a folder"), "html", &book_archive(&release))?;
    parts::wheel(workspace, &release)?;
    write_sums(&release.folder)?;
    for (name, bytes) in listed(&release.folder)? {
        println!("{:>9.2} MB  {name}", bytes as f64 / 1e6);
    }
    println!("{}", release.folder.display());
    Ok(())
}

fn book_archive(release: &Release) -> PathBuf {
    release.folder.join(format!("warplens-{}-book.tar.gz", release.version))
}

/// Names and sizes of the files in a folder.
fn listed(folder: &Path) -> Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))? {
        let entry = entry?;
        files.push((entry.file_name().to_string_lossy().into_owned(), entry.metadata()?.len()));
    }
    files.sort();
    Ok(files)
}

fn write_sums(folder: &Path) -> Result<()> {
    let names = listed(folder)?.into_iter().map(|(name, _)| name);
    let mut command = Command::new("sha256sum");
    let sums = printed(command.args(names).current_dir(folder))?;
    std::fs::write(folder.join(SUMS), sums).context("writing the sums")
}

/// The system that the compiler makes programs for unless it is told otherwise.
fn host() -> Result<String> {
    let about = printed(Command::new("rustc").arg("-vV"))?;
    let line = about.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(line.context("rustc does not say what it compiles for")?.to_owned())
}

/// What a command prints.
fn printed(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("running {:?}", command.get_program()))?;
    ensure!(output.status.success(), "{:?} failed ({})", command.get_program(), output.status);
    String::from_utf8(output.stdout).context("what it prints is no text")
}

/// Copies a file or a folder.
fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to.parent().expect("a file lies in a folder"))?;
    run(Command::new("cp").arg("-R").arg(from).arg(to).stdin(Stdio::null()))
}
