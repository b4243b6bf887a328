//! What several suites share.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]
#![allow(dead_code, reason = "each suite uses a part")]

use std::fs;
use std::path::PathBuf;

use warplens_base::{Diagnostic, LineIndex};
use warplens_ptx::opcodes::Opcode;
use warplens_ptx::opcodes::forms::Form;
use warplens_ptx::syntax::{dump_ast, parse, print};

pub(crate) fn data_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// Names and texts of the PTX files, in order.
pub(crate) fn corpus() -> Vec<(String, String)> {
    let mut files: Vec<_> = fs::read_dir(data_folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    files.sort();
    assert!(files.len() >= 15, "the corpus is gone");
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// One finding per line: code, place, message, help.
pub(crate) fn render(source: &str, findings: &[Diagnostic]) -> String {
    let index = LineIndex::new(source);
    let mut out = String::new();
    for finding in findings {
        let (line, column) = index.line_column(finding.primary.span.start);
        let severity = if finding.is_error() { "error" } else { "warning" };
        let place = source.get(finding.primary.span.range()).expect("findings point into the text");
        out +=
            &format!("{severity}[{}] {line}:{column} `{}`: {}\n", finding.code, place.escape_debug(), finding.message);
        if let Some(help) = &finding.help {
            out += &format!("  help: {help}\n");
        }
    }
    out
}

/// Parse, print, parse, print: trees and texts must be the same, and nothing may be reported.
pub(crate) fn assert_fixpoint(name: &str, source: &str) {
    let (first, findings) = parse(source);
    assert!(findings.is_empty(), "{name}: {}", render(source, &findings));
    let printed = print(&first);
    let (second, findings) = parse(&printed);
    assert!(findings.is_empty(), "{name}, printed: {}\n{printed}", render(&printed, &findings));
    assert_eq!(dump_ast(&first, false), dump_ast(&second, false), "{name}: another tree");
    assert_eq!(printed, print(&second), "{name}: another text");
}

/// Operands that a form takes: one list for each alternative, optional operands left out and put in.
pub(crate) fn sample_operands(form: &Form) -> Vec<String> {
    let text = form.shape.text();
    let sample = |letter: &str| match &letter[..1] {
        "d" => "%r1",
        "q" => "%r1|%p1",
        "t" => "{%f1, %f2, %f3, %f4}|%p1",
        "s" => "%r2",
        "v" => "{%r3, %r4}",
        "p" => "!%p2",
        "c" => "3",
        "m" => "[%rd1+8]",
        "l" => "target",
        _ => "_",
    };
    let mut lists = Vec::new();
    for alternative in text.split('|') {
        let all: Vec<&str> = alternative.split_whitespace().map(sample).collect();
        let needed: Vec<&str> =
            alternative.split_whitespace().filter(|word| !word.ends_with('?')).map(sample).collect();
        lists.push(all.join(", "));
        lists.push(needed.join(", "));
    }
    lists.sort();
    lists.dedup();
    lists
}

/// A module around the statements of one function.
pub(crate) fn module_of(statements: &str) -> String {
    format!(".version 9.5\n.target sm_100a\n.address_size 64\n.func f()\n{{\n{statements}\n}}\n")
}

/// An instruction of the opcode in the form, with all types that it may have or the first one.
pub(crate) fn head(opcode: Opcode, form: &Form) -> String {
    let mut text = opcode.name().to_owned();
    for modifier in &form.needs {
        text += &format!(".{}", modifier.name());
    }
    let own_type = form.allowed.iter().find(|modifier| modifier.as_type().is_some());
    if let Some(ty) = own_type.filter(|ty| form.needs_type && !form.needs.contains(ty)) {
        text += &format!(".{}", ty.name());
    }
    text
}
