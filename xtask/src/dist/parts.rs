//! What a release is made of: the program with its libraries, the bills of materials, the wheel.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::{Release, host, printed};
use crate::workspace::{Workspace, run};

/// Packages that are given away as files: the command, and the libraries that `warplens exec` puts before a program.
pub(crate) const PACKAGES: [&str; 4] = ["warplens-cli", "warplens-cudart12", "warplens-cudart13", "warplens-clock"];

/// The files that cargo makes of them.
const PROGRAM: &str = "warplens";
const LIBRARIES: [&str; 3] = ["libwarplens_cudart12.so", "libwarplens_cudart13.so", "libwarplens_clock.so"];

/// What was built.
pub(super) struct Built {
    pub(super) program: PathBuf,
    pub(super) libraries: Vec<PathBuf>,
}

/// Builds the program and its libraries without symbols.
pub(super) fn build(workspace: &Workspace) -> Result<Built> {
    let mut command = workspace.cargo(&["build", "--locked", "--profile", "dist"]);
    run(command.args(PACKAGES.iter().flat_map(|package| ["--package", package])))?;
    let folder = workspace.target().join("dist");
    let built = Built {
        program: folder.join(PROGRAM),
        libraries: LIBRARIES.iter().map(|library| folder.join(library)).collect(),
    };
    match std::iter::once(&built.program).chain(&built.libraries).find(|path| !path.is_file()) {
        Some(missing) => bail!("cargo has not made {}", missing.display()),
        None => Ok(built),
    }
}

/// What each of the packages consists of, as CycloneDX has it: a file for each.
pub(super) fn bills(workspace: &Workspace, release: &Release) -> Result<Vec<PathBuf>> {
    // It writes beside every manifest, and is told a name by which that can be found.
    const NAME: &str = "bill-of-materials";
    let written = |folder: &Path| folder.join(format!("{NAME}.json"));
    let mut command = Command::new(workspace.tool("cargo-cyclonedx")?);
    command.args(["cyclonedx", "--quiet", "--format", "json", "--spec-version", "1.5"]);
    command.args(["--target", &host()?, "--override-filename", NAME]);
    run(command.current_dir(&workspace.root).stdin(Stdio::null()))?;
    let mut bills = Vec::new();
    for package in workspace.packages() {
        let folder = package.manifest_path.parent().context("a manifest lies in a folder")?.as_std_path();
        let bill = written(folder);
        if PACKAGES.contains(&package.name.as_str()) {
            let to = release.folder.join(format!("{}-{}-{}.cdx.json", package.name, release.version, release.target));
            let text = std::fs::read_to_string(&bill);
            let text = text.with_context(|| format!("the bill of materials of {}", package.name))?;
            // Where it was built is nobody's business.
            let root = format!("file://{}", workspace.root.display());
            std::fs::write(&to, text.replace(&root, "file://"))?;
            bills.push(to);
        }
        if bill.is_file() {
            std::fs::remove_file(&bill).with_context(|| format!("removing {}", bill.display()))?;
        }
    }
    Ok(bills)
}

/// The Python package, where there is one.
pub(super) fn wheel(workspace: &Workspace, release: &Release) -> Result<()> {
    let project = workspace.root.join("python/pyproject.toml");
    if !project.is_file() {
        println!("there is no Python package: no wheel");
        return Ok(());
    }
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let mut command = Command::new(&python);
    command.args(["-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir"]).arg(&release.folder);
    let folder = project.parent().expect("it lies in a folder");
    run(command.arg(folder).stdin(Stdio::null())).context("the Python package; PYTHON names another interpreter")
}

/// What the program prints.
pub(super) fn said(built: &Built, words: &[&str]) -> Result<String> {
    printed(Command::new(&built.program).args(words).env_clear())
}
