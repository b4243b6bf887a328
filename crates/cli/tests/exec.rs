//! `warplens exec` with programs that stand for those which load the library: they write what it would write.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

const CASE: &str = r#"{"case":{"process":1,"case":0,"kernel":"_Z3addPf","grid":[4,1,1],"block":[256,1,1],"dynamic_shared":0,"registers":8,"answers":[{"gpu":"h200","seconds":2e-6,"model":"teg","bound_by":"issue slots","refused":null}]}}"#;
const LAUNCH: &str = r#"{"launch":{"process":1,"case":0,"scale":1.0,"executed":"whole","place":{"stream":0,"begin":1000.0,"end":3000.0}}}"#;
const START: &str = r#"{"start":{"process":1,"gpus":["h200"],"assumptions":["copies are alike"]}}"#;
const COPY: &str = r#"{"copy":{"process":1,"kind":"to_device","bytes":4096,"seconds":[1e-6],"place":{"stream":0,"begin":0.0,"end":1000.0}}}"#;

/// Runs a shell script under the verb, in a folder with libraries that nothing loads.
fn exec(folder: &Path, script: &str, flags: &[&str]) -> Output {
    std::fs::write(folder.join("libwarplens_cudart13.so"), "").expect("the folder is new");
    let program = folder.join("program");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).expect("the folder is new");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it was just written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_warplens"));
    command.arg("exec").args(flags).arg("--").arg(&program).arg("--of-program");
    command.env("WARPLENS_LIBRARIES", folder).output().expect("the program can be started")
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("echo '{line}' >> \"$WARPLENS_EXEC_TRAIL\"\n")).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn output_and_exit_code_are_the_programs_and_the_report_goes_to_stderr() {
    let folder = tempfile::tempdir().unwrap();
    let script = lines(&[START, COPY, CASE, LAUNCH, LAUNCH, LAUNCH]) + "echo \"out $1\"; exit 7";
    let Output { status, stdout, stderr } = exec(folder.path(), &script, &[]);
    assert_eq!((status.code(), text(&stdout).as_str()), (Some(7), "out --of-program\n"));
    let report = text(&stderr);
    for words in ["add", "4 x 256", "6.00 us", "issue slots", "host to device"] {
        assert!(report.contains(words), "{words}: {report}");
    }
}

#[test]
fn an_interrupted_program_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    // The command is told to end while the program waits, and tells it.
    let script = lines(&[START, CASE, LAUNCH]) + "kill -TERM $PPID; sleep 20";
    let Output { status, stderr, .. } = exec(folder.path(), &script, &[]);
    assert_eq!(status.code(), Some(128 + 15));
    assert!(text(&stderr).contains("2.00 us"), "{}", text(&stderr));
}

#[test]
fn what_was_executed_in_part_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let part = LAUNCH.replace("whole", "part");
    let none = LAUNCH.replace("whole", "nothing");
    let script = lines(&[START, CASE, &part, &none, &none]) + "test \"$WARPLENS_EXEC_SAMPLE\" = 2000000000";
    let Output { status, stderr, .. } = exec(folder.path(), &script, &["--sample=2G"]);
    let report = text(&stderr);
    assert_eq!(status.code(), Some(0), "{report}");
    assert!(report.contains("1 launches were executed in part and 2 not at all"), "{report}");
    assert!(report.contains("what the program computes is wrong"), "{report}");
    let refused = exec(folder.path(), "", &["--sample=some"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn the_time_line_is_a_trace_or_a_picture() {
    let folder = tempfile::tempdir().unwrap();
    let script = lines(&[START, COPY, CASE, LAUNCH]);
    let [trace, picture] = ["trace.json", "trace.svg"].map(|name| folder.path().join(name));
    for file in [&trace, &picture] {
        let run = exec(folder.path(), &script, &["--trace", file.to_str().unwrap()]);
        assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
        let spent = "3.00 us from the first work to the end of the last; kernels run 67 % of it";
        assert!(text(&run.stderr).contains(spent), "{}", text(&run.stderr));
    }
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    assert_eq!(trace["otherData"]["schema"], "warplens.timeline/1");
    let events = trace["traceEvents"].as_array().unwrap();
    let slices: Vec<_> = events.iter().filter(|event| event["ph"] == "X").collect();
    assert_eq!(slices.len(), 2);
    assert_eq!((&slices[1]["name"], &slices[1]["ts"], &slices[1]["dur"]), (&"add".into(), &1.0.into(), &2.0.into()));
    let picture = std::fs::read_to_string(picture).unwrap();
    assert!(picture.starts_with("<svg") && picture.contains("default stream"), "{picture}");
}

#[test]
fn a_crash_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let script = lines(&[START, CASE, LAUNCH]) + "printf '{\"laun' >> \"$WARPLENS_EXEC_TRAIL\"; kill -SEGV $$";
    let Output { status, stderr, .. } = exec(folder.path(), &script, &[]);
    assert_eq!(status.code(), Some(128 + 11));
    assert!(text(&stderr).contains("2.00 us"), "{}", text(&stderr));
}

#[test]
fn documents_need_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let script = lines(&[START, CASE, LAUNCH]);
    let refused = exec(folder.path(), &script, &["--format", "json"]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("needs -o FILE"));
    let path = folder.path().join("report.json");
    let written = exec(folder.path(), &script, &["--format", "json", "-o", path.to_str().unwrap()]);
    assert_eq!((written.status.code(), text(&written.stderr).as_str()), (Some(0), ""));
    let value: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!((&value["schema"], &value["kernels"][0]["calls"]), (&"warplens.exec/1".into(), &1.into()));
    assert_eq!(value["totals"][0]["time_us"], 2.0);
    assert_eq!(value["assumptions"], serde_json::json!(["copies are alike"]));
    let [brief, detailed] = [&[][..], &["-v"]].map(|flags| text(&exec(folder.path(), &script, flags).stderr));
    assert!(brief.contains("1 assumptions: -v.") && !brief.contains("copies are alike"), "{brief}");
    assert!(detailed.contains("Assumptions: copies are alike."), "{detailed}");
}

const FINDING: &str = r#"{"finding":{"process":1,"check":"races","kernel":"_Z3addPf","place":"PTX line 9","message":"two meet","count":3}}"#;
const ALLOCATED: &str = r#"{"allocated":{"process":1,"address":512,"bytes":64,"name":"cudaMalloc #1"}}"#;
const FREED: &str = r#"{"freed":{"process":1,"address":512}}"#;

#[test]
fn what_checks_find_is_reported_and_may_decide_the_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    let checks = ["--check", "leaks,races,leaks"];
    let wanted = "test \"$WARPLENS_EXEC_CHECK\" = races,leaks || exit 9\n";
    let script = wanted.to_owned() + &lines(&[START, ALLOCATED, CASE, LAUNCH, FINDING, LAUNCH, FINDING]);
    let Output { status, stderr, .. } = exec(folder.path(), &script, &checks);
    assert_eq!(status.code(), Some(0), "{}", text(&stderr));
    for words in ["races  add, PTX line 9      6  two meet", "leaks  cudaMalloc #1        1  64 bytes were never freed"]
    {
        assert!(text(&stderr).contains(words), "{words}: {}", text(&stderr));
    }
    let gated = [&checks[..], &["--fail-on", "findings"]].concat();
    assert_eq!(exec(folder.path(), &script, &gated).status.code(), Some(3));
    let failing = script.clone() + "exit 7";
    assert_eq!(exec(folder.path(), &failing, &gated).status.code(), Some(7), "the program's own code matters more");
    let clean = lines(&[START, ALLOCATED, CASE, LAUNCH, FREED]);
    let Output { status, stderr, .. } = exec(folder.path(), &clean, &gated);
    assert_eq!(status.code(), Some(0));
    assert!(text(&stderr).contains("Nothing was found (races, leaks)."), "{}", text(&stderr));
    let Output { stderr, .. } = exec(folder.path(), &clean, &[]);
    assert!(!text(&stderr).contains("Findings"), "nobody asked: {}", text(&stderr));
    let refused = exec(folder.path(), "", &["--check", "everything"]);
    assert!(
        text(&refused.stderr).contains("possible values: races, uninitialised, leaks"),
        "{}",
        text(&refused.stderr)
    );
}

#[test]
fn an_archive_has_a_folder_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("kept");
    let flags = ["--record", archive.to_str().unwrap(), "--record-limit", "2M"];
    let script =
        "test \"$WARPLENS_EXEC_RECORD_LIMIT\" = 2000000 || exit 9\n".to_owned() + &lines(&[START, CASE, LAUNCH]);
    let Output { status, stderr, .. } = exec(folder.path(), &script, &flags);
    assert_eq!(status.code(), Some(0), "{}", text(&stderr));
    assert!(text(&stderr).contains("holds no launch"), "{}", text(&stderr));
    let index = std::fs::read_to_string(archive.join("index.json")).unwrap();
    assert!(index.contains("warplens.archive/1") && index.contains("--of-program"), "{index}");
    let Output { status, stderr, .. } = exec(folder.path(), &script, &flags);
    assert_eq!(status.code(), Some(125));
    assert!(text(&stderr).contains("is not empty"), "{}", text(&stderr));
}

#[test]
fn launches_may_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let script = "test \"$WARPLENS_EXEC_LEAVE_OUT$WARPLENS_EXEC_OVERREADS\" = yesyes || exit 9\n".to_owned()
        + &lines(&[START, r#"{"omitted":{"process":1}}"#]);
    let Output { status, stderr, .. } = exec(folder.path(), &script, &["--leave-out-launches", "--allow-overreads"]);
    assert_eq!(status.code(), Some(0), "{}", text(&stderr));
    assert!(text(&stderr).contains("1 launches were left out"), "{}", text(&stderr));
    let refused = exec(folder.path(), "", &["--leave-out-launches", "--sample"]);
    assert!(text(&refused.stderr).contains("cannot be used with"), "{}", text(&refused.stderr));
}

#[test]
fn options_of_the_models_are_handed_on() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "test \"$WARPLENS_EXEC_OPTION\" = emptied-caches,no-schedule || exit 9\n".to_owned() + &lines(&[START]);
    let options = ["--option", "emptied-caches", "--option", "no-schedule"];
    let Output { status, stderr, .. } = exec(folder.path(), &script, &options);
    assert_eq!(status.code(), Some(0), "{}", text(&stderr));
    let refused = exec(folder.path(), &script, &["--option", "emptied-cache"]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(text(&refused.stderr).contains("did you mean `emptied-caches`?"), "{}", text(&refused.stderr));
}

#[test]
fn what_cannot_be_run_has_codes_of_its_own() {
    let run = |arguments: &[&str], libraries: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warplens"));
        let output = command.arg("exec").args(arguments).env("WARPLENS_LIBRARIES", libraries).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let folder = tempfile::tempdir().unwrap();
    let (code, said) = run(&["--", "/bin/true"], folder.path());
    assert_eq!(code, Some(125), "{said}");
    assert!(said.contains("libwarplens_cudart13.so"), "{said}");
    std::fs::write(folder.path().join("libwarplens_cudart13.so"), "").unwrap();
    assert_eq!(run(&["--", "/no/such/program"], folder.path()).0, Some(127));
    let data = folder.path().join("data");
    std::fs::write(&data, "\x7fELF .nv_fatbin").unwrap();
    let (code, said) = run(&["--", data.to_str().unwrap()], folder.path());
    assert_eq!(code, Some(126), "{said}");
    // Compiled as nvcc does it unless told otherwise.
    assert!(said.contains("nvcc -cudart shared"), "{said}");
    assert_eq!(run(&["--gpu", "nothing", "--", "/bin/true"], folder.path()).0, Some(125));
}
