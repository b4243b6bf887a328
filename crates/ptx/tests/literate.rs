//! The suites of the syntax in `tests/ptx`: each case is a module and a snapshot of its findings and of what prints.
//!
//! `UPDATE=1 cargo test -p warplens-ptx --test literate` writes the snapshots.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod common;

use std::fs;
use std::path::PathBuf;

use common::render;
use warplens_literate::check_file;
use warplens_ptx::syntax::{parse, print};

const SUITES: [&str; 3] = ["syntax-errors.md", "instruction-checks.md", "canonical-text.md"];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/ptx")
}

#[test]
fn snapshots_are_current() {
    for suite in SUITES {
        check_file(folder().join(suite), |case, outcome| {
            let Some(block) = case.block("ptx") else { return outcome.fail(case.line, "no block of PTX") };
            let (module, findings) = parse(&block.text);
            outcome.snapshot(format!("{}---\n{}", render(&block.text, &findings), print(&module)));
        });
    }
}

/// Codes such as `P012` in a text.
fn codes(text: &str) -> std::collections::BTreeSet<&str> {
    let is_code = |word: &&str| {
        word.len() == 4 && word.starts_with(['L', 'P']) && word[1..].bytes().all(|byte| byte.is_ascii_digit())
    };
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(is_code).collect()
}

#[test]
fn every_code_is_documented_and_has_a_case() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let mut sources = read(root.join("src/syntax/lexer.rs")) + &read(root.join("src/syntax/parser.rs"));
    for entry in fs::read_dir(root.join("src/syntax/parser")).unwrap() {
        sources += &read(entry.unwrap().path());
    }
    let documentation = read(root.join("src/syntax.rs"));
    assert_eq!(codes(&sources), codes(&documentation));
    // Too large a text and too many findings or levels are cases of `mutation.rs`.
    let mut cases = String::from("P001 P002 P011");
    for suite in SUITES {
        cases += &read(folder().join(suite));
    }
    let without_case: Vec<_> =
        codes(&documentation).difference(&codes(&cases)).map(|code| (*code).to_owned()).collect();
    assert!(without_case.is_empty(), "no case for {without_case:?}");
}
