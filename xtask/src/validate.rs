//! `cargo xtask validate`: everything that the project holds as measured is predicted anew. It fails where errors are
//! greater than those of the baseline; with `UPDATE=1` it makes the baseline of them, and the documents that show it.

use anyhow::Result;

use crate::generate;
use crate::workspace::{Workspace, run as run_command};

/// The predictions that errors are not to grow beyond.
const BASELINE: &str = "validation/baseline.csv";

/// The models whose predictions are kept: the one that answers users, and the bounds beside it.
const MODELS: &str = "teg,roofline,speed-of-light";

/// Runs the verb of an optimised program, as it takes minutes.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let is_update = std::env::var_os("UPDATE").is_some();
    let flag = if is_update { "--predictions" } else { "--baseline" };
    let mut arguments = vec![
        "run",
        "--release",
        "--locked",
        "--package",
        "warplens-cli",
        "--",
        "validate",
        "--model",
        MODELS,
        flag,
        BASELINE,
    ];
    // The baseline is there, and it is what is to be written.
    arguments.extend(is_update.then_some("--force"));
    run_command(workspace.cargo(&arguments).current_dir(&workspace.root))?;
    if is_update { generate::write(workspace) } else { Ok(()) }
}
