//! Compute capability 1.x: arithmetic takes one operand from shared memory.

use warplens_ir::Order;
use warplens_isa::{Op, StateSpace};

use super::{Links, is_free, reads_as_value};
use crate::node::{Body, Form, Node, NodeId, Source};

/// Lets arithmetic read an operand from shared memory that a load would have brought and that nobody else reads.
pub(super) fn fuse(body: &mut Body<'_>) {
    let links = Links::new(body);
    let order: Vec<NodeId> = body.blocks.iter().flatten().copied().collect();
    for id in order {
        if !can_take(&body.nodes[id]) {
            continue;
        }
        let found = (0..body.nodes[id].sources.len()).find_map(|position| {
            let value = &body.nodes[id].sources[position];
            let load = links.maker(body, value)?;
            let alone = links.users(value.words()) == [id] && reads_as_value(&body.nodes[id], value);
            (alone && is_shared_load(&body.nodes[load]) && may_move(body, &links, load, id)).then_some((position, load))
        });
        if let Some((position, load)) = found {
            let (slot, turn) = (body.nodes[load].slot, body.nodes[load].turn);
            let address = body.nodes[load].address.clone();
            body.nodes[load].form = Form::Dead;
            let node = &mut body.nodes[id];
            node.sources.remove(position);
            node.sources.insert(position, address.map_or(Source::Constant(None, None), |address| address.base));
            (node.slot, node.turn) = (slot, turn);
            node.takes_shared = true;
        }
    }
}

/// 32-bit arithmetic with two or three operands, without an access of its own.
fn can_take(node: &Node<'_>) -> bool {
    let plain = node.form == Form::AsWritten && node.address.is_none() && !node.takes_shared;
    plain
        && node.bits() == 32
        && matches!(node.inst.op(), Op::Add | Op::Sub | Op::Mul | Op::Fma | Op::Mad24 | Op::Mul24)
        && !(node.inst.op() == Op::Mul && node.inst.ty.is_integer())
}

fn is_shared_load(node: &Node<'_>) -> bool {
    let at = node.address.as_ref().is_some_and(|address| address.space == StateSpace::Shared && address.bytes == 4);
    is_free(node) && node.inst.op() == Op::Ld && at && !node.inst.operation.is_ordered()
}

/// True when nothing between both can change the value in memory or the address.
fn may_move(body: &Body<'_>, links: &Links, load: NodeId, to: NodeId) -> bool {
    let same_block = body.nodes[load].block == body.nodes[to].block && load < to;
    same_block
        && links.sources_are_stable(body, load, to)
        && body.nodes[load + 1..to].iter().all(|node| {
            node.is_dead()
                || match Order::of(node.inst) {
                    Order::Free | Order::Load | Order::Exchange | Order::Clock | Order::End => true,
                    Order::Store | Order::Strict | Order::Fence => false,
                }
        })
}
