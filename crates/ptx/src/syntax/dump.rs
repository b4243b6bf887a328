//! Tokens and trees as text for people who look for a mistake.

use std::fmt::Write;

use warplens_base::{LineIndex, Span};

use super::ast::{Body, FunctionDirective, Instruction, Item, Module, Statement};
use super::lexer::{Lexer, TokenKind};
use super::printer::print_instruction;

/// One line per token: line and column, kind, text.
pub fn dump_tokens(source: &str) -> String {
    let mut out = String::new();
    if !Lexer::fits(source) {
        return out;
    }
    let index = LineIndex::new(source);
    let mut lexer = Lexer::new(source);
    loop {
        let token = lexer.next_token();
        let (line, column) = index.line_column(token.start);
        let text = source.get(token.span().range()).unwrap_or_default();
        let _ = writeln!(out, "{line}:{column} {:?} {text}", token.kind);
        if token.kind == TokenKind::End {
            return out;
        }
    }
}

/// The tree, one node per line, indented by depth. With `spans` each node says its bytes; without, trees of the same
/// meaning from different texts are the same.
pub fn dump_ast(module: &Module<'_>, spans: bool) -> String {
    let mut dump = Dump { out: String::new(), spans };
    dump.module(module);
    dump.out
}

struct Dump {
    out: String,
    spans: bool,
}

impl Dump {
    fn line(&mut self, depth: usize, span: Option<Span>, text: impl std::fmt::Display) {
        let _ = write!(self.out, "{:1$}{text}", "", depth * 2);
        match span.filter(|_| self.spans) {
            Some(span) => {
                let _ = writeln!(self.out, " @{}..{}", span.start, span.end);
            }
            None => self.out.push('\n'),
        }
    }

    fn module(&mut self, module: &Module<'_>) {
        if let Some(version) = module.version {
            self.line(0, Some(version.span), format_args!("version {}.{}", version.major, version.minor));
        }
        for target in &module.targets {
            self.line(0, Some(target.span), format_args!("target {}", target.text));
        }
        if let Some(size) = module.address_size {
            self.line(0, None, format_args!("address_size {size}"));
        }
        for item in &module.items {
            match item {
                Item::Function(function) => {
                    let text = format!(
                        "function {:?} {:?} {} attributes {}",
                        function.kind,
                        function.linkage,
                        function.name.text,
                        function.attributes.len()
                    );
                    self.line(0, Some(function.span), text);
                    for (what, list) in [("returns", &function.returns), ("parameter", &function.parameters)] {
                        for parameter in list {
                            self.line(1, Some(parameter.name.span), format_args!("{what} {parameter}"));
                        }
                    }
                    for directive in &function.directives {
                        match directive {
                            FunctionDirective::ReqNCtaPerCluster(extent, span) => {
                                self.line(1, Some(*span), format_args!("ReqNCtaPerCluster({extent:?})"));
                            }
                            FunctionDirective::ExplicitCluster(span) => {
                                self.line(1, Some(*span), format_args!("ExplicitCluster"));
                            }
                            directive => self.line(1, None, format_args!("{directive:?}")),
                        }
                    }
                    if let Some(body) = &function.body {
                        self.line(1, Some(body.span), "body");
                        self.statements(2, &body.statements, body);
                    }
                }
                Item::Variable(variable) => self.line(0, Some(variable.span), format_args!("variable {variable}")),
                Item::Alias(alias) => {
                    self.line(
                        0,
                        Some(alias.name.span),
                        format_args!("alias {} {}", alias.name.text, alias.target.text),
                    );
                }
                Item::Pragma(pragma) => self.line(0, Some(pragma.span), format_args!("pragma {:?}", pragma.strings)),
                Item::File(file) => self.line(0, Some(file.span), format_args!("{file}")),
                Item::Section(section) => self.line(0, Some(section.name.span), format_args!("{section}")),
                Item::Dwarf(line) => self.line(0, Some(line.span), format_args!("dwarf {}", line.text)),
            }
        }
    }

    fn statements(&mut self, depth: usize, statements: &[Statement<'_>], body: &Body<'_>) {
        for statement in statements {
            match statement {
                Statement::Instruction(instruction) => self.instruction(depth, instruction, body),
                Statement::Label(label) => self.line(depth, Some(label.span), format_args!("label {}", label.text)),
                Statement::Variable(variable) => {
                    self.line(depth, Some(variable.span), format_args!("variable {variable}"));
                }
                Statement::Loc(loc) => self.line(depth, Some(loc.span), format_args!("{loc}")),
                Statement::Block(block) => {
                    self.line(depth, Some(block.span), "block");
                    self.statements(depth + 1, &block.statements, body);
                }
                Statement::Pragma(pragma) => self.line(depth, Some(pragma.span), format_args!("{pragma}")),
                Statement::BranchTargets(targets) | Statement::CallTargets(targets) => {
                    let names: Vec<&str> = targets.targets.iter().map(|target| target.text).collect();
                    self.line(
                        depth,
                        Some(targets.label.span),
                        format_args!("targets {} {names:?}", targets.label.text),
                    );
                }
                Statement::CallPrototype(prototype) => {
                    self.line(depth, Some(prototype.label.span), format_args!("{prototype}"));
                }
                Statement::Dwarf(line) => self.line(depth, Some(line.span), format_args!("dwarf {}", line.text)),
            }
        }
    }

    fn instruction(&mut self, depth: usize, instruction: &Instruction<'_>, body: &Body<'_>) {
        self.line(depth, Some(instruction.span), print_instruction(instruction, body));
        self.line(
            depth + 1,
            Some(instruction.opcode_span),
            format_args!("{:?} {:?}", instruction.opcode, instruction.modifiers),
        );
        for operand in body.operands(instruction) {
            let kind = format!("{:?}", operand.kind);
            let name = kind.split('(').next().unwrap_or_default();
            self.line(depth + 1, Some(operand.span), format_args!("{name} {operand}"));
        }
    }
}
