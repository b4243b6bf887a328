//! What an instruction of machine code reads and writes, by the operations that it was lowered to.

use warplens_ir::{Bank, Inst, Register};

/// Predicates of a thread, and of a warp.
const PREDICATES: u32 = 7;

/// A word of a register file, or a predicate.
pub(super) type Word = (Bank, u32);

/// A condition: a predicate, and whether it has to be off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Condition {
    pub(super) predicate: Word,
    pub(super) is_negated: bool,
}

impl Condition {
    /// The other of its two ways.
    pub(super) fn otherwise(self) -> Self {
        Self { is_negated: !self.is_negated, ..self }
    }

    /// Both do not hold for one thread.
    pub(super) fn excludes(self, other: Self) -> bool {
        self.otherwise() == other
    }
}

/// What an instruction touches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Accesses {
    pub(super) guard: Option<Condition>,
    pub(super) reads: Vec<Word>,
    pub(super) writes: Vec<Word>,
}

/// The accesses of the operations of one instruction, in code with so many registers for each thread. What the emulator
/// alone has, such as temporaries, is none of them.
pub(super) fn of(group: &[Inst], registers: u32) -> Accesses {
    let mut accesses = Accesses::default();
    for inst in group {
        if let Some(guard) = inst.guard {
            let predicate = (guard.predicate.bank, guard.predicate.index);
            if is_real(predicate, registers) {
                accesses.guard = Some(Condition { predicate, is_negated: guard.negated });
            }
        }
        for word in inst.reads().flat_map(words) {
            if is_real(word, registers) && !accesses.writes.contains(&word) && !accesses.reads.contains(&word) {
                accesses.reads.push(word);
            }
        }
        for word in inst.writes().flat_map(words) {
            if is_real(word, registers) && !accesses.writes.contains(&word) {
                accesses.writes.push(word);
            }
        }
    }
    accesses
}

fn words(register: Register) -> impl Iterator<Item = Word> {
    register.words().map(move |index| (register.bank, index))
}

fn is_real((bank, index): Word, registers: u32) -> bool {
    match bank {
        Bank::Vector => index < registers,
        Bank::Predicate | Bank::UniformPredicate => index < PREDICATES,
        Bank::Uniform => true,
        Bank::Convergence => false,
    }
}
