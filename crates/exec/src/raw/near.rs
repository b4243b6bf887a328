//! Places of a request that later ones repeat, all of them further by the same distance.
//!
//! Unrolled loops read memory in this way: one register holds the address, and each load adds a constant of its own. How
//! the lanes lie to each other is found out once for all of them.

use super::cells::Cells;
use super::handler::Level;
use super::offsets::Offsets;
#[cfg(target_arch = "x86_64")]
use super::vector::{self, Group};

/// Where the lanes of a request want a word each.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "only vector units profit"))]
pub(crate) struct Near {
    offsets: Offsets,
    lowest: u32,
    #[cfg(target_arch = "x86_64")]
    groups: [Group; 2],
    is_known: bool,
    /// The number of the shape of the request, where somebody hears of it.
    pub(crate) shape: u64,
}

impl Near {
    /// No places.
    pub(crate) const fn nowhere() -> Self {
        Self {
            offsets: Offsets::zero(),
            lowest: 0,
            #[cfg(target_arch = "x86_64")]
            groups: [Group::Scattered; 2],
            is_known: false,
            shape: 0,
        }
    }

    /// True if it is known that words lie there.
    #[inline(always)]
    pub(crate) const fn is_known(&self) -> bool {
        self.is_known
    }

    /// The places.
    #[inline(always)]
    pub(crate) const fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    pub(crate) fn forget(&mut self) {
        self.is_known = false;
    }

    /// Keeps the places of 32-bit addresses plus `shift`, if words lie there.
    #[inline(always)]
    pub(crate) fn keep(&mut self, level: Level, words: &[u32; 32], shift: u32, cells: &Cells) {
        self.offsets.set_words(level, words, shift);
        self.is_known = false;
        #[cfg(target_arch = "x86_64")]
        if level == Level::V3 && cells.select(0, &self.offsets, 4).is_some() {
            // SAFETY: `Level::V3` exists only where `Level::detect` found the features.
            (self.groups, self.lowest) = unsafe { vector::groups_of_words(self.offsets.values()) };
            self.is_known = true;
        }
        let _ = cells;
    }

    /// Reads the words `distance` bytes behind the places; false if it is not known that words lie there.
    #[inline(always)]
    #[must_use]
    pub(crate) fn gather(&self, cells: &Cells, distance: i64, values: &mut [u32; 32]) -> bool {
        #[cfg(target_arch = "x86_64")]
        {
            let (lowest, highest) = (i64::from(self.lowest) + distance, i64::from(self.offsets.highest) + distance);
            let is_inside = lowest >= 0 && highest + 4 <= cells.len() as i64 && distance % 4 == 0;
            if self.is_known && is_inside {
                // SAFETY: what is known was found with V3, is aligned to words, and so is the distance; all words lie
                // between the lowest and the highest one, which are inside.
                unsafe {
                    let start = cells.start().wrapping_offset(distance as isize);
                    vector::gather_groups(start, self.offsets.values(), self.groups, values);
                }
                return true;
            }
        }
        let _ = (cells, distance, values);
        false
    }
}
