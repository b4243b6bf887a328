//! Whole cycles: a chip has no halves of them, and the simulation takes durations so. Times are then steps of a value.

use warplens_machine::Scaling;
use warplens_session::machines::{Key, Machine, Unit};

/// How a value counts in whole cycles.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Quantum {
    /// It is a duration: so many of its units are a cycle.
    Duration(f64),
    /// It is a number of lanes: this, over them, is the cycles that a warp takes on those of a scheduler.
    Lanes(f64),
}

impl Quantum {
    /// Of a parameter; none where parts of a cycle mean something.
    pub(super) fn of(machine: &Machine, key: Key) -> Option<Self> {
        // A pass over banks and an operation of the L2 cache may take parts of a cycle, on average.
        if key.unit() == Unit::Cycles && key.group() != "shared" && key.group() != "l2" {
            return match key.scaling() {
                Scaling::WallTime => machine.clock().map(|clock| Self::Duration(1.0 / clock)),
                Scaling::Fixed => Some(Self::Duration(1.0)),
            };
        }
        let lanes = machine.canonical(key).ok().filter(|_| key.group() == "lanes")?;
        let all = 32.0 * machine.canonical(Key::SmSubpartitions).ok()?;
        // Where a scheduler issues to more lanes than a warp has, it does so every other time.
        (lanes <= all).then_some(Self::Lanes(all))
    }

    /// The number of cycles of a value.
    pub(super) fn number(self, value: f64) -> f64 {
        match self {
            Self::Duration(cycle) => value / cycle,
            Self::Lanes(all) => all / value,
        }
    }

    /// The value that has so many cycles.
    pub(super) fn value(self, number: f64) -> f64 {
        match self {
            Self::Duration(cycle) => number * cycle,
            Self::Lanes(all) => all / number,
        }
    }
}
