//! Device memory as one memory pipeline sees it: its share of the bandwidth, a latency, the channels, and a limit on what
//! may be in flight.

use std::collections::VecDeque;

use super::port::Port;
use super::share::Share;
use crate::DramConfig;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct Dram {
    latency: f64,
    bus: Share,
    load: Option<Load>,
    /// Cycles per byte of this pipeline's share.
    cycles_per_byte: f64,
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

/// How busy the memory is, and what follows for its banks: a request waits for the row cycle of one that came before to
/// its bank. Of requests that arrive at random at a server of constant service time one waits on average for
/// `s u / (2 (1 - u))` where the server is busy for a share `u` of the time (Pollaczek and Khinchine).
#[derive(Clone, Debug)]
struct Load {
    row_cycle: f64,
    /// Cycles over which the load is taken.
    window: f64,
    first: f64,
    /// Begin of the current window.
    since: f64,
    /// Busy cycles in the window before and in the current one.
    before: f64,
    now: f64,
}

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
        let cycles_per_byte = if config.bytes_per_clk.is_finite() { 1.0 / (config.bytes_per_clk * share) } else { 0.0 };
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
        let load = (config.row_cycle > 0.0 && cycles_per_byte > 0.0).then(|| Load::new(config.row_cycle, latency));
        Self { latency, bus, load, cycles_per_byte, channels, in_flight, bytes: 0, is_stopped: false }
    }

    /// Lets bytes move at no cost of time; or not any more.
    pub(crate) const fn stop_clock(&mut self, is_stopped: bool) {
        self.is_stopped = is_stopped;
    }

    /// First time at which the bus takes another request.
    pub(crate) const fn free_at(&self) -> f64 {
        self.bus.free_at()
    }

    /// Cycles that so many bytes take on the bus.
    pub(crate) fn cycles(&self, bytes: u64) -> f64 {
        bytes as f64 * self.cycles_per_byte
    }

    /// Cycles in which the bus was busy.
    pub(crate) const fn busy(&self) -> f64 {
        self.bus.busy
    }

    /// Moves bytes; returns when the bus starts with them.
    pub(crate) fn transfer(&mut self, at: f64, address: u64, bytes: u32) -> f64 {
        let bytes_f = f64::from(bytes);
        self.bytes += u64::from(bytes);
        if self.is_stopped {
            return at;
        }
        let at = self.in_flight.as_mut().map_or(at, |limit| limit.admit(at, bytes_f));
        let cycles = bytes_f * self.cycles_per_byte;
        let mut start = self.bus.reserve(at, cycles);
        if let Some(load) = &mut self.load {
            start = start.max(at + load.wait(at, cycles));
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
        self.transfer(at, address, bytes) + self.latency
    }
}

impl Load {
    fn new(row_cycle: f64, latency: f64) -> Self {
        let (window, first) = (LOAD_WINDOW * latency, FIRST_WINDOW * latency);
        Self { row_cycle, window, first, since: 0.0, before: 0.0, now: 0.0 }
    }

    /// How long a request that arrives at `at` waits for its bank; the request itself counts from then on.
    fn wait(&mut self, at: f64, cycles: f64) -> f64 {
        if at >= self.since + self.window {
            let next = at < self.since + 2.0 * self.window;
            self.before = if next { self.now } else { 0.0 };
            self.since = if next { self.since + self.window } else { at };
            self.now = 0.0;
        }
        let passed = (at - self.since).max(0.0);
        // Before the first window is over, what there was is all that is known.
        let (busy, time) = if self.since == 0.0 {
            (self.now, passed.max(self.first))
        } else {
            (self.now + self.before * (1.0 - passed / self.window), self.window)
        };
        self.now += cycles;
        let used = (busy / time).min(1.0) * MOST_USED;
        self.row_cycle * used / (2.0 * (1.0 - used))
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

    const CONFIG: DramConfig =
        DramConfig { latency: 400, bytes_per_clk: 64.0, row_cycle: 0.0, channels: None, in_flight: None };

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
    fn a_busy_memory_delays_even_where_its_bandwidth_suffices() {
        // Requests of one cycle each at every `every`-th cycle; how long the last ones wait on average.
        let wait = |every: f64| {
            let config = DramConfig { row_cycle: 50.0, ..CONFIG };
            let mut dram = Dram::new(&config, 0.5, 1.0, 1.0);
            let waits = (0..100_000).map(|n| f64::from(n) * every).map(|at| dram.transfer(at, 0, 32) - at);
            waits.skip(90_000).sum::<f64>() / 10_000.0
        };
        let expected = |used: f64| 50.0 * used / (2.0 * (1.0 - used));
        for every in [20.0, 4.0, 2.0, 1.25] {
            let (wait, expected) = (wait(every), expected(MOST_USED / every));
            assert!((wait / expected - 1.0).abs() < 0.01, "every {every}: {wait} instead of {expected}");
        }
    }
}
