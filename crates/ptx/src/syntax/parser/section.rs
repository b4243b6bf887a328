//! `.section` blocks: the debugging data that compilers leave in a module.

use super::{Parsed, Parser};
use crate::syntax::ast::{Name, Section, SectionLine, SectionValue, Type};
use crate::syntax::lexer::TokenKind;

impl<'src> Parser<'src> {
    /// `.section name { ... }`; the next token is the directive.
    pub(super) fn section(&mut self) -> Parsed<Section<'src>> {
        self.advance();
        let token = self.token;
        if !matches!(token.kind, TokenKind::Dotted | TokenKind::Ident) {
            return Err(self.expected("the name of the section"));
        }
        self.advance();
        let name = Name { text: self.text(token), span: token.span() };
        let mut section = Section { name, lines: Vec::new(), value_pool: Vec::new() };
        self.expect(TokenKind::LeftBrace, "`{`")?;
        self.open_braces += 1;
        while !self.at(TokenKind::RightBrace) {
            let line = self.section_line(&mut section.value_pool)?;
            section.lines.push(line);
        }
        self.open_braces -= 1;
        self.advance();
        Ok(section)
    }

    fn section_line(&mut self, values: &mut Vec<SectionValue<'src>>) -> Parsed<SectionLine<'src>> {
        let token = self.token;
        if token.kind == TokenKind::Ident {
            self.advance();
            self.expect(TokenKind::Colon, "`:`")?;
            return Ok(SectionLine::Label(self.text(token)));
        }
        let ty = match self.text(token) {
            ".b8" => Type::B8,
            ".b16" => Type::B16,
            ".b32" => Type::B32,
            ".b64" => Type::B64,
            _ => return Err(self.expected("a label, `.b8`, `.b16`, `.b32` or `.b64`")),
        };
        self.advance();
        let first = values.len() as u32;
        loop {
            let value = self.section_value()?;
            values.push(value);
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.eat(TokenKind::Semicolon);
        Ok(SectionLine::Data { ty, first, len: values.len() as u32 - first })
    }

    fn section_value(&mut self) -> Parsed<SectionValue<'src>> {
        if !matches!(self.token.kind, TokenKind::Ident | TokenKind::Dotted) {
            return Ok(SectionValue::Number(self.constant()?));
        }
        let name = self.take();
        if self.at(TokenKind::Minus) && self.peek().kind == TokenKind::Ident {
            self.advance();
            return Ok(SectionValue::Difference(name, self.take()));
        }
        Ok(SectionValue::Symbol(name, self.offset()?))
    }
}
