//! Byte offsets of a request, with what the checks need to know about them.

use super::handler::{Level, Leveled, with_level};

/// Byte offsets of the lanes from a common origin.
pub(crate) struct Offsets {
    pub(super) values: [u32; 32],
    /// The largest of them.
    pub(super) highest: u32,
    /// All bits that are set in one of them.
    pub(super) bits: u32,
}

impl Offsets {
    /// The same offset in all lanes.
    #[inline(always)]
    pub(crate) fn splat(offset: u32) -> Self {
        Self { values: [offset; 32], highest: offset, bits: offset }
    }

    /// 32-bit addresses plus `shift`, modulo 2^32.
    #[inline(always)]
    pub(crate) fn of_words(level: Level, words: &[u32; 32], shift: u32) -> Self {
        let mut offsets = Self { values: [0; 32], highest: 0, bits: 0 };
        words_plus(level, words, shift, &mut offsets);
        offsets
    }

    /// 64-bit addresses plus `shift`, modulo 2^64; `None` if one does not fit 32 bits.
    #[inline(always)]
    pub(crate) fn of_pairs(level: Level, pairs: &[u64; 32], shift: u64) -> Option<Self> {
        let mut offsets = Self { values: [0; 32], highest: 0, bits: 0 };
        let fits = pairs_plus(level, pairs, shift, &mut offsets);
        fits.then_some(offsets)
    }

    /// True if `bytes` bytes at every offset lie in a block of `size` bytes.
    #[inline(always)]
    pub(crate) fn fit(&self, bytes: u32, size: u64) -> bool {
        u64::from(self.highest) + u64::from(bytes) <= size
    }
}

// The loops run over slices in functions of their own: with a constant length the compiler unrolls them before it
// thinks of vectors, and then finds none.

#[inline(never)]
fn words_plus(level: Level, words: &[u32], shift: u32, offsets: &mut Offsets) {
    struct Work<'w>(&'w [u32], u32, &'w mut Offsets);
    impl Leveled for Work<'_> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Self(words, shift, offsets) = self;
            let (mut highest, mut bits) = (0, 0);
            for (value, word) in offsets.values.iter_mut().zip(words) {
                *value = word.wrapping_add(shift);
                highest = highest.max(*value);
                bits |= *value;
            }
            (offsets.highest, offsets.bits) = (highest, bits);
        }
    }
    with_level(level, Work(words, shift, offsets));
}

#[inline(never)]
fn pairs_plus(level: Level, pairs: &[u64], shift: u64, offsets: &mut Offsets) -> bool {
    struct Work<'w>(&'w [u64], u64, &'w mut Offsets);
    impl Leveled for Work<'_> {
        type Output = bool;
        #[inline(always)]
        fn run(self) -> bool {
            let Self(pairs, shift, offsets) = self;
            let mut all = 0;
            for (value, pair) in offsets.values.iter_mut().zip(pairs) {
                let offset = pair.wrapping_add(shift);
                all |= offset;
                *value = offset as u32;
            }
            let values: &[u32] = &offsets.values;
            let (mut highest, mut bits) = (0, 0);
            for &value in values {
                highest = highest.max(value);
                bits |= value;
            }
            (offsets.highest, offsets.bits) = (highest, bits);
            all >> 32 == 0
        }
    }
    with_level(level, Work(pairs, shift, offsets))
}

/// `origin` plus each offset.
#[inline(never)]
pub(super) fn addresses(level: Level, offsets: &[u32], origin: u64, addresses: &mut [u64; 32]) {
    struct Work<'w>(&'w [u32], u64, &'w mut [u64; 32]);
    impl Leveled for Work<'_> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            for (address, &offset) in self.2.iter_mut().zip(self.0) {
                *address = self.1 + u64::from(offset);
            }
        }
    }
    with_level(level, Work(offsets, origin, addresses));
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
