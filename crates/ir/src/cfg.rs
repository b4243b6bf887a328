//! Control-flow graph of one function.

use warplens_base::Id;
use warplens_isa::BlockId;

use crate::{Function, Module};

/// Predecessors and successors of the blocks of a function, by position in the function.
#[derive(Clone, Debug)]
pub struct Cfg {
    first: BlockId,
    successors: Vec<Vec<BlockId>>,
    predecessors: Vec<Vec<BlockId>>,
    postorder: Vec<BlockId>,
}

impl Cfg {
    /// Builds the graph of `function`.
    pub fn new(module: &Module, function: &Function) -> Self {
        let blocks: Vec<BlockId> = function.block_ids().collect();
        let mut successors: Vec<Vec<BlockId>> = Vec::with_capacity(blocks.len());
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for &block in &blocks {
            let mut targets = module.blocks[block].flow.successors();
            targets.sort_unstable();
            targets.dedup();
            for target in &targets {
                predecessors[function.block_position(*target)].push(block);
            }
            successors.push(targets);
        }
        let postorder = postorder(function.first_block, &successors);
        Self { first: function.first_block, successors, predecessors, postorder }
    }

    /// Blocks that may come after `block`, without repetition.
    pub fn successors(&self, block: BlockId) -> &[BlockId] {
        &self.successors[self.position(block)]
    }

    /// Blocks that may come before `block`, without repetition.
    pub fn predecessors(&self, block: BlockId) -> &[BlockId] {
        &self.predecessors[self.position(block)]
    }

    /// The blocks that the entry reaches, successors before predecessors as far as loops allow.
    pub fn postorder(&self) -> &[BlockId] {
        &self.postorder
    }

    /// Number of blocks, reachable or not.
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    /// True for a function without blocks.
    pub fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }

    /// The entry block.
    pub fn entry(&self) -> BlockId {
        self.first
    }

    /// Position of `block` in the function.
    pub fn position(&self, block: BlockId) -> usize {
        block.index() - self.first.index()
    }
}

/// Depth-first postorder with an explicit stack: functions of machine-written code can be deep.
fn postorder(entry: BlockId, successors: &[Vec<BlockId>]) -> Vec<BlockId> {
    if successors.is_empty() {
        return Vec::new();
    }
    let position = |block: BlockId| block.index() - entry.index();
    let mut seen = vec![false; successors.len()];
    let mut order = Vec::with_capacity(successors.len());
    let mut stack = vec![(entry, 0)];
    seen[0] = true;
    while let Some((block, child)) = stack.last_mut() {
        let Some(&next) = successors[position(*block)].get(*child) else {
            order.push(*block);
            stack.pop();
            continue;
        };
        *child += 1;
        if !std::mem::replace(&mut seen[position(next)], true) {
            stack.push((next, 0));
        }
    }
    order
}
