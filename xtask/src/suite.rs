//! `cargo xtask suite`: kernels that nvcc, NVRTC, Triton and numba make are executed and held against NumPy.
//!
//! Needs Python and the packages of `validation/suite/requirements.txt`; `PYTHON` names another interpreter, such as
//! that of a virtual environment. Words are handed to `validation/suite/run.py`.

use std::process::Command;

use anyhow::Result;

use crate::workspace::{Workspace, run};

/// Builds the program and runs the suite with it.
pub(crate) fn check(workspace: &Workspace, words: &[&str]) -> Result<()> {
    run(workspace.cargo(&["build", "--release", "--locked", "--bin", "warplens"]).current_dir(&workspace.root))?;
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let program = workspace.metadata.target_directory.join("release/warplens");
    let mut command = Command::new(python);
    command.arg("validation/suite/run.py").arg("--warplens").arg(program).args(words);
    run(command.current_dir(&workspace.root))
}
