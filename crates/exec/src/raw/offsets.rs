//! Byte offsets of a request, with what the checks need to know about them.

use super::handler::{Level, Leveled, with_level};
#[cfg(target_arch = "x86_64")]
use super::vector;

/// Byte offsets of the lanes from a common origin. They are filled in where they stay: copies of what was just written
/// are what the CPU waits for.
#[repr(C, align(64))]
pub(crate) struct Offsets {
    pub(super) values: [u32; 32],
    /// The largest of them.
    pub(super) highest: u32,
    /// All bits that are set in one of them.
    pub(super) bits: u32,
}

impl Offsets {
    /// Zero in all lanes.
    #[inline(always)]
    pub(crate) const fn zero() -> Self {
        Self { values: [0; 32], highest: 0, bits: 0 }
    }

    /// The same offset in all lanes.
    #[inline(always)]
    pub(crate) fn set_all(&mut self, offset: u32) {
        *self = Self { values: [offset; 32], highest: offset, bits: offset };
    }

    /// 32-bit addresses plus `shift`, modulo 2^32.
    #[inline(always)]
    pub(crate) fn set_words(&mut self, level: Level, words: &[u32; 32], shift: u32) {
        words_plus(level, words, shift, self);
    }

    /// 64-bit addresses plus `shift`, modulo 2^64; false if one does not fit 32 bits.
    #[inline(always)]
    #[must_use]
    pub(crate) fn set_pairs(&mut self, level: Level, pairs: &[u64; 32], shift: u64) -> bool {
        pairs_plus(level, pairs, shift, self)
    }

    /// The offsets.
    #[inline(always)]
    pub(crate) const fn values(&self) -> &[u32; 32] {
        &self.values
    }

    /// True if all offsets are below a limit.
    #[inline(always)]
    pub(crate) const fn are_below(&self, limit: u32) -> bool {
        self.highest < limit
    }

    /// Each offset minus the first one, modulo 2^32.
    pub(crate) fn distances(&self) -> [u32; 32] {
        self.values.map(|offset| offset.wrapping_sub(self.values[0]))
    }

    /// True if these are the distances.
    #[inline(always)]
    pub(crate) fn are_apart(&self, level: Level, distances: &[u32; 32]) -> bool {
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Level::V3` exists only where `Level::detect` found the features.
            Level::V3 => unsafe { vector::are_apart(&self.values, distances) },
            Level::Baseline => self.distances() == *distances,
        }
    }

    /// True if `bytes` bytes at every offset lie in a block of `size` bytes.
    #[inline(always)]
    pub(crate) fn fit(&self, bytes: u32, size: u64) -> bool {
        u64::from(self.highest) + u64::from(bytes) <= size
    }
}

/// Offsets and what is known of all of them.
#[inline(always)]
fn words_plus(level: Level, words: &[u32; 32], shift: u32, offsets: &mut Offsets) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::V3 => {
            // SAFETY: `Level::V3` exists only where `Level::detect` found the features.
            (offsets.highest, offsets.bits) = unsafe { vector::words_plus(words, shift, &mut offsets.values) };
        }
        Level::Baseline => {
            (offsets.highest, offsets.bits) = (0, 0);
            for (value, word) in offsets.values.iter_mut().zip(words) {
                *value = word.wrapping_add(shift);
                offsets.highest = offsets.highest.max(*value);
                offsets.bits |= *value;
            }
        }
    }
}

#[inline(always)]
fn pairs_plus(level: Level, pairs: &[u64; 32], shift: u64, offsets: &mut Offsets) -> bool {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::V3 => {
            let is_far;
            // SAFETY: as above.
            (offsets.highest, offsets.bits, is_far) = unsafe { vector::pairs_plus(pairs, shift, &mut offsets.values) };
            !is_far
        }
        Level::Baseline => {
            let mut all = 0;
            (offsets.highest, offsets.bits) = (0, 0);
            for (value, pair) in offsets.values.iter_mut().zip(pairs) {
                let offset = pair.wrapping_add(shift);
                all |= offset;
                *value = offset as u32;
                offsets.highest = offsets.highest.max(*value);
                offsets.bits |= *value;
            }
            all >> 32 == 0
        }
    }
}

/// True if each lane's offset is `bytes` more than that of the lane before.
#[inline(always)]
pub(crate) fn is_consecutive(level: Level, offsets: &[u32; 32], bytes: u32) -> bool {
    let ends = offsets[31].wrapping_sub(offsets[0]);
    ends == 31 * bytes && all_consecutive(level, offsets, bytes)
}

#[inline(never)]
fn all_consecutive(level: Level, offsets: &[u32], bytes: u32) -> bool {
    struct Work<'w>(&'w [u32], u32);
    impl Leveled for Work<'_> {
        type Output = bool;
        #[inline(always)]
        fn run(self) -> bool {
            let Self(offsets, bytes) = self;
            let mut difference = 0;
            for (lane, &offset) in offsets.iter().enumerate() {
                difference |= offset ^ offsets[0].wrapping_add(bytes.wrapping_mul(lane as u32));
            }
            difference == 0
        }
    }
    with_level(level, Work(offsets, bytes))
}
