//! Registers: each thread has its own.

use warplens_exec::decoded::{File, Register};
use warplens_exec::engine::Frame;
use warplens_ir::Width;
use warplens_isa::ScalarType;

use crate::value::{ones, signed};

/// Registers of one thread, in all frames.
#[derive(Clone, Default)]
struct Thread {
    words: Vec<u32>,
    predicates: Vec<bool>,
}

/// Registers of the threads of a warp.
#[derive(Clone, Default)]
pub struct Registers {
    threads: Vec<Thread>,
}

impl Registers {
    /// Everything is zero.
    pub(crate) fn clear(&mut self, words: u32, predicates: u32) {
        *self = Self { threads: vec![Thread::default(); 32] };
        self.reserve(words, predicates);
    }

    pub(crate) fn reserve(&mut self, words: u32, predicates: u32) {
        for thread in &mut self.threads {
            let words = thread.words.len().max(words as usize);
            let predicates = thread.predicates.len().max(predicates as usize);
            thread.words.resize(words, 0);
            thread.predicates.resize(predicates, false);
        }
    }

    pub(crate) fn predicate(&self, frame: Frame, index: u32, lane: usize) -> bool {
        self.threads[lane].predicates[(frame.predicates + index) as usize]
    }

    /// All bits of a register.
    pub(crate) fn bits(&self, frame: Frame, register: Register, lane: usize) -> u128 {
        if register.file == File::Predicates {
            return self.predicate(frame, register.index, lane).into();
        }
        let first = (frame.words + register.index) as usize;
        let words = &self.threads[lane].words[first..first + register.width.words() as usize];
        words.iter().rev().fold(0, |bits, &word| bits << 32 | u128::from(word))
    }

    /// Writes a result. In a register that is wider than a word, what is narrower extends by the sign of its type, or
    /// with zeros; a word is filled with zeros.
    pub(crate) fn write(&mut self, (frame, register): (Frame, Register), lane: usize, (bits, ty): (u128, ScalarType)) {
        if register.file == File::Predicates {
            self.threads[lane].predicates[(frame.predicates + register.index) as usize] = bits & 1 == 1;
            return;
        }
        let extends = register.width != Width::Word && ty.is_signed();
        let bits = if extends { signed(bits, ty.bits()) as u128 } else { bits & ones(ty.bits()) };
        let first = (frame.words + register.index) as usize;
        for at in 0..register.width.words() {
            self.threads[lane].words[first + at as usize] = (bits >> (32 * at)) as u32;
        }
    }

    /// A register that the warp has once gets the value of one lane in all of them.
    pub(crate) fn share(&mut self, (frame, register): (Frame, Register), lane: usize) {
        let bits = self.bits(frame, register, lane);
        let ty = match register.width {
            Width::One => ScalarType::Pred,
            Width::Word => ScalarType::B32,
            Width::Pair => ScalarType::B64,
            Width::Quad => ScalarType::B128,
        };
        (0..32).for_each(|other| self.write((frame, register), other, (bits, ty)));
    }
}
