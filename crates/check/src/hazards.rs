//! Races between the warps of a block in its shared memory.
//!
//! Each warp has a clock for every warp (a vector clock, as in Flanagan and Freund's FastTrack, PLDI 2009): how much of
//! what the others did is known to come before what it does now. Barriers, atomics and ordered accesses make clocks known
//! to others. Of a word it is kept who wrote it last and which two warps read it last; an access that meets another
//! warp's, one of them a write, of which its clock does not know, is a race. Lanes of one warp are not held against each
//! other, and a store that leaves what stands there is in nobody's way.

use rustc_hash::FxHashMap;
use warplens_isa::Pc;
use warplens_trace::{AccessKind, Synchronized};

use crate::found::Hazard;

const WARPS: usize = 32;
/// Words whose notes are made together.
const PAGE: usize = 64;

type Clock = [u32; WARPS];

/// An access to a word.
#[derive(Clone, Copy, Debug)]
struct Note {
    /// The warp's own clock; 0 for no access.
    time: u32,
    pc: Pc,
    warp: u8,
    /// Bytes of the word.
    bytes: u8,
    /// An atomic, or an ordered access: among themselves they do not race.
    is_ordered: bool,
}

const NOTHING: Note = Note { time: 0, pc: Pc(0), warp: 0, bytes: 0, is_ordered: false };

#[derive(Clone, Copy)]
struct Word {
    write: Note,
    reads: [Note; 2],
    /// Bytes that have been written at all.
    written: u8,
}

const UNTOUCHED: Word = Word { write: NOTHING, reads: [NOTHING; 2], written: 0 };

/// What a lane does to shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) warp: u32,
    pub(crate) pc: Pc,
    pub(crate) kind: AccessKind,
    pub(crate) is_ordered: bool,
    pub(crate) is_unchanged: bool,
    pub(crate) address: u32,
    pub(crate) bytes: u32,
}

/// Another warp's access that a touch races with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Clash {
    pub(crate) hazard: Hazard,
    pub(crate) other: Pc,
    pub(crate) other_warp: u32,
    pub(crate) address: u32,
}

/// What the warps of a block did.
pub(crate) struct Hazards {
    clocks: [Clock; WARPS],
    /// What is known to who looks at a word by atomics or ordered accesses.
    told: FxHashMap<u32, Clock>,
    pages: Vec<Option<Box<[Word; PAGE]>>>,
}

impl Hazards {
    pub(crate) fn new() -> Self {
        let clocks = std::array::from_fn(|warp| std::array::from_fn(|other| u32::from(warp == other)));
        Self { clocks, told: FxHashMap::default(), pages: Vec::new() }
    }

    /// Warps have waited for others.
    pub(crate) fn synchronized(&mut self, event: Synchronized) {
        match event {
            Synchronized::Barrier { arrived, released } => {
                let mut all = [0; WARPS];
                each(arrived).for_each(|warp| join(&mut all, &self.clocks[warp]));
                each(released).for_each(|warp| join(&mut self.clocks[warp], &all));
                each(arrived | released).for_each(|warp| self.clocks[warp][warp] += 1);
            }
            Synchronized::Phase { warp, address } => {
                if let Some(told) = self.told.get(&(address as u32 / 4)) {
                    join(&mut self.clocks[warp.0 as usize], told);
                }
            }
        }
    }

    /// A lane accesses memory. Returns what it races with.
    pub(crate) fn touch(&mut self, touch: &Touch) -> Option<Clash> {
        let (first, last) = (touch.address / 4, (touch.address + touch.bytes - 1) / 4);
        if touch.is_ordered {
            let own = &mut self.clocks[touch.warp as usize];
            let told = self.told.entry(first).or_insert([0; WARPS]);
            join(own, told);
            join(told, own);
        }
        let mut clash = None;
        for word in first..=last {
            let from = touch.address.max(4 * word) % 4;
            let to = (touch.address + touch.bytes).min(4 * word + 4) - 4 * word;
            let bytes = ((1_u32 << to) - (1 << from)) as u8;
            clash = clash.or(self.touch_word(touch, word, bytes));
        }
        clash
    }

    /// The lanes of a warp have made their accesses: what they do next is later.
    pub(crate) fn pass(&mut self, warp: u32) {
        self.clocks[warp as usize][warp as usize] += 1;
    }

    fn touch_word(&mut self, touch: &Touch, word: u32, bytes: u8) -> Option<Clash> {
        let page = word as usize / PAGE;
        if self.pages.len() <= page {
            self.pages.resize_with(page + 1, || None);
        }
        let of = &mut self.pages[page].get_or_insert_with(|| Box::new([UNTOUCHED; PAGE]))[word as usize % PAGE];
        if touch.kind == AccessKind::Store && touch.is_unchanged && of.written & bytes == bytes {
            // It hides nobody's access either. What nobody has written holds nothing that could be left.
            return None;
        }
        let clock = &self.clocks[touch.warp as usize];
        let races = |note: &Note| {
            note.time > clock[usize::from(note.warp)]
                && u32::from(note.warp) != touch.warp
                && note.bytes & bytes != 0
                && !(note.is_ordered && touch.is_ordered)
        };
        let clash = |hazard: Hazard, note: &Note| Clash {
            hazard,
            other: note.pc,
            other_warp: note.warp.into(),
            address: 4 * word + (note.bytes & bytes).trailing_zeros(),
        };
        let (reads, writes) = match touch.kind {
            AccessKind::Load => (true, false),
            AccessKind::Store => (false, true),
            AccessKind::Atomic => (true, true),
        };
        let is_read_late = reads && races(&of.write);
        let found = if is_read_late {
            Some(clash(Hazard::ReadAfterWrite, &of.write))
        } else if writes && races(&of.write) {
            Some(clash(Hazard::WriteAfterWrite, &of.write))
        } else if writes && let Some(read) = of.reads.iter().find(|read| races(read)) {
            Some(clash(Hazard::WriteAfterRead, read))
        } else {
            None
        };
        let own = Note {
            time: clock[touch.warp as usize],
            pc: touch.pc,
            warp: touch.warp as u8,
            bytes,
            is_ordered: touch.is_ordered,
        };
        of.note(own, touch.kind);
        found
    }
}

impl Word {
    fn note(&mut self, own: Note, kind: AccessKind) {
        if kind == AccessKind::Load {
            let place = self.reads.iter().position(|read| read.warp == own.warp && read.time > 0);
            let bytes =
                place.filter(|&place| self.reads[place].time == own.time).map_or(0, |place| self.reads[place].bytes);
            let place = place.unwrap_or_else(|| {
                self.reads[1] = self.reads[0];
                0
            });
            self.reads[place] = Note { bytes: own.bytes | bytes, ..own };
            return;
        }
        let is_more = self.write.warp == own.warp && self.write.time == own.time && self.write.pc == own.pc;
        let bytes = if is_more { self.write.bytes } else { 0 };
        self.write = Note { bytes: own.bytes | bytes, ..own };
        self.written |= own.bytes;
        if own.bytes == 0b1111 {
            self.reads = [NOTHING; 2];
        }
    }
}

fn each(mask: u32) -> impl Iterator<Item = usize> {
    (0..WARPS).filter(move |warp| mask >> warp & 1 == 1)
}

fn join(clock: &mut Clock, other: &Clock) {
    clock.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
}

#[cfg(test)]
mod tests {
    use warplens_trace::WarpIndex;

    use super::*;

    fn touch(warp: u32, kind: AccessKind, address: u32, bytes: u32) -> Touch {
        let is_ordered = kind == AccessKind::Atomic;
        Touch { warp, pc: Pc(warp), kind, is_ordered, is_unchanged: false, address, bytes }
    }

    fn go(hazards: &mut Hazards, touch: Touch) -> Option<Hazard> {
        let clash = hazards.touch(&touch);
        hazards.pass(touch.warp);
        clash.map(|clash| clash.hazard)
    }

    const BARRIER: Synchronized = Synchronized::Barrier { arrived: 0b11, released: 0b11 };

    #[test]
    fn a_barrier_orders_what_would_race() {
        use AccessKind::{Load, Store};
        use Hazard::{ReadAfterWrite, WriteAfterRead, WriteAfterWrite};
        let pairs = [
            (Store, Load, Some(ReadAfterWrite)),
            (Load, Store, Some(WriteAfterRead)),
            (Store, Store, Some(WriteAfterWrite)),
            (Load, Load, None),
        ];
        for (first, second, expected) in pairs {
            for is_ordered in [false, true] {
                let mut hazards = Hazards::new();
                assert_eq!(go(&mut hazards, touch(0, first, 8, 4)), None);
                if is_ordered {
                    hazards.synchronized(BARRIER);
                }
                let found = go(&mut hazards, touch(1, second, 8, 4));
                assert_eq!(found, expected.filter(|_| !is_ordered), "{first:?} {second:?}");
            }
        }
    }

    #[test]
    fn other_bytes_and_the_own_warp_are_in_nobodys_way() {
        use AccessKind::{Load, Store};
        let mut hazards = Hazards::new();
        assert_eq!(go(&mut hazards, touch(0, Store, 8, 2)), None);
        assert_eq!(go(&mut hazards, touch(1, Store, 10, 2)), None);
        assert_eq!(go(&mut hazards, touch(1, Load, 12, 16)), None);
        assert_eq!(go(&mut hazards, touch(0, Store, 8, 2)), None);
        assert_eq!(go(&mut hazards, touch(0, Load, 8, 2)), None);
        let clash = hazards.touch(&touch(1, Load, 0, 16)).unwrap();
        assert_eq!((clash.address, clash.other_warp, clash.other), (8, 0, Pc(0)));
    }

    #[test]
    fn a_barrier_of_some_warps_says_nothing_of_others() {
        use AccessKind::{Load, Store};
        let mut hazards = Hazards::new();
        assert_eq!(go(&mut hazards, touch(2, Store, 0, 4)), None);
        hazards.synchronized(BARRIER);
        assert_eq!(go(&mut hazards, touch(1, Load, 0, 4)), Some(Hazard::ReadAfterWrite));
        let arrives = Synchronized::Barrier { arrived: 0b101, released: 0b001 };
        hazards.synchronized(arrives);
        assert_eq!(go(&mut hazards, touch(0, Load, 0, 4)), None, "who only arrives lets others know");
        assert_eq!(go(&mut hazards, touch(0, Store, 16, 4)), None);
        assert_eq!(go(&mut hazards, touch(2, Load, 16, 4)), Some(Hazard::ReadAfterWrite), "and does not know itself");
    }

    #[test]
    fn atomics_order_and_do_not_race_among_themselves() {
        use AccessKind::{Atomic, Load, Store};
        let mut hazards = Hazards::new();
        assert_eq!(go(&mut hazards, touch(0, Store, 64, 4)), None);
        assert_eq!(go(&mut hazards, touch(0, Atomic, 0, 4)), None);
        assert_eq!(go(&mut hazards, touch(1, Atomic, 0, 4)), None);
        assert_eq!(go(&mut hazards, touch(1, Load, 64, 4)), None, "the atomics order the two");
        assert_eq!(go(&mut hazards, touch(2, Load, 0, 4)), Some(Hazard::ReadAfterWrite), "a plain read does not");
    }

    #[test]
    fn a_phase_orders_what_its_arrivals_came_after() {
        use AccessKind::{Atomic, Load, Store};
        for waits in [true, false] {
            let mut hazards = Hazards::new();
            assert_eq!(go(&mut hazards, touch(0, Store, 64, 4)), None);
            assert_eq!(go(&mut hazards, touch(0, Atomic, 8, 8)), None);
            if waits {
                hazards.synchronized(Synchronized::Phase { warp: WarpIndex(1), address: 8 });
            }
            assert_eq!(go(&mut hazards, touch(1, Load, 64, 4)).is_none(), waits);
        }
    }

    #[test]
    fn stores_of_the_same_value_are_in_nobodys_way() {
        use AccessKind::{Load, Store};
        let same = |warp| Touch { is_unchanged: true, ..touch(warp, Store, 0, 4) };
        let mut hazards = Hazards::new();
        assert_eq!(go(&mut hazards, same(0)), None);
        assert_eq!(go(&mut hazards, touch(1, Load, 0, 4)), Some(Hazard::ReadAfterWrite), "nothing stood there before");
        let mut hazards = Hazards::new();
        assert_eq!(go(&mut hazards, touch(0, Store, 0, 4)), None);
        assert_eq!(go(&mut hazards, same(1)), None);
        assert_eq!(go(&mut hazards, touch(0, Load, 0, 4)), None);
    }

    #[test]
    fn stores_of_the_same_value_hide_no_other() {
        use AccessKind::{Load, Store};
        let same = |warp, address, bytes| Touch { is_unchanged: true, ..touch(warp, Store, address, bytes) };
        let mut hazards = Hazards::new();
        assert_eq!(go(&mut hazards, touch(0, Store, 0, 4)), None);
        assert_eq!(go(&mut hazards, same(1, 0, 4)), None);
        assert_eq!(go(&mut hazards, touch(2, Load, 0, 4)), Some(Hazard::ReadAfterWrite));
        // What stood in the second half was never written.
        let mut hazards = Hazards::new();
        assert_eq!(hazards.touch(&same(0, 0, 2)), None);
        assert_eq!(go(&mut hazards, same(0, 2, 2)), None);
        assert_eq!(go(&mut hazards, touch(1, Load, 2, 2)), Some(Hazard::ReadAfterWrite));
    }
}
