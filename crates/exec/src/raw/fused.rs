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

/// The registers of d, of those of a, b and c; each has a row of lanes. False, with d in ruins, where an element or a sum is
/// no number or far from a middling size, or the CPU lacks what it takes.
pub(crate) fn multiply_in_warp(product: WarpProduct, [a, b, c]: [&[&[u32; 32]]; 3], d: &mut [[u32; 32]]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if Level::detect() == Level::V3 {
        return warp::FACTORS.with_borrow_mut(|factors| {
            // SAFETY: `Level::V3` exists only where `Level::detect` found the features.
            unsafe { warp::multiply(factors, product, [a, b, c], d) }
        });
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
            // What becomes zero is a positive one.
            let rounded = _mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(after));
            after = _mm256_add_ps(rounded, _mm256_setzero_ps());
        }
        // Only zeros are added; a negative one becomes positive.
        let unchanged = _mm256_add_ps(before, _mm256_setzero_ps());
        after = _mm256_blendv_ps(after, unchanged, _mm256_castsi256_ps(no_products));
        let overflow = _mm256_andnot_si256(no_products, overflow);
        *bad = _mm256_or_si256(*bad, _mm256_or_si256(overflow, not_finite(before)));
        after
    }
}

/// Products of a warp in the places that its registers give: a vector is two rows by four columns.
///
/// In a register of a factor or an accumulator lane 4g + t has what belongs to line g. So eight lanes of the sums are two
/// rows, and every second of eight columns: what they are multiplied by is an element of each row in four lanes, and those
/// of four columns twice. Neither sums nor results are turned. Exponents have a byte, so that those of all lanes of a
/// register are one vector.
#[cfg(target_arch = "x86_64")]
mod warp {
    use std::arch::x86_64::{
        __m256, __m256i, _MM_FROUND_TO_NEAREST_INT, _mm_loadl_epi64, _mm_loadu_ps, _mm_packus_epi32, _mm256_add_epi8,
        _mm256_add_epi16, _mm256_add_epi32, _mm256_add_ps, _mm256_adds_epi8, _mm256_and_si256, _mm256_andnot_si256,
        _mm256_castps_si256, _mm256_castsi256_ps, _mm256_castsi256_si128, _mm256_cmpeq_epi16, _mm256_cmpeq_epi32,
        _mm256_cmpgt_epi16, _mm256_cmpgt_epi32, _mm256_cvtepi32_ps, _mm256_cvtepu8_epi32, _mm256_cvtepu16_epi32,
        _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_cvttps_epi32, _mm256_extracti128_si256, _mm256_loadu_ps,
        _mm256_loadu_si256, _mm256_max_epi8, _mm256_max_epi16, _mm256_max_epi32, _mm256_max_epu32, _mm256_min_epu32,
        _mm256_movemask_epi8, _mm256_mul_ps, _mm256_or_si256, _mm256_packs_epi16, _mm256_permute_ps,
        _mm256_permute4x64_epi64, _mm256_permutevar8x32_epi32, _mm256_set_m128, _mm256_set1_epi8, _mm256_set1_epi16,
        _mm256_set1_epi32, _mm256_setr_epi8, _mm256_setr_epi32, _mm256_setzero_ps, _mm256_setzero_si256,
        _mm256_shuffle_epi8, _mm256_shuffle_ps, _mm256_sign_epi32, _mm256_slli_epi16, _mm256_slli_epi32,
        _mm256_srai_epi32, _mm256_srli_epi16, _mm256_srli_epi32, _mm256_storeu_ps, _mm256_storeu_si256,
        _mm256_sub_epi16, _mm256_sub_epi32, _mm256_subs_epu8, _mm256_testz_si256, _mm256_unpackhi_epi16,
        _mm256_unpackhi_epi32, _mm256_unpacklo_epi16, _mm256_unpacklo_epi32, _mm256_xor_si256,
    };
    use std::cell::RefCell;

    use super::{MOST_DEPTH, WarpProduct};

    /// Depths that a vector of a factor has.
    const DEPTHS: usize = 4;
    /// Vectors of [`DEPTHS`] depths, at most.
    const QUADS: usize = MOST_DEPTH / DEPTHS;
    /// Vectors of the lanes of a register.
    const VECTORS: usize = 4;

    /// Exponents are moved by this, so that a byte has those of all elements from 2^[`LEAST`] to below 2^([`MOST`] + 1), and
    /// the sums of two of them.
    const OFFSET: i32 = 18;
    const LEAST: i32 = -50;
    const MOST: i32 = 45;
    /// The moved exponent of a zero: the sum with that of any element is below those of all products.
    const ZERO: i32 = i8::MIN as i32;
    /// Below the sums of all products, and above those with zeros: what a block is aligned to that has only zeros.
    const FLOOR: i32 = 2 * (LEAST + OFFSET) - 1;
    const _: () = assert!(2 * (MOST + OFFSET) < i8::MAX as i32 && ZERO + MOST + OFFSET <= FLOOR);
    /// The bias of f32.
    const BIAS: i32 = 127;
    /// The exponent field of the unit that is kept below [`FLOOR`], 2^-25, is that of a normal number.
    const LEAST_FIELD: i32 = FLOOR - 2 * OFFSET + BIAS;
    const _: () = assert!(LEAST_FIELD > 25);
    /// Sums before that are less than 2^(127 - 4) stay finite whatever is added.
    const MOST_FIELD: i32 = 250;

    thread_local! {
        /// Scratch space, which keeps what was taken apart last: a warp multiplies the same rows by many columns.
        pub(super) static FACTORS: RefCell<Factors> = const { RefCell::new(Factors::ZERO) };
    }

    /// Both factors, taken apart.
    pub(super) struct Factors {
        /// The registers of the rows, whether they are bf16, and what was said of them; none of a depth of zero.
        taken: [[u32; 32]; 2 * MOST_DEPTH / 8],
        n_taken: usize,
        is_bf16: bool,
        are_bad: bool,
        /// By tile of eight rows, four depths and two rows: four elements of each of the two.
        rows: [[[[f32; 8]; VECTORS]; QUADS]; 2],
        /// By tile and four depths: these exponents of each of the eight rows.
        of_rows: [[[u32; 8]; QUADS]; 2],
        /// By depth: the elements of the even columns, and those of the odd ones.
        columns: [[[f32; 4]; 2]; MOST_DEPTH],
        /// By depth, but that of four depths the even columns come first: their exponents.
        of_columns: [[[u32; DEPTHS]; 2]; QUADS],
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn load(words: &[u32; 8]) -> __m256i {
        // SAFETY: 32 bytes that are there, and need no alignment.
        unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn store(words: &mut [u32; 8], vector: __m256i) {
        // SAFETY: 32 bytes that are there, and need no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn load_floats(values: &[f32; 8]) -> __m256 {
        // SAFETY: 32 bytes that are there, and need no alignment.
        unsafe { _mm256_loadu_ps(values.as_ptr()) }
    }

    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn store_floats(values: &mut [f32; 8], vector: __m256) {
        // SAFETY: 32 bytes that are there, and need no alignment.
        unsafe { _mm256_storeu_ps(values.as_mut_ptr(), vector) }
    }

    /// The four vectors of a register.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn vectors(register: &[u32; 32]) -> [__m256i; VECTORS] {
        let eights = register.as_chunks::<8>().0;
        [load(&eights[0]), load(&eights[1]), load(&eights[2]), load(&eights[3])]
    }

    /// Moved exponents of sixteen elements. Lanes of `bad` become -1 where one is too large, too small or no number.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn exponents<const BF16: bool>(elements: __m256i, bad: &mut __m256i) -> __m256i {
        let magnitude = _mm256_and_si256(elements, _mm256_set1_epi16(0x7fff));
        let is_zero = _mm256_cmpeq_epi16(magnitude, _mm256_setzero_si256());
        let exponent = if BF16 {
            let field = _mm256_srli_epi16::<7>(magnitude);
            let too_large = _mm256_cmpgt_epi16(field, _mm256_set1_epi16((BIAS + MOST) as i16));
            let is_small = _mm256_cmpgt_epi16(_mm256_set1_epi16((BIAS + LEAST) as i16), field);
            let too_small = _mm256_andnot_si256(is_zero, is_small);
            *bad = _mm256_or_si256(*bad, _mm256_or_si256(too_large, too_small));
            _mm256_sub_epi16(field, _mm256_set1_epi16((BIAS - OFFSET) as i16))
        } else {
            // All numbers of f16 are of a middling size.
            *bad = _mm256_or_si256(*bad, _mm256_cmpgt_epi16(magnitude, _mm256_set1_epi16(0x7bff)));
            let field = _mm256_max_epi16(_mm256_srli_epi16::<10>(magnitude), _mm256_set1_epi16(1));
            _mm256_add_epi16(field, _mm256_set1_epi16((OFFSET - 15) as i16))
        };
        // So little that narrowing makes it the least.
        _mm256_add_epi16(exponent, _mm256_slli_epi16::<14>(is_zero))
    }

    /// Of the elements of eight lines in a register, eight of each, the moved exponents of the first four, and of the others:
    /// a word has those of a line, and the lines of odd numbers come after the others.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn exponents_by_line<const BF16: bool>(elements: [__m256i; VECTORS], bad: &mut __m256i) -> [__m256i; 2] {
        let [e0, e1, e2, e3] = [
            exponents::<BF16>(elements[0], bad),
            exponents::<BF16>(elements[1], bad),
            exponents::<BF16>(elements[2], bad),
            exponents::<BF16>(elements[3], bad),
        ];
        let low = _mm256_castsi256_ps(_mm256_packs_epi16(e0, e1));
        let high = _mm256_castsi256_ps(_mm256_packs_epi16(e2, e3));
        let even = _mm256_shuffle_ps::<0b10_00_10_00>(low, high);
        let odd = _mm256_shuffle_ps::<0b11_01_11_01>(low, high);
        [_mm256_castps_si256(even), _mm256_castps_si256(odd)]
    }

    /// The values of the lower and of the upper four of the elements in each half.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn values<const BF16: bool>(elements: __m256i) -> [__m256; 2] {
        if BF16 {
            let zero = _mm256_setzero_si256();
            let (low, high) = (_mm256_unpacklo_epi16(zero, elements), _mm256_unpackhi_epi16(zero, elements));
            return [_mm256_castsi256_ps(low), _mm256_castsi256_ps(high)];
        }
        let ordered = _mm256_permute4x64_epi64::<0b11_01_10_00>(elements);
        [_mm256_cvtph_ps(_mm256_castsi256_si128(ordered)), _mm256_cvtph_ps(_mm256_extracti128_si256::<1>(ordered))]
    }

    impl Factors {
        const ZERO: Self = Self {
            taken: [[0; 32]; 2 * MOST_DEPTH / 8],
            n_taken: 0,
            is_bf16: false,
            are_bad: false,
            rows: [[[[0.0; 8]; VECTORS]; QUADS]; 2],
            of_rows: [[[0; 8]; QUADS]; 2],
            columns: [[[0.0; 4]; 2]; MOST_DEPTH],
            of_columns: [[[0; DEPTHS]; 2]; QUADS],
        };

        /// Takes the registers apart of which each has eight depths of eight rows.
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn put_rows<const BF16: bool>(&mut self, registers: &[&[u32; 32]]) {
            let mut bad = _mm256_setzero_si256();
            let in_order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
            for (number, register) in registers.iter().enumerate() {
                // Of two registers side by side the second holds the rows from the eighth on.
                let (tile, quad) = (number % 2, number / 2 * 2);
                let elements = vectors(register);
                for (at, &elements) in elements.iter().enumerate() {
                    let values = values::<BF16>(elements);
                    store_floats(&mut self.rows[tile][quad][at], values[0]);
                    store_floats(&mut self.rows[tile][quad + 1][at], values[1]);
                }
                let [first, second] = exponents_by_line::<BF16>(elements, &mut bad);
                store(&mut self.of_rows[tile][quad], _mm256_permutevar8x32_epi32(first, in_order));
                store(&mut self.of_rows[tile][quad + 1], _mm256_permutevar8x32_epi32(second, in_order));
                self.taken[number] = **register;
            }
            (self.n_taken, self.is_bf16) = (registers.len(), BF16);
            self.are_bad = _mm256_movemask_epi8(bad) != 0;
        }

        /// True where these are the registers of the rows that were taken apart last.
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn has_rows<const BF16: bool>(&self, registers: &[&[u32; 32]]) -> bool {
            let mut differs = _mm256_setzero_si256();
            for (taken, register) in self.taken.iter().zip(registers) {
                let (taken, register) = (vectors(taken), vectors(register));
                for at in 0..VECTORS {
                    differs = _mm256_or_si256(differs, _mm256_xor_si256(taken[at], register[at]));
                }
            }
            self.n_taken == registers.len() && self.is_bf16 == BF16 && _mm256_testz_si256(differs, differs) == 1
        }

        /// Takes the registers apart of which each has eight depths of eight columns.
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn put_columns<const BF16: bool>(&mut self, registers: &[&[u32; 32]], bad: &mut __m256i) {
            let turn = _mm256_setr_epi8(
                0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11,
                15,
            );
            for (number, register) in registers.iter().enumerate() {
                let elements = vectors(register);
                // A half of a vector has a column: even ones are in the lower halves. Here they are turned, so that a half has
                // two depths of four columns.
                let low =
                    [_mm256_unpacklo_epi16(elements[0], elements[1]), _mm256_unpacklo_epi16(elements[2], elements[3])];
                let high =
                    [_mm256_unpackhi_epi16(elements[0], elements[1]), _mm256_unpackhi_epi16(elements[2], elements[3])];
                let turned = [
                    _mm256_unpacklo_epi32(low[0], low[1]),
                    _mm256_unpackhi_epi32(low[0], low[1]),
                    _mm256_unpacklo_epi32(high[0], high[1]),
                    _mm256_unpackhi_epi32(high[0], high[1]),
                ];
                for (at, turned) in turned.into_iter().enumerate() {
                    let values = values::<BF16>(turned);
                    for (value, columns) in values.into_iter().zip(&mut self.columns[8 * number + 2 * at..]) {
                        let columns: &mut [f32; 8] = columns.as_flattened_mut().first_chunk_mut().expect("two by four");
                        store_floats(columns, value);
                    }
                }
                let exponents = exponents_by_line::<BF16>(elements, bad);
                for (exponents, columns) in exponents.into_iter().zip(&mut self.of_columns[2 * number..]) {
                    let columns: &mut [u32; 8] = columns.as_flattened_mut().first_chunk_mut().expect("two by four");
                    store(columns, _mm256_shuffle_epi8(exponents, turn));
                }
            }
        }

        /// The exponent fields of the largest products of some depths, by lane of the sums in even and in odd columns.
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn largest(&self, tile: usize, quads: std::ops::Range<usize>) -> [[u8; 32]; 2] {
            let floor = _mm256_set1_epi8(FLOOR as i8);
            let mut largest = [floor; 2];
            for quad in quads {
                let of_rows = load(&self.of_rows[tile][quad]);
                let [even, odd] = &self.of_columns[quad];
                for depth in 0..DEPTHS {
                    let at = _mm256_set1_epi8(depth as i8);
                    let of_row = _mm256_shuffle_epi8(
                        of_rows,
                        _mm256_add_epi8(
                            _mm256_setr_epi8(
                                0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12, 0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8,
                                12, 12, 12, 12,
                            ),
                            at,
                        ),
                    );
                    let sum = |column: u32| _mm256_adds_epi8(of_row, _mm256_set1_epi32(column as i32));
                    largest[0] = _mm256_max_epi8(largest[0], sum(even[depth]));
                    largest[1] = _mm256_max_epi8(largest[1], sum(odd[depth]));
                }
            }
            // The field of a sum that was moved twice; what would be below zero is below `LEAST_FIELD` and does not occur.
            let field = |moved: __m256i| {
                let unsigned = _mm256_xor_si256(moved, _mm256_set1_epi8(i8::MIN));
                _mm256_subs_epu8(unsigned, _mm256_set1_epi8((2 * OFFSET - ZERO - BIAS) as i8))
            };
            let mut fields = [[0; 32]; 2];
            for (fields, largest) in fields.iter_mut().zip(largest) {
                // SAFETY: 32 bytes that are there, and need no alignment.
                unsafe { _mm256_storeu_si256(fields.as_mut_ptr().cast(), field(largest)) };
            }
            fields
        }
    }

    /// What is to be known of sums when they are made.
    struct Watch {
        /// Lanes that are not zero: an element is too large, too small or no number.
        bad: __m256i,
        /// Negative where a sum is too large for an integer.
        overflow: __m256i,
        /// The smallest magnitude of a sum before, less one unit in the last place: that of zero is the largest.
        least: __m256i,
        /// The largest magnitude of a sum before or after.
        most: __m256i,
    }

    impl Watch {
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn new() -> Self {
            let zero = _mm256_setzero_si256();
            Self { bad: zero, overflow: zero, least: _mm256_set1_epi32(-1), most: zero }
        }

        /// True where all sums are what they should be.
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn is_calm(&self) -> bool {
            let too_small = _mm256_set1_epi32((LEAST_FIELD << 23) - 1);
            let is_small = _mm256_andnot_si256(
                _mm256_cmpeq_epi32(_mm256_max_epu32(self.least, too_small), self.least),
                _mm256_set1_epi32(-1),
            );
            let is_large = _mm256_cmpgt_epi32(self.most, _mm256_set1_epi32((MOST_FIELD << 23) - 1));
            let overflow = _mm256_srai_epi32::<31>(self.overflow);
            let any = _mm256_or_si256(_mm256_or_si256(is_small, is_large), _mm256_or_si256(overflow, self.bad));
            _mm256_movemask_epi8(any) == 0
        }
    }

    /// Adds to `totals` the products of an element of each of two rows, of the four that `rows` has of them, and of those of the
    /// even and of the odd columns, in units by which they are multiplied.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn add_depth<const ELEMENT: i32>(
        rows: __m256,
        columns: &[[f32; 4]; 2],
        scales: [__m256; 2],
        totals: [__m256i; 2],
    ) -> [__m256i; 2] {
        let of_row = _mm256_permute_ps::<ELEMENT>(rows);
        // SAFETY: 16 bytes that are there, and need no alignment.
        let load = |columns: &[f32; 4]| unsafe { _mm_loadu_ps(columns.as_ptr()) };
        let (even, odd) = (load(&columns[0]), load(&columns[1]));
        let products =
            [_mm256_mul_ps(of_row, _mm256_set_m128(even, even)), _mm256_mul_ps(of_row, _mm256_set_m128(odd, odd))];
        [
            _mm256_add_epi32(totals[0], _mm256_cvttps_epi32(_mm256_mul_ps(products[0], scales[0]))),
            _mm256_add_epi32(totals[1], _mm256_cvttps_epi32(_mm256_mul_ps(products[1], scales[1]))),
        ]
    }

    /// A sum of integers in units of 2^(`field` - `kept`), as a float.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn cut<const HALF: bool>(sum: __m256i, unit: __m256) -> __m256 {
        let nearest = _mm256_cvtepi32_ps(sum);
        // What was rounded away from zero is one unit too large; where that is 2^31 the difference is right all the same.
        let excess = _mm256_sub_epi32(_mm256_cvttps_epi32(nearest), sum);
        let is_above = _mm256_cmpgt_epi32(_mm256_sign_epi32(excess, sum), _mm256_setzero_si256());
        let mut cut = _mm256_add_epi32(_mm256_castps_si256(nearest), is_above);
        if HALF {
            // The last bit tells of all that was cut: f16 has so many bits less that rounding again is rounding once.
            let is_exact = _mm256_cmpeq_epi32(excess, _mm256_setzero_si256());
            cut = _mm256_or_si256(cut, _mm256_andnot_si256(is_exact, _mm256_set1_epi32(1)));
        }
        let value = _mm256_mul_ps(_mm256_castsi256_ps(cut), unit);
        if !HALF {
            return value;
        }
        // What becomes zero is a positive one.
        _mm256_add_ps(_mm256_cvtph_ps(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value)), _mm256_setzero_ps())
    }

    impl Factors {
        /// Adds the products of a block of depths to the sums of a tile in even and in odd columns.
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn add_block<const HALF: bool>(
            &self,
            (tile, quads): (usize, std::ops::Range<usize>),
            kept: i32,
            sums: &mut [[u32; 32]; 2],
            watch: &mut Watch,
        ) {
            let fields = self.largest(tile, quads.clone());
            // A term is less than 2^27: half of a block of 16 and the sum before fit 32 bits, but perhaps not the whole.
            let is_long = quads.len() > 2;
            let half = if is_long { quads.start + quads.len() / 2 } else { quads.end };
            for at in 0..VECTORS {
                let zero = _mm256_setzero_si256();
                let (mut totals, mut scales, mut units) =
                    ([zero; 2], [_mm256_setzero_ps(); 2], [_mm256_setzero_ps(); 2]);
                for column in 0..2 {
                    let before = load(&sums[column].as_chunks::<8>().0[at]);
                    let magnitude = _mm256_and_si256(before, _mm256_set1_epi32(i32::MAX));
                    watch.least = _mm256_min_epu32(watch.least, _mm256_add_epi32(magnitude, _mm256_set1_epi32(-1)));
                    watch.most = _mm256_max_epi32(watch.most, magnitude);
                    let of_products: &[u8; 8] = &fields[column].as_chunks::<8>().0[at];
                    // SAFETY: eight bytes that are there, and need no alignment.
                    let of_products = unsafe { _mm_loadl_epi64(of_products.as_ptr().cast()) };
                    let of_products = _mm256_slli_epi32::<23>(_mm256_cvtepu8_epi32(of_products));
                    let mut field = _mm256_and_si256(before, _mm256_set1_epi32(0x7f80_0000));
                    if HALF {
                        // That of subnormal numbers of f16.
                        let is_zero = _mm256_cmpeq_epi32(magnitude, zero);
                        let least = _mm256_andnot_si256(is_zero, _mm256_set1_epi32((BIAS - 14) << 23));
                        field = _mm256_max_epi32(field, least);
                    }
                    let largest = _mm256_max_epi32(field, of_products);
                    // 2^(kept - largest), so that what is kept of a term is its integer part, and what one of these is.
                    let scale = _mm256_sub_epi32(_mm256_set1_epi32((kept + 2 * BIAS) << 23), largest);
                    let unit = _mm256_sub_epi32(largest, _mm256_set1_epi32(kept << 23));
                    (scales[column], units[column]) = (_mm256_castsi256_ps(scale), _mm256_castsi256_ps(unit));
                    let scaled = _mm256_mul_ps(_mm256_castsi256_ps(before), scales[column]);
                    totals[column] = _mm256_cvttps_epi32(scaled);
                }
                let totals = self.terms((tile, at), quads.start..half, scales, totals);
                let rest = self.terms((tile, at), half..quads.end, scales, [zero; 2]);
                for column in 0..2 {
                    let (first, second) = (totals[column], rest[column]);
                    let sum = _mm256_add_epi32(first, second);
                    if is_long {
                        let overflow = _mm256_and_si256(_mm256_xor_si256(first, sum), _mm256_xor_si256(second, sum));
                        watch.overflow = _mm256_or_si256(watch.overflow, overflow);
                    }
                    let after = _mm256_castps_si256(cut::<HALF>(sum, units[column]));
                    if HALF {
                        watch.most = _mm256_max_epi32(watch.most, _mm256_and_si256(after, _mm256_set1_epi32(i32::MAX)));
                    }
                    store(&mut sums[column].as_chunks_mut::<8>().0[at], after);
                }
            }
        }

        /// The products of some depths in eight lanes of the sums, in units, added to `totals`.
        #[inline]
        #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
        fn terms(
            &self,
            (tile, at): (usize, usize),
            quads: std::ops::Range<usize>,
            scales: [__m256; 2],
            mut totals: [__m256i; 2],
        ) -> [__m256i; 2] {
            for quad in quads {
                let rows = load_floats(&self.rows[tile][quad][at]);
                let columns: &[[[f32; 4]; 2]; DEPTHS] = &self.columns.as_chunks().0[quad];
                totals = add_depth::<0b00_00_00_00>(rows, &columns[0], scales, totals);
                totals = add_depth::<0b01_01_01_01>(rows, &columns[1], scales, totals);
                totals = add_depth::<0b10_10_10_10>(rows, &columns[2], scales, totals);
                totals = add_depth::<0b11_11_11_11>(rows, &columns[3], scales, totals);
            }
            totals
        }
    }

    /// The f16 in the lower halves of words.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn from_halves(words: __m256i) -> __m256i {
        let words = _mm256_and_si256(words, _mm256_set1_epi32(0xffff));
        let (low, high) = (_mm256_castsi256_si128(words), _mm256_extracti128_si256::<1>(words));
        _mm256_castps_si256(_mm256_cvtph_ps(_mm_packus_epi32(low, high)))
    }

    /// Values that f16 has, as these, in the lower halves of words.
    #[inline]
    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn to_halves(values: __m256i) -> __m256i {
        _mm256_cvtepu16_epi32(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_castsi256_ps(values)))
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    pub(super) fn multiply(
        factors: &mut Factors,
        product: WarpProduct,
        registers: [&[&[u32; 32]]; 3],
        d: &mut [[u32; 32]],
    ) -> bool {
        match (product.is_bf16, product.sum.half) {
            (false, false) => multiply_as::<false, false>(factors, product, registers, d),
            (false, true) => multiply_as::<false, true>(factors, product, registers, d),
            (true, false) => multiply_as::<true, false>(factors, product, registers, d),
            (true, true) => multiply_as::<true, true>(factors, product, registers, d),
        }
    }

    #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt,f16c")]
    fn multiply_as<const BF16: bool, const HALF: bool>(
        factors: &mut Factors,
        WarpProduct { sum, depth, .. }: WarpProduct,
        [a, b, c]: [&[&[u32; 32]]; 3],
        d: &mut [[u32; 32]],
    ) -> bool {
        let (quads, per_block) = (depth / DEPTHS, sum.length / DEPTHS);
        let mut watch = Watch::new();
        factors.put_columns::<BF16>(b, &mut watch.bad);
        if !factors.has_rows::<BF16>(a) {
            factors.put_rows::<BF16>(a);
        }
        if factors.are_bad {
            return false;
        }
        for tile in 0..2 {
            let mut sums = [[0; 32]; 2];
            if HALF {
                for at in 0..VECTORS {
                    let words = load(&c[tile].as_chunks::<8>().0[at]);
                    store(&mut sums[0].as_chunks_mut::<8>().0[at], from_halves(words));
                    store(&mut sums[1].as_chunks_mut::<8>().0[at], from_halves(_mm256_srli_epi32::<16>(words)));
                }
            } else {
                sums = [*c[2 * tile], *c[2 * tile + 1]];
            }
            let mut from = 0;
            while from < quads {
                let to = quads.min(from + per_block);
                factors.add_block::<HALF>((tile, from..to), sum.kept, &mut sums, &mut watch);
                from = to;
            }
            if HALF {
                for at in 0..VECTORS {
                    let [low, high] = [0, 1].map(|column| to_halves(load(&sums[column].as_chunks::<8>().0[at])));
                    store(&mut d[tile].as_chunks_mut::<8>().0[at], _mm256_or_si256(low, _mm256_slli_epi32::<16>(high)));
                }
            } else {
                [d[2 * tile], d[2 * tile + 1]] = sums;
            }
        }
        watch.is_calm()
    }
}
