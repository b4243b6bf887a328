//! Loads of neighbouring words of shared memory.
//!
//! ptxas makes one wide load of loads from shared memory that lie side by side, where it can tell that the address is
//! aligned: the index is a multiple, and so is the place of the variable. Loads of device memory stay as the PTX has them.

use std::collections::HashMap;

use warplens_ir::{Order, VariableId};
use warplens_isa::{Op, StateSpace};
use warplens_trace::NO_SLOT;

use super::Links;
use crate::node::{Body, Form, Node, NodeId, Source, Symbol};

/// Bytes of the widest load.
const WIDEST: i64 = 16;

/// Alignments are known up to this power of two.
const MOST_ALIGNED: u32 = 16;

/// How deep an address is looked into.
const MOST_STEPS: u32 = 16;

/// Places of shared variables.
type Places = HashMap<VariableId, u64>;

type Group = (Source, Option<VariableId>, u32);

/// Makes wide loads of the loads of each block.
pub(super) fn widen(body: &mut Body<'_>) {
    let links = Links::new(body);
    let places = shared_places(body);
    for ids in body.blocks.clone() {
        let mut groups: Vec<(Group, Vec<NodeId>)> = Vec::new();
        let mut position: HashMap<Group, usize> = HashMap::new();
        for id in ids {
            let node = &body.nodes[id];
            if may_write_shared(node) {
                groups.drain(..).for_each(|(_, members)| merge(body, &links, &places, members));
                position.clear();
            } else if let Some(group) = group(body, node) {
                let at = *position.entry(group.clone()).or_insert_with(|| {
                    groups.push((group, Vec::new()));
                    groups.len() - 1
                });
                groups[at].1.push(id);
            }
        }
        groups.into_iter().for_each(|(_, members)| merge(body, &links, &places, members));
    }
}

/// What loads have in common that may become one: base, variable and width of an element.
fn group(body: &Body<'_>, node: &Node<'_>) -> Option<Group> {
    let address = node.address.as_ref()?;
    let plain = node.inst.op() == Op::Ld && node.form == Form::AsWritten && node.guard.is_none();
    let shared = address.space == StateSpace::Shared && !node.inst.operation.is_ordered() && node.slot != NO_SLOT;
    let one = matches!(address.bytes, 4 | 8) && node.inst.ty.bytes() == address.bytes && node.writes.len() == 1;
    let whole = node.writes.first().is_some_and(|words| words.len() as u32 * 4 == address.bytes);
    let steady = body.is_single(address.base.words()) && node.writes.iter().all(|words| body.is_single(words));
    (plain && shared && one && whole && steady).then(|| (address.base.clone(), address.variable, address.bytes))
}

fn may_write_shared(node: &Node<'_>) -> bool {
    let elsewhere = node.address.as_ref().is_some_and(|address| {
        matches!(address.space, StateSpace::Global | StateSpace::Local | StateSpace::Const | StateSpace::Param)
    });
    match Order::of(node.inst) {
        Order::Store => !elsewhere,
        Order::Strict => !elsewhere || node.inst.op() == Op::Ld,
        Order::Fence | Order::End => true,
        Order::Free | Order::Load | Order::Exchange | Order::Clock => false,
    }
}

/// Merges loads of one group where runs of them fill an aligned piece.
fn merge(body: &mut Body<'_>, links: &Links, places: &Places, members: Vec<NodeId>) {
    let Some(&first) = members.first().filter(|_| members.len() > 1) else { return };
    let Some(address) = body.nodes[first].address.clone() else { return };
    let base = alignment(body, links, places, &address.base, MOST_STEPS);
    let variable = address.variable.and_then(|variable| places.get(&variable)).copied().unwrap_or(0);
    let aligned = 1i64 << base.min(place_alignment(variable)).min(MOST_ALIGNED);
    let width = i64::from(address.bytes);
    let mut by_offset: HashMap<i64, NodeId> = HashMap::new();
    for &id in &members {
        let offset = body.nodes[id].address.as_ref().map_or(0, |address| address.offset);
        by_offset.entry(offset).or_insert(id);
    }
    let mut offsets: Vec<i64> = by_offset.keys().copied().collect();
    offsets.sort_unstable();
    let mut taken = i64::MIN;
    for &offset in &offsets {
        if offset < taken {
            continue;
        }
        for bytes in [WIDEST, WIDEST / 2] {
            let fits = bytes > width && bytes <= aligned && offset.rem_euclid(bytes) == 0;
            let run: Vec<i64> = (0..bytes / width).map(|index| offset + index * width).collect();
            if fits && run.iter().all(|offset| by_offset.contains_key(offset)) {
                let ids: Vec<NodeId> = run.iter().map(|offset| by_offset[offset]).collect();
                unite(body, &ids);
                taken = offset + bytes;
                break;
            }
        }
    }
}

/// One load for all of `ids`, which are in the order of their addresses; it stands where the first of them stood.
fn unite(body: &mut Body<'_>, ids: &[NodeId]) {
    let Some(&at) = ids.iter().min() else { return };
    let writes = ids.iter().map(|&id| body.nodes[id].writes[0].clone()).collect();
    let lowest = &body.nodes[ids[0]];
    let (slot, turn, mut address) = (lowest.slot, lowest.turn, lowest.address.clone());
    if let Some(address) = &mut address {
        address.bytes *= ids.len() as u32;
    }
    for &id in ids {
        body.nodes[id].form = if id == at { Form::AsWritten } else { Form::Dead };
    }
    let node = &mut body.nodes[at];
    node.writes = writes;
    node.address = address;
    (node.slot, node.turn) = (slot, turn);
    node.merged = ids.len() as u32;
}

/// Places of the kernel's shared variables: one after the other, each at its alignment.
fn shared_places(body: &Body<'_>) -> Places {
    let mut places = HashMap::new();
    let mut end = 0u64;
    for (id, variable) in body.module.variables.iter() {
        let elsewhere = variable
            .function
            .is_some_and(|function| body.module.functions[function].first_block != body.function.first_block);
        if variable.space == StateSpace::Shared && !elsewhere && !variable.is_dynamic {
            let place = end.next_multiple_of(variable.align.max(1));
            places.insert(id, place);
            end = place + variable.bytes;
        }
    }
    for (id, variable) in body.module.variables.iter().filter(|(_, variable)| variable.is_dynamic) {
        places.insert(id, end.next_multiple_of(variable.align.max(1)));
    }
    places
}

fn place_alignment(place: u64) -> u32 {
    if place == 0 { MOST_ALIGNED } else { place.trailing_zeros() }
}

/// The power of two that divides a value, as far as the code shows.
fn alignment(body: &Body<'_>, links: &Links, places: &Places, value: &Source, steps: u32) -> u32 {
    if let Source::Constant(number, symbol) = value {
        let place = match symbol {
            None => Some(0),
            Some(Symbol::Variable(variable)) => places.get(variable).copied(),
            Some(_) => None,
        };
        let known = number.zip(place);
        return known.map_or(0, |(number, place)| place_alignment(number).min(place_alignment(place)));
    }
    let Some(node) = links.maker(body, value).filter(|_| steps > 0).map(|id| &body.nodes[id]) else { return 0 };
    let of = |position: usize| {
        node.sources.get(position).map_or(0, |source| alignment(body, links, places, source, steps - 1))
    };
    match (node.form, node.inst.op()) {
        (Form::Sum, _) | (Form::AsWritten, Op::Add | Op::Sub | Op::Or) => {
            (0..node.sources.len()).map(of).min().unwrap_or(0)
        }
        (Form::AsWritten, Op::Shl) => {
            let by = node.sources.get(1).and_then(Source::immediate).and_then(|by| u32::try_from(by).ok());
            by.map_or(0, |by| of(0).saturating_add(by).min(MOST_ALIGNED))
        }
        (Form::AsWritten, Op::Mul | Op::MulWide) => (of(0) + of(1)).min(MOST_ALIGNED),
        (Form::AsWritten, Op::Mad | Op::MadWide) => (of(0) + of(1)).min(of(2)).min(MOST_ALIGNED),
        (Form::AsWritten, Op::And) => of(0).max(of(1)),
        _ => 0,
    }
}
