//! Video instructions, taken apart into ordinary integer operations.
//!
//! Machines since `sm_50` mostly emulate them too. The scalar forms work on parts of registers, extended to 64 bits so
//! that nothing overflows before saturation; the SIMD forms work on each byte or half, for which 32 bits are enough.
//!
//! The SIMD forms are what the manual says. Where ptxas makes something else of the scalar forms, they are what ptxas makes
//! (CUDA 13.0, `sm_90`, as disassembled, and as an H200 answers to `validation/hardware/probes`):
//!
//! - `.sat` does not limit an unsigned word from above; what does not fit a part of a word, negative numbers too, becomes the
//!   largest number that does; a shift is limited to a word whatever the part, from a number of 34 bits.
//! - The part `.h1` receives the upper half of a result, not the lower one.
//! - The unsigned extremum of a sum or a difference and the last operand takes the sum for a number of 64 bits, extended by the
//!   sign of the word.
//! - A scaled or saturated `vmad` of unsigned operands takes words for signed ones.

use warplens_ir::{Operand, Register, Width};
use warplens_isa::{Carry, Comparison, Extremum, OpClass, Operation, Product, Rounding, ScalarType, Subnormals, Sum};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, Lanes, Modifier, OperandKind, Selector};

/// A part of a word: position and number of bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Part {
    position: u32,
    bits: u32,
}

// Integer operations without anything that refines them.
const ADD: Operation = Operation::Add(PLAIN_SUM);
const SUB: Operation = Operation::Sub(PLAIN_SUM);
const MUL: Operation = Operation::Mul(Product { rounding: Rounding::Nearest, ftz: false, sat: false });
const MIN: Operation = Operation::Min(PLAIN_EXTREMUM);
const MAX: Operation = Operation::Max(PLAIN_EXTREMUM);
const PLAIN_SUM: Sum = Sum { rounding: Rounding::Nearest, ftz: false, sat: false, carry: Carry::NONE };
const PLAIN_EXTREMUM: Extremum = Extremum { ftz: false, relu: false, nan: false, xorsign_abs: false };

const WORD: Part = Part { position: 0, bits: 32 };
const UPPER_HALF: Part = Part { position: 16, bits: 16 };

/// What is computed from two values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Primary {
    Plain(Operation),
    AbsoluteDifference,
    Average,
    Shift(Operation),
    Set,
}

impl Primary {
    pub(super) const ADD: Self = Self::Plain(ADD);
    pub(super) const SUB: Self = Self::Plain(SUB);
    pub(super) const MIN: Self = Self::Plain(MIN);
    pub(super) const MAX: Self = Self::Plain(MAX);
}

impl<'src> Body<'_, '_, 'src> {
    /// Lowers a video instruction on so many parts of a word.
    pub(super) fn lower_video(&mut self, site: &Site<'_, 'src>, primary: Primary, lanes: u32) -> Lowered<()> {
        if lanes == 1 {
            self.lower_scalar_video(site, primary)?
        } else {
            self.lower_simd_video(site, primary, lanes)?
        }
        self.classify(OpClass::Int);
        Ok(())
    }

    /// Signs of the result and the two sources. `vset` does not write the type of its result, which is unsigned.
    fn video_signs(&mut self, site: &Site<'_, 'src>, primary: Primary) -> Lowered<[bool; 3]> {
        if primary == Primary::Set {
            return Ok([false, self.ty(site, 0)?.is_signed(), self.ty(site, 1)?.is_signed()]);
        }
        Ok([self.ty(site, 0)?.is_signed(), self.ty(site, 1)?.is_signed(), self.ty(site, 2)?.is_signed()])
    }

    fn lower_scalar_video(&mut self, site: &Site<'_, 'src>, primary: Primary) -> Lowered<()> {
        self.count(site, 3, 4)?;
        let [signed, signed_a, signed_b] = self.video_signs(site, primary)?;
        let (destination, part) = self.video_destination(&site.operands[0])?;
        let a = self.video_source(&site.operands[1], signed_a, ScalarType::S64)?;
        let b = self.video_source(&site.operands[2], signed_b, ScalarType::S64)?;
        let value = self.video_primary(site, primary, a, b, ScalarType::S64)?;
        let value = match primary {
            _ if !site.has(Modifier::Sat) => value,
            Primary::Shift(_) => self.saturate_shift(value, signed),
            _ => self.saturate_scalar(value, part, signed),
        };
        let low = self.scopes.fresh(Width::Word);
        self.convert(low, value, ScalarType::U32, ScalarType::U64);
        let low = Operand::Register(low);
        let Some(c) = site.operands.get(3) else {
            self.move_bits(ScalarType::B32, destination, low);
            return Ok(());
        };
        let c = self.source(c, ScalarType::B32)?;
        let ty = types::integer(32, signed);
        if part == UPPER_HALF {
            let upper = self.compute(Operation::Shr, ScalarType::U32, vec![low, Operand::Immediate(16)]);
            self.insert(destination, upper, c, part);
        } else if part != WORD {
            self.insert(destination, low, c, part);
        } else if let Some(op @ (MIN | MAX)) = self.secondary(site)
            && !signed
        {
            self.unsigned_extremum(site, (primary, op), destination, [value, low, c]);
        } else if let Some(op) = self.secondary(site) {
            self.emit(op, ty, vec![destination], vec![low, c]);
        } else {
            self.move_bits(ScalarType::B32, destination, low);
        }
        Ok(())
    }

    /// The extremum of a result, given whole and as its low word, and an unsigned word.
    fn unsigned_extremum(
        &mut self,
        site: &Site<'_, 'src>,
        (primary, op): (Primary, Operation),
        destination: Register,
        [value, low, c]: [Operand; 3],
    ) {
        let takes_word = site.has(Modifier::Sat) || matches!(primary, Primary::Plain(ADD | SUB));
        let value = if takes_word { self.extract(low, WORD, true, ScalarType::S64) } else { value };
        let c = self.extract(c, WORD, false, ScalarType::S64);
        let best = self.compute(op, ScalarType::U64, vec![value, c]);
        self.convert(destination, best, ScalarType::U32, ScalarType::U64);
    }

    /// The operation that combines the result with the last operand.
    fn secondary(&self, site: &Site<'_, 'src>) -> Option<Operation> {
        site.instruction.modifiers.iter().rev().find_map(|modifier| match modifier {
            Modifier::Add => Some(ADD),
            Modifier::Min => Some(MIN),
            Modifier::Max => Some(MAX),
            _ => None,
        })
    }

    fn insert(&mut self, destination: Register, value: Operand, base: Operand, part: Part) {
        let position = Operand::Immediate(u64::from(part.position));
        let bits = Operand::Immediate(u64::from(part.bits));
        self.emit(Operation::Bfi, ScalarType::B32, vec![destination], vec![value, base, position, bits]);
    }

    /// The register that is written and the part of it.
    fn video_destination(&mut self, operand: &ast::Operand<'src>) -> Lowered<(Register, Part)> {
        let (name, part) = match operand.kind {
            OperandKind::Name(name) => (name, WORD),
            OperandKind::Selected(name, selector) => (name, single_part(selector).ok_or(Stop::Unsupported)?),
            _ => return Err(self.report_kind(operand.span, "a register as destination")),
        };
        let whole = ast::Operand { kind: OperandKind::Name(name), span: operand.span };
        match self.destination(&whole, ScalarType::B32)? {
            Some(register) => Ok((register, part)),
            None => Err(self.report_kind(operand.span, "a register as destination")),
        }
    }

    /// A part of a source, extended to `ty`.
    fn video_source(&mut self, operand: &ast::Operand<'src>, signed: bool, ty: ScalarType) -> Lowered<Operand> {
        let (name, selector) = match operand.kind {
            OperandKind::Selected(name, selector) => (name, Some(selector)),
            OperandKind::Negated(name, selector) => (name, selector),
            OperandKind::Name(name) => (name, None),
            _ => {
                let word = self.source(operand, ScalarType::B32)?;
                return Ok(self.extract(word, WORD, signed, ty));
            }
        };
        let part = match selector {
            Some(selector) => single_part(selector).ok_or(Stop::Unsupported)?,
            None => WORD,
        };
        let whole = ast::Operand { kind: OperandKind::Name(name), span: operand.span };
        let word = self.source(&whole, ScalarType::B32)?;
        Ok(self.extract(word, part, signed, ty))
    }

    fn extract(&mut self, word: Operand, part: Part, signed: bool, ty: ScalarType) -> Operand {
        let mut value = word;
        if part != WORD {
            let register = self.scopes.fresh(Width::Word);
            let position = Operand::Immediate(u64::from(part.position));
            let bits = Operand::Immediate(u64::from(part.bits));
            self.emit(Operation::Bfe, types::integer(32, signed), vec![register], vec![word, position, bits]);
            value = Operand::Register(register);
        }
        if ty.bits() == 32 {
            return value;
        }
        let wide = self.scopes.fresh(Width::Pair);
        self.convert(wide, value, ScalarType::S64, types::integer(32, signed));
        Operand::Register(wide)
    }

    fn compute(&mut self, operation: Operation, ty: ScalarType, sources: Vec<Operand>) -> Operand {
        let register = self.scopes.fresh(Width::of_bits(ty.bits()));
        self.emit(operation, ty, vec![register], sources);
        Operand::Register(register)
    }

    fn video_primary(
        &mut self,
        site: &Site<'_, 'src>,
        primary: Primary,
        a: Operand,
        b: Operand,
        ty: ScalarType,
    ) -> Lowered<Operand> {
        Ok(match primary {
            Primary::Plain(op) => self.compute(op, ty, vec![a, b]),
            Primary::AbsoluteDifference => {
                let difference = self.compute(SUB, ty, vec![a, b]);
                self.compute(Operation::Abs(Subnormals { ftz: false }), ty, vec![difference])
            }
            Primary::Average => {
                // Halves are rounded away from zero.
                let sum = self.compute(ADD, ty, vec![a, b]);
                let complement = self.compute(Operation::Not, types::untyped(ty.bits()), vec![sum]);
                let shift = Operand::Immediate(u64::from(ty.bits() - 1));
                let is_positive =
                    self.compute(Operation::Shr, types::integer(ty.bits(), false), vec![complement, shift]);
                let rounded = self.compute(ADD, ty, vec![sum, is_positive]);
                self.compute(Operation::Shr, ty, vec![rounded, Operand::Immediate(1)])
            }
            Primary::Shift(op) => {
                let wraps = site.has(Modifier::Wrap);
                let (limit, bound) = if wraps { (Operation::And, 31) } else { (MIN, 32) };
                let limited =
                    self.compute(limit, if wraps { ScalarType::B64 } else { ty }, vec![b, Operand::Immediate(bound)]);
                let amount = self.scopes.fresh(Width::Word);
                self.convert(amount, limited, ScalarType::U32, ScalarType::U64);
                let register = self.scopes.fresh(Width::Pair);
                self.emit(op, ty, vec![register], vec![a, Operand::Register(amount)]);
                Operand::Register(register)
            }
            Primary::Set => {
                let compare = site.instruction.comparison().and_then(types::comparison);
                let Some(compare) = compare else {
                    return Err(self.report_kind(site.instruction.opcode_span, "a comparison such as `.eq`"));
                };
                let predicate = self.scopes.fresh(Width::One);
                self.emit(Operation::Setp(Comparison::new(compare)), ty, vec![predicate], vec![a, b]);
                let sources = vec![Operand::Immediate(1), Operand::Immediate(0), Operand::Register(predicate)];
                self.compute(Operation::Selp, ty, sources)
            }
        })
    }

    /// Clamps the result of a scalar form.
    fn saturate_scalar(&mut self, value: Operand, part: Part, signed: bool) -> Operand {
        match (part == WORD, signed) {
            (true, true) => self.saturate(value, 32, true, ScalarType::S64),
            (true, false) => self.compute(MAX, ScalarType::S64, vec![value, Operand::Immediate(0)]),
            (false, _) => {
                let most = (1 << (part.bits - u32::from(signed))) - 1;
                self.compute(MIN, ScalarType::U64, vec![value, Operand::Immediate(most)])
            }
        }
    }

    /// Clamps the result of a shift, of which 34 bits are left.
    fn saturate_shift(&mut self, value: Operand, signed: bool) -> Operand {
        let unused = Operand::Immediate(64 - 34);
        let upper = self.compute(Operation::Shl, ScalarType::B64, vec![value, unused]);
        let value = self.compute(Operation::Shr, ScalarType::S64, vec![upper, unused]);
        self.saturate(value, 32, signed, ScalarType::S64)
    }

    /// Clamps a value to what `bits` bits can hold.
    fn saturate(&mut self, value: Operand, bits: u32, signed: bool, ty: ScalarType) -> Operand {
        let (low, high) =
            if signed { (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1) } else { (0, (1i64 << bits) - 1) };
        let constant =
            |value: i64| Operand::Immediate(if ty.bits() == 32 { u64::from(value as u32) } else { value as u64 });
        // An unsigned value is not below the range, whatever the sign of the result.
        let raised = if ty.is_signed() { self.compute(MAX, ty, vec![value, constant(low)]) } else { value };
        self.compute(MIN, ty, vec![raised, constant(high)])
    }

    /// `vmad d, {-}a, {-}b, {-}c`: the product plus an addend, perhaps one more, shifted right.
    pub(super) fn lower_vmad(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 4, 4)?;
        let [_, signed_a, signed_b] = self.video_signs(site, Primary::Plain(ADD))?;
        let is_negated = |position: usize| matches!(site.operands[position].kind, OperandKind::Negated(..));
        let negates_product = is_negated(1) != is_negated(2);
        let negates = negates_product || is_negated(3);
        let signed = signed_a || signed_b || negates;
        let shift = match () {
            () if site.has(Modifier::Shr7) => 7,
            () if site.has(Modifier::Shr15) => 15,
            () => 0,
        };
        if negates && !signed_a && !signed_b && (shift > 0 || site.has(Modifier::Sat)) {
            // The negated product of two unsigned words does not fit 64 bits.
            return Err(Stop::Unsupported);
        }
        let (destination, _) = self.video_destination(&site.operands[0])?;
        let takes_signed = !signed && (shift > 0 || site.has(Modifier::Sat));
        let is_whole = |position: usize| match site.operands[position].kind {
            OperandKind::Selected(..) | OperandKind::Negated(_, Some(_)) => false,
            _ => takes_signed,
        };
        let a = self.video_source(&site.operands[1], signed_a || is_whole(1), ScalarType::S64)?;
        let b = self.video_source(&site.operands[2], signed_b || is_whole(2), ScalarType::S64)?;
        let c = self.video_source(&site.operands[3], signed || takes_signed, ScalarType::S64)?;
        let ty = types::integer(64, signed);
        let mut sum = self.compute(MUL, ty, vec![a, b]);
        if negates_product {
            sum = self.compute(Operation::Neg(Subnormals { ftz: false }), ScalarType::S64, vec![sum]);
        }
        sum = self.compute(if is_negated(3) { SUB } else { ADD }, ty, vec![sum, c]);
        if site.has(Modifier::Po) {
            sum = self.compute(ADD, ty, vec![sum, Operand::Immediate(1)]);
        }
        if shift > 0 {
            sum = self.compute(Operation::Shr, ty, vec![sum, Operand::Immediate(shift)]);
        }
        if site.has(Modifier::Sat) {
            // What was shifted as an unsigned number is none below zero.
            let ty = if shift > 0 { ty } else { ScalarType::S64 };
            sum = self.saturate(sum, 32, signed, ty);
        }
        self.convert(destination, sum, ScalarType::U32, ScalarType::U64);
        self.classify(OpClass::Int);
        Ok(())
    }

    /// `vadd2`, `vadd4` and so on: `d{.mask}, a{.select}, b{.select}, c`.
    fn lower_simd_video(&mut self, site: &Site<'_, 'src>, primary: Primary, lanes: u32) -> Lowered<()> {
        self.count(site, 4, 4)?;
        let bits = 32 / lanes;
        let [signed, signed_a, signed_b] = self.video_signs(site, primary)?;
        let (destination, mask) = self.simd_register(&site.operands[0])?;
        let (a, select_a) = self.simd_register(&site.operands[1])?;
        let (b, select_b) = self.simd_register(&site.operands[2])?;
        let c = self.source(&site.operands[3], ScalarType::B32)?;
        let accumulates = site.has(Modifier::Add);
        let mut result = c;
        for lane in 0..lanes {
            let chosen = mask.is_none_or(|mask| digits(&mask).any(|digit| u32::from(digit) == lane));
            if !chosen {
                continue;
            }
            let element = |select: Option<Lanes>, usual: u32| {
                let digit = select.and_then(|select| digits(&select).nth(lane as usize));
                digit.map_or(usual, u32::from) % (2 * lanes)
            };
            let pick = |index: u32| {
                let register = if index < lanes { a } else { b };
                (Operand::Register(register), Part { position: index % lanes * bits, bits })
            };
            let (word, part) = pick(element(select_a, lane));
            let left = self.extract(word, part, signed_a, ScalarType::S32);
            let (word, part) = pick(element(select_b, lanes + lane));
            let right = self.extract(word, part, signed_b, ScalarType::S32);
            let mut value = self.video_primary(site, primary, left, right, ScalarType::S32)?;
            if site.has(Modifier::Sat) {
                value = self.saturate(value, bits, signed, ScalarType::S32);
            }
            let next = self.scopes.fresh(Width::Word);
            if accumulates {
                self.emit(ADD, ScalarType::U32, vec![next], vec![result, value]);
            } else {
                self.insert(next, value, result, Part { position: lane * bits, bits });
            }
            result = Operand::Register(next);
        }
        self.move_bits(ScalarType::B32, destination, result);
        Ok(())
    }

    /// A register of a SIMD instruction and the lanes that stand after it.
    fn simd_register(&mut self, operand: &ast::Operand<'src>) -> Lowered<(Register, Option<Lanes>)> {
        let (name, lanes) = match operand.kind {
            OperandKind::Name(name) => (name, None),
            OperandKind::Selected(name, Selector::Bytes(lanes) | Selector::Halves(lanes)) => (name, Some(lanes)),
            OperandKind::Immediate(_) => {
                let value = self.source(operand, ScalarType::B32)?;
                let register = self.scopes.fresh(Width::Word);
                self.move_bits(ScalarType::B32, register, value);
                return Ok((register, None));
            }
            _ => return Err(self.report_kind(operand.span, "a register")),
        };
        let whole = ast::Operand { kind: OperandKind::Name(name), span: operand.span };
        match self.destination(&whole, ScalarType::B32)? {
            Some(register) => Ok((register, lanes)),
            None => Err(self.report_kind(operand.span, "a register")),
        }
    }
}

/// The digits of a selector, least significant lane first.
fn digits(lanes: &Lanes) -> impl Iterator<Item = u8> + use<> {
    let (digits, len) = (lanes.digits, usize::from(lanes.len));
    (0..len).rev().map(move |position| digits[position])
}

/// The part of a word that a selector of one digit means.
fn single_part(selector: Selector) -> Option<Part> {
    let (lanes, bits) = match selector {
        Selector::Bytes(lanes) => (lanes, 8),
        Selector::Halves(lanes) => (lanes, 16),
        // `.b` of a colour never follows a video operand.
        Selector::Component { .. } => return None,
    };
    let position = u32::from(lanes.digits[0]) * bits;
    (lanes.len == 1 && position < 32).then_some(Part { position, bits })
}
