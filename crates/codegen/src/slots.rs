//! Numbers of memory instructions in their blocks: how a trace and the code of a generation speak of the same access.

use warplens_base::IdMap;
use warplens_ir::{Module, Unrolled};
use warplens_isa::{BlockId, Pc};
use warplens_trace::NO_SLOT;

/// Slots of a module. They number the memory instructions of a block in the order of the IR, whatever a schedule does
/// to them; operations of one source instruction share a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slots {
    by_pc: IdMap<Pc, Option<(BlockId, u16)>>,
    counts: IdMap<BlockId, u16>,
}

impl Slots {
    /// Block and slot of a memory instruction; none for what touches no memory, and for memory instructions beyond the
    /// number that a block can have.
    pub fn of(&self, pc: Pc) -> Option<(BlockId, u16)> {
        self.by_pc.get(pc).copied().flatten()
    }

    /// The same with those of an unrolled module, whose copies have the slots of what they copy.
    pub(crate) fn unrolled(mut self, unrolled: &Unrolled) -> Self {
        for copy in self.by_pc.len()..unrolled.module.pcs.len() {
            let (pc, _) = unrolled.origin(Pc(u32::try_from(copy).expect("a program counter")));
            let place = self.by_pc[pc];
            self.by_pc.push(place);
        }
        self
    }

    /// Number of slots of a block.
    pub fn count(&self, block: BlockId) -> u16 {
        self.counts[block]
    }
}

/// Numbers the memory instructions of all blocks of a module.
pub fn slots(module: &Module) -> Slots {
    let mut slots =
        Slots { by_pc: IdMap::filled(module.pcs.len(), None), counts: IdMap::filled(module.blocks.len(), 0) };
    for (id, block) in module.blocks.iter() {
        for inst in block.insts.iter().filter(|inst| !inst.memory.is_empty()) {
            let next = slots.counts[id];
            if slots.by_pc[inst.pc].is_none() && next != NO_SLOT {
                slots.by_pc[inst.pc] = Some((id, next));
                slots.counts[id] = next + 1;
            }
        }
    }
    slots
}
