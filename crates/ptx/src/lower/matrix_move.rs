//! Matrices that move between shared memory and registers: `ldmatrix` and `stmatrix`.

use warplens_ir::{MemoryReference, Operand, Width};
use warplens_isa::{AddressConversion, AddressDirection, MatrixMove, MovedElements, Operation, ScalarType, StateSpace};

use super::body::Body;
use super::instruction::Site;
use super::{Lowered, Stop, types};
use crate::opcodes::Opcode;
use crate::syntax::ast::{self, Modifier};

impl<'src> Body<'_, '_, 'src> {
    /// `ldmatrix d, [row]`.
    pub(super) fn lower_ldmatrix(&mut self, site: &Site<'_, 'src>) -> Lowered<()> {
        let matrices = moved(site)?;
        self.check_target(site, least_target(matrices, 75))?;
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
        self.check_target(site, least_target(matrices, 90))?;
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

/// The matrices of an instruction. Squares of bytes are not moved: where their elements go is said by a picture alone.
fn moved(site: &Site<'_, '_>) -> Lowered<MatrixMove> {
    let counts = [(Modifier::X1, 1), (Modifier::X2, 2), (Modifier::X4, 4)];
    let count = counts.into_iter().find(|&(name, _)| site.has(name)).map(|(_, count)| count);
    let types: Vec<&str> = site.instruction.types().map(|ty| ty.name()).collect();
    let transposed = site.has(Modifier::Trans);
    let is_store = site.instruction.opcode == Opcode::Stmatrix;
    let elements = match types[..] {
        ["b16"] if site.has(Modifier::M8n8) => Some(MovedElements::Halves),
        ["b8"] if is_store && transposed && site.has(Modifier::M16n8) => Some(MovedElements::Bytes),
        ["b8x16", "b6x16_p32"] if !is_store && !transposed && site.has(Modifier::M8n16) => Some(MovedElements::SixBits),
        ["b8x16", "b4x16_p64"] if !is_store && !transposed && site.has(Modifier::M8n16) => {
            Some(MovedElements::FourBits)
        }
        _ => None,
    };
    match (count, elements) {
        (Some(count), Some(elements)) => Ok(MatrixMove { count, elements, transposed }),
        _ => Err(Stop::Unsupported),
    }
}

/// The lowest target that moves such matrices; those of halves are as old as the instruction.
fn least_target(matrices: MatrixMove, of_halves: u32) -> u32 {
    if matrices.elements == MovedElements::Halves { of_halves } else { 100 }
}
