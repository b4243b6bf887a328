//! Orders the instructions of each block as a compiler does that wants latencies to overlap.
//!
//! A list schedule: of the instructions whose operands are there, the one on the longest way to the end of the block
//! comes first, so that loads and other long latencies start early and their consumers come late. While as many words
//! are live as the register budget allows, the instruction comes first that frees most of them. The order is taken only
//! if it stays in the budget, or at least needs no more registers than the order of the IR; a smaller budget is tried
//! before that.
//!
//! Where such an order needs too many registers, that of the IR is the base: what takes long, and what it needs, goes up
//! by as many instructions as hide its latency, or by as many as the budget has room for. Most blocks with many live
//! words, such as the tiles of a matrix product, are ordered like that. Of all these orders the one is taken in which one
//! warp is done first.
//! What must stay in order stands in [`graph`].

mod arrival;
mod graph;

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use warplens_base::Id;
use warplens_ir::{Accesses, Liveness, Pressure, Touched, Values, WordSet};
use warplens_trace::MachineClass;

use crate::emit::{Atom, Selected};
use crate::node::{Body, Word};
use graph::Graph;

/// Registers that hold no values of the program: the stack pointer and what alignment of pairs costs.
const RESERVED: u32 = 4;

/// Where the registers are known, an order may need one word more for so many of them: what an assembler computes again
/// where it needs it lives on here. On an H200 a product whose tiles take 40 registers by ptxas comes to 2.3 times the
/// measured time without, and within a few percent with it.
const SLACK: u32 = 4;

/// Blocks with more instructions stay as they are.
const MOST_INSTRUCTIONS: usize = 20_000;

/// Cycles between two memory instructions of a warp, as far as the order is concerned.
const MEMORY_INTERVAL: u32 = 2;

/// The registers of a thread that an order may take.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) registers: u32,
    /// An assembler has said so, and blocks may need a few more here without that the launch does.
    pub(crate) is_known: bool,
}

/// Orders the instructions of every block for a budget of registers. Returns how many the blocks need that way, by position.
pub(crate) fn schedule(body: &Body<'_>, selected: &mut Selected, budget: Budget) -> Vec<u32> {
    let results: Vec<Word> = body.results();
    let liveness = Liveness::solve(
        body.function,
        &body.cfg,
        selected.n_words,
        |block| &selected.blocks[block.index() - body.function.first_block.index()],
        |block| if body.cfg.successors(block).is_empty() { results.clone() } else { Vec::new() },
    );
    let Budget { registers, is_known } = budget;
    let budget = registers.saturating_sub(RESERVED);
    let slack = if is_known { budget / SLACK } else { 0 };
    let mut needed = Vec::with_capacity(selected.blocks.len());
    for position in 0..selected.blocks.len() {
        let block = body.block_id(position);
        let values = values(body, &selected.blocks[position], liveness.live_in(block), liveness.live_out(block));
        let atoms = &selected.blocks[position];
        match order(body, atoms, &values, (budget, slack)) {
            Some(order) => {
                needed.push(RESERVED + Pressure::of(&values, order.iter().copied()));
                selected.blocks[position] = order.into_iter().map(|index| atoms[index].clone()).collect();
            }
            None => needed.push(RESERVED + Pressure::of(&values, 0..atoms.len())),
        }
    }
    needed
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

/// The values that the instructions of a block read and make; predicates take no register.
fn values(body: &Body<'_>, atoms: &[Atom], live_in: &WordSet, live_out: &WordSet) -> Values {
    let touched = atoms.iter().map(|atom| Touched { reads: &atom.reads, writes: &atom.writes, keeps: atom.keeps });
    Values::new(touched, |word| !body.is_predicate(word), live_in, live_out)
}

/// The order of a block's instructions; none where that of the IR is kept.
fn order(body: &Body<'_>, atoms: &[Atom], values: &Values, (budget, slack): (u32, u32)) -> Option<Vec<usize>> {
    if atoms.len() < 3 || atoms.len() > MOST_INSTRUCTIONS {
        return None;
    }
    let graph = Graph::new(body, atoms);
    let in_order = Pressure::of(values, 0..atoms.len());
    let allowed = (budget + slack).max(in_order);
    let fits = |order: &Vec<usize>| Pressure::of(values, order.iter().copied()) <= allowed;
    // A greedy choice can overshoot: a lower cap leaves room for that.
    let greedy = |cap: u32| Some(list(atoms, &graph, values, cap)).filter(fits);
    let led = |most: u32| [most, LEADS[0]].map(|far| lead(&graph, most, far)).into_iter().filter(fits);
    let greedy_one = [budget, budget * 7 / 8, budget * 3 / 4].into_iter().find_map(greedy);
    // The first of those that take a warp least.
    let orders = greedy_one.into_iter().chain(LEADS.into_iter().flat_map(led));
    let order = orders
        .min_by_key(|order| duration(atoms, &graph, order))
        .or_else(|| [budget / 2, budget / 4, 0].into_iter().find_map(greedy))?;
    Some(arrival::by_arrival(atoms, &graph, &order)).filter(fits).or(Some(order))
}

/// Cycles in which one warp issues the instructions of a block in an order, each once its operands are there.
fn duration(atoms: &[Atom], graph: &Graph, order: &[usize]) -> u32 {
    let mut available = vec![0; atoms.len()];
    let mut time: u32 = 0;
    for &index in order {
        let issued = time.max(available[index]);
        time = issued + if is_memory(atoms[index].class) { MEMORY_INTERVAL } else { 1 };
        for &(successor, latency) in &graph.successors[index] {
            available[successor] = available[successor].max(issued + latency);
        }
    }
    time
}

/// Most instructions by which results that take long come before their first use, which else is half more than their
/// latency in cycles. ptxas leaves 11 to 45 instructions (medians of six kernels, 8.6) between loads from shared memory,
/// which take 24 cycles, and the first use.
const LEADS: [u32; 9] = [300, 96, 48, 36, 24, 16, 12, 8, 4];

/// Latencies from here on are led by other instructions; shorter ones by other warps.
const LONG: u32 = 8;

/// From here on a latency is that of memory outside of the SM, for which few words may wait while many wait for shared
/// memory.
const FAR: u32 = 100;

/// The order of the text, in which what takes long comes so much earlier, at most, and with it what that depends on; what
/// comes from far away by another number.
fn lead(graph: &Graph, most: u32, far: u32) -> Vec<usize> {
    let n = graph.successors.len();
    let mut places: Vec<i64> = (0..n as i64).collect();
    for index in (0..n).rev() {
        for &(successor, latency) in &graph.successors[index] {
            let most = if latency >= FAR { far } else { most };
            let ahead = if latency >= LONG { i64::from((latency * 3 / 2).min(most)) } else { 0 };
            places[index] = places[index].min(places[successor] - ahead);
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|&index| (places[index], index));
    order
}

/// A list schedule that holds live words below `cap` where it can.
fn list(atoms: &[Atom], graph: &Graph, values: &Values, cap: u32) -> Vec<usize> {
    let mut ready = Ready::new(graph);
    let mut pressure = Pressure::new(values);
    let mut order = Vec::with_capacity(atoms.len());
    let mut time = 0;
    loop {
        let next = if pressure.live() < cap { ready.longest(graph, &mut time) } else { ready.least(&pressure) };
        let Some(chosen) = next else { return order };
        ready.take(chosen);
        pressure.execute(chosen);
        order.push(chosen);
        ready.release(graph, chosen, time);
        time += if is_memory(atoms[chosen].class) { MEMORY_INTERVAL } else { 1 };
    }
}

/// Instructions whose predecessors are all in the order.
struct Ready {
    waiting: Vec<u32>,
    available: Vec<u32>,
    /// In the order of the text.
    in_text: BTreeSet<usize>,
    /// Those whose operands are there, the longest way first. May hold what was taken already.
    now: BinaryHeap<(u32, Reverse<usize>)>,
    /// Those whose operands will be there, the earliest first. May hold what was taken already.
    later: BinaryHeap<Reverse<(u32, usize)>>,
}

/// Instructions among which the one is looked for that frees most words.
const MOST_CANDIDATES: usize = 64;

impl Ready {
    fn new(graph: &Graph) -> Self {
        let waiting = graph.n_predecessors.clone();
        let in_text: BTreeSet<usize> = (0..waiting.len()).filter(|&index| waiting[index] == 0).collect();
        let later = in_text.iter().map(|&index| Reverse((0, index))).collect();
        Self { available: vec![0; waiting.len()], waiting, in_text, now: BinaryHeap::new(), later }
    }

    /// The instruction with the longest way to the end among those whose operands are there; time goes on until there
    /// is one.
    fn longest(&mut self, graph: &Graph, time: &mut u32) -> Option<usize> {
        loop {
            while let Some(&Reverse((at, index))) = self.later.peek().filter(|Reverse((at, _))| at <= time) {
                self.later.pop();
                debug_assert!(at <= *time);
                self.now.push((graph.path[index], Reverse(index)));
            }
            while let Some((_, Reverse(index))) = self.now.pop() {
                if self.in_text.contains(&index) {
                    return Some(index);
                }
            }
            let Reverse((at, _)) = *self.later.peek()?;
            *time = at;
        }
    }

    /// The instruction that frees most words, or needs fewest more.
    fn least(&self, pressure: &Pressure<'_>) -> Option<usize> {
        let candidates = self.in_text.iter().copied().take(MOST_CANDIDATES);
        candidates.min_by_key(|&index| (pressure.growth(index), index))
    }

    fn take(&mut self, index: usize) {
        self.in_text.remove(&index);
    }

    /// An instruction was put in the order: what waited for it may be ready.
    fn release(&mut self, graph: &Graph, index: usize, time: u32) {
        for &(successor, latency) in &graph.successors[index] {
            self.waiting[successor] -= 1;
            self.available[successor] = self.available[successor].max(time + latency);
            if self.waiting[successor] == 0 {
                self.in_text.insert(successor);
                self.later.push(Reverse((self.available[successor], successor)));
            }
        }
    }
}

fn is_memory(class: MachineClass) -> bool {
    use MachineClass as C;
    matches!(class, C::Load | C::Store | C::Atomic | C::Reduction | C::AsyncCopy | C::Shuffle)
}

#[cfg(test)]
mod tests;
