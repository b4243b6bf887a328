//! A set-associative cache of lines with sectors, least recently used first.
//!
//! Lines are hashed over the sets, as on every NVIDIA chip whose sets were measured, so that power-of-two strides do not
//! fall into one set.
//!
//! A set takes memory from its first line on: what a simulation needs depends on what is accessed, not on how large the
//! cache is.

use rustc_hash::FxHashMap;
use warplens_stats::sector;

use super::port::later;

/// Lines of a set, of every cache: a choice of ours, as no document of the vendor's says it.
const WAYS: usize = 16;

/// The number of no line.
const NO_LINE: u64 = u64::MAX;

/// Sectors of a line.
const SECTORS: u32 = sector::PER_LINE as u32;

/// Sectors of one line: bit `i` is sector `i`.
pub(crate) type Sectors = u32;

/// How many they are. (`u32::count_ones` takes long on targets without an instruction for it.)
pub(crate) const fn n_sectors(sectors: Sectors) -> u32 {
    const COUNTS: [u8; 1 << SECTORS] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];
    COUNTS[sectors as usize % COUNTS.len()] as u32
}

/// Sets that a table of places is made for: those of 128 MiB.
const TABLE: u64 = 1 << 16;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    n_sets: u64,
    /// Lines of a set; fewer than `WAYS` in a cache of a few lines.
    ways: u32,
    places: Places,
    /// The sets that have held a line.
    sets: Vec<Set>,
    /// Share of the lines that were there before which have to be written back, and what of it is due.
    dirty_before: f64,
    due: f64,
}

/// A set. What every search looks at lies in one line of the host's cache.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Set {
    /// By way: a part of the number of the line.
    tags: Tags,
    /// By way: the sectors that are there or on their way.
    present: [u8; WAYS],
    /// By way: those that have to be written back.
    dirty: [u8; WAYS],
    order: Order,
    /// When all that the set has held was there.
    last_filled_at: f64,
    /// By way: the number of the line.
    lines: [u64; WAYS],
    /// By way: when its last sector is there.
    filled_at: [f64; WAYS],
}

/// The ways of a set, four bits each: in the lowest the one that was used last.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Order(u64);

impl Order {
    /// Of so many ways, none of which was used: they are taken from the first on.
    const fn new(ways: u32) -> Self {
        Self(0x0123_4567_89ab_cdef >> (4 * (WAYS as u32 - ways)))
    }

    /// The way becomes the one that was used last.
    const fn moved(self, way: usize) -> Self {
        const ONES: u64 = 0x1111_1111_1111_1111;
        // The lowest group of four bits that is the way.
        let differs = self.0 ^ (ONES * way as u64);
        let equal = differs.wrapping_sub(ONES) & !differs & (ONES << 3);
        let newer = (1 << (equal.trailing_zeros() & !3)) - 1;
        Self(self.0 & !(newer << 4 | 15) | (self.0 & newer) << 4 | way as u64)
    }

    /// The way that was not used for longest, of so many, becomes the one that was used last.
    const fn turned(self, ways: u32) -> Self {
        let all = u64::MAX >> (4 * (WAYS as u32 - ways));
        Self(self.0 << 4 & all | self.oldest(ways) as u64)
    }

    /// The way, of so many, that was not used for longest.
    const fn oldest(self, ways: u32) -> usize {
        (self.0 >> (4 * (ways - 1)) & 15) as usize
    }
}

/// Where sets are, for those that have held a line.
#[derive(Clone, Debug)]
enum Places {
    /// By set, [`NO_PLACE`] for the others.
    Table(Vec<u32>),
    Map(FxHashMap<u64, u32>),
}

const NO_PLACE: u32 = u32::MAX;
const NO_WAY: u8 = u8::MAX;

impl Places {
    fn new(n_sets: u64) -> Self {
        if n_sets <= TABLE { Self::Table(vec![NO_PLACE; n_sets as usize]) } else { Self::Map(FxHashMap::default()) }
    }

    fn of(&self, set: u64) -> u32 {
        match self {
            Self::Table(places) => places[set as usize],
            Self::Map(places) => places.get(&set).copied().unwrap_or(NO_PLACE),
        }
    }

    fn insert(&mut self, set: u64, place: u32) {
        match self {
            Self::Table(places) => places[set as usize] = place,
            Self::Map(places) => drop(places.insert(set, place)),
        }
    }
}

/// Tags of the ways of a set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tags([u8; WAYS]);

impl Tags {
    const NONE: Self = Self([0; WAYS]);

    /// The ways that may have this tag, as bits of [`Candidates`]: all that have it, and seldom one that has not. All are looked
    /// at at once, which is faster than stopping at the right one.
    #[inline(always)]
    const fn ways(&self, tag: u8) -> Candidates {
        const ONES: u64 = u64::MAX / 0xff;
        let all = u128::from_le_bytes(self.0);
        let wanted = ONES * tag as u64;
        let (low, high) = (all as u64 ^ wanted, (all >> 64) as u64 ^ wanted);
        // The highest of eight bits where all eight are none.
        let low = low.wrapping_sub(ONES) & !low & ONES << 7;
        let high = high.wrapping_sub(ONES) & !high & ONES << 7;
        Candidates(low >> 7 | high >> 6)
    }
}

/// Ways of a set: of the lower and the upper half in turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Candidates(u64);

impl Iterator for Candidates {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(bit / 8 % (WAYS / 2) + bit % 2 * (WAYS / 2))
    }
}

/// What a cache says to a request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Found {
    /// Sectors that are there or on their way.
    pub(crate) present: Sectors,
    /// When the last sector of the line is there, or the time before which nobody needs it if that is later.
    pub(crate) there_at: f64,
    /// Where the set is, or [`NO_PLACE`], and the way of the line, or [`NO_WAY`]; for [`Cache::fill`].
    place: u32,
    way: u8,
}

impl Cache {
    /// A cache of so many lines; at least one. It holds nothing that will be asked for, but a share `dirty_before` of its
    /// lines have to be written back before they can be used.
    pub(crate) fn new(n_lines: u64, dirty_before: f64) -> Self {
        let n_lines = n_lines.max(1);
        let ways = n_lines.min(WAYS as u64);
        let n_sets = (n_lines / ways).max(1);
        Self { n_sets, ways: ways as u32, places: Places::new(n_sets), sets: Vec::new(), dirty_before, due: 0.0 }
    }

    /// The set of a line, and what of its number is compared first.
    #[inline(always)]
    fn set(&self, line: u64) -> (u64, u8) {
        let hash = (line ^ line >> 17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The highest bits tell the set.
        (((u128::from(hash) * u128::from(self.n_sets)) >> 64) as u64, hash as u8)
    }

    /// Makes a place for a set; returns where it is.
    fn place(&mut self, set: u64) -> u32 {
        let place = self.places.of(set);
        if place != NO_PLACE {
            return place;
        }
        let place = u32::try_from(self.sets.len()).ok().filter(|&place| place != NO_PLACE);
        let place = place.expect("fewer than 2^32 lines are touched");
        self.sets.push(Set {
            tags: Tags::NONE,
            present: [0; WAYS],
            dirty: [0; WAYS],
            order: Order::new(self.ways),
            last_filled_at: 0.0,
            lines: [NO_LINE; WAYS],
            filled_at: [0.0; WAYS],
        });
        self.places.insert(set, place);
        place
    }

    /// The line may be looked for soon: the host fetches its set into its own nearest cache while it does something else.
    #[inline(always)]
    pub(crate) fn announce(&self, line: u64) {
        let place = self.places.of(self.set(line).0);
        std::hint::black_box(self.sets.get(place as usize).map_or(0, |set| set.order.0));
    }

    /// Looks for sectors of a line that are needed from `at` on, and marks the line as used.
    #[inline(always)]
    pub(crate) fn look_up(&mut self, line: u64, wanted: Sectors, at: f64) -> Found {
        let (number, tag) = self.set(line);
        let place = self.places.of(number);
        let Some(set) = self.sets.get_mut(place as usize) else {
            return Found { present: 0, there_at: at, place: NO_PLACE, way: NO_WAY };
        };
        let Some(way) = set.find(line, tag) else {
            return Found { present: 0, there_at: at, place, way: NO_WAY };
        };
        set.order = set.order.moved(way);
        // Mostly all of the set has been there for long, and when each line came need not be read.
        let there_at = if set.last_filled_at <= at { at } else { later(at, set.filled_at[way]) };
        Found { present: Sectors::from(set.present[way]) & wanted, there_at, place, way: way as u8 }
    }

    /// Puts sectors of a line that was just looked up into the cache, which are there at `filled_at`. Returns the number
    /// of dirty sectors of the line that had to go.
    pub(crate) fn fill(&mut self, found: Found, line: u64, sectors: Sectors, dirty: bool, filled_at: f64) -> u32 {
        debug_assert_ne!(sectors, 0, "a line without sectors is none");
        let sectors = sectors as u8;
        let dirty = if dirty { sectors } else { 0 };
        let (number, tag) = self.set(line);
        let place = if found.place == NO_PLACE { self.place(number) } else { found.place };
        let set = &mut self.sets[place as usize];
        set.last_filled_at = later(set.last_filled_at, filled_at);
        if found.way != NO_WAY {
            let way = usize::from(found.way) % WAYS;
            debug_assert_eq!(set.lines[way], line, "nothing came between the search and the filling");
            set.present[way] |= sectors;
            set.dirty[way] |= dirty;
            set.filled_at[way] = later(set.filled_at[way], filled_at);
            return 0;
        }
        let way = set.order.oldest(self.ways) % WAYS;
        set.tags.0[way] = tag;
        set.order = set.order.turned(self.ways);
        set.lines[way] = line;
        set.filled_at[way] = filled_at;
        let was_present = std::mem::replace(&mut set.present[way], sectors);
        let was_dirty = std::mem::replace(&mut set.dirty[way], dirty);
        if was_present == 0 { self.evict_from_before() } else { n_sectors(was_dirty.into()) }
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

impl Set {
    /// The way of a line.
    #[inline(always)]
    fn find(&self, line: u64, tag: u8) -> Option<usize> {
        self.tags.ways(tag).find(|&way| self.lines[way] == line)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_tag_is_found_where_it_is(tags in proptest::array::uniform16(0..4_u8), high in 0..4_u8, wanted in 0..5_u8) {
            // Neighbouring tags, in all of the bits.
            let value = |tag: u8| (high << 6 | tag).wrapping_sub(2);
            let ways: Vec<usize> = Tags(tags.map(value)).ways(value(wanted)).collect();
            let has = |way: &usize| tags[*way] == wanted;
            prop_assert!((0..WAYS).filter(has).all(|way| ways.contains(&way)));
            prop_assert!(ways.iter().all(|&way| has(&way) || value(tags[way]) == value(wanted) ^ 1), "{:?}", ways);
        }

        #[test]
        fn sectors_are_counted_by_a_table(sectors in 0..16_u32) {
            prop_assert_eq!(n_sectors(sectors), sectors.count_ones());
        }

        #[test]
        fn the_oldest_way_is_the_one_that_was_not_used_for_longest(
            ways in 1..=WAYS, uses in proptest::collection::vec(0..WAYS, 0..60),
        ) {
            let mut order = Order::new(ways as u32);
            let mut used = vec![0; ways];
            for (time, way) in uses.iter().map(|way| way % ways).enumerate() {
                used[way] = time + 1;
                order = if order.oldest(ways as u32) == way { order.turned(ways as u32) } else { order.moved(way) };
                let oldest = (0..ways).min_by_key(|&way| used[way]);
                prop_assert_eq!(Some(order.oldest(ways as u32)), oldest);
            }
        }
    }

    fn fill(cache: &mut Cache, line: u64, sectors: Sectors, dirty: bool, filled_at: f64) -> u32 {
        let found = cache.look_up(line, sectors, 0.0);
        cache.fill(found, line, sectors, dirty, filled_at)
    }

    fn found(cache: &mut Cache, line: u64, wanted: Sectors) -> (Sectors, f64) {
        let found = cache.look_up(line, wanted, 0.0);
        (found.present, found.there_at)
    }

    #[test]
    fn sectors_of_a_line_come_one_by_one() {
        let mut cache = Cache::new(64, 0.0);
        assert_eq!(cache.look_up(7, 0b1111, 0.0).present, 0);
        assert_eq!(fill(&mut cache, 7, 0b0011, false, 100.0), 0);
        assert_eq!(found(&mut cache, 7, 0b0110), (0b0010, 100.0));
        fill(&mut cache, 7, 0b0100, true, 120.0);
        assert_eq!(found(&mut cache, 7, 0b0110), (0b0110, 120.0));
        assert_eq!(cache.look_up(8, 0b0001, 0.0).present, 0);
    }

    #[test]
    fn the_line_not_used_for_longest_goes_first_and_says_what_it_must_write() {
        let mut cache = Cache::new(2, 0.0);
        fill(&mut cache, 1, 0b1, true, 0.0);
        fill(&mut cache, 2, 0b1, false, 0.0);
        cache.look_up(1, 0b1, 0.0);
        assert_eq!(fill(&mut cache, 3, 0b1, false, 0.0), 0);
        assert_eq!(cache.look_up(2, 0b1, 0.0).present, 0);
        assert_eq!(cache.look_up(3, 0b1, 0.0).present, 1);
        assert_eq!(fill(&mut cache, 4, 0b1, false, 0.0), 1);
    }

    #[test]
    fn a_working_set_that_fits_stays_and_a_larger_one_goes() {
        let misses = |n_lines: u64| {
            let mut cache = Cache::new(1024, 0.0);
            let mut misses = 0;
            for round in 0..4 {
                for line in 0..n_lines {
                    let found = cache.look_up(line, 1, 0.0).present;
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
            assert!((0..1000).all(|line| cache.look_up(line << 20, 1, 0.0).present == 1), "{n_lines} lines");
            (1000..100_000).for_each(|line| {
                cache.look_up(line << 20, 1, 0.0);
            });
            assert!(cache.sets.len() <= 1000, "{} sets of {n_lines}", cache.sets.len());
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
