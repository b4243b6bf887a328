//! Moves, packing, address conversions and the stack.

use warplens_ir::{Operand, Width};
use warplens_isa::{AddressConversion, AddressDirection, Operation, ScalarType, StateSpace};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, types};
use crate::syntax::ast::{self, Modifier, OperandKind};

impl<'src> Body<'_, '_, 'src> {
    pub(super) fn lower_stackrestore(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        self.count(site, 1, 1)?;
        let mut inst = self.inst(Operation::StackRestore, ty);
        inst.sources.push(self.source(&site.operands[0], ty)?);
        self.push_main(inst);
        Ok(())
    }

    /// A cache policy is a hint: any value will do.
    pub(super) fn lower_createpolicy(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let Some(operand) = site.operands.first() else { return self.count(site, 1, 1) };
        let destination = self.destination(operand, ScalarType::B64)?;
        let mut inst = self.inst(Operation::Mov, ScalarType::B64);
        inst.destinations.push(destination);
        inst.sources.push(Operand::Immediate(0));
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_mov(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let ty = self.ty(site, 0)?;
        let (destination, source) = (&site.operands[0], &site.operands[1]);
        match (&destination.kind, &source.kind) {
            (OperandKind::Vector(to), OperandKind::Vector(from)) => self.move_elements(site, ty, to, from),
            (OperandKind::Vector(parts), _) if site.instruction.vector() == 1 => self.unpack(ty, parts, source),
            (_, OperandKind::Vector(parts)) if site.instruction.vector() == 1 => self.pack(ty, destination, parts),
            _ if site.instruction.vector() > 1 => self.move_vector(site, ty),
            _ => self.move_scalar(ty, destination, source),
        }
    }

    fn move_scalar(
        &mut self,
        ty: ScalarType,
        destination: &ast::Operand<'src>,
        source: &ast::Operand<'src>,
    ) -> Lowered<()> {
        let destination = self.destination(destination, ty)?;
        let is_name = matches!(source.kind, OperandKind::Name(_) | OperandKind::Selected(..));
        let special = if is_name { self.special_source(source)? } else { None };
        let (operation, source) = match special {
            Some(Some(special)) => (Operation::ReadSpecial, Operand::Special(special)),
            Some(None) => (Operation::Mov, Operand::Immediate(0)),
            None => match self.address_value(source)? {
                Some(address) => (Operation::Mov, address),
                None => (Operation::Mov, self.source(source, ty)?),
            },
        };
        let mut inst = self.inst(operation, ty);
        inst.destinations.push(destination);
        inst.sources.push(source);
        self.push_main(inst);
        Ok(())
    }

    /// The special register of a source; `v.x` may also be an element of a register.
    fn special_source(
        &mut self,
        source: &ast::Operand<'src>,
    ) -> Lowered<Option<Option<warplens_isa::SpecialRegister>>> {
        match source.kind {
            OperandKind::Selected(name, _) if self.is_declared(name) => Ok(None),
            _ => self.special(source),
        }
    }

    fn is_declared(&self, name: &str) -> bool {
        self.scopes.find(name).is_some()
    }

    /// `mov.b64 d, {lo, hi}`.
    fn pack(&mut self, ty: ScalarType, destination: &ast::Operand<'src>, parts: &[ast::Operand<'src>]) -> Lowered<()> {
        let part = self.part_type(ty, parts, destination)?;
        let mut inst = self.inst(Operation::Pack, ty);
        inst.destinations.push(self.destination(destination, ty)?);
        for operand in parts {
            inst.sources.push(self.source(operand, part)?);
        }
        self.push_main(inst);
        Ok(())
    }

    /// `mov.b64 {lo, hi}, a`.
    fn unpack(&mut self, ty: ScalarType, parts: &[ast::Operand<'src>], source: &ast::Operand<'src>) -> Lowered<()> {
        let part = self.part_type(ty, parts, source)?;
        let mut inst = self.inst(Operation::Unpack, ty);
        for operand in parts {
            inst.destinations.push(self.destination(operand, part)?);
        }
        inst.sources.push(self.source(source, ty)?);
        self.push_main(inst);
        Ok(())
    }

    /// Type of each part of a value that is split into `parts`.
    fn part_type(
        &mut self,
        ty: ScalarType,
        parts: &[ast::Operand<'src>],
        at: &ast::Operand<'src>,
    ) -> Lowered<ScalarType> {
        let n = parts.len() as u32;
        if matches!(n, 2 | 4) && ty.bits().is_multiple_of(8 * n) {
            return Ok(types::untyped(ty.bits() / n));
        }
        Err(self.report_kind(at.span, "2 or 4 parts that divide the value evenly"))
    }

    /// `mov.v2 {a, b}, {c, d}`: element by element, through fresh registers as the sides may share some.
    fn move_elements(
        &mut self,
        site: &Site<'_, 'src>,
        ty: ScalarType,
        to: &[ast::Operand<'src>],
        from: &[ast::Operand<'src>],
    ) -> Lowered<()> {
        if to.len() != from.len() {
            self.parts(&site.operands[1], to.len())?;
        }
        let mut values = Vec::with_capacity(to.len());
        for operand in from {
            let source = self.source(operand, ty)?;
            let copy = self.scopes.fresh(Width::of_bits(ty.bits()));
            self.move_bits(ty, copy, source);
            values.push(Operand::Register(copy));
        }
        for (operand, value) in to.iter().zip(values) {
            let mut inst = self.inst(Operation::Mov, ty);
            inst.destinations.push(self.destination(operand, ty)?);
            inst.sources.push(value);
            self.push_main(inst);
        }
        Ok(())
    }

    /// `mov.v4.u32 v, w` on vector registers, or from a special register such as `%tid`.
    fn move_vector(&mut self, site: &Site<'_, 'src>, ty: ScalarType) -> Lowered<()> {
        let Some(destinations) = self.whole_vector(&site.operands[0]) else {
            return Err(self.report_kind(site.operands[0].span, "a vector register"));
        };
        let sources = self.whole_vector(&site.operands[1]);
        for (index, (register, _)) in destinations.into_iter().enumerate() {
            let (operation, source) = match &sources {
                Some(sources) if index < sources.len() => (Operation::Mov, Operand::Register(sources[index].0)),
                Some(_) => return Err(self.report_kind(site.operands[1].span, "a vector of the same size")),
                None => self.special_component(&site.operands[1], index)?,
            };
            let mut inst = self.inst(operation, ty);
            inst.destinations.push(Some(register));
            inst.sources.push(source);
            self.push_main(inst);
        }
        Ok(())
    }

    fn special_component(&mut self, operand: &ast::Operand<'src>, index: usize) -> Lowered<(Operation, Operand)> {
        let OperandKind::Name(name) = operand.kind else {
            return Err(self.report_kind(operand.span, "a vector"));
        };
        let selector = ast::Selector::Component { index: index as u8, colour: false };
        let component = ast::Operand { kind: OperandKind::Selected(name, selector), span: operand.span };
        Ok(match self.special(&component)? {
            Some(Some(special)) => (Operation::ReadSpecial, Operand::Special(special)),
            _ => (Operation::Mov, Operand::Immediate(0)),
        })
    }

    pub(super) fn lower_cvta(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let ty = self.ty(site, 0)?;
        let destination = self.destination(&site.operands[0], ty)?;
        let source = match self.address_value(&site.operands[1])? {
            Some(address) => address,
            None => self.source(&site.operands[1], ty)?,
        };
        let direction = match site.has(Modifier::To) {
            true => AddressDirection::FromGeneric,
            false => AddressDirection::ToGeneric,
        };
        let space = self.own_space(site)?;
        let mut inst = self.inst(Operation::Cvta(AddressConversion { space, direction }), ty);
        inst.destinations.push(destination);
        inst.sources.push(source);
        self.push_main(inst);
        Ok(())
    }

    /// The state space that `cvta` and `isspacep` name. Parameters of device functions are kept in the frame.
    fn own_space(&mut self, site: &Site<'_, 'src>) -> Lowered<StateSpace> {
        match types::named_space(site.instruction) {
            StateSpace::Param if !self.is_kernel() => Ok(StateSpace::Local),
            StateSpace::Generic => {
                Err(self.report_kind(site.instruction.opcode_span, "a state space such as `.shared`"))
            }
            space => Ok(space),
        }
    }

    pub(super) fn lower_isspacep(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 2)?;
        let ty = types::integer(self.module.module.address_bits, false);
        let destination = self.destination(&site.operands[0], ScalarType::Pred)?;
        let source = self.source(&site.operands[1], ty)?;
        let space = self.own_space(site)?;
        let mut inst = self.inst(Operation::Isspacep(space), ty);
        // Where there are clusters, other blocks have shared memory in the same window.
        let is_narrow = space == StateSpace::Shared && !site.has(Modifier::SharedCluster);
        if !is_narrow || self.module.dialect.target < 90 || ty.bits() == 32 {
            inst.destinations.push(destination);
            inst.sources.push(source);
            self.push_main(inst);
            return Ok(());
        }
        let is_shared = self.scopes.fresh(Width::One);
        inst.destinations.push(Some(is_shared));
        inst.sources.push(source);
        self.push_main(inst);
        let is_own = self.is_of_own_block(source);
        let mut inst = self.inst(Operation::And, ScalarType::Pred);
        inst.destinations.push(destination);
        inst.sources = vec![Operand::Register(is_shared), Operand::Register(is_own)];
        self.push(inst);
        Ok(())
    }

    pub(super) fn lower_alloca(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.count(site, 2, 3)?;
        let ty = self.ty(site, 0)?;
        let mut inst = self.inst(Operation::Alloca, ty);
        inst.destinations.push(self.destination(&site.operands[0], ty)?);
        inst.sources.push(self.source(&site.operands[1], ty)?);
        inst.sources.push(match site.operands.get(2) {
            Some(operand) => self.source(operand, ScalarType::U32)?,
            None => Operand::Immediate(8),
        });
        self.push_main(inst);
        Ok(())
    }
}
