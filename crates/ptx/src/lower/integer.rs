//! Bitwise functions of three operands, dot products.

use warplens_ir::{Inst, Operand};
use warplens_isa::{Dp2aHalf, Operation, ScalarType};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, types};
use crate::syntax::ast::{self, Modifier, OperandKind};

impl<'src> Body<'_, '_, 'src> {
    pub(super) fn lower_dp4a(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.lower_dot_product(site, Operation::Dp4a)
    }

    pub(super) fn lower_dp2a(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let half = if site.has(Modifier::Hi) { Dp2aHalf::High } else { Dp2aHalf::Low };
        self.lower_dot_product(site, Operation::Dp2a(half))
    }

    fn lower_dot_product(&mut self, site: &Site<'_, 'src>, operation: Operation) -> Lowered<()> {
        let (a, b) = (self.ty(site, 0)?, self.ty(site, 1)?);
        let accumulator = types::integer(32, a.is_signed() || b.is_signed());
        let inst = self.typed(site, operation, a, accumulator, &[a, b, accumulator])?;
        self.push_main(Inst { source_ty: b, ..inst });
        Ok(())
    }

    /// `lop3.b32 d, a, b, c, table` and `lop3.op.b32 d|p, a, b, c, table, q`.
    pub(super) fn lower_lop3(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
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

/// The two halves of `a|b`, or the operand alone.
pub(super) fn pair<'o, 'src>(
    operand: &'o ast::Operand<'src>,
) -> (&'o ast::Operand<'src>, Option<&'o ast::Operand<'src>>) {
    match &operand.kind {
        OperandKind::Pair(parts) => (&parts[0], Some(&parts[1])),
        _ => (operand, None),
    }
}
