//! The trace that `annotate --trace` writes keeps the rules of the Chrome trace event format.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn trace(arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let path = folder.path().join("trace.json");
    let output = Command::new(env!("CARGO_BIN_EXE_warplens"))
        .args(["annotate", "examples/matmul_tiled/ptx/sm_80.ptx", "--launch", "examples/matmul_tiled/launch.toml"])
        .args(["--gpu", "a100-80", "--trace"])
        .arg(&path)
        .args(arguments)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env_clear()
        .output()
        .expect("the program can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read(&path).expect("the trace was written");
    serde_json::from_slice(&text).expect("it is JSON")
}

fn number(event: &Value, key: &str) -> u64 {
    event[key].as_u64().unwrap_or_else(|| panic!("{key} of {event}"))
}

#[test]
fn slices_of_a_warp_follow_each_other() {
    let trace = trace(&["--warps", "4", "--cycles", "0..3000"]);
    let events = trace["traceEvents"].as_array().expect("a list of events");
    let mut threads: BTreeMap<u64, Vec<(u64, u64, &str)>> = BTreeMap::new();
    let mut open: BTreeMap<u64, u64> = BTreeMap::new();
    for event in events {
        assert!(event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        match event["ph"].as_str().expect("each event has a phase") {
            "M" => assert!(event["args"].is_object(), "{event}"),
            "X" => {
                let slice = (number(event, "ts"), number(event, "dur"), event["cat"].as_str().expect("a category"));
                threads.entry(number(event, "tid")).or_default().push(slice);
            }
            "b" => assert!(open.insert(number(event, "id"), number(event, "ts")).is_none(), "{event}"),
            "e" => assert!(open.remove(&number(event, "id")).is_some_and(|ts| ts < number(event, "ts")), "{event}"),
            phase => panic!("{phase} is no phase of ours"),
        }
    }
    assert!(open.is_empty(), "every access ends");
    assert_eq!(threads.len(), 4);
    for slices in threads.values() {
        assert!(slices.len() > 20, "{} slices of a warp", slices.len());
        assert!(slices.iter().all(|(_, dur, _)| *dur > 0));
        let follow = slices.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0);
        assert!(follow, "slices of a warp do not overlap: {slices:?}");
        assert!(slices.iter().any(|slice| slice.2 == "stall") && slices.iter().any(|slice| slice.2 == "instruction"));
    }
}
