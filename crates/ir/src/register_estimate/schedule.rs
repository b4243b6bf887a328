//! Orders the steps of a block as a compiler does that wants its loads in flight early.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use warplens_isa::StateSpace;

use super::view::{Kind, Place, Step, View};
use crate::WordSet;

/// Cycles between two accesses to memory.
const MEMORY_INTERVAL: u32 = 4;

/// Blocks with more steps stay in the order of the text: the search for the next step looks at all that are ready.
const MOST_STEPS: usize = 4096;

/// Most words live at once when steps are issued as a compiler would that hides their latencies, but keeps the words
/// below `cap` where it can. With a cap of 0 they stay in the order of the text.
pub(super) fn schedule(steps: &[Step], view: &View, live_in: &WordSet, live_out: &WordSet, cap: u32) -> u32 {
    let values = Values::new(steps, view, live_in, live_out);
    let mut state = State::new(&values);
    if cap == 0 || steps.len() > MOST_STEPS {
        values.reads.iter().zip(&values.writes).for_each(|(reads, writes)| state.execute(reads, writes));
        return state.most;
    }
    let graph = Graph::new(steps, &values);
    let mut waiting: Vec<u32> = graph.n_predecessors.clone();
    let mut available = vec![0u32; steps.len()];
    let mut ready: BTreeSet<usize> = (0..steps.len()).filter(|&step| waiting[step] == 0).collect();
    let mut time = 0;
    while let Some(&first) = ready.first() {
        let chosen = if state.live < cap {
            let earliest = ready.iter().map(|&step| available[step]).min().unwrap_or(0);
            time = time.max(earliest);
            let now = ready.iter().copied().filter(|&step| available[step] <= time);
            now.max_by_key(|&step| (graph.path[step], Reverse(step))).unwrap_or(first)
        } else {
            let growth = |step: usize| state.growth(&values.reads[step], &values.writes[step]);
            ready.iter().copied().min_by_key(|&step| (growth(step), step)).unwrap_or(first)
        };
        ready.remove(&chosen);
        state.execute(&values.reads[chosen], &values.writes[chosen]);
        for &(successor, latency) in &graph.successors[chosen] {
            waiting[successor] -= 1;
            available[successor] = available[successor].max(time + latency);
            if waiting[successor] == 0 {
                ready.insert(successor);
            }
        }
        time += if matches!(steps[chosen].kind, Kind::Plain) { 1 } else { MEMORY_INTERVAL };
    }
    state.most
}

/// The values of a block: every write of a word makes a new one.
struct Values {
    /// By step.
    reads: Vec<Vec<usize>>,
    writes: Vec<Vec<usize>>,
    /// By value: whether it takes a register.
    counts: Vec<bool>,
    /// Values that exist when the block begins.
    at_start: Vec<usize>,
    /// Values that are needed when it has ended.
    at_end: Vec<usize>,
}

impl Values {
    fn new(steps: &[Step], view: &View, live_in: &WordSet, live_out: &WordSet) -> Self {
        let mut values = Self {
            reads: Vec::with_capacity(steps.len()),
            writes: Vec::with_capacity(steps.len()),
            counts: Vec::new(),
            at_start: Vec::new(),
            at_end: Vec::new(),
        };
        let mut current: HashMap<u32, usize> = HashMap::new();
        for word in live_in.iter() {
            let value = values.add(view.counts(word));
            values.at_start.push(value);
            current.insert(word, value);
        }
        for step in steps {
            let mut reads: Vec<usize> = step.reads.iter().filter_map(|word| current.get(word).copied()).collect();
            let mut writes = Vec::with_capacity(step.writes.len());
            for word in &step.writes {
                // Where the guard is off the old value goes on, in the same register.
                match current.get(word) {
                    Some(&value) if step.is_guarded => reads.push(value),
                    _ => {
                        let value = values.add(view.counts(*word));
                        current.insert(*word, value);
                        writes.push(value);
                    }
                }
            }
            values.reads.push(reads);
            values.writes.push(writes);
        }
        values.at_end = live_out.iter().filter_map(|word| current.get(&word).copied()).collect();
        values
    }

    fn add(&mut self, counts: bool) -> usize {
        self.counts.push(counts);
        self.counts.len() - 1
    }
}

/// What must come before what, and by how many cycles.
struct Graph {
    successors: Vec<Vec<(usize, u32)>>,
    n_predecessors: Vec<u32>,
    /// Cycles from the issue of a step to the end of the block.
    path: Vec<u32>,
}

impl Graph {
    fn new(steps: &[Step], values: &Values) -> Self {
        let n = steps.len();
        let mut graph = Self { successors: vec![Vec::new(); n], n_predecessors: vec![0; n], path: vec![0; n] };
        let mut writer: Vec<Option<usize>> = vec![None; values.counts.len()];
        for index in 0..n {
            for &value in &values.reads[index] {
                if let Some(writer) = writer[value] {
                    graph.edge(writer, index, steps[writer].latency);
                }
            }
            for &value in &values.writes[index] {
                writer[value] = Some(index);
            }
        }
        graph.order_memory(steps);
        for index in (0..n).rev() {
            let longest = graph.successors[index].iter().map(|&(next, latency)| graph.path[next] + latency).max();
            graph.path[index] = longest.unwrap_or(0);
        }
        graph
    }

    /// Keeps accesses in order that may touch the same bytes.
    fn order_memory(&mut self, steps: &[Step]) {
        let mut memory: Vec<usize> = Vec::new();
        let mut barrier = None;
        for (index, step) in steps.iter().enumerate() {
            if let Some(barrier) = barrier {
                self.edge(barrier, index, 1);
            }
            match step.kind {
                Kind::Plain => {}
                Kind::Barrier => {
                    let since = barrier.map_or(0, |barrier| barrier + 1);
                    (since..index).for_each(|before| self.edge(before, index, 1));
                    barrier = Some(index);
                    memory.clear();
                }
                _ => {
                    for &before in &memory {
                        if conflict(&steps[before], step) {
                            self.edge(before, index, 1);
                        }
                    }
                    memory.push(index);
                }
            }
        }
    }

    fn edge(&mut self, from: usize, to: usize, latency: u32) {
        self.successors[from].push((to, latency));
        self.n_predecessors[to] += 1;
    }
}

/// True when two accesses must stay in order.
fn conflict(a: &Step, b: &Step) -> bool {
    let (space_a, space_b) = match (a.kind, b.kind) {
        (Kind::Load(_), Kind::Load(_)) => return false,
        (Kind::Load(a) | Kind::Store(a), Kind::Load(b) | Kind::Store(b)) => (a, b),
        _ => return true,
    };
    let same_space = space_a == space_b || space_a == StateSpace::Generic || space_b == StateSpace::Generic;
    same_space && !are_disjoint(a.memory, b.memory)
}

/// True when both count from the same address and their bytes do not overlap.
fn are_disjoint(a: Option<Place>, b: Option<Place>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) if a.base == b.base => a.end <= b.start || b.end <= a.start,
        _ => false,
    }
}

/// Live values while steps execute one after the other.
struct State<'a> {
    values: &'a Values,
    /// Reads still to come, by value; the end of the block reads too.
    uses: Vec<u32>,
    live: u32,
    most: u32,
}

impl<'a> State<'a> {
    fn new(values: &'a Values) -> Self {
        let mut uses = vec![0; values.counts.len()];
        for &value in values.reads.iter().flatten().chain(&values.at_end) {
            uses[value] += 1;
        }
        let live = values.at_start.iter().filter(|&&value| values.counts[value]).count() as u32;
        Self { values, uses, live, most: live }
    }

    /// Change of the live words by a step.
    fn growth(&self, reads: &[usize], writes: &[usize]) -> i64 {
        let counts = |value: usize| i64::from(self.values.counts[value]);
        let dies = |value: usize| self.uses[value] as usize == reads.iter().filter(|&&read| read == value).count();
        let mut freed = 0;
        for (position, &value) in reads.iter().enumerate() {
            if dies(value) && !reads[..position].contains(&value) {
                freed += counts(value);
            }
        }
        writes.iter().map(|&value| counts(value)).sum::<i64>() - freed
    }

    fn execute(&mut self, reads: &[usize], writes: &[usize]) {
        let counts = |value: usize| u32::from(self.values.counts[value]);
        for &value in reads {
            self.uses[value] -= 1;
            if self.uses[value] == 0 {
                self.live -= counts(value);
            }
        }
        self.live += writes.iter().map(|&value| counts(value)).sum::<u32>();
        self.most = self.most.max(self.live);
        self.live -= writes.iter().filter(|&&value| self.uses[value] == 0).map(|&value| counts(value)).sum::<u32>();
    }
}
