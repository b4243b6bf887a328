//! Text to tree and back: lexer, syntax tree, parser, printer.
//!
//! Nothing here knows what an instruction means; [`crate::opcodes`] says what it may look like.
//!
//! # Codes of findings
//!
//! | code | finding |
//! |---|---|
//! | L001 | character without a meaning |
//! | L002 | comment without an end |
//! | L003 | string without an end |
//! | P001 | text too large |
//! | P002 | number of findings that are left out (warning) |
//! | P010 | something else was expected here |
//! | P011 | nested too deep |
//! | P012 | missing semicolon |
//! | P013 | closing brace without an opening one |
//! | P014 | no `.version` |
//! | P015 | no `.target` |
//! | P016 | malformed version |
//! | P017 | version newer than the opcode table (warning) |
//! | P018 | address size other than 32 and 64 |
//! | P019 | unknown or misplaced directive |
//! | P020 | an integer is needed |
//! | P021 | number out of range |
//! | P022 | constant expression without a value |
//! | P023 | operator that takes integers |
//! | P024 | malformed number |
//! | P030 | selector of no part of a register |
//! | P031 | malformed address |
//! | P040 | too many names after an opcode |
//! | P041 | constant bank beyond 10 |
//! | P050 | end of file inside of a scope |
//! | P051 | target list or prototype without a label |
//! | P052 | linkage inside of a function (warning) |
//! | P053 | function inside of a function |
//! | P060 | declaration without a type |
//! | P061 | declaration without a state space |
//! | P062 | alignment that is no power of two |
//! | P063 | `@@` without `DWARF` |
//! | P070 | unknown instruction (warning for a future version) |
//! | P071 | unknown modifier (likewise) |
//! | P072 | type that the instruction does not have (likewise) |
//! | P073 | modifier that the instruction does not have (likewise) |
//! | P074 | missing type |
//! | P075 | wrong number of operands |
//! | P076 | wrong kind of operand |
//! | P077 | form newer than the module's version (warning) |

pub mod ast;
pub mod dump;
mod keywords;
pub mod lexer;
pub mod modifiers;
pub mod parser;
pub mod printer;
pub mod special;

pub use dump::{dump_ast, dump_tokens};
pub use parser::parse;
pub use printer::{print, print_instruction};

pub(crate) use keywords::KeywordMap;
