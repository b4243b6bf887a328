//! Constants that an instruction cannot name: they are moved to a register first.
//!
//! Before compute capability 9.0 an instruction names one constant, an immediate or a word of a constant bank; from 9.0
//! on an immediate only, words of the bank are brought by instructions of their own. Stores and atomics take registers;
//! zero is a register that every machine has. From 9.0 on the address of shared memory depends on the place of the CTA
//! in its cluster. What was moved before on every way is not moved again.

use std::collections::HashMap;

use warplens_ir::VariableId;
use warplens_isa::StateSpace;
use warplens_trace::{MachineClass, MachineInst};

use crate::emit::{Atom, Selector};
use crate::node::{Form, Node, NodeId, Source, Symbol, Word};
use crate::select::{Recipe, way_of_atomic};

/// Constants that are in registers, with the block that moved them there.
#[derive(Debug, Default)]
pub(crate) struct Constants {
    moved: HashMap<Source, Vec<(usize, Word)>>,
    /// Blocks that have the CTA's place in its cluster, and the address of a shared variable.
    window: Vec<(usize, Word)>,
    shared: HashMap<VariableId, Vec<(usize, Word)>>,
}

impl Selector<'_, '_> {
    /// Moves the constants of a node that its instructions cannot name; returns the registers that they are in.
    pub(crate) fn constants(&mut self, id: NodeId, recipe: &Recipe) -> Vec<Word> {
        let node = &self.body.nodes[id];
        let mut needed: Vec<Source> = match kind(recipe, node) {
            Kind::Names(free) => self.unnamed(node, free),
            // One that counts lanes takes no number.
            Kind::Registers if way_of_atomic(node, self.target) == Some(MachineInst::COUNTED) => Vec::new(),
            Kind::Registers => distinct(node),
            Kind::Any => Vec::new(),
        };
        let mut words = Vec::new();
        for variable in self.shared_variables(node) {
            words.push(self.shared_address(id, variable));
        }
        needed.retain(|source| self.shared_variable(source).is_none());
        for source in needed {
            words.push(self.in_register(id, &source));
        }
        words.extend(self.constant_address(id));
        words
    }

    /// The constants beyond those that an instruction can name.
    fn unnamed(&self, node: &Node<'_>, free: usize) -> Vec<Source> {
        let constants = distinct(node);
        let (from_bank, mut immediates): (Vec<Source>, Vec<Source>) =
            constants.into_iter().partition(|source| source.immediate().is_none());
        if self.target.is_from(9, 0) {
            let spare = immediates.len().min(free);
            immediates.drain(..spare);
            return from_bank.into_iter().chain(immediates).collect();
        }
        // The factor of an address is moved, as several addresses share it; else the word of the bank.
        let mut all: Vec<Source> = if node.form == Form::MultiplyAdd {
            immediates.into_iter().chain(from_bank).collect()
        } else {
            from_bank.into_iter().chain(immediates).collect()
        };
        all.sort_by_key(|source| !self.is_moved(node.block, source));
        all.truncate(all.len().saturating_sub(free));
        all
    }

    fn is_moved(&self, block: usize, source: &Source) -> bool {
        self.constants.moved.get(source).is_some_and(|places| self.visible(places, block).is_some())
    }

    /// The register among `places` that a block can rely on.
    fn visible(&self, places: &[(usize, Word)], block: usize) -> Option<Word> {
        places.iter().rev().find(|&&(at, _)| self.body.block_dominates(at, block)).map(|&(_, word)| word)
    }

    fn in_register(&mut self, id: NodeId, source: &Source) -> Word {
        let block = self.body.nodes[id].block;
        if let Some(word) = self.constants.moved.get(source).and_then(|places| self.visible(places, block)) {
            return word;
        }
        let uniform = self.target.is_from(9, 0) && source.immediate().is_none() && self.body.nodes[id].bits() <= 32;
        let word = self.move_to_register(id, if uniform { MachineClass::Uniform } else { MachineClass::Move }, None);
        self.constants.moved.entry(source.clone()).or_default().push((self.in_front[block], word));
        word
    }

    /// Brings something to a fresh register, out of another where one is given: in front of the loops around a node, as it
    /// stays the same in them.
    fn move_to_register(&mut self, id: NodeId, class: MachineClass, from: Option<Word>) -> Word {
        let word = self.fresh();
        let plain = Atom::plain(None, self.body.nodes[id].inst.pc);
        let atom = Atom { class, reads: from.into_iter().collect(), writes: vec![word], ..plain };
        let block = self.body.nodes[id].block;
        match self.in_front[block] {
            home if home == block => self.out.push(atom),
            home => self.moved_out.push((home, atom)),
        }
        word
    }

    /// Addresses of device memory lie in a pair of registers, also those that are constant.
    fn constant_address(&mut self, id: NodeId) -> Vec<Word> {
        let Some(address) = &self.body.nodes[id].address else { return Vec::new() };
        let by_register = matches!(address.space, StateSpace::Global | StateSpace::Generic);
        if !by_register || !address.base.is_constant() || self.body.nodes[id].form == Form::Copy {
            return Vec::new();
        }
        // One symbol for both halves: the second is told from the first by its number.
        let base = address.base.clone();
        let halves = if self.target.is_from(9, 0) || self.body.module.address_bits == 32 { 1 } else { 2 };
        let symbol = match base {
            Source::Constant(_, symbol) => symbol,
            Source::Words(_) => None,
        };
        (0..halves).map(|half| self.in_register(id, &Source::Constant(Some(half), symbol))).collect()
    }

    /// Variables in shared memory whose address a node needs, where the code does not know it.
    fn shared_variables(&self, node: &Node<'_>) -> Vec<VariableId> {
        if !self.target.is_from(9, 0) {
            return Vec::new();
        }
        let address = node.address.as_ref().map(|address| &address.base);
        let mut variables: Vec<VariableId> =
            node.sources.iter().chain(address).filter_map(|source| self.shared_variable(source)).collect();
        variables.dedup();
        variables
    }

    fn shared_variable(&self, source: &Source) -> Option<VariableId> {
        match source {
            Source::Constant(_, Some(Symbol::Variable(variable)))
                if self.target.is_from(9, 0) && self.body.module.variables[*variable].space == StateSpace::Shared =>
            {
                Some(*variable)
            }
            _ => None,
        }
    }

    /// The CTA's place in its cluster, put in front of the offset of the variable.
    fn shared_address(&mut self, id: NodeId, variable: VariableId) -> Word {
        let block = self.body.nodes[id].block;
        let known = self.constants.shared.get(&variable).and_then(|places| self.visible(places, block));
        if let Some(word) = known {
            return word;
        }
        let window = match self.visible(&self.constants.window, block) {
            Some(word) => {
                self.move_to_register(id, MachineClass::Uniform, None);
                word
            }
            None => {
                self.move_to_register(id, MachineClass::Uniform, None);
                let word = self.move_to_register(id, MachineClass::Move, None);
                self.constants.window.push((self.in_front[block], word));
                word
            }
        };
        let word = self.move_to_register(id, MachineClass::Uniform, Some(window));
        self.constants.shared.entry(variable).or_default().push((self.in_front[block], word));
        word
    }
}

/// How a node takes constants.
enum Kind {
    /// Its instructions name this many.
    Names(usize),
    /// Only in registers.
    Registers,
    /// As it likes.
    Any,
}

fn kind(recipe: &Recipe, node: &Node<'_>) -> Kind {
    use MachineClass as C;
    let class = match recipe {
        Recipe::Nothing | Recipe::Amount(..) | Recipe::Stages(_) => return Kind::Any,
        Recipe::PerWord(_) if node.form == Form::Copy => return Kind::Any,
        Recipe::Chain(mix) => mix.first().map_or(C::Nop, |&(class, _)| class),
        Recipe::PerWord(class) | Recipe::Carry(class) => *class,
    };
    match class {
        C::Fp32 | C::Fp32Mul | C::Int | C::IntMul | C::Fp64 | C::Fp16 if node.form != Form::Copy => Kind::Names(1),
        C::Store | C::Atomic | C::Reduction => Kind::Registers,
        _ => Kind::Any,
    }
}

/// The constants among the values of a node, each once; zero is a register.
fn distinct(node: &Node<'_>) -> Vec<Source> {
    let mut found: Vec<Source> = Vec::new();
    for source in node.sources.iter().filter(|source| source.is_constant() && source.immediate() != Some(0)) {
        if !found.contains(source) {
            found.push(source.clone());
        }
    }
    found
}
