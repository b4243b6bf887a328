//! The machine's side: L, R, M and the cache of a GPU, and the graph of the architecture alone.
//!
//! Everything is of one SM; threads are warps, requests are warp-level, operations are warp instructions.
//! - R is the achieved bandwidth over SMs, clock and the bytes of a request.
//! - L is delta/R where the machine states the paper's table II (delta warps saturate memory), else the DRAM latency.
//! - M is what the single-precision lanes start per cycle; double-precision instructions take their own lanes.
//! - lambda is the latency of a single-precision instruction.
//! - The cache is the L1, where global loads pass through it ([`loads_pass_l1`]).

use warplens_machine::{ComputeCapability, Key, Machine, Reader, Readings, Strictness};
use warplens_stats::{Reuse, ReuseHistogram};

use super::curve::{Computation, Lanes, Memory, Supply};
use super::graph::{Sample, computation_curve, supply_curve};
use crate::residency::THREADS_PER_WARP;
use crate::{FermiL1, Refusal};

/// Width of the elements that a benchmark or a kernel moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Width {
    /// 4 bytes per thread.
    Single,
    /// 8 bytes per thread.
    Double,
}

impl Width {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Single, Self::Double];

    /// Bytes per thread.
    pub const fn bytes(self) -> f64 {
        match self {
            Self::Single => 4.0,
            Self::Double => 8.0,
        }
    }

    /// Bytes of a request of a whole warp that is coalesced.
    pub const fn request_bytes(self) -> f64 {
        THREADS_PER_WARP * self.bytes()
    }

    /// The width that is nearer to a mean number of bytes per thread.
    pub fn nearest(bytes: f64) -> Self {
        if bytes > 6.0 { Self::Double } else { Self::Single }
    }
}

/// Whether global loads go through the L1 cache on a generation, without being asked to: on compute capability 2.x
/// unless it is switched off, not on 3.x and 5.x and most of 6.x (they take it only for read-only or marked loads), on
/// 6.0 and from 7.0 on.
pub const fn loads_pass_l1(cc: ComputeCapability, fermi: FermiL1) -> bool {
    match (cc.major, cc.minor) {
        (2, _) => matches!(fermi, FermiL1::On),
        (6, 0) => true,
        (major, _) => major >= 7,
    }
}

/// Bytes per second of the GPU that one byte per cycle of each of its SMs makes.
pub fn bytes_per_second(reader: &mut Reader<'_>) -> Result<f64, Refusal> {
    Ok(reader.need(Key::SmCount)? * reader.clock()?)
}

/// R and L for requests of `request_bytes`, without a cache.
pub fn memory(reader: &mut Reader<'_>, width: Width, request_bytes: f64) -> Result<Memory, Refusal> {
    let machine = reader.machine();
    let stated = |key: Key| machine.number(key).is_some();
    let per_cycle = bytes_per_second(reader)?;
    let double = width == Width::Double && stated(Key::XModelDeltaFp64) && stated(Key::XModelBandwidthFp64);
    let (delta, bandwidth) = if double {
        (Some(reader.need(Key::XModelDeltaFp64)?), reader.need(Key::XModelBandwidthFp64)?)
    } else {
        let delta = stated(Key::XModelDeltaFp32).then(|| reader.need(Key::XModelDeltaFp32)).transpose()?;
        (delta, reader.memory_bandwidth()?)
    };
    let benchmark = if double { Width::Double } else { Width::Single };
    let latency = match delta {
        // delta = R L, with R in the requests of the benchmark.
        Some(delta) => delta * per_cycle * benchmark.request_bytes() / bandwidth,
        None => reader.need(Key::DramLatency)?,
    };
    Ok(Memory { latency, throughput: bandwidth / (per_cycle * request_bytes), knee: None, cache: None })
}

/// M for a mix in which `double_share` of the instructions are double-precision: they wait for their own lanes, all
/// others for those of single precision.
pub fn lanes_throughput(reader: &mut Reader<'_>, double_share: f64) -> Result<f64, Refusal> {
    let mut per_instruction = (1.0 - double_share) * THREADS_PER_WARP / positive(reader, Key::LanesFp32)?;
    if double_share > 0.0 {
        per_instruction += double_share * THREADS_PER_WARP / positive(reader, Key::LanesFp64)?;
    }
    Ok(1.0 / per_instruction)
}

fn positive(reader: &mut Reader<'_>, key: Key) -> Result<f64, Refusal> {
    let value = reader.need(key)?;
    if value > 0.0 {
        return Ok(value);
    }
    let reason = format!("{} has no {}", reader.machine().id, key.name());
    Err(Refusal { missing: vec![key.json_name()], reason })
}

/// Bytes of the L1 that global data may take while resident CTAs hold `shared_bytes` of shared memory: all of it where
/// shared memory is apart, else what the smallest sufficient division leaves.
pub fn cache_bytes(reader: &mut Reader<'_>, shared_bytes: f64) -> Result<f64, Refusal> {
    let size = reader.need(Key::L1Size)?;
    // On 2.x the size is stated for the default division; from 7.0 on it is that of the whole.
    if reader.machine().cc.major < 7 {
        return Ok(size);
    }
    let divisions = reader.list(Key::SharedConfigurable)?;
    let carved = divisions.iter().copied().find(|division| *division >= shared_bytes);
    let carved = carved.or_else(|| divisions.last().copied()).unwrap_or(0.0);
    Ok((size - carved).max(0.0))
}

/// The reuse distances that the L1 sees: a sectored cache fetches the sectors that are asked for, an older one the line.
pub fn l1_distances<'r>(reuse: &'r Reuse, reader: &mut Reader<'_>) -> Result<&'r ReuseHistogram, Refusal> {
    Ok(if reader.need(Key::L1SectorBytes)? < 128.0 { &reuse.sectors } else { &reuse.lines })
}

/// The graph of an architecture: f for the widths of its benchmarks and g for several degrees of instruction-level
/// parallelism, on separate axes, before any workload is known (figure 10).
#[derive(Clone, PartialEq, Debug)]
pub struct Architecture {
    /// The GPU's identifier.
    pub machine: String,
    /// Warps that an SM holds at most: the length of the axis.
    pub threads: f64,
    /// f(k) for each width.
    pub supply: Vec<ArchitectureSupply>,
    /// g(x) for E = 1, 2, ...
    pub computation: Vec<ArchitectureComputation>,
    /// Bytes per second of the GPU that a byte per cycle and SM makes.
    pub bytes_per_second: f64,
    /// What was read of the machine.
    pub readings: Readings,
}

/// f(k) of an architecture.
#[derive(Clone, PartialEq, Debug)]
pub struct ArchitectureSupply {
    /// Bytes per thread.
    pub width: Width,
    /// R and L.
    pub memory: Memory,
    /// f(k) in requests per cycle and SM; times `request_bytes` in bytes.
    pub curve: Vec<Sample>,
    /// R in bytes per second of the GPU.
    pub bandwidth: f64,
}

/// g(x) of an architecture.
#[derive(Clone, PartialEq, Debug)]
pub struct ArchitectureComputation {
    /// M, E and lambda.
    pub lanes: Lanes,
    /// pi.
    pub pi: f64,
    /// g(x) in warp instructions per cycle and SM.
    pub curve: Vec<Sample>,
}

/// The graph of an architecture with E from 1 to `most_parallelism`.
pub fn architecture(machine: &Machine, most_parallelism: u32, strictness: Strictness) -> Result<Architecture, Refusal> {
    let mut reader = Reader::new(machine, strictness);
    let threads = reader.need(Key::LimitsMaxWarps)?;
    let per_cycle = bytes_per_second(&mut reader)?;
    let mut supply = Vec::new();
    for width in Width::ALL {
        let memory = memory(&mut reader, width, width.request_bytes())?;
        supply.push(ArchitectureSupply {
            width,
            memory,
            curve: supply_curve(&Supply::Memory(memory), threads),
            bandwidth: memory.throughput * width.request_bytes() * per_cycle,
        });
    }
    let throughput = lanes_throughput(&mut reader, 0.0)?;
    let latency = positive(&mut reader, Key::LatencyFp32)?;
    let computation = (1..=most_parallelism.max(1)).map(|parallelism| {
        let lanes = Lanes { throughput, parallelism: f64::from(parallelism), latency };
        let computation = Computation::Lanes(lanes);
        ArchitectureComputation { lanes, pi: computation.pi(), curve: computation_curve(&computation, threads) }
    });
    Ok(Architecture {
        machine: machine.id.clone(),
        threads,
        supply,
        computation: computation.collect(),
        bytes_per_second: per_cycle,
        readings: reader.finish(),
    })
}
