//! Conversions, comparisons and selections.

use warplens_ir::{Operand, Width};
use warplens_isa::{Comparison, Operation, PackedWidth, Rounding, ScalarType};

use super::body::Body;
use super::instruction::Site;
use super::integer::pair;
use super::operand::{Check, Destination};
use super::types::{self, Written};
use super::{Lowered, Stop};
use crate::syntax::ast::{self, Modifier, Type};

impl<'src> Body<'_, '_, 'src> {
    /// `cvt` and `cvt.pack`.
    pub(super) fn lower_cvt(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        if site.has(Modifier::Pack) {
            return self.lower_cvt_pack(site);
        }
        let (to, from) = (self.ty(site, 0)?, self.ty(site, 1)?);
        if to == ScalarType::Pred || from == ScalarType::Pred || site.instruction.types().count() > 2 {
            return Err(Stop::Unsupported);
        }
        if site.has(Modifier::Rs) {
            return self.lower_random_cvt(site, (to, from));
        }
        let mut written = self.written(site, to)?;
        written.ftz |= from == ScalarType::F32 && self.module.dialect.always_flushes();
        if from.is_float() && to.is_integer() {
            // Without a rounding, which only old modules leave out, the fraction is cut off.
            if site.instruction.rounding().is_none() {
                written.rounding = Rounding::Zero;
            }
            written.integral = true;
        }
        let packs = to.is_packed() && !from.is_packed();
        let n = if packs { 2 } else { 1 };
        self.count(site, n + 1, n + 1)?;
        let destination = self.checked_destination(&site.operands[0], to, Check::Relaxed)?;
        let mut inst = self.inst(Operation::Cvt(written.conversion()), to);
        inst.source_ty = from;
        inst.destinations.push(destination.map(|destination| destination.register));
        for operand in &site.operands[1..] {
            inst.sources.push(self.checked_source(operand, from, Check::Relaxed)?);
        }
        match destination {
            // Results are zero-extended to the word; only signs and second words need more.
            Some(destination)
                if to.is_integer()
                    && destination.declared.bits() > to.bits()
                    && (to.is_signed() || destination.declared.bits() > 32) =>
            {
                let narrow = self.scopes.fresh(Width::of_bits(to.bits().max(2)));
                inst.destinations[0] = Some(narrow);
                self.push_main(inst);
                self.extend(destination, Operand::Register(narrow), to);
            }
            _ => self.push_main(inst),
        }
        Ok(())
    }

    /// `cvt.rs` to pairs of halves: the last operand brings the random bits. Groups of four are packed in ways of their own.
    fn lower_random_cvt(&mut self, site: &Site<'_, 'src>, (to, from): (ScalarType, ScalarType)) -> Lowered<()> {
        if !matches!(to, ScalarType::F16x2 | ScalarType::Bf16x2) || from != ScalarType::F32 {
            return Err(Stop::Unsupported);
        }
        self.check_target(site, 100)?;
        let conversion = Written::of(site.instruction).conversion();
        let mut inst = self.typed(site, Operation::Cvt(conversion), to, to, &[from, from, ScalarType::B32])?;
        inst.source_ty = from;
        self.push_main(inst);
        Ok(())
    }

    /// Fills a wider register with a value of type `ty`: signed types extend their sign.
    pub(super) fn extend(&mut self, destination: Destination, source: Operand, ty: ScalarType) {
        let wide = types::integer(destination.declared.bits(), ty.is_signed());
        let narrow = types::integer(ty.bits(), ty.is_signed());
        self.convert(destination.register, source, wide, narrow);
    }

    /// `cvt.pack.sat.to.s32{.b32} d, a, b{, c}`.
    fn lower_cvt_pack(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let (to, width) = match site.written_type(0) {
            Some(Type::U2) => (ScalarType::U8, PackedWidth::Two),
            Some(Type::S2) => (ScalarType::S8, PackedWidth::Two),
            Some(Type::U4) => (ScalarType::U8, PackedWidth::Four),
            Some(Type::S4) => (ScalarType::S8, PackedWidth::Four),
            _ => (self.ty(site, 0)?, PackedWidth::OfType),
        };
        let from = self.ty(site, 1)?;
        let accumulates = site.written_type(2).is_some();
        let n = if accumulates { 4 } else { 3 };
        self.count(site, n, n)?;
        let mut inst = self.inst(Operation::CvtPack(width), to);
        inst.source_ty = from;
        inst.destinations.push(self.destination(&site.operands[0], ScalarType::B32)?);
        for operand in &site.operands[1..3] {
            inst.sources.push(self.source(operand, from)?);
        }
        if let Some(operand) = site.operands.get(3) {
            inst.sources.push(self.source(operand, ScalarType::B32)?);
        }
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_slct(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let (ty, selector) = (self.ty(site, 0)?, self.ty(site, 1)?);
        let operation = Operation::Slct(self.written(site, selector)?.subnormals());
        let mut inst = self.typed(site, operation, ty, ty, &[ty, ty, selector])?;
        inst.source_ty = selector;
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_testp(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        let Some(property) = types::test_property(site.instruction) else {
            return Err(self.report_kind(site.instruction.opcode_span, "a property such as `.finite`"));
        };
        let inst = self.typed(site, Operation::Testp(property), ty, ScalarType::Pred, &[ty])?;
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_set(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let (ty, compared) = (self.ty(site, 0)?, self.ty(site, 1)?);
        self.count_comparison(site)?;
        let comparison = self.comparison(site, compared)?;
        let mut inst = self.inst(Operation::Set(comparison), ty);
        inst.source_ty = compared;
        inst.destinations.push(self.destination(&site.operands[0], ty)?);
        self.compared_sources(site, compared, &mut inst)?;
        self.push_main(inst);
        Ok(())
    }

    pub(super) fn lower_setp(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let ty = self.ty(site, 0)?;
        self.count_comparison(site)?;
        let comparison = self.comparison(site, ty)?;
        let mut inst = self.inst(Operation::Setp(comparison), ty);
        let (p, q) = pair(&site.operands[0]);
        inst.destinations.push(self.destination(p, ScalarType::Pred)?);
        if let Some(q) = q {
            inst.destinations.push(self.destination(q, ScalarType::Pred)?);
        }
        self.compared_sources(site, ty, &mut inst)?;
        self.push_main(inst);
        Ok(())
    }

    fn count_comparison(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let n = if types::combination(site.instruction).op.is_some() { 4 } else { 3 };
        self.count(site, n, n)
    }

    /// What is asked of values of type `compared`.
    fn comparison(&mut self, site: &Site<'_, 'src>, compared: ScalarType) -> Lowered<Comparison> {
        let written = self.written(site, compared)?;
        match site.instruction.comparison().and_then(types::comparison) {
            Some(op) => Ok(written.comparison(op, types::combination(site.instruction))),
            None => Err(self.report_kind(site.instruction.opcode_span, "a comparison such as `.eq`")),
        }
    }

    /// The two values that are compared and the predicate that is combined.
    fn compared_sources(&mut self, site: &Site<'_, 'src>, ty: ScalarType, inst: &mut warplens_ir::Inst) -> Lowered<()> {
        let operands: &[ast::Operand<'src>] = &site.operands[1..];
        for operand in &operands[..2] {
            inst.sources.push(self.source(operand, ty)?);
        }
        if let Some(operand) = operands.get(2) {
            inst.sources.push(self.predicate(operand)?);
        }
        Ok(())
    }
}
