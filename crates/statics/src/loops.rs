//! Natural loops: where they begin, what belongs to them, and on which lines they can be named.

use rustc_hash::FxHashMap;
use warplens_ir::{Cfg, Dominators, Function, Module};
use warplens_isa::{BlockId, Op, Pc};

/// A loop of a function.
#[derive(Clone, Debug)]
pub(crate) struct Loop {
    /// The block that every turn begins with.
    pub(crate) header: BlockId,
    /// Its blocks, the header first.
    pub(crate) blocks: Vec<BlockId>,
    /// Instructions by which it can be named: the first, those that leave it, those that close a turn.
    pub(crate) pcs: Vec<Pc>,
}

/// The loops of all functions that a kernel may reach.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loops {
    /// Inner loops before outer ones.
    pub(crate) all: Vec<Loop>,
    by_header: FxHashMap<BlockId, usize>,
}

impl Loops {
    /// The loop that begins with a block.
    pub(crate) fn beginning_with(&self, block: BlockId) -> Option<usize> {
        self.by_header.get(&block).copied()
    }

    pub(crate) fn contains(&self, index: usize, block: BlockId) -> bool {
        self.all[index].blocks.contains(&block)
    }

    /// Adds the loops of `function`.
    pub(crate) fn add(&mut self, module: &Module, function: &Function) {
        let cfg = Cfg::new(module, function);
        let dominators = Dominators::new(&cfg);
        let mut found: Vec<Loop> = Vec::new();
        for &block in cfg.postorder() {
            for &target in cfg.successors(block) {
                if dominators.dominates(target, block) {
                    add_turn(&cfg, &mut found, block, target);
                }
            }
        }
        found.sort_by_key(|one| (one.blocks.len(), one.header));
        for one in &mut found {
            one.pcs = naming_instructions(module, one);
        }
        for one in found {
            let index = self.all.len();
            self.by_header.insert(one.header, index);
            self.all.push(one);
        }
    }
}

/// Adds what leads from `header` to `latch`, which goes back to it.
fn add_turn(cfg: &Cfg, found: &mut Vec<Loop>, latch: BlockId, header: BlockId) {
    let at = found.iter().position(|one| one.header == header).unwrap_or_else(|| {
        found.push(Loop { header, blocks: vec![header], pcs: Vec::new() });
        found.len() - 1
    });
    let one = &mut found[at];
    let mut waiting = vec![latch];
    while let Some(block) = waiting.pop() {
        if !one.blocks.contains(&block) {
            one.blocks.push(block);
            waiting.extend(cfg.predecessors(block));
        }
    }
}

fn naming_instructions(module: &Module, one: &Loop) -> Vec<Pc> {
    let mut pcs: Vec<Pc> = module.blocks[one.header].insts.first().map(|inst| inst.pc).into_iter().collect();
    for &block in &one.blocks {
        let block = &module.blocks[block];
        let leaves = block.flow.successors().iter().any(|next| !one.blocks.contains(next));
        let closes = block.flow.successors().contains(&one.header);
        let last = block.insts.last().filter(|inst| inst.op().ends_block() && inst.op() != Op::Call);
        if let Some(inst) = last
            && (leaves || closes)
        {
            pcs.push(inst.pc);
        }
    }
    pcs
}
