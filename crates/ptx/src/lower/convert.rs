//! Conversions, comparisons and selections.

use warplens_ir::{Operand, Width};
use warplens_isa::{Comparison, Operation, PackedWidth, PrmtMode, Rounding, ScalarType};

use super::body::Body;
use super::instruction::Site;
use super::integer::pair;
use super::operand::{Check, Destination};
use super::types::{self, Written};
use super::{Lowered, Stop};
use crate::syntax::ast::{self, Modifier, Type};

/// A type of four elements, as the two pairs that it is made of.
#[derive(Clone, Copy)]
struct Four {
    whole: ScalarType,
    pair: ScalarType,
    /// Which bytes of the random bits are for the upper pair and for the lower one (PTX ISA, `cvt`): of elements of a byte
    /// its half of the word, of those of four bits the upper or the lower byte of each half.
    random: [u64; 2],
    /// How the pairs, the lower one first, are put together.
    together: u64,
}

impl Four {
    fn of(ty: Type) -> Option<Self> {
        let of_bytes = |pair| Some(Self { whole: ScalarType::B32, pair, random: [0x4432, 0x4410], together: 0x5410 });
        match ty {
            Type::E4m3x4 => of_bytes(ScalarType::E4m3x2),
            Type::E5m2x4 => of_bytes(ScalarType::E5m2x2),
            Type::E2m3x4 => of_bytes(ScalarType::E2m3x2),
            Type::E3m2x4 => of_bytes(ScalarType::E3m2x2),
            Type::E2m1x4 => Some(Self {
                whole: ScalarType::B16,
                pair: ScalarType::E2m1x2,
                random: [0x4431, 0x4420],
                together: 0x1140,
            }),
            _ => None,
        }
    }
}

impl<'src> Body<'_, '_, 'src> {
    /// `cvt` and `cvt.pack`.
    pub(super) fn lower_cvt(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        if site.has(Modifier::Pack) {
            return self.lower_cvt_pack(site);
        }
        if let Some(four) = site.written_type(0).and_then(Four::of) {
            return self.lower_cvt_of_four(site, four);
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

    /// `cvt.rs` to four elements in a word, as two pairs. The elements of a pair share sixteen random bits.
    fn lower_cvt_of_four(&mut self, site: &Site<'_, 'src>, four: Four) -> Lowered<()> {
        let from = self.ty(site, 1)?;
        if !site.has(Modifier::Rs) || from != ScalarType::F32 {
            return Err(Stop::Unsupported);
        }
        self.check_target(site, 100)?;
        self.count(site, 3, 3)?;
        let destination = self.destination(&site.operands[0], four.whole)?;
        let parts = self.parts(&site.operands[1], 4)?;
        let random = self.source(&site.operands[2], ScalarType::B32)?;
        let conversion = Written::of(site.instruction).conversion();
        let mut pairs = Vec::new();
        for (pair, selector) in parts.chunks(2).zip(four.random) {
            let [bits, packed] = [self.scopes.fresh(Width::Word), self.scopes.fresh(Width::Word)];
            let bytes = vec![random, Operand::Immediate(0), Operand::Immediate(selector)];
            self.step(Operation::Prmt(PrmtMode::default()), ScalarType::B32, bits, bytes);
            let mut inst = self.inst(Operation::Cvt(conversion), four.pair);
            inst.source_ty = from;
            inst.destinations.push(Some(packed));
            inst.sources = vec![self.source(&pair[0], from)?, self.source(&pair[1], from)?, Operand::Register(bits)];
            if pairs.is_empty() {
                self.push_main(inst)
            } else {
                self.push(inst)
            }
            pairs.push(Operand::Register(packed));
        }
        // The first pair is the upper one.
        let mut inst = self.inst(Operation::Prmt(PrmtMode::default()), ScalarType::B32);
        inst.destinations.push(destination);
        inst.sources = vec![pairs[1], pairs[0], Operand::Immediate(four.together)];
        self.push(inst);
        Ok(())
    }

    /// `cvt.rs` to pairs of halves: the last operand brings the random bits.
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
