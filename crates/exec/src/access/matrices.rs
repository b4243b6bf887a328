//! Moves of matrices between shared memory and the registers of a warp.
//!
//! The rows are accessed by the lanes that bring their addresses, as any other 16 bytes are; then the lanes exchange what
//! they have read, or have exchanged what they are to write.

use warplens_isa::Pc;
use warplens_trace::Observer;

use crate::code::{MemoryOperation, MoveOperation};
use crate::engine::Engine;
use crate::error::ExecError;
use crate::interpret::{Context, Worker};
use crate::raw::{Lanes, Source};
use crate::semantics::matrix_rows;

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    #[inline(never)]
    pub(crate) fn load_matrices(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        (operation, memory): (&MoveOperation, &MemoryOperation),
        pc: Pc,
    ) -> Result<(), ExecError> {
        let all = lanes.mask;
        let rows = all & operation.matrices.rows();
        lanes.mask = rows;
        if rows != 0 {
            self.load(context, lanes, memory, operation.memory, pc)?;
        }
        lanes.mask = all;
        let words = operation.words.map(|word| only(rows, lanes.words(Source::frame(word))));
        for (matrix, &register) in operation.destinations.iter().enumerate() {
            lanes.set_words(register, &matrix_rows::received(&words, matrix, operation.matrices));
        }
        Ok(())
    }

    #[inline(never)]
    pub(crate) fn store_matrices(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        (operation, memory): (&MoveOperation, &MemoryOperation),
        pc: Pc,
    ) -> Result<(), ExecError> {
        let all = lanes.mask;
        let fragments: Vec<_> = operation.sources.iter().map(|&source| only(all, lanes.words(source))).collect();
        let words = matrix_rows::brought(&fragments, operation.matrices);
        lanes.mask = all & operation.matrices.rows();
        for (&word, values) in operation.words.iter().zip(&words) {
            lanes.set_words(word, values);
        }
        if lanes.mask != 0 {
            self.store(context, lanes, memory, operation.memory, pc)?;
        }
        lanes.mask = all;
        Ok(())
    }
}

/// The values of the lanes of a mask; what others hold counts as zeros.
fn only(mask: u32, values: &[u32; 32]) -> [u32; 32] {
    if mask == u32::MAX {
        return *values;
    }
    std::array::from_fn(|lane| if mask >> lane & 1 == 1 { values[lane] } else { 0 })
}
