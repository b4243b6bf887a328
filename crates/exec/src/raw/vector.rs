//! Values of 32 lanes moved by vector, where the lanes' places allow it.
//!
//! Most requests move neighbouring bytes, or the same ones: a row of a matrix, an element that all threads of a row
//! want. Their places are looked at in groups of 64 bytes of values (16 words, or 8 double words); a group whose lanes
//! lie side by side is one copy, a group of one place one value for all, and other words are gathered by the CPU.
//!
//! Memory may be in use by other threads, and a vector of relaxed atomic words does not exist in Rust. The instructions
//! are written in assembly, where each of the words that they move is an access of its own, as if they were relaxed
//! atomic accesses of 32 bits in some order: x86-64 never tears an aligned word, whatever moves it.

use std::arch::asm;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_cvtsi32_si128, _mm_cvtsi64_si128, _mm_cvtsi128_si32, _mm_max_epu32, _mm_min_epu32,
    _mm_or_si128, _mm_shuffle_epi32, _mm256_add_epi32, _mm256_add_epi64, _mm256_blend_epi32, _mm256_broadcastd_epi32,
    _mm256_broadcastq_epi64, _mm256_castsi128_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi32,
    _mm256_extracti128_si256, _mm256_inserti128_si256, _mm256_loadu_si256, _mm256_max_epu32, _mm256_min_epu32,
    _mm256_movemask_epi8, _mm256_or_si256, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_set1_epi64x,
    _mm256_setr_epi32, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_testz_si256,
    _mm256_unpackhi_epi32, _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64, _mm256_xor_si256,
};

/// How the places of a group of lanes lie to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Side by side.
    Consecutive,
    /// All the same.
    Same,
    /// Anyhow.
    Scattered,
}

/// Reads 8 words.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(pointer: *const u8) -> __m256i {
    let value;
    // SAFETY: the caller guarantees 32 bytes of words there; see the module about other threads.
    unsafe {
        asm!("vmovdqu {value}, [{pointer}]", value = lateout(ymm_reg) value, pointer = in(reg) pointer,
            options(nostack, preserves_flags, readonly));
    }
    value
}

/// Writes 8 words.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(pointer: *mut u8, value: __m256i) {
    // SAFETY: as in `load`.
    unsafe {
        asm!("vmovdqu [{pointer}], {value}", value = in(ymm_reg) value, pointer = in(reg) pointer,
            options(nostack, preserves_flags));
    }
}

/// Reads the words at `base` plus each of 8 signed offsets.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn gather(base: *const u8, offsets: __m256i) -> __m256i {
    let value;
    // SAFETY: as in `load`, of each word.
    unsafe {
        asm!(
            "vpcmpeqd {all}, {all}, {all}",
            "vpgatherdd {value}, [{base} + {offsets}], {all}",
            all = out(ymm_reg) _, value = out(ymm_reg) value, base = in(reg) base, offsets = in(ymm_reg) offsets,
            options(nostack, preserves_flags, readonly),
        );
    }
    value
}

#[inline]
#[target_feature(enable = "avx2")]
fn vector(words: &[u32], first: usize) -> __m256i {
    let words: &[u32; 8] = words[first..first + 8].try_into().expect("8 words");
    // SAFETY: 32 bytes that are there, and need no alignment.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn put(words: &mut [u32], first: usize, value: __m256i) {
    let words: &mut [u32; 8] = (&mut words[first..first + 8]).try_into().expect("8 words");
    // SAFETY: as in `vector`.
    unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), value) }
}

/// True if all bits are zero.
#[inline]
#[target_feature(enable = "avx2")]
fn is_zero(value: __m256i) -> bool {
    _mm256_testz_si256(value, value) == 1
}

#[inline]
#[target_feature(enable = "avx2")]
fn is_equal(a: __m256i, b: __m256i) -> bool {
    _mm256_movemask_epi8(_mm256_cmpeq_epi32(a, b)) == -1
}

/// Of 16 lanes that want a word each.
#[inline]
#[target_feature(enable = "avx2")]
fn words_group(offsets: &[u32; 32], first: usize) -> Group {
    let origin = _mm256_set1_epi32(offsets[first].cast_signed());
    let low = _mm256_sub_epi32(vector(offsets, first), origin);
    let high = _mm256_sub_epi32(vector(offsets, first + 8), origin);
    if is_zero(_mm256_or_si256(low, high)) {
        return Group::Same;
    }
    let steps = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    let difference_low = _mm256_xor_si256(low, steps);
    let difference_high = _mm256_xor_si256(high, _mm256_add_epi32(steps, _mm256_set1_epi32(32)));
    if is_zero(_mm256_or_si256(difference_low, difference_high)) { Group::Consecutive } else { Group::Scattered }
}

/// Of 8 lanes that want a double word each.
#[inline]
#[target_feature(enable = "avx2")]
fn pairs_group(offsets: &[u32; 32], first: usize) -> Group {
    let origin = _mm256_set1_epi32(offsets[first].cast_signed());
    let distances = _mm256_sub_epi32(vector(offsets, first), origin);
    if is_zero(distances) {
        Group::Same
    } else if is_equal(distances, _mm256_setr_epi32(0, 8, 16, 24, 32, 40, 48, 56)) {
        Group::Consecutive
    } else {
        Group::Scattered
    }
}

/// Reads a word at each place.
///
/// # Safety
///
/// At each offset from `start` lies an aligned word.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn gather_words(start: *const u8, offsets: &[u32; 32], values: &mut [u32; 32]) {
    let groups = [words_group(offsets, 0), words_group(offsets, 16)];
    // SAFETY: of the caller.
    unsafe { gather_groups(start, offsets, groups, values) }
}

/// How the places of words lie to each other in the two halves of a warp, and the lowest place.
#[target_feature(enable = "avx2")]
pub(super) fn groups_of_words(offsets: &[u32; 32]) -> ([Group; 2], u32) {
    let low = _mm256_min_epu32(vector(offsets, 0), vector(offsets, 8));
    let high = _mm256_min_epu32(vector(offsets, 16), vector(offsets, 24));
    let (low, high) = halves(_mm256_min_epu32(low, high));
    let lowest = of_four(_mm_min_epu32(low, high), |a, b| _mm_min_epu32(a, b));
    ([words_group(offsets, 0), words_group(offsets, 16)], lowest)
}

/// Reads a word at each place.
///
/// # Safety
///
/// At each offset from `start` lies an aligned word, and the offsets lie to each other as `groups` says.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) unsafe fn gather_groups(start: *const u8, offsets: &[u32; 32], groups: [Group; 2], values: &mut [u32; 32]) {
    for (first, group) in [0, 16].into_iter().zip(groups) {
        // SAFETY: the words of a group lie side by side from the first one on, or are one word; offsets are unsigned,
        // and signed ones from 2^31 bytes behind the start reach the same places.
        unsafe {
            let place = start.wrapping_add(offsets[first] as usize);
            match group {
                Group::Consecutive => {
                    put(values, first, load(place));
                    put(values, first + 8, load(place.add(32)));
                }
                Group::Same => {
                    let word: u32;
                    asm!("mov {word:e}, [{place}]", word = lateout(reg) word, place = in(reg) place,
                        options(nostack, preserves_flags, readonly));
                    let all = _mm256_broadcastd_epi32(_mm_cvtsi32_si128(word.cast_signed()));
                    put(values, first, all);
                    put(values, first + 8, all);
                }
                Group::Scattered => {
                    let half = _mm256_set1_epi32(i32::MIN);
                    let middle = start.wrapping_add(1 << 31);
                    for first in [first, first + 8] {
                        put(values, first, gather(middle, _mm256_xor_si256(vector(offsets, first), half)));
                    }
                }
            }
        }
    }
}

/// Reads a double word at each place.
///
/// # Safety
///
/// At each offset from `start` lie two words, aligned to both.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn gather_pairs(start: *const u8, offsets: &[u32; 32], values: &mut [u64; 32]) {
    for first in [0, 8, 16, 24] {
        let group = pairs_group(offsets, first);
        let into: &mut [u64; 8] = (&mut values[first..first + 8]).try_into().expect("8 values");
        // SAFETY: as in `gather_words`; the values take 64 bytes.
        unsafe {
            let place = start.add(offsets[first] as usize);
            let into: *mut __m256i = into.as_mut_ptr().cast();
            match group {
                Group::Consecutive => {
                    _mm256_storeu_si256(into, load(place));
                    _mm256_storeu_si256(into.add(1), load(place.add(32)));
                }
                Group::Same => {
                    let all = _mm256_broadcastq_epi64(_mm_cvtsi64_si128(pair(place).cast_signed()));
                    _mm256_storeu_si256(into, all);
                    _mm256_storeu_si256(into.add(1), all);
                }
                Group::Scattered => {
                    for lane in 0..8 {
                        into.cast::<u64>().add(lane).write(pair(start.add(offsets[first + lane] as usize)));
                    }
                }
            }
        }
    }
}

/// Reads four words from each place on: the first of all lanes come first.
///
/// # Safety
///
/// At each offset from `start` lie four words, aligned to one.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn gather_quads(start: *const u8, offsets: &[u32; 32], values: &mut [[u32; 32]; 4]) {
    for first in [0, 8, 16, 24] {
        // A vector has the words of one lane in its lower half, and those of the fourth one after it in the upper half.
        let two = |lane: usize| {
            // SAFETY: of the caller.
            let (low, high) =
                unsafe { (quad(start.add(offsets[lane] as usize)), quad(start.add(offsets[lane + 4] as usize))) };
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low), high)
        };
        let lanes = [two(first), two(first + 1), two(first + 2), two(first + 3)];
        let low = [_mm256_unpacklo_epi32(lanes[0], lanes[1]), _mm256_unpacklo_epi32(lanes[2], lanes[3])];
        let high = [_mm256_unpackhi_epi32(lanes[0], lanes[1]), _mm256_unpackhi_epi32(lanes[2], lanes[3])];
        put(&mut values[0], first, _mm256_unpacklo_epi64(low[0], low[1]));
        put(&mut values[1], first, _mm256_unpackhi_epi64(low[0], low[1]));
        put(&mut values[2], first, _mm256_unpacklo_epi64(high[0], high[1]));
        put(&mut values[3], first, _mm256_unpackhi_epi64(high[0], high[1]));
    }
}

/// Reads four words.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn quad(place: *const u8) -> __m128i {
    let value;
    // SAFETY: as in `load`, of 16 bytes.
    unsafe {
        asm!("vmovdqu {value}, [{place}]", value = lateout(xmm_reg) value, place = in(reg) place,
            options(nostack, preserves_flags, readonly));
    }
    value
}

/// Reads two words.
#[inline(always)]
unsafe fn pair(place: *const u8) -> u64 {
    let pair;
    // SAFETY: as in `load`.
    unsafe {
        asm!("mov {pair}, [{place}]", pair = lateout(reg) pair, place = in(reg) place,
            options(nostack, preserves_flags, readonly));
    }
    pair
}

/// Writes a word at each place. Where lanes share one, the highest wins.
///
/// # Safety
///
/// As of `gather_words`.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn scatter_words(start: *mut u8, offsets: &[u32; 32], values: &[u32; 32]) {
    for first in [0, 16] {
        // SAFETY: as in `gather_words`.
        unsafe {
            if words_group(offsets, first) == Group::Consecutive {
                let place = start.add(offsets[first] as usize);
                store(place, vector(values, first));
                store(place.add(32), vector(values, first + 8));
                continue;
            }
            for lane in first..first + 16 {
                let place = start.add(offsets[lane] as usize);
                asm!("mov [{place}], {word:e}", word = in(reg) values[lane], place = in(reg) place,
                    options(nostack, preserves_flags));
            }
        }
    }
}

/// Writes a double word at each place. Where lanes share one, the highest wins.
///
/// # Safety
///
/// As of `gather_pairs`.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn scatter_pairs(start: *mut u8, offsets: &[u32; 32], values: &[u64; 32]) {
    for first in [0, 8, 16, 24] {
        let from: &[u64; 8] = values[first..first + 8].try_into().expect("8 values");
        // SAFETY: as in `gather_pairs`.
        unsafe {
            if pairs_group(offsets, first) == Group::Consecutive {
                let place = start.add(offsets[first] as usize);
                let from: *const __m256i = from.as_ptr().cast();
                store(place, _mm256_loadu_si256(from));
                store(place.add(32), _mm256_loadu_si256(from.add(1)));
                continue;
            }
            for (lane, &value) in from.iter().enumerate() {
                let place = start.add(offsets[first + lane] as usize);
                asm!("mov [{place}], {pair}", pair = in(reg) value, place = in(reg) place,
                    options(nostack, preserves_flags));
            }
        }
    }
}

/// True if each value is so much more than the first one, modulo 2^32.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn are_apart(values: &[u32; 32], distances: &[u32; 32]) -> bool {
    let origin = _mm256_set1_epi32(values[0].cast_signed());
    let mut difference = _mm256_set1_epi32(0);
    for first in [0, 8, 16, 24] {
        let apart = _mm256_sub_epi32(vector(values, first), origin);
        difference = _mm256_or_si256(difference, _mm256_xor_si256(apart, vector(distances, first)));
    }
    is_zero(difference)
}

/// `words` plus `shift`, the largest sum, and all bits of the sums.
#[target_feature(enable = "avx2")]
pub(super) fn words_plus(words: &[u32; 32], shift: u32, sums: &mut [u32; 32]) -> (u32, u32) {
    let shift = _mm256_set1_epi32(shift.cast_signed());
    let mut highest = _mm256_set1_epi32(0);
    let mut bits = highest;
    for first in [0, 8, 16, 24] {
        let sum = _mm256_add_epi32(vector(words, first), shift);
        put(sums, first, sum);
        highest = _mm256_max_epu32(highest, sum);
        bits = _mm256_or_si256(bits, sum);
    }
    put_together(highest, bits)
}

/// `pairs` plus `shift` as words, the largest of them, all their bits, and whether any is none.
#[target_feature(enable = "avx2")]
pub(super) fn pairs_plus(pairs: &[u64; 32], shift: u64, sums: &mut [u32; 32]) -> (u32, u32, bool) {
    let shift = _mm256_set1_epi64x(shift.cast_signed());
    let low_words = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    let mut highest = _mm256_set1_epi32(0);
    let (mut bits, mut all) = (highest, highest);
    for first in [0, 8, 16, 24] {
        let four = |first: usize| {
            let pairs: &[u64; 4] = pairs[first..first + 4].try_into().expect("4 pairs");
            // SAFETY: 32 bytes that are there, and need no alignment.
            _mm256_add_epi64(unsafe { _mm256_loadu_si256(pairs.as_ptr().cast()) }, shift)
        };
        let (low, high) = (four(first), four(first + 4));
        all = _mm256_or_si256(all, _mm256_or_si256(low, high));
        let low = _mm256_permutevar8x32_epi32(low, low_words);
        let high = _mm256_permutevar8x32_epi32(high, low_words);
        let sum = _mm256_blend_epi32::<0b1111_0000>(low, high);
        put(sums, first, sum);
        highest = _mm256_max_epu32(highest, sum);
        bits = _mm256_or_si256(bits, sum);
    }
    let (highest, bits) = put_together(highest, bits);
    (highest, bits, !is_zero(_mm256_srli_epi64::<32>(all)))
}

/// The largest word of one vector, and all bits of the words of another.
#[inline]
#[target_feature(enable = "avx2")]
fn put_together(highest: __m256i, bits: __m256i) -> (u32, u32) {
    let (low, high) = halves(highest);
    let highest = of_four(_mm_max_epu32(low, high), |a, b| _mm_max_epu32(a, b));
    let (low, high) = halves(bits);
    let bits = of_four(_mm_or_si128(low, high), |a, b| _mm_or_si128(a, b));
    (highest, bits)
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(value: __m256i) -> (__m128i, __m128i) {
    (_mm256_castsi256_si128(value), _mm256_extracti128_si256::<1>(value))
}

/// The words of a vector put together.
#[inline]
#[target_feature(enable = "avx2")]
fn of_four(value: __m128i, put: impl Fn(__m128i, __m128i) -> __m128i) -> u32 {
    let two = put(value, _mm_shuffle_epi32::<0b1110>(value));
    _mm_cvtsi128_si32(put(two, _mm_shuffle_epi32::<0b01>(two))).cast_unsigned()
}
