//! Reuse distances: how much cache a warp would need to find again what it loaded before.
//!
//! The distance of a load of a line is the number of bytes of the distinct lines that the warp has loaded since it last
//! loaded that line, the line itself included: a least-recently-used cache of that many bytes, all of the warp's own,
//! just holds it. The first load of a line has no distance: it misses in any cache.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use warplens_isa::StateSpace;
use warplens_trace::{Access, AccessKind};

use super::{Event, Finish, Statistic};
use crate::Program;
use crate::recorder::Times;

/// Sectors that a warp may load, repeated or not, until its loads are no longer followed.
pub(crate) const MAX_SECTORS: u64 = 1 << 16;

/// Reuse distances of the global loads of some warps, each warp by itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reuse {
    /// Warps that were looked at.
    pub warps: u64,
    /// Of their global loads, those that were followed: of each warp the first, until they touched 65,536 sectors.
    pub requests: u64,
    /// Of their global loads, those that were not.
    pub requests_left_out: u64,
    /// Distances in lines of 128 bytes.
    pub lines: ReuseHistogram,
    /// Distances in sectors of 32 bytes.
    pub sectors: ReuseHistogram,
}

/// Distances in units of one size.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReuseHistogram {
    /// Loads of a unit, repeated or not; a request loads each unit that it touches once.
    pub accesses: u64,
    /// First loads of a unit by a warp.
    pub cold: u64,
    /// Repeated loads by distance in bytes. A key is the largest distance of its bucket; buckets end at powers of two
    /// and at three steps between each two.
    pub distances: BTreeMap<u64, u64>,
}

impl Statistic for Reuse {
    type Warp = ReuseTracker;
    type Counts = Self;

    fn new() -> Self {
        Self::default()
    }

    fn follow(&mut self, warp: &mut ReuseTracker, event: &Event<'_>) {
        let access = event.access;
        if access.space == StateSpace::Global && access.kind == AccessKind::Load {
            warp.load(self, access);
        }
    }

    fn end_warp(&mut self, _: ReuseTracker, _: &Program) {
        self.warps += 1;
    }

    fn merge(&mut self, other: &Self, times: Times) {
        self.warps += times.of(other.warps);
        self.requests += times.of(other.requests);
        self.requests_left_out += times.of(other.requests_left_out);
        self.lines.merge(&other.lines, times);
        self.sectors.merge(&other.sectors, times);
    }

    /// Not scaled: it is about single warps.
    fn finish(&self, _: &Finish<'_>) -> Self {
        self.clone()
    }

    /// What a single warp does one after the other is not known where something had to be guessed.
    fn without_run(counts: &mut Option<Self>, is_exact: bool) {
        counts.take_if(|_| !is_exact);
    }
}

impl ReuseHistogram {
    /// Share of the accesses that miss in a least-recently-used cache of `bytes` per warp; `None` without an access.
    /// A bucket that such a cache covers only in part misses.
    pub fn miss(&self, bytes: u64) -> Option<f64> {
        let hits: u64 = self.distances.range(..=bytes).map(|(_, count)| count).sum();
        (self.accesses > 0).then(|| (self.accesses - hits) as f64 / self.accesses as f64)
    }

    fn add(&mut self, distance: Option<u64>) {
        self.accesses += 1;
        match distance {
            Some(distance) => *self.distances.entry(bucket(distance)).or_insert(0) += 1,
            None => self.cold += 1,
        }
    }

    fn merge(&mut self, other: &Self, times: Times) {
        self.accesses += times.of(other.accesses);
        self.cold += times.of(other.cold);
        for (&distance, &count) in &other.distances {
            *self.distances.entry(distance).or_insert(0) += times.of(count);
        }
    }
}

/// The largest distance of the bucket of a distance.
fn bucket(distance: u64) -> u64 {
    let below = 1 << distance.max(4).ilog2();
    let step = below / 4;
    below + distance.saturating_sub(below).div_ceil(step) * step
}

/// What a warp has loaded so far.
#[derive(Debug, Default)]
pub(crate) struct ReuseTracker {
    /// Sectors loaded so far, repeated or not.
    n_sectors: u64,
    lines: LastUses,
    sectors: LastUses,
    scratch: Vec<u64>,
}

impl ReuseTracker {
    /// The warp executes a global load.
    pub(crate) fn load(&mut self, reuse: &mut Reuse, access: &Access<'_>) {
        if self.n_sectors >= MAX_SECTORS {
            reuse.requests_left_out += 1;
            return;
        }
        reuse.requests += 1;
        self.scratch.clear();
        let end = u64::from(access.lane_bytes()) - 1;
        for lane in access.mask.lanes() {
            let address = access.addresses.of(lane);
            let (first, last) = (address >> 5, address.wrapping_add(end) >> 5);
            if first != last || self.scratch.last() != Some(&last) {
                self.scratch.extend(first..=last.max(first));
            }
        }
        self.scratch.sort_unstable();
        self.scratch.dedup();
        self.n_sectors += self.scratch.len() as u64;
        for &sector in &self.scratch {
            reuse.sectors.add(self.sectors.load(sector).map(|units| 32 * units));
        }
        self.scratch.iter_mut().for_each(|sector| *sector >>= 2);
        self.scratch.dedup();
        for &line in &self.scratch {
            reuse.lines.add(self.lines.load(line).map(|units| 128 * units));
        }
    }
}

/// Units in the order of their last use: a tree of partial sums over time, in which each unit stands once.
#[derive(Debug, Default)]
struct LastUses {
    times: FxHashMap<u64, usize>,
    /// Partial sums, from index 1, of the times that are some unit's last use.
    sums: Vec<u32>,
    now: usize,
}

impl LastUses {
    /// Loads a unit; returns the number of distinct units since its last use, itself included.
    fn load(&mut self, unit: u64) -> Option<u64> {
        if self.now + 1 >= self.sums.len() {
            self.make_room();
        }
        self.now += 1;
        let now = self.now;
        let before = self.times.insert(unit, now);
        let distance = before.map(|before| {
            let distance = self.times.len() as u64 - u64::from(self.sum(before - 1));
            self.add(before, u32::MAX);
            distance
        });
        self.add(now, 1);
        distance
    }

    /// Last uses at or before `time`.
    fn sum(&self, mut time: usize) -> u32 {
        let mut sum = 0u32;
        while time > 0 {
            sum = sum.wrapping_add(self.sums[time]);
            time &= time - 1;
        }
        sum
    }

    fn add(&mut self, mut time: usize, change: u32) {
        while time < self.sums.len() {
            self.sums[time] = self.sums[time].wrapping_add(change);
            time += time & time.wrapping_neg();
        }
    }

    /// Numbers the last uses anew without gaps, with as much room again.
    fn make_room(&mut self) {
        let mut uses: Vec<(usize, u64)> = self.times.iter().map(|(&unit, &time)| (time, unit)).collect();
        uses.sort_unstable();
        self.sums = vec![0; (2 * uses.len() + 2).next_power_of_two().max(64)];
        for (index, &(_, unit)) in uses.iter().enumerate() {
            self.times.insert(unit, index + 1);
            self.add(index + 1, 1);
        }
        self.now = uses.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_end_at_quarters_of_powers_of_two() {
        let ends: Vec<u64> = [32, 64, 128, 129, 160, 161, 192, 224, 256, 288, 320, 321, 1 << 40].map(bucket).into();
        assert_eq!(ends, [32, 64, 128, 160, 160, 192, 192, 224, 256, 320, 320, 384, 1 << 40]);
    }

    /// Against the definition, on a stream that makes the tree grow and be renumbered.
    #[test]
    fn distances_are_those_of_the_definition() {
        let mut state = 1u64;
        let stream: Vec<u64> = (0..2000)
            .map(|at| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 40) % (1 + at / 8)
            })
            .collect();
        let mut uses = LastUses::default();
        for (at, unit) in stream.iter().enumerate() {
            let before = stream[..at].iter().rposition(|other| other == unit);
            let expected = before.map(|before| {
                let mut between = stream[before..at].to_vec();
                between.sort_unstable();
                between.dedup();
                between.len() as u64
            });
            assert_eq!(uses.load(*unit), expected, "access {at}");
        }
    }
}
