//! What is measured to find each parameter, in the order in which parameters are fitted: a step reads those before it.

use warplens_base::error::Result;
use warplens_launch::{Launch, LaunchArgument};
use warplens_machine::words::L1GlobalLoads;
use warplens_session::machines::{Key, Machine, Strictness};

/// A parameter and the launches whose times tell it.
#[derive(Debug)]
pub struct Step {
    /// The parameter.
    pub key: Key,
    /// What the launches do, as a clause.
    pub what: &'static str,
    /// Whether the GPU has what the parameter is about.
    pub applies: fn(&Shape) -> bool,
    /// The launches.
    pub points: fn(&Shape) -> Vec<Point>,
}

// A step is told by its parameter: no two are of the same.
impl PartialEq for Step {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Step {
    /// Its name, in tables of measured times: that of the parameter.
    pub const fn name(&self) -> &'static str {
        self.key.name()
    }

    /// The step of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        STEPS.iter().find(|step| step.name() == name)
    }
}

/// What of a GPU decides how the benchmarks are launched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Shape {
    /// SMs.
    pub sms: u64,
    /// Threads that an SM holds.
    pub threads: u64,
    /// Bytes of the L1 cache; 0 where loads of device memory pass it by.
    pub l1_bytes: u64,
    /// Bytes of the L2 cache; 0 where there is none.
    pub l2_bytes: u64,
    /// There is double precision.
    pub has_fp64: bool,
}

impl Shape {
    /// Of a GPU.
    pub fn of(machine: &Machine) -> std::result::Result<Self, warplens_machine::Missing> {
        let mut reader = warplens_machine::Reader::new(machine, Strictness::AllowInferred);
        let l1_bytes = reader.need(Key::L1Size)? as u64;
        let holds_loads = l1_bytes > 0 && reader.word::<L1GlobalLoads>()? == L1GlobalLoads::Yes;
        Ok(Self {
            sms: reader.need(Key::SmCount)? as u64,
            threads: reader.need(Key::LimitsMaxThreads)? as u64,
            l1_bytes: if holds_loads { l1_bytes } else { 0 },
            l2_bytes: reader.need(Key::L2Size)? as u64,
            has_fp64: reader.need(Key::LanesFp64)? > 0.0,
        })
    }

    /// CTAs of 256 threads that fill all SMs.
    pub(super) const fn full_grid(&self) -> u64 {
        self.sms * (self.threads / 256)
    }

    /// Bytes of a buffer of which no cache holds more than half.
    pub(super) fn beyond_caches(&self) -> u64 {
        (2 * self.l2_bytes).next_power_of_two().max(32 << 20)
    }
}

/// A launch of a benchmark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Point {
    /// The kernel.
    pub kernel: &'static str,
    /// CTAs.
    pub grid: u64,
    /// Threads of a CTA.
    pub block: u64,
    /// Its arguments, as launches are written.
    pub arguments: Vec<String>,
}

impl Point {
    pub(super) fn new(kernel: &'static str, (grid, block): (u64, u64), arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { kernel, grid, block, arguments }
    }

    /// As a launch of the project's kernels.
    pub fn launch(&self) -> Result<Launch> {
        let argument = |text: &String| LaunchArgument::parse(self.kernel, text);
        let extent = |n: u64| Some([u32::try_from(n).unwrap_or(u32::MAX), 1, 1]);
        Ok(Launch {
            kernel: Some(self.kernel.to_owned()),
            grid: extent(self.grid),
            block: extent(self.block),
            arguments: self.arguments.iter().map(argument).collect::<Result<_>>()?,
            ..Launch::default()
        })
    }
}

/// Rounds of the points of one step: several lengths, so that what a launch takes beside its rounds shows, and so that
/// their noise averages out.
const ROUNDS: [u64; 8] = [24, 32, 40, 48, 56, 64, 72, 80];
/// More of the same, where a percent of the parameter is less than a percent of the times, so that more noise is in the way.
const MORE_ROUNDS: [u64; 24] = {
    let mut rounds = [0; 24];
    let mut at = 0;
    while at < 24 {
        rounds[at] = 24 + 3 * at as u64;
        at += 1;
    }
    rounds
};

/// A chain of one warp.
fn chain(kernel: &'static str, results: &str) -> Vec<Point> {
    let point = |rounds: u64| Point::new(kernel, (1, 32), &[results, "1", &rounds.to_string()]);
    ROUNDS.map(point).into()
}

/// All SMs full of threads that keep a unit busy.
fn stream(kernel: &'static str, shape: &Shape, word: &str) -> Vec<Point> {
    let grid = shape.full_grid();
    let results = format!("{word}[{}]", grid * 256);
    let point = |rounds: u64| Point::new(kernel, (grid, 256), &[&results, "1", &(rounds / 8).to_string()]);
    ROUNDS.map(point).into()
}

/// A chain of loads through a buffer of so many bytes, a power of two, with a distance in bytes from one to the next.
fn chase(bytes: u64, distance: u64, rounds: impl Fn(u64) -> u64) -> Vec<Point> {
    let words = bytes / 4;
    let point = |times: u64| {
        let (buffer, mask, stride) = (format!("s32[{words}]"), (words - 1).to_string(), (distance / 4).to_string());
        Point::new("chain_global", (1, 32), &["s32[32]", &buffer, &mask, &stride, &rounds(times).to_string()])
    };
    MORE_ROUNDS.map(point).into()
}

/// Reads by so many CTAs of so many threads out of a buffer of so many bytes, a power of two; from round to round a CTA goes
/// on by `turn` of the pieces that it reads in one.
fn reads((ctas, threads): (u64, u64), bytes: u64, turn: u64, rounds: impl Fn(u64) -> u64) -> Vec<Point> {
    let vectors = bytes / 16;
    let point = |times: u64| {
        let (results, buffer) = (format!("f32[{}]", ctas * threads), format!("f32[{}]", 4 * vectors));
        let (mask, turn) = ((vectors - 1).to_string(), turn.to_string());
        Point::new("stream_read", (ctas, threads), &[&results, &buffer, &mask, &turn, &rounds(times).to_string()])
    };
    ROUNDS.map(point).into()
}

/// Rounds in which so many threads read a buffer of so many bytes once: four vectors each.
fn once(bytes: u64, threads: u64) -> u64 {
    (bytes / 64 / threads).max(1)
}

/// Loads that are 4096 bytes apart, as many as there is room for.
pub(super) fn far_loads(shape: &Shape) -> Vec<Point> {
    chase(shape.beyond_caches(), 4096, |times| times * 4)
}

/// The triad of three arrays, of which the shortest are as long together as the buffer that no cache holds.
fn triads(shape: &Shape) -> Vec<Point> {
    let least = shape.beyond_caches() / 16 / 256 / 3;
    let point = |times: u64| {
        let ctas = least * times / ROUNDS[0];
        let array = format!("f32[{}]", ctas * 256 * 4);
        Point::new("stream_triad", (ctas, 256), &[&array, &array, &array, "2"])
    };
    // Without a cache the channels of the memory take turns, which is in the way of its bandwidth.
    if has_no_l2(shape) { MORE_ROUNDS.map(point).into() } else { ROUNDS.map(point).into() }
}

/// A buffer that lies in the L2 cache and in no L1 cache, small enough to be read many times.
fn within_l2(shape: &Shape) -> u64 {
    (shape.l2_bytes / 64).max(2 * shape.l1_bytes).max(64 << 10).next_power_of_two()
}

const fn always(_: &Shape) -> bool {
    true
}

const fn has_fp64(shape: &Shape) -> bool {
    shape.has_fp64
}

const fn has_l2(shape: &Shape) -> bool {
    shape.l2_bytes > 0
}

/// Compute capability 1.x, where the models take the bandwidth at its peak.
const fn has_no_l2(shape: &Shape) -> bool {
    shape.l2_bytes == 0
}

const fn has_l1(shape: &Shape) -> bool {
    shape.l1_bytes > 0
}

macro_rules! steps {
    ($($key:ident $applies:ident $what:literal $points:expr;)*) => {
        /// Every step.
        pub const STEPS: &[Step] =
            &[$(Step { key: Key::$key, what: $what, applies: $applies, points: $points }),*];
    };
}

steps! {
    LatencyFp32 always "a chain of multiply-adds in single precision by one warp" |_| chain("chain_fp32", "f32[32]");
    LatencyInt32 always "a chain of bitwise operations by one warp" |_| chain("chain_int32", "s32[32]");
    LatencyInt32Mul always "a chain of integer multiply-adds by one warp" |_| chain("chain_int32_mul", "s32[32]");
    LatencyFp64 has_fp64 "a chain of multiply-adds in double precision by one warp" |_| chain("chain_fp64", "f64[32]");
    LatencySfu always "a chain of reciprocal square roots by one warp" |_| chain("chain_sfu", "f32[32]");
    LatencyShared always "a chain of loads from shared memory by one warp" |_| {
        let point = |rounds: u64| Point::new("chain_shared", (1, 32), &["s32[32]", "0", &rounds.to_string()]);
        MORE_ROUNDS.map(point).into()
    };
    LanesFp32 always "independent multiply-adds in single precision on full SMs" |shape| stream("stream_fp32", shape, "f32");
    LanesInt32Add always "independent bitwise operations on full SMs" |shape| stream("stream_int32", shape, "s32");
    LanesInt32Mul always "independent integer multiply-adds on full SMs" |shape| stream("stream_int32_mul", shape, "s32");
    LanesFp64 has_fp64 "independent multiply-adds in double precision on full SMs" |shape| stream("stream_fp64", shape, "f64");
    LanesSfu always "independent reciprocal square roots on full SMs" |shape| stream("stream_sfu", shape, "f32");
    SharedPassCycles always "loads from shared memory with four to sixteen words of a bank each on full SMs" |shape| {
        let grid = shape.full_grid();
        let results = format!("f32[{}]", grid * 256);
        let strides = [(4, 8), (4, 12), (8, 6), (8, 8), (8, 10), (16, 4), (16, 5), (16, 6)];
        let point = |(stride, rounds): (u64, u64)| {
            let (stride, rounds) = (stride.to_string(), rounds.to_string());
            Point::new("stream_shared", (grid, 256), &[&results, &stride, &rounds])
        };
        strides.map(point).into()
    };
    DramLatency has_l2 "a chain of loads by one warp, none of them from a line that was loaded before" far_loads;
    TegMemoryLatency has_no_l2 "a chain of loads by one warp, none of them from a line that was loaded before" far_loads;
    LatencyL2 has_l2 "a chain of loads by one warp, in rounds through a part of the L2 cache" |shape| {
        let lines = within_l2(shape) / 128;
        // Between four and fourteen times through the buffer, of 16 loads a round.
        chase(within_l2(shape), 128, move |times| times * lines / 16 / 6)
    };
    LatencyL1 has_l1 "a chain of loads by one warp, in rounds through a part of the L1 cache" |_| chase(4096, 128, |times| times * 2);
    DramAchievedBandwidth has_l2 "sums of arrays that no cache holds" triads;
    DramPeakBandwidth has_no_l2 "sums of arrays" triads;
    DramOneWayBandwidth has_l2 "reads of an array that no cache holds, by full SMs" |shape| {
        let (bytes, grid) = (shape.beyond_caches(), (shape.full_grid(), 256));
        let once = once(bytes, grid.0 * grid.1);
        reads(grid, bytes, grid.0, move |times| (once * times / 80).max(1))
    };
    L2SmBytesPerClk has_l2 "reads of a part of the L2 cache by one CTA of 1024 threads" |shape| {
        let bytes = within_l2(shape);
        let once = once(bytes, 1024);
        reads((1, 1024), bytes, 1, move |times| once * times / 6)
    };
    L2AchievedBandwidth has_l2 "reads of a part of the L2 cache by full SMs, each of which goes through all of it" |shape| {
        let grid = (shape.full_grid(), 256);
        // An odd number of pieces, so that a CTA comes to all of them, and none while an L1 cache still holds it.
        reads(grid, (shape.l2_bytes / 4).next_power_of_two(), 7, |times| times)
    };
    LatencyBarrier always "barriers of one CTA, one after the other" |_| {
        // Two warps, so that little of a round is their arrival.
        let point = |rounds: u64| Point::new("chain_barrier", (1, 64), &["s32[64]", &rounds.to_string()]);
        MORE_ROUNDS.map(point).into()
    };
    L2AtomicCycles has_l2 "additions of all SMs to one word" |shape| {
        let sms = shape.sms;
        let point = |rounds: u64| Point::new("stream_atomic", (sms, 32), &["s32[1]", &(rounds / 3).to_string()]);
        MORE_ROUNDS.map(point).into()
    };
}
