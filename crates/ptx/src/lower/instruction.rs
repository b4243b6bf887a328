//! Lowering of ordinary instructions, floating-point and integer arithmetic.

use warplens_base::Diagnostic;
use warplens_ir::{Inst, Operand};
use warplens_isa::{Carry, Extremum, HighMultiplyAdd, Operation, Precision, Rounding, ScalarType, Sum};

use super::body::Body;
use super::types::Written;
use super::{Lowered, Stop, dispatch, types};
use crate::opcodes::Opcode;
use crate::syntax::ast::{self, Modifier, OperandKind, Type};

/// An instruction with its operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a, 'src> {
    pub(super) instruction: &'a ast::Instruction<'src>,
    pub(super) operands: &'a [ast::Operand<'src>],
}

impl<'src> Site<'_, 'src> {
    /// True when the instruction carries the modifier.
    pub(super) fn has(&self, modifier: Modifier) -> bool {
        self.instruction.has(modifier)
    }

    /// The n-th type that is written.
    pub(super) fn written_type(&self, position: usize) -> Option<Type> {
        self.instruction.types().nth(position)
    }
}

/// The type of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// The type that the instruction writes.
    Written,
    /// This one.
    Always(ScalarType),
}

impl Slot {
    fn of(self, written: ScalarType) -> ScalarType {
        match self {
            Self::Written => written,
            Self::Always(ty) => ty,
        }
    }
}

impl<'a, 'src> Body<'_, 'a, 'src> {
    /// Lowers an instruction. What the emulator lacks becomes an operation that stops it.
    pub(super) fn lower_instruction(&mut self, site: &Site<'a, 'src>) {
        let mark = self.mark();
        let lowered = self.check_types(site).and_then(|()| self.dispatch(site));
        if lowered == Err(Stop::Unsupported) {
            self.truncate(mark);
            self.lower_unsupported(site);
        }
    }

    /// An operation with one destination, whose operands have the written type or one that is always the same.
    pub(super) fn lower_ordinary(
        &mut self,
        site: &Site<'_, 'src>,
        operation: impl FnOnce(Written) -> Operation,
        result: Slot,
        sources: &[Slot],
    ) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let operation = operation(self.written(site, ty)?);
        let sources: Vec<ScalarType> = sources.iter().map(|source| source.of(ty)).collect();
        let inst = self.typed(site, operation, ty, result.of(ty), &sources)?;
        self.push_main(inst);
        Ok(())
    }

    /// What a thread cannot see: hints, and what concerns the whole launch.
    pub(super) fn lower_nothing(&mut self) -> Lowered<()> {
        let inst = self.inst(Operation::Nop, ScalarType::B32);
        self.push_main(inst);
        Ok(())
    }

    /// Reports types beyond those that the instruction takes.
    fn check_types(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let Some(most) = dispatch::most_types(site.instruction.opcode) else { return Ok(()) };
        if site.instruction.types().count() <= most {
            return Ok(());
        }
        let plural = if most == 1 { "one type" } else { "two types" };
        self.report(
            Diagnostic::error("S010", site.instruction.opcode_span, format!("the instruction takes {plural} at most"))
                .with_label("too many types"),
        );
        Err(Stop::Reported)
    }

    /// Checks the number of operands.
    pub(super) fn count(&mut self, site: &Site<'_, 'src>, least: usize, most: usize) -> Lowered<()> {
        let given = site.operands.len();
        if (least..=most).contains(&given) {
            return Ok(());
        }
        let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
        self.report(
            Diagnostic::error(
                "S003",
                site.instruction.span,
                format!("{expected} operands are needed, {given} are given"),
            )
            .with_label("in this instruction"),
        );
        Err(Stop::Reported)
    }

    /// The n-th type of the instruction.
    pub(super) fn ty(&mut self, site: &Site<'_, 'src>, position: usize) -> Lowered<ScalarType> {
        match site.written_type(position) {
            Some(ty) => types::scalar(ty).ok_or(Stop::Unsupported),
            None => {
                let span = site.instruction.opcode_span;
                self.report(
                    Diagnostic::error("S010", span, "the instruction does not say which type it works on")
                        .with_label("a type such as `.u32` is missing"),
                );
                Err(Stop::Reported)
            }
        }
    }

    /// What the modifiers say, with what an old target implies.
    pub(super) fn written(&self, site: &Site<'_, 'src>, ty: ScalarType) -> Lowered<Written> {
        if site.has(Modifier::Rs) {
            return Err(Stop::Unsupported);
        }
        let mut written = Written::of(site.instruction);
        written.ftz |= ty == ScalarType::F32 && self.module.dialect.always_flushes();
        Ok(written)
    }

    /// An operation with one destination and `n` sources, all of one type.
    fn lower_values(
        &mut self,
        site: &Site<'_, 'src>,
        operation: impl FnOnce(Written) -> Operation,
        n: usize,
    ) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let operation = operation(self.written(site, ty)?);
        let inst = self.values(site, operation, ty, n)?;
        self.push_main(inst);
        Ok(())
    }

    /// The operands of an operation with one destination and `n` sources, all of one type.
    pub(super) fn values(
        &mut self,
        site: &Site<'_, 'src>,
        operation: Operation,
        ty: ScalarType,
        n: usize,
    ) -> Lowered<Inst> {
        self.typed(site, operation, ty, ty, &vec![ty; n])
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

    /// Minimum and maximum, of two values or three.
    pub(super) fn lower_extremum(
        &mut self,
        site: &Site<'_, 'src>,
        operation: fn(Extremum) -> Operation,
    ) -> Lowered<()> {
        self.lower_values(site, |it| operation(it.extremum()), if site.operands.len() == 4 { 3 } else { 2 })
    }

    /// The low or the high part of a 24-bit product.
    pub(super) fn lower_mul24(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let operation = if site.has(Modifier::Hi) { Operation::Mul24Hi } else { Operation::Mul24 };
        self.lower_values(site, |_| operation, 2)
    }

    /// The same with an addend.
    pub(super) fn lower_mad24(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let is_high = site.has(Modifier::Hi);
        let operation = |it: Written| if is_high { Operation::Mad24Hi(it.saturation()) } else { Operation::Mad24 };
        self.lower_values(site, operation, 3)
    }

    /// The low or the high word of a product without carries, with an addend.
    pub(super) fn lower_clmad(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let operation = if site.has(Modifier::Hi) { Operation::ClmadHi } else { Operation::Clmad };
        self.lower_values(site, |_| operation, 3)
    }

    /// What an extended-precision instruction does with the carry flag.
    fn carry_use(&self, site: &Site<'_, 'src>) -> Carry {
        let reads = matches!(site.instruction.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc);
        Carry { reads, writes: site.has(Modifier::Cc) }
    }

    /// The operands of the carry flag that the operation asks for.
    fn add_carry(&mut self, inst: &mut Inst) {
        let carry = inst.operation.carry();
        if carry.reads {
            inst.sources.push(Operand::Register(self.carry()));
        }
        if carry.writes {
            inst.destinations.push(Some(self.carry()));
        }
    }

    pub(super) fn lower_sum(&mut self, site: &Site<'_, 'src>, operation: fn(Sum) -> Operation) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let operation = operation(self.written(site, ty)?.sum(self.carry_use(site)));
        let narrow = if site.written_type(1).is_some() { self.ty(site, 1)? } else { ty };
        let mut inst = self.mixed_values(site, operation, ty, narrow, 2)?;
        self.add_carry(&mut inst);
        self.push_main(inst);
        Ok(())
    }

    /// An operation whose sources but the last are of a narrower type.
    fn mixed_values(
        &mut self,
        site: &Site<'_, 'src>,
        operation: Operation,
        ty: ScalarType,
        narrow: ScalarType,
        n: usize,
    ) -> Lowered<Inst> {
        self.count(site, n + 1, n + 1)?;
        let mut inst = self.inst(operation, ty);
        inst.source_ty = narrow;
        inst.destinations.push(self.destination(&site.operands[0], ty)?);
        for (position, operand) in site.operands[1..].iter().enumerate() {
            let ty = if position + 1 == n { ty } else { narrow };
            inst.sources.push(self.source(operand, ty)?);
        }
        Ok(inst)
    }

    pub(super) fn lower_product(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let written = self.written(site, ty)?;
        let operation = match () {
            () if site.has(Modifier::Wide) => Operation::MulWide,
            () if site.has(Modifier::Hi) => Operation::MulHi,
            () => Operation::Mul(written.product()),
        };
        let inst = self.wide_values(site, operation, ty, 2)?;
        self.push_main(inst);
        Ok(())
    }

    /// Like [`Self::values`]; of a wide operation the result and the third source are twice as wide.
    fn wide_values(&mut self, site: &Site<'_, 'src>, operation: Operation, ty: ScalarType, n: usize) -> Lowered<Inst> {
        if !matches!(operation, Operation::MulWide | Operation::MadWide) {
            return self.values(site, operation, ty, n);
        }
        self.count(site, n + 1, n + 1)?;
        let wide = types::integer(2 * ty.bits(), ty.is_signed());
        let mut inst = self.inst(operation, ty);
        inst.destinations.push(self.destination(&site.operands[0], wide)?);
        for (position, operand) in site.operands[1..].iter().enumerate() {
            inst.sources.push(self.source(operand, if position == 2 { wide } else { ty })?);
        }
        Ok(inst)
    }

    pub(super) fn lower_multiply_add(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        if ty.is_float() {
            return self.lower_float_mad(site, ty);
        }
        let (written, carry) = (self.written(site, ty)?, self.carry_use(site));
        let operation = match () {
            () if site.has(Modifier::Wide) => Operation::MadWide,
            () if site.has(Modifier::Hi) => {
                Operation::MadHi(HighMultiplyAdd { saturation: written.saturation(), carry })
            }
            () => Operation::Mad(carry),
        };
        let mut inst = self.wide_values(site, operation, ty, 3)?;
        self.add_carry(&mut inst);
        self.push_main(inst);
        Ok(())
    }

    /// `mad` of floats is a fused multiply-add, but for single precision before `sm_20`: that truncates the product.
    fn lower_float_mad(&mut self, site: &Site<'_, 'src>, ty: ScalarType) -> Lowered<()> {
        let written = self.written(site, ty)?;
        let inst = self.values(site, Operation::Fma(written.fused()), ty, 3)?;
        if ty != ScalarType::F32 || self.module.dialect.target >= 20 {
            self.push_main(inst);
            return Ok(());
        }
        let product = self.scopes.fresh(warplens_ir::Width::Word);
        let truncated = Written { rounding: Rounding::Zero, sat: false, ..written };
        let mut multiply = self.inst(Operation::Mul(truncated.product()), ty);
        multiply.destinations.push(Some(product));
        multiply.sources = inst.sources[..2].to_vec();
        self.push(multiply);
        let mut add = self.inst(Operation::Add(written.sum(Carry::NONE)), ty);
        add.destinations = inst.destinations;
        add.sources = vec![Operand::Register(product), inst.sources[2]];
        self.push_main(add);
        Ok(())
    }

    pub(super) fn lower_fma(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let written = self.written(site, ty)?;
        let narrow = if site.written_type(1).is_some() { self.ty(site, 1)? } else { ty };
        let inst = self.mixed_values(site, Operation::Fma(written.fused()), ty, narrow, 3)?;
        self.push_main(inst);
        Ok(())
    }

    /// Division, roots and the approximate functions. Old modules leave the accuracy out.
    pub(super) fn lower_function(
        &mut self,
        site: &Site<'_, 'src>,
        operation: impl Fn(Written) -> Operation,
        n: usize,
    ) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let mut written = self.written(site, ty)?;
        let says = site.instruction.rounding().is_some() || written.precision != Precision::Ieee;
        let only_approximate =
            !matches!(operation(written), Operation::Div(_) | Operation::Rcp(_) | Operation::Sqrt(_));
        if !ty.is_integer() && !says && (only_approximate || ty == ScalarType::F32) {
            written.precision = Precision::Approx;
            written.ftz |= ty == ScalarType::F32 && self.module.dialect.version < 14;
        }
        let inst = self.values(site, operation(written), ty, n)?;
        self.push_main(inst);
        Ok(())
    }

    /// An instruction that the emulator lacks: it keeps its registers, so that analyses see them.
    fn lower_unsupported(&mut self, site: &Site<'_, 'src>) {
        let mut inst = self.inst(Operation::Unsupported, ScalarType::B32);
        let writes = !matches!(site.operands.first().map(|operand| &operand.kind), Some(OperandKind::Address(_)));
        for (position, operand) in site.operands.iter().enumerate() {
            for register in self.mentioned(operand) {
                if position == 0 && writes {
                    inst.destinations.push(Some(register));
                } else {
                    inst.sources.push(Operand::Register(register));
                }
            }
        }
        self.push(inst);
        self.classify(dispatch::lacking_class(site.instruction.opcode));
    }

    /// Registers that an operand mentions, however it is built.
    fn mentioned(&mut self, operand: &ast::Operand<'src>) -> Vec<warplens_ir::Register> {
        let (name, parts): (Option<&str>, &[ast::Operand<'src>]) = match &operand.kind {
            OperandKind::Name(name) | OperandKind::Selected(name, _) => (Some(name), &[]),
            OperandKind::Not(name) | OperandKind::Negated(name, _) => (Some(name), &[]),
            OperandKind::Address(address) => (address.base, &[]),
            OperandKind::AddressList(parts) | OperandKind::Vector(parts) | OperandKind::List(parts) => (None, parts),
            OperandKind::Pair(pair) => (None, &pair[..]),
            _ => (None, &[]),
        };
        let mut registers: Vec<_> = name.and_then(|name| self.register_named(name)).into_iter().collect();
        for part in parts {
            registers.extend(self.mentioned(part));
        }
        registers
    }
}
