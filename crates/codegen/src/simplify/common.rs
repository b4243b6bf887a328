//! Operations that were done before on the same values.

use std::collections::HashMap;

use warplens_isa::{Op, Operation, ScalarType};

use crate::node::{Body, Form, Node, NodeId, Source, Word, has_effect};

#[derive(PartialEq, Eq, Hash)]
struct Key {
    operation: Operation,
    ty: ScalarType,
    source_ty: ScalarType,
    is_sum: bool,
    sources: Vec<Source>,
    words: usize,
}

/// Removes operations whose result another one that comes before on every way has already.
pub(super) fn remove(body: &mut Body<'_>) {
    let mut done: HashMap<Key, Vec<NodeId>> = HashMap::new();
    let mut replaced: HashMap<Word, Word> = HashMap::new();
    let order: Vec<NodeId> = body.blocks.iter().flatten().copied().collect();
    for &id in &order {
        substitute(&mut body.nodes[id], &replaced);
        let Some(key) = key(body, id) else { continue };
        let before = done.entry(key).or_default();
        let same = before.iter().rev().copied().find(|&other| body.dominates(other, id));
        match same {
            Some(other) => {
                let pairs = body.nodes[id].writes[0].iter().zip(&body.nodes[other].writes[0]);
                replaced.extend(pairs.map(|(&from, &to)| (from, to)));
                body.nodes[id].form = Form::Dead;
            }
            None if before.len() < MOST_CANDIDATES => before.push(id),
            None => {}
        }
    }
    for node in &mut body.nodes {
        substitute(node, &replaced);
    }
}

/// Equal operations of which none comes before the other are remembered up to this number.
const MOST_CANDIDATES: usize = 8;

fn key(body: &Body<'_>, id: NodeId) -> Option<Key> {
    let node = &body.nodes[id];
    let inst = node.inst;
    let is_pure =
        !node.is_dead() && !inst.changes_signs() && node.guard.is_none() && node.address.is_none() && !has_effect(inst);
    let is_single = node.writes.len() == 1 && body.is_single(&node.writes[0]);
    let reads: Vec<Word> = node.reads().collect();
    if !is_pure || !is_single || !body.is_single(&reads) || inst.op() == Op::ReadSpecial || node.form == Form::Copy {
        return None;
    }
    let is_sum = node.form == Form::Sum;
    let mut sources = node.sources.clone();
    if sources.iter().any(|source| matches!(source, Source::Constant(None, None))) {
        return None;
    }
    if is_sum || matches!(inst.op(), Op::Add | Op::Mul | Op::And | Op::Or | Op::Xor | Op::MulWide) {
        sources.sort_by_key(|source| (source.immediate(), source.words().first().copied()));
    }
    let ty = if is_sum { bits_type(inst.ty) } else { inst.ty };
    let words = node.writes[0].len();
    Some(Key {
        operation: inst.operation,
        ty,
        source_ty: if is_sum { ty } else { inst.source_ty },
        is_sum,
        sources,
        words,
    })
}

/// Sums are the same for signed and unsigned integers.
fn bits_type(ty: ScalarType) -> ScalarType {
    if ty.bits() == 64 { ScalarType::B64 } else { ScalarType::B32 }
}

fn substitute(node: &mut Node<'_>, replaced: &HashMap<Word, Word>) {
    if replaced.is_empty() {
        return;
    }
    let change = |word: &mut Word| {
        // What replaces a word is never replaced itself: it was the first of its kind.
        if let Some(&by) = replaced.get(word) {
            *word = by;
        }
    };
    node.read_mut().for_each(change);
}
