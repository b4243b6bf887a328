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
fn run(name: &str, (gpu, arguments): (&str, &[PathBuf]), checks: &str, folder: &Path) -> Output {
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
        .env("WARPLENS_EXEC_CHECK", checks)
        .env("WARPLENS_EXEC_TRAIL", folder.join("trail"));
    run.output().expect("it was just compiled")
}

/// Output, messages, and lines about what it did, on a GPU of compute capability 8.0.
fn outcome(name: &str) -> (String, String, String, Option<i32>) {
    outcome_on(name, ("a100-80", &[]))
}

fn outcome_on(name: &str, run_on: (&str, &[PathBuf])) -> (String, String, String, Option<i32>) {
    let folder = tempfile::tempdir().expect("there is a place for files");
    let Output { status, stdout, stderr } = run(name, run_on, "", folder.path());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let trail = std::fs::read_to_string(folder.path().join("trail")).unwrap_or_default();
    (text(&stdout), text(&stderr), trail, status.code())
}

/// Lines of one kind about what a program did.
fn entries(trail: &str, kind: &str) -> Vec<serde_json::Value> {
    let lines = trail.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("it is JSON"));
    lines.filter_map(|line| line.get(kind).cloned()).collect()
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
fn the_runtime_makes_its_context_current() {
    for call in ["set", "free", "init", "wait", "info", "async", "stream", "event"] {
        let (stdout, stderr, _, code) = outcome_on("primary", ("a100-80", &[call.into()]));
        assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{call}: {stderr}");
    }
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
fn a_program_that_forks_before_its_first_call_has_a_device_in_both_processes() {
    let (stdout, stderr, trail, code) = outcome("forked");
    assert_eq!((stdout.as_str(), stderr.as_str(), code), ("passed\n", "", Some(0)));
    // Two launches of the child and three of its parent, as two processes.
    let mut processes: Vec<_> = entries(&trail, "launch").iter().map(|launch| launch["process"].clone()).collect();
    assert_eq!(processes.len(), 5, "{trail}");
    processes.sort_by_key(serde_json::Value::as_u64);
    processes.dedup();
    assert_eq!(processes.len(), 2, "{trail}");
}

#[test]
fn clusters_are_those_of_the_kernel_or_of_the_launch_and_impossible_ones_are_refused() {
    let (stdout, stderr, trail, code) = outcome_on("clusters", ("h200", &[]));
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
    assert!(!stderr.contains("a bug of warplens"), "{stderr}");
    for words in [
        "kernel `free` cannot be launched: impossible cluster 3 x 1 x 1: it does not divide the grid 16 x 1 x 1",
        "impossible cluster 0 x 1 x 1: its x extent is 0",
        "impossible cluster 16 x 1 x 1: it has 16 blocks, and not every GPU has room for more than 8",
        "impossible cluster 3 x 1 x 1: kernel `pair` requires 2 x 1 x 1",
    ] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    assert_eq!(entries(&trail, "launch").len(), 7, "{trail}");
}

#[test]
fn boxes_of_tensors_come_as_their_map_says_and_impossible_maps_are_refused() {
    let (stdout, stderr, _, code) = outcome_on("tensor_map", ("h200", &[]));
    assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{stderr}");
    for words in [
        "cuTensorMapEncodeTiled of type 11 is not supported",
        "cuTensorMapEncodeTiled: a row of the box has 16 bytes, and only rows of 64 are swizzled here",
        "cuTensorMapEncodeTiled: a tensor begins at a multiple of 16 bytes, and so do its rows",
    ] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
}

#[test]
fn events_have_the_times_of_the_time_line() {
    let (stdout, stderr, trail, code) = outcome("time_line");
    assert_eq!(code, Some(0), "{stderr}");
    let ends: Vec<f64> = trail
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|line| line.get("launch").or_else(|| line.get("copy"))?["place"]["end"].as_f64())
        .collect();
    // What was launched or copied between one event and the next; the last of a graph is what its branches join in.
    let works = [1, 1, 1, 1, 3, 1, 1, 3];
    assert_eq!(ends.len(), works.iter().sum::<usize>(), "{trail}");
    let mut rest = ends.as_slice();
    let marks = works.map(|works| {
        let (these, others) = rest.split_at(works);
        rest = others;
        these.iter().fold(0.0, |last: f64, &end| last.max(end))
    });
    let read: Vec<f64> = stdout.lines().map(|line| line.parse().expect("milliseconds")).collect();
    assert_eq!(read.len(), marks.len() - 1);
    for (read, mark) in read.iter().zip(&marks[1..]) {
        let expected = (mark - marks[0]) / 1e6;
        assert!((read / expected - 1.0).abs() < 1e-6, "{read} ms, and {expected} ms on the time line");
    }
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

/// What is said of a program with a mistake, and lines about it, under checks.
fn mistake(name: &str, checks: &str) -> (String, String) {
    let folder = tempfile::tempdir().expect("there is a place for files");
    let Output { status, stderr, .. } = run("mistakes", ("a100-80", &[name.into()]), checks, folder.path());
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    assert!(status.success(), "{name}: {stderr}");
    (stderr, std::fs::read_to_string(folder.path().join("trail")).expect("it called CUDA"))
}

#[test]
fn odd_programs_end_and_say_why() {
    for (name, launches, said) in
        [("threads", 400, ""), ("fork", 0, "has no device: fork before"), ("dlopen", 0, ""), ("per-thread", 1, "")]
    {
        let (stdout, stderr, trail, code) = outcome_on("odd", ("a100-80", &[name.into()]));
        assert_eq!((stdout.as_str(), code), ("passed\n", Some(0)), "{name}: {stderr}");
        assert_eq!(stderr.lines().count(), usize::from(!said.is_empty()), "{name}: {stderr}");
        assert!(stderr.contains(said), "{name}: {stderr}");
        assert_eq!(trail.matches("\"launch\":{").count(), launches, "{name}");
    }
    let (_, _, trail, code) = outcome_on("odd", ("a100-80", &["middle".into()]));
    assert_eq!(
        (code, trail.matches("\"launch\":{").count()),
        (None, 400),
        "nothing is lost where a program is aborted"
    );
}

const CHECKS: &str = "races,uninitialised,leaks";

#[test]
fn races_and_reads_of_what_nothing_wrote_are_found() {
    let cases = [
        (
            "race",
            "races in kernel `turn`, PTX line 16: thread (32,0,0) of block (0,0,0) reads byte 0 of shared memory, which \
             warp 0 writes at PTX line 11, with no barrier between them",
            2,
        ),
        (
            "blocks",
            "races in kernel `meet`, PTX line 29: block 1 (PTX line 29) and block 0 touch byte 0 of `cudaMalloc #2`",
            1,
        ),
        (
            "uninitialised",
            "uninitialised in kernel `turn`, PTX line 9: thread (64,0,0) of block (0,0,0) reads 4 bytes, of which byte 256 \
             of `cudaMalloc #1` was never written",
            1,
        ),
    ];
    for (name, words, count) in cases {
        let (stderr, trail) = mistake(name, CHECKS);
        assert!(stderr.contains(words), "{name}: {stderr}");
        assert_eq!(stderr.lines().count(), count, "{name}: {stderr}");
        assert_eq!(trail.matches("\"finding\":{").count(), count, "{name}: {trail}");
        let (stderr, trail) = mistake(name, "leaks");
        assert_eq!((stderr.as_str(), trail.contains("\"finding\"")), ("", false), "{name}");
    }
    let (stderr, trail) = mistake("again", CHECKS);
    assert_eq!(stderr.lines().count(), 2, "a line is said once: {stderr}");
    assert_eq!(trail.matches("\"finding\":{").count(), 6, "{trail}");
}

#[test]
fn memory_that_is_not_freed_is_written_down() {
    for (name, is_left) in [("clean", None), ("leak", Some("cudaMalloc #1")), ("reset", Some("cudaMalloc #2"))] {
        let (stderr, trail) = mistake(name, CHECKS);
        assert_eq!(stderr, "", "{name}");
        let freed: Vec<_> = entries(&trail, "freed").iter().map(|line| line["address"].clone()).collect();
        let left: Vec<_> =
            entries(&trail, "allocated").into_iter().filter(|line| !freed.contains(&line["address"])).collect();
        let names: Vec<_> = left.iter().filter_map(|line| line["name"].as_str()).collect();
        assert_eq!(names, is_left.as_slice(), "{name}: {trail}");
        assert_eq!(entries(&trail, "allocated").len(), 4, "{trail}");
    }
}

#[test]
fn accesses_of_what_was_freed_name_it() {
    let (stderr, _) = mistake("freed", "");
    assert!(stderr.contains("`cudaMalloc #1`") && stderr.contains("freed"), "{stderr}");
    let (stderr, _) = mistake("bounds", "");
    assert!(stderr.contains("0 bytes after the end of `cudaMalloc #1`, which has 512 bytes"), "{stderr}");
}
