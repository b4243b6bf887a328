//! Lowering: literate cases, real modules, and that no text makes it panic.
//!
//! A `ptx` block of a case is a whole module if it starts with a directive of its own, else the body of a kernel with the
//! registers below. What comes out, operations or diagnostics, is the case's snapshot.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod common;

use common::{corpus, render};
use warplens_ir as ir;
use warplens_isa::Op;

const HEADER: &str = "\
.version 8.8
.target sm_100a
.address_size 64
";

const REGISTERS: &str = "\
.reg .pred %p<10>;
.reg .b16 %h<10>;
.reg .b32 %r<20>;
.reg .b64 %rd<20>;
.reg .b128 %q<4>;
.reg .f32 %f<10>;
.reg .f64 %d<10>;
.reg .s16 %s<4>;
";

/// The module of a block and whether it was written whole.
fn module_text(block: &str) -> (String, bool) {
    let starts_with = |prefix: &str| block.trim_start().starts_with(prefix);
    if starts_with(".version") {
        return (block.to_owned(), true);
    }
    if [".global", ".const", ".visible", ".entry", ".func", ".extern", ".weak", ".file"]
        .map(starts_with)
        .contains(&true)
    {
        return (format!("{HEADER}{block}"), true);
    }
    (
        format!(
            "{HEADER}.visible .entry kernel(.param .u64 pointer, .param .u32 number) {{\n{REGISTERS}{block}ret;\n}}\n"
        ),
        false,
    )
}

/// The dump of a module; of a kernel around a block only its blocks.
fn dump(module: &ir::Module, whole: bool) -> String {
    let text = ir::print(module);
    if whole {
        return text;
    }
    let body: Vec<&str> = text.lines().filter(|line| line.starts_with("    ") || line.starts_with("  b")).collect();
    match &body[..] {
        // One block that just returns: the operations alone tell everything.
        [_, operations @ .., ret, _] if !operations.iter().any(|line| line.trim_start().starts_with("->")) => {
            assert_eq!(ret.trim(), "Ret.pred");
            operations.iter().map(|line| format!("{}\n", line.trim())).collect()
        }
        lines => lines.iter().map(|line| format!("{}\n", line.trim_end())).collect(),
    }
}

#[test]
fn literate_cases() {
    warplens_literate::check_directory(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lower"), |case, outcome| {
        for block in case.blocks_in("ptx") {
            let (text, whole) = module_text(&block.text);
            let (module, findings) = warplens_ptx::load(&text);
            let mut output = render_short(&text, &findings);
            if let Some(module) = &module {
                for violation in ir::verify(module) {
                    outcome.fail(block.line, violation.to_string());
                }
                output += &dump(module, whole);
            }
            outcome.snapshot(output);
        }
    });
}

/// Findings without their place in the wrapper: it would change with every register declared there.
fn render_short(text: &str, findings: &[warplens_base::Diagnostic]) -> String {
    let rendered = render(text, findings);
    rendered
        .lines()
        .map(|line| match line.split_once(": ") {
            Some((head, rest)) if head.starts_with("error[") || head.starts_with("warning[") => {
                let code = head.split(' ').next().unwrap();
                let place = head.split_once('`').map_or("", |(_, place)| place.trim_end_matches('`'));
                format!("{code} `{place}`: {rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect()
}

/// PTX files below a folder of the repository, if it is there.
fn ptx_files(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "ptx") {
                found.push((path.display().to_string(), std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Real modules of compilers of several ages. `language.ptx` tests the grammar and has calls that make no sense.
fn real_modules() -> Vec<(String, String)> {
    let mut modules = corpus();
    modules.retain(|(name, _)| name != "language.ptx");
    for folder in ["crates/ptx/tests/lower", "examples", "crates/exec/tests/data", "crates/ir/tests/data"] {
        modules.extend(ptx_files(folder));
    }
    modules
}

#[test]
fn real_modules_lower_to_what_the_verifier_accepts() {
    for (name, text) in real_modules() {
        let (module, findings) = warplens_ptx::load(&text);
        let errors: Vec<_> = findings.iter().filter(|finding| finding.is_error()).cloned().collect();
        let module = module.unwrap_or_else(|| panic!("{name}:\n{}", render(&text, &errors)));
        let violations: Vec<String> = ir::verify(&module).iter().map(ToString::to_string).collect();
        assert!(violations.is_empty(), "{name}: {violations:#?}");
    }
}

/// Opcodes that the corpus may have but that the emulator is known to lack.
const KNOWN_GAPS: &[&str] = &[
    "barrier.cluster",
    "cp.",
    "mapa",
    "mbarrier",
    "mma",
    "tcgen05",
    "getctarank",
    "multimem",
    "tensormap",
    "clusterlaunchcontrol",
    "call",
    "red.async",
];

#[test]
fn real_modules_need_nothing_unknown() {
    for (name, text) in real_modules() {
        let (Some(module), _) = warplens_ptx::load(&text) else { panic!("{name} does not load") };
        for block in module.blocks.as_slice() {
            for inst in block.insts.iter().filter(|inst| inst.op() == Op::Unsupported) {
                let opcode = module.spelling(inst.pc).to_string();
                assert!(KNOWN_GAPS.iter().any(|gap| opcode.starts_with(gap)), "{name}: `{opcode}` is not lowered");
            }
        }
    }
}

#[test]
fn every_instruction_has_its_program_counter() {
    for (name, text) in real_modules() {
        let (Some(module), _) = warplens_ptx::load(&text) else { panic!("{name} does not load") };
        for (pc, info) in module.pcs.iter() {
            let owner = &module.functions[info.function];
            let inside = owner.block_ids().any(|block| module.blocks[block].insts.iter().any(|inst| inst.pc == pc));
            // An implicit return stands at the closing brace.
            let opcode = module.spelling(pc).to_string();
            let written = text[info.span.range()].contains(&opcode) || &text[info.span.range()] == "}";
            assert!(inside && (written || opcode == "ld.param"), "{name}: {pc} `{opcode}`");
            // What is read back from saved text is what the syntax tree says.
            assert_eq!(module.key(pc), warplens_ptx::spelling(&opcode).key, "{opcode}");
        }
    }
}

mod mutation {
    use super::real_modules;
    use proptest::prelude::*;

    /// Small real modules: lowering the large ones thousands of times would take minutes.
    fn small_modules() -> Vec<String> {
        let modules: Vec<String> =
            real_modules().into_iter().map(|(_, text)| text).filter(|text| text.len() < 12_000).collect();
        assert!(modules.len() > 3, "the corpus is gone");
        modules
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        /// Words of a real module exchanged for others of it: the result is mostly wrong, and never a panic. What still
        /// lowers satisfies the verifier.
        #[test]
        fn exchanged_words_never_panic(choice in any::<prop::sample::Index>(), swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6)) {
            let modules = small_modules();
            let text = choice.get(&modules);
            let mut words: Vec<&str> = text.split_inclusive([' ', '\t', '\n', ',', ';', '.']).collect();
            for (from, to) in swaps {
                let (from, to) = (from.index(words.len()), to.index(words.len()));
                words[from] = words[to];
            }
            let (module, findings) = warplens_ptx::load(&words.concat());
            match module {
                Some(module) => prop_assert!(warplens_ir::verify(&module).is_empty()),
                None => prop_assert!(findings.iter().any(warplens_base::Diagnostic::is_error)),
            }
        }
    }
}
