//! Dominators and post-dominators, by the iterative algorithm of Cooper, Harvey and Kennedy ("A Simple, Fast Dominance
//! Algorithm", 2001).

use warplens_isa::BlockId;

use crate::Cfg;

/// Immediate dominators (or post-dominators) of the blocks of a function.
#[derive(Clone, Debug)]
pub struct Dominators {
    /// By block position: position of the immediate dominator; the virtual root is `n`; `None` if unreachable.
    immediate: Vec<Option<usize>>,
    cfg_first: BlockId,
}

impl Dominators {
    /// Dominators of the blocks that the entry reaches.
    pub fn new(cfg: &Cfg) -> Self {
        let n = cfg.len();
        let order: Vec<usize> = cfg.postorder().iter().map(|&block| cfg.position(block)).collect();
        let entry = cfg.position(cfg.entry());
        Self::solve(cfg, &order, |position| {
            let sources = cfg.predecessors(cfg_block(cfg, position)).iter().map(|&block| cfg.position(block));
            sources.chain((position == entry).then_some(n)).collect()
        })
    }

    /// Post-dominators. Every block without successor leads to a virtual exit; so does one block of every loop that
    /// never ends.
    pub fn post(cfg: &Cfg) -> Self {
        let n = cfg.len();
        let (order, exits) = reverse_postorder_from_exits(cfg);
        Self::solve(cfg, &order, |position| {
            let targets = cfg.successors(cfg_block(cfg, position)).iter().map(|&block| cfg.position(block));
            targets.chain(exits[position].then_some(n)).collect()
        })
    }

    /// The immediate dominator of `block`; `None` for the root's children and for unreachable blocks.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        let position = block.0 as usize - self.cfg_first.0 as usize;
        let parent = self.immediate[position]?;
        (parent < self.immediate.len() - 1).then(|| BlockId(self.cfg_first.0 + parent as u32))
    }

    /// True where every way to `below` leads through `above`, or they are the same block.
    pub fn dominates(&self, above: BlockId, below: BlockId) -> bool {
        let mut at = Some(below);
        while let Some(block) = at {
            if block == above {
                return true;
            }
            at = self.immediate(block);
        }
        false
    }

    /// `order` lists positions in postorder of the walk from the root; `edges(p)` are the positions that lead from the
    /// root's side to `p`, the root itself being `n`.
    fn solve(cfg: &Cfg, order: &[usize], edges: impl Fn(usize) -> Vec<usize>) -> Self {
        let n = cfg.len();
        let mut number = vec![0; n + 1];
        for (index, &position) in order.iter().enumerate() {
            number[position] = index;
        }
        number[n] = order.len();
        let mut immediate: Vec<Option<usize>> = vec![None; n + 1];
        immediate[n] = Some(n);
        let mut changed = true;
        while changed {
            changed = false;
            for &position in order.iter().rev() {
                let known = edges(position).into_iter().filter(|&edge| immediate[edge].is_some());
                let meet = known.reduce(|a, b| intersect(&immediate, &number, a, b));
                if meet.is_some() && immediate[position] != meet {
                    immediate[position] = meet;
                    changed = true;
                }
            }
        }
        Self { immediate, cfg_first: cfg.entry() }
    }
}

fn cfg_block(cfg: &Cfg, position: usize) -> BlockId {
    BlockId(cfg.entry().0 + position as u32)
}

fn intersect(immediate: &[Option<usize>], number: &[usize], mut a: usize, mut b: usize) -> usize {
    let parent = |node: usize| immediate[node].expect("only solved nodes are intersected");
    while a != b {
        while number[a] < number[b] {
            a = parent(a);
        }
        while number[b] < number[a] {
            b = parent(b);
        }
    }
    a
}

/// Postorder of the reversed graph from the virtual exit, and which blocks the exit leads to.
fn reverse_postorder_from_exits(cfg: &Cfg) -> (Vec<usize>, Vec<bool>) {
    let n = cfg.len();
    let mut exits: Vec<bool> = (0..n).map(|position| cfg.successors(cfg_block(cfg, position)).is_empty()).collect();
    let mut seen = vec![false; n];
    let mut order = Vec::with_capacity(n);
    for (position, &is_exit) in exits.iter().enumerate() {
        if is_exit {
            walk_backwards(cfg, position, &mut seen, &mut order);
        }
    }
    // Blocks that cannot reach an exit sit in or before endless loops. Postorder visits the innermost part first.
    for &block in cfg.postorder() {
        let position = cfg.position(block);
        if !seen[position] {
            exits[position] = true;
            walk_backwards(cfg, position, &mut seen, &mut order);
        }
    }
    (order, exits)
}

fn walk_backwards(cfg: &Cfg, from: usize, seen: &mut [bool], order: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[from], true) {
        return;
    }
    let mut stack = vec![(from, 0)];
    while let Some((position, child)) = stack.last_mut() {
        let Some(&next) = cfg.predecessors(cfg_block(cfg, *position)).get(*child) else {
            order.push(*position);
            stack.pop();
            continue;
        };
        *child += 1;
        let next = cfg.position(next);
        if !std::mem::replace(&mut seen[next], true) {
            stack.push((next, 0));
        }
    }
}
