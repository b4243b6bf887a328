//! Copies into registers that several instructions write: loop counters and the like.

use super::Links;
use crate::node::{Body, Form, NodeId, Source, Word, has_effect};

/// Values that are computed later than the program has them, at most: each time all links are looked for again.
const MOST_MOVED: usize = 64;

/// Lets a value be computed in the register that it is copied to, where both are never needed at once.
pub(super) fn coalesce(body: &mut Body<'_>) {
    let mut links = Links::new(body);
    let mut moved = 0;
    for ids in body.blocks.clone() {
        for &id in &ids {
            if body.nodes[id].form != Form::Copy {
                continue;
            }
            if moved < MOST_MOVED && delay(body, &links, id) {
                moved += 1;
                links = Links::new(body);
            }
            try_copy(body, &links, &ids, id);
        }
    }
}

/// Moves what makes the value of a copy behind the last that reads what was in the copy's register before.
fn delay(body: &mut Body<'_>, links: &Links, copy: NodeId) -> bool {
    let node = &body.nodes[copy];
    let ([Source::Words(from)], [to]) = (node.sources.as_slice(), node.writes.as_slice()) else { return false };
    if node.guard.is_some() || from.len() != to.len() || !body.is_single(from) {
        return false;
    }
    let Some(maker) = links.maker(body, &Source::Words(from.clone())) else { return false };
    let made = &body.nodes[maker];
    if made.block != node.block || maker > copy || made.address.is_some() || has_effect(made.inst) {
        return false;
    }
    let needs_old = |id: &NodeId| !body.nodes[*id].is_dead() && body.nodes[*id].reads().any(|word| to.contains(&word));
    let Some(last) = (maker + 1..copy).rev().find(needs_old) else { return false };
    let changes = |id: NodeId| {
        let other = &body.nodes[id];
        let reads = other.reads().any(|word| from.contains(&word));
        !other.is_dead() && (reads || other.written().any(|word| made.reads().any(|read| read == word)))
    };
    let end = links.users(from).into_iter().max().unwrap_or(copy).max(copy);
    let writes_old = |id: usize| {
        let other = &body.nodes[id];
        id != copy && !other.is_dead() && other.written().any(|word| to.contains(&word))
    };
    if (maker + 1..=last).any(changes) || (maker + 1..=end).any(writes_old) {
        return false;
    }
    body.nodes[maker..=last].rotate_left(1);
    true
}

/// Lets instructions read the register that a copy reads, where it is not written before they do.
pub(super) fn forward(body: &mut Body<'_>) {
    let links = Links::new(body);
    for ids in body.blocks.clone() {
        for &id in &ids {
            if body.nodes[id].form == Form::Copy {
                forward_copy(body, &links, id);
            }
        }
    }
}

fn forward_copy(body: &mut Body<'_>, links: &Links, copy: NodeId) {
    let node = &body.nodes[copy];
    let [Source::Words(from)] = node.sources.as_slice() else { return };
    let [to] = node.writes.as_slice() else { return };
    if from == to {
        body.nodes[copy].form = Form::Dead;
        return;
    }
    if node.guard.is_some() || from.len() != to.len() || !body.is_single(to) {
        return;
    }
    let (from, to) = (from.clone(), to.clone());
    let users = links.users(&to);
    // What it reads may have changed since the links were made, but only to a register that held the same value.
    let same_block = |&user: &NodeId| body.nodes[user].block == body.nodes[copy].block && user > copy;
    let untouched = |&user: &NodeId| {
        body.blocks[body.nodes[copy].block].iter().all(|&other| {
            let between = other > copy && other < user && !body.nodes[other].is_dead();
            !between || !body.nodes[other].written().any(|word| from.contains(&word))
        })
    };
    if users.iter().all(same_block) && users.iter().all(untouched) {
        body.nodes[copy].form = Form::Dead;
        users.into_iter().for_each(|user| rename(body, user, &to, &from));
    }
}

fn try_copy(body: &mut Body<'_>, links: &Links, ids: &[NodeId], copy: NodeId) {
    let node = &body.nodes[copy];
    let [Source::Words(from)] = node.sources.as_slice() else { return };
    let [to] = node.writes.as_slice() else { return };
    if node.guard.is_some() || from.len() != to.len() || !body.is_single(from) || from == to {
        return;
    }
    let (from, to) = (from.clone(), to.clone());
    let Some(maker) = links.maker(body, &Source::Words(from.clone())) else { return };
    let users = links.users(&from);
    let block = body.nodes[copy].block;
    let is_here = |id: NodeId| body.nodes[id].block == block;
    if !is_here(maker) || maker > copy || !users.iter().all(|&user| is_here(user) && user > maker) {
        return;
    }
    let last = users.iter().copied().max().unwrap_or(copy);
    let touches = |id: NodeId| {
        let node = &body.nodes[id];
        let writes = node.written().any(|word| to.contains(&word));
        // Before the copy nobody may need the old value, behind it nobody may write a new one.
        let reads = node.reads().any(|word| to.contains(&word));
        id != copy && !node.is_dead() && (writes || reads && id < copy)
    };
    if ids.iter().any(|&id| id > maker && id <= last.max(copy) && touches(id)) {
        return;
    }
    body.nodes[copy].form = Form::Dead;
    body.nodes[maker].writes = vec![to.clone()];
    for user in users.into_iter().filter(|&user| user != copy) {
        rename(body, user, &from, &to);
    }
}

fn rename(body: &mut Body<'_>, id: NodeId, from: &[Word], to: &[Word]) {
    let change = |word: &mut Word| {
        if let Some(position) = from.iter().position(|it| it == word) {
            *word = to[position];
        }
    };
    body.nodes[id].read_mut().for_each(change);
}
