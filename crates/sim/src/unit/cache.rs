//! A set-associative cache of lines with sectors, least recently used first.
//!
//! Lines are hashed over the sets, as on every NVIDIA chip whose sets were measured, so that power-of-two strides do not
//! fall into one set.

/// Lines of a set.
const WAYS: usize = 16;

/// Sectors of one line: bit `i` is sector `i`.
pub(crate) type Sectors = u32;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    n_sets: usize,
    /// Lines of a set; fewer than `WAYS` in a cache of a few lines.
    ways: usize,
    entries: Vec<Entry>,
    uses: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    line: u64,
    /// Sectors that are there or on their way.
    present: Sectors,
    dirty: Sectors,
    /// When the last of them is there.
    filled_at: f64,
    last_use: u64,
}

/// What a cache says to a request.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Found {
    /// Sectors that are there or on their way.
    pub(crate) present: Sectors,
    /// When the last of them is there.
    pub(crate) filled_at: f64,
}

impl Cache {
    /// A cache of so many lines; at least one.
    pub(crate) fn new(n_lines: u64) -> Self {
        let n_lines = usize::try_from(n_lines.max(1)).expect("a cache fits into memory");
        let ways = n_lines.min(WAYS);
        let n_sets = (n_lines / ways).max(1);
        Self { n_sets, ways, entries: vec![Entry::default(); n_sets * ways], uses: 0 }
    }

    fn set(&mut self, line: u64) -> &mut [Entry] {
        let hash = (line ^ line >> 17).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let set = (u128::from(hash) * self.n_sets as u128 >> 64) as usize;
        &mut self.entries[set * self.ways..(set + 1) * self.ways]
    }

    /// Looks for sectors of a line, and marks the line as used.
    pub(crate) fn look_up(&mut self, line: u64, wanted: Sectors) -> Found {
        self.uses += 1;
        let now = self.uses;
        match self.set(line).iter_mut().find(|entry| entry.line == line && entry.present != 0) {
            Some(entry) => {
                entry.last_use = now;
                Found { present: entry.present & wanted, filled_at: entry.filled_at }
            }
            None => Found { present: 0, filled_at: 0.0 },
        }
    }

    /// Puts sectors of a line into the cache, which are there at `filled_at`. Returns the number of dirty sectors of the
    /// line that had to go.
    pub(crate) fn fill(&mut self, line: u64, sectors: Sectors, dirty: bool, filled_at: f64) -> u32 {
        self.uses += 1;
        let now = self.uses;
        let set = self.set(line);
        let position = set.iter().position(|entry| entry.line == line && entry.present != 0);
        let position = position.unwrap_or_else(|| {
            let oldest = set.iter().enumerate().min_by_key(|(_, entry)| entry.last_use);
            oldest.map_or(0, |(position, _)| position)
        });
        let entry = &mut set[position];
        let mut evicted = 0;
        if entry.line != line || entry.present == 0 {
            evicted = entry.dirty.count_ones();
            *entry = Entry { line, ..Entry::default() };
        }
        entry.present |= sectors;
        entry.dirty |= if dirty { sectors } else { 0 };
        entry.filled_at = entry.filled_at.max(filled_at);
        entry.last_use = now;
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_of_a_line_come_one_by_one() {
        let mut cache = Cache::new(64);
        assert_eq!(cache.look_up(7, 0b1111).present, 0);
        assert_eq!(cache.fill(7, 0b0011, false, 100.0), 0);
        assert_eq!(cache.look_up(7, 0b0110), Found { present: 0b0010, filled_at: 100.0 });
        cache.fill(7, 0b0100, true, 120.0);
        assert_eq!(cache.look_up(7, 0b0110), Found { present: 0b0110, filled_at: 120.0 });
        assert_eq!(cache.look_up(8, 0b0001).present, 0);
    }

    #[test]
    fn the_line_not_used_for_longest_goes_first_and_says_what_it_must_write() {
        let mut cache = Cache::new(2);
        cache.fill(1, 0b1, true, 0.0);
        cache.fill(2, 0b1, false, 0.0);
        cache.look_up(1, 0b1);
        assert_eq!(cache.fill(3, 0b1, false, 0.0), 0);
        assert_eq!(cache.look_up(2, 0b1).present, 0);
        assert_eq!(cache.look_up(3, 0b1).present, 1);
        assert_eq!(cache.fill(4, 0b1, false, 0.0), 1);
    }

    #[test]
    fn a_working_set_that_fits_stays_and_a_larger_one_goes() {
        let misses = |n_lines: u64| {
            let mut cache = Cache::new(1024);
            let mut misses = 0;
            for round in 0..4 {
                for line in 0..n_lines {
                    let found = cache.look_up(line, 1).present;
                    misses += u64::from(round > 0 && found == 0);
                    cache.fill(line, 1, false, 0.0);
                }
            }
            misses as f64 / (3 * n_lines) as f64
        };
        assert!(misses(512) < 0.02, "{}", misses(512));
        assert!(misses(2048) > 0.9, "{}", misses(2048));
    }
}
