//! Instructions: guard, opcode, modifiers, operands.

use warplens_base::{Diagnostic, Span};

use super::{Parsed, Parser};
use crate::opcodes::Opcode;
use crate::syntax::ast::{Body, Guard, Instruction, Modifier, Modifiers, OperandKind, UnknownNames};
use crate::syntax::lexer::{Token, TokenKind};

impl<'src> Parser<'src> {
    /// `@p` or `@!p`; the next token is the `@`.
    pub(super) fn guard(&mut self) -> Parsed<Guard<'src>> {
        self.advance();
        let negated = self.eat(TokenKind::Bang);
        let name = self.name("a predicate register")?;
        Ok(Guard { name: name.text, negated, span: name.span })
    }

    /// The rest of an instruction, whose opcode token has been taken.
    pub(super) fn instruction(
        &mut self,
        guard: Option<Guard<'src>>,
        start: u32,
        opcode: Token,
        body: &mut Body<'src>,
    ) -> Parsed<Instruction<'src>> {
        let name = self.text(opcode);
        let mut instruction = Instruction {
            guard,
            opcode: Opcode::from_name(name).unwrap_or(Opcode::Unknown),
            n_operands: 0,
            first_operand: body.operand_pool.len() as u32,
            modifiers: Modifiers::new(),
            unknown: None,
            opcode_span: Span::default(),
            span: Span::default(),
        };
        if instruction.opcode == Opcode::Unknown {
            unknown_names(&mut instruction).opcode = Some(name);
        }
        self.modifiers(&mut instruction);
        instruction.opcode_span = self.span_from(opcode.start);
        let operands = self.operands(&mut instruction, body);
        if operands.is_err() {
            body.operand_pool.truncate(instruction.first_operand as usize);
            // What is wrong with the names is worth saying although the operands are lost.
            self.check_names(&instruction);
            return operands.map(|()| instruction);
        }
        instruction.span = self.span_from(start);
        if self.at(TokenKind::Semicolon) {
            self.check(&instruction, body.operands(&instruction));
        } else {
            self.check_names(&instruction);
        }
        self.semicolon("the instruction")?;
        Ok(instruction)
    }

    fn modifiers(&mut self, instruction: &mut Instruction<'src>) {
        while self.at(TokenKind::Dotted) {
            let token = self.advance();
            let name = &self.text(token)[1..];
            let mut modifier = Modifier::from_name(name).unwrap_or(Modifier::Unknown);
            // With a blank between them the bracket starts an address.
            if modifier == Modifier::Const && self.at(TokenKind::LeftBracket) && self.token.start == token.end {
                modifier = self.const_bank();
            }
            self.add_modifier(instruction, modifier, name, token.span());
        }
    }

    fn add_modifier(&mut self, instruction: &mut Instruction<'src>, modifier: Modifier, name: &'src str, span: Span) {
        if !instruction.modifiers.push(modifier) {
            let message = format!("more than {} names after the opcode", Modifiers::CAPACITY);
            self.report(Diagnostic::error("P040", span, message));
        } else if modifier == Modifier::Unknown {
            unknown_names(instruction).modifiers.push(name);
        }
    }

    /// The bank of `ld.const[3]` in old modules; the next token is the bracket.
    fn const_bank(&mut self) -> Modifier {
        let start = self.advance().start;
        let bank = self.plain_count("a constant bank");
        let closed = self.expect(TokenKind::RightBracket, "`]`");
        let (Ok(bank), Ok(_)) = (bank, closed) else { return Modifier::Const };
        if bank > 10 {
            let span = self.span_from(start);
            self.report(
                Diagnostic::error("P041", span, format!("there is no constant bank {bank}"))
                    .with_help("banks are 0 to 10"),
            );
            return Modifier::Const;
        }
        Modifier::from_name(&format!("const[{bank}]")).unwrap_or(Modifier::Const)
    }

    fn operands(&mut self, instruction: &mut Instruction<'src>, body: &mut Body<'src>) -> Parsed<()> {
        if self.at(TokenKind::Semicolon) || self.at(TokenKind::RightBrace) {
            return Ok(());
        }
        loop {
            let is_list = self.at(TokenKind::LeftParen) && matches!(instruction.opcode, Opcode::Call | Opcode::Unknown);
            let operand = if is_list { self.argument_list()? } else { self.operand()? };
            body.operand_pool.push(operand);
            instruction.n_operands = instruction.n_operands.saturating_add(1);
            if self.at(TokenKind::Dotted) {
                self.trailing_modifier(instruction);
            }
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
            if instruction.n_operands == u16::MAX {
                return Err(self.expected("fewer operands"));
            }
        }
    }

    /// `(a, b)` of a call.
    fn argument_list(&mut self) -> Parsed<super::super::ast::Operand<'src>> {
        let start = self.advance().start;
        let list = self.operand_list(TokenKind::RightParen, "`,` or `)`")?;
        Ok(super::super::ast::Operand { kind: OperandKind::List(list), span: self.span_from(start) })
    }

    /// `.unified` behind the address of a load or store.
    fn trailing_modifier(&mut self, instruction: &mut Instruction<'src>) {
        if self.text(self.token) == ".unified" {
            let token = self.advance();
            self.add_modifier(instruction, Modifier::Unified, "unified", token.span());
        }
    }
}

fn unknown_names<'a, 'src>(instruction: &'a mut Instruction<'src>) -> &'a mut UnknownNames<'src> {
    instruction.unknown.get_or_insert_default()
}
