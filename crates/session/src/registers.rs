//! Registers per thread: from the user, from ptxas, or estimated from live ranges.

use warplens_ir::{Bank, Cfg, Function, FunctionId, Register};
use warplens_stats::RegistersBasis;

use crate::program::Program;
use crate::toolchain::{self, Search};

/// The registers of a kernel and where the number comes from.
pub(crate) fn of(program: &Program, kernel: FunctionId, given: Option<u32>, search: &Search) -> (u32, RegistersBasis) {
    if let Some(given) = given {
        return (given, RegistersBasis::User);
    }
    let function = &program.module.functions[kernel];
    let allocated = toolchain::registers(&program.ptx, &program.module.target, search);
    match allocated.and_then(|kernels| kernels.get(&function.name).copied()) {
        Some(registers) => (registers, RegistersBasis::Ptxas),
        None => (estimate(program, kernel), RegistersBasis::Estimate),
    }
}

/// Registers that hold nothing of the program: the stack pointer, and temporaries of expanded operations.
const OVERHEAD: u32 = 6;
/// What an SM can give a thread.
const MOST: u32 = 255;

/// The largest number of words that are live at once, in the kernel or a function that it calls.
fn estimate(program: &Program, kernel: FunctionId) -> u32 {
    let module = &program.module;
    let reached = warplens_exec::reachable(module, kernel);
    let most = reached.iter().map(|&id| most_live_words(program, &module.functions[id])).max().unwrap_or(0);
    let limit = module.functions[kernel].bounds.max_registers.unwrap_or(MOST);
    (most + OVERHEAD).min(limit).min(MOST)
}

/// A set of words of the vector bank.
type Words = Vec<u64>;

fn most_live_words(program: &Program, function: &Function) -> u32 {
    let cfg = Cfg::new(&program.module, function);
    let empty: Words = vec![0; (function.registers.vector as usize).div_ceil(64)];
    let mut live_in = vec![empty.clone(); function.n_blocks as usize];
    let mut most = 0;
    loop {
        let mut changed = false;
        for block in function.block_ids().rev() {
            let mut live = empty.clone();
            for &successor in cfg.successors(block) {
                let words = &live_in[function.block_position(successor)];
                live.iter_mut().zip(words).for_each(|(live, words)| *live |= words);
            }
            most = most.max(count(&live));
            for inst in program.module.blocks[block].insts.iter().rev() {
                // A guarded write leaves the old value in lanes that are off.
                if inst.guard.is_none() {
                    inst.writes().for_each(|register| set(&mut live, register, false));
                }
                inst.reads().for_each(|register| set(&mut live, register, true));
                most = most.max(count(&live));
            }
            let before = &mut live_in[function.block_position(block)];
            if *before != live {
                *before = live;
                changed = true;
            }
        }
        if !changed {
            return most;
        }
    }
}

fn set(live: &mut Words, register: Register, is_live: bool) {
    if register.bank != Bank::Vector {
        return;
    }
    for word in register.words() {
        let (at, bit) = (word as usize / 64, 1u64 << (word % 64));
        if let Some(words) = live.get_mut(at) {
            *words = if is_live { *words | bit } else { *words & !bit };
        }
    }
}

fn count(live: &Words) -> u32 {
    live.iter().map(|words| words.count_ones()).sum()
}
