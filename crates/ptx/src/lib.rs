//! PTX: text to syntax tree and back, for the whole language from ISA 1.0 to 9.x, and to the kernel representation.
//!
//! Main types: [`syntax::ast::Module`], [`opcodes::Opcode`], [`syntax::ast::Modifier`]. [`load`] goes all the way;
//! [`spelling`] says what a single opcode is. This crate does not know about files, launches or what instructions cost.

pub mod lower;
pub mod opcodes;
pub mod syntax;

pub use lower::{Scope, lower, spelling};

use warplens_base::{Diagnostic, Span};

/// Parses and lowers a PTX module. The result is missing when a diagnostic is an error.
pub fn load(text: &str) -> (Option<warplens_ir::Module>, Vec<Diagnostic>) {
    load_as(text, Scope::Whole)
}

/// The same for a module that is to be linked with others.
pub fn load_part(text: &str) -> (Option<warplens_ir::Module>, Vec<Diagnostic>) {
    load_as(text, Scope::Part)
}

fn load_as(text: &str, scope: Scope) -> (Option<warplens_ir::Module>, Vec<Diagnostic>) {
    let (ast, mut diagnostics) = syntax::parse(text);
    let failed = diagnostics.iter().any(Diagnostic::is_error);
    let (module, found) = lower(&ast, text, scope);
    // What the parser has complained about needs no second complaint.
    let known: Vec<Span> = diagnostics.iter().filter(|it| it.is_error()).map(|it| it.primary.span).collect();
    let overlaps = |span: Span| known.iter().any(|other| span.start < other.end && other.start < span.end);
    diagnostics.extend(found.into_iter().filter(|it| !overlaps(it.primary.span)));
    (module.filter(|_| !failed), diagnostics)
}
