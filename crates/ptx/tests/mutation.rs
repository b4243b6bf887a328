//! Damaged modules: the parser never panics, points into the text, and what it returns prints to a fixpoint.

#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod common;

use std::sync::LazyLock;

use common::{corpus, module_of};
use proptest::prelude::*;
use warplens_ptx::syntax::{dump_ast, dump_tokens, parse, print};

static CORPUS: LazyLock<Vec<String>> = LazyLock::new(|| corpus().into_iter().map(|(_, text)| text).collect());

/// Whatever the text, these hold.
fn check(source: &str) {
    let (module, findings) = parse(source);
    for finding in &findings {
        assert!(source.get(finding.primary.span.range()).is_some(), "{finding:?} points outside of the text");
        assert!(!finding.message.is_empty() && !finding.message.ends_with('.'), "{finding:?}");
    }
    assert!(findings.len() <= 401, "{} findings", findings.len());
    let printed = print(&module);
    let (again, _) = parse(&printed);
    assert_eq!(print(&again), printed);
    assert_eq!(dump_ast(&module, false), dump_ast(&again, false));
    dump_ast(&module, true);
}

/// A piece of a module: whole lines, so that many pieces are valid.
fn piece(text: &str, at: usize, n_lines: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let start = at % lines.len();
    lines[start..(start + n_lines).min(lines.len())].join("\n")
}

const SCRAPS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ";",
    ",",
    ":",
    "::",
    "@",
    "@!",
    "|",
    "||",
    "!",
    "-",
    "+",
    "%",
    "%r1",
    ".",
    ".v4",
    ".b8",
    "0x",
    "0f1",
    "1e",
    "99999999999999999999",
    "\"",
    "/*",
    "*/",
    "//",
    "\0",
    "é",
    "\u{1F600}",
    "\n",
    "\r",
    "_",
    ".section",
    ".entry",
    ".func f",
    ".reg .b32 %r<4294967296>;",
    "call (",
    ".loc 1 2",
    "@@DWARF",
    ".align 0",
    "= {",
    "generic(",
    "0xFF(",
    "WARP_SZ",
    "?",
    "<<",
    "1/0",
    "ld.const[",
    ".sp::2:4",
    "a: b: c:",
    "tex.1d",
    "{{{{",
    "((((",
    "- - - -",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, max_shrink_iters: 2000, ..ProptestConfig::default() })]

    #[test]
    fn bytes_that_are_overwritten_inserted_or_lost(
        file in any::<prop::sample::Index>(),
        at in any::<usize>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..3u8, any::<u8>()), 1..20),
    ) {
        let mut bytes = piece(&CORPUS[file.index(CORPUS.len())], at, 60).into_bytes();
        for (place, edit, byte) in edits {
            if bytes.is_empty() {
                break;
            }
            let place = place.index(bytes.len());
            match edit {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => {
                    bytes.remove(place);
                }
            }
        }
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn scraps_of_syntax_between_statements(
        file in any::<prop::sample::Index>(),
        at in any::<usize>(),
        scraps in prop::collection::vec((any::<prop::sample::Index>(), prop::sample::select(SCRAPS)), 1..12),
    ) {
        let mut text: Vec<char> = piece(&CORPUS[file.index(CORPUS.len())], at, 40).chars().collect();
        for (place, scrap) in scraps {
            let place = place.index(text.len() + 1);
            text.splice(place..place, scrap.chars());
        }
        let text: String = text.into_iter().collect();
        check(&text);
        check(&module_of(&text));
    }

    #[test]
    fn text_that_was_never_ptx(text in "\\PC{0,200}") {
        check(&text);
        check(&module_of(&text));
        dump_tokens(&text);
    }

    #[test]
    fn sequences_of_scraps(scraps in prop::collection::vec(prop::sample::select(SCRAPS), 0..60)) {
        check(&scraps.join(" "));
        check(&module_of(&scraps.join(" ")));
        check(&scraps.concat());
    }
}

#[test]
fn files_cut_off_anywhere() {
    let text = std::fs::read_to_string(common::data_folder().join("language.ptx")).unwrap();
    for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)).step_by(7) {
        check(&text[..end]);
    }
}

#[test]
fn a_semicolon_is_missing_behind_foreign_characters() {
    check(".func f \u{491}\u{fffd}}");
    check(&module_of(".pragma \"a\" é }"));
}

#[test]
fn a_sign_is_no_level_of_nesting() {
    for depth in 90..110 {
        check(&module_of(&format!("{} ld.u32 %r1, [%rd1-8];", "{".repeat(depth))));
        check(&module_of(&format!("mov.u32 %r1, {}[%rd1-8]", "{".repeat(depth))));
    }
}

#[test]
fn unified_may_stand_anywhere() {
    check(&module_of(
        "ld.global.unified.u32 %r1, [x].unified; ld.unified [x]; st [x].unified, [y].unified; add.unified;",
    ));
}

#[test]
fn an_address_behind_const_is_no_bank() {
    check(&module_of("ld.const [x+2]; ld.const[12] [y]; ld.const [3]; ld.const[3] %r1, [z];"));
}

#[test]
fn nesting_without_end_is_refused_once() {
    for (open, code) in [("{", "P011"), ("(", "P011"), ("[", "P011"), ("!", "P011"), ("- ", "P011"), ("1 ? ", "P011")] {
        let source = module_of(&format!("mov.u32 %r1, {};", open.repeat(200_000)));
        let (_, findings) = parse(&source);
        assert!(findings.iter().any(|finding| finding.code == code), "{open}: {findings:?}");
        assert!(findings.len() < 10, "{open}: {} findings", findings.len());
    }
    let source = module_of(&"{".repeat(200_000));
    assert!(parse(&source).1.iter().any(|finding| finding.code == "P011"));
}

#[test]
fn findings_beyond_a_limit_are_counted() {
    let source = module_of(&"foo;\n".repeat(1000));
    let (_, findings) = parse(&source);
    assert_eq!(findings.len(), 201);
    assert_eq!(findings.last().unwrap().message, "800 more findings are left out");
}
