//! Sets of lanes.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

/// The lanes of a warp that take part in something; bit `i` is lane `i`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ActiveMask(pub u32);

impl ActiveMask {
    /// No lane.
    pub const EMPTY: Self = Self(0);
    /// All 32 lanes.
    pub const FULL: Self = Self(u32::MAX);

    /// The lowest `n` lanes.
    pub const fn first(n: u32) -> Self {
        if n >= 32 { Self::FULL } else { Self((1 << n) - 1) }
    }

    /// Number of lanes.
    pub const fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// True when no lane takes part.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True when all 32 lanes take part.
    pub const fn is_full(self) -> bool {
        self.0 == u32::MAX
    }

    /// True when `lane` takes part.
    pub const fn contains(self, lane: usize) -> bool {
        self.0 >> lane & 1 == 1
    }

    /// The lanes of `self` that are not in `other`.
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Lowest lane that takes part.
    pub const fn lowest(self) -> Option<usize> {
        if self.0 == 0 { None } else { Some(self.0.trailing_zeros() as usize) }
    }

    /// The lanes, lowest first.
    pub fn lanes(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(lane)
        })
    }
}

impl BitAnd for ActiveMask {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitOr for ActiveMask {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAndAssign for ActiveMask {
    fn bitand_assign(&mut self, other: Self) {
        self.0 &= other.0;
    }
}

impl BitOrAssign for ActiveMask {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl Not for ActiveMask {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl fmt::Debug for ActiveMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}
