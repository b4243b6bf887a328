//! Asynchronous copies and what waits for them.
//!
//! A copy is made where it stands: a correct program looks at neither side of it before it has waited. What waits has
//! nothing to wait for then, but says to machine code where the copies must have ended.

use warplens_ir::{Memory, MemoryReference, Operand};
use warplens_isa::{AtomicOp, BulkCopy, CopyRead, MbarrierOp, Operation, ScalarType, StateSpace};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, Modifier};

/// Forms of bulk copies that the emulator lacks: to all CTAs, with masks of bytes, with reports.
const UNKNOWN: &[Modifier] = &[
    Modifier::MulticastClusterAll,
    Modifier::MulticastCluster32b,
    Modifier::CpMask,
    Modifier::IgnoreOob,
    Modifier::MbarrierReportDisabled,
    Modifier::MbarrierReportFabric,
];

impl<'src> Body<'_, '_, 'src> {
    /// `cp.async` and its kind.
    pub(super) fn lower_copy(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let has = |modifier| site.has(modifier);
        match () {
            () if has(Modifier::Mbarrier) => self.lower_copies_arrive(site),
            () if has(Modifier::CommitGroup) => self.lower_commit(site),
            () if has(Modifier::WaitGroup) => self.lower_wait(site),
            () if has(Modifier::WaitAll) => self.lower_wait_all(site),
            () if has(Modifier::Bulk) => self.lower_bulk(site),
            () => self.lower_async_copy(site),
        }
    }

    /// `cp.async [to], [from], bytes{, bytes to read | predicate}{, policy}`.
    fn lower_async_copy(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let hints = usize::from(site.has(Modifier::L2CacheHint));
        self.count(site, 3 + hints, 4 + hints)?;
        let bytes = self.constant_operand(&site.operands[2])?;
        let may_be = if site.has(Modifier::Cg) { &[16][..] } else { &[4, 8, 16] };
        if !may_be.contains(&bytes) {
            let what = if may_be.len() == 1 { "16, as `.cg` copies" } else { "4, 8 or 16" };
            return Err(self.report_kind(site.operands[2].span, what));
        }
        let elements = u8::try_from(bytes / 4).expect("at most 4");
        let mut inst = self.inst(Operation::Copy(CopyRead::Unless), ScalarType::B32);
        let to = self.place(&site.operands[0], StateSpace::Shared, elements)?;
        inst.memory = Memory::Copy { to, from: self.place(&site.operands[1], StateSpace::Global, elements)? };
        if site.operands.len() > 3 + hints {
            self.limit_copy(&site.operands[3], bytes, &mut inst)?;
        }
        self.push_main(inst);
        Ok(())
    }

    /// What of the source is read: the first bytes, or nothing where a predicate is true.
    fn limit_copy(&mut self, operand: &ast::Operand<'src>, bytes: u64, inst: &mut warplens_ir::Inst) -> Lowered<()> {
        if self.is_predicate(operand)? {
            inst.sources.push(self.source(operand, ScalarType::Pred)?);
            return Ok(());
        }
        match self.source(operand, ScalarType::U32)? {
            Operand::Immediate(read) if read >= bytes => {}
            read => {
                inst.operation = Operation::Copy(CopyRead::Bytes);
                inst.sources.push(read);
            }
        }
        Ok(())
    }

    pub(super) fn place(
        &mut self,
        operand: &ast::Operand<'src>,
        space: StateSpace,
        elements: u8,
    ) -> Lowered<MemoryReference> {
        let (space, base, offset) = self.address(operand, space)?;
        Ok(MemoryReference { space, base, offset, elements })
    }

    fn constant_operand(&mut self, operand: &ast::Operand<'src>) -> Lowered<u64> {
        match self.source(operand, ScalarType::U32)? {
            Operand::Immediate(value) => Ok(value),
            _ => Err(self.report_kind(operand.span, "an integer constant")),
        }
    }

    pub(super) fn lower_commit(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 0, 0)?;
        let inst = self.inst(Operation::CopyCommit, ScalarType::U32);
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_wait(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 1, 1)?;
        let groups = self.constant_operand(&site.operands[0])?;
        self.push_wait(groups);
        Ok(())
    }

    /// Everything that is on its way becomes a group, and all groups are waited for.
    fn lower_wait_all(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.lower_commit(site)?;
        self.push_wait(0);
        Ok(())
    }

    fn push_wait(&mut self, groups: u64) {
        let mut inst = self.inst(Operation::CopyWait, ScalarType::U32);
        inst.sources.push(Operand::Immediate(groups));
        self.push_main(inst);
    }
}

impl<'src> Body<'_, '_, 'src> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk`: `[to], [from], bytes{, [barrier]}{, mask of blocks}{, policy}`. The
    /// barrier is told of the bytes behind the copy; of a copy to several blocks, that of each.
    fn lower_bulk(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        if site.instruction.has_any(UNKNOWN) {
            return Err(Stop::Unsupported);
        }
        if site.has(Modifier::Tensor) {
            return self.lower_tensor(site);
        }
        if site.has(Modifier::Prefetch) {
            return self.lower_bulk_prefetch(site);
        }
        let spaces: Vec<StateSpace> =
            site.instruction.modifiers.iter().copied().filter_map(types::space_of).take(2).collect();
        let [to, from] = spaces[..] else { return Err(Stop::Unsupported) };
        let tells = site.has(Modifier::MbarrierCompleteTxBytes);
        let multicast = site.has(Modifier::MulticastCluster);
        let n = 3 + usize::from(tells) + usize::from(multicast) + usize::from(site.has(Modifier::L2CacheHint));
        self.count(site, n, n)?;
        let (ty, reduction) = if site.has(Modifier::Reduce) { self.reduction(site)? } else { (ScalarType::B32, None) };
        let mut inst = self.inst(Operation::CopyBulk(BulkCopy { reduction, multicast }), ty);
        let to = self.place(&site.operands[0], to, 1)?;
        inst.memory = Memory::Copy { to, from: self.place(&site.operands[1], from, 1)? };
        inst.sources.push(self.source(&site.operands[2], ScalarType::U32)?);
        let mask = match site.operands.get(4) {
            Some(mask) if multicast => Some(self.source(mask, ScalarType::B16)?),
            _ => None,
        };
        inst.sources.extend(mask);
        self.push_main(inst);
        if tells {
            let bytes = self.number(&site.operands[2])?;
            let inst = self.told_of_copy(site, &site.operands[3], bytes, mask)?;
            self.push(inst);
        }
        Ok(())
    }

    /// The barrier of a copy is told of its bytes, in each block of the mask if there is one.
    pub(super) fn told_of_copy(
        &mut self,
        site: &Site<'_, 'src>,
        barrier: &ast::Operand<'src>,
        bytes: Operand,
        mask: Option<Operand>,
    ) -> Lowered<warplens_ir::Inst> {
        let mut inst = self.told(site, barrier, MbarrierOp::CompleteTx, bytes, None)?;
        if let (Some(mask), Operation::Red(atomic)) = (mask, inst.operation) {
            inst.operation = Operation::RedCluster(atomic);
            inst.sources.push(mask);
        }
        Ok(inst)
    }

    /// What is done to the elements of the target, and in which type. Two halves are one element.
    fn reduction(&mut self, site: &Site<'_, 'src>) -> Lowered<(ScalarType, Option<AtomicOp>)> {
        let ty = match self.ty(site, 0)? {
            ScalarType::F16 => ScalarType::F16x2,
            ScalarType::Bf16 => ScalarType::Bf16x2,
            ty => ty,
        };
        match types::atomic_op(site.instruction) {
            Some(op) => Ok((ty, Some(op))),
            None => Err(self.report_kind(site.instruction.opcode_span, "an operation such as `.add`")),
        }
    }

    /// `st.bulk [to], bytes, 0`.
    pub(super) fn lower_store_bulk(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.check_target(site, 100)?;
        self.count(site, 3, 3)?;
        if self.source(&site.operands[2], ScalarType::U64)? != Operand::Immediate(0) {
            return Err(self.report_kind(site.operands[2].span, "0, the only value that is stored in bulk"));
        }
        let place = self.row_in_shared(site, &site.operands[0])?;
        let mut inst = self.inst(Operation::FillBulk, ScalarType::B64);
        inst.memory = MemoryReference { elements: 1, ..place }.into();
        inst.sources.push(self.source(&site.operands[1], ScalarType::U64)?);
        self.push_main(inst);
        Ok(())
    }

    fn lower_bulk_prefetch(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let n = 2 + usize::from(site.has(Modifier::L2CacheHint));
        self.count(site, n, n)?;
        let memory = self.place(&site.operands[0], StateSpace::Global, 1)?;
        let mut inst = self.inst(Operation::Prefetch, ScalarType::B8);
        inst.memory = memory.into();
        self.push_main(inst);
        Ok(())
    }
}
