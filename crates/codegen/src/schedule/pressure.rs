//! Words that are live at once.

use std::collections::HashMap;

use warplens_ir::WordSet;

use crate::emit::Atom;
use crate::node::Body;

/// The values of a block: every write of a word makes a new one.
pub(super) struct Values {
    /// By instruction.
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
    pub(super) fn new(body: &Body<'_>, atoms: &[Atom], live_in: &WordSet, live_out: &WordSet) -> Self {
        let mut values = Self {
            reads: Vec::with_capacity(atoms.len()),
            writes: Vec::with_capacity(atoms.len()),
            counts: Vec::new(),
            at_start: Vec::new(),
            at_end: Vec::new(),
        };
        let mut current: HashMap<u32, usize> = HashMap::new();
        for word in live_in.iter() {
            let value = values.add(!body.is_predicate(word));
            values.at_start.push(value);
            current.insert(word, value);
        }
        for atom in atoms {
            let mut reads: Vec<usize> = atom.reads.iter().filter_map(|word| current.get(word).copied()).collect();
            let mut writes = Vec::with_capacity(atom.writes.len());
            for &word in &atom.writes {
                // Where the guard is off the old value goes on, in the same register.
                match current.get(&word) {
                    Some(&value) if atom.keeps => {
                        if !reads.contains(&value) {
                            reads.push(value);
                        }
                    }
                    _ => {
                        let value = values.add(!body.is_predicate(word));
                        current.insert(word, value);
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

/// Live values while instructions execute one after the other.
pub(super) struct Pressure<'a> {
    values: &'a Values,
    /// Reads still to come, by value; the end of the block reads too.
    uses: Vec<u32>,
    live: u32,
    most: u32,
}

impl<'a> Pressure<'a> {
    pub(super) fn new(values: &'a Values) -> Self {
        let mut uses = vec![0; values.counts.len()];
        for &value in values.reads.iter().flatten().chain(&values.at_end) {
            uses[value] += 1;
        }
        let live = values.at_start.iter().filter(|&&value| values.counts[value]).count() as u32;
        Self { values, uses, live, most: live }
    }

    /// Most words live at once in an order of instructions.
    pub(super) fn of(values: &'a Values, order: impl Iterator<Item = usize>) -> u32 {
        let mut pressure = Self::new(values);
        order.for_each(|index| pressure.execute(index));
        pressure.most
    }

    pub(super) fn live(&self) -> u32 {
        self.live
    }

    /// Change of the live words by an instruction.
    pub(super) fn growth(&self, index: usize) -> i64 {
        let counts = |value: usize| i64::from(self.values.counts[value]);
        let freed: i64 =
            self.values.reads[index].iter().filter(|&&value| self.uses[value] == 1).map(|&value| counts(value)).sum();
        self.values.writes[index].iter().map(|&value| counts(value)).sum::<i64>() - freed
    }

    pub(super) fn execute(&mut self, index: usize) {
        let counts = |value: usize| u32::from(self.values.counts[value]);
        for &value in &self.values.reads[index] {
            self.uses[value] -= 1;
            if self.uses[value] == 0 {
                self.live -= counts(value);
            }
        }
        let writes = &self.values.writes[index];
        self.live += writes.iter().map(|&value| counts(value)).sum::<u32>();
        self.most = self.most.max(self.live);
        // A result that nobody reads still has to be written somewhere.
        self.live -= writes.iter().filter(|&&value| self.uses[value] == 0).map(|&value| counts(value)).sum::<u32>();
    }
}
