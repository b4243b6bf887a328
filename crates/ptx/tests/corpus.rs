//! Real and hand-written modules: nothing to report, and printing is a fixpoint.

#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod common;

use common::{assert_fixpoint, corpus};
use warplens_ptx::syntax::ast::{Body, Item, Statement};
use warplens_ptx::syntax::lexer::{Lexer, TokenKind};
use warplens_ptx::syntax::{dump_tokens, parse, print_instruction};

#[test]
fn printing_is_a_fixpoint() {
    for (name, source) in corpus() {
        assert_fixpoint(&name, &source);
    }
}

#[test]
fn line_ends_of_other_systems_change_nothing() {
    for (name, source) in corpus() {
        let source = source.replace('\n', "\r\n");
        assert_fixpoint(&name, &source);
    }
}

#[test]
fn spans_point_at_what_they_name() {
    for (name, source) in corpus() {
        let (module, _) = parse(&source);
        for item in &module.items {
            let Item::Function(function) = item else { continue };
            assert_eq!(&source[function.name.span.range()], function.name.text, "{name}");
            if let Some(body) = &function.body {
                assert!(source[body.span.range()].starts_with('{') && source[body.span.range()].ends_with('}'));
                check_spans(&source, &body.statements, body);
            }
        }
    }
}

fn check_spans(source: &str, statements: &[Statement<'_>], body: &Body<'_>) {
    for statement in statements {
        match statement {
            Statement::Block(block) => check_spans(source, &block.statements, body),
            Statement::Label(label) => assert_eq!(&source[label.span.range()], label.text),
            Statement::Instruction(instruction) => {
                let text = &source[instruction.span.range()];
                assert!(source[instruction.opcode_span.range()].starts_with(instruction.opcode.name()), "{text}");
                // An instruction on its own, cut out by its span, is the same instruction.
                let module = common::module_of(&format!("{text};"));
                let (module, _) = parse(&module);
                let Some(Item::Function(function)) = module.items.first() else { panic!("no function around {text}") };
                let alone = function.body.as_ref().unwrap();
                let Some(Statement::Instruction(again)) = alone.statements.first() else { panic!("nothing in {text}") };
                assert_eq!(print_instruction(again, alone), print_instruction(instruction, body));
                for operand in body.operands(instruction) {
                    assert!(
                        operand.span.start >= instruction.opcode_span.end && operand.span.end <= instruction.span.end
                    );
                }
            }
            _ => {}
        }
    }
}

#[test]
fn tokens_cover_everything_but_blanks_and_comments() {
    for (name, source) in corpus() {
        let mut lexer = Lexer::new(&source);
        let mut end = 0;
        loop {
            let token = lexer.next_token();
            let between = &source[end as usize..token.start as usize];
            let blank = between.lines().all(|line| {
                let line = line.trim();
                line.is_empty() || line.starts_with("//") || line.starts_with("/*") || line.ends_with("*/")
            });
            assert!(blank, "{name}: {between:?} is no token");
            if token.kind == TokenKind::End {
                break;
            }
            assert!(token.end > token.start);
            end = token.end;
        }
        assert!(lexer.diagnostics.is_empty(), "{name}");
        assert!(dump_tokens(&source).lines().count() > 20);
    }
}
