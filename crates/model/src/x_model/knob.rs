//! The ten quantities that the paper's what-if operations change, one at a time (figures 4 and 8).

use super::curve::{Cache, System};
use crate::{KnobSpec, Knobs, ModelId, Unit};

/// A quantity of the model.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Knob {
    /// n: thread throttling, occupancy.
    Threads,
    /// R: cache bypassing, wider memory.
    MemoryThroughput,
    /// Z: another algorithm.
    Intensity,
    /// E: instruction-level parallelism.
    Parallelism,
    /// M: lanes.
    Lanes,
    /// L: latency of memory.
    MemoryLatency,
    /// S$: a bigger cache.
    CacheBytes,
    /// L$: a faster cache.
    CacheLatency,
    /// alpha: locality.
    Alpha,
    /// beta: locality.
    Beta,
}

/// The knobs as the model lists them, in the order of [`Knob::ALL`].
pub const KNOBS: &[KnobSpec] = &[
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.n",
        unit: Unit::Warps,
        about: "resident warps of an SM: thread throttling, occupancy",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.R",
        unit: Unit::RequestsPerCycle,
        about: "requests per cycle that memory sustains for an SM: cache bypassing, wider memory",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.Z",
        unit: Unit::One,
        about: "instructions per memory request: the algorithm",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.E",
        unit: Unit::One,
        about: "independent instructions of a warp: instruction-level parallelism",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.M",
        unit: Unit::InstructionsPerCycle,
        about: "warp instructions per cycle of the lanes of an SM",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.L",
        unit: Unit::Cycles,
        about: "latency of a request to memory that does not wait",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.cache_bytes",
        unit: Unit::Bytes,
        about: "size of the cache that the warps of an SM share",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.cache_latency",
        unit: Unit::Cycles,
        about: "latency of a request that hits the cache",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.alpha",
        unit: Unit::One,
        about: "locality: how fast the hit rate grows with a warp's share of the cache",
    },
    KnobSpec {
        model: ModelId::XModel,
        name: "x-model.beta",
        unit: Unit::Bytes,
        about: "locality: the scale of a warp's share of the cache",
    },
];

impl Knob {
    /// Every knob.
    pub const ALL: [Self; 10] = [
        Self::Threads,
        Self::MemoryThroughput,
        Self::Intensity,
        Self::Parallelism,
        Self::Lanes,
        Self::MemoryLatency,
        Self::CacheBytes,
        Self::CacheLatency,
        Self::Alpha,
        Self::Beta,
    ];

    /// Its name, unit and meaning.
    pub fn spec(self) -> &'static KnobSpec {
        &KNOBS[self as usize]
    }

    /// The paper's symbol, as in the name.
    pub fn symbol(self) -> &'static str {
        let name = self.spec().name;
        name.split_once('.').map_or(name, |(_, symbol)| symbol)
    }

    /// The knob called `name`, with or without `x-model.` before it.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|knob| knob.spec().name == name || knob.symbol() == name)
    }

    /// Its value, where the system has it: a cacheless machine has no cache size.
    pub fn value(self, system: &System) -> Option<f64> {
        let memory = system.supply.memory();
        let cache = memory.and_then(|memory| memory.cache);
        let lanes = system.computation.lanes();
        match self {
            Self::Threads => Some(system.threads),
            Self::Intensity => Some(system.intensity),
            Self::MemoryThroughput => memory.map(|memory| memory.throughput),
            Self::MemoryLatency => memory.map(|memory| memory.latency),
            Self::Parallelism => lanes.map(|lanes| lanes.parallelism),
            Self::Lanes => lanes.map(|lanes| lanes.throughput),
            Self::CacheBytes => cache.map(|cache| cache.bytes),
            Self::CacheLatency => cache.map(|cache| cache.latency),
            Self::Alpha => cache.map(|cache| cache.alpha),
            Self::Beta => cache.map(|cache| cache.beta),
        }
    }

    /// Gives it another value; nothing happens where the system does not have it.
    pub fn set(self, system: &mut System, value: f64) {
        match self {
            Self::Threads => system.threads = value,
            Self::Intensity => system.intensity = value,
            Self::Parallelism | Self::Lanes => {
                if let Some(lanes) = system.computation.lanes_mut() {
                    *if self == Self::Lanes { &mut lanes.throughput } else { &mut lanes.parallelism } = value;
                }
            }
            _ => {
                let Some(memory) = system.supply.memory_mut() else { return };
                let field = match (self, memory.cache.as_mut()) {
                    (Self::MemoryThroughput, _) => &mut memory.throughput,
                    (Self::MemoryLatency, _) => &mut memory.latency,
                    (_, None) => return,
                    (Self::CacheBytes, Some(Cache { bytes, .. })) => bytes,
                    (Self::CacheLatency, Some(Cache { latency, .. })) => latency,
                    (Self::Alpha, Some(Cache { alpha, .. })) => alpha,
                    (_, Some(Cache { beta, .. })) => beta,
                };
                *field = value;
            }
        }
    }

    /// The system with another value of this knob.
    pub fn changed(self, system: &System, value: f64) -> System {
        let mut changed = system.clone();
        self.set(&mut changed, value);
        changed
    }
}

/// The system that a question's changes make of `system`.
pub fn apply(knobs: &Knobs, system: &System) -> System {
    let mut changed = system.clone();
    for knob in Knob::ALL {
        if let Some(value) = knob.value(system) {
            knob.set(&mut changed, knobs.apply(knob.spec().name, value));
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Change;
    use crate::x_model::{Computation, Lanes, Memory, Supply};

    #[test]
    fn every_knob_turns_its_own_quantity() {
        let cache = Cache { bytes: 16384.0, latency: 20.0, alpha: 4.0, beta: 1000.0 };
        let system = System {
            threads: 60.0,
            intensity: 3.0,
            supply: Supply::Memory(Memory { latency: 400.0, throughput: 0.1, knee: None, cache: Some(cache) }),
            computation: Computation::Lanes(Lanes { throughput: 0.7, parallelism: 0.05, latency: 1.0 }),
        };
        for knob in Knob::ALL {
            let mut knobs = Knobs::default();
            knobs.set(knob.spec(), Change::Factor(2.0));
            let changed = apply(&knobs, &system);
            for other in Knob::ALL {
                let factor = if other == knob { 2.0 } else { 1.0 };
                assert_eq!(
                    other.value(&changed),
                    other.value(&system).map(|value| factor * value),
                    "{knob:?} {other:?}"
                );
            }
            assert_eq!(Knob::find(knob.spec().name), Some(knob));
            assert_eq!(Knob::find(knob.symbol()), Some(knob));
        }
        assert_eq!(KNOBS.len(), Knob::ALL.len());
    }

    #[test]
    fn a_machine_without_cache_has_no_knob_of_it() {
        let system = System {
            threads: 60.0,
            intensity: 3.0,
            supply: Supply::Memory(Memory { latency: 400.0, throughput: 0.1, knee: None, cache: None }),
            computation: Computation::Lanes(Lanes { throughput: 0.7, parallelism: 0.05, latency: 1.0 }),
        };
        assert_eq!(Knob::CacheBytes.value(&system), None);
        assert_eq!(Knob::CacheBytes.changed(&system, 5.0), system);
    }
}
