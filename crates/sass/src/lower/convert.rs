//! Conversions between types.

use warplens_ir::{Operand as Ir, Width};
use warplens_isa::{Conversion, Operation, PrmtMode, ScalarType};

use super::float::rounding;
use super::operands::{Lowered, Lowering};
use crate::syntax::{Operand, Syntax};

/// The integer type of a name.
pub(super) fn integer_type(name: &str) -> Option<ScalarType> {
    Some(match name {
        "U8" => ScalarType::U8,
        "S8" => ScalarType::S8,
        "U16" => ScalarType::U16,
        "S16" => ScalarType::S16,
        "U32" => ScalarType::U32,
        "S32" => ScalarType::S32,
        "U64" => ScalarType::U64,
        "S64" => ScalarType::S64,
        _ => return None,
    })
}

fn float_type(name: &str) -> Option<ScalarType> {
    Some(match name {
        "F16" => ScalarType::F16,
        "BF16" => ScalarType::Bf16,
        "F32" => ScalarType::F32,
        "F64" => ScalarType::F64,
        _ => return None,
    })
}

impl Lowering<'_> {
    /// A value of a type: of a float with its sign.
    fn converted(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Ir> {
        if ty.is_float() && ty.bits() == 16 {
            return self.half(operand, ty);
        }
        if ty.is_float() {
            return self.float(operand, ty);
        }
        if ty.bits() == 64 {
            return self.pair(operand);
        }
        let value = self.word(operand)?;
        let first = operand.suffixes.iter().find_map(|suffix| match suffix.as_str() {
            "B1" => Some(8),
            "B2" => Some(16),
            "B3" => Some(24),
            "H1" => Some(16),
            _ => None,
        });
        Ok(match first {
            None => value,
            Some(first) => self.emit_word(Operation::Shr, ScalarType::U32, &[value, Ir::Immediate(first)]),
        })
    }

    fn convert(
        &mut self,
        [destination, source]: [&Operand; 2],
        conversion: Conversion,
        (to, from): (ScalarType, ScalarType),
    ) -> Lowered {
        let target = self.destination(destination, Width::of_bits(to.bits().max(32)))?;
        let value = self.converted(source, from)?;
        if target.is_some() {
            self.emit(Operation::Cvt(conversion), to, &[target], &[value]).source_ty = from;
        }
        Ok(())
    }

    /// `F2F`: to another float.
    pub(super) fn float_to_float(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a conversion without two operands") };
        let mut types = syntax.meanings(float_type);
        let (Some(to), Some(from)) = (types.next(), types.next()) else { return Err("a conversion without types") };
        let widens = to.bits() > from.bits();
        let rounding = if widens { Default::default() } else { rounding(syntax) };
        let conversion =
            Conversion { rounding, ftz: syntax.has("FTZ"), sat: syntax.has("SAT"), ..Conversion::default() };
        self.convert([destination, source], conversion, (to, from))
    }

    /// `FRND`: to an integral value.
    pub(super) fn float_round(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a rounding without two operands") };
        let ty = syntax.find(float_type).unwrap_or(ScalarType::F32);
        let conversion =
            Conversion { rounding: rounding(syntax), integral: true, ftz: syntax.has("FTZ"), ..Conversion::default() };
        self.convert([destination, source], conversion, (ty, ty))
    }

    /// `F2I` and `UF2I`.
    pub(super) fn float_to_integer(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a conversion without two operands") };
        let to = syntax.find(integer_type).unwrap_or(ScalarType::S32);
        let from = syntax.find(float_type).unwrap_or(ScalarType::F32);
        let conversion =
            Conversion { rounding: rounding(syntax), integral: true, ftz: syntax.has("FTZ"), ..Conversion::default() };
        self.convert([destination, source], conversion, (to, from))
    }

    /// `I2F`, `I2FP` and the uniform ones.
    pub(super) fn integer_to_float(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("a conversion without two operands") };
        let to = syntax.find(float_type).unwrap_or(ScalarType::F32);
        let from = syntax.find(integer_type).unwrap_or(ScalarType::S32);
        let conversion = Conversion { rounding: rounding(syntax), ..Conversion::default() };
        self.convert([destination, source], conversion, (to, from))
    }

    /// `F2FP`: two floats into the halves of a word, or into bytes, and bytes into floats of 16 bits.
    pub(super) fn pack_floats(&mut self, syntax: &Syntax) -> Lowered {
        if syntax.has("UNPACK_B") {
            return self.unpack_bytes(syntax);
        }
        if syntax.has("PACK_AB_MERGE_C") {
            return self.pack_bytes(syntax);
        }
        if syntax.has("UNPACK_B_MERGE_C") {
            return self.narrow_halves(syntax);
        }
        let [destination, upper, lower] = &syntax.operands[..] else { return Err("a packing without three operands") };
        let known = |word: &str| matches!(word, "F16" | "BF16" | "F32" | "PACK_AB" | "RZ" | "RELU");
        if !syntax.has("PACK_AB") || !syntax.has_only(known) {
            return Err("a packing of this kind");
        }
        let to = if syntax.has("BF16") { ScalarType::Bf16x2 } else { ScalarType::F16x2 };
        let target = self.destination(destination, Width::Word)?;
        let sources = [self.float(upper, ScalarType::F32)?, self.float(lower, ScalarType::F32)?];
        let conversion = Conversion { rounding: rounding(syntax), relu: syntax.has("RELU"), ..Conversion::default() };
        self.emit(Operation::Cvt(conversion), to, &[target], &sources).source_ty = ScalarType::F32;
        Ok(())
    }

    /// `F2FP.PACK_AB_MERGE_C`: two floats as bytes in the lower half of a word, and the lower half of another above.
    fn pack_bytes(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, upper, lower, rest] = &syntax.operands[..] else {
            return Err("a packing without four operands");
        };
        let known = |word: &str| {
            is_of_bytes(word) || matches!(word, "F32" | "PACK_AB_MERGE_C" | "SATFINITE" | "RELU" | "RP" | "RZ")
        };
        if !syntax.has("F32") || !syntax.has_only(known) {
            return Err("a packing of this kind");
        }
        let sources = [self.float(upper, ScalarType::F32)?, self.float(lower, ScalarType::F32)?];
        self.pair_of_bytes(syntax, (&sources, ScalarType::F32), [destination, rest])
    }

    /// `F2FP.UNPACK_B_MERGE_C`: the halves of a word as bytes in the lower half, and the lower half of another above.
    fn narrow_halves(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, halves, rest] = &syntax.operands[..] else { return Err("a packing without three operands") };
        let known = |word: &str| {
            let other = matches!(word, "F16" | "BF16" | "UNPACK_B_MERGE_C" | "SATFINITE" | "RELU" | "RP" | "RZ");
            other || is_of_bytes(word)
        };
        let from = halves_beside(syntax).filter(|_| syntax.has_only(known)).ok_or("a packing of this kind")?;
        let halves = self.word(halves)?;
        self.pair_of_bytes(syntax, (&[halves], from), [destination, rest])
    }

    /// Two floats as bytes in the lower half of a word, and the lower half of another above.
    fn pair_of_bytes(
        &mut self,
        syntax: &Syntax,
        (sources, from): (&[Ir], ScalarType),
        [destination, rest]: [&Operand; 2],
    ) -> Lowered {
        if !syntax.has("SATFINITE") {
            return Err("a packing of this kind");
        }
        let to = byte_float(syntax).ok_or("a packing of this kind")?;
        let target = self.destination(destination, Width::Word)?;
        let is_exponent = to == ScalarType::Ue8m0x2;
        let rounding = if is_exponent { rounding(syntax) } else { Default::default() };
        if !is_exponent && (syntax.has("RP") || syntax.has("RZ")) || to == ScalarType::E2m1x2 {
            return Err("a packing of this kind");
        }
        let relu = syntax.has("RELU");
        let conversion = Conversion { rounding, satfinite: true, relu, ..Conversion::default() };
        let packed = self.temporary(Width::Word);
        self.emit(Operation::Cvt(conversion), to, &[Some(packed)], sources).source_ty = from;
        let above = self.word(rest)?;
        let merged = [Ir::Register(packed), above, Ir::Immediate(0x5410)];
        self.emit(Operation::Prmt(PrmtMode::Default), ScalarType::B32, &[target], &merged);
        Ok(())
    }

    /// `F2FP.UNPACK_B`: two bytes as floats of 16 bits.
    fn unpack_bytes(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, source] = &syntax.operands[..] else { return Err("an unpacking without two operands") };
        let known = |word: &str| is_of_bytes(word) || matches!(word, "F16" | "BF16" | "UNPACK_B" | "RELU");
        let to = halves_beside(syntax).filter(|_| syntax.has_only(known)).ok_or("an unpacking of this kind")?;
        let from = byte_float(syntax).ok_or("an unpacking of this kind")?;
        let target = self.destination(destination, Width::Word)?;
        let source = self.half(source, ScalarType::F16)?;
        let conversion = Conversion { relu: syntax.has("RELU"), ..Conversion::default() };
        self.emit(Operation::Cvt(conversion), to, &[target], &[source]).source_ty = from;
        Ok(())
    }

    /// One half of a word, with its sign, as a float of 16 bits.
    fn half(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Ir> {
        if operand.has("H1_H1") || operand.has("H1") {
            let value = self.plain(&operand.value, ScalarType::B32)?;
            let sources = [value, Ir::Immediate(0), Ir::Immediate(0x4432)];
            let value = self.emit_word(Operation::Prmt(PrmtMode::Default), ScalarType::B32, &sources);
            return Self::signed(operand, value);
        }
        self.float(operand, ty)
    }

    /// `HADD2.F32` and `HMUL2.F32`: a half as a float of 32 bits, plus or times another.
    pub(super) fn half_to_float(&mut self, syntax: &Syntax) -> Lowered {
        let [destination, a, b] = &syntax.operands[..] else { return Err("a sum without three operands") };
        let ty = if syntax.has("BF16") || syntax.has("BF16_V2") { ScalarType::Bf16 } else { ScalarType::F16 };
        let target = self.destination(destination, Width::Word)?;
        let widened = |lowering: &mut Self, operand: &Operand, target: warplens_ir::Register| -> Lowered {
            let value = lowering.half(operand, ty)?;
            let conversion = Operation::Cvt(Conversion::default());
            lowering.emit(conversion, ScalarType::F32, &[Some(target)], &[value]).source_ty = ty;
            Ok(())
        };
        let Some(target) = target else { return Ok(()) };
        let operation = match syntax.base() {
            "HADD2" => Operation::Add(warplens_isa::Sum::default()),
            "HMUL2" => Operation::Mul(warplens_isa::Product::default()),
            _ => return Err("halves of this kind"),
        };
        match (a.is_zero_register(), b.is_zero_register()) {
            (true, _) if syntax.base() == "HADD2" => widened(self, b, target),
            (_, true) if syntax.base() == "HADD2" => widened(self, a, target),
            _ => {
                let (first, second) = (self.temporary(Width::Word), self.temporary(Width::Word));
                widened(self, a, first)?;
                widened(self, b, second)?;
                let sources = [Ir::Register(first), Ir::Register(second)];
                self.emit(operation, ScalarType::F32, &[Some(target)], &sources);
                Ok(())
            }
        }
    }
}

/// The type of two floats of a byte or less each, of this name.
fn pair_named(word: &str) -> Option<ScalarType> {
    Some(match word {
        "E4M3" => ScalarType::E4m3x2,
        "E5M2" => ScalarType::E5m2x2,
        "E3M2" => ScalarType::E3m2x2,
        "E2M3" => ScalarType::E2m3x2,
        "E2M1" => ScalarType::E2m1x2,
        "E8" => ScalarType::Ue8m0x2,
        _ => return None,
    })
}

/// It names such a type.
fn is_of_bytes(word: &str) -> bool {
    pair_named(word).is_some()
}

/// The type that an instruction names.
fn byte_float(syntax: &Syntax) -> Option<ScalarType> {
    syntax.find(pair_named)
}

/// The halves of a word that stand beside a pair of bytes: powers of two have the range of `BF16`.
fn halves_beside(syntax: &Syntax) -> Option<ScalarType> {
    let is_exponent = byte_float(syntax)? == ScalarType::Ue8m0x2;
    match (syntax.has("F16"), syntax.has("BF16")) {
        (true, false) if !is_exponent => Some(ScalarType::F16x2),
        (false, true) if is_exponent => Some(ScalarType::Bf16x2),
        _ => None,
    }
}
