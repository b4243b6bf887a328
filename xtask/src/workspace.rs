//! The workspace on disk: its root, its files, its crates and the commands that run in it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::{Metadata, MetadataCommand, Package};

/// A checkout of the project.
pub(crate) struct Workspace {
    /// The folder that holds the workspace's `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Crates and their dependencies, without those from other sources.
    pub(crate) metadata: Metadata,
}

impl Workspace {
    /// Finds the workspace from the folder of the running package, which cargo hands in, or from the current one.
    ///
    /// `--locked` makes a stale `Cargo.lock` an error.
    pub(crate) fn find() -> Result<Self> {
        let start = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
        let metadata = MetadataCommand::new()
            .current_dir(start)
            .no_deps()
            .other_options(["--locked".to_owned()])
            .exec()
            .context("reading the workspace (`cargo metadata --locked`)")?;
        Ok(Self { root: metadata.workspace_root.clone().into_std_path_buf(), metadata })
    }

    /// The crates together with all that they depend on. `options` are further ones of `cargo metadata`.
    pub(crate) fn resolved(&self, options: &[&str]) -> Result<Metadata> {
        let options = std::iter::once("--locked").chain(options.iter().copied()).map(str::to_owned);
        MetadataCommand::new()
            .current_dir(&self.root)
            .other_options(options.collect::<Vec<_>>())
            .exec()
            .context("reading the workspace with all that it depends on")
    }

    /// The crates of the workspace, by name.
    pub(crate) fn packages(&self) -> Vec<&Package> {
        let mut packages = self.metadata.workspace_packages();
        packages.sort_by(|left, right| left.name.cmp(&right.name));
        packages
    }

    /// True of a crate that is handed out: an empty list of registries says that it is not.
    pub(crate) fn publishes(package: &Package) -> bool {
        package.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }

    /// Paths of the files that git tracks or would track, relative to the root, with `/` between their parts.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"])
            .current_dir(&self.root)
            .stdin(Stdio::null())
            .output()
            .context("running git")?;
        ensure!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
        let listing = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
        let present = |path: &&str| !path.is_empty() && self.root.join(path).is_file();
        let mut files: Vec<String> = listing.split('\0').filter(present).map(str::to_owned).collect();
        files.sort();
        Ok(files)
    }

    /// Reads a file, its path relative to the root.
    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Result<String> {
        let path = path.as_ref();
        std::fs::read_to_string(self.root.join(path)).with_context(|| format!("reading {}", path.display()))
    }

    /// The folder for all that is built.
    pub(crate) fn target(&self) -> &Path {
        self.metadata.target_directory.as_std_path()
    }

    /// The address of the repository, as the manifests state it.
    pub(crate) fn repository(&self) -> Result<&str> {
        let stated = self.metadata.packages.iter().find_map(|package| package.repository.as_deref());
        stated.context("no manifest states the repository")
    }

    /// A program that `.ci/tool` builds, which is done when it is missing.
    pub(crate) fn tool(&self, name: &str) -> Result<PathBuf> {
        let program = self.target().join("tools/bin").join(name);
        if !program.is_file() {
            let mut command = Command::new(self.root.join(".ci/tool"));
            command.arg(name).env("CARGO_TARGET_DIR", self.target()).stdin(Stdio::null());
            run(&mut command)?;
        }
        Ok(program)
    }

    /// A cargo command at the root, of the toolchain that runs this program.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command
    }
}

/// Runs a command whose output goes to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = display(command);
    let status = command.status().with_context(|| format!("running `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// The command as one would type it.
pub(crate) fn display(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_stem().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
