//! Which registers lie in one bank of the register file, and how many of a bank an instruction reads.
//!
//! Registers of even and of odd numbers are two banks. Nobody has said how ptxas chooses; the rules here are what it did in
//! the tiles of `validation/sgemm` (ptxas 12.3, 8.6):
//!
//! - What a wide load writes lies in registers that follow each other; what a single load writes lies anywhere.
//! - A sum is kept in the register that it is added to.
//! - A sum lies across from the parts of wide loads with which it is fetched (in 81 % of such multiply-adds of steps 5 to 11),
//!   and in three of four cases across from those that it only meets in the operand cache (76 % where it meets no other).
//! - Any other register lies across from what it is fetched with, as far as that is known.
//!
//! An operand that the instruction before has read as a factor too is in the operand cache and takes no port.

use std::cmp::Ordering;

use warplens_trace::MachineClass;

use crate::emit::{Atom, Selected};
use crate::node::{Body, Word};

/// A bank: 0 of even, 1 of odd registers.
type Bank = usize;

/// Says of every instruction how many registers of each bank it reads.
pub(crate) fn assign(body: &Body<'_>, selected: &mut Selected) {
    let is_predicate = |word| body.is_predicate(word);
    let fetched: Vec<Vec<Fetched>> = selected.blocks.iter().map(|atoms| fetched(atoms, is_predicate)).collect();
    let banks = banks(selected, fetched.iter().flatten());
    for (atoms, fetched) in selected.blocks.iter_mut().zip(&fetched) {
        for (atom, fetched) in atoms.iter_mut().zip(fetched) {
            atom.bank_reads = [0, 1].map(|bank| {
                let reads = fetched.words.iter().filter(|&&word| banks[word as usize] == bank).count();
                u8::try_from(reads).unwrap_or(u8::MAX)
            });
        }
    }
}

/// What an instruction reads from the register file.
#[derive(Default)]
struct Fetched {
    words: Vec<Word>,
    /// What it finds in the operand cache instead.
    cached: Vec<Word>,
}

/// Instructions that read their registers within a few cycles of their issue.
pub(crate) fn has_fixed_latency(class: MachineClass) -> bool {
    use MachineClass as C;
    match class {
        C::Fp32 | C::Fp32Mul | C::Int | C::IntMul | C::Fp16 | C::Move => true,
        C::Fp64
        | C::Sfu
        | C::Convert
        | C::Uniform
        | C::Tensor
        | C::TensorFp32
        | C::TensorFp64
        | C::TensorAsync
        | C::Shuffle
        | C::Vote
        | C::Load
        | C::Texture
        | C::Store
        | C::Atomic
        | C::Reduction
        | C::AsyncCopy
        | C::AsyncCommit
        | C::AsyncWait
        | C::Barrier
        | C::BarrierArrive
        | C::Fence
        | C::Branch
        | C::Exit
        | C::Nop => false,
    }
}

/// By instruction of a block.
fn fetched(atoms: &[Atom], is_predicate: impl Fn(Word) -> bool) -> Vec<Fetched> {
    let mut kept: Vec<Word> = Vec::new();
    let of_atom = |atom: &Atom| {
        let mut fetched = Fetched::default();
        if !has_fixed_latency(atom.class) {
            return fetched;
        }
        let mut factors = Vec::new();
        for &word in atom.reads.iter().filter(|&&word| !is_predicate(word)) {
            if atom.addend == Some(word) {
                fetched.words.push(word);
                continue;
            }
            if kept.contains(&word) { &mut fetched.cached } else { &mut fetched.words }.push(word);
            factors.push(word);
        }
        factors.retain(|word| !atom.writes.contains(word));
        kept = factors;
        fetched
    };
    atoms.iter().map(of_atom).collect()
}

/// The bank of every word.
fn banks<'a>(selected: &Selected, fetched: impl Iterator<Item = &'a Fetched>) -> Vec<Bank> {
    let mut registers = Registers::new(selected);
    let n = selected.n_words as usize;
    let mut banks: Vec<Option<Bank>> = vec![None; n];
    let loads = || selected.blocks.iter().flatten().filter(|atom| atom.class == MachineClass::Load);
    for atom in loads().filter(|atom| atom.writes.len() > 1) {
        for (part, &word) in atom.writes.iter().enumerate() {
            banks[registers.of(word)].get_or_insert(part % 2);
        }
    }
    let wide = banks.clone();
    for atom in loads() {
        for &word in &atom.writes {
            let register = registers.of(word);
            banks[register].get_or_insert(usize::from(scatter(register) % 2 == 1));
        }
    }
    let meetings = meetings(&mut registers, n, fetched);
    for (register, bank) in banks.iter_mut().enumerate().filter(|(_, bank)| bank.is_none()) {
        *bank = across(&meetings[register].fetched, &wide)
            .or_else(|| across(&meetings[register].cached, &wide).map(|bank| of_four(register, bank)));
    }
    for register in 0..n {
        if banks[register].is_none() {
            let known = across(&meetings[register].fetched, &banks);
            banks[register] = known.or(Some(usize::from(scatter(register) % 2 == 1)));
        }
    }
    (0..selected.n_words).map(|word| banks[registers.of(word)].unwrap_or(0)).collect()
}

/// Other registers that an instruction reads together with one.
#[derive(Clone, Default)]
struct Meetings {
    /// Where both come from the register file.
    fetched: Vec<usize>,
    /// Where the other one is in the operand cache.
    cached: Vec<usize>,
}

/// By register.
fn meetings<'a>(registers: &mut Registers, n: usize, fetched: impl Iterator<Item = &'a Fetched>) -> Vec<Meetings> {
    let mut meetings = vec![Meetings::default(); n];
    for Fetched { words, cached } in fetched {
        let words: Vec<usize> = words.iter().map(|&word| registers.of(word)).collect();
        let cached: Vec<usize> = cached.iter().map(|&word| registers.of(word)).collect();
        for &register in &words {
            let others = |of: &[usize]| of.iter().copied().filter(|&other| other != register).collect::<Vec<_>>();
            meetings[register].fetched.extend(others(&words));
            meetings[register].cached.extend(others(&cached));
        }
    }
    meetings
}

/// The bank in which fewer of these registers lie; none where as many are known to lie in either.
fn across(others: &[usize], banks: &[Option<Bank>]) -> Option<Bank> {
    let of = |bank: Bank| others.iter().filter(|&&other| banks[other] == Some(bank)).count();
    match of(0).cmp(&of(1)) {
        Ordering::Less => Some(0),
        Ordering::Equal => None,
        Ordering::Greater => Some(1),
    }
}

/// The bank in three of four cases, and else the other one.
fn of_four(register: usize, bank: Bank) -> Bank {
    if scatter(register) >> 1 & 3 == 0 { 1 - bank } else { bank }
}

/// Three bits that look like chance (the finaliser of SplitMix64).
fn scatter(register: usize) -> u64 {
    let z = (register as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 61
}

/// Words that share a register, one after the other: a sum and what it is added to.
struct Registers {
    parents: Vec<usize>,
}

impl Registers {
    fn new(selected: &Selected) -> Self {
        let n = selected.n_words as usize;
        let mut registers = Self { parents: (0..n).collect() };
        let mut uses = vec![0_u32; n];
        let atoms = || selected.blocks.iter().flatten();
        atoms().flat_map(|atom| &atom.reads).for_each(|&word| uses[word as usize] += 1);
        for atom in atoms() {
            if let (Some(addend), [sum]) = (atom.addend, atom.writes.as_slice())
                && uses[addend as usize] == 1
            {
                let (from, to) = (registers.of(addend), registers.of(*sum));
                registers.parents[from.max(to)] = from.min(to);
            }
        }
        registers
    }

    fn of(&mut self, word: Word) -> usize {
        let mut at = word as usize;
        while self.parents[at] != at {
            self.parents[at] = self.parents[self.parents[at]];
            at = self.parents[at];
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use warplens_isa::Pc;

    use super::*;

    /// A multiply-add: the sum in place of what it is added to.
    fn multiply_add([a, b]: [Word; 2], addend: Word, sum: Word) -> Atom {
        let reads = vec![a, b, addend];
        let plain = Atom::plain(None, Pc(0));
        Atom { class: MachineClass::Fp32, reads, writes: vec![sum], addend: Some(addend), ..plain }
    }

    fn load(writes: &[Word]) -> Atom {
        Atom { class: MachineClass::Load, writes: writes.to_vec(), ..Atom::plain(None, Pc(0)) }
    }

    /// Reads of each bank by the instructions of one block.
    fn reads(atoms: Vec<Atom>) -> Vec<[usize; 2]> {
        let n_words = atoms.iter().flat_map(|atom| atom.reads.iter().chain(&atom.writes)).max().unwrap() + 1;
        let fetched = fetched(&atoms, |_| false);
        let selected = Selected { blocks: vec![atoms], n_words };
        let banks = banks(&selected, fetched.iter());
        let of = |fetched: &Fetched, bank| fetched.words.iter().filter(|&&word| banks[word as usize] == bank).count();
        fetched.iter().map(|fetched| [of(fetched, 0), of(fetched, 1)]).collect()
    }

    #[test]
    fn sums_lie_across_from_the_parts_of_a_wide_load() {
        // Four columns times one number: that comes from the register file once.
        let row = (0..4).map(|x| multiply_add([4, x], 10 + x, 20 + x));
        let reads = reads([load(&[0, 1, 2, 3]), load(&[4])].into_iter().chain(row).collect());
        assert_eq!(reads[..2], [[0, 0]; 2]);
        assert_eq!(reads[2].iter().sum::<usize>(), 3);
        assert_eq!(reads[3..], [[1, 1]; 3]);
    }

    #[test]
    fn factors_that_come_alone_meet_sums_in_half_of_the_cases() {
        // The kept factor of a row is a part of the wide load, and 64 single ones pass by.
        let mut atoms = vec![load(&[0, 1, 2, 3])];
        atoms.extend((0..64).map(|x| load(&[100 + x])));
        for y in 0..4 {
            atoms.extend((0..64).map(|x| multiply_add([y, 100 + x], 1000 + 64 * y + x, 2000 + 64 * y + x)));
        }
        let reads = reads(atoms);
        let conflicts = reads.iter().filter(|reads| reads.contains(&2) && reads.contains(&0)).count();
        assert!((96..=160).contains(&conflicts), "{conflicts} of 256");
        // Of the sums of a row more lie in one bank than in the other, so that its port is what is short.
        let of_row = |y: usize| &reads[65 + 64 * y..65 + 64 * (y + 1)];
        for y in 0..4 {
            let in_bank = |bank: usize| of_row(y).iter().map(|reads| reads[bank]).sum::<usize>();
            assert!(in_bank(1 - y % 2) > in_bank(y % 2), "row {y}: {} and {}", in_bank(0), in_bank(1));
        }
    }

    #[test]
    fn nothing_that_can_be_told_apart_lies_in_one_bank() {
        let atoms = (0..40).map(|n| multiply_add([10 * n, 10 * n + 1], 10 * n + 2, 10 * n + 3)).collect();
        let reads = reads(atoms);
        assert!(reads.iter().all(|reads| *reads != [3, 0] && *reads != [0, 3]), "{reads:?}");
    }
}
