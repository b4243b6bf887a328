//! Gates against an earlier answer, and what a review reads: exit codes, messages, files.

use std::path::Path;
use std::process::{Command, Output};

const KERNEL: [&str; 3] = ["examples/vector_add/ptx/sm_80.ptx", "--launch", "examples/vector_add/launch.toml"];

fn warplens(words: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_warplens"))
        .args(words)
        .current_dir(root)
        .env_clear()
        .output()
        .expect("the tests have a scratch folder and the program")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The answer of an earlier time, with its time times `factor`.
fn baseline(folder: &Path, words: &[&str], factor: f64) -> String {
    let path = folder.join("base.json");
    let made = warplens(&[words, &["--format", "json"]].concat());
    assert!(made.status.success(), "{}", said(&made));
    let mut document: serde_json::Value =
        serde_json::from_slice(&made.stdout).expect("the tests have a scratch folder and the program");
    scale(&mut document, factor);
    std::fs::write(&path, document.to_string()).expect("the tests have a scratch folder and the program");
    path.to_string_lossy().into_owned()
}

fn scale(value: &mut serde_json::Value, factor: f64) {
    match value {
        serde_json::Value::Object(map) => map.iter_mut().for_each(|(key, value)| match value.as_f64() {
            Some(time) if key == "time_us" => *value = (time * factor).into(),
            _ => scale(value, factor),
        }),
        serde_json::Value::Array(values) => values.iter_mut().for_each(|value| scale(value, factor)),
        _ => {}
    }
}

#[test]
fn a_gate_on_a_change_passes_fails_and_needs_a_baseline() {
    let folder = tempfile::tempdir().unwrap();
    let words = [&["predict"], KERNEL.as_slice(), &["--gpu", "h200,k40", "--model", "roofline"]].concat();
    let gate = |base: &str, gate: &str| warplens(&[&words[..], &["--fail-on", gate, "--against", base]].concat());
    let same = baseline(folder.path(), &words, 1.0);
    let passed = gate(&same, "time>+5%");
    assert_eq!(passed.status.code(), Some(0), "{}", said(&passed));
    let text = String::from_utf8_lossy(&passed.stdout).into_owned();
    assert!(text.contains("Against ") && text.contains("+0.0 %"), "{text}");
    let faster = baseline(folder.path(), &words, 0.9);
    let failed = gate(&faster, "time>+5%");
    assert_eq!(failed.status.code(), Some(3));
    assert!(said(&failed).contains("gate time>+5% is breached on h200: +11.1111 %"), "{}", said(&failed));
    assert!(said(&failed).contains("gate time>+5% is breached on k40"), "{}", said(&failed));
    assert_eq!(gate(&faster, "time>+12%").status.code(), Some(0));
    let without = warplens(&[&words[..], &["--fail-on", "time>+5%"]].concat());
    assert_eq!(without.status.code(), Some(2));
    assert!(said(&without).contains("--against FILE.json"), "{}", said(&without));
    let missing = gate("no-such-file.json", "time>+5%");
    assert_eq!(missing.status.code(), Some(1));
    let other = gate("Cargo.toml", "time>+5%");
    assert_eq!(other.status.code(), Some(1));
    assert!(said(&other).contains("Cargo.toml, line 1"), "{}", said(&other));
}

#[test]
fn comparisons_have_gates_too() {
    let folder = tempfile::tempdir().unwrap();
    let blocks = ["--blocks", "128,256", "--gpu", "k40", "--model", "roofline"];
    let words = [&["compare"], KERNEL.as_slice(), &blocks].concat();
    let base = baseline(folder.path(), &words, 0.5);
    let failed = warplens(&[&words[..], &["--fail-on", "time>+5%", "--against", &base]].concat());
    assert_eq!(failed.status.code(), Some(3), "{}", said(&failed));
    assert_eq!(said(&failed).matches("is breached on k40: +100 %").count(), 2, "{}", said(&failed));
}

#[test]
fn an_answer_by_another_model_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let words = |model: &'static str| [&["predict"], KERNEL.as_slice(), &["--gpu", "k40", "--model", model]].concat();
    let base = baseline(folder.path(), &words("analyzer"), 1.0);
    let asked = warplens(&[&words("roofline")[..], &["--fail-on", "time>+5%", "--against", &base]].concat());
    assert_eq!(asked.status.code(), Some(1));
    assert!(said(&asked).contains("was answered by analyzer and is now by roofline"), "{}", said(&asked));
}

#[test]
fn a_review_gets_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let words = [&["predict"], KERNEL.as_slice(), &["--gpu", "h200"]].concat();
    let base = baseline(folder.path(), &words, 0.5);
    let file = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (comment, log, page) = (file("comment.md"), file("log.sarif"), file("answer.json"));
    let more = ["--fail-on", "time>+5%", "--against", &base, "--write", &comment, "--write", &log, "--write", &page];
    let asked = warplens(&[&words[..], &more].concat());
    assert_eq!(asked.status.code(), Some(3), "{}", said(&asked));
    let comment = std::fs::read_to_string(comment).unwrap();
    assert!(comment.contains("## Against ") && comment.contains("| +100.0 % | breached: time>+5% |"), "{comment}");
    let log: serde_sarif::sarif::Sarif = serde_json::from_str(&std::fs::read_to_string(log).unwrap()).unwrap();
    let results = log.runs[0].results.as_ref().unwrap();
    let rules = log.runs[0].tool.driver.rules.as_ref().unwrap();
    assert_eq!(results[0].rule_id.as_deref(), Some("gate"));
    for result in results {
        assert!(rules.iter().any(|rule| Some(&rule.id) == result.rule_id.as_ref()), "{result:?}");
        let location = &result.locations.as_ref().unwrap()[0];
        let place = location.physical_location.as_ref().unwrap();
        assert_eq!(place.artifact_location.as_ref().unwrap().uri.as_deref(), Some("examples/vector_add/vector_add.cu"));
        assert!(place.region.as_ref().unwrap().start_line.unwrap() > 1, "{result:?}");
    }
    let answer: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(page).unwrap()).unwrap();
    assert_eq!(answer["schema"], "warplens.predict/2");
    let wrong = warplens(&[&words[..], &["--write", "x.pdf"]].concat());
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains(".sarif"), "{}", said(&wrong));
}

#[test]
fn files_say_what_is_asked_unless_flags_do() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let (home, project, below) =
        (folder.path().join("home"), folder.path().join("project"), folder.path().join("project/below"));
    std::fs::create_dir_all(home.join("warplens")).unwrap();
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(home.join("warplens/warplens.toml"), "gpu = \"k40\"\nformat = \"csv\"\n").unwrap();
    std::fs::write(project.join("warplens.toml"), "gpu = \"gtx1080\"\nmodel = \"roofline\"\n").unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_warplens"));
        command.args(words).current_dir(&below).env_clear().env("XDG_CONFIG_HOME", &home).output().unwrap()
    };
    let kernel = KERNEL
        .map(|word| if word.contains('/') { root.join(word).to_string_lossy().into_owned() } else { word.to_owned() });
    let predict: Vec<&str> = std::iter::once("predict").chain(kernel.iter().map(String::as_str)).collect();
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = text(&run(&predict));
    assert!(rows.contains("\nvector_add,gtx1080,roofline,"), "{rows}");
    let rows = text(&run(&[&predict[..], &["--gpu", "h200"]].concat()));
    assert!(rows.contains("\nvector_add,h200,roofline,"), "{rows}");
    let shown = text(&run(&["config", "show"]));
    assert!(shown.contains("gpu,gtx1080,") && shown.contains("format,csv,"), "{shown}");
    std::fs::write(project.join("warplens.toml"), "gpus = \"gtx1080\"\n").unwrap();
    let wrong = run(&predict);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(said(&wrong).contains("there is no key `gpus`") && said(&wrong).contains("did you mean `gpu`?"));
}
