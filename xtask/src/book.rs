//! `cargo xtask book`: the manual as a book, in `book/` of the target folder, with every link followed.
//!
//! `docs/SUMMARY.md` lists the chapters, in `docs/` and outside. In the book they lie as in the repository, so that links
//! between them stay as they are; links to anything else lead to the repository's site. mdBook is built by `.ci/tool`
//! when it is missing. Nothing of the network is looked at.

mod assemble;
mod links;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::workspace::{Workspace, run};

pub(crate) use assemble::{SUMMARY, chapters};

/// What mdBook is told about the book, and what it looks like.
const SETTINGS: [&str; 2] = ["docs/book.toml", "docs/book.css"];

/// Makes the book anew, follows its links and returns its folder.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target().join("book");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).context("removing the former book")?;
    }
    for (path, content) in assemble::files(workspace)? {
        write(&folder.join("src").join(path), &content)?;
    }
    for settings in SETTINGS {
        let name = Path::new(settings).file_name().expect("it is a file");
        write(&folder.join(name), workspace.read(settings)?.as_bytes())?;
    }
    let program = workspace.tool("mdbook")?;
    let mut command = Command::new(program);
    run(command.arg("build").arg(&folder).env("MDBOOK_LOG", "warn").stdin(Stdio::null()))?;
    let pages = folder.join("html");
    let found = links::check(&pages)?;
    ensure!(found.broken.is_empty(), "{}\n{} broken links", found.broken.join("\n"), found.broken.len());
    println!("{}: {} pages, {} links lead somewhere", pages.display(), found.n_pages, found.n_links);
    Ok(pages)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    std::fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
    std::fs::write(path, content).with_context(|| format!("writing {}", path.display()))
}
