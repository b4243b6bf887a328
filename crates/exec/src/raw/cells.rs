//! Memory that several threads may touch at once.
//!
//! Kernels race; Rust must not. Atomic accesses of different widths to the same bytes would be a race too, so memory is
//! 32-bit atomic words, whatever the width of an access: a narrower one is a part of a word, a wider one is several
//! words and may tear, as it may on a GPU. Loads and stores are relaxed and cost the same as plain ones on the CPUs that
//! we run on, but for narrow stores to memory that several threads use: they exchange the word that they are part of.

use std::marker::PhantomData;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::{Mutex, PoisonError};

use super::handler::Level;
use super::offsets::Offsets;
#[cfg(target_arch = "x86_64")]
use super::vector;

/// A zero-initialised block of bytes.
pub(crate) struct Cells {
    words: Box<[AtomicU32]>,
    len: usize,
    users: Users,
}

/// Who accesses memory at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Users {
    One,
    Several,
}

/// One place per lane, inside a block of memory and aligned.
pub(crate) struct Selection<'c> {
    pointer: *mut u8,
    offsets: &'c Offsets,
    bytes: u32,
    users: Users,
    cells: PhantomData<&'c Cells>,
}

impl Selection<'_> {
    /// Reads the value at `at` bytes behind each lane's place.
    #[inline(always)]
    pub(crate) fn gather<T: Cell + Default>(&self, at: usize) -> [T; 32] {
        let start = self.inside::<T>(at);
        let mut values = [T::default(); 32];
        for (value, &offset) in values.iter_mut().zip(&self.offsets.values) {
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
            for (lane, &offset) in self.offsets.values.iter().enumerate() {
                // SAFETY: as in `gather`.
                unsafe { T::store(start.add(offset as usize), values(lane), self.users) };
            }
            return;
        }
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize;
            // SAFETY: as in `gather`.
            unsafe { T::store(start.add(self.offsets.values[lane] as usize), values(lane), self.users) };
            rest &= rest - 1;
        }
    }

    /// Reads the words at `at` bytes behind each lane's place.
    #[inline(always)]
    pub(crate) fn gather_words(&self, level: Level, at: usize, values: &mut [u32; 32]) {
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as in `gather`; `Level::V3` exists only where `Level::detect` found the features.
            Level::V3 => unsafe { vector::gather_words(self.inside::<u32>(at), &self.offsets.values, values) },
            Level::Baseline => *values = self.gather(at),
        }
    }

    /// Reads the double words at `at` bytes behind each lane's place.
    #[inline(always)]
    pub(crate) fn gather_pairs(&self, level: Level, at: usize, values: &mut [u64; 32]) {
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::V3 => unsafe { vector::gather_pairs(self.inside::<u64>(at), &self.offsets.values, values) },
            Level::Baseline => *values = self.gather(at),
        }
    }

    /// Reads four words from each lane's place on: the first of all lanes come first.
    #[inline(always)]
    pub(crate) fn gather_quads(&self, level: Level) -> [[u32; 32]; 4] {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::V3 => {
                let mut values = [[0; 32]; 4];
                // SAFETY: as in `gather`; the last of the four words lies in the bytes of each place, and so do the others.
                unsafe { vector::gather_quads(self.inside::<u32>(12).sub(12), &self.offsets.values, &mut values) };
                values
            }
            Level::Baseline => std::array::from_fn(|word| self.gather(4 * word)),
        }
    }

    /// Writes the words at `at` bytes behind the place of each lane in `mask`, lowest lane first.
    #[inline(always)]
    pub(crate) fn scatter_words(&self, level: Level, at: usize, mask: u32, values: &[u32; 32]) {
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::V3 if mask == u32::MAX => unsafe {
                vector::scatter_words(self.inside::<u32>(at), &self.offsets.values, values);
            },
            _ => self.scatter(at, mask, |lane| values[lane]),
        }
    }

    /// Writes the double words at `at` bytes behind the place of each lane in `mask`, lowest lane first.
    #[inline(always)]
    pub(crate) fn scatter_pairs(&self, level: Level, at: usize, mask: u32, values: &[u64; 32]) {
        match level {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Level::V3 if mask == u32::MAX => unsafe {
                vector::scatter_pairs(self.inside::<u64>(at), &self.offsets.values, values);
            },
            _ => self.scatter(at, mask, |lane| values[lane]),
        }
    }

    /// Reads, modifies and writes the value at `at` bytes behind a lane's place in one step; returns the old value.
    pub(crate) fn update<T: Cell>(&self, at: usize, lane: usize, modify: impl Fn(T) -> T) -> T {
        // SAFETY: as in `gather`.
        unsafe { T::update(self.inside::<T>(at).add(self.offsets.values[lane] as usize), modify) }
    }

    /// The places, in bytes from the start of the selection.
    #[inline(always)]
    pub(crate) fn offsets(&self) -> &Offsets {
        self.offsets
    }

    /// What stands at `at` bytes behind a lane's place.
    pub(crate) fn byte(&self, lane: usize, at: u32) -> u8 {
        // SAFETY: as in `gather`.
        unsafe { u8::load(self.inside::<u8>(at as usize).add(self.offsets.values[lane] as usize)) }
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
///
/// The pointers that the functions take must point into memory made of `AtomicU32`, to a multiple of the width.
pub(crate) trait Cell: Copy {
    /// Reads at a pointer.
    unsafe fn load(pointer: *mut u8) -> Self;
    /// Writes at a pointer.
    unsafe fn store(pointer: *mut u8, value: Self, users: Users);
    /// Reads, modifies and writes in one step; returns the old value.
    unsafe fn update(pointer: *mut u8, modify: impl Fn(Self) -> Self) -> Self;
}

/// The word at a pointer.
#[inline(always)]
unsafe fn word<'m>(pointer: *mut u8) -> &'m AtomicU32 {
    // SAFETY: the caller guarantees that an AtomicU32 lies there.
    unsafe { AtomicU32::from_ptr(pointer.cast()) }
}

/// Exchanges a word for what `modify` makes of it; returns the old one. Atomics order memory between CTAs on the device,
/// hence more than relaxed.
#[inline(always)]
fn exchange(word: &AtomicU32, modify: impl Fn(u32) -> u32) -> u32 {
    let mut old = word.load(Relaxed);
    loop {
        match word.compare_exchange_weak(old, modify(old), AcqRel, Acquire) {
            Ok(old) => return old,
            Err(seen) => old = seen,
        }
    }
}

impl Cell for u32 {
    #[inline(always)]
    unsafe fn load(pointer: *mut u8) -> Self {
        // SAFETY: see the trait.
        unsafe { word(pointer) }.load(Relaxed)
    }

    #[inline(always)]
    unsafe fn store(pointer: *mut u8, value: Self, _: Users) {
        // SAFETY: see the trait.
        unsafe { word(pointer) }.store(value, Relaxed);
    }

    unsafe fn update(pointer: *mut u8, modify: impl Fn(Self) -> Self) -> Self {
        // SAFETY: see the trait.
        exchange(unsafe { word(pointer) }, modify)
    }
}

/// Held while a value of two words is modified, by its address.
static LOCKS: [Mutex<()>; 64] = [const { Mutex::new(()) }; 64];

impl Cell for u64 {
    #[inline(always)]
    unsafe fn load(pointer: *mut u8) -> Self {
        // SAFETY: see the trait; the value lies in two words.
        let (low, high) = unsafe { (word(pointer), word(pointer.add(4))) };
        Self::from(low.load(Relaxed)) | Self::from(high.load(Relaxed)) << 32
    }

    #[inline(always)]
    unsafe fn store(pointer: *mut u8, value: Self, _: Users) {
        // SAFETY: as above.
        let (low, high) = unsafe { (word(pointer), word(pointer.add(4))) };
        low.store(value as u32, Relaxed);
        high.store((value >> 32) as u32, Relaxed);
    }

    unsafe fn update(pointer: *mut u8, modify: impl Fn(Self) -> Self) -> Self {
        let lock = &LOCKS[pointer.addr() / 8 % LOCKS.len()];
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as above.
        let old = unsafe { Self::load(pointer) };
        // SAFETY: as above.
        unsafe { Self::store(pointer, modify(old), Users::Several) };
        old
    }
}

macro_rules! parts_of_words {
    ($($ty:ty)*) => {$(
        impl Cell for $ty {
            #[inline(always)]
            unsafe fn load(pointer: *mut u8) -> Self {
                let (before, shift) = place(pointer);
                // SAFETY: see the trait; the value is aligned, hence lies in the word that begins `before` bytes before.
                let word = unsafe { word(pointer.sub(before)) };
                (word.load(Relaxed) >> shift) as Self
            }

            #[inline(always)]
            unsafe fn store(pointer: *mut u8, value: Self, users: Users) {
                let (before, shift) = place(pointer);
                // SAFETY: as above.
                let word = unsafe { word(pointer.sub(before)) };
                let with = |old: u32| old & !(u32::from(Self::MAX) << shift) | u32::from(value) << shift;
                match users {
                    Users::One => word.store(with(word.load(Relaxed)), Relaxed),
                    // Another thread may write the neighbouring bytes, and both must survive.
                    Users::Several => {
                        exchange(word, with);
                    }
                }
            }

            unsafe fn update(pointer: *mut u8, modify: impl Fn(Self) -> Self) -> Self {
                let (before, shift) = place(pointer);
                // SAFETY: as above.
                let word = unsafe { word(pointer.sub(before)) };
                let old = exchange(word, |old| {
                    let new = modify((old >> shift) as Self);
                    old & !(u32::from(Self::MAX) << shift) | u32::from(new) << shift
                });
                (old >> shift) as Self
            }
        }
    )*};
}

parts_of_words! { u8 u16 }

/// Bytes between the start of its word and a pointer, and by how many bits a value there is shifted in the word.
#[inline(always)]
fn place(pointer: *mut u8) -> (usize, u32) {
    let before = pointer.addr() % 4;
    (before, 8 * before as u32)
}

impl Cells {
    /// `len` zero bytes. The pages are taken from the system when they are first touched.
    pub(crate) fn new(len: usize) -> Self {
        let words = bytemuck::zeroed_slice_box::<u32>(len.div_ceil(4));
        // SAFETY: AtomicU32 has the size and alignment of u32 on every supported target (checked below), and the box
        // is handed over whole.
        let words = unsafe { Box::from_raw(Box::into_raw(words) as *mut [AtomicU32]) };
        const { assert!(align_of::<u32>() == align_of::<AtomicU32>()) };
        Self { words, len, users: Users::Several }
    }

    /// `len` zero bytes that only one thread at a time has to do with.
    pub(crate) fn of_one_thread(len: usize) -> Self {
        Self { users: Users::One, ..Self::new(len) }
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
        unsafe { T::store(self.pointer(offset, size_of::<T>()), value, self.users) }
    }

    /// Where the bytes begin.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(super) fn start(&self) -> *const u8 {
        self.words.as_ptr().cast()
    }

    /// Chooses `bytes` bytes at `start` plus the offset of each lane, if all of them lie inside and are aligned to
    /// their size (rounded up to a power of two).
    #[inline(always)]
    pub(crate) fn select<'c>(&'c self, start: usize, offsets: &'c Offsets, bytes: u32) -> Option<Selection<'c>> {
        let is_aligned = (offsets.bits | start as u32) & (bytes.next_power_of_two() - 1) == 0;
        let is_inside = start <= self.len && offsets.fit(bytes, (self.len - start) as u64);
        if !is_aligned || !is_inside {
            return None;
        }
        // SAFETY: `start` lies inside the allocation or at its end.
        let pointer = unsafe { self.words.as_ptr().cast::<u8>().cast_mut().add(start) };
        Some(Selection { pointer, offsets, bytes, users: self.users, cells: PhantomData })
    }

    /// Copies bytes in.
    pub(crate) fn write_bytes(&self, offset: usize, bytes: &[u8]) {
        let (head, body, tail) = split(offset, bytes.len());
        for index in head.chain(tail) {
            self.store::<u8>(offset + index, bytes[index]);
        }
        let first = (offset + body.start) / 4;
        for (word, bytes) in self.words[first..].iter().zip(bytes[body].chunks_exact(4)) {
            word.store(u32::from_le_bytes(bytes.try_into().expect("a word has 4 bytes")), Relaxed);
        }
    }

    /// Copies bytes out.
    pub(crate) fn read_bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        let (head, body, tail) = split(offset, len);
        for index in head.chain(tail) {
            bytes[index] = self.load::<u8>(offset + index);
        }
        let first = (offset + body.start) / 4;
        for (word, bytes) in self.words[first..].iter().zip(bytes[body].chunks_exact_mut(4)) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
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
    let head = (offset.next_multiple_of(4) - offset).min(len);
    let body = (len - head) / 4 * 4;
    (0..head, head..head + body, head + body..len)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn values_lie_in_memory_lowest_byte_first() {
        for cells in [Cells::new(16), Cells::of_one_thread(16)] {
            cells.store::<u64>(8, 0x8877_6655_4433_2211);
            cells.store::<u8>(9, 0xaa);
            cells.store::<u16>(14, 0xccbb);
            assert_eq!(cells.read_bytes(8, 8), [0x11, 0xaa, 0x33, 0x44, 0x55, 0x66, 0xbb, 0xcc]);
            assert_eq!(cells.load::<u64>(8), 0xccbb_6655_4433_aa11);
            assert_eq!(
                (cells.load::<u8>(9), cells.load::<u16>(14), cells.load::<u32>(12)),
                (0xaa, 0xccbb, 0xccbb_6655)
            );
            assert_eq!(cells.load::<u64>(0), 0);
        }
    }

    #[test]
    fn threads_that_write_parts_of_a_word_lose_nothing() {
        const TURNS: u32 = if cfg!(miri) { 20 } else { 20_000 };
        let cells = Cells::new(8);
        std::thread::scope(|scope| {
            for byte in 0..2 {
                let cells = &cells;
                scope.spawn(move || {
                    for turn in 0..TURNS {
                        cells.store::<u8>(byte, turn as u8);
                        assert_eq!(cells.load::<u8>(byte), turn as u8, "nobody else writes byte {byte}");
                    }
                });
            }
            scope.spawn(|| (0..TURNS).for_each(|turn| cells.store::<u16>(2, turn as u16)));
            // Wider accesses see parts of what others write.
            (0..TURNS).for_each(|_| assert_eq!(cells.load::<u64>(0) >> 32, 0));
        });
        let last = TURNS - 1;
        assert_eq!(cells.load::<u16>(0), u16::from_le_bytes([last as u8; 2]));
        assert_eq!(cells.load::<u16>(2), last as u16);
    }

    #[test]
    fn updates_of_threads_add_up() {
        fn sum<T: Cell + std::ops::Add<Output = T> + From<u8> + PartialEq + std::fmt::Debug>(expected: T) {
            let cells = Cells::new(16);
            let add = || {
                let zero = Offsets::zero();
                let selection = cells.select(8, &zero, size_of::<T>() as u32).expect("inside");
                (0..100).for_each(|_| {
                    selection.update::<T>(0, 0, |old| old + T::from(1));
                });
            };
            std::thread::scope(|scope| {
                scope.spawn(add);
                scope.spawn(add);
            });
            assert_eq!(cells.load::<T>(8), expected);
        }
        sum::<u8>(200);
        sum::<u16>(200);
        sum::<u32>(200);
        sum::<u64>(200);
    }

    #[test]
    fn update_returns_the_old_value() {
        let cells = Cells::new(8);
        let zero = Offsets::zero();
        let selection = cells.select(4, &zero, 4).expect("inside");
        assert_eq!(selection.update::<u32>(0, 3, |old| old + 7), 0);
        assert_eq!(selection.update::<u32>(0, 3, |old| old + 7), 7);
        assert_eq!(cells.load::<u32>(4), 14);
    }

    #[test]
    fn selections_lie_inside_and_are_aligned() {
        let cells = Cells::new(64);
        let mut offsets = Offsets::zero();
        let mut fits = |start, offset, bytes| {
            offsets.set_all(offset);
            cells.select(start, &offsets, bytes).is_some()
        };
        assert!(fits(0, 60, 4) && fits(32, 16, 16) && fits(0, 62, 2));
        assert!(!fits(64, 0, 1) && !fits(0, 64, 4) && !fits(0, 61, 4) && !fits(0, u32::MAX - 3, 4));
        assert!(!fits(8, 0, 16), "the start counts for the alignment");
    }

    #[test]
    fn lanes_scatter_where_the_mask_allows() {
        let cells = Cells::new(128);
        let mut offsets = Offsets::zero();
        offsets.set_words(Level::Baseline, &std::array::from_fn(|lane| 4 * lane as u32), 0);
        let selection = cells.select(0, &offsets, 4).expect("inside");
        selection.scatter::<u32>(0, 0b101, |lane| lane as u32 + 1);
        assert_eq!(&selection.gather::<u32>(0)[..4], &[1, 0, 3, 0]);
    }

    /// Places of lanes in groups that lie side by side, are one, or lie anyhow, in `0..n` units.
    fn places(n: u32) -> impl Strategy<Value = [u32; 32]> {
        let lane_groups = proptest::collection::vec((0..3_u32, 0..n - 32, proptest::array::uniform8(0..n)), 4);
        (lane_groups, any::<bool>()).prop_map(|(groups, by_sixteen)| {
            std::array::from_fn(|lane| {
                let group = if by_sixteen { lane / 16 * 2 } else { lane / 8 };
                let (kind, first, anyhow) = &groups[group];
                match kind {
                    0 => first + (lane % 16) as u32,
                    1 => *first,
                    _ => anyhow[lane % 8],
                }
            })
        })
    }

    proptest! {
        #[test]
        fn vectors_move_what_single_values_do(
            places in places(96),
            values in proptest::collection::vec(any::<u32>(), 192),
            mask in prop_oneof![Just(u32::MAX), any::<u32>()],
            shift in 0..4_u32,
        ) {
            let level = Level::detect();
            for users in [Users::One, Users::Several] {
                for bytes in [4, 8] {
                    let cells = Cells { users, ..Cells::new(1024) };
                    let bytes_of: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                    cells.write_bytes(64, &bytes_of);
                    let (words, pairs) = (places.map(|place| place * bytes), places.map(|place| u64::from(place * bytes)));
                    let shift = shift * 8;
                    let (mut of_words, mut of_pairs) = (Offsets::zero(), Offsets::zero());
                    of_words.set_words(level, &words, shift);
                    prop_assert!(of_pairs.set_pairs(level, &pairs, shift.into()));
                    prop_assert_eq!(of_words.values, of_pairs.values);
                    let sums = words.map(|word| word + shift);
                    prop_assert_eq!(of_words.values, sums);
                    let known = (of_words.highest, of_words.bits);
                    prop_assert_eq!(known, (of_pairs.highest, of_pairs.bits));
                    prop_assert_eq!(known, (sums.into_iter().max().unwrap_or(0), sums.into_iter().fold(0, |a, b| a | b)));
                    prop_assert!(!of_pairs.set_pairs(level, &pairs, 1 << 32));
                    let selection = cells.select(64, &of_words, bytes).expect("inside");
                    if bytes == 4 {
                        let mut loaded = [0; 32];
                        selection.gather_words(level, 0, &mut loaded);
                        prop_assert_eq!(loaded, selection.gather::<u32>(0));
                    } else {
                        let mut loaded = [0; 32];
                        selection.gather_pairs(level, 0, &mut loaded);
                        prop_assert_eq!(loaded, selection.gather::<u64>(0));
                    }
                    let other = Cells { users, ..Cells::new(1024) };
                    other.write_bytes(64, &bytes_of);
                    let plain = other.select(64, &of_words, bytes).expect("inside");
                    if bytes == 4 {
                        let stored = std::array::from_fn(|lane| values[lane + 7]);
                        selection.scatter_words(level, 0, mask, &stored);
                        plain.scatter(0, mask, |lane| stored[lane]);
                    } else {
                        let stored = std::array::from_fn(|lane| u64::from(values[lane]) << 32 | lane as u64);
                        selection.scatter_pairs(level, 0, mask, &stored);
                        plain.scatter(0, mask, |lane| stored[lane]);
                    }
                    prop_assert_eq!(cells.read_bytes(0, 1024), other.read_bytes(0, 1024));
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "accesses are checked before")]
    fn an_access_beyond_the_end_is_refused() {
        Cells::new(8).load::<u32>(8);
    }
}
