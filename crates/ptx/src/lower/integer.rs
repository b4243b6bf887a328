//! Shifts, bit fields, bit counts, byte permutations, dot products.

use warplens_ir::{Inst, Operand};
use warplens_isa::{BfindAnswer, Dp2aHalf, FunnelShift, Operation, ScalarType, ShiftDirection, ShiftMode};

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
        let mode = if site.has(Modifier::Wrap) { ShiftMode::Wrap } else { ShiftMode::Clamp };
        let inst = match opcode {
            Opcode::Shl => self.typed(site, Operation::Shl, ty, ty, &[ty, U32])?,
            Opcode::Shr => self.typed(site, Operation::Shr, ty, ty, &[ty, U32])?,
            Opcode::Shf => self.typed(
                site,
                Operation::Shf(FunnelShift { direction: shift_direction(site), mode }),
                B32,
                B32,
                &[B32, B32, U32],
            )?,
            Opcode::Popc => self.typed(site, Operation::Popc, ty, U32, &[ty])?,
            Opcode::Clz => self.typed(site, Operation::Clz, ty, U32, &[ty])?,
            Opcode::Bfind => self.typed(site, Operation::Bfind(bfind_answer(site)), ty, U32, &[ty])?,
            Opcode::Brev => self.typed(site, Operation::Brev, ty, ty, &[ty])?,
            Opcode::Bfe => self.typed(site, Operation::Bfe, ty, ty, &[ty, U32, U32])?,
            Opcode::Bfi => self.typed(site, Operation::Bfi, ty, ty, &[ty, ty, U32, U32])?,
            Opcode::Fns => self.typed(site, Operation::Fns, B32, B32, &[B32, B32, ScalarType::S32])?,
            Opcode::Bmsk => self.typed(site, Operation::Bmsk(mode), B32, B32, &[U32, U32])?,
            Opcode::Szext => self.typed(site, Operation::Szext(mode), ty, ty, &[ty, U32])?,
            Opcode::Prmt => {
                self.typed(site, Operation::Prmt(types::prmt_mode(site.instruction)), B32, B32, &[B32, B32, B32])?
            }
            Opcode::Lop3 => return self.lower_lop3(site),
            Opcode::Dp4a => self.dot_product(site, Operation::Dp4a)?,
            Opcode::Dp2a => self.dot_product(site, Operation::Dp2a(dp2a_half(site)))?,
            _ => return Err(Stop::Unsupported),
        };
        self.push_main(inst);
        Ok(())
    }

    /// An operation whose sources have types of their own.
    pub(super) fn typed(
        &mut self,
        site: &Site<'_, 'src>,
        operation: Operation,
        ty: ScalarType,
        result: ScalarType,
        sources: &[ScalarType],
    ) -> Lowered<Inst> {
        self.count(site, sources.len() + 1, sources.len() + 1)?;
        let mut inst = self.inst(operation, ty);
        inst.destinations.push(self.destination(&site.operands[0], result)?);
        for (operand, &ty) in site.operands[1..].iter().zip(sources) {
            inst.sources.push(self.source(operand, ty)?);
        }
        Ok(inst)
    }

    fn dot_product(&mut self, site: &Site<'_, 'src>, operation: Operation) -> Lowered<Inst> {
        let (a, b) = (self.ty(site, 0)?, self.ty(site, 1)?);
        let accumulator = types::integer(32, a.is_signed() || b.is_signed());
        let inst = self.typed(site, operation, a, accumulator, &[a, b, accumulator])?;
        Ok(Inst { source_ty: b, ..inst })
    }

    /// `lop3.b32 d, a, b, c, table` and `lop3.op.b32 d|p, a, b, c, table, q`.
    fn lower_lop3(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        use ScalarType::B32;
        let combination = types::combination(site.instruction);
        let n = if combination.op.is_some() { 6 } else { 5 };
        self.count(site, n, n)?;
        let mut inst = self.inst(Operation::Lop3(combination), B32);
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

fn shift_direction(site: &Site<'_, '_>) -> ShiftDirection {
    if site.has(Modifier::Right) { ShiftDirection::Right } else { ShiftDirection::Left }
}

fn bfind_answer(site: &Site<'_, '_>) -> BfindAnswer {
    if site.has(Modifier::Shiftamt) { BfindAnswer::ShiftAmount } else { BfindAnswer::Position }
}

fn dp2a_half(site: &Site<'_, '_>) -> Dp2aHalf {
    if site.has(Modifier::Hi) { Dp2aHalf::High } else { Dp2aHalf::Low }
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
