//! Tokens of a listing.

use warplens_base::{Diagnostic, Span};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Letters, digits and underscores, starting with a letter or underscore.
    Word,
    /// An integer.
    Number(i64),
    /// A number that is no integer; stands only for an operand.
    Float,
    /// A mark or an operator.
    Mark(&'static str),
    /// The end of a statement.
    End,
}

/// A token with its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// Longest first, so that the first match is the right one.
const MARKS: &[&str] = &[
    "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", ".", ",", ":", "@", "!", "[", "]", "{", "}", "(", ")", "+", "-",
    "*", "/", "%", "&", "|", "^", "~", "<", ">", "=", "?",
];

/// Cuts a text into tokens; the last one is an [`Kind::End`].
pub(super) fn lex(text: &str) -> (Vec<Token>, Vec<Diagnostic>) {
    let mut lexer = Lexer { text, at: 0, depth: 0, tokens: Vec::new(), problems: Vec::new() };
    while lexer.at < text.len() {
        lexer.step();
    }
    lexer.push(Kind::End, lexer.at);
    (lexer.tokens, lexer.problems)
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    /// Open brackets: inside of them a line goes on.
    depth: u32,
    tokens: Vec<Token>,
    problems: Vec<Diagnostic>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn push(&mut self, kind: Kind, start: usize) {
        self.tokens.push(Token { kind, span: Span::new(start as u32, self.at as u32) });
    }

    /// Bytes from here on that fulfil a condition.
    fn run(&self, holds: impl Fn(u8) -> bool) -> usize {
        self.rest().bytes().take_while(|&byte| holds(byte)).count()
    }

    fn step(&mut self) {
        let start = self.at;
        let rest = self.rest();
        let first = rest.as_bytes()[0];
        if rest.starts_with("//") {
            self.at += self.run(|byte| byte != b'\n');
        } else if rest.starts_with("/*") {
            self.comment();
        } else if first == b';' || (first == b'\n' && self.depth == 0) {
            self.at += 1;
            // A statement that runs into the next one has forgotten a bracket.
            self.depth = 0;
            self.push(Kind::End, start);
        } else if first.is_ascii_whitespace() {
            self.at += 1;
        } else if first.is_ascii_digit() {
            self.number();
        } else if first.is_ascii_alphabetic() || first == b'_' {
            self.at += self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            self.push(Kind::Word, start);
        } else if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
            self.at += mark.len();
            match *mark {
                "[" | "{" | "(" => self.depth += 1,
                "]" | "}" | ")" => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.push(Kind::Mark(mark), start);
        } else {
            self.at += rest.chars().next().map_or(1, char::len_utf8);
            let span = Span::new(start as u32, self.at as u32);
            self.problems.push(Diagnostic::error("N001", span, "a listing has no such character"));
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        match self.rest().find("*/") {
            Some(length) => self.at += length + 2,
            None => {
                self.at = self.text.len();
                let span = Span::new(start as u32, start as u32 + 2);
                self.problems.push(Diagnostic::error("N002", span, "the comment does not end"));
            }
        }
    }

    fn number(&mut self) {
        let start = self.at;
        self.at += self.run(|byte| byte.is_ascii_alphanumeric());
        let word = &self.text[start..self.at];
        let hexadecimal = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
        let fraction = self.rest().strip_prefix('.').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if hexadecimal.is_none() && fraction {
            self.at += 1;
            self.at += self.run(|byte| byte.is_ascii_alphanumeric());
            return self.push(Kind::Float, start);
        }
        let value = match hexadecimal {
            Some(digits) => u64::from_str_radix(digits, 16).ok().map(u64::cast_signed),
            None => word.parse().ok(),
        };
        match value {
            Some(value) => self.push(Kind::Number(value), start),
            None => {
                let span = Span::new(start as u32, self.at as u32);
                self.problems.push(Diagnostic::error("N003", span, "this is no number of 64 bits"));
            }
        }
    }
}
