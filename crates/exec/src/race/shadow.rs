//! What the CTAs of a launch did to one buffer: who touched which bytes and how, and what stood there before.
//!
//! Most bytes are touched by one CTA, and neighbours by the same one. So there is a state for each sector of 32 bytes,
//! with a mask of the bytes that it is true of, and only a sector whose bytes differ gets a state for each byte.
//! Several host threads note at once; every note is one atomic step on the state.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use warplens_trace::CtaId;

use crate::raw::{Cells, Level, is_consecutive};

/// Bytes of which the old content is kept together.
const PAGE: u64 = 4096;
/// Bytes that have one state as long as that is true of all of them.
const SECTOR: u64 = 32;
const SECTORS: usize = (PAGE / SECTOR) as usize;
/// Stands for the state of a sector whose bytes have states of their own.
const SPLIT: u64 = u64::MAX;
/// CTAs that are told apart. That many are never run.
const TAGS: u32 = (1 << 28) - 2;
/// A CTA has stored different values to the byte.
const VARIED: u32 = 8;

/// How a CTA touches memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A load that is not ordered.
    Load = 1,
    /// A store.
    Store = 2,
    /// An atomic operation: among themselves they are a matter of [`crate::communication::sharing`].
    Atomic = 4,
}

/// What stands for a CTA in states: never 0.
pub(crate) fn tag_of(cta: u32) -> u32 {
    cta % TAGS + 1
}

/// The CTA of a tag.
pub(crate) fn cta_of(tag: u32) -> CtaId {
    CtaId(tag - 1)
}

/// What was done to a byte: the tag of a CTA, or 0 for several, above four bits: the kinds of access,
/// and [`VARIED`]. 0 for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State(u32);

impl State {
    fn of(tag: u32, kind: Kind) -> Self {
        Self(tag << 4 | kind as u32)
    }

    fn tag(self) -> u32 {
        self.0 >> 4
    }

    fn is_only(self, kind: Kind) -> bool {
        self.0 & 15 == kind as u32
    }

    /// The state after another access; `None` if it gets in the way of another CTA's.
    fn after(self, tag: u32, kind: Kind) -> Option<Self> {
        if self.0 == 0 {
            Some(Self::of(tag, kind))
        } else if self.tag() == tag {
            Some(Self(self.0 | kind as u32))
        } else {
            (self.is_only(kind) && kind != Kind::Store).then_some(Self::of(0, kind))
        }
    }
}

/// An access of a warp.
pub(crate) struct Touch<'t> {
    pub(crate) tag: u32,
    pub(crate) kind: Kind,
    /// Lanes that take part.
    pub(crate) lanes: u32,
    /// Byte in the buffer that the offsets count from.
    pub(crate) start: u64,
    pub(crate) offsets: &'t [u32; 32],
    /// Bytes that each lane touches.
    pub(crate) bytes: u32,
}

/// Where an access got in the way of another CTA's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Meeting {
    pub(crate) offset: u64,
    /// The tag of the other CTA, if it was one.
    pub(crate) other: Option<u32>,
}

/// The notes on one buffer.
pub(crate) struct Shadow {
    pages: Box<[OnceLock<Box<Page>>]>,
}

struct Page {
    /// What stood there before; empty if that was zero.
    before: Vec<u8>,
    /// By sector: the mask of the bytes that the state is true of, above the state.
    sectors: [AtomicU64; SECTORS],
    /// By sector, where its bytes have states of their own.
    bytes: OnceLock<Box<[OnceLock<Box<Bytes>>; SECTORS]>>,
    splitting: Mutex<()>,
}

type Bytes = [AtomicU32; SECTOR as usize];

impl Shadow {
    /// Notes on a block of memory; `cells` is the same in all calls.
    pub(crate) fn new(cells: &Cells) -> Self {
        let pages = (cells.len() as u64).div_ceil(PAGE);
        Self { pages: (0..pages).map(|_| OnceLock::new()).collect() }
    }

    /// Notes an access before it takes place. False if it gets in the way of another CTA's.
    #[inline]
    pub(crate) fn touch(&self, cells: &Cells, level: Level, touch: &Touch<'_>) -> bool {
        let (first, bytes) = (touch.start + u64::from(touch.offsets[0]), u64::from(touch.bytes));
        if touch.lanes == u32::MAX && is_consecutive(level, touch.offsets, touch.bytes) {
            return self.touch_range(cells, touch, first, first + 32 * bytes);
        }
        let mut rest = touch.lanes;
        // Neighbouring lanes often touch the same sector.
        let (mut sector, mut mask) = (u64::MAX, 0);
        while rest != 0 {
            let at = touch.start + u64::from(touch.offsets[rest.trailing_zeros() as usize]);
            rest &= rest - 1;
            if bytes > SECTOR {
                if !self.touch_range(cells, touch, at, at + bytes) {
                    return false;
                }
                continue;
            }
            // An access is aligned, hence inside of one sector.
            let own = ones(bytes) << (at % SECTOR);
            if at / SECTOR == sector {
                mask |= own;
                continue;
            }
            if mask != 0 && !self.touch_sector(cells, touch, sector, mask) {
                return false;
            }
            (sector, mask) = (at / SECTOR, own);
        }
        mask == 0 || self.touch_sector(cells, touch, sector, mask)
    }

    /// Notes an access before it takes place, byte by byte; CTAs that all store the same value are in nobody's way.
    /// `is_same` says of a lane and a byte of it whether the store leaves what stands there. For one host thread only.
    pub(crate) fn touch_exactly(
        &self,
        cells: &Cells,
        touch: &Touch<'_>,
        is_same: impl Fn(usize, u32) -> bool,
    ) -> Result<(), Meeting> {
        for lane in (0..32).filter(|lane| touch.lanes >> lane & 1 == 1) {
            for byte in 0..touch.bytes {
                let at = touch.start + u64::from(touch.offsets[lane]) + u64::from(byte);
                let (page, sector) = (self.page(cells, at / PAGE), (at % PAGE / SECTOR) as usize);
                let cell = &page.split(sector)[(at % SECTOR) as usize];
                let state = State(cell.load(Ordering::Relaxed));
                let may_agree = touch.kind == Kind::Store && state.is_only(Kind::Store);
                let agreed = || (may_agree && is_same(lane, byte)).then_some(State::of(0, Kind::Store));
                let Some(mut next) = state.after(touch.tag, touch.kind).or_else(agreed) else {
                    let other = Some(state.tag()).filter(|&tag| tag != 0);
                    return Err(Meeting { offset: at, other });
                };
                let again = touch.kind == Kind::Store && state.0 & Kind::Store as u32 != 0;
                if again && !is_same(lane, byte) {
                    next.0 |= VARIED;
                }
                cell.store(next.0, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    /// Forgets who touched some bytes: whoever does from here on comes after all of them.
    pub(crate) fn forget(&self, bytes: std::ops::Range<u64>) {
        let mut at = bytes.start;
        while at < bytes.end {
            let next = bytes.end.min((at / SECTOR + 1) * SECTOR);
            if let Some(page) = self.pages.get((at / PAGE) as usize).and_then(OnceLock::get) {
                page.forget((at % PAGE / SECTOR) as usize, ones(next - at) << (at % SECTOR));
            }
            at = next;
        }
    }

    /// Keeps what stands where an access takes place, if nobody wants to know who meets whom.
    pub(crate) fn keep(&self, cells: &Cells, touch: &Touch<'_>) {
        for lane in (0..32).filter(|lane| touch.lanes >> lane & 1 == 1) {
            // An access is aligned, hence inside of one page.
            self.page(cells, (touch.start + u64::from(touch.offsets[lane])) / PAGE);
        }
    }

    /// Puts back what stood there before.
    pub(crate) fn undo(&self, cells: &Cells) {
        for (index, page) in self.pages.iter().enumerate() {
            let Some(page) = page.get() else { continue };
            let start = index * PAGE as usize;
            let len = cells.len().min(start + PAGE as usize) - start;
            if page.before.is_empty() {
                cells.write_bytes(start, &vec![0; len]);
            } else {
                cells.write_bytes(start, &page.before);
            }
        }
    }

    fn touch_range(&self, cells: &Cells, touch: &Touch<'_>, first: u64, end: u64) -> bool {
        let mut at = first;
        while at < end {
            let next = end.min((at / SECTOR + 1) * SECTOR);
            if !self.touch_sector(cells, touch, at / SECTOR, ones(next - at) << (at % SECTOR)) {
                return false;
            }
            at = next;
        }
        true
    }

    #[inline(always)]
    fn touch_sector(&self, cells: &Cells, touch: &Touch<'_>, sector: u64, mask: u32) -> bool {
        let page = self.page(cells, sector / SECTORS as u64);
        let sector = sector as usize % SECTORS;
        let seen = page.sectors[sector].load(Ordering::Relaxed);
        let (known, state) = unpack(seen);
        let is_noted = state.tag() == touch.tag && state.0 & touch.kind as u32 != 0 && mask & !known == 0;
        // No CTA has the tag that a split sector seems to have.
        is_noted || page.touch_sector(touch, sector, mask)
    }

    #[inline(always)]
    fn page(&self, cells: &Cells, index: u64) -> &Page {
        let page = &self.pages[index as usize];
        page.get().unwrap_or_else(|| page.get_or_init(|| Box::new(Page::fresh(cells, index))))
    }
}

impl Page {
    #[inline(never)]
    fn fresh(cells: &Cells, index: u64) -> Self {
        let start = (index * PAGE) as usize;
        let before = cells.read_bytes(start, (cells.len() - start).min(PAGE as usize));
        Self {
            before: if before.iter().all(|&byte| byte == 0) { Vec::new() } else { before },
            sectors: [const { AtomicU64::new(0) }; SECTORS],
            bytes: OnceLock::new(),
            splitting: Mutex::new(()),
        }
    }

    #[inline(never)]
    fn touch_sector(&self, touch: &Touch<'_>, sector: usize, mask: u32) -> bool {
        let cell = &self.sectors[sector];
        let mut seen = cell.load(Ordering::Relaxed);
        while let Some(next) = joined(seen, touch, mask) {
            match cell.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => seen = other,
            }
        }
        let bytes = self.split(sector);
        (0..SECTOR as usize).filter(|byte| mask >> byte & 1 == 1).all(|byte| touch_byte(&bytes[byte], touch))
    }

    /// Forgets the states of the bytes of a mask.
    fn forget(&self, sector: usize, mask: u32) {
        let cell = &self.sectors[sector];
        let mut seen = cell.load(Ordering::Relaxed);
        while seen != SPLIT {
            let (known, state) = unpack(seen);
            let next = if known & !mask == 0 { 0 } else { pack(known & !mask, state) };
            match cell.compare_exchange_weak(seen, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => seen = other,
            }
        }
        let bytes = self.split(sector);
        let of_mask = (0..SECTOR as usize).filter(|byte| mask >> byte & 1 == 1);
        of_mask.for_each(|byte| bytes[byte].store(0, Ordering::Relaxed));
    }

    /// The states of a sector's bytes.
    fn split(&self, sector: usize) -> &Bytes {
        let bytes = self.bytes.get_or_init(|| Box::new([const { OnceLock::new() }; SECTORS]));
        let bytes = bytes[sector].get_or_init(|| Box::new([const { AtomicU32::new(0) }; SECTOR as usize]));
        let cell = &self.sectors[sector];
        if cell.load(Ordering::Acquire) == SPLIT {
            return bytes;
        }
        let _guard = self.splitting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut seen = cell.load(Ordering::Acquire);
        while seen != SPLIT {
            // Nobody else looks at the states of the bytes before the sector is marked.
            let (mask, state) = unpack(seen);
            for (byte, cell) in bytes.iter().enumerate() {
                cell.store(if mask >> byte & 1 == 1 { state.0 } else { 0 }, Ordering::Relaxed);
            }
            match cell.compare_exchange(seen, SPLIT, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(other) => seen = other,
            }
        }
        bytes
    }
}

/// The state of a sector after another access, if all touched bytes have the same state then.
fn joined(seen: u64, touch: &Touch<'_>, mask: u32) -> Option<u64> {
    if seen == SPLIT {
        return None;
    }
    let (known, state) = unpack(seen);
    let next = state.after(touch.tag, touch.kind)?;
    if seen == 0 || mask == known {
        Some(pack(mask, next))
    } else if next == state && mask & !known == 0 {
        Some(seen)
    } else {
        (state == State::of(touch.tag, touch.kind)).then_some(pack(known | mask, state))
    }
}

fn touch_byte(cell: &AtomicU32, touch: &Touch<'_>) -> bool {
    let mut seen = cell.load(Ordering::Relaxed);
    while let Some(next) = State(seen).after(touch.tag, touch.kind) {
        match cell.compare_exchange_weak(seen, next.0, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return true,
            Err(other) => seen = other,
        }
    }
    false
}

fn pack(mask: u32, state: State) -> u64 {
    u64::from(mask) << 32 | u64::from(state.0)
}

#[inline(always)]
fn unpack(seen: u64) -> (u32, State) {
    ((seen >> 32) as u32, State(seen as u32))
}

/// The lowest `count` bits, at most 32 and at least one.
#[inline(always)]
fn ones(count: u64) -> u32 {
    u32::MAX >> (32 - count)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVEL: Level = Level::Baseline;

    fn touch(tag: u32, kind: Kind, start: u64, offsets: &[u32; 32], bytes: u32) -> Touch<'_> {
        Touch { tag, kind, lanes: u32::MAX, start, offsets, bytes }
    }

    /// Whether accesses by CTAs, each to `bytes` bytes at a place, leave each other alone.
    fn are_apart(accesses: &[(u32, Kind, u64, u32)]) -> bool {
        let cells = Cells::new(8192);
        let shadow = Shadow::new(&cells);
        accesses.iter().all(|&(tag, kind, start, bytes)| {
            let touch = Touch { lanes: 1 << 7, ..touch(tag, kind, start, &[0; 32], bytes) };
            shadow.touch(&cells, LEVEL, &touch)
        })
    }

    #[test]
    fn who_only_reads_is_in_nobodys_way() {
        use Kind::{Atomic, Load, Store};
        assert!(are_apart(&[(1, Load, 0, 4), (2, Load, 0, 4), (3, Load, 2, 2), (2, Load, 0, 8)]));
        assert!(are_apart(&[(1, Atomic, 0, 4), (2, Atomic, 0, 4), (1, Atomic, 0, 4)]));
        assert!(are_apart(&[(1, Load, 0, 4), (1, Store, 0, 4), (1, Atomic, 0, 8), (1, Load, 2, 1)]));
        for (first, second) in [(Load, Store), (Store, Load), (Store, Store), (Atomic, Load), (Store, Atomic)] {
            assert!(!are_apart(&[(1, first, 0, 4), (2, second, 0, 4)]), "{first:?} {second:?}");
            assert!(!are_apart(&[(1, first, 0, 4), (2, second, 3, 1)]), "{first:?} {second:?}");
            assert!(!are_apart(&[(1, first, 64, 32), (2, second, 88, 8)]), "{first:?} {second:?}");
            assert!(are_apart(&[(1, first, 0, 4), (2, second, 4, 4), (1, first, 3, 1)]), "{first:?} {second:?}");
        }
        assert!(!are_apart(&[(1, Load, 0, 4), (2, Load, 0, 4), (1, Store, 0, 1)]), "another one reads");
    }

    #[test]
    fn what_is_known_of_a_part_of_a_sector_is_not_said_of_the_rest() {
        use Kind::{Load, Store};
        assert!(are_apart(&[(1, Load, 0, 8), (1, Store, 0, 4), (2, Load, 4, 4)]));
        assert!(are_apart(&[(1, Load, 0, 4), (2, Load, 0, 4), (1, Load, 4, 4), (1, Store, 4, 4)]));
        assert!(are_apart(&[(1, Store, 0, 4), (1, Load, 0, 8), (2, Load, 4, 4)]));
        assert!(!are_apart(&[(1, Store, 0, 4), (1, Load, 0, 8), (2, Store, 4, 4)]));
    }

    #[test]
    fn warps_are_noted_lane_by_lane() {
        let cells = Cells::new(1 << 14);
        let shadow = Shadow::new(&cells);
        let row: [u32; 32] = std::array::from_fn(|lane| 4 * lane as u32);
        let column: [u32; 32] = std::array::from_fn(|lane| 400 * lane as u32);
        assert!(shadow.touch(&cells, LEVEL, &touch(1, Kind::Store, 52, &row, 4)));
        assert!(shadow.touch(&cells, LEVEL, &touch(2, Kind::Store, 52 + 128, &row, 4)));
        assert!(shadow.touch(&cells, LEVEL, &touch(3, Kind::Store, 308, &column, 4)));
        assert!(!shadow.touch(&cells, LEVEL, &touch(4, Kind::Store, 52 + 127, &[0; 32], 1)));
        assert!(!shadow.touch(&cells, LEVEL, &touch(4, Kind::Store, 308 + 31 * 400, &[0; 32], 4)));
        assert!(shadow.touch(&cells, LEVEL, &touch(4, Kind::Store, 312, &[0; 32], 4)));
    }

    #[test]
    fn same_values_are_in_nobodys_way() {
        let cells = Cells::new(64);
        let shadow = Shadow::new(&cells);
        let one = |tag, start| Touch { lanes: 1, ..touch(tag, Kind::Store, start, &[0; 32], 4) };
        let store = |tag, is_same: bool| shadow.touch_exactly(&cells, &one(tag, 8), |_, _| is_same);
        assert_eq!(store(1, false), Ok(()));
        assert_eq!(store(2, true), Ok(()));
        assert_eq!(store(3, true), Ok(()));
        assert_eq!(store(1, false), Err(Meeting { offset: 8, other: None }));
        let elsewhere = |tag, is_same: bool| shadow.touch_exactly(&cells, &one(tag, 16), |_, _| is_same);
        assert_eq!([elsewhere(1, true), elsewhere(1, false)], [Ok(()), Ok(())]);
        assert_eq!(elsewhere(2, true), Err(Meeting { offset: 16, other: Some(1) }), "the other one had another value");
        let load = |tag| shadow.touch_exactly(&cells, &touch(tag, Kind::Load, 10, &[0; 32], 2), |_, _| true);
        assert_eq!(load(1), Err(Meeting { offset: 10, other: None }));
    }

    #[test]
    fn what_stood_there_comes_back() {
        let cells = Cells::new(10_001);
        let bytes: Vec<u8> = (0..10_001).map(|at| if at < 4096 { 0 } else { (at * 7) as u8 }).collect();
        cells.write_bytes(0, &bytes);
        let shadow = Shadow::new(&cells);
        for start in [0, 4092, 10_000] {
            let one = Touch { lanes: 1, ..touch(1, Kind::Store, start, &[0; 32], 1) };
            assert!(shadow.touch(&cells, LEVEL, &one));
            cells.store::<u8>(start as usize, 255);
        }
        shadow.undo(&cells);
        assert_eq!(cells.read_bytes(0, 10_001), bytes);
    }

    #[test]
    fn of_threads_that_meet_one_notices() {
        let turns = if cfg!(miri) { 2 } else { 200 };
        for turn in 0..turns {
            let cells = Cells::new(8192);
            let shadow = Shadow::new(&cells);
            // Both touch their own bytes of many sectors, and one byte together.
            let go = |tag: u32| {
                (0..64).all(|sector| {
                    let own = 32 * sector + 4 * u64::from(tag);
                    let one = |start| Touch { lanes: 1, ..touch(tag, Kind::Store, start, &[0; 32], 4) };
                    let apart = shadow.touch(&cells, LEVEL, &one(own));
                    apart && (sector != turn % 64 || shadow.touch(&cells, LEVEL, &one(32 * sector + 24)))
                })
            };
            let apart = std::thread::scope(|scope| {
                let threads = [scope.spawn(|| go(1)), scope.spawn(|| go(2))];
                threads.map(|thread| thread.join().expect("no panic"))
            });
            assert_eq!(apart.iter().filter(|apart| !**apart).count(), 1, "turn {turn}");
        }
    }
}
