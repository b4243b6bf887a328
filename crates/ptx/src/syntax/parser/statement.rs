//! Function bodies: labels, instructions, declarations, scopes.

use warplens_base::{Diagnostic, Span};

use super::{Parsed, Parser, Place};
use crate::syntax::ast::{Block, Body, Linkage, Name, Prototype, Statement, Targets};
use crate::syntax::lexer::{Token, TokenKind};

impl<'src> Parser<'src> {
    /// `{ ... }` of a function; the next token is the opening brace.
    pub(super) fn body(&mut self) -> Body<'src> {
        let start = self.token.start;
        let mut body = Body::default();
        body.statements = self.scope(&mut body);
        body.span = self.span_from(start);
        body
    }

    /// Statements from brace to brace.
    fn scope(&mut self, body: &mut Body<'src>) -> Vec<Statement<'src>> {
        let open = self.advance();
        let mut statements = Vec::new();
        loop {
            let kind = self.token.kind;
            match kind {
                TokenKind::RightBrace => {
                    self.advance();
                    return statements;
                }
                TokenKind::End => {
                    self.unclosed(open, "P050", "the file ends inside of a scope", "close it with `}`");
                    return statements;
                }
                TokenKind::Dotted if self.starts_function() => {
                    let message = "a function cannot stand inside of another";
                    self.unclosed(open, "P053", message, "close the function before it with `}`");
                    return statements;
                }
                _ => {
                    let before = self.token.start;
                    if self.statement(body, &mut statements).is_err() {
                        self.recover(Place::Body);
                    }
                    if self.token.start == before {
                        // A brace that no statement wants: nothing else keeps the place.
                        self.skip_stray();
                    }
                }
            }
        }
    }

    /// True at `.entry` or `.func`, with or without linkage.
    fn starts_function(&mut self) -> bool {
        match self.text(self.token) {
            ".entry" | ".func" => true,
            ".visible" | ".weak" | ".extern" => {
                let next = self.peek();
                matches!(self.text(next), ".entry" | ".func")
            }
            _ => false,
        }
    }

    /// Reports a scope that is still open here, once for all that are.
    fn unclosed(&mut self, open: Token, code: &'static str, message: &str, help: &str) {
        if self.unwinding_at.replace(self.token.start) != Some(self.token.start) {
            self.report(
                Diagnostic::error(code, self.here(), message)
                    .with_secondary(open.span(), "this scope is still open")
                    .with_help(help),
            );
        }
    }

    fn skip_stray(&mut self) {
        match self.token.kind {
            TokenKind::LeftBrace => self.skip_block(),
            TokenKind::RightBrace | TokenKind::End => {}
            _ => {
                self.advance();
            }
        }
    }

    fn statement(&mut self, body: &mut Body<'src>, statements: &mut Vec<Statement<'src>>) -> Parsed<()> {
        let start = self.token;
        match start.kind {
            TokenKind::Ident => {
                self.advance();
                if self.at(TokenKind::Colon) {
                    self.advance();
                    let label = Name { text: self.text(start), span: start.span() };
                    let statement = self.labelled(label)?;
                    statements.push(statement);
                } else {
                    let instruction = self.instruction(None, start.start, start, body)?;
                    statements.push(Statement::Instruction(instruction));
                }
            }
            TokenKind::At => {
                let guard = self.guard()?;
                let opcode = self.expect(TokenKind::Ident, "an opcode")?;
                let instruction = self.instruction(Some(guard), start.start, opcode, body)?;
                statements.push(Statement::Instruction(instruction));
            }
            TokenKind::Dotted => {
                let statement = self.directive(start)?;
                statements.push(statement);
            }
            TokenKind::LeftBrace => {
                let inner = self.nested(|parser| Ok(parser.scope(body)))?;
                let span = self.span_from(start.start);
                statements.push(Statement::Block(Box::new(Block { statements: inner, span })));
            }
            TokenKind::Semicolon => {
                self.advance();
            }
            TokenKind::Dwarf => {
                let token = self.advance();
                statements.push(Statement::Dwarf(self.dwarf(token)));
            }
            _ => return Err(self.expected("an instruction, a label or a directive")),
        }
        Ok(())
    }

    /// What follows `name:`: a target list, a prototype, or nothing.
    fn labelled(&mut self, label: Name<'src>) -> Parsed<Statement<'src>> {
        if !self.at(TokenKind::Dotted) {
            return Ok(Statement::Label(label));
        }
        match self.text(self.token) {
            ".branchtargets" => Ok(Statement::BranchTargets(Box::new(self.targets(label)?))),
            ".calltargets" => Ok(Statement::CallTargets(Box::new(self.targets(label)?))),
            ".callprototype" => Ok(Statement::CallPrototype(Box::new(self.prototype(label)?))),
            _ => Ok(Statement::Label(label)),
        }
    }

    fn targets(&mut self, label: Name<'src>) -> Parsed<Targets<'src>> {
        self.advance();
        let mut targets = vec![self.name("a target")?];
        while self.eat(TokenKind::Comma) {
            targets.push(self.name("a target")?);
        }
        self.semicolon("the targets")?;
        Ok(Targets { label, targets })
    }

    fn prototype(&mut self, label: Name<'src>) -> Parsed<Prototype<'src>> {
        self.advance();
        let returns = self.parameters()?;
        self.expect(TokenKind::Ident, "`_`")?;
        let parameters = self.parameters()?;
        let directives = self.function_directives();
        self.semicolon("the prototype")?;
        Ok(Prototype { label, returns, parameters, directives })
    }

    fn directive(&mut self, start: Token) -> Parsed<Statement<'src>> {
        match self.text(start) {
            ".loc" => Ok(Statement::Loc(self.loc()?)),
            ".pragma" => Ok(Statement::Pragma(Box::new(self.pragma()?))),
            ".branchtargets" | ".calltargets" | ".callprototype" => {
                self.report(
                    Diagnostic::error("P051", start.span(), format!("`{}` needs a label", self.text(start)))
                        .with_help("write `name:` before it; the branch or call names it"),
                );
                Err(super::Failed)
            }
            _ => {
                let linkage = self.linkage();
                let variable = self.variable(linkage, start.start)?;
                if !matches!(linkage, Linkage::Internal | Linkage::Extern) {
                    let span = Span::new(start.start, start.end);
                    self.report(Diagnostic::warning("P052", span, "linkage has no meaning inside of a function"));
                }
                Ok(Statement::Variable(Box::new(variable)))
            }
        }
    }
}
