//! Matrices that move between shared memory and registers: `ldmatrix` and `stmatrix`.

use warplens_ir::{MemoryReference, Operand, Width};
use warplens_isa::{AddressConversion, AddressDirection, MatrixMove, Operation, ScalarType, StateSpace};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::syntax::ast::{self, Modifier};

impl<'src> Body<'_, '_, 'src> {
    /// `ldmatrix d, [row]`.
    pub(super) fn lower_ldmatrix(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let matrices = moved(site)?;
        self.check_target(site, 75)?;
        self.count(site, 2, 2)?;
        let row = self.row_in_shared(site, &site.operands[1])?;
        let mut inst = self.inst(Operation::Ldmatrix(matrices), ScalarType::B32);
        for part in self.parts(&site.operands[0], matrices.count.into())? {
            inst.destinations.push(self.destination(part, ScalarType::B32)?);
        }
        inst.memory = row.into();
        self.push_main(inst);
        Ok(())
    }

    /// `stmatrix [row], a`.
    pub(super) fn lower_stmatrix(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let matrices = moved(site)?;
        self.check_target(site, 90)?;
        self.count(site, 2, 2)?;
        let row = self.row_in_shared(site, &site.operands[0])?;
        let mut inst = self.inst(Operation::Stmatrix(matrices), ScalarType::B32);
        for part in self.parts(&site.operands[1], matrices.count.into())? {
            inst.sources.push(self.source(part, ScalarType::B32)?);
        }
        inst.memory = row.into();
        self.push_main(inst);
        Ok(())
    }

    /// A place in shared memory, of four words. A generic address has to be one of shared memory: it is made one, so that another lies out of
    /// bounds.
    pub(super) fn row_in_shared(
        &mut self,
        site: &Site<'_, 'src>,
        operand: &ast::Operand<'src>,
    ) -> Lowered<MemoryReference> {
        let (space, base, offset) = self.address(operand, types::named_space(site.instruction))?;
        let base = match space {
            StateSpace::Shared => base,
            StateSpace::Generic => {
                let register = self.scopes.fresh(Width::Pair);
                let conversion =
                    AddressConversion { space: StateSpace::Shared, direction: AddressDirection::FromGeneric };
                self.emit(Operation::Cvta(conversion), ScalarType::U64, vec![register], vec![base]);
                Operand::Register(register)
            }
            StateSpace::Global
            | StateSpace::Const
            | StateSpace::Param
            | StateSpace::Local
            | StateSpace::Texture
            | StateSpace::Surface => {
                return Err(self.report_kind(operand.span, "an address in shared memory"));
            }
        };
        Ok(MemoryReference { space: StateSpace::Shared, base, offset, elements: 4 })
    }
}

/// The matrices of an instruction. Those of bytes and of narrower elements are not moved yet.
fn moved(site: &Site<'_, '_>) -> Lowered<MatrixMove> {
    let counts = [(Modifier::X1, 1), (Modifier::X2, 2), (Modifier::X4, 4)];
    let count = counts.into_iter().find(|&(name, _)| site.has(name)).map(|(_, count)| count);
    let is_plain = site.has(Modifier::M8n8) && site.written_type(0).is_some_and(|ty| ty.name() == "b16");
    match count {
        Some(count) if is_plain => Ok(MatrixMove { count, transposed: site.has(Modifier::Trans) }),
        _ => Err(Stop::Unsupported),
    }
}
