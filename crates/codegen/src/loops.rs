//! Where what does not change is computed: in front of the loops that use it.

use std::collections::BTreeMap;

use crate::node::Body;

/// Loops that are looked at: a program may have any number of them.
const MOST_LOOPS: usize = 256;

/// By position of a block: the one in front of the outermost loop around it, or itself.
pub(crate) fn in_front(body: &Body<'_>) -> Vec<usize> {
    let n = body.blocks.len();
    let mut homes: Vec<usize> = (0..n).collect();
    // Blocks of the loop whose front the home of a block is.
    let mut size_around = vec![0; n];
    let loops: Vec<(usize, Vec<bool>)> = latches(body)
        .into_iter()
        .take(MOST_LOOPS)
        .map(|(header, latches)| (header, inside(body, header, latches)))
        .collect();
    for (header, inside) in &loops {
        let before: Vec<usize> = predecessors(body, *header).filter(|&block| !inside[block]).collect();
        // One way into the loop, which is executed as often as the loop is entered and stands before it, or there is no
        // place in front of it.
        let &[before] = before.as_slice() else { continue };
        let is_in_another = || loops.iter().any(|(_, other)| other[before] && !other[*header]);
        if before > *header || is_in_another() {
            continue;
        }
        let size = inside.iter().filter(|&&is_inside| is_inside).count();
        for block in 0..n {
            if inside[block] && size > size_around[block] {
                (homes[block], size_around[block]) = (before, size);
            }
        }
    }
    homes
}

/// The blocks from which loops go back, by the position of their header.
fn latches(body: &Body<'_>) -> BTreeMap<usize, Vec<usize>> {
    let mut latches: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &latch in body.cfg.postorder() {
        let headers = body.cfg.successors(latch).iter().filter(|&&header| body.dominators.dominates(header, latch));
        for &header in headers {
            let latch = body.function.block_position(latch);
            latches.entry(body.function.block_position(header)).or_default().push(latch);
        }
    }
    latches
}

/// By position: the block is part of the loop.
fn inside(body: &Body<'_>, header: usize, mut ahead: Vec<usize>) -> Vec<bool> {
    let mut inside = vec![false; body.blocks.len()];
    inside[header] = true;
    while let Some(block) = ahead.pop() {
        if !std::mem::replace(&mut inside[block], true) {
            ahead.extend(predecessors(body, block));
        }
    }
    inside
}

fn predecessors<'b>(body: &'b Body<'_>, block: usize) -> impl Iterator<Item = usize> + 'b {
    body.cfg.predecessors(body.block_id(block)).iter().map(|&before| body.function.block_position(before))
}
