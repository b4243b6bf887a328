//! Every JSON document is described in `docs/report-schema.md`, and as its schema and its type have it.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use warplens_report::document::{Entry, check, documents};

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

/// Commands that write every document, and the schema of each.
fn commands() -> Vec<(&'static str, Vec<&'static str>)> {
    let kernel = ["examples/abt_conflict/ptx/sm_80.ptx", "--launch", "examples/abt_conflict/launch.toml"];
    let with = |verb: &'static str, rest: &[&'static str]| [&[verb], &kernel[..], rest].concat();
    vec![
        ("warplens.predict/2", with("predict", &["--gpu", "h200,gtx480", "--model", "all", "--strict"])),
        (
            "warplens.whatif/2",
            with("whatif", &["--without", "bank-conflicts", "--set", "block=16,8", "--set", "grid=8"]),
        ),
        ("warplens.whatif/2", with("whatif", &["--each", "--gpu", "h200,gtx280"])),
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
        ("warplens.explain/2", with("explain", &["--gpu", "h200,gtx480", "--model", "all", "--strict"])),
        ("warplens.predict/2", with("predict", &["--gpu", "a100-80,gtx280", "--model", "teg"])),
        ("warplens.annotate/1", with("annotate", &["--gpu", "a100-80,gtx280"])),
        ("warplens.scale/1", with("scale", &["--gpu", "a100-80,gtx280"])),
        ("warplens.profile/1", with("profile", &[])),
        ("warplens.profile/1", vec!["profile", BLACK_SCHOLES[0], "--launch", BLACK_SCHOLES[1], "--static"]),
        ("warplens.run/1", with("run", &["--print", "2:4"])),
        ("warplens.model/2", vec!["model", "hong-kim", "--input", "examples/models/hong-kim-figure-12.toml"]),
        ("warplens.figure/1", [&["plot", "occupancy"], &kernel[..]].concat()),
        ("warplens.model/2", vec!["model", "x-model", "--input", "examples/models/x-model-five-intersections.toml"]),
        ("warplens.validate/1", vec!["validate", "--gpu", "v100-pcie", "--model", "roofline"]),
        ("warplens.calibrate/1", vec!["calibrate", "--gpu", "k40", "--from", "crates/cli/tests/data/latencies.csv"]),
        ("warplens.which/1", with("which", &["--gpu", "h200,gtx480"])),
        ("warplens.sweep/1", vec!["sweep", "python/tests/study.toml"]),
        ("warplens.glossary/1", vec!["glossary"]),
        ("warplens.metrics/1", vec!["metrics"]),
        ("warplens.config/1", vec!["config", "show"]),
        ("warplens.gpus/1", vec!["gpu", "list"]),
        ("warplens.gpu/1", vec!["gpu", "show", "h200"]),
        ("warplens.gpu-diff/1", vec!["gpu", "diff", "h200", "b200"]),
        // More than the keys: several launches, a simulation beside closed forms, clocks, what a profiler measured.
        ("warplens.predict/2", with("predict", &["--gpu", "a100-80,a100-80@1000", "--model", "all"])),
        (
            "warplens.predict/2",
            vec!["predict", "examples/profiles/nsight.ncu-rep", "--gpu", "a100-80", "-k", "vector_add"],
        ),
        ("warplens.profile/1", vec!["profile", "examples/profiles/nsight.ncu-rep", "-k", "vector_add"]),
        ("warplens.profile/1", vec!["profile", "examples/profiles/visual-profiler.csv", "-k", "regex:load"]),
        ("warplens.figure/1", [&["plot", "roofline"], &kernel[..]].concat()),
        ("warplens.figure/1", [&["plot", "stalls"], &kernel[..], &["--gpu", "a100-80"]].concat()),
    ]
}

#[test]
fn every_key_is_described() {
    let description = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/report-schema.md");
    let description = std::fs::read_to_string(description).expect("the description can be read");
    let described: BTreeSet<&str> =
        description.split('`').skip(1).step_by(2).flat_map(|span| span.split(['.', ',', ' '])).collect();
    for (schema, arguments) in commands() {
        let document = document(&arguments);
        assert_eq!(document["schema"], schema);
        let mut found = BTreeSet::new();
        keys(&document, &mut found);
        let missing: Vec<&String> = found.iter().filter(|key| !described.contains(key.as_str())).collect();
        assert!(missing.is_empty(), "{schema}: docs/report-schema.md does not describe {missing:?}");
        conforms(&arguments.join(" "), &document);
    }
    let all: BTreeSet<&str> = commands().iter().map(|(schema, _)| *schema).collect();
    let untried = documents().map(|entry| entry.id).filter(|id| !all.contains(id));
    // They have tests of their own.
    let own =
        BTreeSet::from(["warplens.archive/1", "warplens.exec/1", "warplens.timeline/1", "warplens.trace-events/1"]);
    assert_eq!(untried.collect::<BTreeSet<_>>(), own);
}

/// The schema that is shipped for a document.
fn shipped(document: &Value) -> (&'static Entry, Value) {
    let id = document["schema"].as_str().or(document["otherData"]["schema"].as_str()).expect("a document has a name");
    let entry = documents().find(|entry| entry.id == id).unwrap_or_else(|| panic!("there is no document {id}"));
    let path = format!("../../docs/schema/{}.schema.json", entry.name());
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the schema is shipped");
    (entry, serde_json::from_str(&text).expect("a schema is JSON"))
}

/// Holds a document against its shipped schema and against its type: read into that and written again it is the same.
fn conforms(what: &str, document: &Value) {
    let (entry, schema) = shipped(document);
    let mut checked = document.clone();
    check(&schema, &mut checked).unwrap_or_else(|fault| panic!("{what}: {}", fault.message));
    assert_eq!(&checked, document, "{what}: no number changes");
    let again = (entry.again)(document).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(again.to_string(), document.to_string(), "{what}: its type holds every key, in the same order");
}

#[test]
fn goldens_are_as_their_schemas_have_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli");
    let mut n_documents = 0;
    for file in std::fs::read_dir(folder).expect("the goldens are there") {
        let path = file.expect("the goldens are there").path();
        let text = std::fs::read_to_string(&path).expect("a golden is text");
        for block in text.split("--- stdout\n{").skip(1) {
            let end = block.find("\n--- stderr").into_iter().chain(block.find("\n```")).min().expect("a block ends");
            // How long the emulation took differs from run to run.
            let json: Vec<String> = format!("{{{}", &block[..end])
                .lines()
                .map(|line| match line.trim_start().starts_with("\"seconds\": ") {
                    true => "\"seconds\": 0.5".to_owned(),
                    false => line.to_owned(),
                })
                .collect();
            let document: Value = serde_json::from_str(&json.join("\n"))
                .unwrap_or_else(|error| panic!("{}: {error} in {}", path.display(), json.join("\n")));
            if document["schema"].is_string() && document.get("$schema").is_none() {
                conforms(&path.display().to_string(), &document);
                n_documents += 1;
            }
        }
    }
    assert!(n_documents >= 4, "{n_documents}");
}

#[test]
fn a_trace_of_events_is_as_its_schema_has_it() {
    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let path = folder.path().join("trace.json");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let kernel = ["examples/vector_add/ptx/sm_80.ptx", "--launch", "examples/vector_add/launch.toml"];
    let status = Command::new(env!("CARGO_BIN_EXE_warplens"))
        .arg("annotate")
        .args(kernel)
        .args(["--gpu", "a100-80@1000", "--trace"])
        .arg(&path)
        .current_dir(root)
        .env_clear()
        .output()
        .expect("the program can be started");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let document: Value = serde_json::from_slice(&std::fs::read(path).expect("it was written")).expect("it is JSON");
    assert_eq!(document["otherData"]["gpu"], "a100-80@1000");
    conforms("annotate --trace", &document);
}

/// A program that stands for one which loads the library: it writes what that would write.
#[cfg(unix)]
#[test]
fn what_a_program_does_is_as_its_schemas_have_it() {
    const TRAIL: [&str; 8] = [
        r#"{"start":{"process":1,"gpus":["h200"]}}"#,
        r#"{"copy":{"process":1,"kind":"to_device","bytes":8,"seconds":[1e-6],"place":{"stream":0,"begin":0,"end":1e3}}}"#,
        r#"{"case":{"process":1,"case":0,"kernel":"k","grid":[4,1,1],"block":[256,1,1],"dynamic_shared":0,"registers":8,"answers":[{"gpu":"h200","seconds":2e-6,"model":"teg","bound_by":"issue slots","refused":null}]}}"#,
        r#"{"launch":{"process":1,"case":0,"scale":1.0,"executed":"whole","place":{"stream":1,"begin":1e3,"end":3e3}}}"#,
        r#"{"finding":{"process":1,"check":"races","kernel":"k","place":"PTX line 3","message":"two meet","count":2}}"#,
        r#"{"allocated":{"process":1,"address":512,"bytes":8,"name":"cudaMalloc #1"}}"#,
        r#"{"left_out":{"process":1,"kernel":"k","reason":"it is handed a texture or a surface"}}"#,
        r#"{"archived":{"process":1,"launch":{"kernel":"k","process":1,"launched_before":0,"grid":[4,1,1],"block":[256,1,1],"cluster":null,"dynamic_shared_bytes":0,"parameters":"00ff","reachable_bytes":8,"registers":8,"registers_basis":"estimate","code":{"kind":"ptx","assembled_for":null,"parts":[{"bytes":0,"pieces":[]}],"global_address":4096,"constant_address":0,"function_address":256},"memory":[{"name":"cudaMalloc #1","address":8192,"of_module":false,"content":{"bytes":8,"pieces":[null]}}],"times":[{"gpu":"h200","time_us":2.5,"model":"teg"}]}}}"#,
    ];
    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let [report, trace, archive] = ["report.json", "trace.json", "archive"].map(|name| folder.path().join(name));
    std::fs::write(folder.path().join("libwarplens_cudart13.so"), "").expect("the folder is new");
    let script: String = TRAIL.map(|line| format!("echo '{line}' >> \"$WARPLENS_EXEC_TRAIL\"; ")).concat();
    let status = Command::new(env!("CARGO_BIN_EXE_warplens"))
        .args(["exec", "--format", "json", "-o"])
        .arg(&report)
        .arg("--trace")
        .arg(&trace)
        .args(["--check", "races,leaks", "--record"])
        .arg(&archive)
        .args(["--", "/bin/sh", "-c", &script])
        .env("WARPLENS_LIBRARIES", folder.path())
        .output()
        .expect("the program can be started");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    for path in [report, trace, archive.join("index.json")] {
        let text = std::fs::read(&path).expect("it was written");
        conforms(&path.display().to_string(), &serde_json::from_slice(&text).expect("it is JSON"));
    }
}

#[test]
fn the_shipped_schemas_are_those_of_the_program() {
    for entry in documents() {
        let (_, shipped) = shipped(&serde_json::json!({ "schema": entry.id }));
        assert_eq!(shipped, (entry.schema)(), "{}: `cargo xtask generate` writes it", entry.name());
    }
}

/// The keys that documents of the same version got since the files below were written, and what their absence means.
const ADDED: [(&str, Value); 3] = [("race", Value::Null), ("atomics", Value::Null), ("textures", Value::Null)];

/// What an earlier release wrote: it is read, and nothing of it is lost.
#[test]
fn a_profile_of_an_earlier_release_is_read() {
    for name in ["saved.json", "saved-static.json"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        let saved: Value = serde_json::from_slice(&std::fs::read(&path).expect("it is there")).expect("it is JSON");
        let again = document(&["profile", path.to_str().expect("a path of ours")]);
        let mut expected = saved.clone();
        for (key, value) in ADDED {
            let old = expected.as_object_mut().expect("a profile is an object").insert(key.to_owned(), value);
            assert_eq!(old, None, "{name}: {key} is no new key");
        }
        if let Some(support) = expected["support"].as_object_mut() {
            assert_eq!(support.insert("overreads".to_owned(), 0.into()), None);
        }
        if let Some(statics) = expected["static"].as_object_mut() {
            assert_eq!(statics.insert("ctas_executed".to_owned(), 0.into()), None);
        }
        assert_eq!(again, expected, "{name}");
        conforms(name, &again);
        let (_, schema) = shipped(&saved);
        check(&schema, &mut saved.clone()).unwrap_or_else(|fault| panic!("{name}: {}", fault.message));
    }
}

/// Machine code does not depend on the clock, and neither clock is taken for the other.
#[test]
fn one_simulation_serves_several_clocks_of_a_gpu() {
    let kernel = ["examples/vector_add/ptx/sm_80.ptx", "--launch", "examples/vector_add/launch.toml"];
    let ask = |verb: &[&str], gpu: &str| document(&[verb, &kernel, &["--model", "teg", "--gpu", gpu]].concat());
    let both = ask(&["predict"], "a100-80,a100-80@1000");
    let times: Vec<&Value> =
        both["predictions"].as_array().expect("there are two").iter().map(|entry| &entry["time_us"]).collect();
    assert_eq!(times[1], &ask(&["predict"], "a100-80@1000")["predictions"][0]["time_us"]);
    assert!(times[0].as_f64().expect("a time") < times[1].as_f64().expect("a time"), "{times:?}");
    let supposed = ask(&["whatif", "--set", "clock=1200MHz"], "a100-80@1000");
    assert!(supposed["answers"][0]["after"]["time_us"].is_number(), "{supposed:#}");
}
