//! Expressions.

use warplens_base::{Diagnostic, Span, nearest};

use super::{Parsed, Parser};
use crate::listing::expr::{Expr, LEVELS, Unary};
use crate::listing::lex::Kind;

/// Operations of one expression.
const MAX_LENGTH: usize = 4096;
/// Brackets and signs inside of each other.
const MAX_NESTING: usize = 64;

impl Parser<'_> {
    /// Reads an expression and counts it.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let start = self.peek().span;
        let expr = self.choice(0)?;
        self.keep(&expr, start)?;
        Ok(expr)
    }

    fn choice(&mut self, nesting: usize) -> Parsed<Expr> {
        let start = self.peek().span;
        if nesting > MAX_NESTING {
            return Err(too_long(start));
        }
        let condition = self.level(0, nesting)?;
        if !self.eat("?") {
            return Ok(condition);
        }
        let yes = self.choice(nesting + 1)?;
        self.expect(":")?;
        let no = self.choice(nesting + 1)?;
        short(condition.choose(yes, no), start)
    }

    fn level(&mut self, level: usize, nesting: usize) -> Parsed<Expr> {
        let Some(operators) = LEVELS.get(level) else { return self.operand(nesting) };
        let start = self.peek().span;
        let mut left = self.level(level + 1, nesting)?;
        while let Some(&(_, op)) = operators.iter().find(|(mark, _)| self.eat(mark)) {
            let right = self.level(level + 1, nesting)?;
            left = short(left.binary(op, right), start)?;
        }
        Ok(left)
    }

    fn operand(&mut self, nesting: usize) -> Parsed<Expr> {
        let token = self.peek();
        if nesting > MAX_NESTING {
            return Err(too_long(token.span));
        }
        match token.kind {
            Kind::Number(value) => {
                self.at += 1;
                Ok(Expr::value(value))
            }
            Kind::Word => {
                self.at += 1;
                self.named(token.span)
            }
            Kind::Mark("(") => {
                self.at += 1;
                let inner = self.choice(nesting + 1)?;
                self.expect(")")?;
                Ok(inner)
            }
            Kind::Mark(sign @ ("-" | "!" | "~" | "+")) => {
                self.at += 1;
                let inner = self.operand(nesting + 1)?;
                Ok(match sign {
                    "-" => inner.unary(Unary::Negate),
                    "!" => inner.unary(Unary::Not),
                    "~" => inner.unary(Unary::Invert),
                    _ => inner,
                })
            }
            _ => Err(self.expected("a number, a name or a bracket")),
        }
    }

    fn named(&self, span: Span) -> Parsed<Expr> {
        let name = self.slice(span);
        if let Some((_, expr)) = self.scope.iter().rev().find(|(known, _)| known == name) {
            return Ok(expr.clone());
        }
        let problem = Diagnostic::error("N012", span, format!("nothing is called `{name}`"));
        Err(match nearest(name, self.scope.iter().map(|(known, _)| known.as_str())) {
            Some(known) => problem.with_help(format!("did you mean `{known}`?")),
            None => problem,
        })
    }
}

fn short(expr: Expr, span: Span) -> Parsed<Expr> {
    if expr.len() <= MAX_LENGTH { Ok(expr) } else { Err(too_long(span)) }
}

fn too_long(span: Span) -> Diagnostic {
    Diagnostic::error("N007", span, "the expression is too long or too deeply nested")
}
