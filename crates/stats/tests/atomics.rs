//! Atomic operations on the same address, against a count by the definition.

mod support;

use std::collections::BTreeMap;

use proptest::prelude::*;
use support::{Kernel, W0, access, in_cta, profile, r};
use warplens_ir::{Flow, Memory, MemoryReference, Operand};
use warplens_isa::{Atomic, AtomicOp, Operation, Pc, ScalarType, StateSpace};
use warplens_stats::statistics::{Atomics, Concentration};
use warplens_stats::{Recorder, Times};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, Observer};

const BASE: u64 = 0x10_0000_0000;

/// A kernel of a reduction to global and one to shared memory.
fn kernel() -> (Kernel, [Pc; 2]) {
    let mut k = Kernel::new();
    let mut insts = [StateSpace::Global, StateSpace::Shared].map(|space| {
        let operation = Operation::Red(Atomic { op: AtomicOp::Add, ordered: false });
        let mut inst = k.inst(&format!("red.{space}.add.u32"), operation, ScalarType::U32, &[], &[r(1)]);
        inst.memory = Memory::One(MemoryReference { space, base: Operand::Register(r(0)), offset: 0, elements: 1 });
        inst
    });
    let pcs = [insts[0].pc, insts[1].pc];
    let mut all: Vec<_> = insts.iter_mut().map(|inst| inst.clone()).collect();
    all.push(k.exit());
    k.block(all, Flow::Exit { next: None });
    (k, pcs)
}

/// One access as a test makes it up.
#[derive(Clone, Debug)]
struct Made {
    shared: bool,
    mask: u32,
    element_bytes: u8,
    elements: u8,
    words: Vec<u64>,
}

impl Made {
    fn addresses(&self) -> [u64; 32] {
        let base = if self.shared { 0 } else { BASE };
        let bytes = u64::from(self.element_bytes) * u64::from(self.elements);
        std::array::from_fn(|lane| base + self.words[lane] * bytes)
    }

    fn record(&self, recorder: &mut Recorder, cta: &mut warplens_stats::CtaRecord, pcs: [Pc; 2]) {
        let addresses = self.addresses();
        let (space, pc) = if self.shared { (StateSpace::Shared, pcs[1]) } else { (StateSpace::Global, pcs[0]) };
        let Made { element_bytes, elements, .. } = *self;
        let access = Access {
            element_bytes,
            elements,
            mask: ActiveMask(self.mask),
            ..access(space, AccessKind::Atomic, &addresses)
        };
        recorder.access(cta, W0, pc, &access);
    }

    /// Operations by word.
    fn by_word(&self) -> BTreeMap<u64, u64> {
        let mut by_word = BTreeMap::new();
        let lanes = self.addresses().into_iter().enumerate();
        for (_, address) in lanes.filter(|(lane, _)| self.mask >> lane & 1 == 1) {
            for element in 0..u64::from(self.elements) {
                let first = address + element * u64::from(self.element_bytes);
                *by_word.entry(first & !3).or_insert(0) += 1;
            }
        }
        by_word
    }
}

fn made() -> impl Strategy<Value = Made> {
    let shape = prop_oneof![Just((2, 1)), Just((4, 1)), Just((8, 1)), Just((2, 4)), Just((4, 4))];
    (any::<bool>(), 1..=u32::MAX, shape, 1..200_u64).prop_flat_map(|(shared, mask, (element_bytes, elements), n)| {
        proptest::collection::vec(0..n, 32).prop_map(move |words| Made { shared, mask, element_bytes, elements, words })
    })
}

fn counted(recorder: &Recorder) -> Atomics {
    profile(recorder).statistics.atomics.expect("atomics are counted")
}

proptest! {
    #[test]
    fn counts_are_those_of_the_definition(
        accesses in proptest::collection::vec(made(), 0..40), split in 0..40_usize,
    ) {
        let (k, pcs) = kernel();
        let mut recorder = k.recorder(2, 32);
        let (first, second) = accesses.split_at(split.min(accesses.len()));
        in_cta(&mut recorder, 0, |recorder, cta| first.iter().for_each(|made| made.record(recorder, cta, pcs)));
        let mut other = recorder.fork();
        in_cta(&mut other, 1, |recorder, cta| second.iter().for_each(|made| made.record(recorder, cta, pcs)));
        recorder.merge(other);
        let atomics = counted(&recorder);
        for (shared, space) in [(false, StateSpace::Global), (true, StateSpace::Shared)] {
            let of_space: Vec<_> =
                accesses.iter().filter(|made| made.shared == shared).map(Made::by_word).collect();
            let line = atomics.lines.iter().find(|line| line.space == space);
            prop_assert_eq!(line.is_some(), !of_space.is_empty());
            let Some(line) = line else { continue };
            let sum = |of: &dyn Fn(&BTreeMap<u64, u64>) -> u64| of_space.iter().map(of).sum::<u64>();
            let passes = sum(&|words| words.values().copied().max().unwrap_or(0));
            prop_assert_eq!(line.accesses, of_space.len() as u64);
            prop_assert_eq!(line.operations, sum(&|words| words.values().sum()));
            prop_assert_eq!(line.distinct_words, sum(&|words| words.len() as u64));
            prop_assert_eq!(line.passes, passes);
            prop_assert_eq!(line.concentration.is_some(), !shared);
        }
        let mut by_word: BTreeMap<u64, u64> = BTreeMap::new();
        for (word, operations) in accesses.iter().filter(|made| !made.shared).flat_map(Made::by_word) {
            *by_word.entry(word).or_insert(0) += operations;
        }
        let expected = Concentration {
            operations: by_word.values().sum(),
            words: by_word.len() as u64,
            most_on_one_word: by_word.values().copied().max().unwrap_or(0),
            one_word_in: 1,
        };
        prop_assert_eq!(atomics.concentration, (!by_word.is_empty()).then_some(expected));
    }
}

#[test]
fn loads_and_stores_are_no_atomics() {
    let (k, pcs) = kernel();
    let mut recorder = k.recorder(1, 32);
    in_cta(&mut recorder, 0, |recorder, cta| {
        for kind in [AccessKind::Load, AccessKind::Store] {
            recorder.access(cta, W0, pcs[0], &access(StateSpace::Global, kind, &[BASE; 32]));
        }
    });
    assert!(counted(&recorder).lines.is_empty());
}

#[test]
fn what_happens_several_times_counts_as_often() {
    let (k, pcs) = kernel();
    let mut one = k.recorder(6, 32);
    in_cta(&mut one, 0, |recorder, cta| {
        recorder.access(cta, W0, pcs[0], &access(StateSpace::Global, AccessKind::Atomic, &[BASE; 32]));
    });
    let mut all = Recorder::new(k.program(6, 32), std::iter::empty::<CtaId>().collect::<Vec<_>>().into_iter());
    all.merge_times(one, Times::Exactly(6));
    let line = &counted(&all).lines[0];
    assert_eq!((line.accesses, line.operations, line.distinct_words, line.passes), (6, 192, 6, 192));
}
