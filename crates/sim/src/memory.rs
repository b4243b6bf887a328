//! The memory system of the SM put together: where an access finds its data, and when.

use warplens_isa::{StateSpace, cluster_rank};
use warplens_stats::coalescing::{segments, transactions};
use warplens_stats::sector::PER_LINE;
use warplens_stats::{BankRule, CoalescingRule, Request, bank};
use warplens_trace::{AccessKind, ActiveMask, Lanes, WARP_SIZE, WarpAccess, WarpTrace};

use crate::unit::banks::BankPasses;
use crate::unit::cache::{Cache, Found, Sectors, n_sectors};
use crate::unit::dram::{Direction, Dram};
use crate::unit::l2::{L2, LINE, LOCAL, SECTOR};
use crate::unit::port::{Port, later};
use crate::unit::rows::Rows;
use crate::unit::{Delays, UnitKind};
use crate::{Effect, Job, L1Config, L1Holds, SmConfig, Traffic, Without};

/// State of all units of the memory system.
pub(crate) struct Memory<'a> {
    config: &'a SmConfig,
    without: Without,
    /// What comes from the shared memory of other SMs.
    from_cluster: Port,
    /// Banks of shared memory, and of the L1 cache where the two are one.
    pub(crate) banks: Port,
    /// Data of the L1 cache, where it is a memory of its own.
    l1_data: Port,
    /// The constant cache.
    constants: Port,
    /// The texture units.
    textures: Port,
    l1: Option<Cache>,
    l2: Option<L2<'a>>,
    pub(crate) dram: Dram,
    pub(crate) traffic: Traffic,
    bank_passes: BankPasses,
    delays: Delays<'a>,
    lines: Vec<(u64, Sectors)>,
    rows: Rows,
    /// Only what the caches hold changes.
    is_stopped: bool,
}

/// A memory instruction as it arrives.
#[derive(Clone, Copy)]
pub(crate) struct Arrival<'a> {
    /// When the memory unit starts with it.
    pub(crate) at: f64,
    /// The warp that it belongs to.
    pub(crate) trace: &'a WarpTrace,
    /// What it accesses.
    pub(crate) access: &'a WarpAccess,
    /// Where the warp runs: local memory belongs to the place, and the next warp there writes over it.
    pub(crate) slot: usize,
    /// What is read goes to shared memory by itself: it comes as a line does that the cache misses, and is not read out of
    /// the cache for registers.
    pub(crate) is_copy: bool,
    /// Where that which a copy writes to shared memory comes from, unless it comes in bulk.
    pub(crate) source: Option<&'a WarpAccess>,
    /// The CTA, of those that are simulated.
    pub(crate) cta: u32,
    /// The amount of the instruction.
    pub(crate) amount: u32,
}

impl Arrival<'_> {
    /// The access with the addresses of its lanes.
    fn request<'a>(&self, addresses: &'a mut [u64; WARP_SIZE]) -> Request<'a> {
        self.trace.expand(self.access, addresses);
        let lane_bytes = u32::from(self.access.element_bytes) * u32::from(self.access.elements);
        Request { lane_bytes, mask: self.access.mask, addresses }
    }
}

/// When an access is done.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Done {
    /// When a load's data can be used, or a store has left the SM.
    pub(crate) at: f64,
    /// The data comes from beyond the SM's banks.
    pub(crate) long: bool,
}

impl<'a> Memory<'a> {
    pub(crate) fn new(config: &'a SmConfig, job: &Job<'a>, without: Without) -> Self {
        let surroundings = &job.surroundings;
        let hits = without.contains(Effect::CacheMisses);
        let pipelines = f64::from(surroundings.active_sms.max(1)) / f64::from(surroundings.active_in_cluster.max(1));
        // A pipeline has its own part of the chip's bandwidth, whether or not the others are busy, where it cannot have
        // more in flight than that; elsewhere the SMs that are active share it.
        let share = match config.dram.in_flight {
            Some(_) => f64::from(config.sms_per_cluster) / f64::from(config.n_sms.max(1)),
            None => 1.0 / pipelines.max(1.0),
        };
        let of_pipeline = 1.0 / f64::from(surroundings.active_in_cluster.max(1));
        let l1_lines = |l1: &L1Config| {
            let wanted = surroundings.shared_bytes;
            let division = config.shared_divisions.iter().copied().find(|&bytes| bytes >= wanted);
            let taken = if l1.unified { division.unwrap_or(wanted) } else { 0 };
            l1.bytes.saturating_sub(taken) / LINE
        };
        Self {
            config,
            without,
            from_cluster: Port::default(),
            banks: Port::default(),
            l1_data: Port::default(),
            constants: Port::default(),
            textures: Port::default(),
            l1: config
                .l1
                .as_ref()
                .filter(|l1| l1.holds != L1Holds::Nothing || config.textures.is_some())
                .map(|l1| Cache::new(l1_lines(l1), 0.0)),
            // Where there is an L1 cache, its hits are enough.
            l2: config.l2.as_ref().map(|l2| L2::new(l2, job, hits)),
            dram: Dram::new(&config.dram, share * of_pipeline, of_pipeline, f64::from(surroundings.active_sms)),
            traffic: Traffic::default(),
            bank_passes: BankPasses::new(),
            delays: Delays::new(config, job, without),
            lines: Vec::with_capacity(WARP_SIZE * 8),
            rows: Rows::new(),
            is_stopped: false,
        }
    }

    /// Lets accesses change what the caches hold and the counts of traffic, and nothing else; or everything again.
    pub(crate) fn stop_clock(&mut self, is_stopped: bool) {
        self.is_stopped = is_stopped;
        self.dram.stop_clock(is_stopped);
        if let Some(l2) = &mut self.l2 {
            l2.stop_clock(is_stopped);
        }
    }

    /// Cycles in which each unit was busy.
    pub(crate) fn busy(&self) -> impl Iterator<Item = (UnitKind, f64)> {
        let l2 = self.l2.as_ref().map(|l2| (UnitKind::L2Link, l2.busy()));
        let banks = (UnitKind::SharedAndL1, self.banks.busy);
        let dram = (UnitKind::DramShare, self.dram.busy());
        std::iter::once(banks).chain(l2).chain([dram]).chain(self.delays.busy())
    }

    /// First time at which another store to device memory may leave the SM: it waits where very much is under way.
    pub(crate) fn accepts_store(&self) -> f64 {
        match &self.l2 {
            Some(l2) => l2.accepts_store(&self.dram),
            None => self.dram.free_at() - f64::from(self.config.dram.latency),
        }
    }

    /// Serves an access.
    pub(crate) fn serve(&mut self, arrival: &Arrival<'_>) -> Done {
        let mut addresses = [0; WARP_SIZE];
        let request = arrival.request(&mut addresses);
        let access = arrival.access;
        match access.space {
            StateSpace::Shared => self.shared(arrival, &request),
            StateSpace::Const | StateSpace::Param => self.constant(arrival.at, &request),
            StateSpace::Local => self.local(arrival, &request),
            StateSpace::Texture => self.texture(arrival, &request),
            // A surface is accessed as global memory is, through the same cache.
            StateSpace::Global | StateSpace::Generic | StateSpace::Surface => self.global(arrival, &request),
        }
    }

    /// Serves an access of a copy in bulk. Its unit asks the L2 cache by itself, past the tags and the banks of the L1 cache.
    pub(crate) fn serve_bulk(&mut self, arrival: &Arrival<'_>) -> Done {
        if arrival.access.space == StateSpace::Shared || self.l2.is_none() {
            return self.serve(arrival);
        }
        let mut addresses = [0; WARP_SIZE];
        let request = arrival.request(&mut addresses);
        self.lines.clear();
        let lines = &mut self.lines;
        segments(CoalescingRule::Cc70, &request, |segment| add_segment(lines, segment.start, segment.bytes));
        let lines = std::mem::take(&mut self.lines);
        let mut done = arrival.at;
        for &(line, sectors) in &lines {
            self.traffic.l1_sectors += u64::from(n_sectors(sectors));
            done = done.max(match arrival.access.kind {
                AccessKind::Store => self.store_line(arrival.at, line, sectors),
                AccessKind::Load | AccessKind::Atomic => self.beyond_l1(arrival.at, line, sectors),
            });
        }
        self.lines = lines;
        Done { at: done, long: true }
    }

    /// What a copy in bulk brings is written to shared memory as it comes, in cycles in which no instruction needs the banks.
    /// Where it has left the L2 cache already, for another SM, it still takes the link of this one.
    pub(crate) fn deliver(&mut self, arrival: &Arrival<'_>, has_left: bool) {
        let mut addresses = [0; WARP_SIZE];
        let request = arrival.request(&mut addresses);
        let (passes, _) = self.passes(arrival, &request);
        if self.is_stopped {
            return;
        }
        self.banks.busy += passes * self.config.shared.pass_cycles;
        if has_left && let Some(l2) = &mut self.l2 {
            l2.deliver(arrival.at, f64::from(request.lane_bytes * request.mask.count()));
        }
    }

    /// A fetch: the texture units find the texels of its lanes, and their sectors come through the L1 cache as those of a
    /// load. That a hit takes as long as one of a load is a rule, as nobody measured both on one chip; filters take no
    /// longer than that.
    fn texture(&mut self, arrival: &Arrival<'_>, request: &Request<'_>) -> Done {
        let interval = self.config.textures.map_or(0.0, |textures| textures.interval);
        let at = if self.is_stopped { arrival.at } else { self.textures.reserve(arrival.at, interval) };
        self.lines.clear();
        let lines = &mut self.lines;
        segments(CoalescingRule::Cc70, request, |segment| add_segment(lines, segment.start, segment.bytes));
        let at_units = Arrival { at, ..*arrival };
        self.through_caches(&at_units, None)
    }

    /// When an instruction of the texture units that touches no texels is done.
    pub(crate) fn query(&mut self, at: f64) -> Done {
        let interval = self.config.textures.map_or(0.0, |textures| textures.interval);
        let latency = self.config.l1.map_or(0, |l1| l1.latency);
        Done { at: self.textures.reserve(at, interval) + f64::from(latency), long: true }
    }

    /// Passes over the banks of shared memory, and those without conflicts.
    fn passes(&mut self, arrival: &Arrival<'_>, request: &Request<'_>) -> (f64, f64) {
        let rule = (self.config.shared.banks, self.config.shared.packs_pairs);
        let passes = self.bank_passes.of(rule, arrival.access.kind, arrival.access.lanes, request);
        let passes = self.delays.passes(arrival, request, passes);
        let needed = if self.without.contains(Effect::BankConflicts) { passes.ideal } else { passes.wavefronts };
        (f64::from(needed), f64::from(passes.ideal))
    }

    /// An access to shared memory.
    fn shared(&mut self, arrival: &Arrival<'_>, request: &Request<'_>) -> Done {
        if let Some(cluster) = &self.config.cluster
            && is_of_other_sm(request)
        {
            let bytes = f64::from(request.lane_bytes * request.mask.count());
            let start = self.from_cluster.reserve(arrival.at, bytes / cluster.bytes_per_clk);
            return Done { at: start + f64::from(cluster.latency), long: false };
        }
        let start = self.shared_passes(arrival, request);
        let done = start + f64::from(self.config.shared.latency);
        Done { at: self.delays.served(arrival, request, done), long: false }
    }

    /// The bank conflicts of an access to shared memory, if it has any: cycles for which it needs the banks, and those by
    /// which it is later than one without conflicts when nothing else is there.
    pub(crate) fn conflicts(&mut self, arrival: &Arrival<'_>) -> Option<(f64, f64)> {
        let mut addresses = [0; WARP_SIZE];
        let request = arrival.request(&mut addresses);
        let (passes, ideal) = self.passes(arrival, &request);
        if passes <= ideal || self.config.cluster.is_some() && is_of_other_sm(&request) {
            return None;
        }
        let shared = &self.config.shared;
        let work = passes * shared.pass_cycles;
        self.traffic.conflict_passes += (passes - ideal) as u64;
        self.banks.busy += work;
        Some((work, (passes - ideal) * shared.pass_latency))
    }

    /// Occupies the banks; returns when a result without latency would be there. What a copy writes takes them as it
    /// comes, line by line.
    fn shared_passes(&mut self, arrival: &Arrival<'_>, request: &Request<'_>) -> f64 {
        let (passes, ideal) = self.passes(arrival, request);
        let shared = &self.config.shared;
        self.traffic.conflict_passes += (passes - ideal) as u64;
        let mut taken = passes;
        if let Some(source) = arrival.source {
            let mut from = [0; WARP_SIZE];
            arrival.trace.expand(source, &mut from);
            taken = taken.max(f64::from(writes_of_copy((source.mask, &from), request, shared.splits_copies)));
        }
        let start = self.banks.reserve(arrival.at, taken * shared.pass_cycles);
        start + (passes - ideal) * shared.pass_latency
    }

    /// Constants come from a cache that takes one word at a time.
    fn constant(&mut self, at: f64, request: &Request<'_>) -> Done {
        let words = f64::from(bank::constant_passes(request).max(1));
        let start = self.constants.reserve(at, words);
        Done { at: start + f64::from(self.config.shared.latency) + words - 1.0, long: false }
    }

    fn global(&mut self, arrival: &Arrival<'_>, request: &Request<'_>) -> Done {
        self.lines.clear();
        let rule = self.config.coalescing;
        if self.config.l1.is_none() && self.config.l2.is_none() {
            return self.uncached(arrival.at, arrival.access.kind, rule, request);
        }
        let lines = &mut self.lines;
        match neighbouring(rule, arrival.access, request.lane_bytes) {
            Some((start, bytes)) => add_segment(lines, start, bytes),
            None => {
                let find = |lines: &mut Vec<_>| {
                    segments(rule, request, |segment| add_segment(lines, segment.start, segment.bytes));
                };
                // Transactions of 1.x may be aligned to more than a line.
                let is_by_line = !matches!(rule, CoalescingRule::Cc10 | CoalescingRule::Cc12);
                match arrival.access.lanes {
                    Lanes::Pattern { base, .. } | Lanes::Affine { base, .. } if is_by_line => {
                        self.rows.lines(base, request, lines, find);
                    }
                    Lanes::Pattern { .. } | Lanes::Affine { .. } | Lanes::Listed(_) => find(lines),
                }
            }
        }
        if self.without.contains(Effect::Uncoalesced) {
            let ideal = transactions(rule, request).ideal;
            pack(&mut self.lines, ideal.bytes() / SECTOR);
        }
        self.through_caches(arrival, Some(request))
    }

    /// Every transaction goes to device memory.
    fn uncached(&mut self, at: f64, kind: AccessKind, rule: CoalescingRule, request: &Request<'_>) -> Done {
        let mut done = at;
        let dram = &mut self.dram;
        let mut transfer = |address: u64, bytes: u32| {
            let start = dram.transfer(at, address, bytes, direction(kind));
            let wait = if kind == AccessKind::Store { 0.0 } else { f64::from(self.config.dram.latency) };
            done = done.max(start + wait);
            u64::from(bytes / SECTOR)
        };
        let mut sectors = 0;
        if self.without.contains(Effect::Uncoalesced) {
            let ideal = transactions(rule, request).ideal;
            let first = request.mask.lowest().map_or(0, |lane| request.addresses[lane] & !127);
            let sizes = [(128, ideal.t128), (64, ideal.t64), (32, ideal.t32)];
            let mut address = first;
            for (bytes, count) in sizes {
                for _ in 0..count {
                    sectors += transfer(address, bytes);
                    address += u64::from(bytes);
                }
            }
        } else {
            segments(rule, request, |segment| sectors += transfer(segment.start, segment.bytes));
        }
        if kind == AccessKind::Load {
            self.traffic.l1_sectors += sectors;
        }
        Done { at: done, long: true }
    }

    /// Local memory: 32-bit words of the lanes lie side by side.
    fn local(&mut self, arrival: &Arrival<'_>, request: &Request<'_>) -> Done {
        self.lines.clear();
        let base = LOCAL | (arrival.slot as u64) << 30;
        let words = u64::from(request.lane_bytes.div_ceil(4));
        for lane in request.mask.lanes() {
            for word in 0..words {
                let row = (request.addresses[lane] >> 2).wrapping_add(word);
                add_segment(&mut self.lines, base + (row * WARP_SIZE as u64 + lane as u64) * 4, 4);
            }
        }
        self.lines.sort_unstable_by_key(|&(line, _)| line);
        self.lines.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 |= if same { next.1 } else { 0 };
            same
        });
        if self.config.l1.is_none() && self.config.l2.is_none() {
            let mut done = arrival.at;
            for &(line, sectors) in &self.lines {
                let bytes = n_sectors(sectors) * SECTOR;
                let start = self.dram.transfer(arrival.at, line * LINE, bytes, direction(arrival.access.kind));
                let wait =
                    if arrival.access.kind == AccessKind::Store { 0.0 } else { f64::from(self.config.dram.latency) };
                done = done.max(start + wait);
            }
            return Done { at: done, long: true };
        }
        self.through_caches(arrival, None)
    }

    /// Serves the lines of the current access. Local memory and textures have no `request`: their words never conflict.
    fn through_caches(&mut self, arrival: &Arrival<'_>, request: Option<&Request<'_>>) -> Done {
        let kind = arrival.access.kind;
        let start = match self.config.l1 {
            Some(l1) if !self.is_stopped => self.occupy_l1(arrival, &l1, request),
            Some(_) | None => arrival.at,
        };
        let is_local = arrival.access.space == StateSpace::Local;
        let is_texture = arrival.access.space == StateSpace::Texture;
        let is_cached = self.config.l1.is_some_and(|l1| match l1.holds {
            L1Holds::All => true,
            L1Holds::Local => is_local || is_texture,
            L1Holds::Nothing => is_texture,
        });
        let mut done = start;
        let mut long = false;
        let lines = std::mem::take(&mut self.lines);
        self.dram.expect(lines.len());
        for &(line, sectors) in &lines {
            let there = match kind {
                AccessKind::Load => self.load_line(start, line, sectors, is_cached),
                AccessKind::Store if is_local => self.store_local(start, line, sectors),
                AccessKind::Store => Done { at: self.store_line(start, line, sectors), long: false },
                AccessKind::Atomic => Done { at: self.beyond_l1(start, line, sectors), long: true },
            };
            done = later(done, there.at);
            long |= there.long;
        }
        self.lines = lines;
        if let Some(request) = request
            && !self.is_stopped
        {
            done = self.delays.served(arrival, request, done);
        }
        Done { at: done, long }
    }

    /// Cycles that tags and data of the L1 cache take; returns when they start.
    fn occupy_l1(&mut self, arrival: &Arrival<'_>, l1: &L1Config, request: Option<&Request<'_>>) -> f64 {
        let access = arrival.access;
        let sectors: u32 = self.lines.iter().map(|&(_, sectors)| n_sectors(sectors)).sum();
        let tags = tag_cycles(&self.lines, l1.tags_per_clk);
        let per_wavefront = LINE as f64 / l1.bytes_per_clk;
        let data = match request {
            Some(_) if arrival.is_copy => 0.0,
            Some(request)
                if access.kind == AccessKind::Load
                    && l1.holds == L1Holds::All
                    && !self.without.contains(Effect::Uncoalesced) =>
            {
                let passes = self.bank_passes.of((BankRule::Cc20, false), access.kind, access.lanes, request);
                // Banks are read once per cycle, and what the warp gets leaves at the bandwidth.
                f64::from(passes.wavefronts).max(f64::from(passes.ideal) * per_wavefront)
            }
            _ => f64::from(sectors * SECTOR) / l1.bytes_per_clk,
        };
        let cycles = if l1.bytes_per_clk.is_finite() { tags.max(data).max(1.0) } else { 0.0 };
        let port = if l1.unified { &mut self.banks } else { &mut self.l1_data };
        let start = port.reserve(arrival.at, cycles);
        // The first data leaves with the first line.
        start + (cycles - per_wavefront.max(1.0)).max(0.0)
    }

    fn load_line(&mut self, at: f64, line: u64, wanted: Sectors, is_cached: bool) -> Done {
        let count = u64::from(n_sectors(wanted));
        self.traffic.l1_sectors += count;
        let (Some(l1), Some(config)) = (self.l1.as_mut().filter(|_| is_cached), &self.config.l1) else {
            return Done { at: self.beyond_l1(at, line, wanted), long: true };
        };
        if let Some(l2) = &self.l2 {
            l2.announce(line);
        }
        let hit = at + f64::from(config.latency);
        let found = l1.look_up(line, wanted, hit);
        let missing = if self.without.contains(Effect::CacheMisses) { 0 } else { wanted & !found.present };
        self.traffic.l1_hits += count - u64::from(n_sectors(missing));
        let mut done = if found.present == 0 { hit } else { found.there_at };
        if missing != 0 {
            done = later(done, self.beyond_l1(at, line, missing));
            self.fill_l1(at, found, line, missing, false, done);
        }
        Done { at: done, long: true }
    }

    fn fill_l1(&mut self, now: f64, found: Found, line: u64, sectors: Sectors, dirty: bool, filled_at: f64) {
        let Some(l1) = &mut self.l1 else { return };
        // Only local memory is written back; its lines are gone for good when they are written.
        let evicted = l1.fill(found, line, sectors, dirty, filled_at);
        if evicted > 0 {
            self.store_line(now, line, (1 << evicted) - 1);
        }
    }

    fn store_local(&mut self, at: f64, line: u64, sectors: Sectors) -> Done {
        let holds = self.config.l1.is_some_and(|l1| l1.holds != L1Holds::Nothing);
        let Some(l1) = self.l1.as_mut().filter(|_| holds) else {
            return Done { at: self.store_line(at, line, sectors), long: false };
        };
        let found = l1.look_up(line, sectors, at);
        let writes_back = self.config.l1.is_some_and(|l1| l1.writes_back);
        self.fill_l1(at, found, line, sectors, writes_back, at);
        let left = if writes_back { at } else { self.store_line(at, line, sectors) };
        Done { at: left, long: false }
    }

    fn beyond_l1(&mut self, at: f64, line: u64, wanted: Sectors) -> f64 {
        match &mut self.l2 {
            Some(l2) => l2.load(at, line, wanted, &mut self.dram, &mut self.traffic),
            None => self.dram.load(at, line * LINE, n_sectors(wanted) * SECTOR),
        }
    }

    fn store_line(&mut self, at: f64, line: u64, sectors: Sectors) -> f64 {
        match &mut self.l2 {
            Some(l2) => l2.store(at, line, sectors, &mut self.dram, &mut self.traffic),
            None => self.dram.transfer(at, line * LINE, n_sectors(sectors) * SECTOR, Direction::Write),
        }
    }
}

/// Which way the bytes of an access go.
const fn direction(kind: AccessKind) -> Direction {
    match kind {
        AccessKind::Store => Direction::Write,
        AccessKind::Load | AccessKind::Atomic => Direction::Read,
    }
}

/// First byte and length of an access whose sectors lie side by side without a gap, where that is plain to see.
fn neighbouring(rule: CoalescingRule, access: &WarpAccess, lane_bytes: u32) -> Option<(u64, u32)> {
    let Lanes::Affine { base, stride } = access.lanes else { return None };
    let first = access.mask.0.trailing_zeros();
    let lanes = access.mask.count();
    let in_a_row = (access.mask.0 >> first).trailing_ones() == lanes;
    let gap = u32::try_from(stride).ok().filter(|&stride| stride <= lane_bytes.max(SECTOR))?;
    let sectors =
        !matches!(rule, CoalescingRule::Cc10 | CoalescingRule::Cc12 | CoalescingRule::Cc20 | CoalescingRule::Cc20L1Off);
    (in_a_row && sectors).then(|| (base + u64::from(first * gap), (lanes - 1) * gap + lane_bytes))
}

/// Cycles for which the tags of a cache are busy with lines: a line is looked up in one of as many banks as there are tags
/// per cycle. Which one is the exclusive or of all groups of bits of its number: so the cycles of strided loads on A100,
/// A40 and H200 come out within a few percent (te42kyfo/gpu-benches, gpu-strides), those of 32 lines in 8 to 13 cycles.
fn tag_cycles(lines: &[(u64, Sectors)], tags_per_clk: f64) -> f64 {
    let n_banks = tags_per_clk as usize;
    if tags_per_clk != n_banks as f64 || !n_banks.is_power_of_two() || n_banks > 64 {
        return (lines.len() as f64 / tags_per_clk).ceil();
    }
    let bits = n_banks.trailing_zeros();
    let mut per_bank = [0_u16; 64];
    let mut most = 0;
    // Lines are folded in halves, so that each group of bits comes to the lowest one.
    let halves = [32, 16, 8, 4, 2, 1].map(|distance| distance * bits);
    let first = halves.iter().position(|&half| (1..u64::BITS).contains(&half)).unwrap_or(halves.len());
    for &(line, _) in lines {
        let folded = halves[first..].iter().fold(line, |folded, half| folded ^ folded >> half);
        let bank = folded as usize & (n_banks - 1);
        per_bank[bank] += 1;
        most = most.max(per_bank[bank]);
    }
    f64::from(most)
}

/// Adds the sectors of a segment, which lies in one line unless it is unaligned.
pub(crate) fn add_segment(lines: &mut Vec<(u64, Sectors)>, start: u64, bytes: u32) {
    let last = (start + u64::from(bytes) - 1) / u64::from(SECTOR);
    let mut sector = start / u64::from(SECTOR);
    while sector <= last {
        let (line, bit) = (sector / PER_LINE, 1 << (sector % PER_LINE));
        match lines.last_mut() {
            Some((same, sectors)) if *same == line => *sectors |= bit,
            _ => lines.push((line, bit)),
        }
        sector += 1;
    }
}

/// Times that a copy writes to shared memory what its lanes take from these addresses. What it fetched of a line comes
/// together, and is written to each line of shared memory that it lies in; but where sectors come to lie across two, some
/// SMs write it sector by sector. No manual says so. On an H200 a copy of 16 bytes by each lane takes 11 cycles beside
/// matrix loads that leave no cycle free where its rows of 64 bytes are whole sectors, and 17 to 20 where the rows are
/// padded by half of one; the lookups of its lines are 2 to 4 of them (training rows of
/// `validation/measured/h200/tensor.csv`, and `product_mma_stages`).
fn writes_of_copy((source, from): (ActiveMask, &[u64; WARP_SIZE]), to: &Request<'_>, splits: bool) -> u32 {
    // Lanes that ask for zeros have fetched nothing.
    let lanes = to.mask.lanes().filter(|&lane| source.contains(lane));
    let mut parts = [(0, 0); WARP_SIZE];
    let mut count = 0;
    for lane in lanes {
        parts[count] = (from[lane] / u64::from(SECTOR), to.addresses[lane] / u64::from(SECTOR));
        count += 1;
    }
    let parts = &mut parts[..count];
    parts.sort_unstable();
    parts.chunk_by_mut(|a, b| a.0 / PER_LINE == b.0 / PER_LINE).map(|of_line| writes_of_line(of_line, splits)).sum()
}

/// The same for sectors of one line (ascending), each with one to which some of it is written.
fn writes_of_line(written: &mut [(u64, u64)], splits: bool) -> u32 {
    let is_split = splits && written.windows(2).any(|pair| pair[0].0 == pair[1].0 && pair[0].1 != pair[1].1);
    let place = |to: u64| if is_split { to } else { to / PER_LINE };
    written.sort_unstable_by_key(|&(_, to)| to);
    1 + written.windows(2).filter(|pair| place(pair[0].1) != place(pair[1].1)).count() as u32
}

/// Leaves so many sectors in as few lines as they fit.
fn pack(lines: &mut Vec<(u64, Sectors)>, n_sectors: u32) {
    let mut rest = n_sectors;
    for (_, sectors) in lines.iter_mut() {
        let take = rest.min(4);
        *sectors = (1 << take) - 1;
        rest -= take;
    }
    lines.retain(|&(_, sectors)| sectors != 0);
}

/// True for an access to the window of a CTA of the cluster. That of the CTA itself counts among them: it is not known
/// which it is.
fn is_of_other_sm(request: &Request<'_>) -> bool {
    let first = request.mask.lowest().map_or(0, |lane| request.addresses[lane]);
    cluster_rank(first & u64::from(u32::MAX)).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use warplens_trace::ActiveMask;

    use super::*;

    proptest! {
        #[test]
        fn what_is_plain_to_see_is_what_the_rule_says(
            base in 0..4096_u64, stride in 0..40_i64, first in 0..32_u32, lanes in 1..33_u32, log_bytes in 0..5_u32,
        ) {
            let lane_bytes = 1 << log_bytes;
            let mask = ActiveMask(ActiveMask::first(lanes.min(32 - first)).0 << first);
            let rule = CoalescingRule::Cc70;
            let access = WarpAccess {
                slot: 0,
                element_bytes: lane_bytes as u8,
                elements: 1,
                space: StateSpace::Global,
                kind: AccessKind::Load,
                mask,
                lanes: Lanes::Affine { base, stride },
            };
            if let Some((start, bytes)) = neighbouring(rule, &access, lane_bytes) {
                let addresses: [u64; WARP_SIZE] = std::array::from_fn(|lane| base + stride as u64 * lane as u64);
                let (mut plain, mut counted) = (Vec::new(), Vec::new());
                add_segment(&mut plain, start, bytes);
                segments(rule, &Request { lane_bytes, mask, addresses: &addresses }, |segment| {
                    add_segment(&mut counted, segment.start, segment.bytes);
                });
                prop_assert_eq!(plain, counted);
            }
        }
    }
}
