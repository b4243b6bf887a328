//! Fused sums of eight rows by vector: the common case of products of matrices of floats.

#[cfg(target_arch = "x86_64")]
use super::handler::Level;

/// Elements of eight lines, or one after the other: their values and exponents; [`NONE`] is the exponent of a zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements<'a> {
    pub(crate) values: &'a [f32],
    pub(crate) exponents: &'a [i32],
}

/// The exponent of zeros: two of them, or one and that of another element, are below those of all products.
pub(crate) const NONE: i32 = -0x4000;
/// The largest exponent of an element, whatever its sign: products and their alignment stay in the range of f32.
pub(crate) const FARTHEST: i32 = 50;

/// How blocks are summed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FusedSum {
    /// Fraction bits that are kept below the largest exponent, 23 to 25.
    pub(crate) kept: i32,
    /// Elements of a block.
    pub(crate) length: usize,
    /// The sum of a block is rounded to f16, instead of cut to f32.
    pub(crate) half: bool,
}

/// Adds to `sums`, for each column eight rows, the products of the elements of these rows (`rows`, eight for each depth) and
/// those of the columns (`columns`, one after the other), in blocks. False, with `sums` in ruins, where a sum is too large to be
/// made in this way, or the CPU lacks what it takes.
pub(crate) fn add_products(rule: FusedSum, rows: Elements<'_>, columns: Elements<'_>, sums: &mut [[f32; 8]]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if Level::detect() == Level::V3 {
        // SAFETY: `Level::V3` exists only where `Level::detect` found the features.
        return unsafe { vector::add_products(rule, rows, columns, sums) };
    }
    let _ = (rule, rows, columns, sums);
    false
}

/// A product of 16 rows and 8 columns of a warp, whose factors have 16 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpProduct {
    /// How its blocks are summed; accumulators and results are f16 where it rounds to them, and else f32.
    pub(crate) sum: FusedSum,
    /// Elements in depth: a multiple of 8, up to [`MOST_DEPTH`].
    pub(crate) depth: usize,
    /// The factors are bf16, and else f16.
    pub(crate) is_bf16: bool,
}

/// The largest depth of a [`WarpProduct`].
pub(crate) const MOST_DEPTH: usize = 16;

/// The registers of d, which are zero before, of those of a, b and c; each has a row of lanes. False, with d in ruins, where
/// the elements are not as [`add_products`] has them, or the CPU lacks what it takes.
pub(crate) fn multiply_in_warp(product: WarpProduct, [a, b, c]: [&[[u32; 32]]; 3], d: &mut [[u32; 32]]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if Level::detect() == Level::V3 {
        // SAFETY: `Level::V3` exists only where `Level::detect` found the features.
        return unsafe { warp::multiply(product, [a, b, c], d) };
    }
    let _ = (product, a, b, c, d);
    false
}

#[cfg(target_arch = "x86_64")]
mod vector {
    use std::arch::x86_64::{
        __m256, __m256i, _MM_FROUND_TO_NEAREST_INT, _mm256_abs_epi32, _mm256_add_epi32, _mm256_add_ps,
        _mm256_and_si256, _mm256_andnot_si256, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
        _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_cvtepi32_ps, _mm256_cvtph_ps, _mm256_cvtps_ph,
        _mm256_cvttps_epi32, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_max_epi32, _mm256_movemask_ps, _mm256_mul_ps,
        _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_ps, _mm256_setzero_ps, _mm256_setzero_si256, _mm256_slli_epi32,
        _mm256_srli_epi32, _mm256_storeu_ps, _mm256_sub_epi32, _mm256_xor_si256,
    };

    use super::{Elements, FusedSum, NONE};

    /// Eight values.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn floats(values: &[f32; 8]) -> __m256 {
        // SAFETY: 32 bytes that are there, and need no alignment.
        unsafe { _mm256_loadu_ps(values.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn integers(values: &[i32; 8]) -> __m256i {
        // SAFETY: as in `floats`.
        unsafe { _mm256_loadu_si256(values.as_ptr().cast()) }
    }

    #[expect(clippy::needless_range_loop, reason = "iterators stay calls in code for one level of the CPU")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    pub(super) fn add_products(
        rule: FusedSum,
        rows: Elements<'_>,
        columns: Elements<'_>,
        sums: &mut [[f32; 8]],
    ) -> bool {
        let (values, exponents) = (rows.values.as_chunks::<8>().0, rows.exponents.as_chunks::<8>().0);
        let depth = values.len();
        let mut bad = _mm256_setzero_si256();
        for number in 0..sums.len() {
            let range = number * depth..(number + 1) * depth;
            let (column, of_column) = (&columns.values[range.clone()], &columns.exponents[range]);
            let mut total = floats(&sums[number]);
            let mut from = 0;
            while from < depth {
                let to = depth.min(from + rule.length);
                let rows = (&values[from..to], &exponents[from..to]);
                total = block(rule, rows, (&column[from..to], &of_column[from..to]), total, &mut bad);
                from = to;
            }
            bad = _mm256_or_si256(bad, not_finite(total));
            // SAFETY: as in `floats`.
            unsafe { _mm256_storeu_ps(sums[number].as_mut_ptr(), total) };
        }
        _mm256_movemask_ps(_mm256_castsi256_ps(bad)) == 0
    }

    /// Ones in lanes that hold infinities and NaN.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn not_finite(values: __m256) -> __m256i {
        let infinite = _mm256_set1_epi32(0x7f80_0000);
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_castps_si256(values), infinite), infinite)
    }

    /// The sum after one block; lanes of `bad` become negative where it is none.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn block(
        rule: FusedSum,
        (values, exponents): (&[[f32; 8]], &[[i32; 8]]),
        (column, of_column): (&[f32], &[i32]),
        before: __m256,
        bad: &mut __m256i,
    ) -> __m256 {
        let n = values.len();
        let (exponents, column, of_column) = (&exponents[..n], &column[..n], &of_column[..n]);
        let mut largest = _mm256_set1_epi32(2 * NONE);
        for at in 0..n {
            let of_product = _mm256_add_epi32(integers(&exponents[at]), _mm256_set1_epi32(of_column[at]));
            largest = _mm256_max_epi32(largest, of_product);
        }
        let no_products = _mm256_cmpgt_epi32(_mm256_set1_epi32(NONE / 2), largest);
        let bits = _mm256_castps_si256(before);
        let field = _mm256_and_si256(_mm256_srli_epi32::<23>(bits), _mm256_set1_epi32(0xff));
        let least = if rule.half { -14 } else { -126 };
        let exponent = _mm256_max_epi32(_mm256_sub_epi32(field, _mm256_set1_epi32(127)), _mm256_set1_epi32(least));
        let is_zero = _mm256_cmpeq_epi32(_mm256_slli_epi32::<1>(bits), _mm256_setzero_si256());
        let exponent = _mm256_or_si256(
            _mm256_andnot_si256(is_zero, exponent),
            _mm256_and_si256(is_zero, _mm256_set1_epi32(2 * NONE)),
        );
        largest = _mm256_max_epi32(largest, exponent);
        // 2^(kept - largest), so that what is kept of a term is its integer part.
        let kept = _mm256_set1_epi32(rule.kept);
        let power = |exponent: __m256i| {
            _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(exponent, _mm256_set1_epi32(127))))
        };
        let scale = power(_mm256_sub_epi32(kept, largest));
        // A term is less than 2^27, and one of small floats less than 2^27 * 0.88: half of a block, which is 8 terms or 16 of
        // small floats, and the sum before fit 32 bits, but perhaps not the whole.
        let mut first = _mm256_cvttps_epi32(_mm256_mul_ps(before, scale));
        let mut second = _mm256_setzero_si256();
        let term = |at: usize| {
            let product = _mm256_mul_ps(floats(&values[at]), _mm256_set1_ps(column[at]));
            _mm256_cvttps_epi32(_mm256_mul_ps(product, scale))
        };
        for at in 0..n / 2 {
            first = _mm256_add_epi32(first, term(at));
        }
        for at in n / 2..n {
            second = _mm256_add_epi32(second, term(at));
        }
        let sum = _mm256_add_epi32(first, second);
        let overflow = _mm256_and_si256(_mm256_xor_si256(first, sum), _mm256_xor_si256(second, sum));
        let magnitude = _mm256_abs_epi32(sum);
        let nearest = _mm256_cvtepi32_ps(magnitude);
        // What was rounded up is one unit too large; where that is 2^31 the difference is right all the same.
        let excess = _mm256_sub_epi32(_mm256_cvttps_epi32(nearest), magnitude);
        let is_above = _mm256_cmpgt_epi32(excess, _mm256_setzero_si256());
        let mut cut = _mm256_add_epi32(_mm256_castps_si256(nearest), is_above);
        if rule.half {
            // The last bit tells of all that was cut: f16 has so many bits less that rounding again is rounding once.
            let is_exact = _mm256_cmpeq_epi32(excess, _mm256_setzero_si256());
            cut = _mm256_or_si256(cut, _mm256_andnot_si256(is_exact, _mm256_set1_epi32(1)));
        }
        let sign = _mm256_and_si256(sum, _mm256_set1_epi32(i32::MIN));
        let cut = _mm256_castsi256_ps(_mm256_or_si256(cut, sign));
        let mut after = _mm256_mul_ps(cut, power(_mm256_sub_epi32(largest, kept)));
        if rule.half {
            after = _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(after));
        }
        // Only zeros are added; a negative one becomes positive.
        let unchanged = _mm256_add_ps(before, _mm256_setzero_ps());
        after = _mm256_blendv_ps(after, unchanged, _mm256_castsi256_ps(no_products));
        let overflow = _mm256_andnot_si256(no_products, overflow);
        *bad = _mm256_or_si256(*bad, _mm256_or_si256(overflow, not_finite(before)));
        after
    }
}

/// Products of a warp: registers are taken apart and put together again by vector, too.
///
/// In a register of a factor or an accumulator lane 4g + t has what belongs to line g: here lanes are turned so that there
/// is a vector for each t, with the eight lines in it.
#[cfg(target_arch = "x86_64")]
mod warp {
    use std::arch::x86_64::{
        __m128i, __m256, __m256i, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_packus_epi32, _mm256_abs_epi32,
        _mm256_and_si256, _mm256_andnot_si256, _mm256_blendv_ps, _mm256_castps_si256, _mm256_castsi256_ps,
        _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_cvtepu16_epi32, _mm256_cvtph_ps,
        _mm256_cvtps_ph, _mm256_extracti128_si256, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_max_epi32,
        _mm256_movemask_ps, _mm256_mul_ps, _mm256_or_si256, _mm256_permutevar8x32_epi32, _mm256_set1_epi32,
        _mm256_set1_ps, _mm256_setr_epi32, _mm256_setzero_si256, _mm256_slli_epi32, _mm256_srli_epi32,
        _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_unpackhi_epi32, _mm256_unpackhi_epi64,
        _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
    };

    use super::{Elements, FARTHEST, MOST_DEPTH, NONE, WarpProduct, vector};

    /// Lines of a tile.
    const LINES: usize = 8;

    /// Values and exponents of the elements of eight lines.
    struct Tile {
        values: [f32; LINES * MOST_DEPTH],
        exponents: [i32; LINES * MOST_DEPTH],
    }

    impl Tile {
        const ZERO: Self = Self { values: [0.0; LINES * MOST_DEPTH], exponents: [0; LINES * MOST_DEPTH] };

        /// Takes apart eight elements, which come to stand from `at` on. Lanes of `bad` become negative where one is too
        /// large, too small or no number.
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn put(&mut self, at: usize, elements: __m256i, is_bf16: bool, bad: &mut __m256i) {
            let magnitude = _mm256_and_si256(elements, _mm256_set1_epi32(0x7fff));
            let sign = _mm256_slli_epi32::<16>(_mm256_andnot_si256(_mm256_set1_epi32(0x7fff), elements));
            let (field, bias, largest, value) = if is_bf16 {
                (_mm256_srli_epi32::<7>(magnitude), 127, 255, _mm256_slli_epi32::<16>(magnitude))
            } else {
                // As if it were an f32 with the same fields; the difference of the biases then moves it to its place.
                let small = _mm256_castsi256_ps(_mm256_slli_epi32::<13>(magnitude));
                let value = _mm256_mul_ps(small, _mm256_set1_ps(f32::from_bits((127 + 127 - 15) << 23)));
                (_mm256_srli_epi32::<10>(magnitude), 15, 31, _mm256_castps_si256(value))
            };
            let exponent = _mm256_sub_epi32(_mm256_max_epi32(field, _mm256_set1_epi32(1)), _mm256_set1_epi32(bias));
            let is_zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
            let is_far = _mm256_cmpgt_epi32(_mm256_abs_epi32(exponent), _mm256_set1_epi32(FARTHEST));
            let no_number = _mm256_cmpeq_epi32(field, _mm256_set1_epi32(largest));
            *bad = _mm256_or_si256(*bad, _mm256_or_si256(_mm256_andnot_si256(is_zero, is_far), no_number));
            let none = _mm256_castsi256_ps(_mm256_set1_epi32(NONE));
            let exponent = _mm256_blendv_ps(_mm256_castsi256_ps(exponent), none, _mm256_castsi256_ps(is_zero));
            let values: &mut [f32; 8] = self.values[at..].first_chunk_mut().expect("it has room");
            let exponents: &mut [i32; 8] = self.exponents[at..].first_chunk_mut().expect("it has room");
            let value = _mm256_castsi256_ps(_mm256_or_si256(value, sign));
            // SAFETY: 32 bytes that are there, and need no alignment.
            unsafe {
                _mm256_storeu_ps(values.as_mut_ptr(), value);
                _mm256_storeu_si256(exponents.as_mut_ptr().cast(), _mm256_castps_si256(exponent));
            }
        }
    }

    /// Four lanes from a multiple of four on.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn four(register: &[u32; 32], group: usize) -> __m128i {
        let lanes: &[u32; 4] = &register.as_chunks::<4>().0[group];
        // SAFETY: 16 bytes that are there, and need no alignment.
        unsafe { _mm_loadu_si128(lanes.as_ptr().cast()) }
    }

    /// Turns the lower and the upper four by four words of four vectors.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn turned([v0, v1, v2, v3]: [__m256i; 4]) -> [__m256i; 4] {
        let (a, b) = (_mm256_unpacklo_epi32(v0, v1), _mm256_unpacklo_epi32(v2, v3));
        let (c, d) = (_mm256_unpackhi_epi32(v0, v1), _mm256_unpackhi_epi32(v2, v3));
        [
            _mm256_unpacklo_epi64(a, b),
            _mm256_unpackhi_epi64(a, b),
            _mm256_unpacklo_epi64(c, d),
            _mm256_unpackhi_epi64(c, d),
        ]
    }

    /// For each t the words of the lanes 4g + t, by g.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn by_line(register: &[u32; 32]) -> [__m256i; 4] {
        let eights = register.as_chunks::<8>().0;
        // SAFETY: 32 bytes that are there, and need no alignment.
        let load = |at: usize| unsafe { _mm256_loadu_si256(eights[at].as_ptr().cast()) };
        let turned = turned([load(0), load(1), load(2), load(3)]);
        // Even lines are in the lower half, and odd ones in the upper one.
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        [
            _mm256_permutevar8x32_epi32(turned[0], order),
            _mm256_permutevar8x32_epi32(turned[1], order),
            _mm256_permutevar8x32_epi32(turned[2], order),
            _mm256_permutevar8x32_epi32(turned[3], order),
        ]
    }

    /// The other way round.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn put_by_line(by_line: [__m256i; 4], register: &mut [u32; 32]) {
        let order = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
        let eights = register.as_chunks_mut::<8>().0;
        let vectors = turned([
            _mm256_permutevar8x32_epi32(by_line[0], order),
            _mm256_permutevar8x32_epi32(by_line[1], order),
            _mm256_permutevar8x32_epi32(by_line[2], order),
            _mm256_permutevar8x32_epi32(by_line[3], order),
        ]);
        for (eight, vector) in eights.iter_mut().zip(vectors) {
            // SAFETY: 32 bytes that are there, and need no alignment.
            unsafe { _mm256_storeu_si256(eight.as_mut_ptr().cast(), vector) };
        }
    }

    /// The f16 in the lower halves of words.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn from_halves(words: __m256i) -> __m256 {
        let words = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
        let (low, high) = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        _mm256_cvtph_ps(_mm_packus_epi32(low, high))
    }

    /// Values that f16 has, as these, in the lower halves of words.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn to_halves(values: __m256) -> __m256i {
        _mm256_cvtepu16_epi32(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(values))
    }

    #[expect(clippy::needless_range_loop, reason = "iterators stay calls in code for one level of the CPU")]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    pub(super) fn multiply(product: WarpProduct, [a, b, c]: [&[[u32; 32]]; 3], d: &mut [[u32; 32]]) -> bool {
        let WarpProduct { sum, depth, is_bf16 } = product;
        let mut bad = _mm256_setzero_si256();
        let mut columns = Tile::ZERO;
        for register in 0..depth / 8 {
            for line in 0..LINES {
                // Lane 4g + t has the elements 2t and 2t + 1 of column g.
                let elements = _mm256_cvtepu16_epi32(four(&b[register], line));
                columns.put(line * depth + 8 * register, elements, is_bf16, &mut bad);
            }
        }
        let range = ..LINES * depth;
        let columns = Elements { values: &columns.values[range], exponents: &columns.exponents[range] };
        for tile in 0..2 {
            let mut rows = Tile::ZERO;
            for register in 0..depth / 8 {
                // Of two registers side by side the second holds the rows from the eighth on.
                let words = by_line(&a[2 * register + tile]);
                for thread in 0..4 {
                    let at = LINES * (8 * register + 2 * thread);
                    let low = _mm256_and_si256(words[thread], _mm256_set1_epi32(0xffff));
                    rows.put(at, low, is_bf16, &mut bad);
                    rows.put(at + LINES, _mm256_srli_epi32::<16>(words[thread]), is_bf16, &mut bad);
                }
            }
            let rows = Elements { values: &rows.values[range], exponents: &rows.exponents[range] };
            let mut sums = [[0.0; LINES]; LINES];
            let mut set = |column: usize, values: __m256| {
                // SAFETY: 32 bytes that are there, and need no alignment.
                unsafe { _mm256_storeu_ps(sums[column].as_mut_ptr(), values) };
            };
            if sum.half {
                let words = by_line(&c[tile]);
                for thread in 0..4 {
                    set(2 * thread, from_halves(words[thread]));
                    set(2 * thread + 1, from_halves(_mm256_srli_epi32::<16>(words[thread])));
                }
            } else {
                for element in 0..2 {
                    let words = by_line(&c[2 * tile + element]);
                    for thread in 0..4 {
                        set(2 * thread + element, _mm256_castsi256_ps(words[thread]));
                    }
                }
            }
            if !vector::add_products(sum, rows, columns, &mut sums) {
                return false;
            }
            // SAFETY: 32 bytes that are there, and need no alignment.
            let get = |column: usize| unsafe { _mm256_loadu_ps(sums[column].as_ptr()) };
            if sum.half {
                let word = |thread: usize| {
                    let high = _mm256_slli_epi32::<16>(to_halves(get(2 * thread + 1)));
                    _mm256_or_si256(to_halves(get(2 * thread)), high)
                };
                put_by_line([word(0), word(1), word(2), word(3)], &mut d[tile]);
            } else {
                for element in 0..2 {
                    let word = |thread: usize| _mm256_castps_si256(get(2 * thread + element));
                    put_by_line([word(0), word(1), word(2), word(3)], &mut d[2 * tile + element]);
                }
            }
        }
        _mm256_movemask_ps(_mm256_castsi256_ps(bad)) == 0
    }
}
