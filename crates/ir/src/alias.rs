//! Which accesses to memory may touch the same bytes: the one definition, for whoever orders instructions.
//!
//! - Nothing writes constants, parameters and what a texture shows, nor what a load of the kind `.nc` reads; a prefetch reads nothing that counts.
//! - State spaces are apart, but that a generic access may be one to global, shared or local memory.
//! - Accesses that count from the same place are apart where their bytes are: from the same value of a register, the same
//!   variable, the frame, or zero. Those to global memory and generic ones count from the same values.
//! - Variables are apart, but that all arrays of dynamic shared memory begin at one place.
//! - Whatever else may touch the same bytes.

use std::collections::HashMap;
use std::hash::Hash;

use warplens_isa::{Op, StateSpace};

use crate::{Constant, Inst, Memory, MemoryReference, Module, Operand, Register, VariableId};

/// The bytes that an access touches. `V` tells values of registers apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch<V> {
    /// State space as written.
    pub space: StateSpace,
    /// The bytes may change, or the access is ordered like one that changes them.
    pub is_write: bool,
    /// What the bytes count from; none where that is not known.
    pub origin: Option<Origin<V>>,
    /// First byte.
    pub start: i64,
    /// One past the last byte.
    pub end: i64,
}

/// What addresses count from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin<V> {
    /// The value of a register.
    Value(V),
    /// A variable.
    Variable(VariableId),
    /// Where dynamic shared memory begins.
    DynamicShared,
    /// The frame in local memory.
    Frame,
    /// A constant of a bank.
    Constant(Constant),
    /// Address 0.
    Zero,
}

impl<V> Origin<V> {
    /// The beginning of a variable.
    pub fn of_variable(module: &Module, variable: VariableId) -> Self {
        if module.variables[variable].is_dynamic { Self::DynamicShared } else { Self::Variable(variable) }
    }
}

impl<V: PartialEq> Touch<V> {
    /// What an instruction touches, place by place, but for places that nothing writes. `value` tells what a register
    /// holds.
    pub fn all(module: &Module, inst: &Inst, value: impl Fn(Register) -> V) -> Vec<Self> {
        let reads_second = matches!(inst.memory, Memory::Copy { .. });
        let places = inst.memory.iter().enumerate().filter(|(_, memory)| !is_read_only(module, inst, memory.space));
        places
            .map(|(number, memory)| {
                let is_read = matches!(inst.op(), Op::Ld | Op::TestPhase | Op::Ldmatrix | Op::Suld)
                    || reads_second && number == 1;
                Self::of(module, inst, memory, !is_read || inst.operation.is_ordered(), &value)
            })
            .collect()
    }

    fn of(
        module: &Module,
        inst: &Inst,
        memory: &MemoryReference,
        is_write: bool,
        value: impl Fn(Register) -> V,
    ) -> Self {
        let (origin, offset) = match memory.base {
            Operand::Register(register) | Operand::NotPredicate(register) => (Some(Origin::Value(value(register))), 0),
            Operand::Variable { variable, offset, .. } => (Some(Origin::of_variable(module, variable)), offset),
            Operand::Frame(offset) => (Some(Origin::Frame), offset),
            Operand::Immediate(address) => (Some(Origin::Zero), address.cast_signed()),
            Operand::Constant(constant) => (Some(Origin::Constant(constant)), 0),
            Operand::Signed(..) | Operand::Special(_) | Operand::Function(_) => (None, 0),
        };
        // Two surfaces may show the same memory, and where is not said by the handle.
        let origin = origin.filter(|_| memory.space != StateSpace::Surface);
        let start = memory.offset.wrapping_add(offset);
        let bytes = match inst.op() {
            op if op.is_bulk() => i64::MAX,
            _ => i64::from(inst.ty.bytes()) * i64::from(memory.elements),
        };
        Self { space: memory.space, is_write, origin, start, end: start.saturating_add(bytes) }
    }

    /// True when both may touch the same bytes.
    pub fn may_alias(&self, other: &Self) -> bool {
        let comparable = match (self.space, other.space) {
            (a, b) if a == b => true,
            (StateSpace::Generic, StateSpace::Global) | (StateSpace::Global, StateSpace::Generic) => true,
            // A generic address counts from elsewhere than one of shared or local memory.
            (StateSpace::Generic, space) | (space, StateSpace::Generic) => {
                return matches!(space, StateSpace::Shared | StateSpace::Local);
            }
            _ => return false,
        };
        let (Some(own), Some(others)) = (&self.origin, &other.origin) else { return comparable };
        if own == others {
            return self.start < other.end && other.start < self.end;
        }
        let of_variables = |origin: &Origin<V>| matches!(origin, Origin::Variable(_) | Origin::DynamicShared);
        !(of_variables(own) && of_variables(others))
    }

    /// True when an access must stay behind an earlier one.
    pub fn must_follow(&self, earlier: &Self) -> bool {
        (self.is_write || earlier.is_write) && self.may_alias(earlier)
    }
}

/// True where nothing writes what an instruction reads.
pub fn is_read_only(module: &Module, inst: &Inst, space: StateSpace) -> bool {
    let by_space = matches!(space, StateSpace::Const | StateSpace::Param | StateSpace::Texture);
    by_space || inst.op() == Op::Prefetch || inst.op() == Op::Ld && module.key(inst.pc).reads_constant_data()
}

/// How often words were written before, in a block: tells the values that they hold apart.
#[derive(Clone, Debug)]
pub struct Writes<K> {
    counts: HashMap<K, u32>,
}

impl<K> Default for Writes<K> {
    fn default() -> Self {
        Self { counts: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash> Writes<K> {
    /// Number of writes to any of the words.
    pub fn before(&self, words: impl Iterator<Item = K>) -> u32 {
        words.filter_map(|word| self.counts.get(&word)).sum()
    }

    /// A word is written.
    pub fn add(&mut self, word: K) {
        *self.counts.entry(word).or_insert(0) += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch(space: StateSpace, origin: Option<Origin<u32>>, start: i64) -> Touch<u32> {
        Touch { space, is_write: true, origin, start, end: start + 4 }
    }

    #[test]
    fn what_may_touch_the_same_bytes() {
        use StateSpace::{Generic, Global, Local, Shared};
        let (r, s) = (Some(Origin::Value(1)), Some(Origin::Value(2)));
        let (a, b) = (Some(Origin::Variable(VariableId(0))), Some(Origin::Variable(VariableId(1))));
        let dynamic = Some(Origin::DynamicShared);
        for (first, second, expected) in [
            (touch(Global, r, 0), touch(Global, r, 3), true),
            (touch(Global, r, 0), touch(Global, r, 4), false),
            (touch(Global, r, 0), touch(Global, s, 4), true),
            (touch(Global, r, 0), touch(Shared, r, 0), false),
            (touch(Global, r, 0), touch(Generic, r, 4), false),
            (touch(Global, r, 0), touch(Generic, r, 0), true),
            (touch(Shared, r, 0), touch(Generic, r, 4), true),
            (touch(Local, r, 0), touch(Generic, s, 4), true),
            (touch(StateSpace::Const, r, 0), touch(Generic, r, 0), false),
            (touch(Shared, a, 0), touch(Shared, a, 2), true),
            (touch(Shared, a, 0), touch(Shared, b, 0), false),
            (touch(Shared, a, 0), touch(Shared, dynamic, 0), false),
            (touch(Shared, dynamic, 0), touch(Shared, dynamic, 0), true),
            (touch(Shared, dynamic, 0), touch(Shared, dynamic, 4), false),
            (touch(Shared, a, 0), touch(Shared, r, 100), true),
            (touch(Shared, None, 0), touch(Shared, a, 100), true),
            (touch(Shared, None, 0), touch(Global, a, 0), false),
            (touch(Local, Some(Origin::Frame), 0), touch(Local, Some(Origin::Frame), 4), false),
            (touch(Local, Some(Origin::Zero), 0), touch(Local, Some(Origin::Frame), 4), true),
        ] {
            assert_eq!(first.may_alias(&second), expected, "{first:?} {second:?}");
            assert_eq!(second.may_alias(&first), expected, "the other way round");
            let load = Touch { is_write: false, ..first };
            assert_eq!(second.must_follow(&load), expected);
            assert!(!Touch { is_write: false, ..second }.must_follow(&load), "loads pass each other");
        }
    }

    #[test]
    fn values_are_told_apart_by_the_writes_before() {
        let mut writes = Writes::default();
        assert_eq!(writes.before([1, 2].into_iter()), 0);
        writes.add(2);
        assert_eq!((writes.before([1, 2].into_iter()), writes.before([1].into_iter())), (1, 0));
    }
}
