//! What is known about the values of a warp's registers.

use crate::region::Dependence;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// A value per lane, where it is known, and how it changes from CTA to CTA.
#[derive(Clone, Debug)]
pub(crate) struct Value {
    /// The bits, extended with zeros; meaningless where unknown.
    pub(crate) lanes: [u64; LANES],
    /// Lanes in which the value is known.
    pub(crate) known: u32,
    /// How the known values follow the CTA's place in the grid.
    pub(crate) dependence: Dependence,
}

impl Value {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self { lanes: [0; LANES], known: 0, dependence: Dependence::NONE };

    /// The same value in all lanes and CTAs.
    pub(crate) const fn constant(value: u64) -> Self {
        Self { lanes: [value; LANES], known: u32::MAX, dependence: Dependence::NONE }
    }

    /// A value per lane, the same in all CTAs.
    pub(crate) const fn of_lanes(lanes: [u64; LANES]) -> Self {
        Self { lanes, known: u32::MAX, dependence: Dependence::NONE }
    }

    /// The value that all lanes of `mask` share, if it is known and does not depend on the CTA.
    pub(crate) fn uniform(&self, mask: u32) -> Option<u64> {
        if mask == 0 || mask & !self.known != 0 || !self.dependence.is_none() {
            return None;
        }
        let first = self.lanes[mask.trailing_zeros() as usize];
        lanes_of(mask).all(|lane| self.lanes[lane] == first).then_some(first)
    }

    /// Each value changed by a function of its bits; the dependence on the CTA stays.
    pub(crate) fn map(mut self, function: impl Fn(u64) -> u64) -> Self {
        self.lanes.iter_mut().for_each(|bits| *bits = function(*bits));
        self
    }

    /// Writes `new` into the lanes of `mask`. `live` are the lanes whose old value may still be read.
    pub(crate) fn blend(&mut self, new: &Self, mask: u32, live: u32) {
        let kept = self.known & live & !mask;
        if kept == 0 {
            *self = Self { known: new.known & mask, ..new.clone() };
            return;
        }
        if new.known & mask != 0 {
            self.dependence = self.dependence.of_either(&new.dependence);
        }
        for lane in lanes_of(mask) {
            self.lanes[lane] = new.lanes[lane];
        }
        self.known = self.known & !mask | new.known & mask;
    }
}

/// A truth value per lane, where it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Truth {
    /// Lanes in which it is true; meaningless where unknown.
    pub(crate) bits: u32,
    /// Lanes in which it is known.
    pub(crate) known: u32,
    /// Axes of the grid (bit 0 for x) on which it depends in a way that was not followed.
    pub(crate) opaque: u8,
}

impl Truth {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self { bits: 0, known: 0, opaque: 0 };

    /// The same in all lanes.
    pub(crate) const fn constant(truth: bool) -> Self {
        Self { bits: if truth { u32::MAX } else { 0 }, known: u32::MAX, opaque: 0 }
    }

    /// The complement.
    pub(crate) const fn not(self) -> Self {
        Self { bits: !self.bits, ..self }
    }

    /// Known to be true.
    pub(crate) const fn on(self) -> u32 {
        self.bits & self.known
    }

    /// Known to be false.
    pub(crate) const fn off(self) -> u32 {
        !self.bits & self.known
    }

    pub(crate) const fn and(self, other: Self) -> Self {
        let on = self.on() & other.on();
        Self { bits: on, known: on | self.off() | other.off(), opaque: self.opaque | other.opaque }
    }

    pub(crate) const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    pub(crate) const fn xor(self, other: Self) -> Self {
        Self { bits: self.bits ^ other.bits, known: self.known & other.known, opaque: self.opaque | other.opaque }
    }

    /// Writes `new` into the lanes of `mask`.
    pub(crate) fn blend(&mut self, new: Self, mask: u32, live: u32) {
        let kept = self.known & live & !mask;
        let opaque = if kept == 0 { 0 } else { self.opaque };
        *self = Self {
            bits: self.bits & !mask | new.bits & mask,
            known: self.known & !mask | new.known & mask,
            opaque: opaque | new.opaque,
        };
    }
}

/// The lanes of a mask, lowest first.
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    warplens_trace::ActiveMask(mask).lanes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_valued_logic() {
        let truth = |on: u32, off: u32| Truth { bits: on, known: on | off, opaque: 0 };
        // Lanes 0 to 8: every pair of true, false and unknown.
        let a = truth(0b000_000_111, 0b000_111_000);
        let b = truth(0b001_001_001, 0b010_010_010);
        assert_eq!((a.and(b).on(), a.and(b).off()), (0b000_000_001, 0b010_111_010));
        assert_eq!((a.or(b).on(), a.or(b).off()), (0b001_001_111, 0b000_010_000));
        assert_eq!((a.xor(b).on(), a.xor(b).off()), (0b000_001_010, 0b000_010_001));
        assert_eq!((a.not().on(), a.not().off()), (a.off(), a.on()));
    }

    #[test]
    fn a_written_lane_replaces_what_was_known_and_the_others_keep_it() {
        let mut value = Value::constant(7);
        value.blend(&Value::UNKNOWN, 0b1, u32::MAX);
        assert_eq!((value.known, value.lanes[1]), (!1, 7));
        value.blend(&Value::constant(9), 0b11, u32::MAX);
        assert_eq!((value.known, value.lanes[0], value.lanes[1], value.lanes[2]), (u32::MAX, 9, 9, 7));
        assert_eq!(value.uniform(0b11), Some(9));
        assert_eq!(value.uniform(0b111), None);
    }
}
