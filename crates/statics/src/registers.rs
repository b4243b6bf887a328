//! The registers of one frame, as far as they matter to what is counted.

use warplens_ir::{Bank, Function, Register, Width};
use warplens_isa::ScalarType;

use crate::region::Dependence;
use crate::value::{LANES, Truth, Value, lanes_of};

/// What a word of the register file holds.
#[derive(Clone, Debug)]
enum Word {
    /// Nothing known.
    Empty,
    /// A 32-bit value.
    Single(Box<Value>),
    /// The low word of a 64-bit value; the next word is `High`.
    Low(Box<Value>),
    /// The high word of the value in the word before.
    High,
}

/// The registers of a frame.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    words: Vec<Word>,
    predicates: Vec<Truth>,
    /// First word of the uniform registers.
    uniform_words: u32,
    uniform_predicates: u32,
}

impl Registers {
    pub(crate) fn new(function: &Function) -> Self {
        let registers = &function.registers;
        Self {
            words: vec![Word::Empty; (registers.vector + registers.uniform) as usize + 4],
            predicates: vec![Truth::UNKNOWN; (registers.predicate + registers.uniform_predicate) as usize],
            uniform_words: registers.vector,
            uniform_predicates: registers.predicate,
        }
    }

    fn word(&self, register: Register) -> usize {
        let first = if register.bank == Bank::Uniform { self.uniform_words } else { 0 };
        (first + register.index) as usize
    }

    fn predicate_index(&self, register: Register) -> usize {
        let first = if register.bank == Bank::UniformPredicate { self.uniform_predicates } else { 0 };
        (first + register.index) as usize
    }

    /// A predicate.
    pub(crate) fn predicate(&self, register: Register) -> Truth {
        self.predicates.get(self.predicate_index(register)).copied().unwrap_or(Truth::UNKNOWN)
    }

    /// Writes a predicate in the lanes of `mask`.
    pub(crate) fn set_predicate(&mut self, register: Register, truth: Truth, mask: u32, live: u32) {
        let index = self.predicate_index(register);
        if let Some(predicate) = self.predicates.get_mut(index) {
            predicate.blend(truth, mask, live);
        }
    }

    /// A register as a value of `bits` bits.
    pub(crate) fn read(&self, register: Register, bits: u32) -> Value {
        let at = self.word(register);
        let value = match register.width {
            Width::Pair => self.pair(at),
            Width::Word | Width::One => self.single(at),
            // Quads only carry data.
            Width::Quad => return Value::UNKNOWN,
        };
        if bits > register.width.bits() {
            return widened(value);
        }
        narrow(value, bits)
    }

    fn single(&self, at: usize) -> Value {
        match &self.words[at] {
            Word::Empty => Value::UNKNOWN,
            Word::Single(value) => (**value).clone(),
            Word::Low(value) => narrow((**value).clone(), 32),
            Word::High => match self.words.get(at.wrapping_sub(1)) {
                Some(Word::Low(value)) => {
                    let mut high = (**value).clone().map(|bits| bits >> 32);
                    high.dependence = Dependence::opaque(value.dependence.axes());
                    high
                }
                _ => Value::UNKNOWN,
            },
        }
    }

    fn pair(&self, at: usize) -> Value {
        if let Word::Low(value) = &self.words[at] {
            return (**value).clone();
        }
        let (low, high) = (self.single(at), self.single(at + 1));
        let known = low.known & high.known;
        if known == 0 {
            return Value::UNKNOWN;
        }
        let lanes = std::array::from_fn(|lane| low.lanes[lane] | high.lanes[lane] << 32);
        let dependence = Dependence::opaque(low.dependence.axes() | high.dependence.axes());
        Value { lanes, known, dependence }
    }

    /// Writes a value of type `ty` in the lanes of `mask`; what is narrower than the register is extended.
    pub(crate) fn write(&mut self, register: Register, value: &Value, ty: ScalarType, mask: u32, live: u32) {
        let at = self.word(register);
        match register.width {
            Width::Pair => {
                let mut new = self.pair(at);
                if ty.bits() <= 32 && ty.is_signed() {
                    let shift = 64 - ty.bits();
                    let signed = value.clone().map(|bits| ((bits << shift) as i64 >> shift) as u64);
                    new.blend(&widened(signed), mask, live);
                } else if ty.bits() <= 32 {
                    new.blend(&widened(value.clone()), mask, live);
                } else {
                    new.blend(value, mask, live);
                }
                self.separate(at);
                self.separate(at + 1);
                self.words[at] = Word::Low(Box::new(new));
                self.words[at + 1] = Word::High;
            }
            Width::Word | Width::One => {
                let mut new = self.single(at);
                new.blend(value, mask, live);
                self.separate(at);
                self.words[at] = Word::Single(Box::new(new));
            }
            Width::Quad => {
                for part in 0..4 {
                    self.separate(at + part);
                    self.words[at + part] = Word::Empty;
                }
            }
        }
    }

    /// Forgets a register in the lanes of `mask`.
    pub(crate) fn forget(&mut self, register: Register, mask: u32, live: u32) {
        match register.bank {
            Bank::Predicate | Bank::UniformPredicate => self.set_predicate(register, Truth::UNKNOWN, mask, live),
            Bank::Vector | Bank::Uniform => self.write(register, &Value::UNKNOWN, ScalarType::B64, mask, live),
            Bank::Convergence => {}
        }
    }

    /// Keeps the other half of a pair that a word is written into.
    fn separate(&mut self, at: usize) {
        match self.words[at] {
            Word::Low(_) => {
                let high = self.single(at + 1);
                let low = self.single(at);
                self.words[at] = Word::Single(Box::new(low));
                self.words[at + 1] = Word::Single(Box::new(high));
            }
            Word::High => {
                let low = self.single(at - 1);
                let high = self.single(at);
                self.words[at - 1] = Word::Single(Box::new(low));
                self.words[at] = Word::Single(Box::new(high));
            }
            Word::Single(_) | Word::Empty => {}
        }
    }

    /// Takes over what lanes of `theirs` hold that come from `other`; lanes of both keep what is the same.
    pub(crate) fn join(&mut self, other: &Self, own: u32, theirs: u32) {
        for at in 0..self.words.len() {
            let joined = match (&self.words[at], &other.words[at]) {
                (Word::High, Word::High) => continue,
                (Word::Low(mine), Word::Low(value)) => Word::Low(Box::new(joined(mine, value, own, theirs))),
                (Word::Empty, Word::Empty) => continue,
                _ => {
                    let (mine, value) = (self.single(at), other.single(at));
                    let word = Word::Single(Box::new(joined(&mine, &value, own, theirs)));
                    self.separate(at);
                    word
                }
            };
            self.words[at] = joined;
        }
        for (mine, &truth) in self.predicates.iter_mut().zip(&other.predicates) {
            let same = !(mine.bits ^ truth.bits) & mine.known & truth.known;
            let shared = own & theirs;
            let known = mine.known & own & !shared | truth.known & theirs & !shared | same & shared;
            let bits = mine.bits & own | truth.bits & theirs & !own;
            *mine = Truth { bits, known, opaque: mine.opaque | truth.opaque };
        }
    }
}

fn joined(mine: &Value, value: &Value, own: u32, theirs: u32) -> Value {
    let mut result = mine.clone();
    result.known &= own;
    if result.known == 0 {
        result.dependence = Dependence::NONE;
    }
    result.blend(value, theirs & !own, own | theirs);
    for lane in lanes_of(own & theirs) {
        let same = value.known >> lane & 1 == 1 && value.lanes[lane] == result.lanes[lane];
        result.known &= !(u32::from(!same) << lane);
    }
    if result.known & own & theirs != 0 {
        result.dependence = result.dependence.of_either(&value.dependence);
    }
    result
}

/// A value in a wider register: its steps may carry beyond its own bits.
fn widened(mut value: Value) -> Value {
    value.dependence = Dependence::opaque(value.dependence.axes());
    value
}

/// The low bits of a value.
fn narrow(mut value: Value, bits: u32) -> Value {
    if bits < 64 {
        let mask = (1 << bits) - 1;
        if (0..LANES).any(|lane| value.lanes[lane] > mask) {
            value = value.map(|lane| lane & mask);
        }
        value.dependence = value.dependence.in_bits(bits);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: Register = Register::vector(2, Width::Pair);
    const LOW: Register = Register::vector(2, Width::Word);
    const HIGH: Register = Register::vector(3, Width::Word);

    fn registers() -> Registers {
        Registers { words: vec![Word::Empty; 8], predicates: vec![], uniform_words: 0, uniform_predicates: 0 }
    }

    #[test]
    fn a_pair_and_its_halves_are_the_same_words() {
        let mut registers = registers();
        let write = |registers: &mut Registers, register, value| {
            registers.write(register, &Value::constant(value), ScalarType::B64, u32::MAX, u32::MAX);
        };
        write(&mut registers, PAIR, 0x1_0000_0002);
        assert_eq!(registers.read(LOW, 32).lanes[5], 2);
        assert_eq!(registers.read(HIGH, 32).lanes[5], 1);
        write(&mut registers, HIGH, 7);
        assert_eq!(registers.read(PAIR, 64).lanes[0], 0x7_0000_0002);
        assert_eq!(registers.read(PAIR, 32).lanes[0], 2);
        registers.forget(LOW, 1, u32::MAX);
        assert_eq!(registers.read(PAIR, 64).known, !1);
        assert_eq!(registers.read(HIGH, 32).known, u32::MAX);
    }

    #[test]
    fn narrow_results_extend_to_the_pair_by_their_sign() {
        let mut registers = registers();
        let value = Value::constant(0xffff_fff0);
        registers.write(PAIR, &value, ScalarType::S32, u32::MAX, u32::MAX);
        assert_eq!(registers.read(PAIR, 64).lanes[0], -16i64 as u64);
        registers.write(PAIR, &value, ScalarType::U32, u32::MAX, u32::MAX);
        assert_eq!(registers.read(PAIR, 64).lanes[0], 0xffff_fff0);
    }

    #[test]
    fn lanes_of_two_paths_come_together() {
        let (mut one, mut other) = (registers(), registers());
        one.write(LOW, &Value::constant(1), ScalarType::U32, u32::MAX, u32::MAX);
        other.write(LOW, &Value::constant(2), ScalarType::U32, u32::MAX, u32::MAX);
        // Lane 0 is in the first only, lane 1 in both, lane 2 in the second only.
        one.join(&other, 0b011, 0b110);
        let value = one.read(LOW, 32);
        assert_eq!((value.known, value.lanes[0], value.lanes[2]), (0b101, 1, 2));
    }
}
