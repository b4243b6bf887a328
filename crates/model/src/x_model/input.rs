//! The X-model's input file: every symbol, and f(k) and g(x) as measured points.

use warplens_machine::{Key, Machine};

use super::Supply;
use super::curve::{Cache, Computation, Lanes, Memory, System};
use super::graph::Units;
use super::machine::{Width, bytes_per_second, cache_bytes, lanes_throughput, loads_pass_l1, memory};
use super::model::Answer;
use super::points::Points;
use crate::given::{Fields, points_of};
use crate::hong_kim::require_positive;
use crate::{Given, InputField, Options, Origin, Prediction, Refusal, Unit};

/// Fields of an input file.
pub(super) const INPUTS: &[InputField] = &[
    InputField { name: "n", unit: Unit::One, origin: Origin::Required, about: "threads (or warps) in the machine" },
    InputField { name: "Z", unit: Unit::One, origin: Origin::Required, about: "operations per memory request" },
    InputField {
        name: "E",
        unit: Unit::One,
        origin: Origin::Default(1.0),
        about: "independent operations of a thread",
    },
    InputField {
        name: "M",
        unit: Unit::PerCycle,
        origin: Origin::MachineBy(&[Key::LanesFp32], "{} / 32, in warp instructions per SM"),
        about: "operations per cycle of all lanes",
    },
    InputField {
        name: "lambda",
        unit: Unit::Cycles,
        origin: Origin::Derived("latency.fp32 of the GPU where M comes from it, else 1 as in the paper"),
        about: "cycles from an operation to one that needs its result",
    },
    InputField {
        name: "L",
        unit: Unit::Cycles,
        origin: Origin::MachineBy(&[Key::XModelDeltaFp32, Key::DramLatency], "{} at the achieved bandwidth, else {}"),
        about: "latency of a request that goes to memory and does not wait",
    },
    InputField {
        name: "R",
        unit: Unit::PerCycle,
        origin: Origin::MachineBy(&[Key::DramAchievedBandwidth], "{} over SMs, clock and bytes_per_request"),
        about: "requests per cycle that memory sustains",
    },
    InputField {
        name: "p",
        unit: Unit::One,
        origin: Origin::Derived("no knee: the paper's corner"),
        about: "sharpness of the knee between L and R",
    },
    InputField {
        name: "bytes_per_request",
        unit: Unit::Bytes,
        origin: Origin::Default(128.0),
        about: "bytes that a request moves, where R comes from the GPU",
    },
    InputField {
        name: "alpha",
        unit: Unit::One,
        origin: Origin::Derived("no cache"),
        about: "locality: how fast the hit rate grows with a thread's share of the cache",
    },
    InputField {
        name: "beta",
        unit: Unit::Bytes,
        origin: Origin::Derived("no cache"),
        about: "locality: the scale of that share",
    },
    InputField {
        name: "cache_bytes",
        unit: Unit::Bytes,
        origin: Origin::MachineBy(&[Key::L1Size], "{}, where alpha and beta are given and loads go through the L1"),
        about: "size of the cache",
    },
    InputField {
        name: "cache_latency",
        unit: Unit::Cycles,
        origin: Origin::MachineBy(&[Key::LatencyL1], "{}, where alpha and beta are given and loads go through the L1"),
        about: "latency of a request that hits the cache",
    },
    InputField {
        name: "f(k)",
        unit: Unit::PerCycle,
        origin: Origin::Derived("by L, R and the cache"),
        about: "memory throughput as measured, f = [[k, value], ...], in place of L, R and the cache",
    },
    InputField {
        name: "g(x)",
        unit: Unit::PerCycle,
        origin: Origin::Derived("by M, E and lambda"),
        about: "computation throughput as measured, g = [[x, value], ...], in place of M, E and lambda",
    },
    InputField {
        name: "operations",
        unit: Unit::One,
        origin: Origin::Derived("Z n: one request of every thread"),
        about: "operations to be done, by the threads of one machine (one SM)",
    },
    InputField {
        name: "clock",
        unit: Unit::Hertz,
        origin: Origin::Derived("the GPU's; without one 1 GHz, so that a nanosecond is a cycle"),
        about: "clock",
    },
];

/// Evaluates given numbers.
pub(super) fn answer(given: &Given, machine: Option<&Machine>, options: &Options) -> Result<Prediction, Refusal> {
    let mut fields = Fields::new(given, machine, options.strictness);
    let threads = fields.required("n");
    let intensity = fields.required("Z");
    let (supply, computation) = (supply(&mut fields, given, options)?, computation(&mut fields, given)?);
    let clock = match machine {
        Some(_) => fields.machine_by("clock", |reader| Ok(reader.clock()?)),
        None => fields.or("clock", 1e9),
    };
    let from_gpu = machine.is_some() && fields.optional("R").is_none();
    let bytes = fields.or("bytes_per_request", Width::Single.request_bytes());
    let units = if from_gpu {
        let per_cycle = fields.machine_by("R", bytes_per_second);
        Units::of_sm(Some(per_cycle * bytes))
    } else {
        Units::GIVEN
    };
    let operations = fields.or("operations", intensity * threads);
    let readings = fields.finish()?;
    require_positive(&[("clock", clock), ("bytes_per_request", bytes)])?;
    let system = System { threads, intensity, supply, computation };
    Answer { system, units, operations, clock }.prediction(readings)
}

/// Measured points of `name`, where there are some.
fn measured(given: &Given, name: &str) -> Result<Option<Points>, Refusal> {
    let points = points_of(given, name);
    if points.is_empty() {
        return Ok(None);
    }
    Points::new(points).map(Some).map_err(|bad| Refusal::impossible(format!("`{name}`: {bad}")))
}

fn supply(fields: &mut Fields<'_, '_>, given: &Given, options: &Options) -> Result<Supply, Refusal> {
    if let Some(points) = measured(given, "f")? {
        return Ok(Supply::Measured(points));
    }
    let bytes = fields.or("bytes_per_request", Width::Single.request_bytes());
    let width = Width::nearest(bytes / 32.0);
    let latency = fields.machine_by("L", |reader| Ok(memory(reader, width, bytes)?.latency));
    let throughput = fields.machine_by("R", |reader| Ok(memory(reader, width, bytes)?.throughput));
    let cache = cache(fields, options);
    Ok(Supply::Memory(Memory { latency, throughput, knee: fields.optional("p"), cache }))
}

/// A cache where its locality or its size is given.
fn cache(fields: &mut Fields<'_, '_>, options: &Options) -> Option<Cache> {
    let names = ["alpha", "beta", "cache_bytes", "cache_latency"];
    if names.iter().all(|name| fields.optional(name).is_none()) {
        return None;
    }
    let passes = |reader: &warplens_machine::Reader<'_>| loads_pass_l1(reader.machine().cc, options.fermi_l1);
    let none = || Refusal::impossible("global loads do not go through the L1 cache on this GPU".to_owned());
    let bytes =
        fields.machine_by("cache_bytes", |reader| if passes(reader) { cache_bytes(reader, 0.0) } else { Err(none()) });
    let latency =
        fields.machine_by(
            "cache_latency",
            |reader| {
                if passes(reader) { Ok(reader.need(Key::LatencyL1)?) } else { Err(none()) }
            },
        );
    Some(Cache { bytes, latency, alpha: fields.required("alpha"), beta: fields.required("beta") })
}

fn computation(fields: &mut Fields<'_, '_>, given: &Given) -> Result<Computation, Refusal> {
    if let Some(points) = measured(given, "g")? {
        return Ok(Computation::Measured(points));
    }
    let of_machine = fields.optional("M").is_none() && fields.machine_named().is_some();
    let throughput = fields.machine_by("M", |reader| lanes_throughput(reader, 0.0));
    let latency = if of_machine { fields.machine("lambda", Key::LatencyFp32) } else { fields.or("lambda", 1.0) };
    Ok(Computation::Lanes(Lanes { throughput, parallelism: fields.or("E", 1.0), latency }))
}
