//! Products of matrices.

use warplens_base::Diagnostic;
use warplens_ir::Operand;
use warplens_isa::{
    BoolOp, MatrixProduct, MatrixShape, MatrixType as M, NamedType, Operation, Rounding, ScalarType, Sparsity,
};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop};
use crate::syntax::ast::{self, Modifier};

/// The lowest target of a product, as ptxas has it; none if there is no such product.
fn least_target(product: &MatrixProduct) -> Option<u32> {
    let MatrixShape { m, n, k } = product.shape;
    let [d, a, b, c] = product.types;
    let shape = (m, n, k);
    if product.sparsity.is_some() {
        return least_target_of_sparse(product);
    }
    if product.is_by_quads() {
        let is_known = (n, b) == (8, M::F16) && matches!((d, c), (M::F16, M::F16) | (M::F32, M::F16 | M::F32));
        return is_known.then_some(70);
    }
    if d != c {
        return None;
    }
    match (a, b) {
        (M::F16, M::F16) if matches!(d, M::F16 | M::F32) => match shape {
            (16, 8, 8) => Some(75),
            (16, 8, 16) => Some(80),
            _ => None,
        },
        (M::Bf16, M::Bf16) if d == M::F32 => matches!(shape, (16, 8, 8 | 16)).then_some(80),
        (M::Tf32, M::Tf32) if d == M::F32 => matches!(shape, (16, 8, 4 | 8)).then_some(80),
        (M::E4m3 | M::E5m2, M::E4m3 | M::E5m2) if matches!(d, M::F16 | M::F32) => {
            matches!(shape, (16, 8, 16 | 32)).then_some(89)
        }
        (M::F64, M::F64) if d == M::F64 => match shape {
            (8, 8, 4) => Some(80),
            (16, 8, 4 | 8 | 16) => Some(90),
            _ => None,
        },
        (M::S8 | M::U8, M::S8 | M::U8) if d == M::S32 => match shape {
            (8, 8, 16) => Some(75),
            (16, 8, 16 | 32) => Some(80),
            _ => None,
        },
        (M::S4 | M::U4, M::S4 | M::U4) if d == M::S32 => match shape {
            (8, 8, 32) => Some(75),
            (16, 8, 32 | 64) => Some(80),
            _ => None,
        },
        (M::B1, M::B1) if d == M::S32 => match (shape, product.combination) {
            ((8, 8, 128), Some(BoolOp::Xor)) => Some(75),
            ((8, 8, 128) | (16, 8, 128 | 256), Some(BoolOp::And | BoolOp::Xor)) => Some(80),
            _ => None,
        },
        _ => None,
    }
}

/// The same of products with a sparse a.
fn least_target_of_sparse(product: &MatrixProduct) -> Option<u32> {
    let MatrixShape { m, n, k } = product.shape;
    let [d, a, b, c] = product.types;
    if (m, n) != (16, 8) || d != c {
        return None;
    }
    match (a, b) {
        (M::F16, M::F16) if matches!(d, M::F16 | M::F32) => matches!(k, 16 | 32).then_some(80),
        (M::Bf16, M::Bf16) if d == M::F32 => matches!(k, 16 | 32).then_some(80),
        (M::Tf32, M::Tf32) if d == M::F32 => matches!(k, 8 | 16).then_some(80),
        (M::E4m3 | M::E5m2, M::E4m3 | M::E5m2) if d == M::F32 => (k == 64).then_some(89),
        (M::S8 | M::U8, M::S8 | M::U8) if d == M::S32 => matches!(k, 32 | 64).then_some(80),
        (M::S4 | M::U4, M::S4 | M::U4) if d == M::S32 => matches!(k, 64 | 128).then_some(80),
        _ => None,
    }
}

/// How the sums of a product are rounded. Only those of f64 may say so.
pub(super) fn product_rounding(site: &Site<'_, '_>, sum: M) -> Lowered<Rounding> {
    let named = site.instruction.rounding().map(|name| match name {
        Modifier::Rn => Some(Rounding::Nearest),
        Modifier::Rz => Some(Rounding::Zero),
        Modifier::Rm => Some(Rounding::Down),
        Modifier::Rp => Some(Rounding::Up),
        _ => None,
    });
    match named {
        None => Ok(Rounding::Nearest),
        Some(rounding) => rounding.filter(|_| sum == M::F64).ok_or(Stop::Unsupported),
    }
}

/// The lowest target of a product of floats of eight bits and less, which GPUs of one generation have; none if there is no
/// such product.
fn least_target_of_small(product: &MatrixProduct) -> Option<&'static str> {
    let MatrixShape { m, n, k } = product.shape;
    let [d, a, b, c] = product.types;
    let is_known = a.is_small_float() && b.is_small_float() && d == c && matches!(d, M::F16 | M::F32);
    let depth = if product.sparsity.is_some() { 64 } else { 32 };
    let is_whole = (m, n, k) == (16, 8, depth) && product.sparsity.is_none_or(|it| it.ordered);
    (is_known && is_whole).then_some("sm_120a")
}

impl<'src> Body<'_, '_, 'src> {
    /// Dense products, and those with a sparse a. Scaled ones are not executed yet.
    pub(super) fn lower_mma(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let modifiers = &site.instruction.modifiers;
        let shape = modifiers.iter().find_map(|modifier| modifier.shape());
        let named = |position: usize| NamedType::from_name(site.written_type(position)?.name()).and_then(M::of);
        let types = [named(0), named(1), named(2), named(3)];
        let n_types = site.instruction.types().count();
        let (Some([m, n, k]), [Some(d), Some(a), Some(b), Some(c)], 4) = (shape, types, n_types) else {
            return Err(Stop::Unsupported);
        };
        let combination = match () {
            () if site.has(Modifier::And) => Some(BoolOp::And),
            () if site.has(Modifier::Xor) => Some(BoolOp::Xor),
            () => None,
        };
        let shape = MatrixShape { m, n, k };
        let satfinite = site.has(Modifier::Satfinite);
        let product = MatrixProduct { satfinite, combination, ..MatrixProduct::new(shape, [d, a, b, c]) };
        let layouts = modifiers.iter().copied().filter(|it| matches!(it, Modifier::Row | Modifier::Col));
        let (a_layout, b_layout) = layouts.fold((None, None), |(_, last), layout| (last, Some(layout)));
        let turned = [a_layout == Some(Modifier::Col), b_layout == Some(Modifier::Row)];
        let rounding = product_rounding(site, d)?;
        let product = MatrixProduct { turned, rounding, sparsity: self.sparsity(site)?, ..product };
        if turned != [false; 2] && !product.is_by_quads() || site.has(Modifier::BlockScale) {
            return Err(Stop::Unsupported);
        }
        if site.has(Modifier::KindF8f6f4) {
            let target = least_target_of_small(&product).ok_or(Stop::Unsupported)?;
            self.check_special_target(site, target)?;
        } else {
            let least = least_target(&product).ok_or(Stop::Unsupported)?;
            self.check_target(site, least)?;
        }
        let n_operands = if product.sparsity.is_some() { 6 } else { 4 };
        self.count(site, n_operands, n_operands)?;
        let [n_d, n_a, n_b, n_c] = product.registers();
        let mut inst = self.inst(Operation::Mma(product), d.register());
        for part in self.parts(&site.operands[0], n_d)? {
            inst.destinations.push(self.destination(part, d.register())?);
        }
        for (at, (count, ty)) in [(n_a, a), (n_b, b), (n_c, c)].into_iter().enumerate() {
            for part in self.parts(&site.operands[at + 1], count)? {
                inst.sources.push(self.source(part, ty.register())?);
            }
        }
        if let Some(sparsity) = product.sparsity {
            self.check_selector(&site.operands[5], &product, sparsity)?;
            inst.sources.push(self.source(&site.operands[4], ScalarType::B32)?);
        }
        self.push_main(inst);
        Ok(())
    }

    /// How it is told which elements of a are held, if it is sparse. The selector is the last operand.
    fn sparsity(&mut self, site: &Site<'_, 'src>) -> Lowered<Option<Sparsity>> {
        let ordered = site.has(Modifier::SpOrderedMetadata);
        if !ordered && !site.has(Modifier::Sp) {
            return Ok(None);
        }
        let Some(operand) = site.operands.get(5) else { return Err(Stop::Unsupported) };
        self.selector(operand).map(|selector| Some(Sparsity { selector, ordered }))
    }

    /// Which of four lanes hold metadata: a small constant.
    pub(super) fn selector(&mut self, operand: &ast::Operand<'src>) -> Lowered<u8> {
        match self.source(operand, ScalarType::U32)? {
            Operand::Immediate(value @ 0..=3) => Ok(value as u8),
            _ => Err(self.report_kind(operand.span, "a constant from 0 to 3")),
        }
    }

    /// Refuses a selector of more lanes than there are.
    pub(super) fn check_selector(
        &mut self,
        operand: &ast::Operand<'src>,
        product: &MatrixProduct,
        sparsity: Sparsity,
    ) -> Lowered<()> {
        let parts = 4 / product.metadata_lanes();
        if usize::from(sparsity.selector) < parts {
            return Ok(());
        }
        Err(self.report_kind(operand.span, if parts == 1 { "0" } else { "0 or 1" }))
    }

    /// Refuses what only targets with the features of one generation have, those of `target` and of its kind.
    fn check_special_target(&mut self, site: &Site<'_, 'src>, target: &str) -> Lowered<()> {
        let generation = target.trim_end_matches('a');
        let own = self.module.module.target.trim_end_matches(['a', 'f']);
        // sm_121 is of the kind of sm_120.
        let is_same = own.len() == generation.len() && own[..own.len() - 1] == generation[..generation.len() - 1];
        if is_same && own.len() < self.module.module.target.len() {
            return Ok(());
        }
        let found = self.module.module.target.clone();
        let span = site.instruction.opcode_span;
        self.report(
            Diagnostic::error("S016", span, format!("the instruction needs `.target {target}`"))
                .with_label(format!("the module is for `{found}`")),
        );
        Err(Stop::Reported)
    }

    /// Refuses what the target of the module does not have.
    pub(super) fn check_target(&mut self, site: &Site<'_, 'src>, least: u32) -> Lowered<()> {
        let target = self.module.dialect.target;
        if target >= least {
            return Ok(());
        }
        let span = site.instruction.opcode_span;
        self.report(
            Diagnostic::error("S016", span, format!("the instruction needs `.target sm_{least}` or later"))
                .with_label(format!("the module is for `sm_{target}`")),
        );
        Err(Stop::Reported)
    }
}
