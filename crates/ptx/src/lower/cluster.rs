//! Clusters: their barriers, addresses of shared memory in other blocks, and stores that tell a barrier there.
//!
//! How the addresses of the CTAs lie is said by [`warplens_isa::cluster_window`]: the byte above the offset in a CTA is one
//! more than its rank, or zero for whoever uses the address.

use warplens_ir::{Operand, Register, Width};
use warplens_isa::{
    AccessOrder, Atomic, CLUSTER_WINDOW_BITS, ClusterPhase, CompareOp, Comparison, MbarrierOp, Operation, PrmtMode,
    ScalarType, SpecialRegister, StateSpace, Sum,
};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, Modifier};

/// Bytes 0 to 2 of the first operand of `prmt`, and above them the lowest of the second.
const WINDOW_SELECTOR: u64 = 0x4210;

impl<'src> Body<'_, '_, 'src> {
    /// `barrier.cluster.arrive` and `barrier.cluster.wait`.
    pub(super) fn lower_cluster_barrier(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 0, 0)?;
        let half = if site.has(Modifier::Arrive) { ClusterPhase::Arrive } else { ClusterPhase::Wait };
        let inst = self.inst(Operation::ClusterBar(half), ScalarType::B32);
        self.push_main(inst);
        Ok(())
    }

    /// `d, a, b`: the place of `a` in the shared memory of the block with rank `b`.
    pub(super) fn lower_mapa(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 3, 3)?;
        let ty = self.cluster_address_type(site)?;
        let destination = self.destination(&site.operands[0], ty)?;
        let (low, high) = self.address_words(&site.operands[1], ty)?;
        let window = match self.source(&site.operands[2], ScalarType::U32)? {
            Operand::Immediate(rank) => Operand::Immediate(rank.wrapping_add(1)),
            rank => {
                let window = self.scopes.fresh(Width::Word);
                self.step(Operation::Add(Sum::default()), ScalarType::U32, window, vec![rank, Operand::Immediate(1)]);
                Operand::Register(window)
            }
        };
        let mut inst = self.inst(Operation::Prmt(PrmtMode::default()), ScalarType::B32);
        inst.sources = vec![low, window, Operand::Immediate(WINDOW_SELECTOR)];
        let Some(high) = high else {
            inst.destinations.push(destination);
            self.push_main(inst);
            return Ok(());
        };
        let mapped = self.scopes.fresh(Width::Word);
        inst.destinations.push(Some(mapped));
        self.push_main(inst);
        let mut inst = self.inst(Operation::Pack, ScalarType::B64);
        inst.destinations.push(destination);
        inst.sources = vec![Operand::Register(mapped), high];
        self.push(inst);
        Ok(())
    }

    /// `d, a`: the rank of the block whose shared memory `a` lies in.
    pub(super) fn lower_getctarank(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let ty = self.cluster_address_type(site)?;
        let destination = self.destination(&site.operands[0], ScalarType::U32)?;
        let (low, _) = self.address_words(&site.operands[1], ty)?;
        let (window, is_own) = self.window_of(low);
        let [rank, own] = [self.scopes.fresh(Width::Word), self.scopes.fresh(Width::Word)];
        let less = Operand::Immediate(u64::from(u32::MAX));
        self.step(Operation::Add(Sum::default()), ScalarType::U32, rank, vec![window, less]);
        let register = Operand::Special(SpecialRegister::ClusterCtarank);
        self.step(Operation::ReadSpecial, ScalarType::U32, own, vec![register]);
        let mut inst = self.inst(Operation::Selp, ScalarType::B32);
        inst.destinations.push(destination);
        inst.sources = vec![Operand::Register(own), Operand::Register(rank), Operand::Register(is_own)];
        self.push_main(inst);
        Ok(())
    }

    /// Which window an address lies in, and whether that is the one of whoever uses it.
    fn window_of(&mut self, low: Operand) -> (Operand, Register) {
        let window = self.scopes.fresh(Width::Word);
        let bits = Operand::Immediate(CLUSTER_WINDOW_BITS.into());
        self.step(Operation::Shr, ScalarType::U32, window, vec![low, bits]);
        let is_own = self.scopes.fresh(Width::One);
        let sources = vec![Operand::Register(window), Operand::Immediate(0)];
        self.step(Operation::Setp(Comparison::new(CompareOp::Eq)), ScalarType::U32, is_own, sources);
        (Operand::Register(window), is_own)
    }

    /// Whether an address of shared memory, in this block or in another of the cluster, is one of this block: in the
    /// window of whoever uses it, or in that of its rank.
    pub(super) fn is_of_own_block(&mut self, address: Operand) -> Register {
        let low = Operand::Register(self.words_of(address)[0]);
        let (window, is_own) = self.window_of(low);
        let [rank, own] = [self.scopes.fresh(Width::Word), self.scopes.fresh(Width::Word)];
        let register = Operand::Special(SpecialRegister::ClusterCtarank);
        self.step(Operation::ReadSpecial, ScalarType::U32, rank, vec![register]);
        self.step(
            Operation::Add(Sum::default()),
            ScalarType::U32,
            own,
            vec![Operand::Register(rank), Operand::Immediate(1)],
        );
        let [is_mapped, either] = [self.scopes.fresh(Width::One), self.scopes.fresh(Width::One)];
        let sources = vec![window, Operand::Register(own)];
        self.step(Operation::Setp(Comparison::new(CompareOp::Eq)), ScalarType::U32, is_mapped, sources);
        let sources = vec![Operand::Register(is_own), Operand::Register(is_mapped)];
        self.step(Operation::Or, ScalarType::Pred, either, sources);
        either
    }

    /// The written type of an address, which clusters have of 64 bits only, or of 32 inside of shared memory.
    fn cluster_address_type(&mut self, site: &Site<'_, 'src>) -> Lowered<ScalarType> {
        if self.module.module.address_bits == 32 {
            return Err(Stop::Unsupported);
        }
        self.ty(site, 0)
    }

    /// The words of an address, the upper one where it has one.
    fn address_words(&mut self, operand: &ast::Operand<'src>, ty: ScalarType) -> Lowered<(Operand, Option<Operand>)> {
        let address = match self.address_value(operand)? {
            Some(address) => address,
            None => self.source(operand, ty)?,
        };
        let address = match address {
            address @ Operand::Register(_) => address,
            address => {
                let width = if ty.bits() == 64 { Width::Pair } else { Width::Word };
                let own = self.scopes.fresh(width);
                self.step(Operation::Mov, ty, own, vec![address]);
                Operand::Register(own)
            }
        };
        if ty.bits() != 64 {
            return Ok((address, None));
        }
        let [low, high] = self.words_of(address);
        Ok((Operand::Register(low), Some(Operand::Register(high))))
    }

    /// `st.async [to], value, [barrier]`: the store, and its bytes told to the barrier.
    pub(super) fn lower_store_async(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let (ty, elements) = (self.ty(site, 0)?, site.instruction.vector());
        let sources = |body: &mut Self| body.async_values(site, ty, elements);
        let operation = Operation::St(AccessOrder { ordered: true });
        self.lower_async(site, operation, (ty, elements), sources)
    }

    /// `red.async [to], value, [barrier]`.
    pub(super) fn lower_reduction_async(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let Some(op) = types::atomic_op(site.instruction) else {
            return Err(self.report_kind(site.instruction.opcode_span, "an operation such as `.add`"));
        };
        let operation = Operation::Red(Atomic { op, ordered: true });
        self.lower_async(site, operation, (ty, 1), |body| body.async_values(site, ty, 1))
    }

    fn lower_async(
        &mut self,
        site: &Site<'_, 'src>,
        operation: Operation,
        (ty, elements): (ScalarType, u8),
        sources: impl FnOnce(&mut Self) -> Lowered<Vec<Operand>>,
    ) -> Lowered<()> {
        // Without a barrier it is one to global memory, of newer GPUs.
        let tells = site.has(Modifier::MbarrierCompleteTxBytes);
        let n_operands = if tells { 3 } else { 2 };
        self.count(site, n_operands, n_operands)?;
        let mut inst = self.inst(operation, ty);
        let memory = self.place(&site.operands[0], types::named_space(site.instruction), elements)?;
        let space = if tells { StateSpace::Shared } else { StateSpace::Global };
        if memory.space != space && memory.space != StateSpace::Generic {
            return Err(Stop::Unsupported);
        }
        inst.memory = memory.into();
        inst.sources = sources(self)?;
        self.push_main(inst);
        if !tells {
            return self.check_target(site, 100);
        }
        let bytes = Operand::Immediate(u64::from(ty.bytes()) * u64::from(elements));
        let inst = self.told(site, &site.operands[2], MbarrierOp::CompleteTx, bytes, None)?;
        self.push(inst);
        Ok(())
    }
}
