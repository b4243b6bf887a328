//! Text to tree and back: lexer, syntax tree, parser, printer.
//!
//! Nothing here knows what an instruction means; [`crate::opcodes`] says what it may look like.

pub mod ast;
mod keywords;
pub mod modifiers;

pub(crate) use keywords::KeywordMap;
