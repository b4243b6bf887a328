//! Arithmetic on pairs of floats of 16 bits in a word.

use warplens_ir::{Operand as Ir, Width};
use warplens_isa::{Conversion, Extremum, FusedMultiplyAdd, Operation, PrmtMode, Product, Rounding, ScalarType, Sum};

use super::float::float_order;
use super::integer::bool_op;
use super::operands::{Lowered, Lowering, sign_of, with_sign};
use crate::syntax::{Operand, Syntax, Value};

impl Lowering<'_> {
    /// A word with the sign that an operand gives it.
    pub(super) fn signed(operand: &Operand, value: Ir) -> Lowered<Ir> {
        sign_of(operand).map_or(Ok(value), |sign| with_sign(sign, value))
    }

    /// Both halves of a word, as an operand places them.
    fn halves(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Ir> {
        let selector = match operand.suffixes.first().map(String::as_str) {
            None | Some("H1_H0") => return self.float(operand, ty),
            Some("H0_H0") => 0x1010,
            Some("H1_H1") => 0x3232,
            Some("H0_H1" | "H0_NH1") => return Err("halves in this order"),
            Some(_) => return Err("halves of this kind"),
        };
        let value = self.plain(&operand.value, ScalarType::B32)?;
        if let Ir::Immediate(0) = value {
            return self.float(operand, ty);
        }
        let sources = [value, Ir::Immediate(0), Ir::Immediate(selector)];
        let value = self.emit_word(Operation::Prmt(PrmtMode::Default), ScalarType::B32, &sources);
        Self::signed(operand, value)
    }

    /// Operands that are pairs of halves. Two numbers are the upper and the lower half of a word.
    fn pairs_of_halves(&mut self, operands: &[Operand], ty: ScalarType) -> Lowered<Vec<Ir>> {
        let mut sources = Vec::new();
        let mut rest = operands;
        while let Some((operand, behind)) = rest.split_first() {
            rest = behind;
            if let (Value::Half(upper), Some((Operand { value: Value::Half(lower), .. }, behind))) =
                (&operand.value, rest.split_first())
            {
                rest = behind;
                sources.push(Ir::Immediate(u64::from(*upper) << 16 | u64::from(*lower)));
                continue;
            }
            sources.push(self.halves(operand, ty)?);
        }
        Ok(sources)
    }

    /// `HSETP2`: compares both halves, each with a predicate of its own for the answer.
    pub(super) fn half_comparison(&mut self, syntax: &Syntax) -> Lowered {
        let [first, second, operands @ .., combined] = &syntax.operands[..] else {
            return Err("a comparison without five operands");
        };
        let op = float_order(syntax).ok_or("a comparison of this kind")?;
        if syntax.has("H_AND") {
            return Err("a comparison of this kind");
        }
        let ty = if syntax.has("BF16_V2") { ScalarType::Bf16x2 } else { ScalarType::F16x2 };
        let sources = self.pairs_of_halves(operands, ty)?;
        let [a, b] = sources[..] else { return Err("a comparison of this kind") };
        let combination = bool_op(syntax).ok_or("a comparison without its combination")?;
        let combined = self.predicate(combined)?;
        self.comparison([first, second], (op, ty, syntax.has("FTZ")), [a, b], (combination, combined))
    }

    /// `HSET2`: compares both halves, each with 1 or 0 as a float for the answer, or with all bits.
    pub(super) fn half_set(&mut self, syntax: &Syntax) -> Lowered {
        let Some((destination, [operands @ .., combined])) = syntax.operands.split_first() else {
            return Err("a comparison without four operands");
        };
        let op = float_order(syntax).ok_or("a comparison of this kind")?;
        let is_bf16 = syntax.has("BF16_V2");
        let ty = if is_bf16 { ScalarType::Bf16x2 } else { ScalarType::F16x2 };
        let target = self.destination(destination, Width::Word)?;
        let sources = self.pairs_of_halves(operands, ty)?;
        let [a, b] = sources[..] else { return Err("a comparison of this kind") };
        let combination = bool_op(syntax).ok_or("a comparison without its combination")?;
        let combined = self.predicate(combined)?;
        let outs = [Some(self.temporary_predicate()), Some(self.temporary_predicate())];
        self.compare_into(outs, (op, ty, syntax.has("FTZ")), [a, b], (combination, combined));
        let one = match (syntax.has("BF"), is_bf16) {
            (true, true) => 0x3f80,
            (true, false) => 0x3c00,
            (false, _) => 0xffff,
        };
        let mut halves = Vec::new();
        for (out, shift) in outs.into_iter().flatten().zip([0, 16]) {
            let sources = [Ir::Immediate(one << shift), Ir::Immediate(0), Ir::Register(out)];
            halves.push(self.emit_word(Operation::Selp, ScalarType::B32, &sources));
        }
        self.emit(Operation::Or, ScalarType::B32, &[target], &halves);
        Ok(())
    }

    /// `HADD2`, `HMUL2`, `HFMA2`, `HMNMX2`.
    pub(super) fn half_arithmetic(&mut self, syntax: &Syntax) -> Lowered {
        if syntax.has("F32") {
            return self.half_to_float(syntax);
        }
        let known = |word: &str| matches!(word, "MMA" | "SAT" | "FTZ" | "RELU" | "BF16_V2" | "BF16" | "NAN");
        if !syntax.has_only(known) {
            return Err("halves of this kind");
        }
        let is_bf16 = syntax.has("BF16_V2") || syntax.has("BF16");
        let ty = if is_bf16 { ScalarType::Bf16x2 } else { ScalarType::F16x2 };
        let (destination, operands) = syntax.operands.split_first().ok_or("an instruction without operands")?;
        let target = self.destination(destination, Width::Word)?;
        let (operands, pick) = match operands.split_last() {
            Some((pick, operands)) if pick.is_predicate() => (operands, Some(self.predicate(pick)?)),
            _ => (operands, None),
        };
        if let [single, zero] = operands
            && single.has("F32")
            && zero.is_zero_register()
        {
            // A float of 32 bits in both halves. ptxas makes it of conversions that round towards zero alone.
            let value = self.plain(&single.value, ScalarType::F32)?;
            let value = Self::signed(single, value)?;
            let conversion = Operation::Cvt(Conversion {
                rounding: Rounding::Zero,
                sat: syntax.has("SAT"),
                ..Conversion::default()
            });
            self.emit(conversion, ty, &[target], &[value, value]).source_ty = ScalarType::F32;
            return Ok(());
        }
        let sources = self.pairs_of_halves(operands, ty)?;
        let (ftz, sat) = (syntax.has("FTZ"), syntax.has("SAT"));
        let is_product_of_nothing = matches!(&operands, [a, b, ..] if a.is_zero_register() && b.is_zero_register());
        let operation = match (syntax.base(), sources.len()) {
            ("HFMA2", 3) if is_product_of_nothing && matches!(sources[2], Ir::Immediate(_)) => {
                // How ptxas writes a constant: minus zero plus it.
                self.copy(target, sources[2]);
                return Ok(());
            }
            ("HADD2", 2) => Operation::Add(Sum { ftz, sat, ..Sum::default() }),
            ("HMUL2", 2) => Operation::Mul(Product { ftz, sat, ..Product::default() }),
            ("HFMA2", 3) => {
                let relu = syntax.has("RELU");
                Operation::Fma(FusedMultiplyAdd { ftz, sat, relu, ..FusedMultiplyAdd::default() })
            }
            ("HMNMX2", 2) => {
                let extremum = Extremum { ftz, nan: syntax.has("NAN"), ..Extremum::default() };
                let pick = pick.ok_or("an extremum without its predicate")?;
                return self.extremum(target, (pick, extremum), ty, [sources[0], sources[1]]);
            }
            _ => return Err("halves of this kind"),
        };
        if target.is_some() {
            self.emit(operation, ty, &[target], &sources);
        }
        Ok(())
    }
}
