//! Dense numbers for the registers that the code uses.
//!
//! A word that lives across blocks has a number of its own. Words that live within one block share numbers: the one
//! that was free for the longest time is taken again, so that reuse makes as few dependences as possible. Words that
//! are always read and written together are one register.

use std::collections::{HashMap, VecDeque};

use warplens_trace::RegisterNumber;

use crate::emit::{Atom, Selected};
use crate::node::{Body, Owned, Word};

/// Operands of one instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Numbered {
    pub(crate) reads: Vec<RegisterNumber>,
    pub(crate) writes: Vec<RegisterNumber>,
    pub(crate) addend: Option<RegisterNumber>,
    pub(crate) guard: Option<RegisterNumber>,
}

/// Numbers of a function's operands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    blocks: Vec<Vec<Numbered>>,
    end: RegisterNumber,
}

impl Numbers {
    /// Operands of the instructions of a block.
    pub(crate) fn block(&self, position: usize) -> &[Numbered] {
        &self.blocks[position]
    }

    /// One more than the highest number.
    pub(crate) fn end(&self) -> RegisterNumber {
        self.end
    }
}

/// Numbers of words that live across blocks: a function of which code is made twice, with loops unrolled and without, has
/// one number for each.
pub(crate) type Known = HashMap<Owned, RegisterNumber>;

/// Numbers the registers of a function from `first` on; none when there are too many.
pub(crate) fn number(
    body: &Body<'_>,
    selected: &Selected,
    first: RegisterNumber,
    known: &mut Known,
) -> Option<Numbers> {
    let leaders = leaders(selected);
    let homes = homes(body, selected, &leaders);
    let mut shared: HashMap<Word, RegisterNumber> = HashMap::new();
    let mut next = first;
    for (word, home) in homes.iter().enumerate() {
        if *home == Home::Shared && leaders[word] == word as u32 {
            let owned = body.owned(word as u32);
            let number = owned.map_or(next, |owned| *known.entry(owned).or_insert(next));
            shared.insert(word as u32, number);
            // Those that are known already are lower.
            if number == next {
                next = next.checked_add(1)?;
            }
        }
    }
    let mut numbers = Numbers { blocks: Vec::with_capacity(selected.blocks.len()), end: next };
    for atoms in &selected.blocks {
        let mut local = Local { shared: &shared, leaders: &leaders, next, free: VecDeque::new(), held: HashMap::new() };
        numbers.blocks.push(local.block(atoms)?);
        numbers.end = numbers.end.max(local.next);
    }
    Some(numbers)
}

/// By word: the first of the words that are always read and written together with it.
fn leaders(selected: &Selected) -> Vec<Word> {
    // Words have the same mark when they occur in the same operand lists.
    let mut marks = vec![0u64; selected.n_words as usize];
    let mut occurrence = 0u64;
    for atom in selected.blocks.iter().flatten() {
        for words in [&atom.reads, &atom.writes] {
            occurrence += 1;
            let mark = scatter(occurrence);
            for &word in words {
                let is_special = atom.addend == Some(word) || atom.guard == Some(word);
                marks[word as usize] = marks[word as usize].wrapping_add(if is_special { scatter(mark) } else { mark });
            }
        }
    }
    let mut first: HashMap<u64, Word> = HashMap::new();
    marks.iter().enumerate().map(|(word, &mark)| *first.entry(mark).or_insert(word as Word)).collect()
}

/// A number far from those of its neighbours (the finaliser of SplitMix64): sums of them tell sets apart.
fn scatter(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Where a word lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Home {
    Nowhere,
    /// Written before it is read in this block, and not used in others.
    Block(usize),
    Shared,
}

fn homes(body: &Body<'_>, selected: &Selected, leaders: &[Word]) -> Vec<Home> {
    let mut homes = vec![Home::Nowhere; selected.n_words as usize];
    for (block, atoms) in selected.blocks.iter().enumerate() {
        for atom in atoms {
            for &word in &atom.reads {
                let home = &mut homes[leaders[word as usize] as usize];
                if *home != Home::Block(block) {
                    *home = Home::Shared;
                }
            }
            for &word in &atom.writes {
                let home = &mut homes[leaders[word as usize] as usize];
                match *home {
                    // A guarded write keeps an old value that may come from elsewhere.
                    Home::Nowhere if !atom.keeps => *home = Home::Block(block),
                    Home::Block(at) if at == block => {}
                    _ => *home = Home::Shared,
                }
            }
        }
    }
    let outside = body.results().into_iter().chain(arguments(body));
    for word in outside {
        homes[leaders[word as usize] as usize] = Home::Shared;
    }
    homes
}

fn arguments(body: &Body<'_>) -> Vec<Word> {
    let registers = body.function.arguments.iter();
    registers.flat_map(|&register| crate::node::words_of(body.function, register)).collect()
}

/// Numbers within one block.
struct Local<'a> {
    shared: &'a HashMap<Word, RegisterNumber>,
    leaders: &'a [Word],
    next: RegisterNumber,
    free: VecDeque<RegisterNumber>,
    held: HashMap<Word, RegisterNumber>,
}

impl Local<'_> {
    fn block(&mut self, atoms: &[Atom]) -> Option<Vec<Numbered>> {
        let mut last_use: HashMap<Word, usize> = HashMap::new();
        for (index, atom) in atoms.iter().enumerate() {
            for &word in atom.reads.iter().chain(&atom.writes) {
                last_use.insert(self.leaders[word as usize], index);
            }
        }
        let mut numbered = Vec::with_capacity(atoms.len());
        for (index, atom) in atoms.iter().enumerate() {
            let reads = self.operands(&atom.reads)?;
            let addend = self.number(atom.addend)?;
            let guard = self.number(atom.guard)?;
            self.release(&atom.reads, index, &last_use);
            let writes = self.operands(&atom.writes)?;
            self.release(&atom.writes, index, &last_use);
            numbered.push(Numbered { reads, writes, addend, guard });
        }
        Some(numbered)
    }

    fn operands(&mut self, words: &[Word]) -> Option<Vec<RegisterNumber>> {
        let mut numbers = Vec::with_capacity(words.len());
        for &word in words {
            let number = self.of(self.leaders[word as usize])?;
            if !numbers.contains(&number) {
                numbers.push(number);
            }
        }
        Some(numbers)
    }

    fn number(&mut self, word: Option<Word>) -> Option<Option<RegisterNumber>> {
        Some(match word {
            Some(word) => Some(self.of(self.leaders[word as usize])?),
            None => None,
        })
    }

    fn of(&mut self, word: Word) -> Option<RegisterNumber> {
        if let Some(&number) = self.shared.get(&word).or_else(|| self.held.get(&word)) {
            return Some(number);
        }
        let number = match self.free.pop_front() {
            Some(number) => number,
            None => {
                let number = self.next;
                self.next = self.next.checked_add(1)?;
                number
            }
        };
        self.held.insert(word, number);
        Some(number)
    }

    fn release(&mut self, words: &[Word], index: usize, last_use: &HashMap<Word, usize>) {
        for &word in words {
            let leader = self.leaders[word as usize];
            if last_use.get(&leader) == Some(&index)
                && let Some(number) = self.held.remove(&leader)
            {
                self.free.push_back(number);
            }
        }
    }
}
