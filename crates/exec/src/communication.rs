//! Finds kernels whose control depends on values that other threads write.

use rustc_hash::FxHashSet;
use warplens_ir::{Flow, FunctionId, Inst, Module, Register};
use warplens_isa::{Op, Pc, StateSpace};

/// The first branch, guard or indirect jump that depends on the result of an atomic or of an ordered load to memory
/// that CTAs share (a spin or a lock, a last-block test). Registers are followed without regard to the order of
/// instructions, so the answer may be a false alarm, never a miss inside a function.
pub(crate) fn deciding_instruction(module: &Module, functions: &[FunctionId]) -> Option<Pc> {
    functions.iter().find_map(|&function| in_function(module, function))
}

fn in_function(module: &Module, function: FunctionId) -> Option<Pc> {
    let blocks: Vec<_> = module.functions[function].block_ids().map(|block| &module.blocks[block]).collect();
    let insts = || blocks.iter().flat_map(|block| &block.insts);
    let mut tainted: FxHashSet<(warplens_ir::Bank, u32)> = FxHashSet::default();
    let words = |register: Register| register.words().map(move |word| (register.bank, word));
    loop {
        let before = tainted.len();
        for inst in insts() {
            if is_source(inst)
                || carries_values(inst) && inst.reads().flat_map(words).any(|word| tainted.contains(&word))
            {
                tainted.extend(inst.writes().flat_map(words));
            }
        }
        if tainted.len() == before {
            break;
        }
    }
    blocks.iter().find_map(|block| {
        let control = block.insts.last()?;
        let decides = !matches!(block.flow, Flow::Fallthrough(_) | Flow::Call { .. });
        let depends = control.reads().flat_map(words).any(|word| tainted.contains(&word));
        (decides && depends).then_some(control.pc)
    })
}

/// Values that other threads may have written.
fn is_source(inst: &Inst) -> bool {
    let shared_space = inst
        .memory
        .as_ref()
        .is_some_and(|memory| matches!(memory.space, StateSpace::Global | StateSpace::Generic | StateSpace::Shared));
    shared_space && (inst.op == Op::Atom || inst.op == Op::Ld && inst.modifiers.ordered)
}

/// Loads through a tainted address do not count: the value comes from somewhere else.
fn carries_values(inst: &Inst) -> bool {
    !matches!(inst.op, Op::Ld | Op::Call)
}
