//! Which words of the vector bank hold a value that is still needed.

use warplens_base::Id;
use warplens_isa::BlockId;

use crate::{Bank, Cfg, Flow, Function, FunctionKind, Inst, Module, Register, register_file};

/// A set of words.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WordSet {
    bits: Vec<u64>,
}

impl WordSet {
    /// The empty set, with room for `words` words.
    pub fn with_room(words: u32) -> Self {
        Self { bits: vec![0; words.div_ceil(64) as usize] }
    }

    /// Adds a word; true when it was not in the set. Words beyond the room are ignored.
    pub fn insert(&mut self, word: u32) -> bool {
        let Some(bits) = self.bits.get_mut(word as usize / 64) else { return false };
        let bit = 1 << (word % 64);
        let is_new = *bits & bit == 0;
        *bits |= bit;
        is_new
    }

    /// Takes a word out; true when it was in the set.
    pub fn remove(&mut self, word: u32) -> bool {
        let Some(bits) = self.bits.get_mut(word as usize / 64) else { return false };
        let bit = 1 << (word % 64);
        let was_in = *bits & bit != 0;
        *bits &= !bit;
        was_in
    }

    /// True when the word is in the set.
    pub fn contains(&self, word: u32) -> bool {
        self.bits.get(word as usize / 64).is_some_and(|bits| bits >> (word % 64) & 1 == 1)
    }

    /// Number of words in the set.
    pub fn len(&self) -> u32 {
        self.bits.iter().map(|bits| bits.count_ones()).sum()
    }

    /// True for the empty set.
    pub fn is_empty(&self) -> bool {
        self.bits.iter().all(|&bits| bits == 0)
    }

    /// The words in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let words = self.bits.iter().enumerate();
        words.flat_map(|(index, &bits)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| index as u32 * 64 + bit)
        })
    }

    /// Adds all words of `other` that `except` lacks; true when the set grew.
    fn unite_except(&mut self, other: &Self, except: Option<&Self>) -> bool {
        let mut grew = false;
        for (index, (bits, &more)) in self.bits.iter_mut().zip(&other.bits).enumerate() {
            let added = more & !except.map_or(0, |except| except.bits[index]);
            grew |= added & !*bits != 0;
            *bits |= added;
        }
        grew
    }
}

/// What an operation does to words.
pub trait Accesses {
    /// Calls `visit` with every word that is read.
    fn reads(&self, visit: &mut dyn FnMut(u32));
    /// Calls `visit` with every word whose old value is lost.
    fn writes(&self, visit: &mut dyn FnMut(u32));
}

impl Accesses for Inst {
    fn reads(&self, visit: &mut dyn FnMut(u32)) {
        Inst::reads(self).filter(is_vector).flat_map(Register::words).for_each(visit);
    }

    /// A guarded operation leaves the old value in some lanes.
    fn writes(&self, visit: &mut dyn FnMut(u32)) {
        if self.guard.is_none() {
            Inst::writes(self).filter(is_vector).flat_map(Register::words).for_each(visit);
        }
    }
}

fn is_vector(register: &Register) -> bool {
    register.bank == Bank::Vector
}

/// Words that are live where blocks begin and end.
#[derive(Clone, Debug)]
pub struct Liveness {
    first: BlockId,
    live_in: Vec<WordSet>,
    live_out: Vec<WordSet>,
}

impl Liveness {
    /// Liveness in `function`. Results are live where it returns, and where it calls a subroutine what that may read.
    pub fn new(module: &Module, function: &Function) -> Self {
        let cfg = Cfg::new(module, function);
        let results: Vec<u32> = function.results.iter().copied().filter(is_vector).flat_map(Register::words).collect();
        let at_end = |block| match &module.blocks[block].flow {
            // The caller may read any word after a subroutine.
            Flow::Return { .. } if function.kind == FunctionKind::Subroutine => {
                (0..function.registers.vector).collect()
            }
            Flow::Return { .. } => results.clone(),
            Flow::Call { target, .. } => {
                let subroutines = register_file::subroutines(module, target);
                subroutines.into_iter().flat_map(|callee| register_file::words_read(module, callee)).collect()
            }
            _ => Vec::new(),
        };
        Self::solve(function, &cfg, function.registers.vector, |block| &module.blocks[block].insts, at_end)
    }

    /// Solves for any view of a function's operations. `at_end` lists words that are live at the end of a block besides
    /// those of its successors.
    pub fn solve<'a, A: Accesses + 'a>(
        function: &Function,
        cfg: &Cfg,
        words: u32,
        operations: impl Fn(BlockId) -> &'a [A],
        at_end: impl Fn(BlockId) -> Vec<u32>,
    ) -> Self {
        let empty = WordSet::with_room(words);
        let n = function.n_blocks as usize;
        let (mut used, mut written) = (vec![empty.clone(); n], vec![empty.clone(); n]);
        let mut live_out = vec![empty.clone(); n];
        for block in function.block_ids() {
            let position = function.block_position(block);
            for operation in operations(block) {
                operation.reads(&mut |word| {
                    if !written[position].contains(word) {
                        used[position].insert(word);
                    }
                });
                operation.writes(&mut |word| {
                    written[position].insert(word);
                });
            }
            for word in at_end(block) {
                live_out[position].insert(word);
            }
        }
        let mut live_in = used;
        let mut changed = true;
        while changed {
            changed = false;
            // Postorder visits successors first, so that few rounds are needed.
            for &block in cfg.postorder() {
                let position = function.block_position(block);
                for &successor in cfg.successors(block) {
                    let from = std::mem::take(&mut live_in[function.block_position(successor)]);
                    changed |= live_out[position].unite_except(&from, None);
                    live_in[function.block_position(successor)] = from;
                }
                changed |= live_in[position].unite_except(&live_out[position], Some(&written[position]));
            }
        }
        Self { first: function.first_block, live_in, live_out }
    }

    fn position(&self, block: BlockId) -> usize {
        block.index() - self.first.index()
    }

    /// Words live at the beginning of `block`.
    pub fn live_in(&self, block: BlockId) -> &WordSet {
        &self.live_in[self.position(block)]
    }

    /// Words live at the end of `block`.
    pub fn live_out(&self, block: BlockId) -> &WordSet {
        &self.live_out[self.position(block)]
    }

    /// Most words live at once within `block`, of which `operations` are the operations.
    pub fn max_live<A: Accesses>(&self, block: BlockId, operations: &[A]) -> u32 {
        let mut live = self.live_out(block).clone();
        let mut count = live.len();
        let mut most = count;
        for operation in operations.iter().rev() {
            // A result that nobody needs still has to be written somewhere.
            let mut idle = 0;
            operation.writes(&mut |word| {
                if live.remove(word) {
                    count -= 1;
                } else {
                    idle += 1;
                }
            });
            most = most.max(count + idle);
            operation.reads(&mut |word| count += u32::from(live.insert(word)));
            most = most.max(count);
        }
        most
    }
}

/// Most words live at once in `function`, in the order of its text.
pub fn max_live_words(module: &Module, function: &Function) -> u32 {
    let liveness = Liveness::new(module, function);
    let blocks = function.block_ids().map(|block| liveness.max_live(block, &module.blocks[block].insts));
    blocks.max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use warplens_base::IdMap;
    use warplens_isa::{Branch, Operation, Pc, ScalarType, Sum};

    use super::*;
    use crate::{Block, FunctionId, LaunchBounds, Operand, RegisterWords, Width};

    fn word(index: u32) -> Register {
        Register::vector(index, Width::Word)
    }

    fn inst(operation: Operation, writes: &[Register], reads: &[Register]) -> Inst {
        let mut inst = Inst::new(Pc(0), operation, ScalarType::U32);
        inst.destinations = writes.iter().copied().map(Some).collect();
        inst.sources = reads.iter().copied().map(Operand::Register).collect();
        inst
    }

    /// b0: r0 = .., r1 = ..; b1: r2 = r0 + r1, again if not done; b2: r3 = r2, result r3.
    fn sample() -> Module {
        let mut module = Module::default();
        let branch = inst(Operation::Bra(Branch::default()), &[], &[]);
        let blocks = [
            (
                vec![inst(Operation::Mov, &[word(0)], &[]), inst(Operation::Mov, &[word(1)], &[])],
                Flow::Fallthrough(BlockId(1)),
            ),
            (
                vec![inst(Operation::Add(Sum::default()), &[word(2)], &[word(0), word(1)]), branch],
                Flow::Branch { taken: BlockId(1), next: Some(BlockId(2)) },
            ),
            (
                vec![inst(Operation::Mov, &[word(3)], &[word(2)]), inst(Operation::Ret, &[], &[])],
                Flow::Return { next: None },
            ),
        ];
        for (insts, flow) in blocks {
            module.blocks.push(Block { label: None, stays_rolled: false, insts, flow });
        }
        let function = Function {
            name: "f".into(),
            kind: FunctionKind::Device,
            parameters: Vec::new(),
            arguments: Vec::new(),
            results: vec![word(3)],
            registers: RegisterWords { vector: 5, ..RegisterWords::default() },
            local_bytes: 0,
            shared_bytes: 0,
            reserved_shared_bytes: 0,
            machine_registers: None,
            first_block: BlockId(0),
            n_blocks: 3,
            bounds: LaunchBounds::default(),
            explicit_convergence: false,
        };
        module.functions = IdMap::from_iter([function]);
        module
    }

    #[test]
    fn words_live_around_loops_and_up_to_the_return() {
        let module = sample();
        let liveness = Liveness::new(&module, &module.functions[FunctionId(0)]);
        let sets = |block| {
            let words = |set: &WordSet| set.iter().collect::<Vec<u32>>();
            (words(liveness.live_in(BlockId(block))), words(liveness.live_out(BlockId(block))))
        };
        assert_eq!(sets(0), (vec![], vec![0, 1]));
        // Both factors are needed in the next turn, the sum behind the loop.
        assert_eq!(sets(1), (vec![0, 1], vec![0, 1, 2]));
        assert_eq!(sets(2), (vec![2], vec![3]));
    }

    #[test]
    fn what_a_subroutine_reads_is_live_where_it_is_called() {
        let mut module = sample();
        let subroutine = Function {
            kind: FunctionKind::Subroutine,
            results: Vec::new(),
            first_block: BlockId(3),
            n_blocks: 1,
            ..module.functions[FunctionId(0)].clone()
        };
        let insts = vec![inst(Operation::Mov, &[word(1)], &[word(4)]), inst(Operation::Ret, &[], &[])];
        module.blocks.push(Block { label: None, stays_rolled: false, insts, flow: Flow::Return { next: None } });
        let callee = module.functions.push(subroutine);
        let call = Flow::Call { target: crate::CallTarget::Direct(callee), next: BlockId(1) };
        module.blocks[BlockId(0)].insts.push(inst(Operation::Call(Branch::default()), &[], &[]));
        module.blocks[BlockId(0)].flow = call;
        let liveness = Liveness::new(&module, &module.functions[FunctionId(0)]);
        assert_eq!(liveness.live_in(BlockId(0)).iter().collect::<Vec<u32>>(), [4]);
        let liveness = Liveness::new(&module, &module.functions[callee]);
        assert_eq!(liveness.live_in(BlockId(3)).iter().collect::<Vec<u32>>(), [0, 2, 3, 4]);
    }

    #[test]
    fn the_most_live_words_are_in_the_loop() {
        let module = sample();
        assert_eq!(max_live_words(&module, &module.functions[FunctionId(0)]), 3);
    }

    #[test]
    fn unread_results_and_guarded_writes() {
        let mut module = sample();
        let function = module.functions[FunctionId(0)].clone();
        // A result that nobody reads takes a word for a moment.
        module.blocks[BlockId(1)].insts.insert(1, inst(Operation::Mov, &[word(4)], &[]));
        assert_eq!(max_live_words(&module, &function), 4);
        // A guarded write keeps the old value alive before it.
        let mut guarded = inst(Operation::Mov, &[word(3)], &[word(2)]);
        guarded.guard = Some(crate::Guard { predicate: Register::predicate(0), negated: false });
        module.blocks[BlockId(2)].insts[0] = guarded;
        assert!(Liveness::new(&module, &function).live_in(BlockId(0)).contains(3));
    }
}
