//! Which loops are unrolled, and which blocks are put together with them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use warplens_isa::{BlockId, Op, StateSpace};

use super::known::{Known, constants, overlaps};
use super::{Chain, partial};
use crate::{Bank, Cfg, Dominators, Flow, Function, Inst, Module, Register};

/// Most operations that all turns together have, where nothing speaks for more.
const LIMIT: usize = 330;
/// The same where a twelfth, and where a fifth of the operations only count and branch.
const LIMIT_SHORT: [usize; 2] = [600, 1000];
/// The same for a part of each turn of another loop: with a load, with four and with eight.
const LIMIT_NESTED: [(usize, usize); 3] = [(1, 1000), (4, 2000), (8, 4000)];
/// Targets for which ptxas has the limits of nested loops.
const NESTED_TARGETS: std::ops::Range<u32> = 70..90;
/// Most turns that are looked for.
const MOST_TURNS: usize = 1000;

/// A loop of one block: its turns, and the block behind it.
#[derive(Clone, Copy)]
struct Loop {
    turns: usize,
    exit: BlockId,
}

/// Looks for loops to unroll.
pub(super) struct Finder<'m> {
    module: &'m Module,
    function: &'m Function,
    cfg: Cfg,
    dominators: Dominators,
    /// Registers that one instruction alone writes, with a number.
    pub(super) constants: HashMap<Register, u64>,
    target: u32,
}

impl<'m> Finder<'m> {
    pub(super) fn new(module: &'m Module, function: &'m Function, target: u32) -> Self {
        let cfg = Cfg::new(module, function);
        let dominators = Dominators::new(&cfg);
        Self { module, function, cfg, dominators, constants: constants(module, function), target }
    }

    /// Blocks around the loops that are unrolled.
    pub(super) fn chains(&self) -> Vec<Chain> {
        let loops: BTreeMap<BlockId, Loop> =
            self.function.block_ids().filter_map(|block| Some((block, self.unrolls(block)?))).collect();
        if self.has_other_banks() {
            return Vec::new();
        }
        let mut taken: Vec<BlockId> = Vec::new();
        let mut chains = Vec::new();
        for head in self.function.block_ids() {
            if taken.contains(&head) || loops.contains_key(&head) {
                continue;
            }
            let (blocks, unrolls) = self.follow(head, &loops);
            if unrolls && self.cfg.postorder().contains(&head) && u16::try_from(blocks.len()).is_ok() {
                taken.extend(&blocks);
                chains.push(Chain { blocks });
            }
        }
        chains
    }

    /// Blocks that come after `head` in any case, with those of loops for each turn.
    fn follow(&self, head: BlockId, loops: &BTreeMap<BlockId, Loop>) -> (Vec<BlockId>, bool) {
        let (mut blocks, mut unrolls, mut last) = (vec![head], false, head);
        loop {
            let Some(next) = self.goes_on(last) else { return (blocks, unrolls) };
            match loops.get(&next) {
                Some(found) if !blocks.contains(&next) => {
                    blocks.extend(std::iter::repeat_n(next, found.turns));
                    unrolls = true;
                    if self.cfg.predecessors(found.exit) != [next] || blocks.contains(&found.exit) {
                        return (blocks, unrolls);
                    }
                    blocks.push(found.exit);
                    last = found.exit;
                }
                None if self.cfg.predecessors(next) == [last] && !blocks.contains(&next) => {
                    blocks.push(next);
                    last = next;
                }
                _ => return (blocks, unrolls),
            }
        }
    }

    /// The only block that comes after one, which is no call.
    fn goes_on(&self, block: BlockId) -> Option<BlockId> {
        match self.module.blocks[block].flow {
            Flow::Fallthrough(next) | Flow::Branch { taken: next, next: None } => Some(next),
            _ => None,
        }
    }

    fn has_other_banks(&self) -> bool {
        let insts = self.function.block_ids().flat_map(|block| &self.module.blocks[block].insts);
        let mut registers = insts.flat_map(|inst| inst.reads().chain(inst.writes()));
        registers.any(|register| !matches!(register.bank, Bank::Vector | Bank::Predicate))
    }

    /// Of a loop of one block that may be unrolled: whether it goes on where its branch is taken, and the block behind it.
    fn goes_back(&self, id: BlockId) -> Option<(bool, BlockId)> {
        let block = &self.module.blocks[id];
        let Flow::Branch { taken, next: Some(next) } = block.flow else { return None };
        let exit = if taken == id { next } else { taken };
        ((taken == id) != (next == id) && !block.stays_rolled).then_some((taken == id, exit))
    }

    /// The loop that a block is, if it is unrolled.
    fn unrolls(&self, id: BlockId) -> Option<Loop> {
        let (while_taken, exit) = self.goes_back(id)?;
        let (turns, overhead) = self.turns(id, while_taken)?;
        let n_insts = self.module.blocks[id].insts.len();
        (turns > 1 && turns * n_insts <= self.limit(id, overhead)).then_some(Loop { turns, exit })
    }

    /// Turns of loops that go on behind them.
    pub(super) fn in_part(&self) -> Vec<Chain> {
        if self.has_other_banks() {
            return Vec::new();
        }
        let loops: BTreeSet<BlockId> = self.cfg.postorder().iter().copied().collect();
        loops.into_iter().filter(|&id| self.unrolls(id).is_none()).filter_map(|id| self.some_turns(id)).collect()
    }

    /// A loop of one block of which a few turns are put together.
    fn some_turns(&self, id: BlockId) -> Option<Chain> {
        let (while_taken, _) = self.goes_back(id)?;
        let known = self.turns(id, while_taken).map(|(turns, _)| turns);
        let insts = &self.module.blocks[id].insts;
        let turns = partial::turns(insts, while_taken, &self.constants, known, self.target);
        (turns > 1).then(|| Chain { blocks: vec![id; turns] })
    }

    /// How often a loop of one block runs, and how many of its operations only count and branch.
    fn turns(&self, id: BlockId, while_taken: bool) -> Option<(usize, usize)> {
        let others: Vec<BlockId> = self.cfg.predecessors(id).iter().copied().filter(|&other| other != id).collect();
        let &[before] = others.as_slice() else { return None };
        if self.goes_on(before) != Some(id) {
            return None;
        }
        let insts = &self.module.blocks[id].insts;
        let (branch, rest) = insts.split_last()?;
        let guard = branch.guard.filter(|_| branch.op() == Op::Bra)?;
        let mut needed = vec![guard.predicate];
        let mut slice: Vec<&Inst> = Vec::new();
        // What the branch depends on, and what that depends on in turns before.
        while let Some(register) = needed.pop() {
            for inst in rest.iter().filter(|inst| inst.writes().any(|written| overlaps(written, register))) {
                if !slice.iter().any(|other| std::ptr::eq(*other, inst)) {
                    slice.push(inst);
                    needed.extend(inst.reads());
                }
            }
        }
        slice.sort_by_key(|inst| std::ptr::from_ref::<Inst>(inst));
        let mut known = Known::new(&self.constants);
        for register in slice.iter().flat_map(|inst| inst.reads()) {
            if let Some(value) = self.at_end(before, register) {
                known.values.insert(register, value);
            }
        }
        for turns in 1..=MOST_TURNS {
            for inst in &slice {
                let value = known.evaluate(inst)?;
                known.values.insert(inst.destinations[0]?, value);
            }
            let taken = (*known.values.get(&guard.predicate)? != 0) != guard.negated;
            if taken != while_taken {
                return Some((turns, slice.len() + 1));
            }
        }
        None
    }

    /// The number that a register holds at the end of a block, where it was set to one on the only way there.
    fn at_end(&self, block: BlockId, register: Register) -> Option<u64> {
        let mut block = block;
        for _ in 0..self.function.n_blocks {
            let mut known = Known::new(&self.constants);
            let mut is_written = false;
            for inst in &self.module.blocks[block].insts {
                if inst.writes().any(|written| overlaps(written, register)) {
                    is_written = true;
                    match known.evaluate(inst).filter(|_| inst.destinations[0] == Some(register)) {
                        Some(value) => known.values.insert(register, value),
                        None => known.values.remove(&register),
                    };
                }
            }
            match *self.cfg.predecessors(block) {
                _ if is_written => return known.values.get(&register).copied(),
                [before] if before != block => block = before,
                _ => return None,
            }
        }
        None
    }

    /// Most operations of all turns of a loop together.
    fn limit(&self, id: BlockId, overhead: usize) -> usize {
        let insts = &self.module.blocks[id].insts;
        let short = match insts.len() / overhead.max(1) {
            0..=5 => LIMIT_SHORT[1],
            6..=12 => LIMIT_SHORT[0],
            _ => LIMIT,
        };
        if !NESTED_TARGETS.contains(&self.target) || !self.is_in_every_turn(id) {
            return short;
        }
        let is_load = |inst: &&Inst| {
            inst.op() == Op::Ld
                && inst
                    .memory
                    .one()
                    .is_some_and(|memory| !matches!(memory.space, StateSpace::Param | StateSpace::Const))
        };
        let loads = insts.iter().filter(is_load).count();
        let nested = LIMIT_NESTED.iter().filter(|&&(least, _)| loads >= least).map(|&(_, limit)| limit).max();
        short.max(nested.unwrap_or(0))
    }

    /// True where each turn of another loop has all of this one.
    fn is_in_every_turn(&self, id: BlockId) -> bool {
        let dominates = |above: BlockId, below: BlockId| self.dominators.dominates(above, below);
        self.function
            .block_ids()
            .filter(|&latch| latch != id && dominates(id, latch))
            .any(|latch| self.cfg.successors(latch).iter().any(|&head| head != id && dominates(head, id)))
    }
}
