//! Bytes to tokens, without allocation: a token is a kind and a span of the source.
//!
//! Dotted names are one token (`.shared::cta`), as are numbers in every notation; what a number means is decided by the
//! parser, which knows whether `8.0` is a version.

use warplens_base::{Diagnostic, Span};

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenKind {
    /// End of the text.
    End,
    /// A name, with its `%` or `$`.
    Ident,
    /// A dot and a name: `.f32`, `.2d`, `.shared::cta`.
    Dotted,
    /// A number in any notation.
    Number,
    /// A string with its quotes.
    String,
    /// `@@DWARF` and the rest of its line.
    Dwarf,
    /// `;`
    Semicolon,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// `{`
    LeftBrace,
    /// `}`
    RightBrace,
    /// `[`
    LeftBracket,
    /// `]`
    RightBracket,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `@`
    At,
    /// `=`
    Assign,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `!`
    Bang,
    /// `~`
    Tilde,
    /// `&`
    And,
    /// `|`
    Pipe,
    /// `^`
    Caret,
    /// `?`
    Question,
    /// `<`
    Less,
    /// `>`
    Greater,
    /// `<=`
    LessEqual,
    /// `>=`
    GreaterEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `&&`
    AndAnd,
    /// `||`
    PipePipe,
    /// A character that the language does not have; reported by the lexer.
    Unknown,
}

/// A kind and a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Token {
    /// Where the token stands.
    pub fn span(self) -> Span {
        Span::new(self.start, self.end)
    }
}

const SPACE: u8 = 1;
const WORD: u8 = 2;
const DIGIT: u8 = 4;
const WORD_START: u8 = 8;

/// What a byte can be part of.
static CLASS: [u8; 256] = {
    let mut class = [0u8; 256];
    let mut byte = 0usize;
    while byte < 256 {
        let ch = byte as u8;
        class[byte] = match ch {
            b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c => SPACE,
            b'0'..=b'9' => WORD | DIGIT,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => WORD | WORD_START,
            _ => 0,
        };
        byte += 1;
    }
    class
};

fn class(byte: u8) -> u8 {
    CLASS[usize::from(byte)]
}

/// Turns a text into tokens, one call at a time.
pub struct Lexer<'src> {
    bytes: &'src [u8],
    at: usize,
    /// Findings so far: characters, comments and strings that are not of the language.
    pub diagnostics: Vec<Diagnostic>,
}

impl<'src> Lexer<'src> {
    /// A lexer at the start of `source`, which must be shorter than 4 GiB (see [`Lexer::fits`]).
    pub fn new(source: &'src str) -> Self {
        Self { bytes: source.as_bytes(), at: 0, diagnostics: Vec::new() }
    }

    /// True when the spans of `source` can be expressed.
    pub fn fits(source: &str) -> bool {
        u32::try_from(source.len()).is_ok_and(|len| len < u32::MAX)
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The next token; [`TokenKind::End`] for ever after the last.
    pub fn next_token(&mut self) -> Token {
        self.skip_blank();
        let start = self.at;
        let Some(&first) = self.bytes.get(start) else { return self.token(TokenKind::End, start) };
        let kind = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => {
                self.at += 1;
                self.skip_word();
                TokenKind::Ident
            }
            b'%' => {
                self.at += 1;
                if class(self.byte(self.at)) & WORD == 0 {
                    TokenKind::Percent
                } else {
                    self.skip_word();
                    TokenKind::Ident
                }
            }
            b'.' if class(self.byte(start + 1)) & WORD != 0 => {
                self.skip_dotted();
                TokenKind::Dotted
            }
            b'0'..=b'9' => {
                self.skip_number();
                TokenKind::Number
            }
            b'"' => self.string(),
            b'@' if self.byte(start + 1) == b'@' => {
                while self.at < self.bytes.len() && self.bytes[self.at] != b'\n' {
                    self.at += 1;
                }
                TokenKind::Dwarf
            }
            _ => self.punctuation(first),
        };
        self.token(kind, start)
    }

    /// The token that the next call will return.
    pub fn peek(&mut self) -> Token {
        let (at, n_diagnostics) = (self.at, self.diagnostics.len());
        let token = self.next_token();
        self.at = at;
        self.diagnostics.truncate(n_diagnostics);
        token
    }

    /// Continues at byte `at`, which must lie inside of the last token.
    pub(crate) fn rewind(&mut self, at: u32) {
        self.at = at as usize;
    }

    fn token(&self, kind: TokenKind, start: usize) -> Token {
        Token { kind, start: start as u32, end: self.at as u32 }
    }

    fn skip_word(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at)
            && class(byte) & WORD != 0
        {
            self.at += 1;
        }
    }

    /// A dot, a word, and further words after `::`; the last may be a ratio as in `.sp::2:4`.
    fn skip_dotted(&mut self) {
        self.at += 1;
        self.skip_word();
        while self.byte(self.at) == b':' {
            if self.byte(self.at + 1) == b':' && class(self.byte(self.at + 2)) & WORD != 0 {
                self.at += 2;
            } else if self.byte(self.at - 1).is_ascii_digit()
                && self.byte(self.at - 2) == b':'
                && self.byte(self.at + 1).is_ascii_digit()
            {
                self.at += 1;
            } else {
                return;
            }
            self.skip_word();
        }
    }

    /// Digits and letters, then a fraction and an exponent where the number is a decimal one.
    fn skip_number(&mut self) {
        let start = self.at;
        self.skip_word();
        let is_decimal = |range: &[u8]| range.iter().all(u8::is_ascii_digit);
        if self.byte(self.at) == b'.'
            && is_decimal(&self.bytes[start..self.at])
            && class(self.byte(self.at + 1)) & WORD_START == 0
        {
            self.at += 1;
            self.skip_word();
        }
        let signed = matches!(self.byte(self.at), b'+' | b'-') && self.byte(self.at + 1).is_ascii_digit();
        if signed && matches!(self.byte(self.at - 1), b'e' | b'E') {
            let mantissa = &self.bytes[start..self.at - 1];
            if mantissa.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') {
                self.at += 1;
                self.skip_word();
            }
        }
    }

    fn string(&mut self) -> TokenKind {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return TokenKind::String;
                }
                Some(b'\\') if !matches!(self.byte(self.at + 1), 0 | b'\n') => {
                    self.at += 1 + self.char_len(self.at + 1)
                }
                None | Some(b'\n') => {
                    let span = Span::new(start as u32, self.at as u32);
                    self.diagnostics.push(
                        Diagnostic::error("L003", span, "string without a closing quote")
                            .with_help("close it with `\"` on the same line"),
                    );
                    return TokenKind::Unknown;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// Bytes of the character at `at`.
    fn char_len(&self, at: usize) -> usize {
        match self.byte(at) {
            0xf0.. => 4,
            0xe0.. => 3,
            0xc0.. => 2,
            _ => 1,
        }
    }

    fn skip_blank(&mut self) {
        while let Some(&byte) = self.bytes.get(self.at) {
            if class(byte) & SPACE != 0 {
                self.at += 1;
            } else if byte == b'/' && self.byte(self.at + 1) == b'/' {
                self.skip_line();
            } else if byte == b'/' && self.byte(self.at + 1) == b'*' {
                self.skip_comment();
            } else {
                return;
            }
        }
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }

    fn skip_comment(&mut self) {
        let start = self.at;
        let rest = &self.bytes[start + 2..];
        match rest.windows(2).position(|pair| pair == b"*/") {
            Some(len) => self.at = start + 2 + len + 2,
            None => {
                self.at = self.bytes.len();
                let span = Span::new(start as u32, start as u32 + 2);
                self.diagnostics.push(
                    Diagnostic::error("L002", span, "comment without an end")
                        .with_label("the comment starts here")
                        .with_help("close it with `*/`"),
                );
            }
        }
    }

    fn punctuation(&mut self, first: u8) -> TokenKind {
        use TokenKind::*;
        let (kind, len) = match (first, self.byte(self.at + 1)) {
            (b';', _) => (Semicolon, 1),
            (b',', _) => (Comma, 1),
            (b':', _) => (Colon, 1),
            (b'{', _) => (LeftBrace, 1),
            (b'}', _) => (RightBrace, 1),
            (b'[', _) => (LeftBracket, 1),
            (b']', _) => (RightBracket, 1),
            (b'(', _) => (LeftParen, 1),
            (b')', _) => (RightParen, 1),
            (b'@', _) => (At, 1),
            (b'+', _) => (Plus, 1),
            (b'-', _) => (Minus, 1),
            (b'*', _) => (Star, 1),
            (b'/', _) => (Slash, 1),
            (b'~', _) => (Tilde, 1),
            (b'^', _) => (Caret, 1),
            (b'?', _) => (Question, 1),
            (b'=', b'=') => (Equal, 2),
            (b'=', _) => (Assign, 1),
            (b'!', b'=') => (NotEqual, 2),
            (b'!', _) => (Bang, 1),
            (b'&', b'&') => (AndAnd, 2),
            (b'&', _) => (And, 1),
            (b'|', b'|') => (PipePipe, 2),
            (b'|', _) => (Pipe, 1),
            (b'<', b'<') => (ShiftLeft, 2),
            (b'<', b'=') => (LessEqual, 2),
            (b'<', _) => (Less, 1),
            (b'>', b'>') => (ShiftRight, 2),
            (b'>', b'=') => (GreaterEqual, 2),
            (b'>', _) => (Greater, 1),
            _ => return self.unknown(),
        };
        self.at += len;
        kind
    }

    /// Characters that the language does not have: one finding for a run of them.
    fn unknown(&mut self) -> TokenKind {
        let start = self.at;
        self.at += self.char_len(start);
        while let Some(&byte) = self.bytes.get(self.at)
            && (byte >= 0x80 || byte == 0)
        {
            self.at += 1;
        }
        let span = Span::new(start as u32, self.at as u32);
        let what = match self.bytes[start] {
            0 => "a NUL byte".to_owned(),
            byte @ 0x80.. => format!("a character outside of ASCII (first byte 0x{byte:02x})"),
            byte => format!("`{}`", char::from(byte).escape_default()),
        };
        self.diagnostics.push(
            Diagnostic::error("L001", span, format!("{what} has no meaning in PTX"))
                .with_help("remove it; other characters may stand in comments and strings only"),
        );
        TokenKind::Unknown
    }
}
