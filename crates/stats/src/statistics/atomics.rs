//! Atomic operations on the same address, inside an access and over the whole launch.
//!
//! An *operation* is what one active lane of an atomic instruction (`atom`, `red`, and whatever else reads, modifies and
//! writes at once) does with one element; elements of vectors count one by one. Its *word* are the aligned four bytes
//! that hold its first byte: operations on both halves of a word meet, as they do in hardware, and an operation on 64
//! bits stands for its lower word.
//!
//! - Of each access, that is of each execution by a warp with an active lane, the *distinct words* are counted and its
//!   *passes*: the largest number of its operations on one word, so that an access without any two on one word has one
//!   pass. Both are sums over the accesses, scaled to the grid like all counts.
//! - Over the whole launch the words of global memory are counted by their operations. How many words there are and how
//!   many operations the busiest of them gets says how concentrated the operations are. This is of the executed CTAs and
//!   not scaled: whether CTAs that were not executed would use the same words or others is not known. (Words of shared
//!   memory belong to a CTA, and the accesses say enough.)
//!
//! Words are kept by instruction, at most 65,536 of all instructions together. Beyond, half of them are forgotten by a hash of
//! their address, and half of the rest whenever the room is too small again: one word of 2, 4, 8 and so on is looked at.
//! Which ones does not depend on the order of events. The number of words is then an estimate, and the busiest word that was looked
//! at need not be the busiest of all.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use warplens_isa::{Pc, Spelling, StateSpace};
use warplens_trace::{Access, AccessKind};

use super::{Event, Finish, Statistic};
use crate::recorder::Times;

/// Words that are kept; those of several instructions count for each.
const MAX_WORDS: usize = 1 << 16;
/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// Atomic operations of a launch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Atomics {
    /// By instruction in the order of the program, and by the space that it accesses.
    pub lines: Vec<AtomicLine>,
    /// How all operations on global memory spread over its words; `None` without any, and where the words are not known.
    pub concentration: Option<Concentration>,
}

/// Atomic operations of one instruction.
#[derive(Clone, PartialEq, Debug)]
pub struct AtomicLine {
    /// The instruction.
    pub pc: Pc,
    /// Its line in the PTX, from 1.
    pub ptx_line: u32,
    /// File and line of the program, if the PTX says so.
    pub source: Option<(String, u32)>,
    /// What it is, with its operation and type, and how the program writes it.
    pub opcode: Spelling,
    /// The space; never generic. An instruction that accesses two spaces has two entries.
    pub space: StateSpace,
    /// Executions by a warp with an active lane.
    pub accesses: u64,
    /// Operations of their lanes.
    pub operations: u64,
    /// Sum over the accesses of the distinct words that each operates on.
    pub distinct_words: u64,
    /// Sum over the accesses of the most operations that each has on one word.
    pub passes: u64,
    /// How its operations spread over the words of global memory; `None` of other spaces, and where the words are not
    /// known.
    pub concentration: Option<Concentration>,
}

/// How the operations of the executed CTAs spread over the words of global memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Concentration {
    /// Operations of the executed CTAs.
    pub operations: u64,
    /// Distinct words that they operate on; an estimate where not all words were looked at.
    pub words: u64,
    /// Most operations on one word, of those that were looked at.
    pub most_on_one_word: u64,
    /// One of so many words was looked at: 1 where all were.
    pub one_word_in: u64,
}

/// The fold.
#[derive(Debug)]
pub(crate) struct AtomicCounter {
    /// By slot and space.
    lines: BTreeMap<(u32, StateSpace), Sums>,
    words: Words,
    scratch: Vec<u64>,
}

/// Sums over accesses.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    accesses: u64,
    operations: u64,
    distinct_words: u64,
    passes: u64,
}

impl Statistic for AtomicCounter {
    type Warp = ();
    type Counts = Atomics;

    fn new() -> Self {
        Self { lines: BTreeMap::new(), words: Words::new(MAX_WORDS), scratch: Vec::new() }
    }

    #[inline(always)]
    fn listens(access: &Access<'_>) -> bool {
        access.kind == AccessKind::Atomic
    }

    fn count(&mut self, event: &Event<'_>) {
        let Event { slot, access, .. } = *event;
        self.scratch.clear();
        for lane in access.mask.lanes() {
            let elements = (0..u64::from(access.elements)).map(|element| element * u64::from(access.element_bytes));
            self.scratch.extend(elements.map(|offset| access.addresses.of(lane).wrapping_add(offset) / WORD_BYTES));
        }
        self.scratch.sort_unstable();
        let sums = self.lines.entry((slot, access.space)).or_default();
        sums.accesses += 1;
        sums.operations += self.scratch.len() as u64;
        let mut most = 0;
        for same in self.scratch.chunk_by(|one, other| one == other) {
            let operations = same.len() as u64;
            sums.distinct_words += 1;
            most = most.max(operations);
            if access.space == StateSpace::Global {
                self.words.add(slot, same[0], operations);
            }
        }
        sums.passes += most;
    }

    fn merge(&mut self, other: &Self, times: Times) {
        for (key, other) in &other.lines {
            let own = self.lines.entry(*key).or_default();
            own.accesses += times.of(other.accesses);
            own.operations += times.of(other.operations);
            own.distinct_words += times.of(other.distinct_words);
            own.passes += times.of(other.passes);
        }
        self.words.merge(&other.words, times);
    }

    fn finish(&self, finish: &Finish<'_>) -> Atomics {
        let program = &finish.recorder.program;
        let scale = finish.recorder.scale();
        let line = |(&(slot, space), sums): (&(u32, StateSpace), &Sums)| {
            let at = program.slots[slot as usize] as usize;
            let facts = program.pcs[at].as_ref()?;
            let is_global = space == StateSpace::Global;
            Some(AtomicLine {
                pc: program.pc_at(at),
                ptx_line: facts.ptx_line,
                source: facts.source.clone(),
                opcode: program.spellings[facts.spelling].clone(),
                space,
                accesses: scale.apply(sums.accesses),
                operations: scale.apply(sums.operations),
                distinct_words: scale.apply(sums.distinct_words),
                passes: scale.apply(sums.passes),
                concentration: is_global.then(|| self.words.concentration(sums.operations, |of| of == slot)),
            })
        };
        let mut lines: Vec<AtomicLine> = self.lines.iter().filter_map(line).collect();
        lines.sort_by_key(|line| (line.pc, line.space));
        let global = self.lines.iter().filter(|((_, space), _)| *space == StateSpace::Global);
        let operations: u64 = global.map(|(_, sums)| sums.operations).sum();
        let concentration = (operations > 0).then(|| self.words.concentration(operations, |_| true));
        Atomics { lines, concentration }
    }

    /// The CTAs that were not walked use words of their own, and lanes whose address is not known were given one each:
    /// there is no more than the counts by access, whose passes are then the fewest possible.
    fn without_run(counts: &mut Option<Atomics>, _: bool) {
        let Some(counts) = counts else { return };
        counts.concentration = None;
        counts.lines.iter_mut().for_each(|line| line.concentration = None);
    }
}

/// Operations by slot and word of global memory.
#[derive(Debug)]
struct Words {
    operations: FxHashMap<(u32, u64), u64>,
    /// Words are kept whose hash ends in so many zeros.
    zeros: u32,
    most: usize,
}

impl Words {
    fn new(most: usize) -> Self {
        Self { operations: FxHashMap::default(), zeros: 0, most }
    }

    fn add(&mut self, slot: u32, word: u64, operations: u64) {
        if is_kept(word, self.zeros) {
            *self.operations.entry((slot, word)).or_insert(0) += operations;
            self.make_room();
        }
    }

    /// Forgets words until the rest is few enough. What a set of words comes down to does not depend on their order: the
    /// fewest zeros with which it has room.
    fn make_room(&mut self) {
        while self.operations.len() > self.most {
            self.zeros += 1;
            self.operations.retain(|&(_, word), _| is_kept(word, self.zeros));
        }
    }

    fn merge(&mut self, other: &Self, times: Times) {
        if other.zeros > self.zeros {
            self.zeros = other.zeros;
            self.operations.retain(|&(_, word), _| is_kept(word, self.zeros));
        }
        for (&(slot, word), &operations) in &other.operations {
            self.add(slot, word, times.of(operations));
        }
    }

    /// The words of the slots that are meant.
    fn concentration(&self, operations: u64, is_meant: impl Fn(u32) -> bool) -> Concentration {
        let mut by_word: FxHashMap<u64, u64> = FxHashMap::default();
        for (&(slot, word), &operations) in &self.operations {
            if is_meant(slot) {
                *by_word.entry(word).or_insert(0) += operations;
            }
        }
        Concentration {
            operations,
            words: (by_word.len() as u64).saturating_mul(self.one_word_in()),
            most_on_one_word: by_word.values().copied().max().unwrap_or(0),
            one_word_in: self.one_word_in(),
        }
    }

    fn one_word_in(&self) -> u64 {
        1_u64.checked_shl(self.zeros).unwrap_or(u64::MAX)
    }
}

/// Whether a word is among those whose hash ends in so many zeros.
fn is_kept(word: u64, zeros: u32) -> bool {
    // The finisher of SplitMix64: neighbours have nothing in common.
    let mixed = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).trailing_zeros() >= zeros
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever the order and however the words are concentration over counters, the same ones are kept, and their
        /// operations are those of the definition.
        #[test]
        fn kept_words_do_not_depend_on_the_order(
            words in proptest::collection::vec((0..3_u32, 0..64_u64, 1..9_u64), 0..200),
            split in 0..200_usize,
            most in 1..40_usize,
        ) {
            let (one, other) = words.split_at(split.min(words.len()));
            let counter = |words: &[(u32, u64, u64)]| {
                let mut counter = Words::new(most);
                words.iter().for_each(|&(slot, word, operations)| counter.add(slot, word, operations));
                counter
            };
            let mut backwards = words.clone();
            backwards.reverse();
            let (all, reversed) = (counter(&words), counter(&backwards));
            let mut merged = counter(other);
            merged.merge(&counter(one), Times::Exactly(1));
            prop_assert_eq!(&all.operations, &reversed.operations);
            prop_assert_eq!(&all.operations, &merged.operations);
            prop_assert_eq!((all.zeros, all.zeros), (reversed.zeros, merged.zeros));
            let mut expected: BTreeMap<u64, u64> = BTreeMap::new();
            for &(_, word, operations) in words.iter().filter(|(_, word, _)| is_kept(*word, all.zeros)) {
                *expected.entry(word).or_insert(0) += operations;
            }
            let concentration = all.concentration(7, |_| true);
            prop_assert_eq!(concentration.words, (expected.len() as u64).saturating_mul(all.one_word_in()));
            prop_assert_eq!(concentration.most_on_one_word, expected.values().copied().max().unwrap_or(0));
        }
    }

    #[test]
    fn one_word_in_some_gives_about_the_number_of_words() {
        let mut words = Words::new(1 << 10);
        (0..100_000).for_each(|word| words.add(0, word, 1));
        let concentration = words.concentration(100_000, |_| true);
        assert!(concentration.one_word_in > 1);
        assert!(concentration.words.abs_diff(100_000) < 10_000, "{concentration:?}");
    }
}
