//! The crates as they would be published: each with all files that it needs, and with versions for what it uses.

use anyhow::Result;

use crate::workspace::{Workspace, run};

/// Packs every crate that may be published. That each compiles on its own is left out: it would take as long as all
/// that comes after it.
pub(super) fn check(workspace: &Workspace) -> Result<()> {
    let mut command = workspace.cargo(&["package", "--locked", "--allow-dirty", "--no-verify", "--quiet"]);
    let mut n_packages = 0;
    // An empty list of registries says that a crate is not published.
    for package in
        workspace.packages().into_iter().filter(|package| package.publish.as_ref().is_none_or(|to| !to.is_empty()))
    {
        command.args(["--package", package.name.as_str()]);
        n_packages += 1;
    }
    run(&mut command)?;
    println!("{n_packages} crates can be packed");
    Ok(())
}
