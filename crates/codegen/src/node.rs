//! Operations whose sources see through what machine code does without: copies, constants, parameters, address-space
//! conversions.

use std::collections::HashMap;

use warplens_ir::{Bank, Cfg, Dominators, Function, Inst, Memory, Module, Operand, Register, SignedValue, VariableId};
use warplens_isa::{BlockId, Effect, InstKey, Op, Pc, ScalarType, SpecialRegister, StateSpace};
use warplens_trace::NO_SLOT;

use crate::slots::Slots;

/// A word of the function: those of the vector bank first, then the predicates, then words made on the way.
pub(crate) type Word = u32;

/// Index of a node in [`Body::nodes`].
pub(crate) type NodeId = usize;

/// What a constant stands for that is no number yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Symbol {
    /// The address of a variable.
    Variable(VariableId),
    /// A word of a constant bank: bytes from the start of the parameters, or of a variable.
    Bank(Option<VariableId>, i64),
    /// A size of the launch.
    Special(SpecialRegister),
}

/// A value that an operation reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Source {
    /// The same for all threads of a launch: an immediate, a parameter, the address of a variable.
    Constant(Option<u64>, Option<Symbol>),
    /// Registers, least significant word first.
    Words(Vec<Word>),
}

impl Source {
    pub(crate) fn words(&self) -> &[Word] {
        match self {
            Self::Constant(..) => &[],
            Self::Words(words) => words,
        }
    }

    pub(crate) fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(..))
    }

    /// The immediate, if it is one.
    pub(crate) fn immediate(&self) -> Option<u64> {
        match self {
            Self::Constant(value, None) => *value,
            _ => None,
        }
    }
}

/// What a node has become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// What its operation says.
    AsWritten,
    /// The copy of a value into a register that several instructions write.
    Copy,
    /// A sum of up to three integers.
    Sum,
    /// A product plus an integer, in one operation; the addend is the last source.
    MultiplyAdd,
    /// A shifted integer plus another; the addend is the last source.
    ShiftAdd,
    /// Any function of up to three integers, bit by bit.
    Logic,
    /// The copy of the sign into the upper half of a wide integer.
    SignExtend,
    /// A permutation of bytes.
    Permute,
    /// Gone.
    Dead,
}

/// Bytes that an access touches.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Address {
    pub(crate) space: StateSpace,
    pub(crate) base: Source,
    /// Bytes from the base to the first that is touched.
    pub(crate) offset: i64,
    /// The variable that the offset counts from, besides the base.
    pub(crate) variable: Option<VariableId>,
    /// The base is multiplied by this power of two.
    pub(crate) scale: u32,
    /// Bytes touched by a lane.
    pub(crate) bytes: u32,
}

/// An operation on words.
#[derive(Clone, Debug)]
pub(crate) struct Node<'m> {
    pub(crate) inst: &'m Inst,
    pub(crate) form: Form,
    /// Position of its block in the function.
    pub(crate) block: usize,
    pub(crate) sources: Vec<Source>,
    pub(crate) address: Option<Address>,
    pub(crate) guard: Option<Word>,
    /// A node of the other arm of a conditional writes the same words in other lanes.
    pub(crate) beside: bool,
    /// Words written, one group for each destination.
    pub(crate) writes: Vec<Vec<Word>>,
    pub(crate) slot: u16,
    /// Which block of a chain the slot is of.
    pub(crate) turn: u16,
    /// Arithmetic with an operand in shared memory (compute capability 1.x): the slot is that of the load.
    pub(crate) takes_shared: bool,
    /// Loads that it does the work of: its accesses are that many times as wide as those of its slot.
    pub(crate) merged: u32,
}

impl Node<'_> {
    /// Words read: sources, address and guard.
    pub(crate) fn reads(&self) -> impl Iterator<Item = Word> + '_ {
        let address = self.address.iter().flat_map(|address| address.base.words().iter().copied());
        self.sources.iter().flat_map(|source| source.words().iter().copied()).chain(address).chain(self.guard)
    }

    /// The same, to be replaced by others.
    pub(crate) fn read_mut(&mut self) -> impl Iterator<Item = &mut Word> + '_ {
        let address = self.address.iter_mut().map(|address| &mut address.base);
        let words = self.sources.iter_mut().chain(address).flat_map(|source| match source {
            Source::Words(words) => words.as_mut_slice(),
            Source::Constant(..) => &mut [],
        });
        words.chain(&mut self.guard)
    }

    pub(crate) fn written(&self) -> impl Iterator<Item = Word> + '_ {
        self.writes.iter().flatten().copied()
    }

    /// Bits of the result.
    pub(crate) fn bits(&self) -> u32 {
        self.inst.ty.bits()
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.form == Form::Dead
    }
}

/// The nodes of a function.
#[derive(Clone, Debug)]
pub(crate) struct Body<'m> {
    pub(crate) module: &'m Module,
    pub(crate) function: &'m Function,
    pub(crate) cfg: Cfg,
    pub(crate) dominators: Dominators,
    tree: DominatorTree,
    pub(crate) nodes: Vec<Node<'m>>,
    /// Nodes by position of their block, in order.
    pub(crate) blocks: Vec<Vec<NodeId>>,
    /// Number of instructions that write each word; arguments count as written once.
    pub(crate) definitions: Vec<u32>,
    /// Words of the vector bank.
    pub(crate) n_vector: u32,
}

/// What a word stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Alias {
    Own,
    Word(Word),
    Constant(Option<u64>, Option<Symbol>),
}

impl<'m> Body<'m> {
    pub(crate) fn new(module: &'m Module, function: &'m Function, slots: &Slots, turn: impl Fn(Pc) -> u16) -> Self {
        let cfg = Cfg::new(module, function);
        let dominators = Dominators::new(&cfg);
        let tree = DominatorTree::new(function, &dominators);
        let definitions = definitions(module, function);
        let mut reader = BodyReader {
            function,
            aliases: vec![Alias::Own; definitions.len()],
            definitions: &definitions,
            specials: HashMap::new(),
            tree: &tree,
        };
        for block in function.block_ids() {
            for inst in &module.blocks[block].insts {
                reader.alias(inst, block);
            }
        }
        let (mut nodes, mut blocks) = (Vec::new(), Vec::new());
        for (position, block) in function.block_ids().enumerate() {
            let mut ids = Vec::new();
            for inst in &module.blocks[block].insts {
                if let Some(mut node) = reader.node(inst, position) {
                    node.slot = slots.of(inst.pc).filter(|_| !inst.memory.is_empty()).map_or(NO_SLOT, |(_, slot)| slot);
                    node.turn = turn(inst.pc);
                    ids.push(nodes.len());
                    nodes.push(node);
                }
            }
            blocks.push(ids);
        }
        let n_vector = function.registers.vector;
        Self { module, function, cfg, dominators, tree, nodes, blocks, definitions, n_vector }
    }

    /// True when one instruction alone writes each of the words.
    pub(crate) fn is_single(&self, words: &[Word]) -> bool {
        words.iter().all(|&word| self.definitions[word as usize] <= 1)
    }

    /// True for blocks that only end the thread, by their position.
    pub(crate) fn is_end(&self, position: usize) -> bool {
        self.blocks[position].iter().all(|&id| matches!(self.nodes[id].inst.op(), Op::Ret | Op::Exit))
    }

    /// True for predicates.
    pub(crate) fn is_predicate(&self, word: Word) -> bool {
        (self.n_vector..self.n_vector + self.function.registers.predicate).contains(&word)
    }

    /// True when `above` comes before `below` on every way to it.
    pub(crate) fn dominates(&self, above: NodeId, below: NodeId) -> bool {
        let (a, b) = (self.nodes[above].block, self.nodes[below].block);
        if a == b { above < below } else { self.block_dominates(a, b) }
    }

    /// True when the block at one position is on every way to the other, or is it.
    pub(crate) fn block_dominates(&self, above: usize, below: usize) -> bool {
        self.tree.contains(above, below)
    }

    pub(crate) fn block_id(&self, position: usize) -> BlockId {
        BlockId(self.function.first_block.0 + position as u32)
    }

    /// Words of results, which are needed where the function returns.
    pub(crate) fn results(&self) -> Vec<Word> {
        self.function.results.iter().flat_map(|&register| words_of(self.function, register)).collect()
    }

    /// The word of the function that a word is; none for one that was made on the way.
    pub(crate) fn owned(&self, word: Word) -> Option<Owned> {
        let (n_vector, n_predicate) = (self.function.registers.vector, self.function.registers.predicate);
        let (bank, place) = match word.checked_sub(n_vector) {
            None => (Bank::Vector, word),
            Some(place) => (Bank::Predicate, place),
        };
        let is_own = bank == Bank::Vector || place < n_predicate;
        is_own.then_some((self.function.first_block, bank, place))
    }

    /// What a source instruction is.
    pub(crate) fn key(&self, pc: Pc) -> InstKey {
        self.module.key(pc)
    }
}

/// The tree of dominators, with the positions of its blocks numbered so that a block's subtree is a range.
#[derive(Clone, Debug)]
struct DominatorTree {
    /// By position of the block: its number, and the first number behind its subtree. Empty for blocks without a way to
    /// them.
    ranges: Vec<(u32, u32)>,
}

impl DominatorTree {
    fn new(function: &Function, dominators: &Dominators) -> Self {
        let n = function.n_blocks as usize;
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
        for block in function.block_ids() {
            if let Some(above) = dominators.immediate(block) {
                children[function.block_position(above)].push(function.block_position(block));
            }
        }
        let mut ranges = vec![(0, 0); n];
        let mut next = 0;
        let mut stack = if n > 0 { vec![(0usize, 0usize)] } else { Vec::new() };
        while let Some((block, child)) = stack.last_mut() {
            if *child == 0 {
                ranges[*block].0 = next;
                next += 1;
            }
            match children[*block].get(*child) {
                Some(&below) => {
                    *child += 1;
                    stack.push((below, 0));
                }
                None => {
                    ranges[*block].1 = next;
                    stack.pop();
                }
            }
        }
        Self { ranges }
    }

    fn contains(&self, above: usize, below: usize) -> bool {
        let (first, end) = self.ranges[above];
        above == below || (first..end).contains(&self.ranges[below].0) && self.ranges[below].1 > 0
    }
}

/// A word that a function has itself: its first block, the bank, and the place there.
pub(crate) type Owned = (BlockId, Bank, u32);

/// Words of a register; none for banks that PTX does not have.
pub(crate) fn words_of(function: &Function, register: Register) -> std::ops::Range<Word> {
    let start = match register.bank {
        Bank::Vector => 0,
        Bank::Predicate => function.registers.vector,
        _ => return 0..0,
    };
    let words = register.words();
    start + words.start..start + words.end
}

fn definitions(module: &Module, function: &Function) -> Vec<u32> {
    let n = (function.registers.vector + function.registers.predicate) as usize;
    let mut definitions = vec![0; n];
    let insts = function.block_ids().flat_map(|block| &module.blocks[block].insts);
    for register in insts.flat_map(Inst::writes).chain(function.arguments.iter().copied()) {
        for word in words_of(function, register) {
            definitions[word as usize] += 1;
        }
    }
    definitions
}

/// Reads the IR of a function.
struct BodyReader<'a> {
    function: &'a Function,
    aliases: Vec<Alias>,
    definitions: &'a [u32],
    /// First read of a special register, with its block.
    specials: HashMap<SpecialRegister, (BlockId, Vec<Word>)>,
    tree: &'a DominatorTree,
}

impl BodyReader<'_> {
    /// Notes what the destinations of an instruction stand for, if it is one that machine code does without.
    fn alias(&mut self, inst: &Inst, block: BlockId) {
        let written: Vec<Word> = inst.writes().flat_map(|register| words_of(self.function, register)).collect();
        let is_single = |words: &[Word]| words.iter().all(|&word| self.definitions[word as usize] <= 1);
        if inst.guard.is_some() || written.is_empty() || !is_single(&written) {
            return;
        }
        let read: Vec<Word> =
            inst.sources.iter().filter_map(Operand::register).flat_map(|it| words_of(self.function, it)).collect();
        if !is_single(&read) {
            return;
        }
        match inst.op() {
            Op::Mov if inst.sources.len() == 1 => match self.constant(&inst.sources[0]) {
                Some(Source::Constant(value, variable)) => self.set_constant(&written, value, variable),
                _ => self.set_words(&written, &read),
            },
            Op::Cvta => match self.constant(&inst.sources[0]) {
                Some(Source::Constant(value, symbol)) => self.set_constant(&written, value, symbol),
                _ => self.set_words(&written, &read),
            },
            Op::Pack if inst.ty.bits() / inst.sources.len().max(1) as u32 >= 32 => self.alias_pack(inst, &written),
            Op::Unpack => self.alias_unpack(inst, &read),
            Op::Cvt => self.alias_conversion(inst, &written, &read),
            Op::Ld => {
                if let Some((variable, offset)) = self.bank(inst) {
                    for (position, &word) in written.iter().enumerate() {
                        let symbol = Symbol::Bank(variable, offset + 4 * position as i64);
                        self.set_constant(&[word], None, Some(symbol));
                    }
                }
            }
            // Predicates are complemented, floats negated where they are read.
            Op::Not if inst.ty == ScalarType::Pred => self.set_words(&written, &read),
            Op::Neg | Op::Abs if inst.ty.is_float() => self.set_words(&written, &read),
            Op::ReadSpecial => self.alias_special(inst, block, written),
            _ => {}
        }
    }

    /// The variable and the offset that a load of parameters or constants reads from, if its address is constant and it
    /// reads whole words: those are operands of other instructions. (Before compute capability 2.0 parameters are
    /// operands in shared memory.)
    fn bank(&self, inst: &Inst) -> Option<(Option<VariableId>, i64)> {
        let memory = inst.memory.one()?;
        if !matches!(memory.space, StateSpace::Param | StateSpace::Const)
            || inst.ty.bytes() < 4
            || inst.operation.is_ordered()
        {
            return None;
        }
        match self.source(&memory.base) {
            Source::Constant(Some(value), None) => Some((None, value.cast_signed().wrapping_add(memory.offset))),
            Source::Constant(Some(value), Some(Symbol::Variable(variable))) => {
                Some((Some(variable), value.cast_signed().wrapping_add(memory.offset)))
            }
            _ => None,
        }
    }

    fn alias_pack(&mut self, inst: &Inst, written: &[Word]) {
        let mut to = written.iter();
        for source in &inst.sources {
            match source.register() {
                Some(register) => {
                    for word in words_of(self.function, register) {
                        if let Some(&to) = to.next() {
                            self.set_words(&[to], &[word]);
                        }
                    }
                }
                None => {
                    let words = written.len() / inst.sources.len().max(1);
                    for _ in 0..words {
                        if let Some(&to) = to.next() {
                            self.set_constant(&[to], None, None);
                        }
                    }
                }
            }
        }
    }

    /// Halves of a word are operands as they are.
    fn alias_unpack(&mut self, inst: &Inst, read: &[Word]) {
        let share = inst.ty.bits() / inst.destinations.len().max(1) as u32;
        for (index, register) in inst.destinations.iter().enumerate() {
            let Some(register) = register else { continue };
            let first = index as u32 * share / 32;
            for (word, to) in words_of(self.function, *register).enumerate() {
                match read.get(first as usize + word) {
                    Some(&from) => self.set_words(&[to], &[from]),
                    None => self.set_constant(&[to], None, None),
                }
            }
        }
    }

    /// Truncations and zero extensions are free; the upper half of a sign extension is not.
    fn alias_conversion(&mut self, inst: &Inst, written: &[Word], read: &[Word]) {
        let integers = inst.ty.is_integer() && inst.source_ty.is_integer() && !inst.operation.saturates();
        let widens_sign =
            inst.source_ty.is_signed() && inst.ty.bits() > inst.source_ty.bits() && inst.source_ty.bits() < 32;
        if !integers || widens_sign || inst.sources.len() != 1 {
            return;
        }
        if inst.sources[0].register().is_none() {
            self.set_constant(written, None, None);
            return;
        }
        self.set_words(&written[..1], &read[..1]);
        for (position, &word) in written.iter().enumerate().skip(1) {
            match read.get(position) {
                Some(&from) => self.set_words(&[word], &[from]),
                None if inst.source_ty.is_signed() => {}
                None => self.set_constant(&[word], Some(0), None),
            }
        }
    }

    fn alias_special(&mut self, inst: &Inst, block: BlockId, written: Vec<Word>) {
        let Some(&Operand::Special(register)) = inst.sources.first() else { return };
        if is_launch_constant(register) {
            self.set_constant(&written, None, Some(Symbol::Special(register)));
        } else if is_steady(register) {
            match self.specials.get(&register) {
                Some((first, words))
                    if self
                        .tree
                        .contains(self.function.block_position(*first), self.function.block_position(block))
                        && words.len() == written.len() =>
                {
                    let words = words.clone();
                    self.set_words(&written, &words);
                }
                _ => {
                    self.specials.insert(register, (block, written));
                }
            }
        }
    }

    fn set_words(&mut self, to: &[Word], from: &[Word]) {
        for (&to, &from) in to.iter().zip(from) {
            self.aliases[to as usize] = Alias::Word(from);
        }
    }

    fn set_constant(&mut self, to: &[Word], value: Option<u64>, variable: Option<Symbol>) {
        for (position, &to) in to.iter().enumerate() {
            let value = if position == 0 { value } else { value.map(|_| 0) };
            self.aliases[to as usize] = Alias::Constant(value, variable);
        }
    }

    /// The constant that an operand is, if it is one.
    fn constant(&self, operand: &Operand) -> Option<Source> {
        match operand {
            Operand::Immediate(value) => Some(Source::Constant(Some(*value), None)),
            Operand::Variable { variable, offset, .. } => {
                Some(Source::Constant(Some(offset.cast_unsigned()), Some(Symbol::Variable(*variable))))
            }
            Operand::Special(register) => Some(Source::Constant(None, Some(Symbol::Special(*register)))),
            Operand::Frame(_)
            | Operand::Function(_)
            | Operand::Constant(_)
            | Operand::Signed(_, SignedValue::Constant(_)) => Some(Source::Constant(None, None)),
            Operand::Register(_) | Operand::NotPredicate(_) | Operand::Signed(_, SignedValue::Register(_)) => None,
        }
    }

    /// What a word stands for in the end. Chains are short, and a chain that comes back to itself is cut.
    fn resolve(&self, word: Word) -> Alias {
        let mut at = word;
        for _ in 0..64 {
            match self.aliases[at as usize] {
                Alias::Word(next) => at = next,
                Alias::Constant(value, variable) => return Alias::Constant(value, variable),
                Alias::Own => break,
            }
        }
        Alias::Word(at)
    }

    fn source(&self, operand: &Operand) -> Source {
        if let Some(constant) = self.constant(operand) {
            return constant;
        }
        let register = operand.register().expect("what is no constant is a register");
        let mut words = Vec::with_capacity(2);
        let mut constant = None;
        for word in words_of(self.function, register) {
            match self.resolve(word) {
                Alias::Word(word) => words.push(word),
                Alias::Constant(value, variable) => constant = constant.or(Some((value, variable))),
                Alias::Own => unreachable!("resolving ends at a word or a constant"),
            }
        }
        match constant {
            Some((value, variable)) if words.is_empty() => Source::Constant(value, variable),
            _ => Source::Words(words),
        }
    }

    /// The address of an access is in a register.
    fn reads_register(&self, inst: &Inst) -> bool {
        inst.memory.iter().any(|memory| !self.source(&memory.base).is_constant())
    }

    /// The node of an instruction; none when all that it writes stands for something else.
    fn node<'m>(&self, inst: &'m Inst, block: usize) -> Option<Node<'m>> {
        let is_own = |word: &Word| self.aliases[*word as usize] == Alias::Own;
        let groups =
            inst.writes().map(|register| words_of(self.function, register).filter(|word| is_own(word)).collect());
        let writes: Vec<Vec<Word>> = groups.filter(|group: &Vec<Word>| !group.is_empty()).collect();
        if writes.is_empty() && inst.writes().next().is_some() && !has_effect(inst) {
            return None;
        }
        // Of a copy the other address is a source like others.
        let (address, target) = match &inst.memory {
            Memory::None => (None, None),
            Memory::One(memory) => (Some(memory), None),
            Memory::Copy { to, from } if from.space == StateSpace::Shared => (Some(to), Some(&from.base)),
            Memory::Copy { to, from } => (Some(from), Some(&to.base)),
        };
        let sources: Vec<Source> = inst.sources.iter().chain(target).map(|operand| self.source(operand)).collect();
        let address = address.map(|memory| Address {
            space: memory.space,
            base: self.source(&memory.base),
            offset: memory.offset,
            variable: None,
            scale: 0,
            bytes: inst.ty.bytes() * u32::from(memory.elements),
        });
        let guard = inst.guard.map(|guard| match self.resolve(words_of(self.function, guard.predicate).start) {
            Alias::Word(word) => word,
            _ => words_of(self.function, guard.predicate).start,
        });
        let form = match inst.op() {
            Op::Mov | Op::Cvta | Op::Unpack => Form::Copy,
            Op::Pack if inst.ty.bits() / inst.sources.len().max(1) as u32 >= 32 => Form::Copy,
            Op::Pack => Form::Permute,
            Op::Ld
                if inst.memory.one().is_some_and(|memory| memory.space == StateSpace::Param)
                    && !self.reads_register(inst) =>
            {
                Form::Copy
            }
            Op::Ld if self.bank(inst).is_some() => Form::Copy,
            Op::Cvt if is_integer_conversion(inst) => {
                if inst.ty.bits() > 32 && inst.source_ty.is_signed() {
                    Form::SignExtend
                } else {
                    Form::Copy
                }
            }
            _ => Form::AsWritten,
        };
        let (slot, turn) = (NO_SLOT, 0);
        Some(Node {
            inst,
            form,
            block,
            sources,
            address,
            guard,
            beside: false,
            writes,
            slot,
            turn,
            takes_shared: false,
            merged: 1,
        })
    }
}

/// True when an instruction does something besides writing registers.
pub(crate) fn has_effect(inst: &Inst) -> bool {
    match inst.op().effect() {
        Effect::None => false,
        Effect::Load => inst.operation.is_ordered() || inst.op() != Op::Ld,
        Effect::Special => {
            !matches!(inst.sources.first(), Some(&Operand::Special(register)) if is_launch_constant(register) || is_steady(register))
        }
        Effect::Store
        | Effect::Atomic
        | Effect::Vote
        | Effect::Exchange
        | Effect::Fence
        | Effect::Call
        | Effect::End => true,
    }
}

fn is_integer_conversion(inst: &Inst) -> bool {
    inst.ty.is_integer() && inst.source_ty.is_integer() && !inst.operation.saturates()
}

/// Special registers that are constant operands.
fn is_launch_constant(register: SpecialRegister) -> bool {
    matches!(
        register,
        SpecialRegister::Ntid(_)
            | SpecialRegister::Nctaid(_)
            | SpecialRegister::DynamicSmemSize
            | SpecialRegister::TotalSmemSize
    )
}

/// Special registers that do not change while a thread runs.
fn is_steady(register: SpecialRegister) -> bool {
    use SpecialRegister as S;
    matches!(
        register,
        S::Tid(_)
            | S::Ctaid(_)
            | S::Laneid
            | S::LanemaskEq
            | S::LanemaskLe
            | S::LanemaskLt
            | S::LanemaskGe
            | S::LanemaskGt
            | S::Clusterid(_)
            | S::ClusterCtaid(_)
            | S::ClusterCtarank
    )
}
