//! Exchange between the lanes of a warp, barriers and fences.

use warplens_ir::{Inst, Operand};
use warplens_isa::{BarrierKind, MatchMode, Operation, ReduxOp, ScalarType, ShuffleMode, VoteMode};

use super::Lowered;
use super::body::Body;
use super::instruction::Site;
use super::integer::pair;
use crate::syntax::ast::{self, Modifier};

impl<'src> Body<'_, '_, 'src> {
    /// A value and, if given, a predicate: `d|p`.
    fn value_and_predicate(&mut self, operand: &ast::Operand<'src>, ty: ScalarType, inst: &mut Inst) -> Lowered<()> {
        let (value, predicate) = pair(operand);
        inst.destinations.push(self.destination(value, ty)?);
        if let Some(predicate) = predicate {
            inst.destinations.push(self.destination(predicate, ScalarType::Pred)?);
        }
        Ok(())
    }

    pub(super) fn lower_shuffle(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        use ScalarType::{B32, U32};
        let mode = site.instruction.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::Up => Some(ShuffleMode::Up),
            Modifier::Down => Some(ShuffleMode::Down),
            Modifier::Bfly => Some(ShuffleMode::Butterfly),
            Modifier::Idx => Some(ShuffleMode::Index),
            _ => None,
        });
        let n = if site.has(Modifier::Sync) { 5 } else { 4 };
        self.count(site, n, n)?;
        let Some(mode) = mode else {
            return Err(self.report_kind(site.instruction.opcode_span, "a mode such as `.down`"));
        };
        let mut inst = self.inst(Operation::Shfl(mode), B32);
        self.value_and_predicate(&site.operands[0], B32, &mut inst)?;
        inst.sources.push(self.source(&site.operands[1], B32)?);
        for operand in &site.operands[2..] {
            inst.sources.push(self.source(operand, U32)?);
        }
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_vote(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let mode = site.instruction.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::All => Some(VoteMode::All),
            Modifier::Any => Some(VoteMode::Any),
            Modifier::Uni => Some(VoteMode::Uniform),
            Modifier::Ballot => Some(VoteMode::Ballot),
            _ => None,
        });
        let n = if site.has(Modifier::Sync) { 3 } else { 2 };
        self.count(site, n, n)?;
        let Some(mode) = mode else {
            return Err(self.report_kind(site.instruction.opcode_span, "a mode such as `.ballot`"));
        };
        let ty = if mode == VoteMode::Ballot { ScalarType::B32 } else { ScalarType::Pred };
        let mut inst = self.inst(Operation::Vote(mode), ty);
        inst.destinations.push(self.destination(&site.operands[0], ty)?);
        inst.sources.push(self.predicate(&site.operands[1])?);
        // Without a member mask whoever is there takes part, and nobody is waited for.
        if let Some(operand) = site.operands.get(2) {
            inst.sources.push(self.source(operand, ScalarType::B32)?);
        }
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_match(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 3, 3)?;
        let ty = self.ty(site, 0)?;
        let mode = if site.has(Modifier::All) { MatchMode::All } else { MatchMode::Any };
        let mut inst = self.inst(Operation::Match(mode), ty);
        self.value_and_predicate(&site.operands[0], ScalarType::B32, &mut inst)?;
        inst.sources.push(self.source(&site.operands[1], ty)?);
        inst.sources.push(self.source(&site.operands[2], ScalarType::B32)?);
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_redux(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let op = site.instruction.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::Add => Some(ReduxOp::Add),
            Modifier::Min => Some(ReduxOp::Min),
            Modifier::Max => Some(ReduxOp::Max),
            Modifier::And => Some(ReduxOp::And),
            Modifier::Or => Some(ReduxOp::Or),
            Modifier::Xor => Some(ReduxOp::Xor),
            _ => None,
        });
        let Some(op) = op else {
            return Err(self.report_kind(site.instruction.opcode_span, "an operation such as `.add`"));
        };
        let reduction = self.written(site, ty)?.reduction(op, site.has(Modifier::Abs));
        let inst = self.typed(site, Operation::Redux(reduction), ty, ty, &[ty, ScalarType::B32])?;
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_elect(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let mut inst = self.inst(Operation::Elect, ScalarType::B32);
        self.value_and_predicate(&site.operands[0], ScalarType::B32, &mut inst)?;
        inst.sources.push(self.source(&site.operands[1], ScalarType::B32)?);
        self.push_main(inst);
        Ok(())
    }

    /// Fences of every kind and scope.
    pub(super) fn lower_fence(&mut self, _: &Site<'_, 'src>) -> Lowered<()> {
        let inst = self.inst(Operation::Fence, ScalarType::B32);
        self.push_main(inst);
        Ok(())
    }

    /// Barriers of a cluster, of a CTA and of a warp.
    pub(super) fn lower_barrier(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        if site.has(Modifier::Cluster) {
            return self.lower_cluster_barrier(site);
        }
        if site.has(Modifier::Warp) {
            self.count(site, 1, 1)?;
            let mut inst = self.inst(Operation::BarWarp, ScalarType::B32);
            inst.sources.push(self.source(&site.operands[0], ScalarType::B32)?);
            self.push_main(inst);
            return Ok(());
        }
        let kind = match () {
            () if site.has(Modifier::Arrive) => BarrierKind::Arrive,
            () if !site.has(Modifier::Red) => BarrierKind::Sync,
            () if site.has(Modifier::Popc) => BarrierKind::ReducePopc,
            () if site.has(Modifier::And) => BarrierKind::ReduceAnd,
            () => BarrierKind::ReduceOr,
        };
        let reduces = site.has(Modifier::Red);
        let ty = if kind == BarrierKind::ReducePopc { ScalarType::U32 } else { ScalarType::Pred };
        let mut inst = self.inst(Operation::Bar(kind), ty);
        let (mut operands, last): (&[ast::Operand<'src>], _) = (site.operands, site.operands.last());
        if reduces {
            self.count(site, 3, 4)?;
            inst.destinations.push(self.destination(&operands[0], ty)?);
            operands = &operands[1..operands.len() - 1];
        } else {
            self.count(site, 1, 2)?;
        }
        for operand in operands {
            inst.sources.push(self.source(operand, ScalarType::U32)?);
        }
        if matches!(inst.sources.first(), Some(&Operand::Immediate(number)) if number > 15) {
            return Err(self.report_kind(operands[0].span, "a barrier from 0 to 15"));
        }
        if let Some(predicate) = last.filter(|_| reduces) {
            inst.sources.push(self.predicate(predicate)?);
        }
        self.push_main(inst);
        Ok(())
    }
}
