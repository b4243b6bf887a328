//! Numbers of the memory instructions of a block, by which machine code finds what a trace recorded for them.
//!
//! Traces of a module number its blocks by their [`BlockId`](warplens_isa::BlockId): machine code has a place for each block
//! of the module, empty for those of functions that it leaves out.

use warplens_isa::{Op, StateSpace};

use crate::{Block, Inst};

/// Most memory instructions of a block that have a number; the rest, which no program reaches, are as those that touch no
/// memory.
const MOST: u16 = u16::MAX;

/// The slot of each operation of a block: which of the block's memory instructions it belongs to, from 0 in the order of
/// the block. None for those that touch no memory, or only kernel parameters, which are constants of the launch.
///
/// A source instruction that lowers to several memory operations has one slot for all of them. The order is that of the
/// program, wherever machine code puts the instructions.
pub fn memory_slots(block: &Block) -> Vec<Option<u16>> {
    let (mut next, mut last) = (0, None);
    let slots = block.insts.iter().map(|inst| {
        if !touches_memory(inst) {
            return None;
        }
        if let Some((pc, slot)) = last
            && pc == inst.pc
        {
            return Some(slot);
        }
        let slot = Some(next).filter(|slot| *slot < MOST)?;
        next += 1;
        last = Some((inst.pc, slot));
        Some(slot)
    });
    slots.collect()
}

/// True for operations that report accesses to memory other than parameters.
fn touches_memory(inst: &Inst) -> bool {
    inst.op != Op::Prefetch && inst.memory.is_some_and(|memory| memory.space != StateSpace::Param)
}

#[cfg(test)]
mod tests {
    use warplens_isa::{BlockId, Pc, ScalarType};

    use super::*;
    use crate::{Flow, MemoryReference, Operand};

    fn inst(pc: u32, op: Op, space: Option<StateSpace>) -> Inst {
        let memory = space.map(|space| MemoryReference { space, base: Operand::Immediate(0), offset: 0, elements: 1 });
        Inst { memory, ..Inst::new(Pc(pc), op, ScalarType::U32) }
    }

    #[test]
    fn source_instructions_are_numbered_and_parameters_are_not() {
        let insts = vec![
            inst(0, Op::Ld, Some(StateSpace::Param)),
            inst(1, Op::Ld, Some(StateSpace::Global)),
            inst(2, Op::Prefetch, Some(StateSpace::Global)),
            inst(3, Op::St, Some(StateSpace::Local)),
            inst(3, Op::St, Some(StateSpace::Local)),
            inst(4, Op::Add, None),
            inst(5, Op::Atom, Some(StateSpace::Generic)),
        ];
        let block = Block { label: None, stays_rolled: false, insts, flow: Flow::Fallthrough(BlockId(0)) };
        assert_eq!(memory_slots(&block), [None, Some(0), None, Some(1), Some(1), None, Some(2)]);
    }
}
