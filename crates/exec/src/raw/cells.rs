//! Memory that several threads may touch at once.
//!
//! Kernels race; Rust must not. Every access is a relaxed atomic of its own width, which costs the same as a plain
//! access on the CPUs that we run on. Accesses of different widths to the same bytes may tear, as they may on a GPU.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use super::handler::Level;
use super::offsets::{self, Offsets};

/// A zero-initialised block of bytes.
pub(crate) struct Cells {
    words: Box<[AtomicU64]>,
    len: usize,
}

/// One place per lane, inside a block of memory and aligned.
pub(crate) struct Selection<'c> {
    pointer: *mut u8,
    offsets: [u32; 32],
    bytes: u32,
    cells: PhantomData<&'c Cells>,
}

impl Selection<'_> {
    /// Reads the value at `at` bytes behind each lane's place.
    #[inline(always)]
    pub(crate) fn gather<T: Cell + Default>(&self, at: usize) -> [T; 32] {
        let start = self.inside::<T>(at);
        let mut values = [T::default(); 32];
        for (value, &offset) in values.iter_mut().zip(&self.offsets) {
            // SAFETY: `Cells::select` checked that `bytes` bytes at every offset lie inside and are aligned, and
            // `inside` that the value lies in these bytes.
            *value = unsafe { T::load(start.add(offset as usize)) };
        }
        values
    }

    /// Writes the value at `at` bytes behind the place of each lane in `mask`, lowest lane first.
    #[inline(always)]
    pub(crate) fn scatter<T: Cell>(&self, at: usize, mask: u32, values: impl Fn(usize) -> T) {
        let start = self.inside::<T>(at);
        if mask == u32::MAX {
            for (lane, &offset) in self.offsets.iter().enumerate() {
                // SAFETY: as in `gather`.
                unsafe { T::store(start.add(offset as usize), values(lane)) };
            }
            return;
        }
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            // SAFETY: as in `gather`.
            unsafe { T::store(start.add(self.offsets[lane] as usize), values(lane)) };
            rest &= rest - 1;
        }
    }

    /// Reads, modifies and writes the value at `at` bytes behind a lane's place in one step; returns the old value.
    pub(crate) fn update<T: Cell + PartialEq>(&self, at: usize, lane: usize, modify: impl Fn(T) -> T) -> T {
        // SAFETY: as in `gather`.
        let pointer = unsafe { self.inside::<T>(at).add(self.offsets[lane] as usize) };
        // SAFETY: as in `gather`.
        let mut old = unsafe { T::load(pointer) };
        loop {
            // SAFETY: as in `gather`.
            match unsafe { T::compare_exchange(pointer, old, modify(old)) } {
                Ok(old) => return old,
                Err(seen) => old = seen,
            }
        }
    }

    /// The places, in bytes from the start of the selection.
    #[inline(always)]
    pub(crate) fn offsets(&self) -> &[u32; 32] {
        &self.offsets
    }

    /// What stands at `at` bytes behind a lane's place.
    pub(crate) fn byte(&self, lane: usize, at: u32) -> u8 {
        // SAFETY: as in `gather`.
        unsafe { u8::load(self.inside::<u8>(at as usize).add(self.offsets[lane] as usize)) }
    }

    /// The places as addresses, if `origin` is the address of offset 0.
    #[inline(always)]
    pub(crate) fn addresses(&self, level: Level, origin: u64) -> [u64; 32] {
        let mut addresses = [0; 32];
        offsets::addresses(level, &self.offsets, origin, &mut addresses);
        addresses
    }

    /// Pointer to `at` bytes behind the start, after checking that a value there lies in the bytes of each place.
    #[inline(always)]
    fn inside<T>(&self, at: usize) -> *mut u8 {
        assert!(
            at + size_of::<T>() <= self.bytes as usize && at.is_multiple_of(size_of::<T>()),
            "a part of the access"
        );
        // SAFETY: at least one place exists `at` bytes behind the start, so the sum stays inside the allocation.
        unsafe { self.pointer.add(at) }
    }
}

/// A width that memory is accessed in.
pub(crate) trait Cell: Copy {
    /// Reads at a pointer.
    unsafe fn load(pointer: *mut u8) -> Self;
    /// Writes at a pointer.
    unsafe fn store(pointer: *mut u8, value: Self);
    /// Replaces `old` by `new`; `Err` holds what stands there instead.
    unsafe fn compare_exchange(pointer: *mut u8, old: Self, new: Self) -> Result<Self, Self>;
}

macro_rules! cells {
    ($($ty:ty, $atomic:ty;)*) => {$(
        impl Cell for $ty {
            #[inline(always)]
            unsafe fn load(pointer: *mut u8) -> Self {
                // SAFETY: the caller guarantees that the pointer is valid and aligned for the width.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.load(Relaxed)
            }
            #[inline(always)]
            unsafe fn store(pointer: *mut u8, value: Self) {
                // SAFETY: as above.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.store(value, Relaxed);
            }
            #[inline(always)]
            unsafe fn compare_exchange(pointer: *mut u8, old: Self, new: Self) -> Result<Self, Self> {
                // SAFETY: as above. Atomics order memory between CTAs on the device, hence more than relaxed.
                unsafe { <$atomic>::from_ptr(pointer.cast()) }.compare_exchange(
                    old,
                    new,
                    std::sync::atomic::Ordering::AcqRel,
                    std::sync::atomic::Ordering::Acquire,
                )
            }
        }
    )*};
}

cells! {
    u8, AtomicU8;
    u16, AtomicU16;
    u32, AtomicU32;
    u64, AtomicU64;
}

impl Cells {
    /// `len` zero bytes. The pages are taken from the system when they are first touched.
    pub(crate) fn new(len: usize) -> Self {
        let words = bytemuck::zeroed_slice_box::<u64>(len.div_ceil(8));
        // SAFETY: AtomicU64 has the size and alignment of u64 on every supported target (checked below), and the box
        // is handed over whole.
        let words = unsafe { Box::from_raw(Box::into_raw(words) as *mut [AtomicU64]) };
        const { assert!(align_of::<u64>() == align_of::<AtomicU64>()) };
        Self { words, len }
    }

    /// Size in bytes.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Pointer to `offset`, after checking that `bytes` bytes there exist and are aligned to `bytes`.
    #[inline(always)]
    fn pointer(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(
            offset <= self.len && bytes <= self.len - offset && offset.is_multiple_of(bytes),
            "accesses are checked before"
        );
        // SAFETY: the offset lies inside the allocation. Writing through the pointer is allowed because all of it is
        // made of atomics, which are interior-mutable.
        unsafe { self.words.as_ptr().cast::<u8>().cast_mut().add(offset) }
    }

    /// Reads the value at a byte offset, which must be aligned to its width.
    #[inline(always)]
    pub(crate) fn load<T: Cell>(&self, offset: usize) -> T {
        // SAFETY: `pointer` checked range and alignment.
        unsafe { T::load(self.pointer(offset, size_of::<T>())) }
    }

    /// Writes the value at a byte offset, which must be aligned to its width.
    #[inline(always)]
    pub(crate) fn store<T: Cell>(&self, offset: usize, value: T) {
        // SAFETY: `pointer` checked range and alignment.
        unsafe { T::store(self.pointer(offset, size_of::<T>()), value) }
    }

    /// Chooses `bytes` bytes at `start` plus the offset of each lane, if all of them lie inside and are aligned to
    /// their size (rounded up to a power of two).
    #[inline(always)]
    pub(crate) fn select(&self, start: usize, offsets: Offsets, bytes: u32) -> Option<Selection<'_>> {
        let is_aligned = (offsets.bits | start as u32) & (bytes.next_power_of_two() - 1) == 0;
        let is_inside = start <= self.len && offsets.fit(bytes, (self.len - start) as u64);
        if !is_aligned || !is_inside {
            return None;
        }
        // SAFETY: `start` lies inside the allocation or at its end.
        let pointer = unsafe { self.words.as_ptr().cast::<u8>().cast_mut().add(start) };
        Some(Selection { pointer, offsets: offsets.values, bytes, cells: PhantomData })
    }

    /// Copies bytes in.
    pub(crate) fn write_bytes(&self, offset: usize, bytes: &[u8]) {
        let (head, body, tail) = split(offset, bytes.len());
        for index in head.chain(tail) {
            self.store::<u8>(offset + index, bytes[index]);
        }
        for index in body.step_by(8) {
            let word = bytes[index..index + 8].try_into().expect("a word has 8 bytes");
            self.store::<u64>(offset + index, u64::from_ne_bytes(word));
        }
    }

    /// Copies bytes out.
    pub(crate) fn read_bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let (head, body, tail) = split(offset, len);
        for index in head.chain(tail) {
            bytes[index] = self.load::<u8>(offset + index);
        }
        for index in body.step_by(8) {
            bytes[index..index + 8].copy_from_slice(&self.load::<u64>(offset + index).to_ne_bytes());
        }
        bytes
    }

    /// Sets everything to zero.
    pub(crate) fn clear(&self) {
        for word in &self.words {
            word.store(0, Relaxed);
        }
    }
}

/// Splits `0..len` of a block at `offset` into bytes before, whole aligned words, and bytes after.
fn split(offset: usize, len: usize) -> (std::ops::Range<usize>, std::ops::Range<usize>, std::ops::Range<usize>) {
    let head = (offset.next_multiple_of(8) - offset).min(len);
    let body = (len - head) / 8 * 8;
    (0..head, head..head + body, head + body..len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unaligned_copies_come_back() {
        let cells = Cells::new(64);
        let bytes: Vec<u8> = (1..=40).collect();
        for offset in 0..8 {
            cells.clear();
            cells.write_bytes(offset, &bytes);
            assert_eq!(cells.read_bytes(offset, bytes.len()), bytes);
            assert_eq!(cells.read_bytes(0, offset), vec![0; offset]);
            assert_eq!(cells.read_bytes(offset + 40, 24 - offset), vec![0; 24 - offset]);
        }
    }

    #[test]
    fn update_returns_the_old_value() {
        let cells = Cells::new(8);
        let selection = cells.select(4, Offsets::splat(0), 4).expect("inside");
        assert_eq!(selection.update::<u32>(0, 3, |old| old + 7), 0);
        assert_eq!(selection.update::<u32>(0, 3, |old| old + 7), 7);
        assert_eq!(cells.load::<u32>(4), 14);
    }

    #[test]
    fn selections_lie_inside_and_are_aligned() {
        let cells = Cells::new(64);
        let fits = |start, offset, bytes| cells.select(start, Offsets::splat(offset), bytes).is_some();
        assert!(fits(0, 60, 4) && fits(32, 16, 16) && fits(0, 62, 2));
        assert!(!fits(64, 0, 1) && !fits(0, 64, 4) && !fits(0, 61, 4) && !fits(0, u32::MAX - 3, 4));
        assert!(!fits(8, 0, 16), "the start counts for the alignment");
    }

    #[test]
    fn lanes_scatter_where_the_mask_allows() {
        let cells = Cells::new(128);
        let offsets = std::array::from_fn(|lane| 4 * lane as u32);
        let selection = cells.select(0, Offsets::of_words(Level::Baseline, &offsets, 0), 4).expect("inside");
        selection.scatter::<u32>(0, 0b101, |lane| lane as u32 + 1);
        assert_eq!(&selection.gather::<u32>(0)[..4], &[1, 0, 3, 0]);
    }

    #[test]
    #[should_panic(expected = "accesses are checked before")]
    fn an_access_beyond_the_end_is_refused() {
        Cells::new(8).load::<u32>(8);
    }
}
