//! Device memory as one memory pipeline sees it: its share of the bandwidth, a latency that differs a little by the line,
//! the channels, and a limit on what may be in flight.
//!
//! Where it is read and written at once, loads come later than the bandwidth says: streaming kernels that do both, on V100,
//! A100 and H200, need more warps for the same bytes per second than those that only read, and those that only write need
//! no more. The delay grows with what the memory has to do, and it is largest where reads and writes are even. So a load
//! waits for `4 r w u` times the turnaround of the machine, where `r` and `w` are the shares of reads and writes in what
//! was moved of late, and `u` says how busy the memory is. Turning round takes bandwidth, too: what moves one way only has
//! more of it than the triad, which writes a third of its bytes, and what lies between grows with `4 r w`.

use std::collections::VecDeque;

use warplens_stats::sector;

use super::cache::Sectors;
use super::l2::{LINE, SECTOR};
use super::port::{Port, later};
use super::share::Share;
use crate::DramConfig;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct Dram {
    latency: f64,
    /// Part of it by which lines differ.
    spread: f64,
    bus: Share,
    load: Option<Load>,
    /// Cycles per byte of this pipeline's share where all go one way, and what reads and writes take beyond that where they
    /// are even.
    cycles_per_byte: f64,
    mixed_cycles_per_byte: f64,
    rows: Option<Rows>,
    /// Sectors that a load brings.
    fetch_sectors: u32,
    channels: Option<Channels>,
    in_flight: Option<InFlight>,
    /// Bytes moved.
    pub(crate) bytes: u64,
    /// Bytes are counted and take no time.
    is_stopped: bool,
}

/// Round trips to memory by which the SMs of a chip go out of step.
const OUT_OF_STEP: f64 = 2.0;
/// Round trips to memory over which the load is taken, and those that it takes at least before anything is known of it.
const LOAD_WINDOW: f64 = 16.0;
const FIRST_WINDOW: f64 = 4.0;
/// How busy the memory is at its achieved bandwidth; beyond, the bandwidth alone decides.
const MOST_USED: f64 = 0.97;

/// Part of the latency by which lines differ: their channels are nearer to the SM or farther from it. By how much nobody says;
/// a tenth is enough for the warps of an SM not to keep, for a whole launch, the step in which the first loads have put them.
/// A warp that loads many lines waits for the farthest of them. Memories whose banks are not modelled have none.
const SPREAD: f64 = 0.1;
/// That part of all numbers of 64 bits, odd.
const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;

/// Four times the product of the shares of reads and writes in a triad, whose bandwidth is the achieved one.
const OF_TRIAD: f64 = 8.0 / 9.0;

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// From the memory.
    Read,
    /// To it.
    Write,
}

/// How busy the memory is, and what follows for its banks: a request waits for the row cycle of one that came before to
/// its bank. Of requests that arrive at random at a server of constant service time one waits on average for
/// `s u / (2 (1 - u))` where the server is busy for a share `u` of the time (Pollaczek and Khinchine).
#[derive(Clone, Debug)]
struct Load {
    row_cycle: f64,
    turnaround: f64,
    /// Cycles over which the load is taken.
    window: f64,
    first: f64,
    /// Begin of the current window.
    since: f64,
    /// Busy cycles in the window before and in the current one.
    before: Busy,
    now: Busy,
}

/// Busy cycles of a window.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    all: f64,
    /// Of these, with writes.
    written: f64,
}

impl Busy {
    /// A part of them.
    fn part(self, part: f64) -> Self {
        Self { all: self.all * part, written: self.written * part }
    }

    fn and(self, other: Self) -> Self {
        Self { all: self.all + other.all, written: self.written + other.written }
    }

    /// Four times the product of the shares of reads and writes: 1 where they are even, 0 where there is one of them.
    fn mixed(self) -> f64 {
        let written = if self.all > 0.0 { self.written / self.all } else { 0.0 };
        4.0 * written * (1.0 - written)
    }
}

/// Rows of the memory that requests of this SM found open of late, and how fast others open.
#[derive(Clone, Debug)]
struct Rows {
    recent: [u64; ROWS],
    next: usize,
    opening: Share,
    /// Cycles of this pipeline's share of the rows that are opened.
    cycles: f64,
    /// The warp whose access is served loads from everywhere.
    is_scattered: bool,
}

/// Lines that a warp which loads from everywhere touches at least.
const SCATTERED: usize = 8;

/// Rows that stay open for an SM, and bytes that lie in a row.
const ROWS: usize = 32;
const ROW: u64 = 2048;

/// Channels over which addresses are spread in order.
#[derive(Clone, Debug)]
struct Channels {
    interleave: u64,
    ports: Vec<Port>,
    /// Cycles per byte of the pipeline's share of one channel.
    cycles_per_byte: f64,
    /// A channel may serve a pipeline ahead of its share while others are served elsewhere: for so many cycles.
    ahead: f64,
}

/// Limit on the bytes in flight.
#[derive(Clone, Debug)]
struct InFlight {
    most: f64,
    bytes: f64,
    /// Completion and bytes of each request, in order.
    requests: VecDeque<(f64, f64)>,
}

impl Dram {
    /// `share` is the part of the chip's bandwidth that the simulated SM has, `of_pipeline` its part of its memory pipeline,
    /// `n_sharers` the SMs at work.
    pub(crate) fn new(config: &DramConfig, share: f64, of_pipeline: f64, n_sharers: f64) -> Self {
        let per_byte = |per_clk: f64| if per_clk.is_finite() { 1.0 / (per_clk * share) } else { 0.0 };
        let cycles_per_byte = per_byte(config.one_way_bytes_per_clk);
        let mixed_cycles_per_byte = (per_byte(config.bytes_per_clk) - cycles_per_byte).max(0.0) / OF_TRIAD;
        let latency = f64::from(config.latency);
        let channels = config.channels.map(|(n, interleave)| Channels {
            interleave: interleave.into(),
            ports: vec![Port::default(); n as usize],
            cycles_per_byte: cycles_per_byte * f64::from(n),
            ahead: latency,
        });
        let in_flight = config.in_flight.map(|most| InFlight {
            most: most * of_pipeline,
            bytes: 0.0,
            requests: VecDeque::with_capacity(256),
        });
        // A pipeline with a limit of its own in flight goes in step with that.
        let out_of_step = if in_flight.is_some() { 0.0 } else { OUT_OF_STEP * latency };
        let bus = Share::new(n_sharers, out_of_step);
        let rows = (config.activation_interval > 0.0).then(|| Rows {
            recent: [u64::MAX; ROWS],
            next: 0,
            opening: bus,
            cycles: config.activation_interval / share,
            is_scattered: false,
        });
        let load = (config.row_cycle > 0.0 && cycles_per_byte > 0.0).then(|| Load::new(config));
        Self {
            latency,
            spread: if config.row_cycle > 0.0 { SPREAD } else { 0.0 },
            bus,
            load,
            rows,
            fetch_sectors: (config.fetch_bytes / SECTOR).clamp(1, sector::PER_LINE as u32),
            cycles_per_byte,
            mixed_cycles_per_byte,
            channels,
            in_flight,
            bytes: 0,
            is_stopped: false,
        }
    }

    /// Lets bytes move at no cost of time; or not any more.
    pub(crate) const fn stop_clock(&mut self, is_stopped: bool) {
        self.is_stopped = is_stopped;
    }

    /// First time at which the bus takes another request.
    pub(crate) const fn free_at(&self) -> f64 {
        self.bus.free_at()
    }

    /// Cycles that so many bytes take on the bus at least.
    pub(crate) fn cycles(&self, bytes: u64) -> f64 {
        bytes as f64 * self.cycles_per_byte
    }

    /// Cycles in which the bus was busy.
    pub(crate) const fn busy(&self) -> f64 {
        self.bus.busy
    }

    /// An access that touches so many lines is about to be served.
    pub(crate) const fn expect(&mut self, n_lines: usize) {
        if let Some(rows) = &mut self.rows {
            rows.is_scattered = n_lines >= SCATTERED;
        }
    }

    /// The sectors of a line that are fetched where these are wanted.
    pub(crate) fn fetched_with(&self, wanted: Sectors) -> Sectors {
        let of_fetch: Sectors = Sectors::MAX >> (Sectors::BITS - self.fetch_sectors);
        let starts = (0..sector::PER_LINE as u32).step_by(self.fetch_sectors as usize);
        let whole = starts.map(|first| of_fetch << first).filter(|fetch| fetch & wanted != 0);
        whole.fold(0, |all, fetch| all | fetch)
    }

    /// Moves bytes; returns when the bus starts with them.
    pub(crate) fn transfer(&mut self, at: f64, address: u64, bytes: u32, direction: Direction) -> f64 {
        let bytes_f = f64::from(bytes);
        self.bytes += u64::from(bytes);
        if self.is_stopped {
            return at;
        }
        let at = self.in_flight.as_mut().map_or(at, |limit| limit.admit(at, bytes_f));
        let mixed = self.load.as_ref().map_or(OF_TRIAD, Load::mixed);
        let cycles = bytes_f * (self.cycles_per_byte + mixed * self.mixed_cycles_per_byte);
        let mut start = self.bus.reserve(at, cycles);
        if let Some(load) = &mut self.load {
            start = later(start, at + load.wait(at, cycles, direction));
        }
        if let Some(rows) = &mut self.rows {
            start = later(start, rows.open(at, address, bytes));
        }
        if let Some(channels) = &mut self.channels {
            start = start.max(channels.transfer(at, address, bytes_f));
        }
        if let Some(limit) = &mut self.in_flight {
            limit.requests.push_back((start + self.latency, bytes_f));
        }
        start
    }

    /// Loads bytes; returns when they are there.
    pub(crate) fn load(&mut self, at: f64, address: u64, bytes: u32) -> f64 {
        let latency = self.latency * (1.0 + self.spread * distance(address / LINE));
        self.transfer(at, address, bytes, Direction::Read) + latency
    }
}

/// How far away a line is, from -0.5 to 0.5 with 0 in the middle: any of the distances, by the multiples of the golden ratio.
fn distance(line: u64) -> f64 {
    (line.wrapping_mul(GOLDEN_RATIO) >> 32) as f64 / f64::from(u32::MAX) - 0.5
}

impl Load {
    fn new(config: &DramConfig) -> Self {
        let &DramConfig { row_cycle, turnaround, latency, .. } = config;
        let (window, first) = (LOAD_WINDOW * f64::from(latency), FIRST_WINDOW * f64::from(latency));
        Self { row_cycle, turnaround, window, first, since: 0.0, before: Busy::default(), now: Busy::default() }
    }

    /// How mixed reads and writes have been of late.
    fn mixed(&self) -> f64 {
        self.now.and(self.before).mixed()
    }

    /// How long a request that arrives at `at` waits for its bank and, if it reads, for writes; the request itself counts from
    /// then on.
    fn wait(&mut self, at: f64, cycles: f64, direction: Direction) -> f64 {
        if at >= self.since + self.window {
            let next = at < self.since + 2.0 * self.window;
            self.before = if next { self.now } else { Busy::default() };
            self.since = if next { self.since + self.window } else { at };
            self.now = Busy::default();
        }
        let passed = (at - self.since).max(0.0);
        // Before the first window is over, what there was is all that is known.
        let (busy, time) = if self.since == 0.0 {
            (self.now, passed.max(self.first))
        } else {
            (self.now.and(self.before.part(1.0 - passed / self.window)), self.window)
        };
        let is_read = direction == Direction::Read;
        self.now = self.now.and(Busy { all: cycles, written: if is_read { 0.0 } else { cycles } });
        let used = (busy.all / time).min(1.0) * MOST_USED;
        let turnaround = if is_read { self.turnaround * used * busy.mixed() } else { 0.0 };
        self.row_cycle * used / (2.0 * (1.0 - used)) + turnaround
    }
}

impl Rows {
    /// When the row of a request is open. Requests for whole lines, and of warps that touch few lines, are taken to find it so,
    /// or to share it with those of other SMs for what lies beside.
    fn open(&mut self, at: f64, address: u64, bytes: u32) -> f64 {
        let row = address / ROW;
        if self.recent.contains(&row) {
            return at;
        }
        self.recent[self.next] = row;
        self.next = (self.next + 1) % ROWS;
        let is_alone = self.is_scattered && u64::from(bytes) < LINE;
        if is_alone { self.opening.reserve(at, self.cycles) } else { at }
    }
}

impl Channels {
    fn transfer(&mut self, at: f64, address: u64, bytes: f64) -> f64 {
        let channel = (address / self.interleave) as usize % self.ports.len();
        let start = self.ports[channel].reserve(at, bytes * self.cycles_per_byte);
        (start - self.ahead).max(at)
    }
}

impl InFlight {
    /// When a request that arrives at `at` may start.
    fn admit(&mut self, at: f64, bytes: f64) -> f64 {
        let mut at = at;
        while let Some(&(done, of_oldest)) = self.requests.front()
            && (done <= at || self.bytes + bytes > self.most)
        {
            at = at.max(done);
            self.bytes -= of_oldest;
            self.requests.pop_front();
        }
        self.bytes += bytes;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: DramConfig = DramConfig {
        latency: 400,
        bytes_per_clk: 64.0,
        one_way_bytes_per_clk: 64.0,
        row_cycle: 0.0,
        turnaround: 0.0,
        fetch_bytes: 32,
        activation_interval: 0.0,
        channels: None,
        in_flight: None,
    };

    #[test]
    fn an_idle_memory_takes_its_latency_and_a_busy_one_its_bandwidth() {
        let mut dram = Dram::new(&CONFIG, 0.5, 1.0, 1.0);
        assert_eq!(dram.load(10.0, 0, 32), 410.0);
        assert_eq!(dram.load(10.0, 0, 32), 411.0);
        for n in 0..1000 {
            dram.load(10.0, n * 32, 32);
        }
        assert_eq!(dram.free_at(), 10.0 + 1002.0);
        assert_eq!((dram.bytes, dram.busy()), (1002 * 32, 1002.0));
    }

    #[test]
    fn loads_from_everywhere_wait_for_rows_and_those_side_by_side_do_not() {
        let config = DramConfig { activation_interval: 5.0, ..CONFIG };
        let end = |stride: u64, bytes: u32| {
            let mut dram = Dram::new(&config, 1.0, 1.0, 1.0);
            dram.expect(32);
            (0..100).map(|n| dram.load(0.0, n * stride, bytes)).fold(0.0, f64::max) - 400.0
        };
        // Sixteen lines are in a row.
        assert_eq!(end(128, 64), 99.0);
        assert_eq!(end(2048, 64), 99.0 * 5.0);
        assert_eq!(end(2048, 128), 99.0 * 2.0, "whole lines share their rows with those of other SMs");
    }

    #[test]
    fn rows_whose_numbers_end_alike_are_two() {
        let config = DramConfig { activation_interval: 5.0, ..CONFIG };
        let mut dram = Dram::new(&config, 1.0, 1.0, 1.0);
        dram.expect(32);
        let far = ROW << 32;
        assert_eq!([0, far, 64, far + 64].map(|at| dram.load(0.0, at, 32) - 400.0), [0.0, 5.0, 1.0, 1.5]);
    }

    #[test]
    fn a_load_brings_what_is_fetched_with_it() {
        let fetched =
            |fetch_bytes, wanted| Dram::new(&DramConfig { fetch_bytes, ..CONFIG }, 1.0, 1.0, 1.0).fetched_with(wanted);
        assert_eq!(
            [0b0001, 0b0110, 0b1000, 0b1111].map(|wanted| fetched(32, wanted)),
            [0b0001, 0b0110, 0b1000, 0b1111]
        );
        assert_eq!(
            [0b0001, 0b0110, 0b1000, 0b1111].map(|wanted| fetched(64, wanted)),
            [0b0011, 0b1111, 0b1100, 0b1111]
        );
        assert_eq!(fetched(128, 0b0100), 0b1111);
    }

    #[test]
    fn bytes_in_flight_are_limited() {
        let mut dram = Dram::new(&DramConfig { in_flight: Some(100.0), ..CONFIG }, 1.0, 1.0, 1.0);
        assert_eq!(dram.load(0.0, 0, 32), 400.0);
        assert_eq!(dram.load(0.0, 0, 32), 400.5);
        assert_eq!(dram.load(0.0, 0, 32), 401.0);
        // The fourth would make it 128 bytes.
        assert_eq!(dram.load(0.0, 0, 32), 800.0);
        assert_eq!(dram.load(399.0, 0, 32), 800.5);
    }

    #[test]
    fn one_channel_gives_its_share_in_the_long_run_and_more_for_a_while() {
        let config = DramConfig { channels: Some((8, 256)), ..CONFIG };
        let last = |stride: u64| {
            let mut dram = Dram::new(&config, 1.0, 1.0, 1.0);
            (0..10_000).map(|n| dram.load(0.0, n * stride, 64)).fold(0.0, f64::max)
        };
        let (even, skewed) = (last(64), last(8 * 256));
        assert!((even / 10_400.0 - 1.0).abs() < 0.05, "{even}");
        assert!((skewed / 80_000.0 - 1.0).abs() < 0.05, "{skewed}");
        let mut dram = Dram::new(&config, 1.0, 1.0, 1.0);
        assert_eq!(dram.load(0.0, 0, 128), 400.0);
        assert_eq!(dram.load(0.0, 0, 128), 402.0);
    }

    #[test]
    fn lines_differ_by_a_tenth_of_the_latency_and_not_in_the_mean() {
        let distances: Vec<f64> = (0..10_000).map(distance).collect();
        let mean = distances.iter().sum::<f64>() / 10_000.0;
        assert!(mean.abs() < 1e-2, "{mean}");
        assert!(distances.iter().all(|distance| (-0.5..=0.5).contains(distance)));
        // Neighbours are not alike.
        assert!(distances.windows(2).all(|pair| (pair[0] - pair[1]).abs() > 0.1));
        let config = DramConfig { row_cycle: 1.0, ..CONFIG };
        let load = |address| Dram::new(&config, 1.0, 1.0, 1.0).load(0.0, address, 32);
        assert_eq!(load(0), load(96), "sectors of a line are equally far");
        assert_ne!(load(0), load(128));
        assert!((0..100).map(|line| load(128 * line)).all(|latency| (380.0..420.0).contains(&latency)));
    }

    #[test]
    fn a_busy_memory_delays_even_where_its_bandwidth_suffices() {
        // Requests of one cycle each at every `every`-th cycle; how long the last ones wait on average.
        let wait = |every: f64| {
            let config = DramConfig { row_cycle: 50.0, ..CONFIG };
            let mut dram = Dram::new(&config, 0.5, 1.0, 1.0);
            let waits =
                (0..100_000).map(|n| f64::from(n) * every).map(|at| dram.transfer(at, 0, 32, Direction::Read) - at);
            waits.skip(90_000).sum::<f64>() / 10_000.0
        };
        let expected = |used: f64| 50.0 * used / (2.0 * (1.0 - used));
        for every in [20.0, 4.0, 2.0, 1.25] {
            let (wait, expected) = (wait(every), expected(MOST_USED / every));
            assert!((wait / expected - 1.0).abs() < 0.01, "every {every}: {wait} instead of {expected}");
        }
    }

    #[test]
    fn reads_wait_for_writes_and_writes_for_nobody() {
        // Requests of one cycle each at every fourth cycle, of which one in so many writes; how long the last ones wait.
        let waits = |every: usize, direction| {
            let config = DramConfig { row_cycle: 1e-9, turnaround: 100.0, ..CONFIG };
            let mut dram = Dram::new(&config, 0.5, 1.0, 1.0);
            let mut of = |n: usize| {
                let goes = if n.is_multiple_of(every) { Direction::Write } else { Direction::Read };
                let at = 4.0 * n as f64;
                (goes, dram.transfer(at, 0, 32, goes) - at)
            };
            let last: Vec<f64> =
                (0..100_000).map(&mut of).skip(90_000).filter(|of| of.0 == direction).map(|of| of.1).collect();
            last.iter().sum::<f64>() / last.len() as f64
        };
        let used = MOST_USED / 4.0;
        for (every, expected) in [(2, 100.0 * used), (4, 75.0 * used), (1_000_000, 0.0)] {
            let wait = waits(every, Direction::Read);
            assert!((wait - expected).abs() < 0.3, "one in {every}: {wait} instead of {expected}");
        }
        assert!(waits(2, Direction::Write) < 1e-6);
    }

    #[test]
    fn one_way_is_wider() {
        let config = DramConfig { row_cycle: 1e-9, one_way_bytes_per_clk: 80.0, ..CONFIG };
        let cycles = |writes: &dyn Fn(usize) -> bool| {
            let mut dram = Dram::new(&config, 1.0, 1.0, 1.0);
            for n in 0..100_000 {
                dram.transfer(0.0, 0, 64, if writes(n) { Direction::Write } else { Direction::Read });
            }
            dram.busy() / 100_000.0
        };
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        close(cycles(&|_| false), 0.8);
        close(cycles(&|_| true), 0.8);
        close(cycles(&|n| n % 3 == 0), 1.0);
        close(cycles(&|n| n % 2 == 0), 0.8 + 0.2 * 9.0 / 8.0);
    }
}
