//! Command-line goldens: the cases of `tests/cli/*.md`, run from the root of the repository.
//!
//! A case's `sh` block is one command. Its other blocks whose head is `file NAME` are files in a scratch folder,
//! which the command and the expected output call `TMP`. The `snapshot` block holds exit code, standard output and standard
//! error. `UPDATE=1 cargo test -p warplens-cli` rewrites the snapshots.

use std::path::{Path, PathBuf};
use std::process::Command;

use warplens_literate::{Case, Outcome, check_directory};

#[test]
fn commands_answer_as_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    check_directory(root.join("tests/cli"), |case, outcome| check(&root, case, outcome));
}

fn check(root: &Path, case: &Case, outcome: &mut Outcome) {
    let Some(command) = case.block("sh") else {
        return outcome.fail(case.line, "no `sh` block with a command");
    };
    let scratch = tempfile::tempdir().expect("a scratch folder can be made");
    for block in &case.blocks {
        if block.lang == "file" {
            std::fs::write(scratch.path().join(&block.name), &block.text).expect("a scratch file can be written");
        }
    }
    let folder = scratch.path().to_string_lossy().into_owned();
    let words = split(&command.text.trim().replace("TMP/", &format!("{folder}/")));
    let Some(("warplens", arguments)) = words.split_first().map(|(first, rest)| (first.as_str(), rest)) else {
        return outcome.fail(command.line, "a command begins with `warplens`");
    };
    let output = Command::new(program())
        .args(arguments)
        .current_dir(root)
        // No compiler and no setting of this machine may change what the program says.
        .env_clear()
        .output()
        .expect("the program can be started");
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(&format!("{folder}/"), "TMP/");
        text.lines().map(without_time).collect::<Vec<_>>().join("\n")
    };
    let mut snapshot = format!("exit {}", output.status.code().expect("the program ends by itself"));
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            snapshot.push_str(&format!("\n--- {name}\n{}", text(bytes)));
        }
    }
    outcome.snapshot(snapshot + "\n");
}

fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_warplens"))
}

/// How long the emulation took differs from run to run.
fn without_time(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    for name in ["emulation  ", "\"seconds\": "] {
        if line.trim_start().starts_with(name) {
            return format!("{}{name}[seconds]", &line[..indent]);
        }
    }
    line.trim_end().to_owned()
}

/// Words of a command; quotes keep blanks.
fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut quote, mut started) = (String::new(), None, false);
    for c in command.chars() {
        match (c, quote) {
            ('\'' | '"', None) => (quote, started) = (Some(c), true),
            (c, Some(open)) if c == open => quote = None,
            (' ' | '\n', None) => {
                if started {
                    words.push(std::mem::take(&mut word));
                }
                started = false;
            }
            ('\\', None) => {}
            _ => {
                word.push(c);
                started = true;
            }
        }
    }
    if started {
        words.push(word);
    }
    words
}
