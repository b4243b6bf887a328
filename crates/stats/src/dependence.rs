//! Which loads of a basic block can be in flight together.
//!
//! A batch is a set of global loads that a warp issues before it needs the value of one of them; it ends at the first
//! instruction that reads a register one of them writes. [`Steps::run`] carries an open batch through a block and
//! counts the batches that start in it, in two orders:
//!
//! - program order: as written;
//! - reordered: instructions move freely inside the block as far as their operands allow. Nothing moves across a
//!   barrier, fence, atomic, ordered access or call, and an access does not move across a store to the same space that
//!   may touch the same bytes. Registers are as good as renamed: only true dependences count.
//!
//! The reordered count gives every instruction a level: the number of batches that must have ended before it can
//! issue. Loads of one level form a batch, and a block ends as many batches as its highest level.
//!
//! In program order the instructions that issue while a value is on its way, and do not need it, are counted too: they
//! overlap with memory inside of the warp. Only the program's own order says how far apart a load and its use are, so
//! that a prefetch counts as one. Loads and instructions of class `virtual` are left out.

use rustc_hash::{FxHashMap, FxHashSet};
use warplens_ir::alias::{self, Writes};
use warplens_ir::{CallGraph, Flow, Function, Inst, Module, Order, Register};
use warplens_isa::{BlockId, Op, OpClass, Pc, StateSpace};

/// A register word of the call graph, numbered by [`WordNumbers`].
pub(crate) type Word = u32;

/// First word of each function and bank, so that words of different functions and banks differ.
pub(crate) struct WordNumbers {
    first: FxHashMap<u32, [u32; 5]>,
}

impl WordNumbers {
    /// Numbers the words of `functions`.
    pub(crate) fn new<'a>(functions: impl Iterator<Item = &'a Function>) -> Self {
        let mut first = FxHashMap::default();
        let mut next = 0;
        for function in functions {
            let words = function.registers;
            let sizes = [words.vector, words.uniform, words.predicate, words.uniform_predicate, words.convergence];
            first.insert(
                function.first_block.0,
                sizes.map(|size| {
                    next += size;
                    next - size
                }),
            );
        }
        Self { first }
    }

    fn of(&self, function: &Function, register: Register) -> impl Iterator<Item = Word> + use<> {
        let first = self.first.get(&function.first_block.0).map_or(0, |banks| banks[register.bank as usize]);
        register.words().map(move |word| first + word)
    }
}

/// An open batch, as a warp carries it from block to block.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct OpenBatch {
    /// A batch is open.
    open: bool,
    /// Words that its loads write and nothing has read yet, ascending.
    pending: Vec<Word>,
}

/// The open batches of both orders.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct BatchState {
    reordered: OpenBatch,
    program_order: OpenBatch,
}

/// What happens to batches in a block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Passage {
    /// State after the block.
    pub(crate) state: BatchState,
    /// Global loads.
    pub(crate) loads: u32,
    /// Batches that start, with reordering.
    pub(crate) batches: u32,
    /// Batches that start, in program order.
    pub(crate) batches_program_order: u32,
    /// Instructions that issue while a loaded value is on its way, in program order.
    pub(crate) overlap: u32,
}

/// The instructions of a block as far as dependences go.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    steps: Vec<Step>,
}

/// One operation of a block as far as dependences go.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) reads: Box<[Word]>,
    pub(crate) writes: Box<[Word]>,
    /// The old value of `writes` survives in some lanes.
    pub(crate) is_guarded: bool,
    load: GlobalLoad,
    /// The first operation of an instruction that machine code has, too.
    is_issued: bool,
    pub(crate) is_barrier: bool,
    pub(crate) memory: Vec<Touch>,
}

/// Whether a step loads from global memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum GlobalLoad {
    No,
    Always,
    /// If this bit of [`Loaded`] says so: its guard may be false in every lane, its address may lie in another space.
    Sometimes(u32),
}

/// The loads of a block that only sometimes load from global memory, and did in one execution.
pub(crate) type Loaded = u64;

impl Step {
    fn is_global_load(&self, loaded: Loaded) -> bool {
        match self.load {
            GlobalLoad::No => false,
            GlobalLoad::Always => true,
            GlobalLoad::Sometimes(bit) => loaded >> bit & 1 == 1,
        }
    }
}

/// The bytes that a memory instruction touches; values of registers are told apart by their first word and the writes
/// before.
pub(crate) type Touch = alias::Touch<(Word, u32)>;

impl Steps {
    /// The steps of `block` of `function`.
    pub(crate) fn new(
        module: &Module,
        calls: &CallGraph,
        function: &Function,
        block: BlockId,
        words: &WordNumbers,
    ) -> Self {
        let body = &module.blocks[block];
        let mut versions = Writes::default();
        let mut n_sometimes = 0;
        let mut pcs_seen = FxHashSet::default();
        let mut steps: Vec<Step> = body
            .insts
            .iter()
            .map(|inst| Step {
                is_issued: is_issued(module, inst.pc) && pcs_seen.insert(inst.pc),
                ..step(module, function, inst, words, &mut versions, &mut n_sometimes)
            })
            .collect();
        if let Some(last) = steps.last_mut() {
            let of = |owner: &Function, registers: &[Register]| -> Vec<Word> {
                registers.iter().flat_map(|&register| words.of(owner, register)).collect()
            };
            // The caller's copies of the results are made at a return.
            if matches!(body.flow, Flow::Return { .. }) && !function.is_kernel() {
                last.reads = last.reads.iter().copied().chain(of(function, &function.results)).collect();
            }
            // The arguments of the functions that a call may enter are written here, whatever an earlier call left in them.
            let callees = calls.called_by(body).iter().map(|&callee| &module.functions[callee]);
            let arguments = callees.flat_map(|callee| of(callee, &callee.arguments));
            last.writes = last.writes.iter().copied().chain(arguments).collect();
        }
        Self { steps }
    }

    /// The operations, one for each of the block.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter()
    }

    /// Positions of the instructions that only sometimes load from global memory, each with its bit of [`Loaded`].
    pub(crate) fn sometimes(&self) -> impl Iterator<Item = (usize, u32)> {
        self.steps.iter().enumerate().filter_map(|(at, step)| match step.load {
            GlobalLoad::Sometimes(bit) => Some((at, bit)),
            _ => None,
        })
    }

    /// Carries `state` through the block, in which the loads of `loaded` took place.
    pub(crate) fn run(&self, state: &BatchState, loaded: Loaded) -> Passage {
        let (reordered, batches) = self.run_reordered(&state.reordered, loaded);
        let (program_order, batches_program_order, overlap) = self.run_in_order(&state.program_order, loaded);
        let loads = self.steps.iter().filter(|step| step.is_global_load(loaded)).count() as u32;
        Passage { state: BatchState { reordered, program_order }, loads, batches, batches_program_order, overlap }
    }

    /// The batch that is open afterwards, those that start, and the instructions that overlap with one.
    fn run_in_order(&self, batch: &OpenBatch, loaded: Loaded) -> (OpenBatch, u32, u32) {
        let OpenBatch { mut open, mut pending } = batch.clone();
        let (mut starts, mut overlap) = (0, 0);
        for step in &self.steps {
            if step.reads.iter().any(|word| pending.contains(word)) {
                pending.clear();
                open = false;
            }
            if step.is_global_load(loaded) {
                starts += u32::from(!open);
                open = true;
                pending.extend(step.writes.iter().copied());
                continue;
            }
            overlap += u32::from(step.is_issued && !pending.is_empty());
            if !step.is_guarded {
                pending.retain(|word| !step.writes.contains(word));
            }
        }
        (OpenBatch::new(open, pending), starts, overlap)
    }

    fn run_reordered(&self, batch: &OpenBatch, loaded: Loaded) -> (OpenBatch, u32) {
        let mut levels = Levels::new(batch);
        for step in &self.steps {
            levels.issue(step, step.is_global_load(loaded));
        }
        let last = levels.highest;
        let has_load = |level: u32| levels.load_levels.binary_search(&level).is_ok();
        let starts = levels.load_levels.len() as u32 - u32::from(batch.open && has_load(0));
        let open = has_load(last) || (last == 0 && batch.open);
        let pending = levels.available.iter().filter(|&(_, &level)| level > last).map(|(&word, _)| word).collect();
        (OpenBatch::new(open, pending), starts)
    }
}

impl OpenBatch {
    fn new(open: bool, mut pending: Vec<Word>) -> Self {
        pending.sort_unstable();
        pending.dedup();
        Self { open, pending }
    }
}

/// Levels of the instructions of a block, one after the other.
struct Levels {
    /// Level at which a word can be read, if not 0.
    available: FxHashMap<Word, u32>,
    /// Level of the last instruction that nothing crosses.
    floor: u32,
    /// Highest level so far.
    highest: u32,
    /// Levels that have a global load, ascending.
    load_levels: Vec<u32>,
    /// Accesses since the last barrier, with their levels.
    accesses: Vec<(Touch, u32)>,
    /// Highest level of the accesses that `accesses` no longer holds.
    crowd: u32,
}

/// Accesses that are compared one by one; older ones are taken to alias, so that huge blocks stay cheap.
pub(crate) const MAX_ACCESSES: usize = 1024;

impl Levels {
    fn new(batch: &OpenBatch) -> Self {
        let available = batch.pending.iter().map(|&word| (word, 1)).collect();
        Self { available, floor: 0, highest: 0, load_levels: Vec::new(), accesses: Vec::new(), crowd: 0 }
    }

    fn issue(&mut self, step: &Step, is_global_load: bool) {
        let operand = |word: &Word| self.available.get(word).copied().unwrap_or(0);
        let mut level = step.reads.iter().map(operand).fold(self.floor, u32::max);
        for touch in &step.memory {
            let earlier = self.accesses.iter().filter(|(other, _)| touch.must_follow(other));
            level = earlier.map(|&(_, level)| level).fold(level.max(self.crowd), u32::max);
        }
        if step.is_barrier {
            level = level.max(self.highest);
            self.floor = level;
            self.accesses.clear();
        } else {
            step.memory.iter().for_each(|touch| self.remember(*touch, level));
        }
        self.highest = self.highest.max(level);
        if is_global_load && let Err(at) = self.load_levels.binary_search(&level) {
            self.load_levels.insert(at, level);
        }
        let ready = level + u32::from(is_global_load);
        for &word in &step.writes {
            let entry = self.available.entry(word).or_insert(0);
            *entry = if step.is_guarded { ready.max(*entry) } else { ready };
        }
    }

    /// Keeps an access for those that follow; of two that touch the same way only the later one matters.
    fn remember(&mut self, touch: Touch, level: u32) {
        if self.accesses.len() == MAX_ACCESSES {
            self.crowd = self.accesses.drain(..).map(|(_, level)| level).fold(self.crowd, u32::max);
        }
        let same = self.accesses.iter_mut().find(|(other, _)| *other == touch);
        match same {
            Some((_, known)) => *known = level.max(*known),
            None => self.accesses.push((touch, level)),
        }
    }
}

fn step(
    module: &Module,
    function: &Function,
    inst: &Inst,
    words: &WordNumbers,
    versions: &mut Writes<Word>,
    n_sometimes: &mut u32,
) -> Step {
    let reads = inst.reads().flat_map(|register| words.of(function, register)).collect();
    let writes: Box<[Word]> = inst.writes().flat_map(|register| words.of(function, register)).collect();
    let value = |register: Register| {
        let first = words.of(function, register).next().unwrap_or(0);
        (first, versions.before(words.of(function, register)))
    };
    let memory = Touch::all(module, inst, value);
    writes.iter().for_each(|&word| versions.add(word));
    Step {
        reads,
        writes,
        is_guarded: inst.guard.is_some(),
        load: global_load(inst, n_sometimes),
        is_issued: true,
        is_barrier: is_barrier(inst),
        memory,
    }
}

/// True for instructions that machine code has, too.
fn is_issued(module: &Module, pc: Pc) -> bool {
    module.pcs[pc].class != OpClass::Virtual
}

/// Beyond 64 in a block, loads that may not take place are taken to.
fn global_load(inst: &Inst, n_sometimes: &mut u32) -> GlobalLoad {
    let space = inst.memory.one().map(|memory| memory.space).filter(|_| inst.op() == Op::Ld);
    match (space, inst.guard) {
        (Some(StateSpace::Global), None) => GlobalLoad::Always,
        (Some(StateSpace::Global | StateSpace::Generic), _) if *n_sometimes < Loaded::BITS => {
            *n_sometimes += 1;
            GlobalLoad::Sometimes(*n_sometimes - 1)
        }
        (Some(StateSpace::Global | StateSpace::Generic), _) => GlobalLoad::Always,
        _ => GlobalLoad::No,
    }
}

/// True for instructions that no other may cross.
fn is_barrier(inst: &Inst) -> bool {
    match Order::of(inst) {
        Order::Free | Order::Load | Order::Store | Order::Exchange | Order::Clock => false,
        Order::Strict | Order::Fence => true,
        // What a function does is not known here; other ends only say where to go on.
        Order::End => inst.op() == Op::Call,
    }
}
