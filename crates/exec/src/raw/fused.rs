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
