//! PTX: text to syntax tree and back, for the whole language from ISA 1.0 to 9.x.
//!
//! Main types: [`syntax::ast::Module`], [`opcodes::Opcode`], [`syntax::ast::Modifier`].
//! This crate does not know about files, launches or what instructions cost.

pub mod opcodes;
pub mod syntax;

pub mod lower;
