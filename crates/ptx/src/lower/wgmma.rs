//! Products of matrices that four warps carry out together: `wgmma`.
//!
//! A product is executed where it stands. What waits has nothing to wait for then, but says to machine code where the
//! products must have ended.

use warplens_base::Diagnostic;
use warplens_ir::Operand;
use warplens_isa::{
    BoolOp, GroupProduct, MatrixProduct, MatrixShape, MatrixType as M, NamedType, OpClass, Operation, ScalarType,
    Sparsity,
};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop};
use crate::syntax::ast::{self, Modifier, OperandKind};

/// Rows of all four warps.
const ROWS: u16 = 64;

/// There is a product of these types, with so many columns and such a depth.
fn exists(n: u16, k: u16, [d, a, b]: [M; 3], combination: Option<BoolOp>) -> bool {
    let is_wide = (8..=256).contains(&n) && n.is_multiple_of(8);
    let is_of_integers = is_wide && (n <= 24 || n.is_multiple_of(16));
    match (a, b) {
        (M::F16, M::F16) => is_wide && k == 16 && matches!(d, M::F16 | M::F32),
        (M::Bf16, M::Bf16) => is_wide && k == 16 && d == M::F32,
        (M::Tf32, M::Tf32) => is_wide && k == 8 && d == M::F32,
        (M::E4m3 | M::E5m2, M::E4m3 | M::E5m2) => is_wide && k == 32 && matches!(d, M::F16 | M::F32),
        (M::S8 | M::U8, M::S8 | M::U8) => is_of_integers && k == 32 && d == M::S32,
        (M::B1, M::B1) => is_of_integers && k == 256 && d == M::S32 && combination == Some(BoolOp::And),
        _ => false,
    }
}

impl<'src> Body<'_, '_, 'src> {
    pub(super) fn lower_wgmma(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        self.check_groups(site)?;
        match () {
            () if site.has(Modifier::Fence) => {
                self.count(site, 0, 0)?;
                let inst = self.inst(Operation::Nop, ScalarType::B32);
                self.push_main(inst);
                self.classify(OpClass::Barrier);
                Ok(())
            }
            () if site.has(Modifier::CommitGroup) => {
                self.lower_commit(site)?;
                self.classify(OpClass::Barrier);
                Ok(())
            }
            () if site.has(Modifier::WaitGroup) => {
                self.lower_wait(site)?;
                self.classify(OpClass::Barrier);
                Ok(())
            }
            () => self.lower_group_product(site),
        }
    }

    /// Only one target has them, and none later.
    fn check_groups(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        if self.module.module.target.ends_with("_90a") {
            return Ok(());
        }
        let target = self.module.module.target.clone();
        let span = site.instruction.opcode_span;
        self.report(
            Diagnostic::error("S016", span, "the instruction needs `.target sm_90a`")
                .with_label(format!("the module is for `{target}`")),
        );
        Err(Stop::Reported)
    }

    fn lower_group_product(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let shape = site.instruction.modifiers.iter().find_map(|modifier| modifier.shape());
        let named = |position: usize| NamedType::from_name(site.written_type(position)?.name()).and_then(M::of);
        let (Some([ROWS, n, k]), [Some(d), Some(a), Some(b)]) = (shape, [named(0), named(1), named(2)]) else {
            return Err(Stop::Unsupported);
        };
        let combination = site.has(Modifier::And).then_some(BoolOp::And);
        let is_sparse = site.has(Modifier::Sp);
        // A sparse a is held in as many bytes, for twice the depth; there are none of single bits.
        let held = if is_sparse { k / 2 } else { k };
        if !exists(n, held, [d, a, b], combination) || is_sparse && a == M::B1 {
            return Err(Stop::Unsupported);
        }
        let is_float = !matches!(a, M::S8 | M::U8 | M::B1);
        let a_in_shared = !matches!(site.operands.get(1).map(|operand| &operand.kind), Some(OperandKind::Vector(_)));
        let n_turns = if a.bits() == 16 { 1 + usize::from(a_in_shared) } else { 0 };
        // Behind the factors stand metadata and selector of a sparse a.
        let after = if is_sparse { 5 } else { 3 };
        let n_operands = after + 1 + if is_float { 2 } else { 0 } + n_turns;
        self.count(site, n_operands, n_operands)?;
        let satfinite = site.has(Modifier::Satfinite);
        let mut product =
            MatrixProduct { satfinite, combination, ..MatrixProduct::new(MatrixShape { m: ROWS, n, k }, [d, a, b, d]) };
        if is_sparse {
            let sparsity = Sparsity { selector: self.selector(&site.operands[4])?, ordered: false };
            self.check_selector(&site.operands[4], &product, sparsity)?;
            product.sparsity = Some(sparsity);
        }
        let (adds, rest) = (&site.operands[after], &site.operands[after + 1..]);
        let mut negated = [false; 2];
        if is_float {
            negated = [self.is_negative(&rest[0])?, self.is_negative(&rest[1])?];
        }
        match n_turns {
            2 => product.turned = [self.is_one(&rest[2])?, self.is_one(&rest[3])?],
            1 => product.turned[1] = self.is_one(&rest[2])?,
            _ => {}
        }
        let group = GroupProduct { product, a_in_shared, negated };
        let mut inst = self.inst(Operation::MmaAsync(group), d.register());
        let parts = self.parts(&site.operands[0], group.results())?;
        for part in parts {
            inst.destinations.push(self.destination(part, d.register())?);
        }
        if a_in_shared {
            inst.sources.push(self.source(&site.operands[1], ScalarType::B64)?);
        } else {
            for part in self.parts(&site.operands[1], GroupProduct::REGISTERS_OF_A)? {
                inst.sources.push(self.source(part, ScalarType::B32)?);
            }
        }
        inst.sources.push(self.source(&site.operands[2], ScalarType::B64)?);
        inst.sources.push(self.predicate(adds)?);
        for part in parts {
            inst.sources.push(self.source(part, d.register())?);
        }
        if is_sparse {
            inst.sources.push(self.source(&site.operands[3], ScalarType::B32)?);
        }
        self.push_main(inst);
        Ok(())
    }

    /// A scale: 1 or -1.
    fn is_negative(&mut self, operand: &ast::Operand<'src>) -> Lowered<bool> {
        match self.source(operand, ScalarType::S32)? {
            Operand::Immediate(1) => Ok(false),
            Operand::Immediate(value) if value as u32 == u32::MAX => Ok(true),
            _ => Err(self.report_kind(operand.span, "1 or -1")),
        }
    }

    /// Which way a matrix lies: 0 or 1.
    fn is_one(&mut self, operand: &ast::Operand<'src>) -> Lowered<bool> {
        match self.source(operand, ScalarType::U32)? {
            Operand::Immediate(value @ 0..=1) => Ok(value == 1),
            _ => Err(self.report_kind(operand.span, "0 or 1")),
        }
    }
}
