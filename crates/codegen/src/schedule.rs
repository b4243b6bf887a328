//! Orders the instructions of each block as a compiler does that wants latencies to overlap.
//!
//! A list schedule: of the instructions whose operands are there, the one on the longest way to the end of the block
//! comes first, so that loads and other long latencies start early and their consumers come late. While as many words
//! are live as the register budget allows, the instruction comes first that frees most of them. The order is taken only
//! if it stays in the budget, or at least needs no more registers than the order of the IR; a smaller budget is tried
//! before that order is kept.
//! What must stay in order stands in [`graph`].

mod graph;
mod pressure;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use warplens_base::Id;
use warplens_ir::{Accesses, Liveness};
use warplens_trace::MachineClass;

use crate::emit::{Atom, Selected};
use crate::node::{Body, Word};
use graph::Graph;
use pressure::{Pressure, Values};

/// Registers that hold no values of the program: the stack pointer and what alignment of pairs costs.
const RESERVED: u32 = 4;

/// Blocks with more instructions stay as they are: the search looks at all instructions that are ready.
const MOST_INSTRUCTIONS: usize = 20_000;

/// Cycles between two memory instructions of a warp, as far as the order is concerned.
const MEMORY_INTERVAL: u32 = 2;

/// Orders the instructions of every block for `registers` registers per thread.
pub(crate) fn schedule(body: &Body<'_>, selected: &mut Selected, registers: u32) {
    let results: Vec<Word> = body.results();
    let liveness = Liveness::solve(
        body.function,
        &body.cfg,
        selected.n_words,
        |block| &selected.blocks[block.index() - body.function.first_block.index()],
        |block| if body.cfg.successors(block).is_empty() { results.clone() } else { Vec::new() },
    );
    let budget = registers.saturating_sub(RESERVED);
    for position in 0..selected.blocks.len() {
        let block = body.block_id(position);
        let values = Values::new(body, &selected.blocks[position], liveness.live_in(block), liveness.live_out(block));
        if let Some(order) = order(body, &selected.blocks[position], &values, budget) {
            let atoms = &selected.blocks[position];
            selected.blocks[position] = order.into_iter().map(|index| atoms[index].clone()).collect();
        }
    }
}

impl Accesses for Atom {
    fn reads(&self, visit: &mut dyn FnMut(u32)) {
        self.reads.iter().copied().for_each(visit);
    }

    fn writes(&self, visit: &mut dyn FnMut(u32)) {
        if !self.keeps {
            self.writes.iter().copied().for_each(visit);
        }
    }
}

/// The order of a block's instructions; none where that of the IR is kept.
fn order(body: &Body<'_>, atoms: &[Atom], values: &Values, budget: u32) -> Option<Vec<usize>> {
    if atoms.len() < 3 || atoms.len() > MOST_INSTRUCTIONS {
        return None;
    }
    let graph = Graph::new(body, atoms);
    let in_order = Pressure::of(values, 0..atoms.len());
    let allowed = budget.max(in_order);
    // A greedy choice can overshoot: a lower cap leaves room for that.
    [budget, budget * 7 / 8, budget * 3 / 4, budget / 2, budget / 4, 0].into_iter().find_map(|cap| {
        let order = list(atoms, &graph, values, cap);
        (Pressure::of(values, order.iter().copied()) <= allowed).then_some(order)
    })
}

/// A list schedule that holds live words below `cap` where it can.
fn list(atoms: &[Atom], graph: &Graph, values: &Values, cap: u32) -> Vec<usize> {
    let mut waiting = graph.n_predecessors.clone();
    let mut available = vec![0u32; atoms.len()];
    let mut ready: BTreeSet<usize> = (0..atoms.len()).filter(|&index| waiting[index] == 0).collect();
    let mut pressure = Pressure::new(values);
    let mut order = Vec::with_capacity(atoms.len());
    let mut time = 0;
    while let Some(&first) = ready.first() {
        let chosen = if pressure.live() < cap {
            let earliest = ready.iter().map(|&index| available[index]).min().unwrap_or(0);
            time = time.max(earliest);
            let now = ready.iter().copied().filter(|&index| available[index] <= time);
            now.max_by_key(|&index| (graph.path[index], Reverse(index))).unwrap_or(first)
        } else {
            ready.iter().copied().min_by_key(|&index| (pressure.growth(index), index)).unwrap_or(first)
        };
        ready.remove(&chosen);
        pressure.execute(chosen);
        order.push(chosen);
        for &(successor, latency) in &graph.successors[chosen] {
            waiting[successor] -= 1;
            available[successor] = available[successor].max(time + latency);
            if waiting[successor] == 0 {
                ready.insert(successor);
            }
        }
        time += if is_memory(atoms[chosen].class) { MEMORY_INTERVAL } else { 1 };
    }
    order
}

fn is_memory(class: MachineClass) -> bool {
    use MachineClass as C;
    matches!(class, C::Load | C::Store | C::Atomic | C::Reduction | C::AsyncCopy | C::Shuffle)
}

#[cfg(test)]
mod tests;
