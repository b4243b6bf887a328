//! Constants that are added to addresses.

use std::collections::HashMap;

use warplens_ir::VariableId;
use warplens_isa::{Op, StateSpace};

use super::{Links, is_free};
use crate::node::{Body, Form, Node, NodeId, Source, Symbol, Word};
use crate::target::Target;

/// A sum of registers and a constant.
#[derive(Clone, PartialEq, Debug)]
struct Linear {
    registers: Vec<Source>,
    offset: i64,
    variable: Option<VariableId>,
    /// The constant is not zero, or not known.
    has_constant: bool,
    /// Nodes whose sources the registers are.
    read_at: Vec<NodeId>,
}

/// Moves constants of sums into the memory instructions that they go to.
pub(super) fn fold(body: &mut Body<'_>, target: &Target) {
    let links = Links::new(body);
    let mut folding = Folding {
        links,
        known: HashMap::new(),
        takes_three: target.is_from(5, 0),
        folds_shared: !target.is_from(9, 0),
    };
    let order: Vec<NodeId> = body.blocks.iter().flatten().copied().collect();
    for id in order {
        if body.nodes[id].is_dead() {
            continue;
        }
        if is_sum(&body.nodes[id]) {
            folding.sum(body, id);
        }
        folding.address(body, id);
    }
}

/// True for a plain sum or difference of two integers.
pub(super) fn is_sum(node: &Node<'_>) -> bool {
    let inst = node.inst;
    let plain = !inst.operation.carry().is_used() && !inst.operation.saturates() && !inst.changes_signs();
    let integer = inst.ty.is_integer() && matches!(inst.ty.bits(), 32 | 64);
    let form = matches!(node.form, Form::AsWritten | Form::Sum) && node.writes.len() == 1;
    matches!(inst.op(), Op::Add | Op::Sub) && integer && plain && form && node.guard.is_none()
}

struct Folding {
    links: Links,
    /// What words are made of, by the first.
    known: HashMap<Vec<Word>, Linear>,
    takes_three: bool,
    /// Shared variables have addresses that the code knows; in a cluster they depend on the CTA.
    folds_shared: bool,
}

impl Folding {
    /// What a source is made of where `user` reads it.
    fn resolve(&self, body: &Body<'_>, source: &Source, user: NodeId) -> Linear {
        if let Source::Constant(value, variable) = source {
            let offset = value.unwrap_or(0).cast_signed();
            return Linear {
                registers: Vec::new(),
                offset,
                variable: match variable {
                    Some(Symbol::Variable(variable)) => Some(*variable),
                    _ => None,
                },
                has_constant: offset != 0 || variable.is_some() || value.is_none(),
                read_at: Vec::new(),
            };
        }
        let known = self.known.get(source.words()).filter(|known| {
            known
                .registers
                .iter()
                .zip(&known.read_at)
                .all(|(register, &at)| self.links.is_stable(body, register.words(), at, user))
        });
        known.cloned().unwrap_or_else(|| Linear {
            registers: vec![source.clone()],
            offset: 0,
            variable: None,
            has_constant: false,
            read_at: vec![user],
        })
    }

    fn sum(&mut self, body: &mut Body<'_>, id: NodeId) {
        let Some(linear) = self.linear(body, id) else { return };
        let node = &body.nodes[id];
        let written = node.writes[0].clone();
        if !body.is_single(&written) || linear.registers.is_empty() {
            return;
        }
        if linear.registers.len() == 1 {
            self.known.insert(written, linear);
            return;
        }
        if !linear.has_constant {
            return;
        }
        let users = self.links.users(&written);
        let absorbs = |&user: &NodeId| absorbs(&body.nodes[user], &written);
        if users.iter().all(absorbs) {
            self.split(body, id, linear);
        } else if self.takes_three && linear.registers.len() == 2 && body.nodes[id].bits() == 32 {
            let constant = Source::Constant(Some(linear.offset.cast_unsigned()), linear.variable.map(Symbol::Variable));
            let node = &mut body.nodes[id];
            node.sources = linear.registers;
            node.sources.push(constant);
            node.form = Form::Sum;
        }
    }

    /// The sum of a node, if its operands make one of at most two registers and a constant that can be known.
    fn linear(&self, body: &Body<'_>, id: NodeId) -> Option<Linear> {
        let node = &body.nodes[id];
        let [a, b] = node.sources.as_slice() else { return None };
        let mut sum = self.resolve(body, a, id);
        let mut other = self.resolve(body, b, id);
        if node.inst.op() == Op::Sub {
            if !other.registers.is_empty() || other.variable.is_some() {
                return None;
            }
            other.offset = other.offset.wrapping_neg();
        }
        // A parameter is a constant operand, but not one that an address can hold besides a register.
        let is_unknown = |source: &Source| match source {
            Source::Constant(None, _) => true,
            Source::Constant(_, Some(Symbol::Variable(variable))) => {
                !self.folds_shared && body.module.variables[*variable].space == StateSpace::Shared
            }
            _ => false,
        };
        if is_unknown(a) || is_unknown(b) || sum.variable.is_some() && other.variable.is_some() {
            return None;
        }
        sum.registers.extend(other.registers);
        sum.read_at.extend(other.read_at);
        sum.offset = sum.offset.wrapping_add(other.offset);
        sum.variable = sum.variable.or(other.variable);
        sum.has_constant |= other.has_constant;
        (sum.registers.len() <= 2).then_some(sum)
    }

    /// Takes the constant out of a sum of two registers: all who read it can add it themselves.
    fn split(&mut self, body: &mut Body<'_>, id: NodeId, linear: Linear) {
        let written = body.nodes[id].writes[0].clone();
        let first = body.definitions.len() as Word;
        let fresh: Vec<Word> = (0..written.len() as Word).map(|word| first + word).collect();
        body.definitions.extend(fresh.iter().map(|_| 1));
        self.links.definition.extend(fresh.iter().map(|_| Some(id)));
        self.links.uses.extend(fresh.iter().map(|_| Vec::new()));
        let node = &mut body.nodes[id];
        node.sources = linear.registers;
        node.writes = vec![fresh.clone()];
        node.form = Form::Sum;
        let known = Linear { registers: vec![Source::Words(fresh)], read_at: vec![id], ..linear };
        self.known.insert(written, known);
    }

    fn address(&self, body: &mut Body<'_>, id: NodeId) {
        let Some(address) = &body.nodes[id].address else { return };
        if address.base.is_constant() {
            return;
        }
        let linear = self.resolve(body, &address.base, id);
        if let ([register], Some(address)) = (linear.registers.as_slice(), &mut body.nodes[id].address) {
            address.base = register.clone();
            address.offset = address.offset.wrapping_add(linear.offset);
            address.variable = address.variable.or(linear.variable);
        }
    }
}

/// True when a node can add a constant to a value that it reads: it is a sum, or the value is its address alone.
fn absorbs(node: &Node<'_>, written: &[Word]) -> bool {
    let as_address = node.address.as_ref().is_some_and(|address| address.base.words() == written);
    let as_value = node.sources.iter().any(|source| source.words().iter().any(|word| written.contains(word)));
    if as_address {
        return !as_value;
    }
    is_free(node) && is_sum(node) && node.sources.iter().any(|source| source.words() == written)
}
