//! Matrices that a warp holds: products, and moves between registers and shared memory.

use warplens_isa::{GroupProduct, MatrixMove, MatrixProduct, ScalarType};

use super::{Binder, Binding, exchange, transfer};
use crate::code::{GroupOperation, Kind, MatrixOperation, MoveOperation, SINK};
use crate::decoded::Decoded;
use crate::raw::Source;
use crate::semantics::warp::Exchange;

/// All lanes that have not exited meet first; then they are together at the product.
pub(super) fn mma(binder: &mut Binder<'_>, inst: &Decoded, product: &MatrixProduct) -> Binding {
    let [n_d, n_a, n_b, n_c] = product.registers();
    let n_metadata = usize::from(product.sparsity.is_some());
    if inst.destinations.len() != n_d || inst.sources.len() != n_a + n_b + n_c + n_metadata {
        return Err("a fragment is missing");
    }
    meet(binder, inst)?;
    let ty = if product.is_double() { ScalarType::B64 } else { ScalarType::B32 };
    let sources = inst.sources.iter().map(|operand| binder.read(operand, ty)).collect();
    let destinations = inst.destinations.iter().map(|&register| binder.write(register, ty)).collect();
    let index = binder.matrix(MatrixOperation { product: *product, sources, destinations });
    binder.other(Kind::Matrix(index), [SINK; 2], &[]);
    Ok(())
}

/// Sources: registers or the descriptor of a, the descriptor of b, whether to add, the accumulators, the metadata of a.
pub(super) fn mma_async(binder: &mut Binder<'_>, inst: &Decoded, group: &GroupProduct) -> Binding {
    let n_a = if group.a_in_shared { 1 } else { GroupProduct::REGISTERS_OF_A };
    let n_metadata = usize::from(group.product.sparsity.is_some());
    if inst.destinations.len() != group.results() || inst.sources.len() != n_a + 2 + group.results() + n_metadata {
        return Err("a fragment is missing");
    }
    meet(binder, inst)?;
    let (a, rest) = inst.sources.split_at(n_a);
    let (a, a_descriptor) = match group.a_in_shared {
        true => (Vec::new(), Some(binder.read(&a[0], ScalarType::B64))),
        false => (a.iter().map(|operand| binder.read(operand, ScalarType::B32)).collect(), None),
    };
    let b_descriptor = binder.read(&rest[0], ScalarType::B64);
    let adds = binder.read(&rest[1], ScalarType::Pred);
    let (accumulators, metadata) = rest[2..].split_at(group.results());
    let sources = accumulators.iter().map(|operand| binder.read(operand, ScalarType::B32)).collect();
    let metadata = metadata.first().map(|operand| binder.read(operand, ScalarType::B32));
    let destinations = inst.destinations.iter().map(|&register| binder.write(register, ScalarType::B32)).collect();
    let operation =
        GroupOperation { product: *group, a, a_descriptor, b_descriptor, adds, sources, metadata, destinations };
    let index = binder.group_matrix(operation);
    binder.other(Kind::GroupMatrix(index), [SINK; 2], &[]);
    Ok(())
}

fn meet(binder: &mut Binder<'_>, inst: &Decoded) -> Binding {
    let meeting = Decoded { sources: Vec::new(), destinations: Vec::new(), memory: Vec::new(), ..inst.clone() };
    exchange::bind(binder, &meeting, Exchange::Barrier)
}

pub(super) fn load(binder: &mut Binder<'_>, inst: &Decoded, matrices: &MatrixMove) -> Binding {
    if inst.destinations.len() != usize::from(matrices.count) {
        return Err("a fragment is missing");
    }
    meet(binder, inst)?;
    let mut memory = transfer::memory_operation(binder, inst)?;
    let words = std::array::from_fn(|_| binder.temporary());
    memory.destinations = words.to_vec();
    let memory = binder.memory(memory);
    let destinations = inst.destinations.iter().map(|&register| binder.write(register, ScalarType::B32)).collect();
    let operation = MoveOperation { matrices: *matrices, memory, words, destinations, sources: Vec::new() };
    let index = binder.matrix_move(operation);
    binder.other(Kind::LoadMatrices(index), [SINK; 2], &[]);
    Ok(())
}

pub(super) fn store(binder: &mut Binder<'_>, inst: &Decoded, matrices: &MatrixMove) -> Binding {
    if inst.sources.len() != usize::from(matrices.count) {
        return Err("a fragment is missing");
    }
    meet(binder, inst)?;
    let mut memory = transfer::memory_operation(binder, inst)?;
    let words = std::array::from_fn(|_| binder.temporary());
    memory.sources = words.map(Source::frame).to_vec();
    let memory = binder.memory(memory);
    let sources = inst.sources.iter().map(|operand| binder.read(operand, ScalarType::B32)).collect();
    let operation = MoveOperation { matrices: *matrices, memory, words, destinations: Vec::new(), sources };
    let index = binder.matrix_move(operation);
    binder.other(Kind::StoreMatrices(index), [SINK; 2], &[]);
    Ok(())
}
