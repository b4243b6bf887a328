//! A set-associative cache of lines with sectors, least recently used first.
//!
//! Lines are hashed over the sets, as on every NVIDIA chip whose sets were measured, so that power-of-two strides do not
//! fall into one set.
//!
//! A set takes memory from its first line on: what a simulation needs depends on what is accessed, not on how large the
//! cache is.

use rustc_hash::FxHashMap;
use warplens_stats::sector;

/// Lines of a set, of every cache: a choice of ours, as no document of the vendor's says it.
const WAYS: usize = 16;

/// Sectors of a line.
const SECTORS: u32 = sector::PER_LINE as u32;

/// Sectors of one line: bit `i` is sector `i`.
pub(crate) type Sectors = u32;

/// Sets that a table of places is made for: those of 128 MiB.
const TABLE: u64 = 1 << 16;

/// State. What one search looks at lies side by side.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    n_sets: u64,
    /// Lines of a set; fewer than `WAYS` in a cache of a few lines.
    ways: usize,
    places: Places,
    /// Of the sets that have a place, by place and way: a part of the number of the line.
    tags: Vec<u32>,
    /// By place and way.
    entries: Vec<Entry>,
    /// When each entry was used last.
    last_use: Vec<u32>,
    /// When the last sector of each entry is there.
    filled_at: Vec<f64>,
    uses: u32,
    /// Share of the lines that were there before which have to be written back, and what of it is due.
    dirty_before: f64,
    due: f64,
}

/// Where sets begin in the arrays, for those that have held a line.
#[derive(Clone, Debug)]
enum Places {
    /// By set, [`NO_PLACE`] for the others.
    Table(Vec<u32>),
    Map(FxHashMap<u64, u32>),
}

const NO_PLACE: u32 = u32::MAX;

impl Places {
    fn new(n_sets: u64) -> Self {
        if n_sets <= TABLE { Self::Table(vec![NO_PLACE; n_sets as usize]) } else { Self::Map(FxHashMap::default()) }
    }

    fn of(&self, set: u64) -> Option<usize> {
        let place = match self {
            Self::Table(places) => places[set as usize],
            Self::Map(places) => places.get(&set).copied().unwrap_or(NO_PLACE),
        };
        (place != NO_PLACE).then_some(place as usize)
    }

    fn insert(&mut self, set: u64, place: usize) {
        let place = u32::try_from(place).expect("fewer than 2^32 lines are touched");
        match self {
            Self::Table(places) => places[set as usize] = place,
            Self::Map(places) => drop(places.insert(set, place)),
        }
    }
}

/// What of a line's number is compared first.
const fn tag(line: u64) -> u32 {
    (line ^ line >> 32) as u32
}

/// A line with its sectors, in one word: those that are there or on their way, and those that have to be written back.
#[derive(Clone, Copy, Debug, Default)]
struct Entry(u64);

impl Entry {
    fn new(line: u64, present: Sectors, dirty: Sectors) -> Self {
        Self(line << 8 | u64::from(present) << 4 | u64::from(dirty))
    }

    const fn is(self, line: u64) -> bool {
        self.0 >> 8 == line && self.0 & 0xf0 != 0
    }

    const fn present(self) -> Sectors {
        (self.0 >> 4 & 15) as Sectors
    }

    const fn dirty(self) -> Sectors {
        (self.0 & 15) as Sectors
    }
}

/// What a cache says to a request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Found {
    /// Sectors that are there or on their way.
    pub(crate) present: Sectors,
    /// When the last of them is there.
    pub(crate) filled_at: f64,
    /// Where the line is, or where its set begins; for [`Cache::fill`].
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Entry(usize),
    Set(usize),
    /// A set that has held no line.
    New(u64),
}

impl Cache {
    /// A cache of so many lines; at least one. It holds nothing that will be asked for, but a share `dirty_before` of its
    /// lines have to be written back before they can be used.
    pub(crate) fn new(n_lines: u64, dirty_before: f64) -> Self {
        let n_lines = n_lines.max(1);
        let ways = n_lines.min(WAYS as u64);
        let n_sets = (n_lines / ways).max(1);
        Self {
            n_sets,
            ways: ways as usize,
            places: Places::new(n_sets),
            tags: Vec::new(),
            entries: Vec::new(),
            last_use: Vec::new(),
            filled_at: Vec::new(),
            uses: 0,
            dirty_before,
            due: 0.0,
        }
    }

    /// The set of a line.
    fn set(&self, line: u64) -> u64 {
        let hash = (line ^ line >> 17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((u128::from(hash) * u128::from(self.n_sets)) >> 64) as u64
    }

    /// Makes a place for a set; returns where it begins.
    fn place(&mut self, set: u64) -> usize {
        if let Some(begin) = self.places.of(set) {
            return begin;
        }
        let begin = self.entries.len();
        let end = begin + self.ways;
        self.tags.resize(end, 0);
        self.entries.resize(end, Entry(0));
        self.last_use.resize(end, 0);
        self.filled_at.resize(end, 0.0);
        self.places.insert(set, begin);
        begin
    }

    /// The entry of a line in its set. Looks at all of them, by vector, which is faster than stopping at the right one.
    fn find(&self, set: usize, line: u64) -> Option<usize> {
        if let Some(tags) = self.tags[set..set + self.ways].first_chunk::<WAYS>() {
            let wanted = tag(line);
            let number = |way: usize, tag: u32| if tag == wanted { way as u32 + 1 } else { 0 };
            let found = tags.iter().enumerate().fold(0, |found, (way, &tag)| found | number(way, tag));
            let way = found.checked_sub(1)?;
            let index = set + way as usize;
            if (way as usize) < WAYS && self.entries[index].is(line) {
                return Some(index);
            }
        }
        // A small set, or lines of one tag.
        (set..set + self.ways).find(|&index| self.entries[index].is(line))
    }

    /// The entry of a set that was not used for longest.
    fn oldest(&self, set: usize) -> usize {
        let uses = &self.last_use[set..set + self.ways];
        let oldest = uses.iter().copied().fold(u32::MAX, u32::min);
        set + uses.iter().position(|&last| last == oldest).unwrap_or(0)
    }

    fn use_entry(&mut self, index: usize) {
        if self.uses == u32::MAX {
            // Forgets the order of old uses, once in four thousand million.
            self.last_use.fill(0);
            self.uses = 0;
        }
        self.uses += 1;
        self.last_use[index] = self.uses;
    }

    /// Looks for sectors of a line, and marks the line as used.
    pub(crate) fn look_up(&mut self, line: u64, wanted: Sectors) -> Found {
        let set = self.set(line);
        let Some(begin) = self.places.of(set) else {
            return Found { present: 0, filled_at: 0.0, place: Place::New(set) };
        };
        match self.find(begin, line) {
            Some(index) => {
                self.use_entry(index);
                let present = self.entries[index].present() & wanted;
                Found { present, filled_at: self.filled_at[index], place: Place::Entry(index) }
            }
            None => Found { present: 0, filled_at: 0.0, place: Place::Set(begin) },
        }
    }

    /// Puts sectors of a line that was just looked up into the cache, which are there at `filled_at`. Returns the number
    /// of dirty sectors of the line that had to go.
    pub(crate) fn fill(&mut self, found: Found, line: u64, sectors: Sectors, dirty: bool, filled_at: f64) -> u32 {
        let dirty = if dirty { sectors } else { 0 };
        let begin = match found.place {
            Place::Entry(index) => {
                let entry = self.entries[index];
                debug_assert!(entry.is(line), "nothing came between the search and the filling");
                self.entries[index] = Entry::new(line, entry.present() | sectors, entry.dirty() | dirty);
                self.filled_at[index] = self.filled_at[index].max(filled_at);
                return 0;
            }
            Place::Set(begin) => begin,
            Place::New(set) => self.place(set),
        };
        let index = self.oldest(begin);
        let evicted = match self.entries[index] {
            Entry(0) => self.evict_from_before(),
            entry => entry.dirty().count_ones(),
        };
        self.tags[index] = tag(line);
        self.entries[index] = Entry::new(line, sectors, dirty);
        self.filled_at[index] = filled_at;
        self.use_entry(index);
        evicted
    }

    /// Sectors that a line from before has to write back: all or none.
    fn evict_from_before(&mut self) -> u32 {
        self.due += self.dirty_before;
        if self.due < 1.0 {
            return 0;
        }
        self.due -= 1.0;
        SECTORS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(cache: &mut Cache, line: u64, sectors: Sectors, dirty: bool, filled_at: f64) -> u32 {
        let found = cache.look_up(line, sectors);
        cache.fill(found, line, sectors, dirty, filled_at)
    }

    fn found(cache: &mut Cache, line: u64, wanted: Sectors) -> (Sectors, f64) {
        let found = cache.look_up(line, wanted);
        (found.present, found.filled_at)
    }

    #[test]
    fn sectors_of_a_line_come_one_by_one() {
        let mut cache = Cache::new(64, 0.0);
        assert_eq!(cache.look_up(7, 0b1111).present, 0);
        assert_eq!(fill(&mut cache, 7, 0b0011, false, 100.0), 0);
        assert_eq!(found(&mut cache, 7, 0b0110), (0b0010, 100.0));
        fill(&mut cache, 7, 0b0100, true, 120.0);
        assert_eq!(found(&mut cache, 7, 0b0110), (0b0110, 120.0));
        assert_eq!(cache.look_up(8, 0b0001).present, 0);
    }

    #[test]
    fn the_line_not_used_for_longest_goes_first_and_says_what_it_must_write() {
        let mut cache = Cache::new(2, 0.0);
        fill(&mut cache, 1, 0b1, true, 0.0);
        fill(&mut cache, 2, 0b1, false, 0.0);
        cache.look_up(1, 0b1);
        assert_eq!(fill(&mut cache, 3, 0b1, false, 0.0), 0);
        assert_eq!(cache.look_up(2, 0b1).present, 0);
        assert_eq!(cache.look_up(3, 0b1).present, 1);
        assert_eq!(fill(&mut cache, 4, 0b1, false, 0.0), 1);
    }

    #[test]
    fn a_working_set_that_fits_stays_and_a_larger_one_goes() {
        let misses = |n_lines: u64| {
            let mut cache = Cache::new(1024, 0.0);
            let mut misses = 0;
            for round in 0..4 {
                for line in 0..n_lines {
                    let found = cache.look_up(line, 1).present;
                    misses += u64::from(round > 0 && found == 0);
                    fill(&mut cache, line, 1, false, 0.0);
                }
            }
            misses as f64 / (3 * n_lines) as f64
        };
        assert!(misses(512) < 0.02, "{}", misses(512));
        assert!(misses(2048) > 0.9, "{}", misses(2048));
    }

    #[test]
    fn memory_goes_with_what_is_touched() {
        for n_lines in [1 << 20, 1 << 21, 1 << 40, u64::MAX] {
            let mut cache = Cache::new(n_lines, 0.0);
            for line in 0..1000 {
                fill(&mut cache, line << 20, 1, false, 0.0);
            }
            assert!((0..1000).all(|line| cache.look_up(line << 20, 1).present == 1), "{n_lines} lines");
            (1000..100_000).for_each(|line| {
                cache.look_up(line << 20, 1);
            });
            assert!(cache.entries.len() <= 1000 * WAYS, "{} entries of {n_lines}", cache.entries.len());
        }
    }

    #[test]
    fn lines_from_before_are_written_back_in_their_share() {
        let mut cache = Cache::new(64, 0.25);
        let evicted: u32 = (0..64).map(|line| fill(&mut cache, line, 0b1, false, 0.0)).sum();
        // Sets get no equal numbers of these lines, so that some of those from before stay.
        assert!((8..=16).contains(&(evicted / SECTORS)), "{evicted}");
        assert_eq!(evicted % SECTORS, 0);
    }
}
