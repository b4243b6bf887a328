//! What is left of a function's operations when everything is gone that machine instructions do on the side.

use std::collections::HashMap;

use warplens_isa::{Effect, Op, ScalarType, SpecialRegister, StateSpace};

use crate::alias::{Touch, Writes};
use crate::{Accesses, Bank, Function, Inst, Module, Operand, Order, Register, WordSet};

/// How a step may move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Freely.
    Plain,
    /// Not across a store that may touch the same bytes.
    Load,
    /// Not across anything that may touch the same bytes.
    Store,
    /// Nothing moves across it.
    Barrier,
}

/// An operation with the words that it really needs.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) kind: Kind,
    pub(super) reads: Vec<u32>,
    pub(super) writes: Vec<u32>,
    /// Some lanes keep the old value.
    pub(super) is_guarded: bool,
    /// Bytes touched that something may write.
    pub(super) memory: Vec<Place>,
    /// Cycles until the result can be used, as far as scheduling cares.
    pub(super) latency: u32,
    /// Adds a constant to a word in place: what loops count with.
    pub(super) is_count: bool,
}

/// Bytes that an access touches; values of registers are told apart by the writes before.
pub(super) type Place = Touch<(Register, u32)>;

impl Accesses for Step {
    fn reads(&self, visit: &mut dyn FnMut(u32)) {
        self.reads.iter().copied().for_each(visit);
    }

    fn writes(&self, visit: &mut dyn FnMut(u32)) {
        if !self.is_guarded {
            self.writes.iter().copied().for_each(visit);
        }
    }
}

/// What a word is in the machine program.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Meaning {
    /// A register of its own.
    Own,
    /// Computed where it is needed, out of these words.
    Folded(Vec<u32>),
}

/// The steps of a function.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// By position of the block.
    pub(super) blocks: Vec<Vec<Step>>,
    /// True for words of the vector bank, false for predicates.
    counts: Vec<bool>,
}

impl View {
    pub(super) fn new(module: &Module, function: &Function, target: u32) -> Self {
        // Uniform registers came with sm_75.
        let folding = Folding::new(module, function, target >= 75);
        let vector = function.registers.vector;
        let counts = (0..vector + function.registers.predicate).map(|word| word < vector).collect();
        let blocks = function.block_ids().map(|block| {
            let mut writes = Writes::default();
            let mut steps = Vec::new();
            for inst in &module.blocks[block].insts {
                steps.extend(folding.step(module, inst, &writes));
                inst.writes().flat_map(|register| folding.words(register)).for_each(|word| writes.add(word));
            }
            steps
        });
        Self { blocks: blocks.collect(), counts }
    }

    pub(super) fn n_words(&self) -> u32 {
        self.counts.len() as u32
    }

    /// Number of registers that the words take.
    pub(super) fn counts(&self, word: u32) -> bool {
        self.counts[word as usize]
    }

    /// A loop's body several times over, each copy with words of its own but what the last leaves behind.
    pub(super) fn repeat(&mut self, steps: &[Step], times: usize, live_out: &WordSet) -> Vec<Step> {
        let mut repeated = Vec::with_capacity(steps.len() * times);
        let mut names: HashMap<u32, u32> = HashMap::new();
        for copy in 0..times {
            for step in steps {
                let name = |word: &u32| names.get(word).copied().unwrap_or(*word);
                let reads = step.reads.iter().map(name).collect();
                let mut writes = Vec::with_capacity(step.writes.len());
                for &word in &step.writes {
                    let last = copy + 1 == times && live_out.contains(word);
                    let fresh = if last { word } else { self.fresh(word) };
                    names.insert(word, fresh);
                    writes.push(fresh);
                }
                // Copies count from values that nothing here tells apart.
                let memory = step.memory.iter().map(|memory| Place { origin: None, ..*memory }).collect();
                repeated.push(Step { reads, writes, memory, ..step.clone() });
            }
        }
        repeated
    }

    fn fresh(&mut self, like: u32) -> u32 {
        self.counts.push(self.counts[like as usize]);
        self.counts.len() as u32 - 1
    }
}

/// What the text of a function says about its words.
struct Facts {
    /// Number of writes, by word.
    definitions: Vec<u32>,
    /// By word: it only goes into 64-bit sums and addresses.
    is_address: Vec<bool>,
    n_vector: u32,
}

impl Facts {
    fn new(module: &Module, function: &Function) -> Self {
        let n_vector = function.registers.vector;
        let n = (n_vector + function.registers.predicate) as usize;
        let mut facts = Self { definitions: vec![0; n], is_address: vec![true; n], n_vector };
        for inst in function.block_ids().flat_map(|block| &module.blocks[block].insts) {
            for word in inst.writes().flat_map(|register| words(n_vector, register)) {
                facts.definitions[word as usize] += 1;
            }
            if inst.op() == Op::Add && inst.ty.bits() == 64 && inst.ty.is_integer() {
                continue;
            }
            for word in inst.sources.iter().filter_map(Operand::register).flat_map(|it| words(n_vector, it)) {
                facts.is_address[word as usize] = false;
            }
        }
        facts
    }

    /// Written in one place only.
    fn is_single(&self, register: Register) -> bool {
        words(self.n_vector, register).all(|word| self.definitions[word as usize] == 1)
    }

    fn is_address(&self, register: Register) -> bool {
        words(self.n_vector, register).all(|word| self.is_address[word as usize])
    }
}

/// Which words are folded into their uses.
struct Folding {
    /// By word; those of predicates follow those of the vector bank.
    meanings: Vec<Meaning>,
    n_vector: u32,
}

impl Folding {
    fn new(module: &Module, function: &Function, has_uniform: bool) -> Self {
        let facts = Facts::new(module, function);
        let mut folding = Self { meanings: vec![Meaning::Own; facts.definitions.len()], n_vector: facts.n_vector };
        for inst in function.block_ids().flat_map(|block| &module.blocks[block].insts) {
            let writes_once = inst.writes().all(|register| facts.is_single(register));
            if inst.guard.is_some() || inst.destinations.is_empty() || !writes_once {
                continue;
            }
            if folding.folds(inst, &facts, has_uniform) {
                folding.fold(inst);
            }
        }
        folding
    }

    fn words(&self, register: Register) -> impl Iterator<Item = u32> + use<> {
        words(self.n_vector, register)
    }

    /// True when the machine program has no instruction, or no register, for the operation.
    fn folds(&self, inst: &Inst, facts: &Facts, has_uniform: bool) -> bool {
        let sources_stay = inst.sources.iter().filter_map(Operand::register).all(|register| facts.is_single(register));
        let only_address = inst.writes().all(|register| facts.is_address(register));
        match inst.op() {
            Op::Ld => inst.memory.one().is_some_and(|memory| {
                memory.space == StateSpace::Param && !matches!(memory.base, Operand::Register(_))
            }),
            Op::Mov if inst.sources.iter().all(|operand| operand.register().is_none()) => true,
            Op::Mov | Op::Cvta => sources_stay,
            Op::ReadSpecial => inst.sources.iter().all(is_launch_constant),
            // A constant offset is part of the address.
            Op::Add if has_constant_offset(inst) && only_address => sources_stay,
            // A scaled index is part of the sum that it goes into.
            Op::MulWide | Op::Shl | Op::Cvt if is_wide(inst) && only_address => sources_stay,
            op if has_uniform && is_cheap_integer(op) && inst.ty.is_integer() => {
                sources_stay && inst.sources.iter().all(|operand| self.is_free(operand))
            }
            _ => false,
        }
    }

    fn is_free(&self, operand: &Operand) -> bool {
        match operand.register() {
            None => true,
            Some(register) => {
                self.words(register).all(|word| self.meanings[word as usize] == Meaning::Folded(Vec::new()))
            }
        }
    }

    fn fold(&mut self, inst: &Inst) {
        let mut sources = Vec::new();
        for register in inst.sources.iter().filter_map(Operand::register) {
            self.resolve(register, &mut sources);
        }
        let n_vector = self.n_vector;
        for word in inst.writes().flat_map(|register| words(n_vector, register)) {
            self.meanings[word as usize] = Meaning::Folded(sources.clone());
        }
    }

    /// Adds the words that a register really needs.
    fn resolve(&self, register: Register, words: &mut Vec<u32>) {
        for word in self.words(register) {
            match &self.meanings[word as usize] {
                Meaning::Own => push_new(words, word),
                Meaning::Folded(sources) => sources.iter().for_each(|&source| push_new(words, source)),
            }
        }
    }

    /// The step of an operation; none when it is folded.
    fn step(&self, module: &Module, inst: &Inst, before: &Writes<u32>) -> Option<Step> {
        let writes: Vec<u32> = inst.writes().flat_map(|register| self.words(register)).collect();
        let is_folded = |&word: &u32| self.meanings[word as usize] != Meaning::Own;
        if !writes.is_empty() && writes.iter().all(is_folded) {
            return None;
        }
        let mut reads = Vec::new();
        for register in inst.reads() {
            self.resolve(register, &mut reads);
        }
        let value = |register: Register| (register, before.before(self.words(register)));
        let memory = Touch::all(module, inst, value);
        Some(Step {
            kind: kind(inst),
            reads,
            writes,
            is_guarded: inst.guard.is_some(),
            memory,
            latency: latency(inst),
            is_count: is_count(inst),
        })
    }
}

/// Positions of a register's words among those of the vector bank and the predicates.
fn words(n_vector: u32, register: Register) -> impl Iterator<Item = u32> + use<> {
    let start = match register.bank {
        Bank::Vector => 0,
        Bank::Predicate => n_vector,
        // Registers of machine code: they are not part of what is estimated.
        _ => u32::MAX,
    };
    let words = if start == u32::MAX { 0..0 } else { register.words() };
    words.map(move |word| word + start)
}

fn push_new(words: &mut Vec<u32>, word: u32) {
    if !words.contains(&word) {
        words.push(word);
    }
}

/// True for widening conversions and scalings of an index.
fn is_wide(inst: &Inst) -> bool {
    match inst.op() {
        Op::MulWide => inst.sources.iter().any(|operand| operand.register().is_none()),
        Op::Cvt => inst.ty.bits() == 64 && inst.ty.is_integer() && inst.source_ty.is_integer(),
        _ => inst.ty.bits() == 64,
    }
}

/// Sizes of the launch are constants to the kernel, and so is the place of the CTA where there are uniform registers.
fn is_launch_constant(operand: &Operand) -> bool {
    matches!(
        operand,
        Operand::Special(SpecialRegister::Ntid(_) | SpecialRegister::Nctaid(_) | SpecialRegister::Ctaid(_))
    )
}

/// True for a 64-bit sum with a constant.
fn has_constant_offset(inst: &Inst) -> bool {
    inst.ty.bits() == 64 && inst.ty.is_integer() && inst.sources.iter().any(|operand| operand.register().is_none())
}

/// True for what the pipe of uniform registers can do.
fn is_cheap_integer(op: Op) -> bool {
    matches!(
        op,
        Op::Add
            | Op::Sub
            | Op::Mul
            | Op::Mad
            | Op::MulWide
            | Op::MadWide
            | Op::Neg
            | Op::Cvt
            | Op::Selp
            | Op::Shl
            | Op::Shr
            | Op::And
            | Op::Or
            | Op::Xor
            | Op::Min
            | Op::Max
    )
}

fn kind(inst: &Inst) -> Kind {
    match Order::of(inst) {
        Order::Free | Order::Exchange | Order::Clock => Kind::Plain,
        Order::Load => Kind::Load,
        Order::Store | Order::Strict => Kind::Store,
        Order::Fence | Order::End => Kind::Barrier,
    }
}

/// True for `add x, x, constant`.
fn is_count(inst: &Inst) -> bool {
    let same =
        |operand: &Operand| operand.register().is_some_and(|register| inst.destinations.contains(&Some(register)));
    matches!(inst.op(), Op::Add | Op::Sub)
        && inst.ty.is_integer()
        && inst.sources.iter().any(same)
        && inst.sources.iter().any(|operand| matches!(operand, Operand::Immediate(_)))
}

/// Cycles to wait for the result. These order operations as ptxas does; they are no measurements.
fn latency(inst: &Inst) -> u32 {
    match inst.op() {
        Op::Tex | Op::Tld4 | Op::Suld => 200,
        Op::Ld | Op::Ldmatrix | Op::Atom => match inst.memory.one().map(|memory| memory.space) {
            Some(StateSpace::Shared) => 40,
            Some(StateSpace::Const | StateSpace::Param) => 8,
            _ => 200,
        },
        op if matches!(op.effect(), Effect::Vote | Effect::Exchange) || op == Op::Cvt => 16,
        op if op.high_latency(inst.ty).is_some() => 16,
        _ if inst.ty == ScalarType::F64 => 8,
        _ => 2,
    }
}
