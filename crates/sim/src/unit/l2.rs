//! The simulated SM's share of the L2 cache, the link to it, and device memory behind it.
//!
//! Of a cache that `n` SMs use, the SM has the `n`-th part, and as much more as lines are shared: where each line is read
//! by `s` SMs, its share holds `s` times as many of the lines that it reads, and it fetches only every `s`-th of them
//! itself. Where the cache has two parts, the near one holds copies of lines of the far one; a line that only the far one
//! holds takes its latency.

use warplens_stats::{Footprint, sector};

use super::cache::{Cache, Found, Sectors, n_sectors};
use super::dram::{Direction, Dram};
use super::port::{Port, later};
use super::share::Share;
use crate::{Job, L2Config, Traffic};

/// Bytes of a line.
pub(crate) const LINE: u64 = sector::LINE_BYTES;
/// From this address on lies local memory, which belongs to the SM.
pub(crate) const LOCAL: u64 = 1 << 56;
/// Bytes of a sector.
pub(crate) const SECTOR: u32 = sector::BYTES as u32;

/// Round trips to the cache by which the SMs of a chip go out of step.
const OUT_OF_STEP: f64 = 2.0;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct L2<'a> {
    latency: f64,
    far_latency: f64,
    near: Cache,
    /// The whole cache, where the near part is not all of it.
    whole: Option<Cache>,
    /// The SM's link in both directions, and its share of what the cache can deliver and take: its slices serve a sector at a
    /// time, whichever way it goes. On 7.5 loads and stores together come to the same 78 to 80 % of the slices' peak in kernels
    /// with a twelfth, a seventh and a fifth of loads (counters of the training rows of
    /// `validation/measured/coulomb-rtx2080ti.csv`).
    loads: Port,
    stores: Port,
    link_cycles_per_byte: f64,
    share: Share,
    share_cycles_per_sector: f64,
    /// What a request takes of it at least, and what a store takes, in sectors that are loaded.
    request_sectors: f64,
    store_cost: f64,
    first_fetch: f64,
    credit: f64,
    /// Of the sectors that an SM stores to, those that it has to write; and what of it is due.
    first_store: f64,
    written: f64,
    footprint: Option<&'a Footprint>,
    always_hits: bool,
    /// It is known of each sector which part of the SMs fetch it: the share holds the sectors that this one fetches, and the
    /// others lie in those of other SMs.
    is_known: bool,
    /// Lines move at no cost of time.
    is_stopped: bool,
}

impl<'a> L2<'a> {
    pub(crate) fn new(config: &L2Config, job: &Job<'a>, always_hits: bool) -> Self {
        let surroundings = &job.surroundings;
        let n = f64::from(surroundings.active_sms.max(1));
        let first_fetch = surroundings.first_fetch.clamp(1.0 / n, 1.0);
        let lines = |bytes: u64, dirty: f64| Cache::new((bytes as f64 / n / first_fetch / LINE as f64) as u64, dirty);
        // What other SMs have fetched for this one makes its share larger, but leaves no more in it to be written.
        let dirty = surroundings.dirty_before.clamp(0.0, 1.0) * first_fetch;
        let is_known = job.footprint.is_some_and(Footprint::is_known);
        let own = |dirty: f64| Cache::new((config.bytes as f64 / n / LINE as f64) as u64, dirty);
        let of_all = |dirty: f64| {
            if is_known { own(surroundings.dirty_before.clamp(0.0, 1.0)) } else { lines(config.bytes, dirty) }
        };
        let (near, whole) = match config.far_latency {
            Some(_) => (lines(config.bytes / 2, 0.0), Some(of_all(dirty))),
            None => (of_all(dirty), None),
        };
        let per_byte = |bytes_per_clk: f64| if bytes_per_clk.is_finite() { 1.0 / bytes_per_clk } else { 0.0 };
        let share = Share::new(n, OUT_OF_STEP * f64::from(config.latency));
        Self {
            latency: f64::from(config.latency),
            far_latency: f64::from(config.far_latency.unwrap_or(config.latency)),
            near,
            whole,
            loads: Port::default(),
            stores: Port::default(),
            link_cycles_per_byte: per_byte(config.sm_bytes_per_clk),
            share,
            share_cycles_per_sector: f64::from(SECTOR) * per_byte(config.bytes_per_clk / n),
            request_sectors: config.request_sectors,
            store_cost: config.store_cost,
            first_fetch,
            // Half a fetch, so that the first of two SMs that share fetches first.
            credit: 0.5,
            first_store: job.footprint.map_or(1.0, Footprint::first_store),
            written: 0.0,
            footprint: job.footprint,
            always_hits,
            is_known,
            is_stopped: false,
        }
    }

    /// Lets lines move at no cost of time; or not any more.
    pub(crate) const fn stop_clock(&mut self, is_stopped: bool) {
        self.is_stopped = is_stopped;
    }

    /// A line may be asked for soon ([`Cache::announce`]).
    #[inline(always)]
    pub(crate) fn announce(&self, line: u64) {
        self.near.announce(line);
        if let Some(cache) = &self.whole {
            cache.announce(line);
        }
    }

    /// Cycles in which the link was busy.
    pub(crate) const fn busy(&self) -> f64 {
        self.loads.busy.max(self.stores.busy)
    }

    /// Loads sectors of a line; returns when they are there.
    pub(crate) fn load(&mut self, at: f64, line: u64, wanted: Sectors, dram: &mut Dram, traffic: &mut Traffic) -> f64 {
        let count = n_sectors(wanted);
        let bytes = f64::from(count * SECTOR);
        let mut start = at;
        if !self.is_stopped {
            start = self.loads.reserve(start, bytes * self.link_cycles_per_byte);
            start = self.ask(start, f64::from(count));
        }
        traffic.l2_sectors += u64::from(count);
        let mut done = start + self.latency;
        let mut near = self.near.look_up(line, wanted, done);
        let mut whole = None;
        let mut missing = if self.always_hits { 0 } else { wanted & !near.present };
        if near.present != 0 {
            done = near.there_at;
        }
        if missing != 0
            && let Some(cache) = &mut self.whole
        {
            let far = cache.look_up(line, missing, start + self.far_latency);
            whole = Some(far);
            if far.present != 0 {
                done = later(done, far.there_at);
                missing &= !far.present;
                let evicted = self.near.fill(near, line, far.present, false, far.there_at);
                debug_assert_eq!(evicted, 0, "copies are never dirty");
                if missing != 0 {
                    near = self.near.look_up(line, missing, start);
                }
            }
        }
        traffic.l2_hits += u64::from(count - n_sectors(missing));
        if missing != 0 {
            let absent = !whole.map_or(near.present, |found| found.present);
            let (there, fetched) = self.fetch(start, line, (missing, absent), dram, traffic);
            done = later(done, there);
            let own = if self.is_known { fetched } else { missing | fetched };
            if own != 0 {
                self.fill((near, whole), line, own, false, (there, start), dram);
            }
        }
        done
    }

    /// The slices serve a request that costs as much as so many sectors that are loaded; returns when they begin.
    fn ask(&mut self, at: f64, sectors: f64) -> f64 {
        self.share.reserve(at, sectors.max(self.request_sectors) * self.share_cycles_per_sector)
    }

    /// The link brings bytes that the cache has given out for another SM and for this one.
    pub(crate) fn deliver(&mut self, at: f64, bytes: f64) {
        self.loads.reserve(at, bytes * self.link_cycles_per_byte);
    }

    /// Fetches sectors that the share does not hold: from device memory, or, where another SM has fetched them, from the
    /// rest of the cache. What comes with them is fetched, too, of what is `absent`. Returns when they are there, and the
    /// sectors that came from memory.
    fn fetch(
        &mut self,
        at: f64,
        line: u64,
        (missing, absent): (Sectors, Sectors),
        dram: &mut Dram,
        traffic: &mut Traffic,
    ) -> (f64, Sectors) {
        let first = self.first(line, missing);
        traffic.l2_hits += u64::from(n_sectors(missing & !first));
        let far = at + self.far_latency;
        if first == 0 {
            return (far, 0);
        }
        let fetched = first | dram.fetched_with(first) & absent;
        (later(dram.load(at, line * LINE, n_sectors(fetched) * SECTOR), far), fetched)
    }

    /// The sectors that no other SM has fetched before: where it is known which part of the SMs that load them do, of that
    /// part of all lines; else all those of one in so many fetches as it is on average.
    fn first(&mut self, line: u64, missing: Sectors) -> Sectors {
        if line >= LOCAL / LINE {
            return missing;
        }
        if let Some(footprint) = self.footprint {
            let hash = (line ^ line >> 15).wrapping_mul(0x9e37_79b9_7f4a_7c15) as f64 / u64::MAX as f64;
            let part = |sector: u64| footprint.fetched(line * sector::PER_LINE + sector);
            let wanted = (0..sector::PER_LINE).filter(|sector| missing >> sector & 1 == 1);
            let known: Option<Sectors> = wanted
                .map(|sector| Some(Sectors::from(hash < part(sector)?) << sector))
                .try_fold(0, |all, one| Some(all | one?));
            if let Some(first) = known {
                return first;
            }
        }
        self.credit += self.first_fetch;
        let is_first = self.credit >= 1.0;
        self.credit -= f64::from(u8::from(is_first));
        if is_first { missing } else { 0 }
    }

    /// Stores sectors of a line; returns when the link takes them.
    pub(crate) fn store(
        &mut self,
        at: f64,
        line: u64,
        sectors: Sectors,
        dram: &mut Dram,
        traffic: &mut Traffic,
    ) -> f64 {
        let count = n_sectors(sectors);
        let bytes = f64::from(count * SECTOR);
        let mut start = at;
        if !self.is_stopped {
            start = self.stores.reserve(start, bytes * self.link_cycles_per_byte);
            start = self.ask(start, f64::from(count) * self.store_cost);
        }
        traffic.l2_sectors += u64::from(count);
        traffic.l2_hits += u64::from(count);
        if !self.always_hits {
            let near = self.near.look_up(line, sectors, start);
            let whole = self.whole.as_mut().map(|whole| whole.look_up(line, sectors, start));
            self.fill((near, whole), line, sectors, true, (start, start), dram);
        }
        start
    }

    /// First time at which a store may be handed on: not before what evicted lines write is about to be taken.
    pub(crate) fn accepts_store(&self, dram: &Dram) -> f64 {
        self.stores.free_at().max(self.share.free_at()).max(dram.free_at()) - self.latency
    }

    /// Fills both parts, as they were just found. `filled_at` may lie ahead; what has to be written to make room goes now.
    fn fill(
        &mut self,
        (near, far): (Found, Option<Found>),
        line: u64,
        sectors: Sectors,
        dirty: bool,
        (filled_at, now): (f64, f64),
        dram: &mut Dram,
    ) {
        let evicted = match self.whole.as_mut().zip(far) {
            Some((whole, far)) => {
                self.near.fill(near, line, sectors, false, filled_at);
                whole.fill(far, line, sectors, dirty, filled_at)
            }
            None => self.near.fill(near, line, sectors, dirty, filled_at),
        };
        if evicted == 0 {
            return;
        }
        // What several SMs have stored to is written once, by one of them.
        self.written += f64::from(evicted) * self.first_store;
        let sectors = self.written.floor();
        self.written -= sectors;
        if sectors > 0.0 {
            dram.transfer(now, line * LINE, sectors as u32 * SECTOR, Direction::Write);
        }
    }
}
