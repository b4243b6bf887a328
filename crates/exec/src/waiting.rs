//! Finds the loops in which a thread may wait for another one.
//!
//! A loop may wait if a value that another thread writes, read inside of the loop, decides whether the loop goes on:
//! through registers, or because it decides whether something is assigned. A lane that stays in such a loop turn after
//! turn lets others run.

use rustc_hash::{FxHashMap, FxHashSet};
use warplens_ir::{Bank, Cfg, Dominators, Flow, FunctionId, Inst, Module, Register};
use warplens_isa::{BlockId, Effect, Op};

use crate::communication::{Foreign, Writers};

/// The control instruction at the end of a block that decides whether a loop which may wait goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    /// Where the loop begins.
    pub(crate) header: BlockId,
    /// Lanes that branch stay in the loop.
    pub(crate) taken_stays: bool,
    /// Lanes that do not branch stay in the loop.
    pub(crate) next_stays: bool,
    /// The loop does nothing but ask for the phase of a barrier in memory, so that every turn with the same answer is the
    /// same.
    pub(crate) only_asks: bool,
}

/// The blocks of `functions` that end a turn of a loop which may wait.
pub(crate) fn find(module: &Module, functions: &[FunctionId], foreign: &Foreign<'_>) -> FxHashMap<BlockId, Wait> {
    let mut waits = FxHashMap::default();
    for &function in functions {
        let cfg = Cfg::new(module, &module.functions[function]);
        let post_dominators = Dominators::post(&cfg);
        for (header, body) in loops(&cfg) {
            let depends = Dependence::of_loop(module, foreign, &cfg, &post_dominators, &body);
            let only_asks = only_asks(module, &cfg, header, &body);
            for &block in &body {
                if let Some(wait) = depends.exit(module, block, (header, &body)) {
                    let wait = Wait { only_asks, ..wait };
                    // Loops come with the inner ones first; what a block is to its innermost loop counts.
                    waits.entry(block).or_insert(wait);
                }
            }
        }
    }
    waits
}

/// The natural loops of a function, one for each branch back: where each begins and its blocks, smaller loops first. Loops that begin
/// at the same block are not taken together, since a wait at the start of a longer loop is a loop of its own.
fn loops(cfg: &Cfg) -> Vec<(BlockId, FxHashSet<BlockId>)> {
    let dominators = Dominators::new(cfg);
    let mut loops = Vec::new();
    for &block in cfg.postorder() {
        for &header in cfg.successors(block) {
            let mut dominating = std::iter::successors(Some(block), |&block| dominators.immediate(block));
            if dominating.any(|dominator| dominator == header) {
                loops.push(((header, block), loop_body(cfg, header, block)));
            }
        }
    }
    loops.sort_by_key(|(edge, body)| (body.len(), *edge));
    loops.into_iter().map(|((header, _), body)| (header, body)).collect()
}

/// The blocks from which `end` can be reached without passing through `header`.
fn loop_body(cfg: &Cfg, header: BlockId, end: BlockId) -> FxHashSet<BlockId> {
    let mut body = FxHashSet::from_iter([header]);
    let mut rest = vec![end];
    while let Some(block) = rest.pop() {
        if body.insert(block) {
            rest.extend(cfg.predecessors(block));
        }
    }
    body
}

/// True for a loop that is left at one place, asks for a phase, and otherwise only computes, each turn anew.
fn only_asks(module: &Module, cfg: &Cfg, header: BlockId, body: &FxHashSet<BlockId>) -> bool {
    let insts = || body.iter().flat_map(|&block| &module.blocks[block].insts);
    let is_known = |inst: &Inst| {
        let is_branch = matches!(inst.op(), Op::Bra);
        is_branch || matches!(inst.op(), Op::TestPhase | Op::Nop) || inst.op().effect() == Effect::None
    };
    let n_exits = body.iter().filter(|&&block| cfg.successors(block).iter().any(|next| !body.contains(next))).count();
    if n_exits != 1 || !insts().all(is_known) || !insts().any(|inst| inst.op() == Op::TestPhase) {
        return false;
    }
    // What a turn reads is older than the loop, or of the same turn.
    let written: FxHashSet<(Bank, u32)> = insts().flat_map(Inst::writes).flat_map(words).collect();
    let mut in_header: FxHashSet<(Bank, u32)> = FxHashSet::default();
    let order = std::iter::once(header).chain(body.iter().copied().filter(|&block| block != header));
    for block in order {
        let mut known = in_header.clone();
        for inst in &module.blocks[block].insts {
            let is_partly = inst.guard.is_some();
            let kept = is_partly.then(|| inst.writes().flat_map(words));
            let mut read = inst.reads().flat_map(words).chain(kept.into_iter().flatten());
            if read.any(|word| written.contains(&word) && !known.contains(&word)) {
                return false;
            }
            known.extend(inst.writes().flat_map(words));
        }
        if block == header {
            in_header = known;
        }
    }
    true
}

/// What depends, inside of a loop, on values that other threads may write meanwhile.
struct Dependence {
    words: FxHashSet<(Bank, u32)>,
    /// Blocks that run in some lanes only for such a value.
    blocks: FxHashSet<BlockId>,
}

impl Dependence {
    fn of_loop(
        module: &Module,
        foreign: &Foreign<'_>,
        cfg: &Cfg,
        post_dominators: &Dominators,
        body: &FxHashSet<BlockId>,
    ) -> Self {
        let mut depends = Self { words: FxHashSet::default(), blocks: FxHashSet::default() };
        loop {
            let before = (depends.words.len(), depends.blocks.len());
            for &block in body {
                let content = &module.blocks[block];
                for inst in &content.insts {
                    if depends.makes_dependent(block, inst, foreign) {
                        depends.words.extend(inst.writes().flat_map(words));
                    }
                }
                if let (Flow::Call { target, .. }, Some(call)) = (&content.flow, content.insts.last())
                    && foreign.returned_by(target) != Writers::None
                {
                    depends.words.extend(call.writes().flat_map(words));
                }
                if depends.is_decided(module, block) {
                    depends.mark_region(cfg, block, post_dominators.immediate(block), body);
                }
            }
            if (depends.words.len(), depends.blocks.len()) == before {
                return depends;
            }
        }
    }

    fn makes_dependent(&self, block: BlockId, inst: &Inst, foreign: &Foreign<'_>) -> bool {
        let is_loaded = matches!(inst.op(), Op::Ld | Op::TestPhase | Op::Atom | Op::Call | Op::Ldmatrix);
        self.blocks.contains(&block)
            || foreign.brought_by(inst) != Writers::None
            || !is_loaded && inst.reads().flat_map(words).any(|word| self.words.contains(&word))
    }

    /// True when the control instruction of a block depends on another thread.
    fn is_decided(&self, module: &Module, block: BlockId) -> bool {
        let content = &module.blocks[block];
        let decides = !matches!(content.flow, Flow::Fallthrough(_) | Flow::Call { .. });
        let control = content.insts.last().filter(|_| decides);
        control.is_some_and(|control| control.reads().flat_map(words).any(|word| self.words.contains(&word)))
    }

    /// Marks the blocks of the loop between a branch and the point where its ways meet again.
    fn mark_region(&mut self, cfg: &Cfg, branch: BlockId, end: Option<BlockId>, body: &FxHashSet<BlockId>) {
        let mut rest: Vec<BlockId> = cfg.successors(branch).to_vec();
        while let Some(block) = rest.pop() {
            if Some(block) != end && body.contains(&block) && self.blocks.insert(block) {
                rest.extend(cfg.successors(block));
            }
        }
    }

    /// What the end of `block` decides about the loop, if it depends on another thread.
    fn exit(&self, module: &Module, block: BlockId, (header, body): (BlockId, &FxHashSet<BlockId>)) -> Option<Wait> {
        let flow = &module.blocks[block].flow;
        let stays = |target: &Option<BlockId>| target.is_some_and(|target| body.contains(&target));
        let of = |taken_stays, next_stays| Wait { header, taken_stays, next_stays, only_asks: false };
        let wait = match flow {
            Flow::Branch { taken, next } => of(stays(&Some(*taken)), stays(next)),
            Flow::Return { next } | Flow::Exit { next } => of(false, stays(next)),
            _ => return None,
        };
        let leaves = wait.taken_stays != wait.next_stays;
        (leaves && self.is_decided(module, block)).then_some(wait)
    }
}

fn words(register: Register) -> impl Iterator<Item = (Bank, u32)> {
    register.words().map(move |word| (register.bank, word))
}
