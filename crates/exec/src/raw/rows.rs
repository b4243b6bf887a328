//! The register file as rows of 32 lanes.
//!
//! A 32-bit register is one [`Row`]; a 64-bit register is two consecutive rows that hold 32 values of 64 bits side by
//! side. Predicates are bit masks. Constants are rows of a pool shared by all warps, so that an operation never asks
//! what kind of operand it has.

use half::{bf16, f16};

/// One 32-bit register of a warp.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub(crate) struct Row(pub(crate) [u32; 32]);

impl Row {
    /// The same value in every lane.
    pub(crate) const fn splat(value: u32) -> Self {
        Self([value; 32])
    }

    /// Two rows that hold the same 64-bit value in every lane.
    pub(crate) fn splat_pair(value: u64) -> [Self; 2] {
        let mut words = [0; 32];
        for lane in 0..16 {
            words[2 * lane] = value as u32;
            words[2 * lane + 1] = (value >> 32) as u32;
        }
        [Self(words), Self(words)]
    }
}

/// Where an operand lies: a row of the frame or of the constant pool; for predicates a bit mask of the frame, perhaps
/// complemented, or a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Source(u32);

impl Source {
    const POOL: u32 = 1 << 31;
    const NEGATED: u32 = 1 << 30;
    const INDEX: u32 = Self::NEGATED - 1;

    /// Row or predicate `index` of the frame.
    pub(crate) const fn frame(index: u32) -> Self {
        assert!(index <= Self::INDEX);
        Self(index)
    }

    /// Row `index` of the constant pool; for predicates a constant truth value.
    pub(crate) const fn pool(index: u32) -> Self {
        Self(index | Self::POOL)
    }

    /// The complement of a predicate.
    pub(crate) const fn negated(self) -> Self {
        Self(self.0 ^ Self::NEGATED)
    }

    fn index(self) -> usize {
        (self.0 & Self::INDEX) as usize
    }

    fn is_pool(self) -> bool {
        self.0 & Self::POOL != 0
    }

    /// True where all lanes have the same value at all times.
    pub(crate) fn is_constant(self) -> bool {
        self.is_pool()
    }
}

/// The registers of one frame of one warp, with the lanes that may be written.
pub(crate) struct Lanes<'a> {
    /// Rows of the frame.
    pub(crate) rows: &'a mut [Row],
    /// Predicates of the frame, one bit per lane.
    pub(crate) predicates: &'a mut [u32],
    /// Constant rows.
    pub(crate) pool: &'a [Row],
    /// Lanes that take part.
    pub(crate) mask: u32,
}

impl Lanes<'_> {
    #[inline(always)]
    fn source_rows(&self, source: Source) -> &[Row] {
        let rows: &[Row] = if source.is_pool() { self.pool } else { self.rows };
        &rows[source.index()..]
    }

    /// The 32-bit values of an operand.
    #[inline(always)]
    pub(crate) fn words(&self, source: Source) -> &[u32; 32] {
        &self.source_rows(source)[0].0
    }

    /// The 64-bit values of an operand.
    #[inline(always)]
    pub(crate) fn pairs(&self, source: Source) -> &[u64; 32] {
        let rows = &self.source_rows(source)[..2];
        // SAFETY: two rows are 256 initialised bytes aligned to 64, as [u64; 32] needs; every bit pattern is a u64.
        unsafe { &*rows.as_ptr().cast::<[u64; 32]>() }
    }

    /// The truth values of a predicate operand.
    #[inline(always)]
    pub(crate) fn predicate(&self, source: Source) -> u32 {
        let bits = if source.is_pool() { 0u32.wrapping_sub(source.0 & 1) } else { self.predicates[source.index()] };
        if source.0 & Source::NEGATED != 0 { !bits } else { bits }
    }

    /// Writes 32-bit values where the mask allows.
    #[inline(always)]
    pub(crate) fn set_words(&mut self, row: u32, values: &[u32; 32]) {
        let target = &mut self.rows[row as usize].0;
        if self.mask == u32::MAX {
            *target = *values;
        } else {
            for lane in 0..32 {
                target[lane] = if self.mask >> lane & 1 == 1 { values[lane] } else { target[lane] };
            }
        }
    }

    /// Writes 64-bit values where the mask allows.
    #[inline(always)]
    pub(crate) fn set_pairs(&mut self, row: u32, values: &[u64; 32]) {
        let mask = self.mask;
        let rows = &mut self.rows[row as usize..][..2];
        // SAFETY: as in `pairs`; the borrow of `rows` is exclusive.
        let target = unsafe { &mut *rows.as_mut_ptr().cast::<[u64; 32]>() };
        if mask == u32::MAX {
            *target = *values;
        } else {
            for lane in 0..32 {
                target[lane] = if mask >> lane & 1 == 1 { values[lane] } else { target[lane] };
            }
        }
    }

    /// Lets `write` say the 32-bit values of all lanes, of which those stay that the mask allows.
    #[inline(always)]
    pub(crate) fn write_words(&mut self, row: u32, write: impl FnOnce(&mut [u32; 32])) {
        if self.mask == u32::MAX {
            write(&mut self.rows[row as usize].0);
        } else {
            let mut values = [0; 32];
            write(&mut values);
            self.set_words(row, &values);
        }
    }

    /// The same of 64-bit values.
    #[inline(always)]
    pub(crate) fn write_pairs(&mut self, row: u32, write: impl FnOnce(&mut [u64; 32])) {
        if self.mask == u32::MAX {
            let rows = &mut self.rows[row as usize..][..2];
            // SAFETY: as in `set_pairs`.
            write(unsafe { &mut *rows.as_mut_ptr().cast::<[u64; 32]>() });
        } else {
            let mut values = [0; 32];
            write(&mut values);
            self.set_pairs(row, &values);
        }
    }

    /// Writes a predicate where the mask allows.
    #[inline(always)]
    pub(crate) fn set_predicate(&mut self, index: u32, bits: u32) {
        let target = &mut self.predicates[index as usize];
        *target = *target & !self.mask | bits & self.mask;
    }
}

/// A type that lane functions read from registers.
pub(crate) trait LaneInput: Copy {
    /// The operand of all lanes.
    type View<'a>;
    /// Finds the operand.
    fn view<'a>(lanes: &'a Lanes<'_>, source: Source) -> Self::View<'a>;
    /// The value of one lane.
    fn lane(view: &Self::View<'_>, lane: usize) -> Self;
}

/// A type that lane functions write to registers.
pub(crate) trait LaneOutput: Copy {
    /// The results of all lanes.
    type Buffer;
    /// A buffer to be filled.
    fn buffer() -> Self::Buffer;
    /// Sets the result of one lane.
    fn set(buffer: &mut Self::Buffer, lane: usize, value: Self);
    /// Writes the results where the mask allows.
    fn commit(lanes: &mut Lanes<'_>, destination: u32, buffer: &Self::Buffer);
}

/// Values stored in the low bits of a word, zero-extended.
macro_rules! word_values {
    ($($ty:ty, $from:expr, $to:expr;)*) => {$(
        impl LaneInput for $ty {
            type View<'a> = &'a [u32; 32];
            #[inline(always)]
            fn view<'a>(lanes: &'a Lanes<'_>, source: Source) -> Self::View<'a> {
                lanes.words(source)
            }
            #[inline(always)]
            fn lane(view: &Self::View<'_>, lane: usize) -> Self {
                $from(view[lane])
            }
        }
        impl LaneOutput for $ty {
            type Buffer = [u32; 32];
            #[inline(always)]
            fn buffer() -> Self::Buffer {
                [0; 32]
            }
            #[inline(always)]
            fn set(buffer: &mut Self::Buffer, lane: usize, value: Self) {
                buffer[lane] = $to(value);
            }
            #[inline(always)]
            fn commit(lanes: &mut Lanes<'_>, destination: u32, buffer: &Self::Buffer) {
                lanes.set_words(destination, buffer);
            }
        }
    )*};
}

word_values! {
    u8, |word| word as u8, u32::from;
    i8, |word| word as i8, |value: i8| u32::from(value as u8);
    u16, |word| word as u16, u32::from;
    i16, |word| word as i16, |value: i16| u32::from(value as u16);
    u32, |word| word, |value| value;
    i32, |word| word as i32, |value| value as u32;
    f32, f32::from_bits, f32::to_bits;
    f16, |word| f16::from_bits(word as u16), |value: f16| u32::from(value.to_bits());
    bf16, |word| bf16::from_bits(word as u16), |value: bf16| u32::from(value.to_bits());
}

/// Values that take two rows.
macro_rules! pair_values {
    ($($ty:ty, $from:expr, $to:expr;)*) => {$(
        impl LaneInput for $ty {
            type View<'a> = &'a [u64; 32];
            #[inline(always)]
            fn view<'a>(lanes: &'a Lanes<'_>, source: Source) -> Self::View<'a> {
                lanes.pairs(source)
            }
            #[inline(always)]
            fn lane(view: &Self::View<'_>, lane: usize) -> Self {
                $from(view[lane])
            }
        }
        impl LaneOutput for $ty {
            type Buffer = [u64; 32];
            #[inline(always)]
            fn buffer() -> Self::Buffer {
                [0; 32]
            }
            #[inline(always)]
            fn set(buffer: &mut Self::Buffer, lane: usize, value: Self) {
                buffer[lane] = $to(value);
            }
            #[inline(always)]
            fn commit(lanes: &mut Lanes<'_>, destination: u32, buffer: &Self::Buffer) {
                lanes.set_pairs(destination, buffer);
            }
        }
    )*};
}

pair_values! {
    u64, |pair| pair, |value| value;
    i64, |pair| pair as i64, |value| value as u64;
    f64, f64::from_bits, f64::to_bits;
}

impl LaneInput for bool {
    type View<'a> = u32;
    #[inline(always)]
    fn view(lanes: &Lanes<'_>, source: Source) -> u32 {
        lanes.predicate(source)
    }
    #[inline(always)]
    fn lane(view: &u32, lane: usize) -> Self {
        view >> lane & 1 == 1
    }
}

impl LaneOutput for bool {
    type Buffer = u32;
    #[inline(always)]
    fn buffer() -> u32 {
        0
    }
    #[inline(always)]
    fn set(buffer: &mut u32, lane: usize, value: Self) {
        *buffer |= if value { 1 << lane } else { 0 };
    }
    #[inline(always)]
    fn commit(lanes: &mut Lanes<'_>, destination: u32, buffer: &u32) {
        lanes.set_predicate(destination, *buffer);
    }
}
