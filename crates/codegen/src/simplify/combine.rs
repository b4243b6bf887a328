//! Sums and bitwise functions of three operands; comparisons that do more.

use warplens_isa::{CompareOp, Comparison, Op, Operation, ScalarType};

use super::offsets::is_sum;
use super::{Links, is_free, reads_as_value};
use crate::node::{Body, Form, Node, NodeId, Source, Word};
use crate::target::Target;

/// Combines operations with those that make their operands, where nobody else reads these.
pub(super) fn combine(body: &mut Body<'_>, target: &Target) {
    let mut links = Links::new(body);
    let order: Vec<NodeId> = body.blocks.iter().flatten().copied().collect();
    for id in order {
        if body.nodes[id].is_dead() {
            continue;
        }
        // Each combination may make another one possible.
        for _ in 0..2 {
            let Some((position, maker)) = candidate(body, &links, id, target) else { break };
            absorb(body, id, position, maker);
            for word in body.nodes[id].reads().collect::<Vec<Word>>() {
                let uses = &mut links.uses[word as usize];
                uses.retain(|&user| user != maker);
                if !uses.contains(&id) {
                    uses.push(id);
                }
            }
        }
    }
}

/// An operand that the operation can take over, with the operation that makes it.
fn candidate(body: &Body<'_>, links: &Links, id: NodeId, target: &Target) -> Option<(usize, NodeId)> {
    let node = &body.nodes[id];
    (0..node.sources.len()).find_map(|position| {
        let value = &node.sources[position];
        let maker = links.maker(body, value)?;
        let made = &body.nodes[maker];
        let alone = links.users(value.words()) == [id] && reads_as_value(node, value);
        let once = node.sources.iter().filter(|source| *source == value).count() == 1;
        let stable = links.sources_are_stable(body, maker, id);
        (alone && once && stable && can_absorb(node, made, target)).then_some((position, maker))
    })
}

fn can_absorb(node: &Node<'_>, made: &Node<'_>, target: &Target) -> bool {
    let has_three = target.is_from(5, 0);
    let together = operands(node, made);
    if is_sum(node) && is_sum(made) && node.bits() == made.bits() {
        return has_three && node.sources.len() + made.sources.len() <= 4;
    }
    if is_logic(node) && is_logic(made) {
        return has_three && together <= 3;
    }
    if is_combination(node) && is_free(made) && made.inst.op() == Op::Setp {
        return made.sources.len() == 2;
    }
    is_zero_test(node) && is_logic(made) && target.is_from(7, 0)
}

/// Distinct values that both read, without the one between them.
fn operands(node: &Node<'_>, made: &Node<'_>) -> usize {
    let mut seen: Vec<&Source> = Vec::new();
    let between = made.writes.first();
    for source in node.sources.iter().chain(&made.sources) {
        let is_between = between.is_some_and(|words| source.words() == words.as_slice());
        if !is_between && !seen.contains(&source) {
            seen.push(source);
        }
    }
    seen.len()
}

fn is_logic(node: &Node<'_>) -> bool {
    let written =
        node.form == Form::Logic || is_free(node) && matches!(node.inst.op(), Op::And | Op::Or | Op::Xor | Op::Not);
    written && node.inst.ty != ScalarType::Pred && node.bits() <= 32 && node.inst.op() != Op::Setp
}

/// A predicate combined with another.
fn is_combination(node: &Node<'_>) -> bool {
    is_free(node) && matches!(node.inst.op(), Op::And | Op::Or) && node.inst.ty == ScalarType::Pred
}

/// A comparison of an integer with zero.
fn is_zero_test(node: &Node<'_>) -> bool {
    let inst = node.inst;
    is_free(node)
        && matches!(inst.operation, Operation::Setp(Comparison { op: CompareOp::Eq | CompareOp::Ne, .. }))
        && inst.source_ty.is_integer()
        && inst.source_ty.bits() <= 32
        && node.sources.len() == 2
        && node.sources[1].immediate() == Some(0)
}

fn absorb(body: &mut Body<'_>, id: NodeId, position: usize, maker: NodeId) {
    let made = body.nodes[maker].clone();
    body.nodes[maker].form = Form::Dead;
    let node = &mut body.nodes[id];
    node.sources.remove(position);
    if is_sum(&made) {
        node.form = Form::Sum;
    } else if made.inst.op() == Op::Setp {
        node.inst = made.inst;
    } else {
        if node.inst.op() == Op::Setp {
            node.sources.clear();
        }
        node.form = Form::Logic;
    }
    for source in made.sources {
        if !node.sources.contains(&source) || node.form == Form::Sum {
            node.sources.push(source);
        }
    }
}
