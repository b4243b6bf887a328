//! Distinct sectors of global memory that the CTAs of a region touch.

use rustc_hash::FxHashMap;
use warplens_trace::AccessKind;

use crate::region::{Dependence, Region};
use crate::value::lanes_of;

/// Bytes of a sector, as a shift.
const SECTOR_SHIFT: u32 = 5;
const SECTOR_BYTES: i64 = 1 << SECTOR_SHIFT;
/// Ranges that may be listed one by one.
const MAX_RANGES: usize = 1 << 20;
/// Ranges that are collected before they are put in order.
const UNSORTED: usize = 1 << 12;

/// A set of bytes as ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    /// First byte and one past the last; in order and apart from each other up to `n_sorted`.
    list: Vec<(i64, i64)>,
    n_sorted: usize,
}

impl Ranges {
    fn insert(&mut self, first: i64, end: i64) {
        let may_grow = self.n_sorted < self.list.len();
        match self.list.last_mut() {
            // Neighbouring lanes and accesses go on where the last one ended.
            Some((start, last)) if may_grow && first <= *last && *start <= first => {
                *last = (*last).max(end);
            }
            _ => self.list.push((first, end)),
        }
        if self.list.len() > 2 * self.n_sorted + UNSORTED {
            self.sort();
        }
    }

    fn sort(&mut self) {
        self.list.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::with_capacity(self.list.len());
        for &(first, end) in &self.list {
            match merged.last_mut() {
                Some((_, last)) if first <= *last => *last = (*last).max(end),
                _ => merged.push((first, end)),
            }
        }
        self.n_sorted = merged.len();
        self.list = merged;
    }

    /// The set and its copies, moved by 1 to `n` - 1 times `step`. `None` if that would be too many ranges.
    fn repeated(&self, step: i64, n: i64) -> Option<Self> {
        let mut result = Self::default();
        for &(first, end) in &self.list {
            if end - first >= step {
                result.insert(first, end + (n - 1) * step);
            } else {
                if result.list.len() as i64 + n > MAX_RANGES as i64 {
                    return None;
                }
                (0..n).for_each(|at| result.insert(first + at * step, end + at * step));
            }
        }
        result.sort();
        Some(result)
    }

    /// Adds another set.
    fn merge(&mut self, other: &Self) {
        self.list.extend_from_slice(&other.list);
        self.sort();
    }

    /// Number of sectors that the bytes lie in.
    pub(crate) fn n_sectors(&mut self) -> u64 {
        self.list.iter_mut().for_each(|range| *range = whole_sectors(*range));
        self.sort();
        self.list.iter().map(|(first, end)| ((end - first) >> SECTOR_SHIFT) as u64).sum()
    }
}

/// The sectors of a range, in bytes.
fn whole_sectors((first, end): (i64, i64)) -> (i64, i64) {
    (first >> SECTOR_SHIFT << SECTOR_SHIFT, (end + SECTOR_BYTES - 1) >> SECTOR_SHIFT << SECTOR_SHIFT)
}

/// What is read and written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sectors {
    pub(crate) read: Ranges,
    pub(crate) written: Ranges,
    /// Lanes that read or write at an unknown address, or sectors that were too many to list: at most so many more.
    pub(crate) more_read: u64,
    pub(crate) more_written: u64,
}

impl Sectors {
    /// All bytes that are read or written; none where not all were listed.
    pub(crate) fn touched(&self) -> Option<Vec<(u64, u64)>> {
        if self.more_read > 0 || self.more_written > 0 {
            return None;
        }
        let mut all = self.read.clone();
        all.merge(&self.written);
        Some(all.list.iter().map(|&(first, end)| (first.cast_unsigned(), end.cast_unsigned())).collect())
    }
}

/// The sectors that the walked CTA touches, by how they move from CTA to CTA.
#[derive(Clone, Debug, Default)]
pub(crate) struct Footprint {
    by_step: FxHashMap<[i64; 3], Sectors>,
    unknown_read: u64,
    unknown_written: u64,
}

impl Footprint {
    /// An access to global memory.
    pub(crate) fn access(
        &mut self,
        kind: AccessKind,
        addresses: &[u64; 32],
        mask: u32,
        lane_bytes: u32,
        dependence: &Dependence,
    ) {
        // What moves by whole sectors is noted in whole sectors: that makes fewer ranges.
        let is_whole = dependence.step.iter().all(|step| step % SECTOR_BYTES == 0);
        let sectors = self.by_step.entry(dependence.step).or_default();
        for lane in lanes_of(mask) {
            let first = addresses[lane] as i64;
            let range = (first, first + i64::from(lane_bytes));
            let (first, end) = if is_whole { whole_sectors(range) } else { range };
            if kind != AccessKind::Store {
                sectors.read.insert(first, end);
            }
            if kind != AccessKind::Load {
                sectors.written.insert(first, end);
            }
        }
    }

    /// An access to global memory at unknown addresses: each lane touches sectors of its own.
    pub(crate) fn unknown(&mut self, kind: AccessKind, mask: u32, lane_bytes: u32) {
        let n = u64::from(mask.count_ones()) * u64::from(lane_bytes.div_ceil(SECTOR_BYTES as u32));
        if kind != AccessKind::Store {
            self.unknown_read += n;
        }
        if kind != AccessKind::Load {
            self.unknown_written += n;
        }
    }

    /// Adds what all CTAs of the region touch to `total`.
    pub(crate) fn spread(mut self, region: &Region, total: &mut Sectors) {
        let n_ctas = region.n_ctas();
        total.more_read += self.unknown_read * n_ctas;
        total.more_written += self.unknown_written * n_ctas;
        for (step, sectors) in &mut self.by_step {
            spread(&mut sectors.read, *step, region, &mut total.read, &mut total.more_read);
            spread(&mut sectors.written, *step, region, &mut total.written, &mut total.more_written);
        }
    }
}

fn spread(ranges: &mut Ranges, step: [i64; 3], region: &Region, total: &mut Ranges, more: &mut u64) {
    ranges.sort();
    if ranges.list.is_empty() {
        return;
    }
    let mut moves: Vec<(i64, i64, i64)> = (0..3)
        .map(|axis| (step[axis], region.range(axis)))
        .filter(|&(step, (low, high))| step != 0 && low < high)
        .map(|(step, (low, high))| (step.abs(), (step * low).min(step * high), high - low + 1))
        .collect();
    moves.sort_unstable();
    let shift: i64 = moves.iter().map(|(_, first, _)| first).sum();
    let mut all = ranges.clone();
    all.list.iter_mut().for_each(|(first, end)| (*first, *end) = (*first + shift, *end + shift));
    for (step, _, n) in moves {
        match all.repeated(step, n) {
            Some(repeated) => all = repeated,
            None => {
                *more += ranges.clone().n_sectors() * region.n_ctas();
                return;
            }
        }
    }
    total.merge(&all);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::Lattice;

    fn count(grid: [u32; 3], step: [i64; 3], addresses: &[u64]) -> u64 {
        let region = Region::new(Lattice::grid(grid));
        let mut footprint = Footprint::default();
        let mut lanes = [0; 32];
        lanes[..addresses.len()].copy_from_slice(addresses);
        let mask = (1 << addresses.len()) - 1;
        footprint.access(AccessKind::Load, &lanes, mask, 4, &Dependence { step, opaque: 0 });
        let mut total = Sectors::default();
        footprint.spread(&region, &mut total);
        assert_eq!(total.more_read, 0);
        total.read.n_sectors()
    }

    #[test]
    fn moved_sectors_are_counted_once() {
        let base = 1 << 40;
        assert_eq!(count([10, 1, 1], [0, 0, 0], &[base, base + 4, base + 64]), 2);
        assert_eq!(count([10, 1, 1], [32, 0, 0], &[base]), 10);
        assert_eq!(count([10, 1, 1], [-32, 0, 0], &[base, base + 32]), 11);
        assert_eq!(count([10, 3, 1], [64, 640, 0], &[base]), 30);
        assert_eq!(count([10, 3, 1], [32, 32, 0], &[base]), 12);
        // Steps of less than a sector, and beyond.
        assert_eq!(count([64, 1, 1], [4, 0, 0], &[base]), 8);
        assert_eq!(count([10, 1, 1], [48, 0, 0], &[base + 28]), 10);
    }

    #[test]
    fn equal_to_listing_all() {
        use std::collections::BTreeSet;
        for (steps, grid) in [
            ([96, 256, 32], [5, 4, 3]),
            ([-64, 32, 0], [7, 6, 1]),
            ([4096, 128, 1024], [3, 9, 2]),
            ([12, 100, -36], [4, 5, 6]),
        ] {
            let base: u64 = 1 << 40;
            let lanes = [base, base + 40, base + 300];
            let region = Region::new(Lattice::grid(grid));
            let mut all = BTreeSet::new();
            for x in region.range(0).0..=region.range(0).1 {
                for y in region.range(1).0..=region.range(1).1 {
                    for z in region.range(2).0..=region.range(2).1 {
                        let offset = steps[0] * x + steps[1] * y + steps[2] * z;
                        all.extend(lanes.map(|address| (address as i64 + offset) >> 5));
                        all.extend(lanes.map(|address| (address as i64 + 3 + offset) >> 5));
                    }
                }
            }
            assert_eq!(count(grid, steps, &lanes), all.len() as u64);
        }
    }
}
