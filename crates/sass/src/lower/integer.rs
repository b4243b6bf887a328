//! Sums, products, shifts and bit operations on integers.

use warplens_ir::{Operand as Ir, Register, Width};
use warplens_isa::{
    BfindAnswer, Carry, CompareOp, Comparison, Dp2aHalf, Extremum, FunnelShift, Operation, PrmtMode, Rounding,
    ScalarType, ShiftDirection, ShiftMode, Subnormals, Sum,
};

use super::operands::{ADD, Lowered, Lowering, SUB, compare, opposite, word};
use crate::syntax::{Operand, Syntax};

/// The mark of a signed type, or none.
const fn signed(is_unsigned: bool) -> ScalarType {
    if is_unsigned { ScalarType::U32 } else { ScalarType::S32 }
}

const fn with_carry(reads: bool, writes: bool) -> Sum {
    Sum { rounding: Rounding::Nearest, ftz: false, sat: false, carry: Carry { reads, writes } }
}

/// Operands of a sum: its results, its terms, the carries that come in.
struct Sums<'o> {
    destination: &'o Operand,
    carries_out: &'o [Operand],
    terms: &'o [Operand],
    carries_in: &'o [Operand],
}

/// Splits operands into the result, the predicates behind it, values, and the predicates behind those.
fn split(operands: &[Operand]) -> Lowered<Sums<'_>> {
    let (destination, rest) = operands.split_first().ok_or("an instruction without operands")?;
    let n_out = rest.iter().take_while(|operand| operand.is_predicate()).count();
    let (carries_out, rest) = rest.split_at(n_out);
    let n_in = rest.iter().rev().take_while(|operand| operand.is_predicate()).count();
    let (terms, carries_in) = rest.split_at(rest.len() - n_in);
    Ok(Sums { destination, carries_out, terms, carries_in })
}

impl Lowering<'_> {
    /// `IADD3`, `IADD`, `VIADD` and the uniform ones: a sum of two or three terms with carries.
    pub(super) fn integer_sum(&mut self, syntax: &Syntax) -> Lowered {
        let Sums { destination, carries_out, terms, carries_in } = split(&syntax.operands)?;
        if syntax.has("64") {
            return self.wide_sum(destination, carries_out, terms, carries_in);
        }
        let target = self.destination(destination, Width::Word)?;
        let outs = carries_out.iter().map(|out| self.destination(out, Width::One)).collect::<Lowered<Vec<_>>>()?;
        let mut ins = Vec::new();
        for carry in carries_in {
            match self.predicate(carry)? {
                Ir::Immediate(0) => {}
                carry => ins.push(carry),
            }
        }
        let terms: Vec<&Operand> = terms.iter().filter(|term| !term.is_zero_register()).collect();
        if outs.iter().all(Option::is_none) {
            let mut values = Vec::new();
            for term in terms {
                values.push(self.addend(term)?);
            }
            let sum = self.sum(&values, &ins);
            self.copy(target, sum);
            return Ok(());
        }
        self.carrying_sum((target, &outs), &terms, &ins)
    }

    /// The sum of words and carries as a value. The last operation is not yet in a register of the thread.
    fn sum(&mut self, values: &[Ir], carries: &[Ir]) -> Ir {
        let mut carries = carries.iter().copied();
        let mut values = values.iter().copied();
        let mut sum = values.next().unwrap_or(Ir::Immediate(0));
        if let Ir::Signed(..) = sum {
            // A difference has the other term first.
            sum = match values.next() {
                Some(Ir::Signed(..)) | None => self.emit_word(ADD, ScalarType::U32, &[sum, Ir::Immediate(0)]),
                Some(first) => self.emit_word(ADD, ScalarType::U32, &[first, sum]),
            };
        }
        let rest: Vec<Ir> = values.collect();
        for value in rest {
            sum = match carries.next() {
                Some(carry) if !matches!(value, Ir::Signed(..)) => {
                    self.emit_word(Operation::Add(with_carry(true, false)), ScalarType::U32, &[sum, value, carry])
                }
                Some(carry) => {
                    let sum = self.emit_word(ADD, ScalarType::U32, &[sum, value]);
                    self.with_one_more(sum, carry)
                }
                None => self.emit_word(ADD, ScalarType::U32, &[sum, value]),
            };
        }
        for carry in carries {
            sum = self.with_one_more(sum, carry);
        }
        sum
    }

    fn with_one_more(&mut self, sum: Ir, carry: Ir) -> Ir {
        let sources = [sum, Ir::Immediate(0), carry];
        self.emit_word(Operation::Add(with_carry(true, false)), ScalarType::U32, &sources)
    }

    /// A sum whose carries somebody wants. Each step has one at most, and whoever adds them up gets the same, so that the
    /// first step's is the first.
    fn carrying_sum(
        &mut self,
        (target, outs): (Option<Register>, &[Option<Register>]),
        terms: &[&Operand],
        ins: &[Ir],
    ) -> Lowered {
        // A negated term is its complement and one more; with both in a step, the carry is that of a difference.
        let (mut plain, mut negated) = (Vec::new(), Vec::new());
        for term in terms {
            let is_negated = term.negated && !term.complement;
            let value = if is_negated { self.plain(&term.value, ScalarType::B32)? } else { self.word(term)? };
            if is_negated {
                negated.push(value)
            } else {
                plain.push(value)
            };
        }
        let mut steps: Vec<(Ir, bool)> = plain.into_iter().map(|value| (value, false)).collect();
        steps.extend(negated.into_iter().map(|value| (value, true)));
        let mut sum = match steps.first() {
            Some(&(value, false)) => {
                steps.remove(0);
                value
            }
            _ => Ir::Immediate(0),
        };
        let mut ins = ins.iter().copied();
        let mut carries = Vec::new();
        for (value, is_negated) in steps {
            let carry_in = if is_negated { None } else { ins.next() };
            let (result, carry) = self.carrying(is_negated, [sum, value], carry_in);
            sum = result;
            carries.push(carry);
        }
        for carry_in in ins {
            let (result, carry) = self.carrying(false, [sum, Ir::Immediate(0)], Some(carry_in));
            sum = result;
            carries.push(carry);
        }
        let none = Ir::Immediate(0);
        let wanted = match outs {
            // One that is wanted is whether there is any.
            [first] | [first, None] => {
                let any =
                    carries.into_iter().reduce(|a, b| self.emit_predicate(Operation::Or, ScalarType::Pred, &[a, b]));
                vec![(*first, any.unwrap_or(none))]
            }
            _ => outs.iter().copied().zip(carries.into_iter().chain(std::iter::repeat(none))).collect(),
        };
        self.copy(target, sum);
        for (out, carry) in wanted {
            self.copy(out, carry);
        }
        Ok(())
    }

    /// A sum or a difference of two words, with the carry that goes in, and the one that comes out.
    fn carrying(&mut self, is_difference: bool, [a, b]: [Ir; 2], carry_in: Option<Ir>) -> (Ir, Ir) {
        let (result, carry) = (self.temporary(Width::Word), self.temporary_predicate());
        let what = with_carry(carry_in.is_some(), true);
        let operation = if is_difference { Operation::Sub(what) } else { Operation::Add(what) };
        let sources: Vec<Ir> = [a, b].into_iter().chain(carry_in).collect();
        self.emit(operation, ScalarType::U32, &[Some(result), Some(carry)], &sources);
        (Ir::Register(result), Ir::Register(carry))
    }

    fn wide_sum(
        &mut self,
        destination: &Operand,
        carries_out: &[Operand],
        terms: &[Operand],
        carries_in: &[Operand],
    ) -> Lowered {
        if carries_out.iter().any(|out| matches!(self.destination(out, Width::One), Ok(Some(_)))) {
            return Err("a carry out of 64 bits");
        }
        if carries_in.iter().any(|carry| self.predicate(carry) != Ok(Ir::Immediate(0))) {
            return Err("a carry into 64 bits");
        }
        let target = self.destination(destination, Width::Pair)?;
        let mut sum = None;
        for term in terms.iter().filter(|term| !term.is_zero_register()) {
            let value = self.pair(term)?;
            sum = Some(match sum {
                None => value,
                Some(sum) => Ir::Register(self.emit_pair(ADD, ScalarType::U64, &[sum, value])),
            });
        }
        self.copy(target, sum.unwrap_or(Ir::Immediate(0)));
        Ok(())
    }

    /// `IMAD` and `UIMAD`.
    pub(super) fn integer_product(&mut self, syntax: &Syntax) -> Lowered {
        let Sums { destination, carries_out, terms, carries_in } = split(&syntax.operands)?;
        let [a, b, c] = terms else { return Err("a product without three operands") };
        let ty = signed(syntax.has("U32"));
        let carry_in = match carries_in.first() {
            Some(carry) if syntax.has("X") => self.predicate(carry)?,
            _ => Ir::Immediate(0),
        };
        if syntax.has("WIDE") || syntax.has("HI") {
            return self.wide_product(syntax, (destination, carries_out), [a, b, c], (ty, carry_in));
        }
        if carries_out.iter().any(|out| matches!(self.destination(out, Width::One), Ok(Some(_)))) {
            return Err("a carry out of a product of 32 bits");
        }
        let target = self.destination(destination, Width::Word)?;
        let addend = self.addend(c)?;
        let product = match (a.is_zero_register() || b.is_zero_register(), b.integer()) {
            (true, _) => None,
            (false, Some(1)) => Some(self.addend(a)?),
            (false, Some(factor)) if factor.count_ones() == 1 && factor > 0 => {
                let sources = [self.word(a)?, Ir::Immediate(u64::from(factor.trailing_zeros()))];
                Some(self.emit_word(Operation::Shl, ScalarType::B32, &sources))
            }
            _ => {
                let (a, b) = (self.word(a)?, self.word(b)?);
                if !matches!(addend, Ir::Signed(..) | Ir::Immediate(0)) && carry_in == Ir::Immediate(0) {
                    // Most products are this one.
                    let operation = Operation::Mad(Carry::NONE);
                    if target.is_some() {
                        self.emit(operation, ScalarType::U32, &[target], &[a, b, addend]);
                    }
                    return Ok(());
                }
                Some(self.emit_word(Operation::Mul(warplens_isa::Product::default()), ScalarType::U32, &[a, b]))
            }
        };
        let values: Vec<Ir> =
            product.into_iter().chain(Some(addend).filter(|addend| *addend != Ir::Immediate(0))).collect();
        let carries: Vec<Ir> = Some(carry_in).filter(|carry| *carry != Ir::Immediate(0)).into_iter().collect();
        let sum = self.sum(&values, &carries);
        self.copy(target, sum);
        Ok(())
    }

    fn wide_product(
        &mut self,
        syntax: &Syntax,
        (destination, carries_out): (&Operand, &[Operand]),
        [a, b, c]: [&Operand; 3],
        (ty, carry_in): (ScalarType, Ir),
    ) -> Lowered {
        let is_high = syntax.has("HI");
        let out = carries_out.first().map(|out| self.destination(out, Width::One)).transpose()?.flatten();
        let wide = if ty == ScalarType::U32 { ScalarType::U64 } else { ScalarType::S64 };
        let factors = [self.word(a)?, self.word(b)?];
        let addend = if c.is_zero_register() { None } else { Some(self.pair(c)?) };
        let has_carry = out.is_some() || carry_in != Ir::Immediate(0);
        let target = self.destination(destination, if is_high { Width::Word } else { Width::Pair })?;
        if is_high && addend.is_none() && !has_carry {
            self.emit(Operation::MulHi, ty, &[target], &factors);
            return Ok(());
        }
        let whole = if is_high || has_carry {
            self.temporary(Width::Pair)
        } else {
            match target {
                Some(target) => target,
                None => return Ok(()),
            }
        };
        match addend {
            Some(addend) if !has_carry => {
                self.emit(Operation::MadWide, ty, &[Some(whole)], &[factors[0], factors[1], addend]);
            }
            _ => {
                self.emit(Operation::MulWide, ty, &[Some(whole)], &factors);
            }
        }
        let mut carry = None;
        if has_carry {
            let flag = self.temporary_predicate();
            let reads = carry_in != Ir::Immediate(0);
            let addend = addend.unwrap_or(Ir::Immediate(0));
            let sources: Vec<Ir> =
                [Ir::Register(whole), addend].into_iter().chain(Some(carry_in).filter(|_| reads)).collect();
            let operation = Operation::Add(with_carry(reads, true));
            self.emit(operation, wide, &[Some(whole), Some(flag)], &sources);
            carry = Some(Ir::Register(flag));
        }
        if is_high {
            self.copy(target, Ir::Register(word(whole.index + 1)));
        } else if has_carry {
            self.copy(target, Ir::Register(whole));
        }
        if let (Some(out), Some(carry)) = (out, carry) {
            self.copy(Some(out), carry);
        }
        Ok(())
    }

    /// `LEA` and its kind: a shifted sum.
    pub(super) fn shifted_sum(&mut self, syntax: &Syntax) -> Lowered {
        let Sums { destination, carries_out, terms, carries_in } = split(&syntax.operands)?;
        let is_sign_extended = syntax.has("SX32");
        let (a, b, upper, amount) = match terms {
            [a, b, amount] => (a, b, None, amount),
            [a, b, upper, amount] if syntax.has("HI") => (a, b, Some(upper), amount),
            _ => return Err("a shifted sum of this kind"),
        };
        let amount = amount.integer().ok_or("a shift by a register")? as u64 & 31;
        let source = self.word(a)?;
        let shifted = if !syntax.has("HI") {
            if amount == 0 {
                source
            } else {
                self.emit_word(Operation::Shl, ScalarType::B32, &[source, Ir::Immediate(amount)])
            }
        } else if is_sign_extended {
            // The bits that leave the word at the top, under those of its sign.
            self.emit_word(Operation::Shr, ScalarType::S32, &[source, Ir::Immediate(32 - amount)])
        } else {
            let upper = upper.map(|upper| self.word(upper)).transpose()?.unwrap_or(Ir::Immediate(0));
            let shift = FunnelShift { direction: ShiftDirection::Left, mode: ShiftMode::Clamp };
            self.emit_word(Operation::Shf(shift), ScalarType::B32, &[source, upper, Ir::Immediate(amount)])
        };
        let target = self.destination(destination, Width::Word)?;
        let out = carries_out.first().map(|out| self.destination(out, Width::One)).transpose()?.flatten();
        let carry_in = carries_in.first().map(|carry| self.predicate(carry)).transpose()?;
        let carry_in = carry_in.filter(|carry| *carry != Ir::Immediate(0) && syntax.has("X"));
        if let Some(out) = out {
            let is_difference = b.negated;
            let addend = if is_difference { self.plain(&b.value, ScalarType::B32)? } else { self.word(b)? };
            let (result, carry) = self.carrying(is_difference, [shifted, addend], carry_in);
            self.copy(target, result);
            self.copy(Some(out), carry);
            return Ok(());
        }
        let addend = self.addend(b)?;
        let sum = if b.is_zero_register() && carry_in.is_none() {
            shifted
        } else {
            self.sum(&[shifted, addend], carry_in.as_slice())
        };
        self.copy(target, sum);
        Ok(())
    }

    /// `SHF` and `USHF`.
    pub(super) fn funnel_shift(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, low, amount, high] = &syntax.operands[..] else {
            return Err("a shift without four operands");
        };
        let target = self.destination(destination, Width::Word)?;
        let is_left = syntax.has("L");
        let takes_upper = syntax.has("HI");
        let is_wide = syntax.has("U64") || syntax.has("S64");
        let is_signed = syntax.has("S32") || syntax.has("S64");
        let (low, high) = (self.word(low)?, self.word(high)?);
        let amount = self.word(amount)?;
        let most: u64 = if is_wide { 63 } else { 31 };
        let amount = match amount {
            Ir::Immediate(amount) if syntax.has("W") => Ir::Immediate(amount & most),
            Ir::Immediate(amount) => Ir::Immediate(amount.min(most + 1)),
            amount if syntax.has("W") => {
                self.emit_word(Operation::And, ScalarType::B32, &[amount, Ir::Immediate(most)])
            }
            // The shifts of one word clamp by themselves.
            amount => amount,
        };
        let of_type = if is_signed { ScalarType::S32 } else { ScalarType::U32 };
        match (is_left, takes_upper) {
            (true, false) => {
                let shifted = self.emit_word(Operation::Shl, ScalarType::B32, &[low, amount]);
                self.copy(target, shifted);
                return Ok(());
            }
            (false, true) if !is_wide || low == Ir::Immediate(0) => {
                let shifted = self.emit_word(Operation::Shr, of_type, &[high, amount]);
                self.copy(target, shifted);
                return Ok(());
            }
            _ => {}
        }
        if !is_wide || matches!(amount, Ir::Immediate(0..=32)) {
            let direction = if is_left { ShiftDirection::Left } else { ShiftDirection::Right };
            let shift = FunnelShift { direction, mode: ShiftMode::Clamp };
            if is_left == takes_upper {
                let shifted = self.emit_word(Operation::Shf(shift), ScalarType::B32, &[low, high, amount]);
                self.copy(target, shifted);
                return Ok(());
            }
        }
        let amount = match amount {
            Ir::Immediate(amount) => Ir::Immediate(amount),
            amount if is_wide => amount,
            amount => {
                let least = Operation::Min(Extremum::default());
                self.emit_word(least, ScalarType::U32, &[amount, Ir::Immediate(32)])
            }
        };
        let both = self.emit_pair(Operation::Pack, ScalarType::B64, &[low, high]);
        let (operation, ty) = match (is_left, is_signed) {
            (true, _) => (Operation::Shl, ScalarType::B64),
            (false, true) => (Operation::Shr, ScalarType::S64),
            (false, false) => (Operation::Shr, ScalarType::U64),
        };
        let shifted = self.emit_pair(operation, ty, &[Ir::Register(both), amount]);
        self.copy(target, Ir::Register(word(shifted.index + u32::from(takes_upper))));
        Ok(())
    }

    /// `LOP3` and `ULOP3`.
    pub(super) fn logic(&mut self, syntax: &Syntax) -> Lowered {
        let (flag, operands) = match &syntax.operands[..] {
            [flag, operands @ ..] if flag.is_predicate() => (Some(flag), operands),
            operands => (None, operands),
        };
        let [destination, a, b, c, table, rest @ ..] = operands else { return Err("logic without its table") };
        let table = table.integer().ok_or("logic without its table")? as u64 & 0xff;
        let target = self.destination(destination, Width::Word)?;
        let flag = flag.map(|flag| self.destination(flag, Width::One)).transpose()?.flatten();
        let (a, b, c) = (self.word(a)?, self.word(b)?, self.word(c)?);
        let result = match (table, c) {
            (0xc0, _) => (Operation::And, vec![a, b]),
            (0xfc, _) => (Operation::Or, vec![a, b]),
            (0x3c, _) => (Operation::Xor, vec![a, b]),
            (0x33, _) => (Operation::Not, vec![b]),
            _ => (Operation::Lop3(Default::default()), vec![a, b, c, Ir::Immediate(table)]),
        };
        let combined = match rest.first() {
            Some(operand) => self.predicate(operand)?,
            None => Ir::Immediate(0),
        };
        if flag.is_none() {
            if target.is_some() {
                self.emit(result.0, ScalarType::B32, &[target], &result.1);
            }
            return Ok(());
        }
        let value = self.emit_word(result.0, ScalarType::B32, &result.1);
        let is_any = self.emit_predicate(compare(CompareOp::Ne), ScalarType::B32, &[value, Ir::Immediate(0)]);
        let operation = if syntax.has("PAND") { Operation::And } else { Operation::Or };
        let is_plain = combined == Ir::Immediate(u64::from(syntax.has("PAND")));
        let is_any =
            if is_plain { is_any } else { self.emit_predicate(operation, ScalarType::Pred, &[is_any, combined]) };
        self.copy(target, value);
        self.copy(flag, is_any);
        Ok(())
    }

    /// One operation on words, in the order of the operands.
    pub(super) fn plain_words(&mut self, operation: Operation, ty: ScalarType, syntax: &Syntax) -> Lowered {
        let (destination, sources) = syntax.operands.split_first().ok_or("an instruction without operands")?;
        let target = self.destination(destination, Width::Word)?;
        let sources = sources.iter().map(|source| self.word(source)).collect::<Lowered<Vec<_>>>()?;
        if target.is_some() {
            self.emit(operation, ty, &[target], &sources);
        }
        Ok(())
    }

    /// `FLO` and `UFLO`.
    pub(super) fn find_one(&mut self, syntax: &Syntax) -> Lowered {
        let answer = if syntax.has("SH") { BfindAnswer::ShiftAmount } else { BfindAnswer::Position };
        let operands: Vec<Operand> =
            syntax.operands.iter().filter(|operand| !operand.is_predicate()).cloned().collect();
        let [destination, source] = &operands[..] else { return Err("a search without two operands") };
        let target = self.destination(destination, Width::Word)?;
        let source = self.word(source)?;
        self.emit(Operation::Bfind(answer), signed(syntax.has("U32")), &[target], &[source]);
        Ok(())
    }

    /// `PRMT`: its selector stands in the middle.
    pub(super) fn permute(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, a, selector, b] = &syntax.operands[..] else {
            return Err("a permutation without four operands");
        };
        let mode = match syntax.modifiers().next() {
            None => PrmtMode::Default,
            Some("F4E") => PrmtMode::F4e,
            Some("B4E") => PrmtMode::B4e,
            Some("RC8") => PrmtMode::Rc8,
            Some("ECL") => PrmtMode::Ecl,
            Some("ECR") => PrmtMode::Ecr,
            Some("RC16") => PrmtMode::Rc16,
            Some(_) => return Err("a permutation of this mode"),
        };
        let target = self.destination(destination, Width::Word)?;
        let (a, b, selector) = (self.word(a)?, self.word(b)?, self.word(selector)?);
        self.emit(Operation::Prmt(mode), ScalarType::B32, &[target], &[a, b, selector]);
        Ok(())
    }

    /// `IMNMX`, `VIMNMX`, `VIADDMNMX` and the uniform ones.
    pub(super) fn integer_extremum(&mut self, syntax: &Syntax) -> Lowered {
        if syntax.modifiers().any(|word| !matches!(word, "U32" | "S32" | "U64" | "S64")) {
            return Err("an extremum of this kind");
        }
        let Sums { destination, carries_out, terms, carries_in } = split(&syntax.operands)?;
        // From sm_100 on there are predicates for answers, which nobody asks for.
        let is_asked = carries_out.iter().any(|out| !matches!(self.destination(out, Width::One), Ok(None)));
        let ([pick], false) = (carries_in, is_asked) else { return Err("an extremum of this kind") };
        let ty = compared_type(syntax);
        let is_wide = ty.bits() == 64;
        let target = self.destination(destination, if is_wide { Width::Pair } else { Width::Word })?;
        let mut values = Vec::new();
        for term in terms {
            values.push(if is_wide { self.pair(term)? } else { self.word(term)? });
        }
        if syntax.base().contains("ADD") {
            let [a, b, c] = values[..] else { return Err("an extremum of this kind") };
            let sum = self.emit_word(ADD, ScalarType::U32, &[a, b]);
            values = vec![sum, c];
        }
        let [a, b] = values[..] else { return Err("an extremum of this kind") };
        let pick = self.predicate(pick)?;
        self.extremum(target, (pick, Extremum::default()), ty, [a, b])
    }

    /// The minimum where a predicate holds, else the maximum.
    pub(super) fn extremum(
        &mut self,
        target: Option<Register>,
        (pick, extremum): (Ir, Extremum),
        ty: ScalarType,
        sources: [Ir; 2],
    ) -> Lowered {
        match pick {
            Ir::Immediate(1) => {
                self.emit(Operation::Min(extremum), ty, &[target], &sources);
            }
            Ir::Immediate(_) => {
                self.emit(Operation::Max(extremum), ty, &[target], &sources);
            }
            pick => {
                let width = Width::of_bits(ty.bits());
                let (least, most) = (self.temporary(width), self.temporary(width));
                self.emit(Operation::Min(extremum), ty, &[Some(least)], &sources);
                self.emit(Operation::Max(extremum), ty, &[Some(most)], &sources);
                let bits = if width == Width::Pair { ScalarType::B64 } else { ScalarType::B32 };
                let sources = [Ir::Register(least), Ir::Register(most), pick];
                self.emit(Operation::Selp, bits, &[target], &sources);
            }
        }
        Ok(())
    }

    /// `VABSDIFF`: the distance of two words, plus a third.
    pub(super) fn distance(&mut self, syntax: &Syntax) -> Lowered {
        self.plain_words(Operation::Sad, signed(syntax.has("U32")), syntax)
    }

    /// `IDP`: products of bytes or halves, added up.
    pub(super) fn dot_product(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, a, b, c] = &syntax.operands[..] else { return Err("a product without four operands") };
        let mut types = syntax.modifiers().filter_map(|word| match word {
            "S8" | "S16" => Some(ScalarType::S32),
            "U8" | "U16" => Some(ScalarType::U32),
            _ => None,
        });
        let (Some(of_a), Some(of_b)) = (types.next(), types.next()) else { return Err("a product without types") };
        let target = self.destination(destination, Width::Word)?;
        let sources = [self.word(a)?, self.word(b)?, self.word(c)?];
        let half = if syntax.has("HI") { Dp2aHalf::High } else { Dp2aHalf::Low };
        let operation = if syntax.has("4A") { Operation::Dp4a } else { Operation::Dp2a(half) };
        self.emit(operation, of_a, &[target], &sources).source_ty = of_b;
        Ok(())
    }

    /// `ISETP` and `UISETP`.
    pub(super) fn integer_comparison(&mut self, syntax: &Syntax) -> Lowered {
        let [first, second, a, b, combined, rest @ ..] = &syntax.operands[..] else {
            return Err("a comparison without five operands");
        };
        let order = integer_order(syntax).ok_or("a comparison of this kind")?;
        let ty = compared_type(syntax);
        let (a, b) = if ty.bits() == 64 { (self.pair(a)?, self.pair(b)?) } else { (self.word(a)?, self.word(b)?) };
        let op = match order {
            Order::By(op) => op,
            Order::Always(answer) => {
                return self.answer(syntax, [first, second], Ir::Immediate(u64::from(answer)), combined);
            }
        };
        let extension = match rest.first() {
            Some(lower) if syntax.has("EX") => Some(self.predicate(lower)?),
            _ => None,
        };
        let answer = match extension {
            None => {
                let combination = bool_op(syntax).ok_or("a comparison without its combination")?;
                let combined = self.predicate(combined)?;
                return self.comparison([first, second], (op, ty, false), [a, b], (combination, combined));
            }
            Some(lower) => {
                // The words above decide, unless they are the same.
                let strict = match op {
                    CompareOp::Le | CompareOp::Lt => CompareOp::Lt,
                    CompareOp::Ge | CompareOp::Gt => CompareOp::Gt,
                    other => other,
                };
                let above = self.emit_predicate(compare(strict), ty, &[a, b]);
                match op {
                    CompareOp::Eq => self.emit_predicate(Operation::And, ScalarType::Pred, &[above, lower]),
                    CompareOp::Ne => self.emit_predicate(Operation::Or, ScalarType::Pred, &[above, lower]),
                    _ => {
                        let same = self.emit_predicate(compare(CompareOp::Eq), ty, &[a, b]);
                        let same = self.emit_predicate(Operation::And, ScalarType::Pred, &[same, lower]);
                        self.emit_predicate(Operation::Or, ScalarType::Pred, &[above, same])
                    }
                }
            }
        };
        self.answer(syntax, [first, second], answer, combined)
    }

    /// An answer and its opposite, combined with a predicate.
    fn answer(&mut self, syntax: &Syntax, outs: [&Operand; 2], answer: Ir, combined: &Operand) -> Lowered {
        let op = bool_op(syntax).ok_or("a comparison without its combination")?;
        let combined = self.predicate(combined)?;
        let operation = match op {
            warplens_isa::BoolOp::And => Operation::And,
            warplens_isa::BoolOp::Or => Operation::Or,
            warplens_isa::BoolOp::Xor => Operation::Xor,
        };
        let opposite = opposite(answer)?;
        let mut results = Vec::new();
        for (out, answer) in outs.into_iter().zip([answer, opposite]) {
            if let Some(out) = self.destination(out, Width::One)? {
                results.push((out, self.emit_predicate(operation, ScalarType::Pred, &[answer, combined])));
            }
        }
        for (out, result) in results {
            self.copy(Some(out), result);
        }
        Ok(())
    }

    /// `I2I`: a narrower integer, clamped.
    pub(super) fn narrowed(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a conversion without two operands") };
        let mut types = syntax.modifiers().filter_map(super::convert::integer_type);
        let (Some(to), Some(from)) = (types.next(), types.next()) else { return Err("a conversion without types") };
        let target = self.destination(destination, Width::Word)?;
        let source = self.word(source)?;
        let conversion = warplens_isa::Conversion { sat: syntax.has("SAT"), ..Default::default() };
        self.emit(Operation::Cvt(conversion), to, &[target], &[source]).source_ty = from;
        Ok(())
    }

    /// `IABS`.
    pub(super) fn integer_magnitude(&mut self, syntax: &Syntax) -> Lowered {
        self.plain_words(Operation::Abs(Subnormals::default()), ScalarType::S32, syntax)
    }

    /// A difference is a sum with a negated term.
    pub(super) fn difference(&mut self, target: Option<Register>, a: Ir, b: Ir) {
        self.emit(SUB, ScalarType::U32, &[target], &[a, b]);
    }
}

/// What a comparison asks.
enum Order {
    By(CompareOp),
    /// Nothing: the answer is this.
    Always(bool),
}

fn integer_order(syntax: &Syntax) -> Option<Order> {
    syntax.modifiers().find_map(|word| {
        Some(match word {
            "EQ" => Order::By(CompareOp::Eq),
            "NE" => Order::By(CompareOp::Ne),
            "LT" => Order::By(CompareOp::Lt),
            "LE" => Order::By(CompareOp::Le),
            "GT" => Order::By(CompareOp::Gt),
            "GE" => Order::By(CompareOp::Ge),
            "T" => Order::Always(true),
            "F" => Order::Always(false),
            _ => return None,
        })
    })
}

/// The type in which integers are compared: signed words where the mnemonic names none.
fn compared_type(syntax: &Syntax) -> ScalarType {
    let is_unsigned = syntax.has("U32") || syntax.has("U64");
    match (syntax.has("U64") || syntax.has("S64"), is_unsigned) {
        (false, is_unsigned) => signed(is_unsigned),
        (true, true) => ScalarType::U64,
        (true, false) => ScalarType::S64,
    }
}

/// How an answer is combined with a predicate.
pub(super) fn bool_op(syntax: &Syntax) -> Option<warplens_isa::BoolOp> {
    syntax.modifiers().find_map(|word| {
        Some(match word {
            "AND" => warplens_isa::BoolOp::And,
            "OR" => warplens_isa::BoolOp::Or,
            "XOR" => warplens_isa::BoolOp::Xor,
            _ => return None,
        })
    })
}

impl Lowering<'_> {
    /// Compares, and combines the answer and its opposite with a predicate.
    pub(super) fn comparison(
        &mut self,
        [first, second]: [&Operand; 2],
        (op, ty, ftz): (CompareOp, ScalarType, bool),
        [a, b]: [Ir; 2],
        (combination, combined): (warplens_isa::BoolOp, Ir),
    ) -> Lowered {
        let outs = [self.destination(first, Width::One)?, self.destination(second, Width::One)?];
        let is_plain = combination == warplens_isa::BoolOp::And && combined == Ir::Immediate(1)
            || combination == warplens_isa::BoolOp::Or && combined == Ir::Immediate(0);
        let combination = warplens_isa::Combination { op: if is_plain { None } else { Some(combination) } };
        let operation = Operation::Setp(Comparison { op, combination, ftz });
        let mut sources = vec![a, b];
        if !is_plain {
            sources.push(combined);
        }
        let outs = if outs[1].is_none() { &outs[..1] } else { &outs[..] };
        if outs.iter().any(Option::is_some) {
            self.emit(operation, ty, outs, &sources);
        }
        Ok(())
    }
}
