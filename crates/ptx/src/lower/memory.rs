//! Loads, stores, atomics, prefetches.

use warplens_ir::{Inst, MemoryReference, Operand, Width};
use warplens_isa::{AccessOrder, Atomic, AtomicOp, OpClass, Operation, ScalarType, StateSpace};

use super::body::Body;
use super::instruction::Site;
use super::operand::{Check, Destination};
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, Modifier};

/// Modifiers of accesses that must happen as written.
const ORDERED: &[Modifier] =
    &[Modifier::Volatile, Modifier::Relaxed, Modifier::Acquire, Modifier::Release, Modifier::AcqRel, Modifier::Mmio];

impl<'src> Body<'_, '_, 'src> {
    /// Type and number of the elements of an access.
    fn element(&mut self, site: &Site<'_, 'src>) -> Lowered<(ScalarType, u8)> {
        let (ty, elements) = (self.ty(site, 0)?, site.instruction.vector());
        self.check_width(site, ty.bits() * u32::from(elements))?;
        Ok((ty, elements))
    }

    /// Lanes move 256 bits at once to and from global memory alone, from `sm_100` on.
    fn check_width(&mut self, site: &Site<'_, 'src>, bits: u32) -> Lowered<()> {
        if bits <= 128 {
            return Ok(());
        }
        let space = types::named_space(site.instruction);
        if !matches!(space, StateSpace::Global | StateSpace::Generic) {
            return Err(self.report_kind(site.instruction.opcode_span, "at most 128 bits outside of global memory"));
        }
        self.check_target(site, 100)
    }

    /// Number of operands: one more when a cache policy is given.
    fn count_access(&mut self, site: &Site<'_, 'src>, n: usize) -> Lowered<()> {
        let n = n + usize::from(site.has(Modifier::L2CacheHint));
        self.count(site, n, n)
    }

    fn memory(&mut self, operand: &ast::Operand<'src>, space: StateSpace, elements: u8) -> Lowered<MemoryReference> {
        let (space, base, offset) = self.address(operand, space)?;
        Ok(MemoryReference { space, base, offset, elements })
    }

    pub(super) fn lower_load(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let (ty, elements) = self.element(site)?;
        self.count_access(site, 2)?;
        let destinations = self.element_destinations(&site.operands[0], ty, elements)?;
        let space = types::named_space(site.instruction);
        if matches!(space, StateSpace::Param | StateSpace::Generic)
            && let Some((words, offset)) = self.words_address(&site.operands[1])
        {
            self.load_words(words, offset, ty, &destinations, site.operands[1].span)?;
            self.classify(OpClass::Virtual);
            return Ok(());
        }
        let memory = self.memory(&site.operands[1], space, elements)?;
        let mut inst = self.inst(Operation::Ld(access(site)), ty);
        inst.memory = memory.into();
        self.push_load(inst, &destinations);
        if space == StateSpace::Param {
            self.classify(OpClass::Virtual);
        }
        Ok(())
    }

    pub(super) fn element_destinations(
        &mut self,
        operand: &ast::Operand<'src>,
        ty: ScalarType,
        elements: u8,
    ) -> Lowered<Vec<Option<Destination>>> {
        if let Some(registers) = self.vector_registers(operand, elements)? {
            return Ok(registers.into_iter().map(Some).collect());
        }
        let parts = self.parts(operand, usize::from(elements))?;
        let mut destinations = Vec::with_capacity(parts.len());
        for part in parts {
            destinations.push(self.checked_destination(part, ty, Check::Relaxed)?);
        }
        Ok(destinations)
    }

    /// The elements of a vector register given whole.
    fn vector_registers(&mut self, operand: &ast::Operand<'src>, elements: u8) -> Lowered<Option<Vec<Destination>>> {
        let Some(registers) = self.whole_vector(operand).filter(|_| elements > 1) else { return Ok(None) };
        if registers.len() != usize::from(elements) {
            return Err(self.report_kind(operand.span, "a vector with as many elements as the access"));
        }
        Ok(Some(registers.into_iter().map(|(register, declared)| Destination { register, declared }).collect()))
    }

    /// A signed load extends to the whole word, which is too far for a register of 8 or 16 bits: then the load is
    /// unsigned and conversions extend what needs it.
    fn push_load(&mut self, mut inst: Inst, destinations: &[Option<Destination>]) {
        let ty = inst.ty;
        let is_narrow = |destination: &Destination| destination.declared.bits() <= 16;
        let extends = ty.is_signed() && destinations.iter().flatten().any(is_narrow);
        if extends {
            inst.ty = types::integer(ty.bits(), false);
            inst.source_ty = inst.ty;
        }
        let mut extensions = Vec::new();
        for destination in destinations {
            let register = match destination {
                Some(destination) if extends && destination.declared.bits() > ty.bits() => {
                    let narrow = self.scopes.fresh(Width::Word);
                    extensions.push((*destination, narrow));
                    Some(narrow)
                }
                Some(destination) => Some(destination.register),
                None => None,
            };
            inst.destinations.push(register);
        }
        self.push_main(inst);
        for (destination, narrow) in extensions {
            self.extend(destination, Operand::Register(narrow), ty);
        }
    }

    pub(super) fn lower_store(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        if site.has(Modifier::Bulk) {
            return self.lower_store_bulk(site);
        }
        if site.has(Modifier::Async) {
            return self.lower_store_async(site);
        }
        let (ty, elements) = self.element(site)?;
        self.count_access(site, 2)?;
        let sources = self.element_sources(&site.operands[1], ty, elements, Check::Relaxed)?;
        let space = types::named_space(site.instruction);
        if matches!(space, StateSpace::Param | StateSpace::Generic)
            && let Some((words, offset)) = self.words_address(&site.operands[0])
        {
            self.store_words(words, offset, ty, &sources, site.operands[0].span)?;
            self.classify(OpClass::Virtual);
            return Ok(());
        }
        let memory = self.memory(&site.operands[0], space, elements)?;
        if memory.space == StateSpace::Param {
            return Err(self
                .report_kind(site.operands[0].span, "an address that can be written: parameters of a kernel cannot"));
        }
        let mut inst = self.inst(Operation::St(access(site)), ty);
        inst.memory = memory.into();
        inst.sources = sources;
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn element_sources(
        &mut self,
        operand: &ast::Operand<'src>,
        ty: ScalarType,
        elements: u8,
        check: Check,
    ) -> Lowered<Vec<Operand>> {
        if let Some(registers) = self.vector_registers(operand, elements)? {
            return Ok(registers.into_iter().map(|it| Operand::Register(it.register)).collect());
        }
        let parts = self.parts(operand, usize::from(elements))?;
        let mut sources = Vec::with_capacity(parts.len());
        for part in parts {
            sources.push(self.checked_source(part, ty, check)?);
        }
        Ok(sources)
    }

    /// What an asynchronous store or reduction brings.
    pub(super) fn async_values(
        &mut self,
        site: &Site<'_, 'src>,
        ty: ScalarType,
        elements: u8,
    ) -> Lowered<Vec<Operand>> {
        self.element_sources(&site.operands[1], ty, elements, Check::Relaxed)
    }

    /// `atom d, [a], b{, c}` and `red [a], b`.
    pub(super) fn lower_atomic(&mut self, site: &Site<'_, 'src>, operation: fn(Atomic) -> Operation) -> Lowered<()> {
        if site.has(Modifier::Bulk) {
            return Err(Stop::Unsupported);
        }
        if site.has(Modifier::Async) {
            return self.lower_reduction_async(site);
        }
        let (ty, elements) = self.element(site)?;
        let Some(op) = types::atomic_op(site.instruction) else {
            return Err(self.report_kind(site.instruction.opcode_span, "an operation such as `.add`"));
        };
        let n_values = if op == AtomicOp::Cas { 2 } else { 1 };
        let operation = operation(Atomic { op, ordered: site.instruction.has_any(ORDERED) });
        let returns = matches!(operation, Operation::Atom(_));
        let first = usize::from(returns);
        self.count_access(site, first + 1 + n_values)?;
        let mut inst = self.inst(operation, ty);
        if returns {
            let destinations = self.atomic_destinations(&site.operands[0], ty, elements)?;
            inst.destinations = destinations;
        }
        inst.memory = self.memory(&site.operands[first], types::named_space(site.instruction), elements)?.into();
        for operand in &site.operands[first + 1..first + 1 + n_values] {
            inst.sources.extend(self.element_sources(operand, ty, elements, Check::Exact)?);
        }
        self.push_main(inst);
        Ok(())
    }

    fn atomic_destinations(
        &mut self,
        operand: &ast::Operand<'src>,
        ty: ScalarType,
        elements: u8,
    ) -> Lowered<Vec<Option<warplens_ir::Register>>> {
        let parts = self.parts(operand, usize::from(elements))?;
        let mut destinations = Vec::with_capacity(parts.len());
        for part in parts {
            destinations.push(self.destination(part, ty)?);
        }
        Ok(destinations)
    }

    pub(super) fn lower_prefetch(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 1, 1)?;
        let memory = self.memory(&site.operands[0], types::named_space(site.instruction), 1)?;
        let mut inst = self.inst(Operation::Prefetch, ScalarType::B8);
        inst.memory = memory.into();
        self.push_main(inst);
        Ok(())
    }
}

fn access(site: &Site<'_, '_>) -> AccessOrder {
    AccessOrder { ordered: site.instruction.has_any(ORDERED) }
}
