//! Every key of the JSON documents is described in `docs/report-schema.md`.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Keys under which programs, papers or users choose the names.
const FREE: [&str; 16] = [
    "values",
    "by_class",
    "by_opcode",
    "high_latency",
    "quantities",
    "quantity_units",
    "buffers",
    // What a search varies.
    "choices",
    "duplicate_loads",
    "distances",
    "computation_task",
    "memory_task",
    "transactions",
    // A parameter's value may be an object of lane kinds.
    "value",
    "constant",
    // States of warps, as Nsight Compute names them.
    "stalls",
];
/// Under these the first level is a rule, and what is below it is described.
const BY_RULE: [&str; 4] = ["global", "local", "shared", "memory"];

/// A branch of it depends on data.
const BLACK_SCHOLES: [&str; 2] = ["examples/black_scholes/ptx/sm_80.ptx", "examples/black_scholes/launch.toml"];

fn document(arguments: &[&str]) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_warplens"))
        .args(arguments)
        .args(["--format", "json"])
        .current_dir(root)
        .env_clear()
        .output()
        .expect("the program can be started");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                found.insert(key.clone());
                match value {
                    Value::Object(rules)
                        if BY_RULE.contains(&key.as_str()) && !rules.values().any(Value::is_number) =>
                    {
                        rules.values().for_each(|counts| keys(counts, found));
                    }
                    _ if FREE.contains(&key.as_str()) => {}
                    _ => keys(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn every_key_is_described() {
    let description = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report-schema.md");
    let description = std::fs::read_to_string(description).expect("the description can be read");
    let described: BTreeSet<&str> =
        description.split('`').skip(1).step_by(2).flat_map(|span| span.split(['.', ',', ' '])).collect();
    let kernel = ["examples/abt_conflict/ptx/sm_80.ptx", "--launch", "examples/abt_conflict/launch.toml"];
    let with = |verb: &'static str, rest: &[&'static str]| [&[verb], &kernel[..], rest].concat();
    let documents = [
        ("warplens.predict/1", with("predict", &["--gpu", "h200,gtx480", "--model", "all", "--strict"])),
        (
            "warplens.whatif/1",
            with("whatif", &["--without", "bank-conflicts", "--set", "block=16,8", "--set", "grid=8"]),
        ),
        ("warplens.whatif/1", with("whatif", &["--each", "--gpu", "h200,gtx280"])),
        (
            "warplens.compare/1",
            vec![
                "compare",
                "examples/abt_conflict/ptx/sm_80.ptx@examples/abt_conflict/launch.toml",
                "examples/abt_conflict_free/ptx/sm_80.ptx@examples/abt_conflict_free/launch.toml",
                "--gpu",
                "h200,gtx280",
            ],
        ),
        ("warplens.tune/1", with("tune", &["--block", "16x16,32x8", "--shared", "0,300000", "--check"])),
        ("warplens.explain/1", with("explain", &["--gpu", "h200,gtx480", "--model", "all", "--strict"])),
        ("warplens.predict/1", with("predict", &["--gpu", "a100-80,gtx280", "--model", "teg"])),
        ("warplens.annotate/1", with("annotate", &["--gpu", "a100-80,gtx280"])),
        ("warplens.scale/1", with("scale", &["--gpu", "a100-80,gtx280"])),
        ("warplens.profile/1", with("profile", &[])),
        ("warplens.profile/1", vec!["profile", BLACK_SCHOLES[0], "--launch", BLACK_SCHOLES[1], "--static"]),
        ("warplens.run/1", with("run", &["--print", "2:4"])),
        ("warplens.model/1", vec!["model", "hong-kim", "--input", "examples/models/hong-kim-figure-12.toml"]),
        ("warplens.figure/1", [&["plot", "occupancy"], &kernel[..]].concat()),
        ("warplens.model/1", vec!["model", "x-model", "--input", "examples/models/x-model-five-intersections.toml"]),
        ("warplens.gpus/1", vec!["gpu", "list"]),
        ("warplens.gpu/1", vec!["gpu", "show", "h200"]),
        ("warplens.gpu-diff/1", vec!["gpu", "diff", "h200", "b200"]),
    ];
    for (schema, arguments) in documents {
        let document = document(&arguments);
        assert_eq!(document["schema"], schema);
        let mut found = BTreeSet::new();
        keys(&document, &mut found);
        let missing: Vec<&String> = found.iter().filter(|key| !described.contains(key.as_str())).collect();
        assert!(missing.is_empty(), "{schema}: docs/report-schema.md does not describe {missing:?}");
    }
}
