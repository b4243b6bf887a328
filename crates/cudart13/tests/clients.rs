//! Clients of the driver API that others wrote, each with a small program of `tests/clients`.
//!
//! A client is a Python package. One that is not there is skipped, with a message: `WARPLENS_CLIENTS_PYTHON` names the
//! Python that has them (docs/clients.md).

#![cfg(target_os = "linux")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The Python that has the clients.
fn python() -> String {
    std::env::var("WARPLENS_CLIENTS_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// The shared library that cargo built beside this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    let library = own.parent().expect("it lies in a folder").join("libwarplens_cudart13.so");
    assert!(library.is_file(), "{} is built with its package", library.display());
    library
}

/// What a compiler of the client's is asked for.
#[derive(Clone, Copy)]
enum Code {
    /// PTX, by a script in place of ptxas.
    Ptx,
    /// What it makes.
    Machine,
}

/// Runs a program if its packages are there: it ends with `passed`.
fn runs(program: &str, packages: &[&str], code: Code) {
    let imports = packages.iter().map(|package| format!("import {package}")).collect::<Vec<_>>().join("\n");
    let found = Command::new(python()).args(["-c", &imports]).output();
    if !found.is_ok_and(|found| found.status.success()) {
        // Nobody is left to tell where standard error is closed.
        let _ = writeln!(std::io::stderr(), "skipped: {} has not all of {}", python(), packages.join(", "));
        return;
    }
    let folder = tempfile::tempdir().expect("there is a place for files");
    for name in ["libcudart.so.13", "libcuda.so.1"] {
        std::os::unix::fs::symlink(library(), folder.path().join(name)).expect("the folder is new");
    }
    let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let mut run = Command::new(python());
    run.arg(clients.join(program)).current_dir(folder.path());
    run.env("LD_LIBRARY_PATH", folder.path()).env("WARPLENS_EXEC_GPU", "a100-80");
    // What Triton needs, and keeps: nothing of it is there from an earlier run.
    run.env("TRITON_LIBCUDA_PATH", folder.path()).env("TRITON_CACHE_DIR", folder.path().join("triton"));
    match code {
        Code::Ptx => run.env("TRITON_PTXAS_PATH", clients.join("ptxas")),
        Code::Machine => run.env_remove("TRITON_PTXAS_PATH"),
    };
    let output = run.output().expect("it ran before");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{program}: {}", text(&output.stderr));
    assert_eq!(text(&output.stdout).lines().last(), Some("passed"), "{}", text(&output.stderr));
}

#[test]
fn cuda_python_is_served() {
    runs("cuda_python.py", &["numpy", "cuda.bindings.driver", "cuda.core"], Code::Machine);
}

#[test]
fn numba_is_served() {
    runs("numba_kernels.py", &["numpy", "numba_cuda"], Code::Machine);
}

#[test]
fn pycuda_is_served() {
    runs("pycuda_module.py", &["numpy", "pycuda"], Code::Machine);
}

#[test]
fn tinygrad_is_served() {
    runs("tinygrad_tensors.py", &["numpy", "tinygrad"], Code::Machine);
}

#[test]
fn triton_is_served() {
    runs("triton_kernels.py", &["numpy", "triton"], Code::Machine);
}

#[test]
fn triton_is_served_with_ptx() {
    runs("triton_kernels.py", &["numpy", "triton"], Code::Ptx);
}

#[test]
fn what_pycuda_has_nvcc_compile_is_served() {
    if !Command::new("nvcc").arg("--version").output().is_ok_and(|output| output.status.success()) {
        let _ = writeln!(std::io::stderr(), "skipped: there is no nvcc in PATH");
        return;
    }
    runs("pycuda_source.py", &["numpy", "pycuda"], Code::Machine);
}
