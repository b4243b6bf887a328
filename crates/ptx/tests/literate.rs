//! The suites in `tests/ptx/*.md`: prose, a `ptx` block, and a `snapshot` block with findings and printed module.
//!
//! `UPDATE=1 cargo test -p warplens-ptx --test literate` writes the snapshots.

#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod common;

use std::fs;
use std::path::PathBuf;

use common::render;
use warplens_ptx::syntax::{parse, print};

fn snapshot(source: &str) -> String {
    let (module, findings) = parse(source);
    format!("{}---\n{}", render(source, &findings), print(&module))
}

/// The text with the snapshot of each block of PTX in place.
fn with_snapshots(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        if line != "```ptx" {
            continue;
        }
        let mut source = String::new();
        for line in lines.by_ref() {
            out += &format!("{line}\n");
            if line == "```" {
                break;
            }
            source += &format!("{line}\n");
        }
        if lines.peek() == Some(&"```snapshot") {
            let closing = lines.by_ref().find(|line| *line == "```");
            assert!(closing.is_some(), "a snapshot is not closed");
        }
        out += &format!("```snapshot\n{}```\n", snapshot(&source));
    }
    out
}

#[test]
fn snapshots_are_current() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/ptx");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let mut n_snapshots = 0;
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap_or_default();
        // Other crates keep suites of other kinds here.
        if !["# Mistakes in the syntax", "# What the opcode table reports", "# The canonical text"].contains(&first) {
            continue;
        }
        let current = with_snapshots(&text);
        n_snapshots += current.matches("```snapshot").count();
        if std::env::var_os("UPDATE").is_some() {
            fs::write(&path, current).unwrap();
        } else {
            assert!(current == text, "{} is stale; UPDATE=1 writes it:\n{current}", path.display());
        }
    }
    assert!(n_snapshots >= 15, "{n_snapshots}");
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
    let suites = root.join("../../tests/ptx");
    // Too large a text and too many findings or levels are cases of `mutation.rs`.
    let mut cases = String::from("P001 P002 P011");
    for entry in fs::read_dir(suites).unwrap() {
        cases += &read(entry.unwrap().path());
    }
    let without_case: Vec<_> =
        codes(&documentation).difference(&codes(&cases)).map(|code| (*code).to_owned()).collect();
    assert!(without_case.is_empty(), "no case for {without_case:?}");
}
