//! Orders the steps of a block as a compiler does that wants its loads in flight early.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::view::{Kind, Step, View};
use crate::{Pressure, Touched, Values, WordSet};

/// Cycles between two accesses to memory.
const MEMORY_INTERVAL: u32 = 4;

/// Blocks with more steps stay in the order of the text: the search for the next step looks at all that are ready.
const MOST_STEPS: usize = 4096;

/// Most words live at once when steps are issued as a compiler would that hides their latencies, but keeps the words
/// below `cap` where it can. With a cap of 0 they stay in the order of the text.
pub(super) fn schedule(steps: &[Step], view: &View, live_in: &WordSet, live_out: &WordSet, cap: u32) -> u32 {
    let touched = steps.iter().map(|step| Touched { reads: &step.reads, writes: &step.writes, keeps: step.is_guarded });
    let values = Values::new(touched, |word| view.counts(word), live_in, live_out);
    if cap == 0 || steps.len() > MOST_STEPS {
        return Pressure::of(&values, 0..steps.len());
    }
    let mut pressure = Pressure::new(&values);
    let graph = Graph::new(steps, &values);
    let mut waiting: Vec<u32> = graph.n_predecessors.clone();
    let mut available = vec![0u32; steps.len()];
    let mut ready: BTreeSet<usize> = (0..steps.len()).filter(|&step| waiting[step] == 0).collect();
    let mut time = 0;
    while let Some(&first) = ready.first() {
        let chosen = if pressure.live() < cap {
            let earliest = ready.iter().map(|&step| available[step]).min().unwrap_or(0);
            time = time.max(earliest);
            let now = ready.iter().copied().filter(|&step| available[step] <= time);
            now.max_by_key(|&step| (graph.path[step], Reverse(step))).unwrap_or(first)
        } else {
            ready.iter().copied().min_by_key(|&step| (pressure.growth(step), step)).unwrap_or(first)
        };
        ready.remove(&chosen);
        pressure.execute(chosen);
        for &(successor, latency) in &graph.successors[chosen] {
            waiting[successor] -= 1;
            available[successor] = available[successor].max(time + latency);
            if waiting[successor] == 0 {
                ready.insert(successor);
            }
        }
        time += if matches!(steps[chosen].kind, Kind::Plain) { 1 } else { MEMORY_INTERVAL };
    }
    pressure.most()
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
        let mut writer: Vec<Option<usize>> = vec![None; values.len()];
        for index in 0..n {
            for &value in values.reads(index) {
                if let Some(writer) = writer[value] {
                    graph.edge(writer, index, steps[writer].latency);
                }
            }
            for &value in values.writes(index) {
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
                Kind::Load | Kind::Store => {
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

/// True when an access must stay behind an earlier one.
fn conflict(earlier: &Step, later: &Step) -> bool {
    later.memory.iter().any(|later| earlier.memory.iter().any(|earlier| later.must_follow(earlier)))
}
