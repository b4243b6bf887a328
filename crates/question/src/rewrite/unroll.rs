//! Loops of which several rounds are under way at once: unrolled, with accumulators of their own.
//!
//! A loop is a block that a warp executes several times in a row. So many rounds become one execution of a block in which
//! the instructions of the rounds take turns, each round with registers of its own: sums are put together after the loop.
//! What counts the rounds is done once for all of them. Where a load needs what the round before loaded, rounds cannot
//! overlap.

use std::collections::{BTreeMap, BTreeSet};

use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_sim::traces::Traced;
use warplens_stats::TracedCta;
use warplens_trace::{Code, MachineClass, MachineInst, RegisterNumber, WarpTrace, WarpTraceBuilder};

use super::Executions;

/// A loop of one block.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Loop {
    pub(crate) block: u32,
    /// It loads from global memory.
    pub(crate) loads: bool,
    /// Registers that a round needs for itself.
    pub(crate) registers: u32,
}

/// The loop of which most instructions are executed, if its rounds can overlap. One that the assembler unrolls is none,
/// also where it has a few rounds together: it has their loads under way at once.
pub(crate) fn hottest(traced: &Traced) -> Option<Loop> {
    let code = super::code(traced)?;
    let unrolled: BTreeSet<u32> = code.chains.iter().flat_map(|chain| chain.blocks.iter().copied()).collect();
    let mut in_a_row: BTreeMap<u32, u64> = BTreeMap::new();
    for cta in traced.ctas.iter().take(4).map(TracedCta::trace) {
        for warp in cta.warps.iter() {
            let mut last = u32::MAX;
            for step in warp.steps() {
                if step.block == last && !unrolled.contains(&last) {
                    *in_a_row.entry(step.block).or_insert(0) += code.block(step.block).len() as u64;
                }
                last = step.block;
            }
        }
    }
    let (&block, _) = in_a_row.iter().max_by_key(|(_, work)| **work)?;
    let insts = code.block(block);
    let is_plain = |inst: &MachineInst| {
        use MachineClass as C;
        !matches!(
            inst.class,
            C::Barrier | C::BarrierArrive | C::AsyncCopy | C::AsyncCommit | C::AsyncWait | C::Atomic | C::TensorAsync
        )
    };
    if !insts.iter().all(is_plain) || !overlap(&code, insts) {
        return None;
    }
    let loads = insts
        .iter()
        .any(|inst| inst.class == MachineClass::Load && matches!(inst.space, StateSpace::Global | StateSpace::Generic));
    let carried = carried(&code, insts).len();
    let loaded = insts.iter().filter(|inst| inst.class == MachineClass::Load).map(|inst| u32::from(inst.writes.count));
    Some(Loop { block, loads, registers: loaded.sum::<u32>().max(1) + carried.min(2) as u32 })
}

/// Registers that a round takes from the one before.
fn carried(code: &Code, insts: &[MachineInst]) -> BTreeSet<RegisterNumber> {
    let (mut written, mut read) = (BTreeSet::new(), BTreeSet::new());
    for inst in insts {
        read.extend(code.registers(inst.reads).iter().filter(|register| !written.contains(*register)).copied());
        written.extend(code.registers(inst.writes).iter().copied());
    }
    read.intersection(&written).copied().collect()
}

/// False where a load of a round needs what the round before loaded.
pub(super) fn overlap(code: &Code, insts: &[MachineInst]) -> bool {
    let follow = |from: BTreeSet<RegisterNumber>, with_loads: bool| {
        let mut tainted = from;
        let mut reaches_load = false;
        for inst in insts {
            let reads = code.registers(inst.reads).iter().any(|register| tainted.contains(register));
            let loads = inst.class == MachineClass::Load;
            reaches_load |= loads && reads;
            for register in code.registers(inst.writes) {
                // Registers are used again, for other values.
                if reads || loads && with_loads {
                    tainted.insert(*register);
                } else {
                    tainted.remove(register);
                }
            }
        }
        (tainted, reaches_load)
    };
    let (loaded, _) = follow(BTreeSet::new(), true);
    let back: BTreeSet<RegisterNumber> = carried(code, insts).intersection(&loaded).copied().collect();
    !follow(back, false).1
}

/// Lets `rounds` rounds of a loop be under way at once.
pub(crate) fn unroll(subject: &mut Subject, of: Loop, rounds: u32) -> Result<(), Impossible> {
    let traced = super::recording(subject)?;
    let (mut before, mut after) = (Executions::default(), Executions::default());
    // Loads that became a part of another one have no instruction, and a slot nevertheless.
    let of_block = |warp: &WarpTrace| {
        let steps = warp.steps().filter(|step| step.block == of.block);
        steps.filter_map(|step| warp.accesses_of(&step).map(|access| access.slot + 1).max()).max()
    };
    let mut slots = 0;
    for cta in &traced.ctas {
        let trace = cta.trace();
        before.add(&trace.warps, cta.left_out());
        slots = trace.warps.iter().filter_map(of_block).max().unwrap_or(0).max(slots);
    }
    let mut number = 0;
    super::each_code(traced, |code| {
        number = code.blocks.len() as u32;
        let insts = several(code, of.block, rounds, slots);
        let start = code.insts.len() as u32;
        code.insts.extend(insts);
        code.blocks.push(start..code.insts.len() as u32);
    });
    super::each_cta(traced, |cta| {
        let warps: Vec<WarpTrace> =
            cta.warps.iter().map(|warp| in_fewer_rounds(warp, of.block, number, rounds, slots)).collect();
        after.add(&warps, &[]);
        warps
    });
    traced.ctas.iter().for_each(|cta| after.add(&[], cta.left_out()));
    super::follow_executions(traced, &before.finish(), &after.finish());
    let launch = &mut subject.profile.launch;
    launch.registers = (launch.registers + of.registers * (rounds - 1)).min(255);
    Ok(())
}

/// The instructions of several rounds, in turns.
pub(super) fn several(code: &mut Code, block: u32, rounds: u32, slots: u16) -> Vec<MachineInst> {
    let insts = code.block(block).to_vec();
    let counting = counting(code, &insts);
    let written: BTreeSet<RegisterNumber> =
        insts.iter().flat_map(|inst| code.registers(inst.writes).to_vec()).collect();
    let first_new = code.n_registers;
    let rename = |register: RegisterNumber, round: u32| match written.iter().position(|own| *own == register) {
        Some(at) if round > 0 => {
            first_new.saturating_add(((round - 1) as usize * written.len() + at) as RegisterNumber)
        }
        _ => register,
    };
    let mut all = Vec::new();
    for (at, inst) in insts.iter().enumerate() {
        for round in 0..rounds {
            // The end of a round, and what leads there, is that of the last.
            if counting[at] && round + 1 < rounds {
                continue;
            }
            let round = if counting[at] { 0 } else { round };
            let mut renamed = |operands| {
                let registers: Vec<RegisterNumber> =
                    code.registers(operands).iter().map(|register| rename(*register, round)).collect();
                code.operands_of(&registers)
            };
            let (reads, writes) = (renamed(inst.reads), renamed(inst.writes));
            let slot = if inst.touches_memory() { inst.slot + slots * round as u16 } else { inst.slot };
            let of_round = |register: Option<RegisterNumber>| register.map(|register| rename(register, round));
            all.push(MachineInst {
                reads,
                writes,
                slot,
                addend: of_round(inst.addend),
                guard: of_round(inst.guard),
                ..*inst
            });
        }
    }
    all
}

/// What only counts rounds: the branch, and integer instructions whose results nothing else reads.
fn counting(code: &Code, insts: &[MachineInst]) -> Vec<bool> {
    let mut counting: Vec<bool> = insts.iter().map(|inst| inst.class == MachineClass::Branch).collect();
    loop {
        let mut changed = false;
        for at in 0..insts.len() {
            let is_int = matches!(insts[at].class, MachineClass::Int | MachineClass::Uniform);
            if counting[at] || !is_int || insts[at].writes.count == 0 {
                continue;
            }
            let writes = code.registers(insts[at].writes);
            let needed = insts.iter().zip(&counting).enumerate().any(|(other, (inst, counts))| {
                let reads = code.registers(inst.reads).iter().chain(inst.guard.as_ref());
                other != at && !counts && reads.into_iter().any(|register| writes.contains(register))
            });
            if !needed {
                counting[at] = true;
                changed = true;
            }
        }
        if !changed {
            return counting;
        }
    }
}

pub(super) fn in_fewer_rounds(warp: &WarpTrace, block: u32, number: u32, rounds: u32, slots: u16) -> WarpTrace {
    let mut builder = WarpTraceBuilder::like(warp);
    let steps: Vec<_> = warp.steps().collect();
    let mut at = 0;
    while at < steps.len() {
        let first = steps[at];
        let run = steps[at..].iter().take(rounds as usize);
        let is_whole = first.block == block
            && run.clone().count() == rounds as usize
            && run.clone().all(|step| step.block == block && step.mask == first.mask);
        let n = if is_whole { rounds as usize } else { 1 };
        builder.step(if is_whole { number } else { first.block }, first.mask);
        for (round, step) in steps[at..at + n].iter().enumerate() {
            for number in warp.numbers_of(step) {
                builder.copy(warp, number, slots * round as u16);
            }
        }
        at += n;
    }
    builder.finish()
}
