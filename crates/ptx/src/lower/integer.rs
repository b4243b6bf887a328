//! Shifts, bit fields, bit counts, byte permutations, dot products.

use warplens_ir::{Inst, Operand};
use warplens_isa::{Op, ScalarType, ShiftMode};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::opcodes::Opcode;
use crate::syntax::ast::{self, Modifier, OperandKind};

impl<'src> Body<'_, '_, 'src> {
    /// Lowers the integer instructions whose operands are not all of one type.
    pub(super) fn lower_integer(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        use ScalarType::{B32, U32};
        let opcode = site.instruction.opcode;
        let ty = self.ty(site, 0)?;
        let mut inst = match opcode {
            Opcode::Shl => self.typed(site, Op::Shl, ty, ty, &[ty, U32])?,
            Opcode::Shr => self.typed(site, Op::Shr, ty, ty, &[ty, U32])?,
            Opcode::Shf => self.typed(site, Op::Shf, B32, B32, &[B32, B32, U32])?,
            Opcode::Popc => self.typed(site, Op::Popc, ty, U32, &[ty])?,
            Opcode::Clz => self.typed(site, Op::Clz, ty, U32, &[ty])?,
            Opcode::Bfind => self.typed(site, Op::Bfind, ty, U32, &[ty])?,
            Opcode::Brev => self.typed(site, Op::Brev, ty, ty, &[ty])?,
            Opcode::Bfe => self.typed(site, Op::Bfe, ty, ty, &[ty, U32, U32])?,
            Opcode::Bfi => self.typed(site, Op::Bfi, ty, ty, &[ty, ty, U32, U32])?,
            Opcode::Fns => self.typed(site, Op::Fns, B32, B32, &[B32, B32, ScalarType::S32])?,
            Opcode::Bmsk => self.typed(site, Op::Bmsk, B32, B32, &[U32, U32])?,
            Opcode::Szext => self.typed(site, Op::Szext, ty, ty, &[ty, U32])?,
            Opcode::Prmt => self.typed(site, Op::Prmt, B32, B32, &[B32, B32, B32])?,
            Opcode::Lop3 => return self.lower_lop3(site),
            Opcode::Dp4a => self.dot_product(site, Op::Dp4a)?,
            Opcode::Dp2a => self.dot_product(site, Op::Dp2a)?,
            _ => return Err(Stop::Unsupported),
        };
        let modifiers = &mut inst.modifiers;
        if site.has(Modifier::Wrap) {
            modifiers.shift = ShiftMode::Wrap;
        }
        if opcode == Opcode::Prmt {
            modifiers.prmt = types::prmt_mode(site.instruction);
        }
        modifiers.alternate = match opcode {
            Opcode::Shf => site.has(Modifier::Right),
            Opcode::Bfind => site.has(Modifier::Shiftamt),
            Opcode::Dp2a => site.has(Modifier::Hi),
            _ => false,
        };
        self.push_main(inst);
        Ok(())
    }

    /// An operation whose sources have types of their own.
    pub(super) fn typed(
        &mut self,
        site: &Site<'_, 'src>,
        op: Op,
        ty: ScalarType,
        result: ScalarType,
        sources: &[ScalarType],
    ) -> Lowered<Inst> {
        self.count(site, sources.len() + 1, sources.len() + 1)?;
        let mut inst = self.inst(op, ty);
        inst.destinations.push(self.destination(&site.operands[0], result)?);
        for (operand, &ty) in site.operands[1..].iter().zip(sources) {
            inst.sources.push(self.source(operand, ty)?);
        }
        Ok(inst)
    }

    fn dot_product(&mut self, site: &Site<'_, 'src>, op: Op) -> Lowered<Inst> {
        let (a, b) = (self.ty(site, 0)?, self.ty(site, 1)?);
        let accumulator = types::integer(32, a.is_signed() || b.is_signed());
        let inst = self.typed(site, op, a, accumulator, &[a, b, accumulator])?;
        Ok(Inst { source_ty: b, ..inst })
    }

    /// `lop3.b32 d, a, b, c, table` and `lop3.op.b32 d|p, a, b, c, table, q`.
    fn lower_lop3(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        use ScalarType::B32;
        let bool_op = types::bool_op(site.instruction);
        let n = if bool_op.is_some() { 6 } else { 5 };
        self.count(site, n, n)?;
        let mut inst = self.inst(Op::Lop3, B32);
        inst.modifiers.bool_op = bool_op;
        let (value, predicate) = pair(&site.operands[0]);
        inst.destinations.push(self.destination(value, B32)?);
        if let Some(predicate) = predicate {
            inst.destinations.push(self.destination(predicate, ScalarType::Pred)?);
        }
        for operand in &site.operands[1..5] {
            inst.sources.push(self.source(operand, B32)?);
        }
        if !matches!(inst.sources[3], Operand::Immediate(_)) {
            return Err(self.report_kind(site.operands[4].span, "a constant truth table"));
        }
        if let Some(operand) = site.operands.get(5) {
            inst.sources.push(self.predicate(operand)?);
        }
        self.push_main(inst);
        Ok(())
    }
}

/// The two halves of `a|b`, or the operand alone.
pub(super) fn pair<'o, 'src>(
    operand: &'o ast::Operand<'src>,
) -> (&'o ast::Operand<'src>, Option<&'o ast::Operand<'src>>) {
    match &operand.kind {
        OperandKind::Pair(parts) => (&parts[0], Some(&parts[1])),
        _ => (operand, None),
    }
}
