//! Barriers in memory: `mbarrier`.
//!
//! A barrier is 64 bits of shared memory ([`MbarrierState`]). What changes it is an atomic on them, and who asks whether
//! a phase has ended looks at its parity.

use warplens_ir::{Inst, MemoryReference, Operand, Register, Width};
use warplens_isa::{
    AccessOrder, AddressConversion, AddressDirection, Atomic, AtomicOp, Conversion, MbarrierOp, MbarrierState,
    Operation, PhaseOf, ScalarType, StateSpace,
};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::opcodes::Opcode;
use crate::syntax::ast::{self, Modifier, OperandKind};

/// What no version of the emulator knows.
const UNKNOWN: &[Modifier] =
    &[Modifier::CheckLayout, Modifier::LayoutV1, Modifier::PhaseTypeConditional, Modifier::MulticastClusterAll];

impl<'src> Body<'_, '_, 'src> {
    pub(super) fn lower_mbarrier(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let has = |modifier| site.has(modifier);
        if site.instruction.has_any(UNKNOWN) {
            return Err(Stop::Unsupported);
        }
        let tells = |op: MbarrierOp| move |body: &mut Self| body.lower_told(site, op);
        match () {
            () if has(Modifier::Init) => tells(MbarrierOp::Init)(self),
            () if has(Modifier::Inval) => self.lower_inval(site),
            () if has(Modifier::PendingCount) => self.lower_pending_count(site),
            () if has(Modifier::TestWait) || has(Modifier::TryWait) => self.lower_test(site),
            () if has(Modifier::Arrive) => self.lower_arrive(site, MbarrierOp::Arrive, MbarrierOp::ArriveExpectTx),
            () if has(Modifier::ArriveDrop) => {
                self.lower_arrive(site, MbarrierOp::ArriveDrop, MbarrierOp::ArriveDropExpectTx)
            }
            () if has(Modifier::ExpectTx) => tells(MbarrierOp::ExpectTx)(self),
            () if has(Modifier::CompleteTx) => tells(MbarrierOp::CompleteTx)(self),
            () => Err(Stop::Unsupported),
        }
    }

    /// `cp.async.mbarrier.arrive [barrier]`: the thread arrives once its copies have been made, which they are. Without
    /// `.noinc` it is expected to arrive besides the others, so that nothing changes.
    pub(super) fn lower_copies_arrive(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 1, 1)?;
        let noinc = site.has(Modifier::Noinc);
        let (op, number) = if noinc { (MbarrierOp::CopiesArrive, 1) } else { (MbarrierOp::AwaitCopies, 0) };
        let inst = self.told(site, &site.operands[0], op, Operand::Immediate(number), None)?;
        self.push_main(inst);
        Ok(())
    }

    /// The barrier of an instruction: shared memory, also where its address is generic.
    fn barrier(&mut self, site: &Site<'_, 'src>, operand: &ast::Operand<'src>) -> Lowered<MemoryReference> {
        let is_copy = site.instruction.opcode == Opcode::Cp;
        let written = if is_copy { StateSpace::Shared } else { types::named_space(site.instruction) };
        let (space, base, offset) = self.address(operand, written)?;
        if space != StateSpace::Generic {
            return Ok(MemoryReference { space, base, offset, elements: 1 });
        }
        let (width, ty) = match self.module.module.address_bits {
            32 => (Width::Word, ScalarType::U32),
            _ => (Width::Pair, ScalarType::U64),
        };
        let own = self.scopes.fresh(width);
        let conversion = AddressConversion { space: StateSpace::Shared, direction: AddressDirection::FromGeneric };
        self.step(Operation::Cvta(conversion), ty, own, vec![base]);
        Ok(MemoryReference { space: StateSpace::Shared, base: Operand::Register(own), offset, elements: 1 })
    }

    /// One operation on the way.
    pub(super) fn step(&mut self, operation: Operation, ty: ScalarType, to: Register, sources: Vec<Operand>) {
        let mut inst = self.inst(operation, ty);
        inst.destinations.push(Some(to));
        inst.sources = sources;
        self.push(inst);
    }

    /// A 32-bit number as a 64-bit operand.
    pub(super) fn number(&mut self, operand: &ast::Operand<'src>) -> Lowered<Operand> {
        let number = self.source(operand, ScalarType::U32)?;
        if let Operand::Immediate(_) = number {
            return Ok(number);
        }
        let wide = self.scopes.fresh(Width::Pair);
        let mut inst = self.inst(Operation::Cvt(Conversion::default()), ScalarType::U64);
        inst.source_ty = ScalarType::U32;
        inst.destinations.push(Some(wide));
        inst.sources.push(number);
        self.push(inst);
        Ok(Operand::Register(wide))
    }

    pub(super) fn told(
        &mut self,
        site: &Site<'_, 'src>,
        barrier: &ast::Operand<'src>,
        op: MbarrierOp,
        number: Operand,
        found: Option<Register>,
    ) -> Lowered<Inst> {
        let atomic = Atomic { op: AtomicOp::Mbarrier(op), ordered: true };
        let operation = if found.is_some() { Operation::Atom(atomic) } else { Operation::Red(atomic) };
        let memory = self.barrier(site, barrier)?;
        let mut inst = self.inst(operation, ScalarType::B64);
        inst.memory = memory.into();
        inst.sources.push(number);
        inst.destinations.extend(found.map(Some));
        Ok(inst)
    }

    /// `[barrier], number`.
    fn lower_told(&mut self, site: &Site<'_, 'src>, op: MbarrierOp) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let number = self.number(&site.operands[1])?;
        let inst = self.told(site, &site.operands[0], op, number, None)?;
        self.push_main(inst);
        Ok(())
    }

    /// `{state,} [barrier]{, number}`.
    fn lower_arrive(&mut self, site: &Site<'_, 'src>, plain: MbarrierOp, expects: MbarrierOp) -> Lowered<()> {
        let is_address = |operand: &ast::Operand<'src>| matches!(operand.kind, OperandKind::Address(_));
        let first = usize::from(!site.operands.first().is_some_and(is_address));
        let op = if site.has(Modifier::ExpectTx) { expects } else { plain };
        self.count(site, first + 1 + usize::from(op == expects), first + 2)?;
        let found = if first == 1 { self.destination(&site.operands[0], ScalarType::B64)? } else { None };
        let number = match site.operands.get(first + 1) {
            Some(number) => self.number(number)?,
            None => Operand::Immediate(1),
        };
        let inst = self.told(site, &site.operands[first], op, number, found)?;
        self.push_main(inst);
        Ok(())
    }

    /// The memory may be used for something else: the state is forgotten.
    fn lower_inval(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 1, 1)?;
        let memory = self.barrier(site, &site.operands[0])?;
        let mut inst = self.inst(Operation::St(AccessOrder { ordered: true }), ScalarType::B64);
        inst.memory = memory.into();
        inst.sources.push(Operand::Immediate(0));
        self.push_main(inst);
        Ok(())
    }

    /// `number, state`: the low bits of a state.
    fn lower_pending_count(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let state = self.source(&site.operands[1], ScalarType::B64)?;
        let word = self.words_of(state)[0];
        let mut inst = self.inst(Operation::And, ScalarType::B32);
        inst.destinations.push(self.destination(&site.operands[0], ScalarType::B32)?);
        inst.sources = vec![Operand::Register(word), Operand::Immediate((1 << MbarrierState::ARRIVAL_BITS) - 1)];
        self.push_main(inst);
        Ok(())
    }

    /// The words of a wide value, the lower one first.
    pub(super) fn words_of(&mut self, wide: Operand) -> [Register; 2] {
        let words = [self.scopes.fresh(Width::Word), self.scopes.fresh(Width::Word)];
        let mut inst = self.inst(Operation::Unpack, ScalarType::B64);
        inst.destinations = words.map(Some).to_vec();
        inst.sources.push(wide);
        self.push(inst);
        words
    }

    /// `p, [barrier], state` or `p, [barrier], parity`, then a time that nobody has to keep: true once the phase of that
    /// state, or the last phase of that parity, has ended.
    fn lower_test(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        if !matches!(site.operands.get(1).map(|operand| &operand.kind), Some(OperandKind::Address(_))) {
            return Err(Stop::Unsupported);
        }
        self.count(site, 3, 3 + usize::from(site.has(Modifier::TryWait)))?;
        let memory = self.barrier(site, &site.operands[1])?;
        let (of, ty) = match site.has(Modifier::Parity) {
            true => (PhaseOf::Parity, ScalarType::U32),
            false => (PhaseOf::State, ScalarType::B64),
        };
        let mut inst = self.inst(Operation::TestPhase(of), ScalarType::B64);
        inst.memory = memory.into();
        inst.destinations.push(self.destination(&site.operands[0], ScalarType::Pred)?);
        inst.sources.push(self.source(&site.operands[2], ty)?);
        self.push_main(inst);
        Ok(())
    }
}
