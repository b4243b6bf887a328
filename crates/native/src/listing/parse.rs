//! Statements of a listing: names, directives and instructions.

mod expression;
mod instruction;

use warplens_base::{Diagnostic, Span};
use warplens_isa::StateSpace;

use super::expr::{Expr, FIRST_COUNTER, NAMES, Variable};
use super::lex::{Kind, Token, lex};
use super::opcode::Opcode;

/// Instructions that a listing may have, repeats written out.
const MAX_INSTS: usize = 60_000;
/// Statements that may be read, those of repeats anew each time.
const MAX_STATEMENTS: usize = 400_000;
/// Operations of all expressions together.
const MAX_OPERATIONS: usize = 4_000_000;
/// Directives inside of each other.
const MAX_DEPTH: usize = 32;
/// Findings after which reading stops.
const MAX_PROBLEMS: usize = 20;

/// A statement that executes something.
#[derive(Clone, Debug)]
pub(super) enum Item {
    /// An instruction.
    Inst(Box<Inst>),
    /// A body that is executed as often as the expression says.
    Loop { counter: Variable, count: Expr, span: Span, body: Vec<Item> },
    /// Two bodies for two sets of lanes.
    If { condition: Expr, span: Span, then: Vec<Item>, otherwise: Vec<Item> },
}

/// An instruction as written.
#[derive(Clone, Debug)]
pub(super) struct Inst {
    pub(super) span: Span,
    pub(super) opcode: Opcode,
    pub(super) name: String,
    pub(super) modifiers: Vec<String>,
    pub(super) guard: Option<Guard>,
    pub(super) operands: Vec<Operand>,
}

/// A guard as written.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    pub(super) register: Register,
    pub(super) lanes: Option<(Expr, Span)>,
}

/// An operand as far as time depends on it.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    Register(Register),
    /// A constant, a special register, a comparison, a target, or the register that is always zero.
    Plain,
    /// The number of a barrier.
    Barrier(u32),
    Memory(Memory),
}

/// A place in memory.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) space: StateSpace,
    /// Registers that the address is made of.
    pub(super) registers: Vec<Register>,
    /// The constant part, counted in elements.
    pub(super) index: i64,
    /// Bytes of an element, where it is written at the operand.
    pub(super) bytes: Option<u8>,
    /// Where lanes point, in bytes.
    pub(super) address: Option<(Expr, Span)>,
    pub(super) span: Span,
}

/// A register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Register {
    pub(super) bank: Bank,
    pub(super) number: u8,
}

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Bank {
    General,
    Address,
    Condition,
}

/// Reads a listing; also tells how many counters its loops have.
pub(super) fn parse(text: &str, values: &[(&str, i64)]) -> Result<(Vec<Item>, usize), Vec<Diagnostic>> {
    if u32::try_from(text.len()).is_err() {
        return Err(vec![Diagnostic::error("N004", Span::default(), "a listing has less than 4 GiB")]);
    }
    let (tokens, problems) = lex(text);
    let mut parser = Parser {
        text,
        tokens,
        at: 0,
        values,
        given: vec![false; values.len()],
        scope: NAMES.iter().map(|&(name, variable)| (name.to_owned(), Expr::variable(variable))).collect(),
        n_counters: 0,
        n_insts: 0,
        n_statements: 0,
        n_operations: 0,
        depth: 0,
        exhausted: false,
        problems,
    };
    let items = parser.file();
    for ((name, _), _) in values.iter().zip(&parser.given).filter(|(_, given)| !**given) {
        let message = format!("a value is given for `{name}`, and the listing has no such `.let`");
        parser.problems.push(Diagnostic::error("N005", Span::default(), message));
    }
    if parser.problems.is_empty() { Ok((items, parser.n_counters)) } else { Err(parser.problems) }
}

pub(super) struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    at: usize,
    /// Values from outside, and which of them were used.
    values: &'t [(&'t str, i64)],
    given: Vec<bool>,
    /// Names in force, the latest last.
    scope: Vec<(String, Expr)>,
    n_counters: usize,
    n_insts: usize,
    n_statements: usize,
    n_operations: usize,
    depth: usize,
    /// A limit was reached: nothing more is read.
    exhausted: bool,
    problems: Vec<Diagnostic>,
}

type Parsed<T> = Result<T, Diagnostic>;

/// How a body ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    File,
    End,
    Else,
}

impl Parser<'_> {
    fn file(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            let (more, ending) = self.body();
            items.extend(more);
            if ending == Ending::File || self.stopped() {
                return items;
            }
            let span = self.tokens[self.at.saturating_sub(1)].span;
            self.problems.push(Diagnostic::error("N006", span, "no directive is open here"));
        }
    }

    fn stopped(&self) -> bool {
        self.exhausted || self.problems.len() >= MAX_PROBLEMS
    }

    /// Statements up to the `.end` or `.else` that closes the body.
    fn body(&mut self) -> (Vec<Item>, Ending) {
        let mut items = Vec::new();
        while !self.stopped() {
            if self.peek().kind == Kind::End {
                if self.at + 1 == self.tokens.len() {
                    break;
                }
                self.at += 1;
                continue;
            }
            if let Some(ending) = self.closing() {
                return (items, ending);
            }
            let start = self.peek().span;
            self.n_statements += 1;
            if self.n_statements > MAX_STATEMENTS {
                self.exhaust(start, "the listing is too long with its repeats written out");
                break;
            }
            match self.statement() {
                Ok(item) => items.extend(item),
                Err(problem) => {
                    self.problems.push(problem);
                    self.skip_statement();
                }
            }
        }
        (items, Ending::File)
    }

    fn exhaust(&mut self, span: Span, message: &str) {
        self.exhausted = true;
        self.problems.push(Diagnostic::error("N007", span, message));
    }

    fn closing(&mut self) -> Option<Ending> {
        let ending = match (self.peek().kind, self.word_at(self.at + 1)) {
            (Kind::Mark("."), Some("end")) => Ending::End,
            (Kind::Mark("."), Some("else")) => Ending::Else,
            _ => return None,
        };
        self.at += 2;
        Some(ending)
    }

    fn skip_statement(&mut self) {
        while self.peek().kind != Kind::End {
            self.at += 1;
        }
    }

    fn statement(&mut self) -> Parsed<Option<Item>> {
        while self.word_at(self.at).is_some() && self.kind_at(self.at + 1) == Kind::Mark(":") {
            self.at += 2;
        }
        if self.peek().kind == Kind::End {
            return Ok(None);
        }
        let item = if self.peek().kind == Kind::Mark(".") { self.directive()? } else { Some(self.instruction()?) };
        self.expect_end()?;
        Ok(item)
    }

    fn directive(&mut self) -> Parsed<Option<Item>> {
        let start = self.next().span;
        let name = self.word("the name of a directive")?;
        let span = start.to(name.span);
        match self.slice(name.span) {
            "let" => self.let_name().map(|()| None),
            "loop" => self.nested(span, Self::counted_loop).map(Some),
            "if" => self.nested(span, Self::if_else).map(Some),
            "repeat" => {
                let body = self.nested(span, Self::repeat)?;
                // A body that is written out stands for itself; an `if` over all lanes carries it without a meaning.
                Ok(Some(Item::If { condition: Expr::value(1), span, then: body, otherwise: Vec::new() }))
            }
            other => Err(Diagnostic::error("N008", span, format!("unknown directive `.{other}`"))
                .with_help("there are `.let`, `.loop`, `.repeat`, `.if`, `.else` and `.end`")),
        }
    }

    fn nested<T>(&mut self, span: Span, read: impl FnOnce(&mut Self, Span) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_DEPTH {
            self.exhausted = true;
            return Err(Diagnostic::error(
                "N007",
                span,
                format!("more than {MAX_DEPTH} directives inside of each other"),
            ));
        }
        self.depth += 1;
        let n_names = self.scope.len();
        let read = read(self, span);
        self.scope.truncate(n_names);
        self.depth -= 1;
        read
    }

    fn let_name(&mut self) -> Parsed<()> {
        let name = self.word("a name")?;
        let name = self.slice(name.span).to_owned();
        self.expect("=")?;
        let mut value = self.expression()?;
        if let Some(index) = self.values.iter().position(|(given, _)| *given == name) {
            self.given[index] = true;
            value = Expr::value(self.values[index].1);
        }
        self.scope.push((name, value));
        Ok(())
    }

    fn counted_loop(&mut self, span: Span) -> Parsed<Item> {
        let (name, mut count, count_span) = self.header(span);
        if count.asks(|variable| matches!(variable, super::expr::LANE | super::expr::THREAD)) {
            let problem =
                Diagnostic::error("N009", count_span, "how often a loop runs is the same for all lanes of a warp")
                    .with_help("lanes that leave a loop earlier are said by `.if` inside of it");
            self.problems.push(problem);
            count = Expr::value(1);
        }
        let counter = Variable::try_from(self.n_counters).ok().and_then(|n| FIRST_COUNTER.checked_add(n));
        let Some(counter) = counter else {
            self.exhausted = true;
            return Err(Diagnostic::error("N007", span, "too many loops"));
        };
        self.n_counters += 1;
        self.scope.push((name, Expr::variable(counter)));
        let body = self.closed_body(span)?;
        Ok(Item::Loop { counter, count, span: count_span, body })
    }

    fn repeat(&mut self, span: Span) -> Parsed<Vec<Item>> {
        let (name, count, count_span) = self.header(span);
        let count = count.constant().filter(|count| (0..=MAX_INSTS as i64).contains(count)).unwrap_or_else(|| {
            let message = format!("a repeat is written out, so its number is a constant from 0 to {MAX_INSTS}");
            self.problems.push(Diagnostic::error("N010", count_span, message));
            1
        });
        let (start, n_problems, n_names, n_insts) = (self.at, self.problems.len(), self.scope.len(), self.n_insts);
        let mut items = Vec::new();
        // A body that is written out no time is read all the same, to find its end and its mistakes.
        for copy in 0..count.max(1) {
            self.at = start;
            self.scope.truncate(n_names);
            self.scope.push((name.clone(), Expr::value(copy)));
            items.extend(self.closed_body(span)?);
            // What is wrong in one copy is wrong in all.
            if self.problems.len() > n_problems {
                break;
            }
        }
        if count == 0 {
            items.clear();
            self.n_insts = n_insts;
        }
        Ok(items)
    }

    fn if_else(&mut self, span: Span) -> Parsed<Item> {
        let condition = self.expression()?;
        self.expect_end()?;
        let (then, ending) = self.body();
        let otherwise = match ending {
            Ending::End => Vec::new(),
            Ending::Else => self.closed_body(span)?,
            Ending::File => return Err(self.unclosed(span)),
        };
        Ok(Item::If { condition, span, then, otherwise })
    }

    /// Counter and count; after a mistake in them the body is read all the same.
    fn header(&mut self, span: Span) -> (String, Expr, Span) {
        self.counter_and_count().unwrap_or_else(|problem| {
            self.problems.push(problem);
            self.skip_statement();
            (String::new(), Expr::value(1), span)
        })
    }

    fn counter_and_count(&mut self) -> Parsed<(String, Expr, Span)> {
        let name = self.word("the name of the counter")?;
        let name = self.slice(name.span).to_owned();
        self.expect(",")?;
        let start = self.peek().span;
        let count = self.expression()?;
        let span = start.to(self.tokens[self.at.saturating_sub(1)].span);
        self.expect_end()?;
        Ok((name, count, span))
    }

    fn closed_body(&mut self, span: Span) -> Parsed<Vec<Item>> {
        match self.body() {
            (items, Ending::End) => Ok(items),
            (_, Ending::Else) => Err(Diagnostic::error("N006", span, "this directive has no `.else`")),
            (_, Ending::File) => Err(self.unclosed(span)),
        }
    }

    fn unclosed(&self, span: Span) -> Diagnostic {
        Diagnostic::error("N006", span, "this directive has no `.end`")
    }

    fn peek(&self) -> Token {
        self.tokens[self.at]
    }

    fn kind_at(&self, at: usize) -> Kind {
        self.tokens.get(at).map_or(Kind::End, |token| token.kind)
    }

    /// The next token; the last one, an end, stays.
    fn next(&mut self) -> Token {
        let token = self.tokens[self.at];
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    fn slice(&self, span: Span) -> &str {
        &self.text[span.range()]
    }

    fn word_at(&self, at: usize) -> Option<&str> {
        let token = self.tokens.get(at)?;
        (token.kind == Kind::Word).then(|| self.slice(token.span))
    }

    fn eat(&mut self, mark: &str) -> bool {
        let there = matches!(self.peek().kind, Kind::Mark(found) if found == mark);
        if there {
            self.at += 1;
        }
        there
    }

    fn expect(&mut self, mark: &str) -> Parsed<()> {
        if self.eat(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn expect_end(&mut self) -> Parsed<()> {
        if self.peek().kind == Kind::End { Ok(()) } else { Err(self.expected("the end of the statement")) }
    }

    fn word(&mut self, what: &str) -> Parsed<Token> {
        if self.peek().kind == Kind::Word { Ok(self.next()) } else { Err(self.expected(what)) }
    }

    fn expected(&self, what: &str) -> Diagnostic {
        Diagnostic::error("N011", self.peek().span, format!("expected {what}"))
    }

    /// Counts an expression that is kept.
    fn keep(&mut self, expr: &Expr, span: Span) -> Parsed<()> {
        self.n_operations += expr.len();
        if self.n_operations <= MAX_OPERATIONS {
            return Ok(());
        }
        self.exhausted = true;
        Err(Diagnostic::error("N007", span, "the expressions of the listing are too long"))
    }
}
