//! Products and shifts that go into sums.

use warplens_isa::Op;

use super::offsets::is_sum;
use super::{Links, is_free, reads_as_value};
use crate::node::{Body, Form, Node, NodeId, Source};
use crate::target::Target;

/// Makes multiply-adds and shift-adds of sums whose operand is a product or a shift that goes nowhere else.
pub(super) fn fuse(body: &mut Body<'_>, target: &Target) {
    // For 7.5 ptxas extends the word, and the access adds the base that is the same in all lanes.
    if target.is_from(8, 0) {
        extend_in_sums(body);
    }
    let links = Links::new(body);
    let order: Vec<NodeId> = body.blocks.iter().flatten().copied().collect();
    for id in order {
        let node = &body.nodes[id];
        if !is_sum(node) || node.inst.op() != Op::Add || node.sources.len() != 2 {
            continue;
        }
        let found = [1, 0].into_iter().find_map(|position| {
            let maker = links.maker(body, &node.sources[position])?;
            let form = fused_form(body, &links, maker, id, target)?;
            Some((position, maker, form))
        });
        if let Some((position, maker, form)) = found {
            let mut sources: Vec<Source> = body.nodes[maker].sources.iter().take(2).cloned().collect();
            let node = &mut body.nodes[id];
            sources.push(node.sources[1 - position].clone());
            node.sources = sources;
            node.form = form;
        }
    }
    scale_addresses(body, target);
}

/// Sums of 64 bits take 32 with their sign: the upper half adds the sign of the word that the lower half adds.
fn extend_in_sums(body: &mut Body<'_>) {
    let links = Links::new(body);
    let order: Vec<NodeId> = body.blocks.iter().flatten().copied().collect();
    for id in order {
        let node = &body.nodes[id];
        let ([Source::Words(narrow)], [extended]) = (node.sources.as_slice(), node.writes.as_slice()) else { continue };
        let (&[low], Some(&high)) = (narrow.as_slice(), extended.last()) else { continue };
        if node.form != Form::SignExtend || node.guard.is_some() || !body.is_single(extended) {
            continue;
        }
        // The lower half is the word itself, or a copy of it.
        let low = if extended.len() == 2 { extended[0] } else { low };
        let (value, narrow) = (Source::Words(vec![low, high]), Source::Words(narrow.clone()));
        let users = links.users(extended);
        let takes = |&user: &NodeId| {
            let sum = &body.nodes[user];
            let is_sum = is_sum(sum) && sum.inst.op() == Op::Add && sum.bits() == 64 && sum.sources.contains(&value);
            // A product or a shift that goes into the sum gains as much, and needs a pair beside it.
            let fuses = |source: &Source| {
                let maker = links.maker(body, source).map(|maker| &body.nodes[maker]);
                maker.is_some_and(|maker| matches!(maker.inst.op(), Op::Shl | Op::Mul | Op::MulWide))
            };
            let is_alone = !sum.sources.iter().any(fuses);
            is_sum && is_alone && reads_as_value(sum, &value) && links.sources_are_stable(body, id, user)
        };
        if !users.is_empty() && users.iter().all(takes) {
            for user in users {
                for source in body.nodes[user].sources.iter_mut().filter(|source| **source == value) {
                    *source = narrow.clone();
                }
            }
        }
    }
}

/// What a sum becomes with the operation that makes one of its operands, if that is possible and gains something.
fn fused_form(body: &Body<'_>, links: &Links, maker: NodeId, sum: NodeId, target: &Target) -> Option<Form> {
    let (made, node) = (&body.nodes[maker], &body.nodes[sum]);
    let value = Source::Words(made.writes[0].clone());
    if !is_free(made) || !links.sources_are_stable(body, maker, sum) || !reads_as_value(node, &value) {
        return None;
    }
    let users = links.users(value.words());
    let only_sums = || {
        users.iter().all(|&user| {
            let user = &body.nodes[user];
            is_sum(user) && user.inst.op() == Op::Add && user.sources.len() == 2 && user.bits() == node.bits()
                || matches!(user.form, Form::MultiplyAdd | Form::ShiftAdd)
        })
    };
    let integer = made.inst.ty.is_integer();
    match made.inst.op() {
        Op::Mul if integer && made.bits() == 32 && node.bits() == 32 => (users.len() == 1).then_some(Form::MultiplyAdd),
        Op::MulWide if 2 * made.bits() == node.bits() && matches!(made.bits(), 16 | 32) && target.is_from(7, 0) => {
            only_sums().then_some(Form::MultiplyAdd)
        }
        Op::Shl if is_constant_shift(made) && node.bits() == made.bits() => {
            let exists = if node.bits() == 64 { target.is_from(5, 0) } else { target.is_from(2, 0) };
            let into_addresses = || users.iter().all(|&user| takes_scaled(&body.nodes[user], &value, target));
            (exists && (only_sums() || into_addresses())).then_some(Form::ShiftAdd)
        }
        _ => None,
    }
}

fn is_constant_shift(node: &Node<'_>) -> bool {
    node.sources.get(1).is_some_and(Source::is_constant)
}

/// True when a node can do the shift itself: sums, and accesses to shared memory that scale their index.
fn takes_scaled(node: &Node<'_>, value: &Source, target: &Target) -> bool {
    let is_add = is_sum(node) && node.inst.op() == Op::Add && node.sources.len() == 2
        || matches!(node.form, Form::MultiplyAdd | Form::ShiftAdd);
    is_add || scales(node, value, target)
}

/// Accesses to shared memory scale their index by 4, 8 or 16 from compute capability 7.5 to 8.9.
fn scales(node: &Node<'_>, value: &Source, target: &Target) -> bool {
    let in_range = target.is_from(7, 5) && !target.is_from(9, 0);
    let at = node.address.as_ref().filter(|address| address.space == warplens_isa::StateSpace::Shared);
    in_range && at.is_some_and(|address| address.base == *value) && !node.sources.iter().any(|source| source == value)
}

/// Shifts that go into addresses that scale, and into nothing else that is left.
fn scale_addresses(body: &mut Body<'_>, target: &Target) {
    let links = Links::new(body);
    let order: Vec<NodeId> = body.blocks.iter().flatten().copied().collect();
    for id in order {
        let node = &body.nodes[id];
        let is_shift = is_free(node) && node.inst.op() == Op::Shl && node.bits() == 32 && is_constant_shift(node);
        let amount = node.sources.get(1).and_then(Source::immediate);
        if !is_shift || !matches!(amount, Some(2..=4)) || !body.is_single(&node.writes[0]) {
            continue;
        }
        let value = Source::Words(node.writes[0].clone());
        let index = node.sources[0].clone();
        let users = links.users(value.words());
        let all = users
            .iter()
            .all(|&user| scales(&body.nodes[user], &value, target) && links.sources_are_stable(body, id, user));
        if all {
            for user in users {
                if let Some(address) = &mut body.nodes[user].address {
                    address.base = index.clone();
                    address.scale = amount.map_or(0, |amount| amount as u32);
                }
            }
        }
    }
}
