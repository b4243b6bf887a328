//! Text to tree and back: lexer, syntax tree, parser, printer.
//!
//! Nothing here knows what an instruction means; [`crate::opcodes`] says what it may look like.

pub mod ast;
pub mod dump;
mod keywords;
pub mod lexer;
pub mod modifiers;
mod nearest;
pub mod parser;
pub mod printer;
pub mod special;

pub use dump::{dump_ast, dump_tokens};
pub use parser::parse;
pub use printer::{print, print_instruction};

pub(crate) use keywords::KeywordMap;
