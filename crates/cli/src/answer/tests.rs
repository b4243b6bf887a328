//! Answers of commands that say something on every way out.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::*;

fn asked(words: &[&str]) -> Answer {
    answer(words, &mut |_| ControlFlow::Continue(()))
}

fn example(file: &str) -> String {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(file);
    path.to_string_lossy().into_owned()
}

#[test]
fn a_result_is_bytes_and_tables() {
    let answer = asked(&["gpu", "list", "--format", "json"]);
    assert!(matches!(answer.ended, Ended::Done(0)));
    let document: serde_json::Value = serde_json::from_slice(&answer.output).expect("a document");
    assert_eq!(document["schema"], "warplens.gpus/1");
    assert_eq!(answer.tables.len(), 1);
    assert_eq!(answer.messages, "");
}

#[test]
fn failures_say_who_has_to_act() {
    let kind = |words: &[&str]| match asked(words).ended {
        Ended::Failed { error, exit_code } => (error.kind, exit_code, error.message.clone()),
        other => panic!("{other:?}"),
    };
    let (of_usage, of_input) = (warplens_session::ErrorKind::Usage, warplens_session::ErrorKind::Input);
    let (found, code, message) = kind(&["predict"]);
    assert_eq!((found, code), (of_usage, 2));
    assert!(message.starts_with("the following required arguments were not provided"), "{message}");
    let Ended::Failed { error, .. } = asked(&["plot", "rooflin"]).ended else { panic!("there is no such picture") };
    assert_eq!(error.help.as_deref(), Some("a similar subcommand exists: 'roofline'"));
    let (found, code, _) = kind(&["gpu", "show", "h2000"]);
    assert_eq!((found, code), (of_usage, 2));
    let (found, code, _) = kind(&["predict", "there-is-none.ptx"]);
    assert_eq!((found, code), (of_input, 1));
    let help = asked(&["predict", "--help"]);
    assert!(matches!(help.ended, Ended::Done(0)));
    assert!(String::from_utf8_lossy(&help.output).contains("--launch"));
}

#[test]
fn an_emulation_ends_when_the_client_wants_no_more() {
    let folder = tempfile::tempdir().expect("a scratch folder can be made");
    let endless = folder.path().join("endless.ptx");
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\nL: bra L;\n}\n";
    std::fs::write(&endless, text).expect("a scratch file can be written");
    let path = endless.to_string_lossy();
    let words = ["run", &path, "--grid", "1", "--block", "32", "--budget", "1e15", "--launch-budget", "1e15"];
    let start = Instant::now();
    let ended = answer(words, &mut |_| {
        if start.elapsed() > Duration::from_millis(300) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(ended.ended, Ended::Stopped), "{ended:?}");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    // Whoever asks next gets an answer.
    let words = ["run", &example("vector_add/ptx/sm_80.ptx"), "--launch", &example("vector_add/launch.toml")];
    assert!(matches!(asked(&words).ended, Ended::Done(0)));
}
