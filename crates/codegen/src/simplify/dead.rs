//! Removes what nobody reads.

use crate::node::{Body, Form, NodeId, has_effect};

/// Marks nodes as gone whose results are not read and that do nothing else.
pub(super) fn remove(body: &mut Body<'_>) {
    let mut reads = vec![0u32; body.definitions.len()];
    for word in body.results() {
        reads[word as usize] += 1;
    }
    let mut writers: Vec<Vec<NodeId>> = vec![Vec::new(); body.definitions.len()];
    for (id, node) in body.nodes.iter().enumerate().filter(|(_, node)| !node.is_dead()) {
        node.reads().for_each(|word| reads[word as usize] += 1);
        node.written().for_each(|word| writers[word as usize].push(id));
    }
    let mut waiting: Vec<NodeId> = (0..body.nodes.len()).collect();
    while let Some(id) = waiting.pop() {
        let node = &body.nodes[id];
        if node.is_dead() || has_effect(node.inst) {
            trim(body, id, &reads);
            continue;
        }
        // A word that it reads itself does not keep it: a counter that only counts.
        let own = |word: u32| node.reads().filter(|&read| read == word).count() as u32;
        if node.written().any(|word| reads[word as usize] > own(word)) {
            continue;
        }
        let read: Vec<u32> = node.reads().collect();
        body.nodes[id].form = Form::Dead;
        for word in read {
            reads[word as usize] -= 1;
            if reads[word as usize] == 0 {
                waiting.extend(writers[word as usize].iter().copied());
            }
        }
    }
}

/// An atomic whose old value nobody reads does not return it.
fn trim(body: &mut Body<'_>, id: NodeId, reads: &[u32]) {
    let node = &mut body.nodes[id];
    if node.inst.op() == warplens_isa::Op::Atom && node.written().all(|word| reads[word as usize] == 0) {
        node.writes.clear();
    }
}
