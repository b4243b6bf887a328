//! Operands: registers, constants, addresses, vectors, pairs and argument lists.

use warplens_base::{Diagnostic, Span};

use super::{Failed, Parsed, Parser, shortened};
use crate::syntax::ast::{Address, Lanes, Operand, OperandKind, Selector};
use crate::syntax::lexer::{Token, TokenKind};

impl<'src> Parser<'src> {
    /// One operand, or a pair `p|q`.
    pub(super) fn operand(&mut self) -> Parsed<Operand<'src>> {
        let first = self.single_operand()?;
        if !self.at(TokenKind::Pipe) {
            return Ok(first);
        }
        self.advance();
        let second = self.single_operand()?;
        let span = first.span.to(second.span);
        Ok(Operand { kind: OperandKind::Pair(Box::new([first, second])), span })
    }

    fn single_operand(&mut self) -> Parsed<Operand<'src>> {
        let start = self.token.start;
        let kind = match self.token.kind {
            TokenKind::Ident => self.named_operand()?,
            TokenKind::LeftBracket => self.address()?,
            TokenKind::LeftBrace => {
                self.advance();
                self.open_braces += 1;
                let elements = self.operand_list(TokenKind::RightBrace, "`,` or `}`")?;
                self.open_braces -= 1;
                OperandKind::Vector(elements)
            }
            TokenKind::Bang | TokenKind::Minus => self.signed_operand()?,
            TokenKind::Number | TokenKind::LeftParen | TokenKind::Tilde | TokenKind::Plus => {
                OperandKind::Immediate(self.constant()?)
            }
            _ => return Err(self.expected("an operand")),
        };
        Ok(Operand { kind, span: self.span_from(start) })
    }

    /// `name`, `name.x`, `name+4`, `name[2]`, `_` or `WARP_SZ`.
    fn named_operand(&mut self) -> Parsed<OperandKind<'src>> {
        let token = self.token;
        let text = self.text(token);
        if text == "WARP_SZ" {
            return Ok(OperandKind::Immediate(self.constant()?));
        }
        self.advance();
        if text == "_" {
            return Ok(OperandKind::Sink);
        }
        match self.token.kind {
            TokenKind::Dotted => Ok(OperandKind::Selected(text, self.selector()?)),
            TokenKind::Plus | TokenKind::Minus => {
                let offset = self.offset()?;
                Ok(if offset == 0 { OperandKind::Name(text) } else { OperandKind::Offset(text, offset) })
            }
            TokenKind::LeftBracket => {
                self.advance();
                let index = self.integer("an array index")?;
                self.expect(TokenKind::RightBracket, "`]`")?;
                Ok(OperandKind::Element(text, index))
            }
            _ => Ok(OperandKind::Name(text)),
        }
    }

    /// `!p`, `-%r1.h0`, or a constant with a sign.
    fn signed_operand(&mut self) -> Parsed<OperandKind<'src>> {
        let sign = self.token;
        let next = self.peek();
        if next.kind != TokenKind::Ident || self.text(next) == "WARP_SZ" {
            return Ok(OperandKind::Immediate(self.constant()?));
        }
        self.advance();
        let name = self.take();
        if sign.kind == TokenKind::Bang {
            return Ok(OperandKind::Not(name));
        }
        let selector = if self.at(TokenKind::Dotted) { Some(self.selector()?) } else { None };
        Ok(OperandKind::Negated(name, selector))
    }

    /// The part of a register that a dotted name selects.
    fn selector(&mut self) -> Parsed<Selector> {
        let token = self.advance();
        let text = self.text(token);
        selector(text).ok_or_else(|| {
            self.report(
                Diagnostic::error("P030", token.span(), format!("`{}` selects no part of a register", shortened(text)))
                    .with_help("components are .x .y .z .w or .r .g .b .a; bytes .b0 to .b7; half-words .h0 to .h3"),
            );
            Failed
        })
    }

    /// `+4`, `-4` or `+-4`, of one term or more.
    pub(super) fn offset(&mut self) -> Parsed<i64> {
        let mut sum = 0i64;
        while matches!(self.token.kind, TokenKind::Plus | TokenKind::Minus) {
            let negative = self.at(TokenKind::Minus);
            self.advance();
            let term = self.term()?;
            sum = if negative { sum.wrapping_sub(term) } else { sum.wrapping_add(term) };
        }
        Ok(sum)
    }

    /// A term of an offset: a constant expression without sums at its top.
    fn term(&mut self) -> Parsed<i64> {
        let token = self.token;
        let value = self.product()?;
        match value.bits() {
            Some(bits) => Ok(bits as i64),
            None => {
                let span = self.span_from(token.start);
                self.report(Diagnostic::error("P020", span, "an offset must be an integer"));
                Err(Failed)
            }
        }
    }

    /// What stands between brackets.
    fn address(&mut self) -> Parsed<OperandKind<'src>> {
        let start = self.advance().start;
        let first = self.address_part()?;
        if self.eat(TokenKind::RightBracket) {
            return match first.kind {
                OperandKind::Name(base) => Ok(OperandKind::Address(Address { base: Some(base), offset: 0 })),
                OperandKind::Offset(base, offset) => Ok(OperandKind::Address(Address { base: Some(base), offset })),
                OperandKind::Immediate(value) if value.bits().is_some() => {
                    let offset = value.bits().unwrap_or_default() as i64;
                    Ok(OperandKind::Address(Address { base: None, offset }))
                }
                OperandKind::Element(..) => Ok(OperandKind::AddressList(Box::new([first]))),
                _ => {
                    let span = self.span_from(start);
                    self.report(
                        Diagnostic::error("P031", span, "this is not an address")
                            .with_help("an address is [register], [variable], one of them + constant, or [constant]"),
                    );
                    Err(Failed)
                }
            };
        }
        let bottom = self.scratch.len();
        self.scratch.push(first);
        if !self.at(TokenKind::Comma) {
            self.scratch.truncate(bottom);
            return Err(self.expected("`]`"));
        }
        self.advance();
        let list = self.nested(|parser| parser.rest_of_list(bottom, TokenKind::RightBracket, "`,` or `]`"))?;
        Ok(OperandKind::AddressList(list))
    }

    fn address_part(&mut self) -> Parsed<Operand<'src>> {
        self.nested(Self::single_operand)
    }

    /// Operands up to the closing token; the opening one has been taken.
    pub(super) fn operand_list(&mut self, close: TokenKind, what: &str) -> Parsed<Box<[Operand<'src>]>> {
        if self.eat(close) {
            return Ok(Box::new([]));
        }
        let bottom = self.scratch.len();
        self.nested(|parser| parser.rest_of_list(bottom, close, what))
    }

    /// Collects operands above `bottom` in the scratch stack and takes them off again.
    fn rest_of_list(&mut self, bottom: usize, close: TokenKind, what: &str) -> Parsed<Box<[Operand<'src>]>> {
        loop {
            match self.operand() {
                Ok(operand) => self.scratch.push(operand),
                Err(failed) => {
                    self.scratch.truncate(bottom);
                    return Err(failed);
                }
            }
            if self.eat(TokenKind::Comma) {
                continue;
            }
            if self.eat(close) {
                return Ok(self.scratch.drain(bottom..).collect());
            }
            self.scratch.truncate(bottom);
            return Err(self.expected(what));
        }
    }

    /// The token after the next one.
    pub(super) fn peek(&mut self) -> Token {
        self.lexer.peek()
    }
}

/// The selector of a dotted name.
fn selector(text: &str) -> Option<Selector> {
    let name = text.strip_prefix('.')?;
    let component = |index, colour| Some(Selector::Component { index, colour });
    match name {
        "x" => component(0, false),
        "y" => component(1, false),
        "z" => component(2, false),
        "w" => component(3, false),
        "r" => component(0, true),
        "g" => component(1, true),
        "b" => component(2, true),
        "a" => component(3, true),
        _ => match name.as_bytes() {
            [b'b', digits @ ..] => lanes(digits, 4, 7).map(Selector::Bytes),
            [b'h', digits @ ..] => lanes(digits, 2, 3).map(Selector::Halves),
            _ => None,
        },
    }
}

fn lanes(text: &[u8], most: usize, highest: u8) -> Option<Lanes> {
    let mut digits = [0; 4];
    if text.is_empty() || text.len() > most {
        return None;
    }
    for (slot, byte) in digits.iter_mut().zip(text) {
        *slot = byte.checked_sub(b'0').filter(|&digit| digit <= highest)?;
    }
    Some(Lanes { digits, len: text.len() as u8 })
}

/// The span of all operands of a list, for messages.
pub(super) fn span_of(operands: &[Operand<'_>], otherwise: Span) -> Span {
    match operands {
        [] => otherwise,
        [first, .., last] => first.span.to(last.span),
        [only] => only.span,
    }
}
