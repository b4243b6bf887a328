//! Where what does not change is computed: in front of the loops that use it.

use warplens_isa::BlockId;

use crate::node::Body;

/// By position of a block: the one in front of the outermost loop around it, or itself.
pub(crate) fn in_front(body: &Body<'_>) -> Vec<usize> {
    let mut homes: Vec<usize> = (0..body.blocks.len()).collect();
    let mut n_blocks = vec![0; homes.len()];
    for (header, inside) in loops(body) {
        let outside = |block: &&BlockId| !inside.contains(&body.function.block_position(**block));
        let mut before = body.cfg.predecessors(body.block_id(header)).iter().filter(outside);
        // One way into the loop, or there is no place for it.
        let (Some(&before), None) = (before.next(), before.next()) else { continue };
        let before = body.function.block_position(before);
        for &block in &inside {
            if inside.len() > n_blocks[block] {
                (homes[block], n_blocks[block]) = (before, inside.len());
            }
        }
    }
    homes
}

/// Loops by the position of their header, with the positions of their blocks.
fn loops(body: &Body<'_>) -> Vec<(usize, Vec<usize>)> {
    let position = |block: BlockId| body.function.block_position(block);
    let mut found: Vec<(usize, Vec<usize>)> = Vec::new();
    for &latch in body.cfg.postorder() {
        for &header in body.cfg.successors(latch) {
            if !body.dominators.dominates(header, latch) {
                continue;
            }
            let header = position(header);
            let at = found.iter().position(|&(other, _)| other == header).unwrap_or_else(|| {
                found.push((header, vec![header]));
                found.len() - 1
            });
            let inside = &mut found[at].1;
            let mut ahead = vec![latch];
            while let Some(block) = ahead.pop() {
                if !inside.contains(&position(block)) {
                    inside.push(position(block));
                    ahead.extend(body.cfg.predecessors(block));
                }
            }
        }
    }
    found
}
