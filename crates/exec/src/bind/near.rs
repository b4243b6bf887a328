//! Loads of a block that count from the same row.

use warplens_isa::StateSpace;

use crate::code::{Base, Code, Kind, MemoryOperation, Places, SINK, Step};
use crate::raw::Source;

/// A load whose address others may share, while its row stays as it is.
struct First {
    row: Source,
    /// Its operation of memory.
    memory: u32,
    /// The index of what is kept for the others, once there is one.
    kept: Option<u32>,
}

/// Finds the loads of the steps from `first` on, which are those of a block, whose places follow from those of a load
/// before them. `n_kept` counts the loads that others follow.
pub(super) fn find(code: &mut Code, first: usize, n_kept: &mut u32) {
    let Code { steps, memory, .. } = code;
    let mut firsts: Vec<First> = Vec::new();
    for step in &steps[first..] {
        if let (Kind::Load(index), None) = (step.kind, step.guard)
            && let Some(row) = shared_word(&memory[index as usize])
        {
            match firsts.iter_mut().find(|first| first.row == row) {
                Some(first) => {
                    let kept = *first.kept.get_or_insert_with(|| {
                        *n_kept += 1;
                        *n_kept - 1
                    });
                    let origin = memory[first.memory as usize].offset;
                    memory[first.memory as usize].places = Places::First(kept);
                    let own = &mut memory[index as usize];
                    own.places = Places::Shifted(kept, own.offset - origin);
                }
                None => firsts.push(First { row, memory: index, kept: None }),
            }
        }
        match written(step, memory) {
            Some(rows) => firsts.retain(|first| !rows.iter().any(|&row| covers(row, first.row))),
            None => firsts.clear(),
        }
    }
}

/// The row of addresses of a load of a word per lane from shared memory.
fn shared_word(operation: &MemoryOperation) -> Option<Source> {
    let is_word = operation.elements == 1 && operation.element_bytes == 4 && operation.written_bytes == 4;
    match operation.base {
        Base::Word(row) if is_word && operation.space == StateSpace::Shared => Some(row),
        Base::Word(_) | Base::Pair(_) | Base::Constant(_) | Base::Frame => None,
    }
}

/// A value in the row or in it and the next one.
fn covers(row: u32, source: Source) -> bool {
    row != SINK && (source == Source::frame(row) || source == Source::frame(row + 1))
}

/// Rows in which values that a step writes begin; none of a step after which other warps may have their turn, or that may
/// write more.
fn written(step: &Step, memory: &[MemoryOperation]) -> Option<Vec<u32>> {
    match step.kind {
        Kind::Lane | Kind::Special(..) | Kind::FrameAddress(_) | Kind::InSpace(..) | Kind::ActiveMask => {
            Some(step.destinations.to_vec())
        }
        Kind::Load(index) | Kind::Store(index) | Kind::Atomic(index) => {
            Some(memory[index as usize].destinations.clone())
        }
        Kind::LoadPart(_)
        | Kind::Bulk(_)
        | Kind::Tensor(_)
        | Kind::Exchange(_)
        | Kind::Fill(_)
        | Kind::Matrix(_)
        | Kind::GroupMatrix(_)
        | Kind::LoadMatrices(_)
        | Kind::StoreMatrices(_)
        | Kind::Texture(_)
        | Kind::Barrier(_)
        | Kind::TestPhase(_)
        | Kind::ClusterBarrier(_)
        | Kind::AtomicCluster(_)
        | Kind::JoinConvergence(_)
        | Kind::BreakConvergence(_)
        | Kind::ReadConvergence(_)
        | Kind::WriteConvergence(_)
        | Kind::Alloca(_)
        | Kind::Broadcast(_)
        | Kind::System(..)
        | Kind::Unsupported => None,
    }
}
