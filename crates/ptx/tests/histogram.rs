//! Every opcode form, directive and special register that 2,730 real files hold.

#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod common;

use common::{data_folder, head, module_of, render, sample_operands};
use warplens_ptx::opcodes::Opcode;
use warplens_ptx::syntax::ast::Modifier;
use warplens_ptx::syntax::special::SpecialRegister;
use warplens_ptx::syntax::{parse, print};

/// The names of one level of the histogram.
fn level(level: &str) -> Vec<String> {
    let text = std::fs::read_to_string(data_folder().join("opcode_histogram.csv")).unwrap();
    let row = |line: &str| {
        let mut cells = line.split(',');
        (cells.next() == Some(level)).then(|| cells.next().unwrap().to_owned())
    };
    text.lines().filter_map(row).collect()
}

fn language() -> String {
    std::fs::read_to_string(data_folder().join("language.ptx")).unwrap()
}

/// One file of the histogram probes a compiler with `setp` and a single name that is not its own; those names have to be
/// known, but not on `setp`.
fn is_probe(form: &str) -> bool {
    let Some(name) = form.strip_prefix("setp.") else { return false };
    !name.contains('.')
}

#[test]
fn every_base_opcode_is_known() {
    let names = level("base");
    assert_eq!(names.len(), 91);
    for name in names {
        assert!(Opcode::from_name(&name).is_some(), "{name}");
    }
}

#[test]
fn every_form_is_accepted() {
    let forms = level("full");
    assert_eq!(forms.len(), 1787);
    let mut n_probes = 0;
    for form in forms {
        let names: Vec<&str> = form.split('.').collect();
        if is_probe(&form) {
            n_probes += 1;
            assert!(Modifier::from_name(names[1]).is_some(), "{form}");
            continue;
        }
        let opcode = Opcode::from_name(names[0]).unwrap();
        let modifiers: Vec<Modifier> =
            names[1..].iter().map(|name| Modifier::from_name(name).unwrap_or(Modifier::Unknown)).collect();
        let table = opcode.form(&modifiers).unwrap();
        let operands = sample_operands(table);
        let source = module_of(&format!("{form} {};", operands.last().unwrap()));
        let (module, findings) = parse(&source);
        assert!(findings.is_empty(), "{form}: {}", render(&source, &findings));
        let printed = print(&module);
        assert!(printed.contains(&format!("{form} ")) || printed.contains(&format!("{form};")), "{form}: {printed}");
    }
    assert!(n_probes > 500, "{n_probes}");
}

#[test]
fn every_directive_and_special_register_is_accepted() {
    // That the file parses without a finding is checked with the rest of the corpus.
    let language = language();
    for name in level("directive") {
        assert!(language.contains(&format!(".{name}")), ".{name} is missing in language.ptx");
    }
    for name in level("sreg") {
        assert!(SpecialRegister::from_name(&format!("%{name}")).is_some(), "%{name}");
        assert!(language.contains(&format!("%{name}")), "%{name} is missing in language.ptx");
    }
}

#[test]
fn every_form_of_the_table_parses_and_prints_back() {
    let mut n_instructions = 0;
    for opcode in Opcode::ALL {
        for form in opcode.forms() {
            for operands in sample_operands(form) {
                let text = format!("{} {operands}", head(*opcode, form));
                let source = module_of(&format!("{text};"));
                let (module, findings) = parse(&source);
                assert!(findings.is_empty(), "{text}: {}", render(&source, &findings));
                assert!(print(&module).contains(&format!("    {};\n", text.trim_end())), "{text}: {}", print(&module));
                n_instructions += 1;
            }
        }
    }
    assert!(n_instructions > 250, "{n_instructions}");
}

#[test]
fn every_allowed_name_is_accepted_and_others_are_reported() {
    for opcode in Opcode::ALL {
        for form in opcode.forms() {
            let operands = sample_operands(form).pop().unwrap();
            let head = head(*opcode, form);
            for modifier in Modifier::ALL {
                let source = module_of(&format!("{head}.{} {operands};", modifier.name()));
                let (_, findings) = parse(&source);
                let named = |code: &&str| matches!(*code, "P071" | "P072" | "P073");
                let codes: Vec<&str> = findings.iter().map(|finding| finding.code).filter(named).collect();
                let mut all = form.needs.clone();
                all.push(*modifier);
                let same_form = opcode.form(&all).is_some_and(|other| std::ptr::eq(other, form));
                if same_form && form.allowed.contains(*modifier) {
                    assert!(codes.is_empty(), "{}: {}", source, render(&source, &findings));
                } else if same_form {
                    assert!(!codes.is_empty(), "{head}.{} is accepted", modifier.name());
                }
            }
        }
    }
}
