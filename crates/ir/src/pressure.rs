//! Words that are live at once while the instructions of a block execute in some order.

use std::collections::HashMap;

use crate::WordSet;

/// Words that an instruction reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Touched<'a> {
    /// Words read.
    pub reads: &'a [u32],
    /// Words written.
    pub writes: &'a [u32],
    /// Where its guard is off, what it writes keeps the old value.
    pub keeps: bool,
}

/// The values of a block: every write of a word makes a new one.
#[derive(Clone, Debug)]
pub struct Values {
    /// By instruction; each value once.
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
    /// Of instructions in the order of the text; `counts` says which words take a register.
    pub fn new<'a>(
        insts: impl ExactSizeIterator<Item = Touched<'a>>,
        counts: impl Fn(u32) -> bool,
        live_in: &WordSet,
        live_out: &WordSet,
    ) -> Self {
        let mut values = Self {
            reads: Vec::with_capacity(insts.len()),
            writes: Vec::with_capacity(insts.len()),
            counts: Vec::new(),
            at_start: Vec::new(),
            at_end: Vec::new(),
        };
        let mut current: HashMap<u32, usize> = HashMap::new();
        for word in live_in.iter() {
            let value = values.add(counts(word));
            values.at_start.push(value);
            current.insert(word, value);
        }
        for inst in insts {
            let mut reads: Vec<usize> = Vec::with_capacity(inst.reads.len());
            let mut read = |value: usize| {
                if !reads.contains(&value) {
                    reads.push(value);
                }
            };
            inst.reads.iter().filter_map(|word| current.get(word).copied()).for_each(&mut read);
            let mut writes = Vec::with_capacity(inst.writes.len());
            for &word in inst.writes {
                // Where the guard is off the old value goes on, in the same register.
                match current.get(&word) {
                    Some(&value) if inst.keeps => read(value),
                    _ => {
                        let value = values.add(counts(word));
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

    /// Number of values.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// True when nothing is ever live.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Values that an instruction reads, each once.
    pub fn reads(&self, inst: usize) -> &[usize] {
        &self.reads[inst]
    }

    /// Values that an instruction makes.
    pub fn writes(&self, inst: usize) -> &[usize] {
        &self.writes[inst]
    }
}

/// Live values while instructions execute one after the other.
#[derive(Clone, Debug)]
pub struct Pressure<'a> {
    values: &'a Values,
    /// Reads still to come, by value; the end of the block reads too.
    uses: Vec<u32>,
    live: u32,
    most: u32,
}

impl<'a> Pressure<'a> {
    /// At the beginning of the block.
    pub fn new(values: &'a Values) -> Self {
        let mut uses = vec![0; values.counts.len()];
        for &value in values.reads.iter().flatten().chain(&values.at_end) {
            uses[value] += 1;
        }
        let live = values.at_start.iter().filter(|&&value| values.counts[value]).count() as u32;
        Self { values, uses, live, most: live }
    }

    /// Most words live at once in an order of instructions.
    pub fn of(values: &'a Values, order: impl Iterator<Item = usize>) -> u32 {
        let mut pressure = Self::new(values);
        order.for_each(|inst| pressure.execute(inst));
        pressure.most
    }

    /// Words live now.
    pub const fn live(&self) -> u32 {
        self.live
    }

    /// Most words live at once so far.
    pub const fn most(&self) -> u32 {
        self.most
    }

    /// Change of the live words by an instruction.
    pub fn growth(&self, inst: usize) -> i64 {
        let counts = |value: usize| i64::from(self.values.counts[value]);
        let dies = |value: &&usize| self.uses[**value] == 1;
        let freed: i64 = self.values.reads[inst].iter().filter(dies).map(|&value| counts(value)).sum();
        self.values.writes[inst].iter().map(|&value| counts(value)).sum::<i64>() - freed
    }

    /// The instruction executes.
    pub fn execute(&mut self, inst: usize) {
        let counts = |value: usize| u32::from(self.values.counts[value]);
        for &value in &self.values.reads[inst] {
            self.uses[value] -= 1;
            if self.uses[value] == 0 {
                self.live -= counts(value);
            }
        }
        let writes = &self.values.writes[inst];
        self.live += writes.iter().map(|&value| counts(value)).sum::<u32>();
        self.most = self.most.max(self.live);
        // A result that nobody reads still has to be written somewhere.
        self.live -= writes.iter().filter(|&&value| self.uses[value] == 0).map(|&value| counts(value)).sum::<u32>();
    }
}
