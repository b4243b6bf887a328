//! Runs nvcc.

use std::path::Path;
use std::process::Command;

use super::Compiled;
use crate::error::Error;
use crate::input::Input;

/// Why there is no PTX.
pub(super) enum Failure {
    /// nvcc needs a C++ compiler of the host and found none; NVRTC does without.
    NoHostCompiler(Error),
    /// Everything else: mostly an error in the source.
    Other(Error),
}

pub(super) fn compile(
    nvcc: &Path,
    input: &Input,
    folder: &Path,
    target: &str,
    macros: &[(String, String)],
) -> Result<Compiled, Failure> {
    let failed = |what: &str, error: std::io::Error| Failure::Other(Error::input(format!("cannot {what}: {error}")));
    let scratch = tempfile::tempdir().map_err(|error| failed("make a temporary folder", error))?;
    let source = match &input.path {
        Some(path) if path.extension().is_some_and(|extension| extension == "cu") => path.clone(),
        _ => {
            let copy = scratch.path().join("input.cu");
            std::fs::write(&copy, &input.bytes).map_err(|error| failed("write a temporary file", error))?;
            copy
        }
    };
    let output = scratch.path().join("output.ptx");
    let run = Command::new(nvcc)
        .args(["-ptx", "-lineinfo", &format!("-arch={target}"), "-I"])
        .arg(folder)
        .args(macros.iter().map(|(name, value)| format!("-D{name}={value}")))
        .arg("-o")
        .arg(&output)
        .arg(&source)
        .output()
        .map_err(|error| failed(&format!("run {}", nvcc.display()), error))?;
    let messages = [run.stdout, run.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    if run.status.success() {
        let ptx = std::fs::read(&output).map_err(|error| failed("read what nvcc wrote", error))?;
        let ptx = String::from_utf8_lossy(&ptx).into_owned();
        return Ok(Compiled { ptx, compiler: nvcc.display().to_string(), messages });
    }
    let error = Error::input(format!("{} could not compile {}", nvcc.display(), input.name));
    let error = messages.lines().fold(error, Error::with_detail);
    let needs_host = ["host compiler", "gcc: not found", "g++: not found", "execvp", "cl.exe"];
    if needs_host.iter().any(|words| messages.contains(words)) {
        return Err(Failure::NoHostCompiler(
            error.with_help("nvcc needs a C++ compiler such as g++; NVRTC does without"),
        ));
    }
    Err(Failure::Other(error))
}
