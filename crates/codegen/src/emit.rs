//! Machine instructions: made of nodes by their recipes, and written out as code.

use std::collections::HashMap;

use warplens_ir::{Function, Module, Unrolled};
use warplens_isa::{AtomicOp, BlockId, Family, Op, Operation, Pc, StateSpace};
use warplens_trace::{Chain, Code, IntegerLanes, MachineClass, MachineInst, NO_SLOT, RegisterNumber};

use crate::constants::Constants;
use crate::divergence;
use crate::generate::places;
use crate::loops;
use crate::node::{Address, Body, Form, Node, NodeId, Word};
use crate::number::Numbers;
use crate::select::{Recipe, Stage, recipe, way_of_atomic};
use crate::target::Target;

/// A machine instruction before its registers have numbers.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Atom {
    /// The node that it is a part of; none for what every kernel begins with.
    pub(crate) node: Option<NodeId>,
    pub(crate) class: MachineClass,
    pub(crate) lanes: IntegerLanes,
    pub(crate) amount: u32,
    pub(crate) slot: u16,
    /// Which block of a chain the slot is of.
    pub(crate) turn: u16,
    pub(crate) space: StateSpace,
    pub(crate) reads: Vec<Word>,
    pub(crate) writes: Vec<Word>,
    pub(crate) addend: Option<Word>,
    pub(crate) guard: Option<Word>,
    /// Another instruction writes the same words in other lanes ([`MachineInst::beside`]).
    pub(crate) beside: bool,
    /// Where the guard is off, what it writes keeps a value that another instruction wrote.
    pub(crate) keeps: bool,
    /// Registers that it reads of each bank, once that is known.
    pub(crate) bank_reads: [u8; 2],
    pub(crate) pc: Pc,
}

/// The machine instructions of a function.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Selected {
    /// By position of the block.
    pub(crate) blocks: Vec<Vec<Atom>>,
    /// Words, with those between the instructions of a recipe.
    pub(crate) n_words: u32,
}

/// Selects machine instructions for all nodes of a function.
pub(crate) fn select(body: &Body<'_>, target: &Target) -> Selected {
    let n_words = body.definitions.len() as u32;
    let differs = divergence::differing(body);
    let mut selector = Selector {
        body,
        target,
        n_words,
        differs,
        in_front: if target.is_from(9, 0) { loops::in_front(body) } else { (0..body.blocks.len()).collect() },
        out: Vec::new(),
        moved_out: Vec::new(),
        constants: Constants::default(),
    };
    let mut blocks = Vec::with_capacity(body.blocks.len());
    for (position, ids) in body.blocks.iter().enumerate() {
        if position == 0 && body.function.is_kernel() {
            selector.prologue();
        }
        for &id in ids {
            selector.node(id);
        }
        selector.join_accesses();
        blocks.push(std::mem::take(&mut selector.out));
    }
    for (position, atom) in selector.moved_out {
        let block = &mut blocks[position];
        let at = block.iter().rposition(|atom| atom.class != MachineClass::Branch).map_or(0, |last| last + 1);
        block.insert(at, atom);
    }
    Selected { blocks, n_words: selector.n_words }
}

pub(crate) struct Selector<'a, 'm> {
    pub(crate) body: &'a Body<'m>,
    pub(crate) target: &'a Target,
    n_words: u32,
    /// By word: it may differ between the lanes of a warp.
    differs: Vec<bool>,
    /// By block: where what does not change is brought to a register. Before compute capability 9.0 ptxas does that anew
    /// in each turn of a loop, where it is a copy.
    pub(crate) in_front: Vec<usize>,
    pub(crate) out: Vec<Atom>,
    /// Instructions for blocks in front of loops.
    pub(crate) moved_out: Vec<(usize, Atom)>,
    pub(crate) constants: Constants,
}

impl Selector<'_, '_> {
    pub(crate) fn fresh(&mut self) -> Word {
        self.n_words += 1;
        self.n_words - 1
    }

    /// The stack pointer is set up in every kernel, and from 8.0 on the descriptor of global memory in those that use it.
    fn prologue(&mut self) {
        let Some(first) = self.body.blocks.iter().flatten().map(|&id| self.body.nodes[id].inst.pc).next() else {
            return;
        };
        let mut atom = |class: MachineClass| self.out.push(Atom { class, ..Atom::plain(None, first) });
        if self.target.is_from(2, 0) {
            atom(MachineClass::Move);
        }
        let uses_global = self.body.nodes.iter().any(|node| {
            node.address
                .as_ref()
                .is_some_and(|address| matches!(address.space, StateSpace::Global | StateSpace::Generic))
        });
        if self.target.is_from(8, 0) && uses_global {
            atom(MachineClass::Uniform);
        }
    }

    fn node(&mut self, id: NodeId) {
        let node = &self.body.nodes[id];
        let added_up = self.added_up(node);
        let recipe = match &added_up {
            Some(chain) => Recipe::Chain(chain.clone()),
            None => recipe(self.body, node, self.target),
        };
        let constants = self.constants(id, &recipe);
        let first = self.out.len();
        match recipe {
            Recipe::Nothing => {}
            Recipe::Amount(class, amount) => {
                let atom = self.whole(id, class);
                self.out.push(Atom { amount, ..atom });
            }
            Recipe::Chain(mix) => self.chain(id, &mix),
            Recipe::Stages(stages) => self.stages(id, &stages),
            Recipe::PerWord(class) => self.per_word(id, class, false),
            Recipe::Carry(class) => self.per_word(id, class, true),
        }
        let node = &self.body.nodes[id];
        for atom in &mut self.out[first..] {
            // What goes from one instruction to the next is in registers of its own.
            atom.beside = node.beside && node.written().any(|word| atom.writes.contains(&word));
        }
        if let Some(way) = way_of_atomic(&self.body.nodes[id], self.target) {
            let way = if added_up.is_some() { MachineInst::ADDED_UP } else { way };
            for atom in self.out[first..].iter_mut().filter(|atom| atom.touches_memory()) {
                atom.amount = way;
            }
        }
        // What was moved to a register is read by the first of the instructions.
        if let Some(atom) = self.out.get_mut(first) {
            constants.into_iter().for_each(|word| push_new(&mut atom.reads, word));
        }
    }

    /// What becomes of an atomic operation on integers at an address that is the same in all lanes: they are added up first
    /// (or whatever is done to them), and one lane does the operation. That is what ptxas 13.0 does for sm_75, 80 and 90.
    fn added_up(&self, node: &Node<'_>) -> Option<Vec<(MachineClass, u32)>> {
        use MachineClass as C;
        let (Operation::Atom(atomic) | Operation::Red(atomic)) = node.inst.operation else { return None };
        let of_lanes = matches!(
            atomic.op,
            AtomicOp::Add | AtomicOp::Min | AtomicOp::Max | AtomicOp::And | AtomicOp::Or | AtomicOp::Xor
        );
        if !self.target.is_from(7, 5) || !of_lanes || !node.inst.ty.is_integer() || !self.is_at_one_address(node) {
            return None;
        }
        let is_same = !node.sources.iter().flat_map(|source| source.words()).any(|&word| self.differs[word as usize]);
        // Who votes is counted where all lanes have the same, and REDUX adds up 32 bits from 8.0 on; shuffles do elsewhere.
        let adds_by_unit = self.target.is_from(8, 0) && node.bits() == 32;
        let before: &[(MachineClass, u32)] = match (node.written().next().is_some(), is_same) {
            (false, true) => &[(C::Vote, 1), (C::Uniform, 1), (C::Convert, 1), (C::IntMul, 1)],
            (false, false) if adds_by_unit => &[(C::Vote, 1), (C::Uniform, 1), (C::Vote, 1), (C::Int, 1)],
            (false, false) => &[(C::Vote, 1), (C::Shuffle, 5), (C::Int, 5)],
            (true, true) => &[(C::Vote, 1), (C::Int, 1), (C::Convert, 2), (C::IntMul, 1), (C::Atomic, 1)],
            (true, false) => &[(C::Vote, 1), (C::Shuffle, 6), (C::Int, 6), (C::Atomic, 1)],
        };
        let last = match node.written().next().is_some() {
            true => &[(C::Shuffle, 1), (C::Int, 1)][..],
            false => &[(C::Reduction, 1)],
        };
        Some(before.iter().chain(last).copied().collect())
    }

    /// Constants at an address that is the same in all lanes come to a uniform register from compute capability 7.5 on.
    fn is_uniform_load(&self, node: &Node<'_>) -> bool {
        self.target.is_from(7, 5) && self.is_at_one_address(node)
    }

    /// True for accesses of all lanes to the same address.
    fn is_at_one_address(&self, node: &Node<'_>) -> bool {
        let same = |address: &Address| !address.base.words().iter().any(|&word| self.differs[word as usize]);
        node.address.as_ref().is_some_and(same)
    }

    fn keeps(&self, node: &Node<'_>) -> bool {
        node.guard.is_some() && node.written().any(|word| !self.body.is_single(&[word]))
    }

    /// One instruction that does all.
    fn whole(&mut self, id: NodeId, class: MachineClass) -> Atom {
        let node = &self.body.nodes[id];
        let mut atom = Atom::plain(Some(id), node.inst.pc);
        atom.class = class;
        (atom.slot, atom.turn) = (node.slot, node.turn);
        if class == MachineClass::Load {
            atom.amount = node.merged;
        }
        atom.space = node.address.as_ref().map_or(StateSpace::Generic, |address| address.space);
        if node.takes_shared {
            atom.space = StateSpace::Shared;
        }
        if class == MachineClass::Load && atom.space == StateSpace::Const && self.is_uniform_load(node) {
            atom.class = MachineClass::Uniform;
            atom.slot = NO_SLOT;
        }
        node.reads().for_each(|word| push_new(&mut atom.reads, word));
        atom.writes = node.written().collect();
        atom.addend = addend(node);
        atom.guard = node.guard;
        atom.keeps = self.keeps(node);
        atom
    }

    /// Each instruction reads the result of the one before; the guard holds for all.
    fn chain(&mut self, id: NodeId, mix: &[(MachineClass, u32)]) {
        let total: u32 = mix.iter().map(|&(_, count)| count).sum();
        let classes = mix.iter().flat_map(|&(class, count)| std::iter::repeat_n(class, count as usize));
        let mut carried = None;
        for (index, class) in classes.enumerate() {
            let is_last = index as u32 + 1 == total;
            let mut atom = self.whole(id, class);
            if !is_last {
                let word = self.fresh();
                atom.writes = vec![word];
                atom.addend = None;
            }
            if let Some(word) = carried {
                let last = atom.addend.filter(|_| is_last);
                atom.reads = std::iter::once(word).chain(last).chain(atom.guard).collect();
            }
            // Only one instruction of a chain touches memory.
            if !is_memory(class) && !self.body.nodes[id].takes_shared {
                atom.slot = NO_SLOT;
            }
            carried = atom.writes.first().copied();
            self.out.push(atom);
        }
    }

    /// Each stage goes on with the results of the one before; the last writes the words of the node.
    fn stages(&mut self, id: NodeId, stages: &[Stage]) {
        let written: Vec<Word> = self.body.nodes[id].written().collect();
        let mut carried: Vec<Word> = Vec::new();
        for (index, stage) in stages.iter().enumerate() {
            let parts = stage.parts as usize;
            let share = written.len().div_ceil(parts.max(1));
            let mut results = Vec::with_capacity(parts);
            for part in 0..parts {
                let mut atom = Atom { amount: stage.amount, ..self.whole(id, stage.class) };
                match carried.get(part) {
                    Some(&own) if carried.len() == parts => push_new(&mut atom.reads, own),
                    _ => carried.iter().for_each(|&word| push_new(&mut atom.reads, word)),
                }
                if index + 1 < stages.len() {
                    atom.writes = vec![self.fresh()];
                    results.extend(atom.writes.first());
                } else {
                    atom.writes = written.iter().skip(part * share).take(share).copied().collect();
                }
                self.out.push(atom);
            }
            carried = results;
        }
    }

    /// A fragment of a matrix is loaded or stored by several instructions, which are one instruction of the program and so
    /// have one slot: the first of them has all accesses and results, the others only take their time in the memory unit.
    fn join_accesses(&mut self) {
        let mut firsts: HashMap<(Pc, MachineClass), usize> = HashMap::new();
        for at in 0..self.out.len() {
            let Atom { pc, class, .. } = self.out[at];
            let family = self.body.key(pc).family;
            if !self.out[at].touches_memory() || !matches!(family, Family::WmmaLoad | Family::WmmaStore) {
                continue;
            }
            let first = *firsts.entry((pc, class)).or_insert(at);
            if first == at {
                continue;
            }
            self.out[at].slot = NO_SLOT;
            let writes = std::mem::take(&mut self.out[at].writes);
            let reads = self.out[at].reads.clone();
            self.out[first].writes.extend(writes);
            reads.into_iter().for_each(|word| push_new(&mut self.out[first].reads, word));
        }
    }

    /// One instruction for each word of the result.
    fn per_word(&mut self, id: NodeId, class: MachineClass, carries: bool) {
        let node = &self.body.nodes[id];
        let written: Vec<Word> = node.written().collect();
        let mut carried = None;
        for (position, &word) in written.iter().enumerate() {
            let mut atom = Atom::plain(Some(id), self.body.nodes[id].inst.pc);
            atom.class = class;
            for source in &self.body.nodes[id].sources {
                let words = source.words();
                // A predicate, a narrow value or a shift amount goes into all of them.
                if words.len() < written.len() {
                    words.iter().for_each(|&word| push_new(&mut atom.reads, word));
                } else {
                    push_new(&mut atom.reads, words[position]);
                }
            }
            atom.guard = self.body.nodes[id].guard;
            atom.keeps = self.keeps(&self.body.nodes[id]);
            atom.guard.iter().for_each(|&guard| push_new(&mut atom.reads, guard));
            atom.writes = vec![word];
            atom.reads.extend(carried.take());
            if carries && position + 1 < written.len() {
                let carry = self.fresh();
                atom.writes.push(carry);
                carried = Some(carry);
            }
            self.out.push(atom);
        }
    }
}

impl Atom {
    pub(crate) fn plain(node: Option<NodeId>, pc: Pc) -> Self {
        Self {
            node,
            class: MachineClass::Nop,
            lanes: IntegerLanes::OfClass,
            amount: 1,
            slot: NO_SLOT,
            turn: 0,
            space: StateSpace::Generic,
            reads: Vec::new(),
            writes: Vec::new(),
            addend: None,
            guard: None,
            beside: false,
            keeps: false,
            bank_reads: [0; 2],
            pc,
        }
    }

    /// True when it has accesses of its own.
    pub(crate) fn touches_memory(&self) -> bool {
        self.slot != NO_SLOT
    }
}

fn is_memory(class: MachineClass) -> bool {
    use MachineClass as C;
    matches!(class, C::Load | C::Texture | C::Store | C::Atomic | C::Reduction | C::AsyncCopy)
}

/// The register that a multiply-add adds last.
fn addend(node: &Node<'_>) -> Option<Word> {
    let adds = match node.form {
        Form::MultiplyAdd => true,
        Form::AsWritten => matches!(node.inst.op(), Op::Fma | Op::Mad | Op::MadWide | Op::MadHi | Op::Mad24 | Op::Dp4a),
        _ => false,
    };
    let last = if adds { node.sources.get(2)? } else { return None };
    last.words().first().copied()
}

pub(crate) fn push_new(words: &mut Vec<Word>, word: Word) {
    if !words.contains(&word) {
        words.push(word);
    }
}

/// Writes code out, function by function.
pub(crate) struct Emitter {
    code: Code,
}

impl Emitter {
    pub(crate) fn new(module: &Module) -> Self {
        Self { code: Code { blocks: vec![0..0; module.blocks.len()], places: places(module), ..Code::default() } }
    }

    /// The first register that is still free.
    pub(crate) fn next_register(&self) -> RegisterNumber {
        self.code.n_registers
    }

    /// Adds the instructions of those blocks of a function that are wanted.
    pub(crate) fn add(
        &mut self,
        function: &Function,
        selected: &Selected,
        numbers: &Numbers,
        unrolled: Option<&Unrolled>,
        wanted: impl Fn(BlockId) -> bool,
    ) {
        for (block, atoms) in function.block_ids().zip(&selected.blocks).filter(|&(block, _)| wanted(block)) {
            let first = self.count();
            for (atom, numbered) in atoms.iter().zip(numbers.block(function.block_position(block))) {
                let (pc, _) = unrolled.map_or((atom.pc, 0), |unrolled| unrolled.origin(atom.pc));
                let mut inst = MachineInst::new(atom.class, pc.0);
                inst.lanes = atom.lanes;
                inst.space = atom.space;
                inst.amount = atom.amount;
                inst.slot = atom.slot;
                inst.turn = atom.turn;
                inst.reads = self.code.operands_of(&numbered.reads);
                inst.writes = self.code.operands_of(&numbered.writes);
                inst.addend = numbered.addend;
                (inst.guard, inst.beside) = (numbered.guard, atom.beside);
                inst.bank_reads = atom.bank_reads;
                self.code.insts.push(inst);
            }
            let insts = first..self.count();
            match unrolled.and_then(|unrolled| Some(&unrolled.chains[unrolled.chain(block)?])) {
                None => self.code.blocks[block.0 as usize] = insts,
                Some(chain) => {
                    let merged = u32::try_from(self.code.blocks.len()).expect("fewer than 2^32 blocks");
                    let blocks = chain.blocks.iter().map(|block| block.0).collect();
                    self.code.chains.push(Chain { blocks, merged });
                    self.code.blocks.push(insts);
                }
            }
        }
        self.code.n_registers = self.code.n_registers.max(numbers.end());
    }

    fn count(&self) -> u32 {
        u32::try_from(self.code.insts.len()).expect("fewer than 2^32 instructions")
    }

    pub(crate) fn finish(mut self) -> Code {
        self.code.chains.sort_unstable_by_key(|chain| chain.blocks[0]);
        self.code
    }
}
