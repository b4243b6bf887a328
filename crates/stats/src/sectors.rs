//! Sets of 32 B sectors: bitmaps of the touched pages of the address space.

use rustc_hash::FxHashMap;

/// Bytes of a sector, as a shift.
pub(crate) const SECTOR_SHIFT: u32 = 5;
/// Sectors of a page, as a shift: 65536 sectors are 2 MB.
const PAGE_SHIFT: u32 = 16;
const WORDS: usize = 1 << (PAGE_SHIFT - 6);

type Page = Box<[u64; WORDS]>;

/// A set of sector numbers.
#[derive(Debug, Default)]
pub(crate) struct SectorSet {
    index: FxHashMap<u64, u32>,
    pages: Vec<Page>,
}

/// 64 sectors at a distance of so many times 64 sectors. A list of them, ascending, is a set of sectors relative to
/// some first one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlanWord {
    distance: u32,
    sectors: u64,
}

/// The plan of ascending distances from the first sector; `None` if they are too far apart.
pub(crate) fn plan(distances: impl Iterator<Item = u64>) -> Option<Box<[PlanWord]>> {
    let mut words: Vec<PlanWord> = Vec::new();
    for sector in distances {
        let (distance, bit) = (u32::try_from(sector / 64).ok()?, 1 << (sector % 64));
        match words.last_mut() {
            Some(last) if last.distance == distance => last.sectors |= bit,
            _ => words.push(PlanWord { distance, sectors: bit }),
        }
    }
    Some(words.into())
}

/// The page that an instruction touched last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageHint {
    number: u64,
    at: u32,
}

impl Default for PageHint {
    fn default() -> Self {
        Self { number: u64::MAX, at: 0 }
    }
}

impl SectorSet {
    /// Adds the sectors `first..=last`.
    #[inline]
    pub(crate) fn insert_range(&mut self, hint: &mut PageHint, first: u64, last: u64) {
        let number = first >> PAGE_SHIFT;
        if number != last >> PAGE_SHIFT {
            return self.insert_across(hint, first, last);
        }
        if number != hint.number {
            *hint = PageHint { number, at: self.page_at(number) };
        }
        let page = &mut self.pages[hint.at as usize];
        let (first, last) = (first as usize % (WORDS * 64), last as usize % (WORDS * 64));
        let low = u64::MAX << (first % 64);
        let high = u64::MAX >> (63 - last % 64);
        if first / 64 == last / 64 {
            page[first / 64] |= low & high;
        } else {
            page[first / 64] |= low;
            page[first / 64 + 1..last / 64].fill(u64::MAX);
            page[last / 64] |= high;
        }
    }

    /// Adds the sectors of `plan` with 0 at `base`.
    #[inline]
    pub(crate) fn insert_plan(&mut self, hint: &mut PageHint, base: u64, plan: &[PlanWord]) {
        let number = base >> PAGE_SHIFT;
        let start = (base as usize % (WORDS * 64)) / 64;
        let last = plan.last().map_or(0, |word| word.distance as usize + 1);
        if start + last >= WORDS {
            return self.insert_plan_across(hint, base, plan);
        }
        if number != hint.number {
            *hint = PageHint { number, at: self.page_at(number) };
        }
        let page = &mut self.pages[hint.at as usize];
        let shift = base % 64;
        for word in plan {
            let sectors = u128::from(word.sectors) << shift;
            let at = start + word.distance as usize;
            page[at] |= sectors as u64;
            page[at + 1] |= (sectors >> 64) as u64;
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_plan_across(&mut self, hint: &mut PageHint, base: u64, plan: &[PlanWord]) {
        for word in plan {
            for bit in (0..64).filter(|bit| word.sectors >> bit & 1 == 1) {
                let sector = base + 64 * u64::from(word.distance) + bit;
                self.insert_range(hint, sector, sector);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_across(&mut self, hint: &mut PageHint, first: u64, last: u64) {
        let mut start = first;
        while start <= last {
            let end = (start | ((1 << PAGE_SHIFT) - 1)).min(last);
            self.insert_range(hint, start, end);
            start = end + 1;
        }
    }

    #[inline(never)]
    fn page_at(&mut self, number: u64) -> u32 {
        *self.index.entry(number).or_insert_with(|| {
            self.pages.push(Box::new([0; WORDS]));
            self.pages.len() as u32 - 1
        })
    }

    /// Adds the sectors of `other`.
    pub(crate) fn merge(&mut self, other: Self) {
        let Self { index, pages } = other;
        let mut pages: Vec<Option<Page>> = pages.into_iter().map(Some).collect();
        for (number, at) in index {
            let Some(page) = pages[at as usize].take() else { continue };
            match self.index.get(&number) {
                Some(&own) => {
                    for (word, other) in self.pages[own as usize].iter_mut().zip(page.iter()) {
                        *word |= other;
                    }
                }
                None => {
                    self.index.insert(number, self.pages.len() as u32);
                    self.pages.push(page);
                }
            }
        }
    }

    /// Number of sectors in the set.
    pub(crate) fn len(&self) -> u64 {
        self.pages.iter().flat_map(|page| page.iter()).map(|word| u64::from(word.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ranges_within_and_across_words_and_pages() {
        let ranges = [(0, 0), (3, 70), (60, 64), (65_530, 65_545), (200_000, 200_000), (131_000, 270_000)];
        let mut set = SectorSet::default();
        let mut hint = PageHint::default();
        let mut expected = BTreeSet::new();
        for (first, last) in ranges {
            set.insert_range(&mut hint, first, last);
            expected.extend(first..=last);
            assert_eq!(set.len(), expected.len() as u64);
        }
    }

    #[test]
    fn plans_within_and_across_pages() {
        let distances = [0, 1, 63, 64, 200, 5000];
        for base in [0, 5, 63, 60_000, 65_400, 65_535] {
            let mut set = SectorSet::default();
            let mut hint = PageHint::default();
            let plan = plan(distances.into_iter()).expect("the distances are small");
            set.insert_plan(&mut hint, base, &plan);
            assert_eq!(set.len(), 6, "{base}");
            for distance in distances {
                set.insert_range(&mut hint, base + distance, base + distance);
            }
            assert_eq!(set.len(), 6, "{base}");
        }
    }

    #[test]
    fn merging_is_the_union() {
        let make = |ranges: &[(u64, u64)]| {
            let mut set = SectorSet::default();
            let mut hint = PageHint::default();
            for &(first, last) in ranges {
                set.insert_range(&mut hint, first, last);
            }
            set
        };
        let mut set = make(&[(0, 9), (70_000, 70_003)]);
        set.merge(make(&[(5, 14), (1_000_000, 1_000_000)]));
        assert_eq!(set.len(), 15 + 4 + 1);
    }
}
