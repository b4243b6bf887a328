//! The archive: folders as systems have them, so that it can be unpacked into `/usr/local`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::parts::{Built, said};
use super::{Release, copy, licences};
use crate::workspace::{Workspace, run};

/// Where the documentation of the program lies.
pub(super) const DOCUMENTS: &str = "share/doc/warplens";

/// Files and folders of the repository, and where they go.
const FILES: [(&str, &str); 6] = [
    ("README.md", "share/doc/warplens"),
    ("CHANGELOG.md", "share/doc/warplens"),
    ("SECURITY.md", "share/doc/warplens"),
    ("LICENSE-APACHE", "share/doc/warplens"),
    ("LICENSE-MIT", "share/doc/warplens"),
    ("docs/schema", "share/warplens"),
];

/// Shells, and where each looks for its completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/warplens"),
    ("zsh", "share/zsh/site-functions/_warplens"),
    ("fish", "share/fish/vendor_completions.d/warplens.fish"),
];

/// Lays the files out and packs them.
pub(super) fn make(
    workspace: &Workspace,
    release: &Release,
    built: &Built,
    pages: &Path,
    bills: &[PathBuf],
) -> Result<()> {
    let staged = workspace.target().join("staged");
    if staged.exists() {
        std::fs::remove_dir_all(&staged).context("removing what was laid out before")?;
    }
    let root = staged.join(release.name());
    copy(&built.program, &root.join("bin/warplens"))?;
    for library in &built.libraries {
        copy(library, &root.join("lib/warplens").join(library.file_name().expect("it is a file")))?;
    }
    for (file, folder) in FILES {
        let name = Path::new(file).file_name().expect("it has a name");
        copy(&workspace.root.join(file), &root.join(folder).join(name))?;
    }
    for example in workspace.files()?.iter().filter(|path| path.starts_with("examples/")) {
        copy(&workspace.root.join(example), &root.join(DOCUMENTS).join(example))?;
    }
    copy(pages, &root.join(DOCUMENTS).join("book"))?;
    for bill in bills {
        copy(bill, &root.join("share/warplens/sbom").join(bill.file_name().expect("it is a file")))?;
    }
    write(&root.join("share/man/man1/warplens.1"), &said(built, &["man"])?)?;
    for (shell, place) in COMPLETIONS {
        write(&root.join(place), &said(built, &["completions", shell])?)?;
    }
    write(&root.join(DOCUMENTS).join("THIRD-PARTY"), &licences::of_others(workspace)?)?;
    pack(&staged, &release.name(), &release.archive())
}

/// Packs a folder; the same files make the same archive, whoever packs them and when.
pub(super) fn pack(parent: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut command = Command::new("tar");
    command.args(["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+rw,go=rX"]);
    command.args(["--use-compress-program=gzip -9n", "-cf"]).arg(archive).arg("-C").arg(parent).arg(name);
    run(command.stdin(Stdio::null()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::create_dir_all(path.parent().expect("a file lies in a folder"))?;
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}
