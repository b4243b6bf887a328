//! Multiply-adds in the order in which their factors come from shared memory.
//!
//! Of the multiply-adds whose sums are ready, ptxas takes those first whose last factor has come first, and all that wait for
//! the same factor one after the other, so that the operand cache keeps it: in the tiles of matrix products
//! (`validation/sgemm`) the factor that is kept is the one that came last. Multiply-adds take each other's places here;
//! all other instructions stay where they are.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use warplens_isa::StateSpace;
use warplens_trace::MachineClass;

use super::graph::Graph;
use crate::emit::Atom;
use crate::node::Word;

/// When the last factor of a multiply-add comes: the place of its load, and its place in what that loads.
type Arrival = (usize, usize);

/// Lets the multiply-adds of an order take each other's places.
pub(super) fn by_arrival(atoms: &[Atom], graph: &Graph, order: &[usize]) -> Vec<usize> {
    let arrivals = arrivals(atoms, order);
    let mut predecessors: Vec<Vec<usize>> = vec![Vec::new(); atoms.len()];
    for (from, successors) in graph.successors.iter().enumerate() {
        successors.iter().for_each(|&(to, _)| predecessors[to].push(from));
    }
    let mut moved = Vec::with_capacity(order.len());
    let mut rest = order;
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(part(&arrivals, &predecessors, rest));
        permute(graph, &arrivals, &predecessors, part, &mut moved);
        rest = behind;
    }
    moved
}

/// By instruction: when its last factor comes, where it is a multiply-add of something from shared memory.
fn arrivals(atoms: &[Atom], order: &[usize]) -> Vec<Option<Arrival>> {
    let mut arrivals = vec![None; atoms.len()];
    let mut loaded: HashMap<Word, Arrival> = HashMap::new();
    for (place, &index) in order.iter().enumerate() {
        let atom = &atoms[index];
        if let (MachineClass::Fp32, Some(addend)) = (atom.class, atom.addend) {
            let factors = atom.reads.iter().filter(|&&word| word != addend);
            arrivals[index] = factors.filter_map(|word| loaded.get(word).copied()).max();
        }
        let is_load = atom.class == MachineClass::Load && atom.space == StateSpace::Shared;
        for (part, &word) in atom.writes.iter().enumerate() {
            if is_load {
                loaded.insert(word, (place, part));
            } else {
                loaded.remove(&word);
            }
        }
    }
    arrivals
}

/// Instructions up to one that has to come behind a multiply-add among them and cannot move.
fn part(arrivals: &[Option<Arrival>], predecessors: &[Vec<usize>], order: &[usize]) -> usize {
    let mut moves: HashSet<usize> = HashSet::new();
    for (place, &index) in order.iter().enumerate() {
        if arrivals[index].is_some() {
            moves.insert(index);
        } else if predecessors[index].iter().any(|before| moves.contains(before)) {
            return place.max(1);
        }
    }
    order.len()
}

/// Appends a part of the order with its multiply-adds by arrival.
fn permute(
    graph: &Graph,
    arrivals: &[Option<Arrival>],
    predecessors: &[Vec<usize>],
    part: &[usize],
    moved: &mut Vec<usize>,
) {
    let mut waiting: HashMap<usize, usize> = part.iter().map(|&index| (index, 0)).collect();
    for &index in part {
        let before = predecessors[index].iter().filter(|&before| waiting.contains_key(before)).count();
        waiting.insert(index, before);
    }
    let mut ready: BinaryHeap<Reverse<(Arrival, usize)>> = BinaryHeap::new();
    let offer = |ready: &mut BinaryHeap<_>, index: usize| {
        if let Some(arrival) = arrivals[index] {
            ready.push(Reverse((arrival, index)));
        }
    };
    part.iter().filter(|index| waiting[index] == 0).for_each(|&index| offer(&mut ready, index));
    for &index in part {
        let taken = match arrivals[index] {
            None => index,
            // Of those that stood here and before, one is left, and what the first of them needs is there.
            Some(_) => ready.pop().map_or(index, |Reverse((_, first))| first),
        };
        moved.push(taken);
        for &(successor, _) in &graph.successors[taken] {
            if let Some(before) = waiting.get_mut(&successor) {
                *before -= 1;
                if *before == 0 {
                    offer(&mut ready, successor);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warplens_isa::Pc;

    use super::*;

    fn plain(class: MachineClass, reads: &[Word], writes: &[Word]) -> Atom {
        let (reads, writes) = (reads.to_vec(), writes.to_vec());
        Atom { class, reads, writes, space: StateSpace::Shared, ..Atom::plain(None, Pc(0)) }
    }

    /// Products of all `left` with all `right`, row by row, each added to a sum of its own: two loads for the rows, one
    /// for each column, then what reads the first row's sums.
    fn tile(order_of_loads: [usize; 4]) -> Vec<String> {
        let loads: [&[Word]; 4] = [&[0, 1], &[2, 3], &[4], &[5]];
        let mut atoms: Vec<Atom> = loads.iter().map(|words| plain(MachineClass::Load, &[], words)).collect();
        for left in 0..4 {
            for right in 4..6 {
                let sum = 100 + 10 * left + right;
                let reads = [left, right, sum];
                atoms.push(Atom { addend: Some(sum), ..plain(MachineClass::Fp32, &reads, &[sum]) });
            }
        }
        atoms.push(plain(MachineClass::Int, &[4, 5], &[90]));
        let n = atoms.len();
        let mut graph = Graph { successors: vec![Vec::new(); n], n_predecessors: vec![0; n], path: vec![0; n] };
        for (to, atom) in atoms.iter().enumerate() {
            for word in &atom.reads {
                let from = atoms[..to].iter().rposition(|before| before.writes.contains(word));
                from.into_iter().for_each(|from| graph.successors[from].push((to, 1)));
            }
        }
        let order: Vec<usize> = order_of_loads.into_iter().chain(4..n).collect();
        let moved = by_arrival(&atoms, &graph, &order);
        let mut sorted = moved.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..n).collect::<Vec<_>>(), "each instruction once");
        let name = |&index: &usize| match atoms[index].class {
            MachineClass::Fp32 => format!("{}x{}", atoms[index].reads[0], atoms[index].reads[1]),
            _ => "-".to_owned(),
        };
        moved.iter().map(name).collect()
    }

    #[test]
    fn products_come_as_their_last_factor_does() {
        let rows = ["0x4", "0x5", "1x4", "1x5", "2x4", "2x5", "3x4", "3x5"];
        let columns = ["0x4", "1x4", "2x4", "3x4", "0x5", "1x5", "2x5", "3x5"];
        let halves = ["0x4", "1x4", "0x5", "1x5", "2x4", "2x5", "3x4", "3x5"];
        for (loads, expected) in [([2, 3, 0, 1], rows), ([0, 1, 2, 3], columns), ([0, 2, 3, 1], halves)] {
            let order = tile(loads);
            assert_eq!(order[4..12], expected, "{loads:?}");
            assert!(order[..4].iter().chain(&order[12..]).all(|other| other == "-"), "{order:?}");
        }
    }

    #[test]
    fn what_comes_behind_a_product_stays_behind_it() {
        // A store of the first sum in the middle of the row.
        let mut atoms: Vec<Atom> = [0, 1, 2].map(|word| plain(MachineClass::Load, &[], &[word])).to_vec();
        let product =
            |left: Word, sum: Word| Atom { addend: Some(sum), ..plain(MachineClass::Fp32, &[left, 2, sum], &[sum]) };
        atoms.extend([product(1, 11), plain(MachineClass::Store, &[11], &[]), product(0, 10)]);
        let mut graph = Graph { successors: vec![Vec::new(); 6], n_predecessors: vec![0; 6], path: vec![0; 6] };
        for (from, to) in [(1, 3), (2, 3), (0, 5), (2, 5), (3, 4)] {
            graph.successors[from].push((to, 1));
        }
        assert_eq!(by_arrival(&atoms, &graph, &[2, 0, 1, 3, 4, 5]), [2, 0, 1, 3, 4, 5]);
    }
}
