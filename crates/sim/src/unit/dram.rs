//! Device memory as one memory pipeline sees it: its share of the bandwidth, a latency, the channels, and a limit on what
//! may be in flight.

use std::collections::VecDeque;

use super::port::Port;
use crate::DramConfig;

/// State.
#[derive(Clone, Debug)]
pub(crate) struct Dram {
    latency: f64,
    bus: Port,
    /// Cycles per byte of this pipeline's share.
    cycles_per_byte: f64,
    channels: Option<Channels>,
    in_flight: Option<InFlight>,
    /// Bytes moved.
    pub(crate) bytes: u64,
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
    /// `share` is the part of the chip's bandwidth that this pipeline has, `of_pipeline` the part of the pipeline that the
    /// simulated SM has.
    pub(crate) fn new(config: &DramConfig, share: f64, of_pipeline: f64) -> Self {
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
        Self { latency, bus: Port::default(), cycles_per_byte, channels, in_flight, bytes: 0 }
    }

    /// First time at which the bus takes another request.
    pub(crate) const fn free_at(&self) -> f64 {
        self.bus.free_at()
    }

    /// Cycles in which the bus was busy.
    pub(crate) const fn busy(&self) -> f64 {
        self.bus.busy
    }

    /// Moves bytes; returns when the bus starts with them.
    pub(crate) fn transfer(&mut self, at: f64, address: u64, bytes: u32) -> f64 {
        let bytes_f = f64::from(bytes);
        self.bytes += u64::from(bytes);
        let at = self.in_flight.as_mut().map_or(at, |limit| limit.admit(at, bytes_f));
        let mut start = self.bus.reserve(at, bytes_f * self.cycles_per_byte);
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

    const CONFIG: DramConfig = DramConfig { latency: 400, bytes_per_clk: 64.0, channels: None, in_flight: None };

    #[test]
    fn an_idle_memory_takes_its_latency_and_a_busy_one_its_bandwidth() {
        let mut dram = Dram::new(&CONFIG, 0.5, 1.0);
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
        let mut dram = Dram::new(&DramConfig { in_flight: Some(100.0), ..CONFIG }, 1.0, 1.0);
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
            let mut dram = Dram::new(&config, 1.0, 1.0);
            (0..10_000).map(|n| dram.load(0.0, n * stride, 64)).fold(0.0, f64::max)
        };
        let (even, skewed) = (last(64), last(8 * 256));
        assert!((even / 10_400.0 - 1.0).abs() < 0.05, "{even}");
        assert!((skewed / 80_000.0 - 1.0).abs() < 0.05, "{skewed}");
        let mut dram = Dram::new(&config, 1.0, 1.0);
        assert_eq!(dram.load(0.0, 0, 128), 400.0);
        assert_eq!(dram.load(0.0, 0, 128), 402.0);
    }
}
