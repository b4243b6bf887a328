//! Folds what machine instructions do on the side.
//!
//! | Pass | What becomes of it |
//! |---|---|
//! | [`offsets`] | a constant that is added to an address goes into the memory instruction; sums that differ by a constant are one sum |
//! | [`common`] | an operation that was done before on the same values is not done again |
//! | [`wide_loads`] | loads of neighbouring words of shared memory are one load |
//! | [`products`] | a product or a shift that only goes into sums is one multiply-add or shift-add |
//! | [`combine`] | sums of three, bitwise functions of three, a comparison with a predicate, a comparison of a bitwise function with zero |
//! | [`copies`] | a copy into a loop's register is made where the value is computed; a copy out of one is read in place |
//! | [`shared_operands`] | compute capability 1.x: arithmetic reads an operand from shared memory |
//! | [`conditional`] | short code that a branch jumps over is guarded instead |
//! | [`dead`] | what nobody reads is gone |
//!
//! All passes look at registers that one instruction alone writes; what reads a register that several write may move
//! only within its block and not across a write.

mod combine;
mod common;
mod conditional;
mod copies;
mod dead;
mod offsets;
mod products;
mod shared_operands;
mod wide_loads;

use std::collections::HashMap;

use warplens_isa::StateSpace;

use crate::node::{Address, Body, Form, Node, NodeId, Source, Word};
use crate::target::Target;

/// Simplifies the nodes of a function in place.
pub(crate) fn simplify(body: &mut Body<'_>, target: &Target) {
    dead::remove(body);
    offsets::fold(body, target);
    dead::remove(body);
    common::remove(body);
    dead::remove(body);
    if target.is_from(2, 0) {
        wide_loads::widen(body);
    }
    products::fuse(body, target);
    dead::remove(body);
    combine::combine(body, target);
    copies::coalesce(body);
    copies::forward(body);
    if target.compute_capability.major < 2 {
        shared_operands::fuse(body);
    }
    dead::remove(body);
    conditional::guard(body);
    narrow_shared_addresses(body);
    for ids in &mut body.blocks {
        ids.retain(|&id| !body.nodes[id].is_dead());
    }
}

/// Shared memory has addresses of 32 bits in machine code, whatever the program computes: the upper half is not needed.
fn narrow_shared_addresses(body: &mut Body<'_>) {
    for node in &mut body.nodes {
        if let Some(Address { space: StateSpace::Shared, base: Source::Words(words), .. }) = &mut node.address {
            words.truncate(1);
        }
    }
}

/// Who writes and who reads each word.
struct Links {
    /// The instruction that alone writes the word.
    definition: Vec<Option<NodeId>>,
    /// Instructions that read it, each once.
    uses: Vec<Vec<NodeId>>,
    /// Writers of words that several instructions write.
    writers: HashMap<Word, Vec<NodeId>>,
}

impl Links {
    fn new(body: &Body<'_>) -> Self {
        let n = body.definitions.len();
        let mut links = Self { definition: vec![None; n], uses: vec![Vec::new(); n], writers: HashMap::new() };
        for (id, node) in body.nodes.iter().enumerate().filter(|(_, node)| !node.is_dead()) {
            for word in node.reads() {
                let uses = &mut links.uses[word as usize];
                if uses.last() != Some(&id) {
                    uses.push(id);
                }
            }
            for word in node.written() {
                if body.definitions[word as usize] <= 1 {
                    links.definition[word as usize] = Some(id);
                } else {
                    links.writers.entry(word).or_default().push(id);
                }
            }
        }
        links
    }

    /// The instruction that makes a value, if one alone does, without a guard, and the value is all that it makes.
    fn maker(&self, body: &Body<'_>, source: &Source) -> Option<NodeId> {
        let words = source.words();
        let id = self.definition[*words.first()? as usize]?;
        let node = &body.nodes[id];
        let is_whole = node.writes.len() == 1 && node.writes[0] == words;
        (is_whole && node.guard.is_none() && !node.is_dead()).then_some(id)
    }

    /// Instructions that read any of the words, each once.
    fn users(&self, words: &[Word]) -> Vec<NodeId> {
        let mut users: Vec<NodeId> = words.iter().flat_map(|&word| self.uses[word as usize].iter().copied()).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    /// True when the sources of `from` still have their values where `to` stands.
    fn is_stable(&self, body: &Body<'_>, words: &[Word], from: NodeId, to: NodeId) -> bool {
        words.iter().all(|&word| {
            body.definitions[word as usize] <= 1 || {
                let same = body.nodes[from].block == body.nodes[to].block && from < to;
                let writers = self.writers.get(&word).map_or(&[][..], Vec::as_slice);
                let next = writers.partition_point(|&writer| writer <= from);
                same && writers.get(next).is_none_or(|&writer| writer >= to)
            }
        })
    }

    fn sources_are_stable(&self, body: &Body<'_>, from: NodeId, to: NodeId) -> bool {
        let words: Vec<Word> = body.nodes[from].reads().collect();
        self.is_stable(body, &words, from, to)
    }
}

/// True for a node that still is what its operation says, and may be rewritten.
fn is_free(node: &Node<'_>) -> bool {
    node.form == Form::AsWritten && node.guard.is_none() && node.writes.len() == 1
}

/// True when a node reads `source` as one of its values, and in no other way.
fn reads_as_value(node: &Node<'_>, source: &Source) -> bool {
    let in_address = node.address.as_ref().is_some_and(|address| shares(&address.base, source));
    let in_guard = node.guard.is_some_and(|guard| source.words().contains(&guard));
    let others = node.sources.iter().any(|other| other != source && shares(other, source));
    !in_address && !in_guard && !others
}

fn shares(a: &Source, b: &Source) -> bool {
    a.words().iter().any(|word| b.words().contains(word))
}
