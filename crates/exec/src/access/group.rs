//! Products of matrices that four warps carry out together: each makes 16 of the 64 rows.
//!
//! A product is made where it stands, by each warp on its own: a correct program changes neither the registers nor the
//! shared memory that it reads, and looks at no result, before it has waited. That all four come to the same products is
//! checked ([`warpgroup`](crate::warpgroup)).

use warplens_isa::{MatrixType, Pc, StateSpace};
use warplens_trace::{AccessKind, Observer};

use crate::code::{GroupOperation, MemoryOperation};
use crate::engine::Engine;
use crate::error::ExecError;
use crate::interpret::{Context, Worker};
use crate::raw::Lanes;
use crate::semantics::tensor::group::{self, Line};
use crate::semantics::tensor::shared::SharedMatrix;

/// Warps that share the rows.
const WARPS: u32 = 4;
const ROWS: u32 = 16;

/// Pieces of 16 bytes that a line has in depth, unless it stands across from a sparse one.
const PIECES: u32 = 2;

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    #[inline(never)]
    pub(crate) fn multiply_group(
        &mut self,
        context: &Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &GroupOperation,
        pc: Pc,
    ) -> Result<(), ExecError> {
        let product = &operation.product;
        let cores = self.tensor_cores(product.work());
        let lane = lanes.mask.trailing_zeros().min(31);
        let [_, a_type, b_type, _] = product.product.types;
        let [a_is_turned, b_is_turned] = product.product.turned;
        let word = |source: &crate::raw::Source| lanes.words(*source).map(u64::from);
        let a = match operation.a_descriptor {
            Some(descriptor) => {
                let matrix = SharedMatrix::of(lanes.pairs(descriptor)[lane as usize]);
                let first = context.warp_index % WARPS * ROWS;
                self.lines(context, (matrix, a_type, a_is_turned), (first, ROWS), PIECES, (pc, lane))?
            }
            None => {
                let registers: Vec<_> = operation.a.iter().map(word).collect();
                group::held(&registers, a_type, product.product.held_depth().into())
            }
        };
        let matrix = SharedMatrix::of(lanes.pairs(operation.b_descriptor)[lane as usize]);
        let n = u32::from(product.product.shape.n);
        let pieces = if product.product.sparsity.is_some() { 2 * PIECES } else { PIECES };
        let b = self.lines(context, (matrix, b_type, b_is_turned), (0, n), pieces, (pc, lane))?;
        let adds = lanes.predicate(operation.adds) >> lane & 1 == 1;
        let accumulators: Vec<_> =
            operation.sources.iter().map(|source| if adds { word(source) } else { [0; 32] }).collect();
        let metadata = operation.metadata.as_ref().map(word);
        let results = group::product(cores, product, (&a, &b), &accumulators, metadata.as_ref());
        for (&row, values) in operation.destinations.iter().zip(&results) {
            lanes.set_words(row, &values.map(|value| value as u32));
        }
        Ok(())
    }

    /// So many lines of a matrix in shared memory, from the first wanted, of so many pieces of 16 bytes in depth.
    fn lines(
        &self,
        context: &Context<'_, O::Cta>,
        (matrix, ty, is_turned): (SharedMatrix, MatrixType, bool),
        (first, count): (u32, u32),
        pieces: u32,
        at: (Pc, u32),
    ) -> Result<Vec<Line>, ExecError> {
        let mut lines = vec![Line::default(); count as usize];
        if !is_turned {
            for (line, number) in lines.iter_mut().zip(first..) {
                for piece in 0..pieces {
                    let bytes = self.shared_bytes(context, matrix.in_depth(number, piece), at)?;
                    line.push_bytes(&bytes, ty);
                }
            }
            return Ok(lines);
        }
        // Elements of two bytes, depth by depth.
        for depth in 0..8 * pieces {
            for piece in first / 8..(first + count) / 8 {
                let bytes = self.shared_bytes(context, matrix.at_depth(piece, depth), at)?;
                let own = &mut lines[(piece * 8 - first) as usize..][..8];
                own.iter_mut().zip(bytes.chunks(2)).for_each(|(line, bytes)| line.push_bytes(bytes, ty));
            }
        }
        Ok(lines)
    }

    /// A piece of 16 bytes of shared memory that is no access of a lane.
    pub(crate) fn shared_bytes(
        &self,
        context: &Context<'_, O::Cta>,
        address: u32,
        (pc, lane): (Pc, u32),
    ) -> Result<Vec<u8>, ExecError> {
        let start = address as usize;
        if start + 16 <= context.shared.len() {
            return Ok(context.shared.read_bytes(start, 16));
        }
        let piece = MemoryOperation { space: StateSpace::Shared, elements: 2, ..MemoryOperation::parameter(0, 8, 0) };
        Err(self.refuse(context, &piece, pc, AccessKind::Load, StateSpace::Shared, address.into(), lane))
    }
}
