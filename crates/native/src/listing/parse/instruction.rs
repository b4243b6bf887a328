//! Instructions and their operands.

use warplens_base::{Diagnostic, Span, nearest};
use warplens_isa::StateSpace;

use super::{Bank, Guard, Inst, Item, MAX_INSTS, Memory, Operand, Parsed, Parser, Register};
use crate::listing::expr::Expr;
use crate::listing::lex::Kind;
use crate::listing::opcode::{self, NAMES, Shape};

/// The register that reads as zero and keeps nothing.
const ZERO: u8 = 124;
/// Registers of a thread.
const N_GENERAL: u8 = 128;

impl Parser<'_> {
    pub(super) fn instruction(&mut self) -> Parsed<Item> {
        let start = self.peek().span;
        self.n_insts += 1;
        if self.n_insts > MAX_INSTS {
            self.exhausted = true;
            return Err(Diagnostic::error("N007", start, format!("more than {MAX_INSTS} instructions")));
        }
        let mut guard = if self.eat("@") { Some(self.guard()?) } else { None };
        let token = self.word("an instruction")?;
        let name = self.slice(token.span).to_owned();
        let opcode = opcode::find(&name).ok_or_else(|| unknown_opcode(&name, token.span))?;
        let modifiers = self.modifiers()?;
        let mut operands = Vec::new();
        while self.peek().kind != Kind::End {
            operands.push(self.operand_of(opcode.shape, &mut guard)?);
            if let Some(annotation) = self.annotation()? {
                attach(&mut operands, annotation)?;
            }
            if !self.eat(",") {
                break;
            }
        }
        let span = start.to(self.tokens[self.at.saturating_sub(1)].span);
        Ok(Item::Inst(Box::new(Inst { span, opcode, name, modifiers, guard, operands })))
    }

    fn guard(&mut self) -> Parsed<Guard> {
        self.eat("!");
        let token = self.word("a predicate or a condition register")?;
        let register = condition(self.slice(token.span)).ok_or_else(|| {
            Diagnostic::error("N013", token.span, "a guard is a condition register `C0` or a predicate `P0`")
        })?;
        self.modifiers()?;
        Ok(Guard { register, lanes: self.annotation()? })
    }

    fn modifiers(&mut self) -> Parsed<Vec<String>> {
        let mut modifiers = Vec::new();
        while self.eat(".") {
            let token = self.word("a modifier")?;
            modifiers.push(self.slice(token.span).to_owned());
        }
        Ok(modifiers)
    }

    /// An expression in braces.
    fn annotation(&mut self) -> Parsed<Option<(Expr, Span)>> {
        let start = self.peek().span;
        if !self.eat("{") {
            return Ok(None);
        }
        let expr = self.expression()?;
        let end = self.peek().span;
        self.expect("}")?;
        Ok(Some((expr, start.to(end))))
    }

    fn operand_of(&mut self, shape: Shape, guard: &mut Option<Guard>) -> Parsed<Operand> {
        while self.eat("-") || self.eat("!") || self.eat("~") || self.eat("|") || self.eat("+") {}
        let token = self.next();
        let operand = match token.kind {
            Kind::Number(_) | Kind::Float => Operand::Plain,
            Kind::Word if self.peek().kind == Kind::Mark("[") => self.place(token.span)?,
            Kind::Word if self.slice(token.span) == "R" => Operand::Register(self.computed_register()?),
            Kind::Word => self.plain_word(token.span, shape, guard)?,
            Kind::End | Kind::Mark(_) => {
                return Err(Diagnostic::error("N011", token.span, "expected an operand"));
            }
        };
        self.eat("|");
        Ok(operand)
    }

    /// `R(8 + 2 * k)`: a register by its number.
    fn computed_register(&mut self) -> Parsed<Register> {
        let start = self.peek().span;
        self.expect("(")?;
        let number = self.expression()?;
        self.expect(")")?;
        let number =
            number.constant().and_then(|number| u8::try_from(number).ok()).filter(|&number| number < N_GENERAL);
        number.map(|number| Register { bank: Bank::General, number }).ok_or_else(|| {
            Diagnostic::error("N022", start, "the number of a register is a constant from 0 to 127")
                .with_help("it may depend on the counter of a `.repeat`")
        })
    }

    fn plain_word(&mut self, span: Span, shape: Shape, guard: &mut Option<Guard>) -> Parsed<Operand> {
        let word = self.slice(span).to_owned();
        let modifiers = self.modifiers()?;
        if let Some(register) = condition(&word) {
            // `BRA C0.NE, 0x40` is guarded by what it reads.
            if shape == Shape::Control && guard.is_none() && !modifiers.is_empty() {
                *guard = Some(Guard { register, lanes: None });
            }
            return Ok(Operand::Register(register));
        }
        if let Some(register) = general(&word).or_else(|| numbered(&word, "A", Bank::Address)) {
            let zero = register.bank == Bank::General && register.number == ZERO;
            return Ok(if zero { Operand::Plain } else { Operand::Register(register) });
        }
        if let Some(number) = word.strip_prefix('b').and_then(|digits| digits.parse().ok()) {
            return Ok(Operand::Barrier(number));
        }
        let constant = word.starts_with("SR") || word.bytes().all(|byte| byte.is_ascii_uppercase());
        if constant || shape == Shape::Control {
            return Ok(Operand::Plain);
        }
        Err(Diagnostic::error("N014", span, format!("`{word}` is no operand"))
            .with_help("registers are R0 to R127, A0 to A7, C0 to C7 and P0 to P7"))
    }

    /// A name with something in brackets behind it.
    fn place(&mut self, name: Span) -> Parsed<Operand> {
        let word = self.slice(name);
        let space = match word.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "g" | "s" | "shared" => Some(StateSpace::Shared),
            "global" => Some(StateSpace::Global),
            "local" | "l" => Some(StateSpace::Local),
            "c" => Some(StateSpace::Const),
            // The bin for results that nobody wants.
            "o" => None,
            _ => {
                let message = format!("`{word}` is no memory");
                return Err(Diagnostic::error("N015", name, message)
                    .with_help("there are `global`, `g` for shared memory, `local`, and `c` for constants"));
            }
        };
        let mut registers = Vec::new();
        let mut index = 0;
        while self.eat("[") {
            self.address(&mut registers, &mut index)?;
        }
        let end = self.tokens[self.at.saturating_sub(1)].span;
        let modifiers = self.modifiers()?;
        let Some(space) = space.filter(|&space| space != StateSpace::Const) else {
            return Ok(registers.first().map_or(Operand::Plain, |&register| Operand::Register(register)));
        };
        let bytes = modifiers.iter().find_map(|modifier| opcode::modifier_bytes(modifier));
        Ok(Operand::Memory(Memory { space, registers, index, bytes, address: None, span: name.to(end) }))
    }

    /// Sums of registers and constants up to the bracket's end.
    fn address(&mut self, registers: &mut Vec<Register>, index: &mut i64) -> Parsed<()> {
        while !self.eat("]") {
            let token = self.next();
            match token.kind {
                Kind::Number(value) => *index = index.wrapping_add(value),
                Kind::Mark("+" | "-") => {}
                Kind::Word if self.slice(token.span) == "R" => registers.push(self.computed_register()?),
                Kind::Word => {
                    let word = self.slice(token.span);
                    let register = general(word).or_else(|| numbered(word, "A", Bank::Address)).ok_or_else(|| {
                        Diagnostic::error("N014", token.span, format!("`{word}` is no register of an address"))
                    })?;
                    registers.push(register);
                }
                _ => return Err(Diagnostic::error("N011", token.span, "expected a register, a number or `]`")),
            }
        }
        Ok(())
    }
}

fn attach(operands: &mut [Operand], annotation: (Expr, Span)) -> Parsed<()> {
    let memory = operands.iter_mut().rev().find_map(|operand| match operand {
        Operand::Memory(memory) => Some(memory),
        _ => None,
    });
    match memory {
        Some(memory) => {
            memory.address = Some(annotation);
            Ok(())
        }
        None => Err(Diagnostic::error("N016", annotation.1, "no operand before this is in memory")),
    }
}

fn unknown_opcode(name: &str, span: Span) -> Diagnostic {
    let problem = Diagnostic::error("N017", span, format!("unknown instruction `{name}`"));
    match nearest(name, NAMES.iter().copied()) {
        Some(known) => problem.with_help(format!("did you mean `{known}`?")),
        None => problem,
    }
}

/// `R5`, or one of its halves `R5L` and `R5H`.
fn general(word: &str) -> Option<Register> {
    numbered(word.strip_suffix(['L', 'H']).unwrap_or(word), "R", Bank::General)
}

/// `C0` or `P0`.
fn condition(word: &str) -> Option<Register> {
    let predicate =
        numbered(word, "P", Bank::Condition).map(|register| Register { number: register.number + 8, ..register });
    numbered(word, "C", Bank::Condition).or(predicate)
}

fn numbered(word: &str, prefix: &str, bank: Bank) -> Option<Register> {
    let digits = word.strip_prefix(prefix)?;
    let limit = if bank == Bank::General { N_GENERAL } else { 8 };
    let number = digits.parse().ok().filter(|&number: &u8| number < limit)?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(Register { bank, number })
}
