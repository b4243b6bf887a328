//! C programs that call the shared library, as programs of users do.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The shared library that cargo built beside this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    let folder = own.parent().expect("it lies in a folder");
    let library = folder.join("libwarplens_cudart13.so");
    assert!(library.is_file(), "{} is built with its package", library.display());
    library
}

/// Compiles a program of `tests/programs` and runs it as if it were on a GPU.
fn run(name: &str, (gpu, arguments): (&str, &[PathBuf]), folder: &Path) -> Output {
    let library = library();
    for name in ["libcudart.so.13", "libcuda.so.1"] {
        std::os::unix::fs::symlink(&library, folder.join(name)).expect("the folder is new");
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c");
    let program = folder.join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu11", "-Wall", "-o"]).arg(&program).arg(&source);
    compiler.args(["libcudart.so.13", "libcuda.so.1"].map(|name| folder.join(name)));
    let compiled = compiler.output().expect("there is a C compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut run = Command::new(&program);
    run.args(arguments)
        .env("LD_LIBRARY_PATH", folder)
        .env("WARPLENS_EXEC_GPU", gpu)
        .env("WARPLENS_EXEC_TRAIL", folder.join("trail"));
    run.output().expect("it was just compiled")
}

/// Output, messages, and lines about what it did, on a GPU of compute capability 8.0.
fn outcome(name: &str) -> (String, String, String, Option<i32>) {
    outcome_on(name, ("a100-80", &[]))
}

fn outcome_on(name: &str, run_on: (&str, &[PathBuf])) -> (String, String, String, Option<i32>) {
    let folder = tempfile::tempdir().expect("there is a place for files");
    let Output { status, stdout, stderr } = run(name, run_on, folder.path());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let trail = std::fs::read_to_string(folder.path().join("trail")).unwrap_or_default();
    (text(&stdout), text(&stderr), trail, status.code())
}

#[test]
fn the_driver_serves_a_c_program() {
    let (stdout, stderr, trail, code) = outcome("driver");
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
    // What is not supported is named once.
    assert_eq!(stderr.matches("cuDeviceGetNvSciSyncAttributes is not supported").count(), 1, "{stderr}");
    assert_eq!(stderr.matches("cuGetExportTable is not supported").count(), 1, "{stderr}");
    assert_eq!(trail.matches("\"case\":{").count(), 2, "{trail}");
    assert_eq!(trail.matches("\"launch\":{").count(), 2, "{trail}");
}

#[test]
fn the_driver_links_and_registers() {
    let (stdout, stderr, _, code) = outcome("link");
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
}

#[test]
fn the_runtime_serves_what_compilers_make_of_a_program() {
    let (stdout, stderr, _, code) = outcome("runtime");
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
}

#[test]
fn graphs_are_captured_made_and_performed() {
    let (stdout, stderr, trail, code) = outcome("graphs");
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
    // Each launch of a graph that is performed is written down.
    assert_eq!(trail.matches("\"launch\":{").count(), 16, "{trail}");
}

#[test]
fn textures_and_surfaces_are_made_of_arrays_and_memory() {
    let (stdout, stderr, _, code) = outcome("textures");
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
}

#[test]
fn device_code_in_parts_is_linked() {
    let (stdout, stderr, _, code) = outcome("linked");
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
    assert!(stderr.contains("which module 0 uses, is defined nowhere"), "{stderr}");
}

#[test]
fn machine_code_runs_where_there_is_no_ptx() {
    let cubins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/vector_add/cubin");
    let cubins = ["sm_90.cubin", "sm_75.cubin"].map(|name| cubins.join(name));
    let (stdout, stderr, trail, code) = outcome_on("machine_code", ("h200", &cubins));
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
    assert!(stderr.contains("the machine code is for sm_75, and h200 has sm_90"), "{stderr}");
    assert_eq!(trail.matches("\"launch\":{").count(), 2, "{trail}");
}

#[test]
fn an_illegal_access_is_named_and_stays() {
    let (stdout, stderr, trail, code) = outcome("illegal");
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(3)), "{stderr}");
    for words in [
        "kernel `scale`, PTX line",
        "out-of-bounds global load of 4 bytes",
        "block (1,0,0) thread (122,0,0)",
        "after the end of `cudaMalloc #1`, which has 1000 bytes",
    ] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    assert!(trail.contains("\"failure\""), "{trail}");
}

#[test]
fn functions_have_the_version_that_programs_ask_for() {
    let listed = Command::new("readelf").args(["--wide", "--dyn-syms"]).arg(library()).output();
    let listed = String::from_utf8_lossy(&listed.expect("binutils link the library").stdout).into_owned();
    for name in ["cudaMalloc@@libcudart.so.13", "cuInit@@libcudart.so.13", "__cudaRegisterFatBinary@@libcudart.so.13"] {
        assert!(listed.contains(name), "{name}");
    }
}
