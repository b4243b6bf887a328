//! Knobs: quantities of a model that a question may change, by name.
//!
//! A machine parameter is changed in the machine and a count in the profile, for all models alike. What only one model
//! knows, such as the X-model's thread count, is a knob of that model: it lists it in
//! [`Model::knobs`](crate::Model::knobs) and passes the value through [`Knobs::apply`] when it is computed.

use std::collections::BTreeMap;

use warplens_sim::{Effect, Without};

use crate::{ModelId, Unit};

/// A quantity of a model that a question may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnobSpec {
    /// The model whose quantity it is.
    pub model: ModelId,
    /// The model's name, a dot and the paper's symbol: `x-model.n`.
    pub name: &'static str,
    /// Its unit, empty for a plain number.
    pub unit: Unit,
    /// One sentence on what it is.
    pub about: &'static str,
}

/// A change of a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// Another value.
    Value(f64),
    /// The value times this.
    Factor(f64),
}

impl Change {
    /// Reads `24`, `1.5e9` or `2x`. `None` for anything else; neither is negative or infinite.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
        match text.strip_suffix('x') {
            Some(factor) => number(factor).map(Self::Factor),
            None => number(text).map(Self::Value),
        }
    }

    /// What becomes of `value`.
    pub fn of(self, value: f64) -> f64 {
        match self {
            Self::Value(other) => other,
            Self::Factor(factor) => factor * value,
        }
    }
}

/// Changes by the name of the knob, and effects that a simulation leaves out.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Knobs {
    changes: BTreeMap<&'static str, Change>,
    without: Without,
}

impl Knobs {
    /// No change.
    pub const NONE: &'static Self = &Self { changes: BTreeMap::new(), without: Without::NOTHING };

    /// Adds a change, in place of an earlier one of the same knob.
    pub fn set(&mut self, knob: &KnobSpec, change: Change) {
        self.changes.insert(knob.name, change);
    }

    /// `value`, or what the knob called `name` makes of it.
    pub fn apply(&self, name: &str, value: f64) -> f64 {
        self.changes.get(name).map_or(value, |change| change.of(value))
    }

    /// True without any change.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.without.is_empty()
    }

    /// True where the quantities of models change alike, whatever simulations leave out.
    pub fn same_changes(&self, other: &Self) -> bool {
        self.changes == other.changes
    }

    /// Leaves an effect out of simulations.
    pub fn leave_out(&mut self, effect: Effect) {
        self.without = self.without.and(effect);
    }

    /// Effects that simulations leave out.
    pub const fn without(&self) -> Without {
        self.without
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_values_or_factors() {
        let of_ten = |text: &str| Change::parse(text).map(|change| change.of(10.0));
        assert_eq!(of_ten("2x"), Some(20.0));
        assert_eq!(of_ten("0.5x"), Some(5.0));
        assert_eq!(of_ten("1.5e9"), Some(1.5e9));
        assert!(["", "x", "-1", "inf", "nanx", "1 x", "two"].iter().all(|text| Change::parse(text).is_none()));
    }

    #[test]
    fn a_knob_changes_its_own_value_only() {
        let knob = KnobSpec { model: ModelId::XModel, name: "x-model.n", unit: Unit::Warps, about: "warps" };
        let mut knobs = Knobs::default();
        knobs.set(&knob, Change::Factor(0.5));
        assert_eq!((knobs.apply("x-model.n", 48.0), knobs.apply("x-model.Z", 48.0)), (24.0, 48.0));
        assert!(!knobs.is_empty() && Knobs::NONE.is_empty());
    }
}
