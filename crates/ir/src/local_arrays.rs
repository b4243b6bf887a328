//! Local arrays that an assembler keeps in registers.
//!
//! A register has no address, so PTX puts arrays with an index into local memory. ptxas takes those back into registers
//! that are small: a load becomes a comparison of the index and a guarded copy for each place that it may mean, a store
//! likewise. The places are all those that the width of the access allows, whatever values the index takes.
//!
//! Which arrays are taken back was read off the machine code of ptxas 13.5 for compute capability 7.5: those where an
//! access means at most [`MAX_CHOICES`] places for each element that it moves, while the array fits into the registers.
//! A short loop that only fills the array, with a value that it does not change, is unrolled and limits nothing. All
//! local memory of a function counts as one array.

use std::collections::BTreeMap;

use warplens_isa::{BlockId, CompareOp, Comparison, Op, Operation, Pc, ScalarType, StateSpace, Sum};

use crate::{
    Bank, Cfg, Flow, Function, FunctionId, Guard, Inst, Liveness, MemoryReference, Module, Operand, Register, Width,
};

/// Most places that an access may mean for each element that it moves.
const MAX_CHOICES: u32 = 4;
/// Most operations of a loop that fills an array.
const MAX_FILL: usize = 8;

/// The module with the local arrays of these functions in registers: the same blocks and program counters, the same
/// results (a loop that fills an array is taken to fill all of it). `registers` is how many registers a thread has,
/// where somebody knows. `None` where no array is taken back.
pub fn local_arrays_in_registers(module: &Module, functions: &[FunctionId], registers: Option<u32>) -> Option<Module> {
    let mut changed: Option<Module> = None;
    for &id in functions {
        let Some(array) = LocalArray::find(module, &module.functions[id], registers) else { continue };
        array.rewrite(changed.get_or_insert_with(|| module.clone()), id);
    }
    changed
}

/// What is known about the values of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// Nothing yet.
    Nothing,
    /// One number, or several.
    Number(Option<i64>),
    /// One address of the frame, relative to its beginning, or several.
    Address(Option<i64>),
    /// An address of the frame or something else.
    Mixed,
}

impl Known {
    const ANY: Self = Self::Number(None);

    const fn is_address(self) -> bool {
        matches!(self, Self::Address(_) | Self::Mixed)
    }

    /// True for addresses of the frame, and nothing else, which are several.
    const fn varies(self) -> bool {
        matches!(self, Self::Address(None))
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, known) | (known, Self::Nothing) => known,
            (Self::Number(one), Self::Number(other)) => Self::Number(one.filter(|_| one == other)),
            (Self::Address(one), Self::Address(other)) => Self::Address(one.filter(|_| one == other)),
            _ => Self::Mixed,
        }
    }

    fn plus(self, other: Self, sign: i64) -> Self {
        let sum = |one: Option<i64>, other: Option<i64>| Some(one?.wrapping_add(sign.wrapping_mul(other?)));
        match (self, other) {
            (Self::Nothing, _) | (_, Self::Nothing) => Self::Nothing,
            (Self::Number(one), Self::Number(other)) => Self::Number(sum(one, other)),
            (Self::Address(one), Self::Number(other)) => Self::Address(sum(one, other)),
            (Self::Number(one), Self::Address(other)) if sign > 0 => Self::Address(sum(one, other)),
            _ => Self::Mixed,
        }
    }
}

/// The local memory of a function as an array of elements of one size.
struct LocalArray {
    /// Bytes of an element: 4 or 8.
    element: u32,
    n_elements: u32,
    /// Low words of registers that hold addresses of it.
    addresses: Vec<Known>,
    /// Loops that fill it, each with the block after it.
    fills: BTreeMap<BlockId, BlockId>,
}

impl LocalArray {
    /// The array, if its addresses are only used to load and store it and it fits.
    fn find(module: &Module, function: &Function, registers: Option<u32>) -> Option<Self> {
        if function.local_bytes == 0 {
            return None;
        }
        let blocks = || function.block_ids().map(|block| &module.blocks[block]);
        if blocks().any(|block| matches!(block.flow, Flow::Call { .. })) {
            return None;
        }
        let addresses = known_words(function, || blocks().flat_map(|block| &block.insts))?;
        let mut array = Self { element: 0, n_elements: 0, addresses, fills: BTreeMap::new() };
        for inst in blocks().flat_map(|block| &block.insts) {
            if array.touches(inst) {
                let bytes = inst.ty.bits() / 8;
                if !matches!(bytes, 4 | 8) || array.element != 0 && array.element != bytes {
                    return None;
                }
                array.element = bytes;
            } else if array.lets_go(inst) {
                return None;
            }
        }
        if array.element == 0 {
            return None;
        }
        array.n_elements = function.local_bytes / array.element;
        let cfg = Cfg::new(module, function);
        let mut fills = BTreeMap::new();
        for block in function.block_ids() {
            for inst in module.blocks[block].insts.iter().filter(|inst| array.touches(inst)) {
                let limit = MAX_CHOICES * u32::from(inst.memory.one()?.elements);
                match array.choices(inst)?.len() {
                    0 => return None,
                    choices if choices <= limit as usize => {}
                    _ => drop(fills.insert(block, array.filled(module, &cfg, block)?)),
                }
            }
        }
        array.fills = fills;
        array.fits(module, function, registers).then_some(array)
    }

    /// The block after one that is a loop to fill the array.
    fn filled(&self, module: &Module, cfg: &Cfg, block: BlockId) -> Option<BlockId> {
        let insts = &module.blocks[block].insts;
        let mut stores = insts.iter().filter(|inst| !inst.memory.is_empty());
        let store = stores.next().filter(|store| store.op() == Op::St && self.touches(store))?;
        let is_kept =
            |source: &Operand| insts.iter().flat_map(Inst::writes).all(|written| source.register() != Some(written));
        let is_short = insts.len() <= MAX_FILL && stores.next().is_none() && store.sources.iter().all(is_kept);
        let [one, other] = cfg.successors(block) else { return None };
        let after = match (*one == block, *other == block) {
            (true, false) => *other,
            (false, true) => *one,
            _ => return None,
        };
        (is_short && cfg.predecessors(after) == [block]).then_some(after)
    }

    fn is_fixed(&self, inst: &Inst) -> bool {
        self.address(inst).is_some_and(|known| !known.varies())
    }

    /// The array and what lives besides it where it is used.
    fn fits(&self, module: &Module, function: &Function, registers: Option<u32>) -> bool {
        let Some(registers) = registers else { return true };
        let liveness = Liveness::new(module, function);
        let uses = function
            .block_ids()
            .filter(|&block| module.blocks[block].insts.iter().any(|inst| self.touches(inst) && !self.is_fixed(inst)));
        let read = read_from_parameters(module, function);
        let is_needed = |word: u32| self.is_needed(word) && !read[word as usize];
        let beside = uses.map(|block| liveness.live_in(block).iter().filter(|&word| is_needed(word)).count());
        let beside = u32::try_from(beside.max().unwrap_or(0)).unwrap_or(u32::MAX);
        beside.saturating_add(self.n_elements * self.element / 4) <= registers
    }

    /// Constants are part of the instructions that use them.
    fn is_needed(&self, word: u32) -> bool {
        !matches!(self.addresses[word as usize], Known::Number(Some(_)) | Known::Address(Some(_)))
    }

    fn known(&self, operand: &Operand) -> Known {
        known_operand(&self.addresses, operand)
    }

    /// Address of a memory operation, with its offset.
    fn address(&self, inst: &Inst) -> Option<Known> {
        self.address_in(&inst.memory.one()?)
    }

    fn address_in(&self, memory: &MemoryReference) -> Option<Known> {
        let known = self.known(&memory.base).plus(Known::Number(Some(memory.offset)), 1);
        known.is_address().then_some(known)
    }

    /// True for loads and stores of the array.
    fn touches(&self, inst: &Inst) -> bool {
        matches!(inst.op(), Op::Ld | Op::St)
            && inst.guard.is_none()
            && inst.memory.one().is_some_and(|memory| matches!(memory.space, StateSpace::Local | StateSpace::Generic))
            && matches!(self.address(inst), Some(Known::Address(_)))
    }

    /// True where an address of the array, or something that may be one, goes elsewhere.
    fn lets_go(&self, inst: &Inst) -> bool {
        if inst.memory.iter().any(|memory| memory.space == StateSpace::Local || self.address_in(memory).is_some()) {
            return true;
        }
        let reads_address = inst.sources.iter().any(|source| self.known(source).is_address());
        let makes_address = inst.writes().all(|register| {
            register.bank == Bank::Vector && matches!(self.addresses[register.index as usize], Known::Address(_))
        });
        reads_address && !(makes_address && is_followed(inst.op()))
    }

    /// Elements at which an access may begin.
    fn choices(&self, inst: &Inst) -> Option<Vec<u32>> {
        let Some(Known::Address(place)) = self.address(inst) else { return None };
        let elements = u32::from(inst.memory.one()?.elements);
        let last = self.n_elements.checked_sub(elements)?;
        let Some(place) = place else { return Some((0..=last).step_by(elements as usize).collect()) };
        let index = u32::try_from(place).ok().filter(|place| place % self.element == 0)? / self.element;
        (index <= last).then(|| vec![index])
    }

    /// What a loop that fills the array does, without the loop.
    fn fill(&self, insts: &[Inst], first_word: u32) -> Vec<Inst> {
        let store = insts.iter().find(|inst| self.touches(inst)).expect("the loop has a store");
        let mut rewriter = Rewriter::new(self, first_word, 0);
        let elements = store.memory.one().map_or(1, |memory| usize::from(memory.elements));
        (0..self.n_elements).for_each(|element| rewriter.copy(store, element as usize % elements, element, None));
        rewriter.insts
    }

    fn rewrite(&self, module: &mut Module, id: FunctionId) {
        let function = &mut module.functions[id];
        let first_word = function.registers.vector;
        function.registers.vector += self.n_elements * self.element / 4;
        function.local_bytes = 0;
        let mut next_predicate = function.registers.predicate;
        let block_ids = function.block_ids();
        let mut fills: BTreeMap<BlockId, Vec<Inst>> =
            self.fills.keys().map(|&fill| (fill, self.fill(&module.blocks[fill].insts, first_word))).collect();
        for block in block_ids {
            let mut rewriter = Rewriter::new(self, first_word, next_predicate);
            let insts = std::mem::take(&mut module.blocks[block].insts);
            let filled = self.fills.iter().find(|(_, after)| **after == block).map(|(fill, _)| *fill);
            rewriter.insts.extend(filled.and_then(|fill| fills.remove(&fill)).into_iter().flatten());
            for inst in insts {
                rewriter.inst(inst, self.fills.contains_key(&block));
            }
            next_predicate = rewriter.next_predicate;
            module.blocks[block].insts = rewriter.insts;
        }
        module.functions[id].registers.predicate = next_predicate;
    }
}

/// Operations that [`evaluate`] follows addresses through.
fn is_followed(op: Op) -> bool {
    matches!(op, Op::Mov | Op::Cvta | Op::Add | Op::Sub)
}

/// Words that hold parameters or what addresses are made of them: machine code reads those from constant memory.
fn read_from_parameters(module: &Module, function: &Function) -> Vec<bool> {
    let mut read = vec![true; function.registers.vector as usize];
    let insts = || function.block_ids().flat_map(|block| &module.blocks[block].insts);
    loop {
        let before = read.clone();
        for inst in insts() {
            let source = |source: &Operand| match source.register() {
                Some(register) => register.words().all(|word| read.get(word as usize) == Some(&true)),
                None => true,
            };
            let from_parameter = match inst.op() {
                Op::Ld => inst.memory.one().is_some_and(|memory| memory.space == StateSpace::Param),
                Op::Mov | Op::Cvta => inst.sources.iter().all(source),
                _ => false,
            };
            let written = inst.writes().filter(|register| register.bank == Bank::Vector);
            let lost: Vec<u32> = if from_parameter { Vec::new() } else { written.flat_map(Register::words).collect() };
            lost.into_iter().for_each(|word| read[word as usize] = false);
        }
        if read == before {
            return read;
        }
    }
}

/// What is known about all words, whatever the order of execution.
fn known_words<'m, I: Iterator<Item = &'m Inst>>(function: &Function, insts: impl Fn() -> I) -> Option<Vec<Known>> {
    let mut words = vec![Known::Nothing; function.registers.vector as usize];
    loop {
        let mut changed = false;
        for inst in insts() {
            for (position, register) in inst.destinations.iter().enumerate() {
                let Some(register) = register.filter(|register| register.bank == Bank::Vector) else { continue };
                let made = if position == 0 { evaluate(&words, inst) } else { Known::ANY };
                // Only low words hold what matters of an address: frames are small.
                for (at, word) in register.words().enumerate() {
                    let made = if at == 0 { made } else { Known::ANY };
                    let word = words.get_mut(word as usize)?;
                    let joined = word.join(made);
                    changed |= joined != *word;
                    *word = joined;
                }
            }
        }
        if !changed {
            return Some(words);
        }
    }
}

fn known_operand(words: &[Known], operand: &Operand) -> Known {
    match *operand {
        Operand::Register(register) if register.bank == Bank::Vector => {
            words.get(register.index as usize).copied().unwrap_or(Known::ANY)
        }
        Operand::Immediate(value) => Known::Number(Some(value.cast_signed())),
        Operand::Frame(offset) => Known::Address(Some(offset)),
        _ => Known::ANY,
    }
}

fn evaluate(words: &[Known], inst: &Inst) -> Known {
    let source = |index: usize| inst.sources.get(index).map_or(Known::ANY, |source| known_operand(words, source));
    match inst.op() {
        Op::Mov | Op::Cvta => source(0),
        Op::Add => source(0).plus(source(1), 1),
        Op::Sub => source(0).plus(source(1), -1),
        _ => Known::ANY,
    }
}

/// Writes the operations of a block anew.
struct Rewriter<'a> {
    array: &'a LocalArray,
    /// Word of the first element.
    first_word: u32,
    next_predicate: u32,
    /// Predicates that say that a word holds a value, as long as it does.
    compared: Vec<(u32, i64, Register)>,
    insts: Vec<Inst>,
}

impl<'a> Rewriter<'a> {
    fn new(array: &'a LocalArray, first_word: u32, next_predicate: u32) -> Self {
        Self { array, first_word, next_predicate, compared: Vec::new(), insts: Vec::new() }
    }

    fn inst(&mut self, inst: Inst, is_filled: bool) {
        if self.array.touches(&inst) {
            if !is_filled {
                self.access(&inst);
            }
        } else if let Some(narrow) = self.narrowed(&inst) {
            self.insts.push(narrow);
        } else {
            self.insts.push(inst.clone());
        }
        let written: Vec<u32> =
            inst.writes().filter(|register| register.bank == Bank::Vector).map(|r| r.index).collect();
        self.compared.retain(|(word, ..)| !written.contains(word));
    }

    /// Addresses of local memory have 32 bits in machine code.
    fn narrowed(&self, inst: &Inst) -> Option<Inst> {
        let [Some(made)] = inst.destinations[..] else { return None };
        if made.bank != Bank::Vector || !self.array.addresses[made.index as usize].is_address() {
            return None;
        }
        let mut narrow = inst.clone();
        narrow.ty = ScalarType::U32;
        narrow.source_ty = ScalarType::U32;
        narrow.operation = match inst.operation {
            Operation::Add(_) => Operation::Add(Sum::default()),
            Operation::Sub(_) => Operation::Sub(Sum::default()),
            Operation::Cvta(_) => Operation::Mov,
            operation => operation,
        };
        narrow.destinations = vec![Some(Register::vector(made.index, Width::Word))];
        let low = |source: &Operand| match (self.array.known(source), *source) {
            (Known::Number(Some(one)) | Known::Address(Some(one)), _) => {
                Operand::Immediate(one.cast_unsigned() & 0xffff_ffff)
            }
            (_, Operand::Register(register)) => Operand::Register(Register::vector(register.index, Width::Word)),
            (_, Operand::Immediate(value)) => Operand::Immediate(value & 0xffff_ffff),
            (_, source) => source,
        };
        narrow.sources = inst.sources.iter().map(low).collect();
        if let Known::Address(Some(place)) = self.array.addresses[made.index as usize] {
            narrow.operation = Operation::Mov;
            narrow.sources = vec![Operand::Immediate(place.cast_unsigned() & 0xffff_ffff)];
        } else if narrow.op() == Op::Add {
            // Nothing is added to the address of the first element.
            let zero = narrow.sources.iter().position(|source| *source == Operand::Immediate(0));
            if let Some(zero) = zero {
                narrow.operation = Operation::Mov;
                narrow.sources.remove(zero);
            }
        }
        Some(narrow)
    }

    fn access(&mut self, inst: &Inst) {
        let choices = self.array.choices(inst).expect("an access of the array has an address");
        let fixed = self.array.is_fixed(inst);
        for choice in choices {
            let guard = if fixed { None } else { Some(self.chosen(inst, choice)) };
            let elements = inst.memory.one().map_or(0, |memory| u32::from(memory.elements));
            for at in 0..elements {
                self.copy(inst, at as usize, choice + at, guard);
            }
        }
    }

    /// Copies between an element and the register of the access at this position.
    fn copy(&mut self, inst: &Inst, at: usize, element: u32, guard: Option<Guard>) {
        let words = self.array.element / 4;
        let width = if words == 1 { Width::Word } else { Width::Pair };
        let place = Register::vector(self.first_word + element * words, width);
        let (to, from) = if inst.op() == Op::Ld {
            (inst.destinations[at], Operand::Register(place))
        } else {
            (Some(place), inst.sources[at])
        };
        if to.is_some() {
            let mut copy = Inst::new(inst.pc, Operation::Mov, inst.ty);
            copy.guard = guard;
            copy.destinations = vec![to];
            copy.sources = vec![from];
            self.insts.push(copy);
        }
    }

    /// The predicate that an access begins at an element.
    fn chosen(&mut self, inst: &Inst, element: u32) -> Guard {
        let memory = inst.memory.one().expect("an access of the array touches memory");
        let base = memory.base.register().expect("only a register has several values");
        let value = i64::from(element * self.array.element) - memory.offset;
        let known = self.compared.iter().find(|(word, compared, _)| (*word, *compared) == (base.index, value));
        let predicate = match known {
            Some(&(.., predicate)) => predicate,
            None => self.compare(inst.pc, base.index, value),
        };
        Guard { predicate, negated: false }
    }

    fn compare(&mut self, pc: Pc, word: u32, value: i64) -> Register {
        let predicate = Register::predicate(self.next_predicate);
        self.next_predicate += 1;
        let equal = Operation::Setp(Comparison::new(CompareOp::Eq));
        let mut compare = Inst::new(pc, equal, ScalarType::U32);
        compare.destinations = vec![Some(predicate)];
        compare.sources = vec![
            Operand::Register(Register::vector(word, Width::Word)),
            Operand::Immediate(value.cast_unsigned() & 0xffff_ffff),
        ];
        self.insts.push(compare);
        self.compared.push((word, value, predicate));
        predicate
    }
}
