//! Arithmetic on floats of 32 and 64 bits.

use warplens_ir::{Operand as Ir, Register, Width};
use warplens_isa::{
    Accuracy, Approximation, BoolOp, CompareOp, Comparison, Conversion, Extremum, FusedMultiplyAdd, Operation,
    Precision, Product, Rounding, ScalarType, Sum,
};

use super::integer::bool_op;
use super::operands::{Lowered, Lowering, compare, word};
use crate::syntax::{Operand, Syntax};

/// The rounding that the mnemonic names.
pub(super) fn rounding(syntax: &Syntax) -> Rounding {
    let named = syntax.find(|word| {
        Some(match word {
            "RZ" | "TRUNC" => Rounding::Zero,
            "RM" | "FLOOR" => Rounding::Down,
            "RP" | "CEIL" => Rounding::Up,
            _ => return None,
        })
    });
    named.unwrap_or(Rounding::Nearest)
}

/// The type of a mnemonic that begins with its letter.
fn of_letter(syntax: &Syntax) -> ScalarType {
    if syntax.base().starts_with('D') { ScalarType::F64 } else { ScalarType::F32 }
}

const fn width(ty: ScalarType) -> Width {
    Width::of_bits(ty.bits())
}

/// What a comparison of floats asks; the forms with U hold where an operand is NaN.
pub(super) fn float_order(syntax: &Syntax) -> Option<CompareOp> {
    syntax.find(|word| {
        Some(match word {
            "EQ" => CompareOp::Eq,
            "NE" => CompareOp::Ne,
            "LT" => CompareOp::Lt,
            "LE" => CompareOp::Le,
            "GT" => CompareOp::Gt,
            "GE" => CompareOp::Ge,
            "EQU" => CompareOp::Equ,
            "NEU" => CompareOp::Neu,
            "LTU" => CompareOp::Ltu,
            "LEU" => CompareOp::Leu,
            "GTU" => CompareOp::Gtu,
            "GEU" => CompareOp::Geu,
            "NUM" => CompareOp::Num,
            "NAN" => CompareOp::Nan,
            _ => return None,
        })
    })
}

/// The power of two by which a word multiplies a product, such as `D2` for a half.
fn scale(word: &str) -> Option<i32> {
    Some(match word {
        "D2" => -1,
        "D4" => -2,
        "D8" => -3,
        "M2" => 1,
        "M4" => 2,
        "M8" => 3,
        _ => return None,
    })
}

impl Lowering<'_> {
    /// `FADD`, `FMUL`, `FFMA`, `DADD`, `DMUL`, `DFMA` and the uniform ones.
    pub(super) fn float_arithmetic(&mut self, syntax: &Syntax) -> Lowered {
        let ty = of_letter(syntax);
        let (ftz, sat, rounding) = (syntax.has("FTZ"), syntax.has("SAT"), rounding(syntax));
        if let Some(exponent) = syntax.find(scale) {
            return self.scaled_product(syntax, exponent);
        }
        if !syntax.has_only(|word| matches!(word, "FTZ" | "SAT" | "RN" | "RZ" | "RM" | "RP")) {
            return Err("float arithmetic of this kind");
        }
        let (destination, sources) = syntax.operands.split_first().ok_or("an instruction without operands")?;
        let target = self.destination(destination, width(ty))?;
        let sources = sources.iter().map(|source| self.float(source, ty)).collect::<Lowered<Vec<_>>>()?;
        let operation = match (syntax.base().trim_start_matches('U'), sources.len()) {
            ("FADD" | "DADD", 2) => Operation::Add(Sum { rounding, ftz, sat, ..Sum::default() }),
            ("FMUL" | "DMUL", 2) => Operation::Mul(Product { rounding, ftz, sat }),
            ("FFMA" | "DFMA", 3) => {
                Operation::Fma(FusedMultiplyAdd { rounding, ftz, sat, ..FusedMultiplyAdd::default() })
            }
            _ => return Err("float arithmetic of this kind"),
        };
        if target.is_some() {
            self.emit(operation, ty, &[target], &sources);
        }
        Ok(())
    }

    /// `FMUL.D2` and its like: a product times a power of two, rounded once. Doubles hold it as it is.
    fn scaled_product(&mut self, syntax: &Syntax, exponent: i32) -> Lowered {
        let [destination, a, b] = &syntax.operands[..] else { return Err("a product without three operands") };
        if !syntax.has_only(|word| scale(word).is_some() || matches!(word, "RN" | "RZ" | "RM" | "RP")) {
            return Err("float arithmetic of this kind");
        }
        let target = self.destination(destination, Width::Word)?;
        let mut product = Ir::Immediate(2_f64.powi(exponent).to_bits());
        for operand in [a, b] {
            let value = self.float(operand, ScalarType::F32)?;
            let wide = self.temporary(Width::Pair);
            self.convert_word(Some(wide), value, (ScalarType::F64, ScalarType::F32), Rounding::Nearest);
            let times = Operation::Mul(Product::default());
            product = Ir::Register(self.emit_pair(times, ScalarType::F64, &[product, Ir::Register(wide)]));
        }
        self.convert_word(target, product, (ScalarType::F32, ScalarType::F64), rounding(syntax));
        Ok(())
    }

    fn convert_word(
        &mut self,
        to: Option<Register>,
        value: Ir,
        (ty, from): (ScalarType, ScalarType),
        rounding: Rounding,
    ) {
        let conversion = Operation::Cvt(Conversion { rounding, ..Conversion::default() });
        self.emit(conversion, ty, &[to], &[value]).source_ty = from;
    }

    /// `FSETP` and `DSETP`.
    pub(super) fn float_comparison(&mut self, syntax: &Syntax) -> Lowered {
        let ty = of_letter(syntax);
        let [first, second, a, b, combined] = &syntax.operands[..] else {
            return Err("a comparison without five operands");
        };
        let combination = bool_op(syntax).ok_or("a comparison without its combination")?;
        let sources = [self.float(a, ty)?, self.float(b, ty)?];
        let combined = self.predicate(combined)?;
        if syntax.has("MAX") || syntax.has("MIN") {
            // Whether the first is the one that an extremum takes, as NaN loses; and whether both are NaN.
            return self.wins(syntax.has("MAX"), [first, second], ty, sources, (combination, combined));
        }
        let op = float_order(syntax).ok_or("a comparison of this kind")?;
        self.comparison([first, second], (op, ty, syntax.has("FTZ")), sources, (combination, combined))
    }

    fn wins(
        &mut self,
        is_maximum: bool,
        outs: [&Operand; 2],
        ty: ScalarType,
        [a, b]: [Ir; 2],
        (combination, combined): (BoolOp, Ir),
    ) -> Lowered {
        if (combination, combined) != (BoolOp::And, Ir::Immediate(1)) {
            return Err("a comparison of this kind");
        }
        let op = if is_maximum { CompareOp::Gt } else { CompareOp::Lt };
        let beats = self.emit_predicate(compare(op), ty, &[a, b]);
        let is_alone = self.emit_predicate(compare(CompareOp::Nan), ty, &[b, b]);
        let wins = self.emit_predicate(Operation::Or, ScalarType::Pred, &[beats, is_alone]);
        let (first, second) = (self.destination(outs[0], Width::One)?, self.destination(outs[1], Width::One)?);
        self.copy(first, wins);
        if second.is_some() {
            let is_none = self.emit_predicate(compare(CompareOp::Nan), ty, &[a, a]);
            self.emit(Operation::And, ScalarType::Pred, &[second], &[is_none, is_alone]);
        }
        Ok(())
    }

    /// `FSET`: 1 or 0 as a float.
    pub(super) fn float_set(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, a, b, combined] = &syntax.operands[..] else {
            return Err("a comparison without four operands");
        };
        let op = float_order(syntax).ok_or("a comparison of this kind")?;
        let combination = bool_op(syntax).ok_or("a comparison without its combination")?;
        let target = self.destination(destination, Width::Word)?;
        let sources = [self.float(a, ScalarType::F32)?, self.float(b, ScalarType::F32)?, self.predicate(combined)?];
        let combination = warplens_isa::Combination { op: Some(combination) };
        let operation = Operation::Set(Comparison { op, combination, ftz: syntax.has("FTZ") });
        let ty = if syntax.has("BF") { ScalarType::F32 } else { ScalarType::U32 };
        self.emit(operation, ty, &[target], &sources).source_ty = ScalarType::F32;
        Ok(())
    }

    /// `FMNMX` and `FMNMX3`.
    pub(super) fn float_extremum(&mut self, syntax: &Syntax) -> Lowered {
        let Some((pick, operands)) = syntax.operands.split_last() else { return Err("an extremum without operands") };
        let (destination, sources) = operands.split_first().ok_or("an extremum without operands")?;
        let extremum = Extremum {
            ftz: syntax.has("FTZ"),
            relu: false,
            nan: syntax.has("NAN"),
            xorsign_abs: syntax.has("XORSIGN"),
        };
        let target = self.destination(destination, Width::Word)?;
        let mut sources =
            sources.iter().map(|source| self.float(source, ScalarType::F32)).collect::<Lowered<Vec<_>>>()?;
        let pick = self.predicate(pick)?;
        if let [a, b, c] = sources[..] {
            let first = self.temporary(Width::Word);
            self.extremum(Some(first), (pick, extremum), ScalarType::F32, [a, b])?;
            sources = vec![Ir::Register(first), c];
        }
        let [a, b] = sources[..] else { return Err("an extremum of this kind") };
        self.extremum(target, (pick, extremum), ScalarType::F32, [a, b])
    }

    /// `SEL`, `FSEL` and `USEL`.
    pub(super) fn select(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, a, b, pick] = &syntax.operands[..] else { return Err("a selection without four operands") };
        let is_wide = syntax.has("64");
        let target = self.destination(destination, if is_wide { Width::Pair } else { Width::Word })?;
        let is_float = syntax.base().ends_with("FSEL");
        let mut values = Vec::new();
        for operand in [a, b] {
            values.push(match (is_wide, is_float) {
                (true, _) => self.pair(operand)?,
                (false, true) => self.float_bits(operand)?,
                (false, false) => self.word(operand)?,
            });
        }
        let pick = self.predicate(pick)?;
        let ty = if is_wide { ScalarType::B64 } else { ScalarType::B32 };
        if target.is_some() {
            self.emit(Operation::Selp, ty, &[target], &[values[0], values[1], pick]);
        }
        Ok(())
    }

    /// `MUFU`: functions of the special function unit.
    pub(super) fn special_function(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a function without two operands") };
        let target = self.destination(destination, Width::Word)?;
        if syntax.has("RCP64H") || syntax.has("RSQ64H") {
            return self.upper_half_function(syntax, target, source);
        }
        if !syntax.has_only(|word| !matches!(word, "F16" | "F16_V2" | "BF16" | "BF16_V2")) {
            return Err("a function of halves");
        }
        let value = self.float(source, ScalarType::F32)?;
        let approximation = Approximation { ftz: true };
        let accuracy = Accuracy { precision: Precision::Approx, ftz: true, ..Accuracy::default() };
        let operation = match syntax.first() {
            Some("RCP") => Operation::Rcp(accuracy),
            Some("SQRT") => Operation::Sqrt(accuracy),
            Some("RSQ") => Operation::Rsqrt(approximation),
            Some("EX2") => Operation::Ex2(approximation),
            Some("LG2") => Operation::Lg2(approximation),
            Some("TANH") => Operation::Tanh(approximation),
            Some(name @ ("SIN" | "COS")) => {
                // The unit takes turns of the circle.
                let turn = Ir::Immediate(u64::from(std::f32::consts::TAU.to_bits()));
                let angle = self.emit_word(Operation::Mul(Product::default()), ScalarType::F32, &[value, turn]);
                let operation =
                    if name == "SIN" { Operation::Sin(approximation) } else { Operation::Cos(approximation) };
                self.emit(operation, ScalarType::F32, &[target], &[angle]);
                return Ok(());
            }
            _ => return Err("a function of this kind"),
        };
        if target.is_some() {
            self.emit(operation, ScalarType::F32, &[target], &[value]);
        }
        Ok(())
    }

    /// The upper half of the reciprocal (root) of a double whose lower half does not count.
    fn upper_half_function(&mut self, syntax: &Syntax, target: Option<Register>, source: &Operand) -> Lowered {
        let sign =
            |operand: &Operand| Operand { negated: operand.negated, absolute: operand.absolute, ..operand.clone() };
        let upper = self.float_bits(&sign(source))?;
        let whole = self.emit_pair(Operation::Pack, ScalarType::B64, &[Ir::Immediate(0), upper]);
        let operation = if syntax.has("RCP64H") {
            Operation::Rcp(Accuracy { precision: Precision::Approx, ftz: true, ..Accuracy::default() })
        } else {
            Operation::Rsqrt(Approximation { ftz: true })
        };
        let result = self.emit_pair(operation, ScalarType::F64, &[Ir::Register(whole)]);
        self.copy(target, Ir::Register(word(result.index + 1)));
        Ok(())
    }

    /// `FCHK`: whether a quotient needs the long way, because the short one could leave the range of normal numbers.
    ///
    /// Which quotients the hardware sends there is not published. Both ways give the quotient, so that only the way is
    /// assumed: the exponents of the operands and of the quotient have to be far from the ends of the range.
    pub(super) fn quotient_check(&mut self, syntax: &Syntax) -> Lowered {
        let [out, a, b] = &syntax.operands[..] else { return Err("a check without three operands") };
        let target = self.destination(out, Width::One)?;
        let (a, b) = (self.float_bits(a)?, self.float_bits(b)?);
        let exponent = |lowering: &mut Self, bits: Ir| {
            let exponent = lowering.emit_word(Operation::Shr, ScalarType::U32, &[bits, Ir::Immediate(23)]);
            lowering.emit_word(Operation::And, ScalarType::B32, &[exponent, Ir::Immediate(0xff)])
        };
        let (a, b) = (exponent(self, a), exponent(self, b));
        let distance = self.temporary(Width::Word);
        self.difference(Some(distance), a, b);
        // x - low > high - low, without a sign, is x outside of low to high.
        let mut outside = None;
        for (value, low, high) in
            [(a, 24_u32, 254_u32), (b, 2, 252), (Ir::Register(distance), 0_u32.wrapping_sub(124), 124)]
        {
            let shifted = self.temporary(Width::Word);
            self.difference(Some(shifted), value, Ir::Immediate(u64::from(low)));
            let range = Ir::Immediate(u64::from(high.wrapping_sub(low)));
            let is_outside =
                self.emit_predicate(compare(CompareOp::Gt), ScalarType::U32, &[Ir::Register(shifted), range]);
            outside = Some(match outside {
                None => is_outside,
                Some(outside) => self.emit_predicate(Operation::Or, ScalarType::Pred, &[outside, is_outside]),
            });
        }
        self.copy(target, outside.unwrap_or(Ir::Immediate(1)));
        Ok(())
    }
}
