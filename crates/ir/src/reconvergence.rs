//! Reconvergence points: where the lanes that a branch parted meet again.

use warplens_base::IdMap;
use warplens_isa::BlockId;

use crate::{Cfg, Dominators, Flow, Function, Module};

/// For every block of the module that ends in a branch with several targets, the block in which the paths meet again:
/// the immediate post-dominator. `None` where paths only end.
pub fn points(module: &Module) -> IdMap<BlockId, Option<BlockId>> {
    let mut points = IdMap::filled(module.blocks.len(), None);
    for (_, function) in module.functions.iter() {
        of_function(module, function, &mut points);
    }
    points
}

fn of_function(module: &Module, function: &Function, points: &mut IdMap<BlockId, Option<BlockId>>) {
    let cfg = Cfg::new(module, function);
    let post_dominators = Dominators::post(&cfg);
    for block in function.block_ids() {
        let parts = !matches!(module.blocks[block].flow, Flow::Fallthrough(_) | Flow::Call { .. });
        if parts && cfg.successors(block).len() > 1 {
            points[block] = post_dominators.immediate(block);
        }
    }
}
