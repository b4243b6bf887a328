//! Products of matrices.

use warplens_base::Diagnostic;
use warplens_isa::{BoolOp, MatrixProduct, MatrixShape, MatrixType as M, NamedType, Operation};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop};
use crate::syntax::ast::Modifier;

/// The lowest target of a dense product, as ptxas has it; none if there is no such product.
fn least_target(product: &MatrixProduct) -> Option<u32> {
    let MatrixShape { m, n, k } = product.shape;
    let [d, a, b, c] = product.types;
    let shape = (m, n, k);
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

/// Products of f64 may round otherwise than to nearest.
pub(super) fn has_other_rounding(site: &Site<'_, '_>) -> bool {
    [Modifier::Rz, Modifier::Rm, Modifier::Rp].iter().any(|&rounding| site.has(rounding))
}

impl<'src> Body<'_, '_, 'src> {
    /// Dense products. Sparse and scaled ones are not executed yet.
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
        let product = MatrixProduct { turned, ..product };
        if turned != [false; 2] && !product.is_by_quads() || has_other_rounding(site) {
            return Err(Stop::Unsupported);
        }
        let is_dense = ![Modifier::Sp, Modifier::SpOrderedMetadata, Modifier::BlockScale]
            .iter()
            .any(|&modifier| site.has(modifier));
        let has_kind = modifiers.iter().any(|modifier| modifier.name().starts_with("kind::"));
        let Some(least) = least_target(&product).filter(|_| is_dense && !has_kind) else {
            return Err(Stop::Unsupported);
        };
        self.check_target(site, least)?;
        self.count(site, 4, 4)?;
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
        self.push_main(inst);
        Ok(())
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
