//! The object `x_model` of a prediction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Number;

/// The machine's state by the X-model. Threads and throughputs are of one SM in a prediction, and of what the file means in
/// `warplens.model`; `units` says so.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XModel {
    /// Units of what follows.
    pub units: Units,
    /// `threads`, `computation`, `memory` or `capacity`.
    pub bound: String,
    /// Threads that saturate the lanes.
    pub pi: Number,
    /// Threads that saturate memory.
    pub delta: Number,
    /// Throughput that memory comes to.
    pub plateau: Number,
    /// Peak of the cache.
    pub psi: Option<Extremum>,
    /// Minimum after it.
    pub valley: Option<Extremum>,
    /// Peak before the plateau.
    pub second_peak: Option<Extremum>,
    /// Steady states; the prediction is that of the first.
    pub intersections: Vec<Intersection>,
    /// Bounds by the number of threads.
    pub regions: Vec<Region>,
    /// Of workload and machine.
    pub parallelism: Parallelism,
    /// Quantities that a question may change.
    pub knobs: Vec<Knob>,
    /// What raises throughput, the best first.
    pub advice: Vec<Advice>,
    /// Where more threads fall off the peak.
    pub cliff: Option<Cliff>,
}

/// Units of threads and throughputs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Units {
    /// Of threads.
    pub threads: String,
    /// Of memory throughput.
    pub memory: String,
    /// Of computation throughput.
    pub computation: String,
    /// Bytes per second of the whole GPU that one unit of memory throughput means.
    pub bytes_per_second: Option<Number>,
}

/// A point of the curve of memory throughput.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extremum {
    /// Threads in the memory system.
    pub k: Number,
    /// Throughput there.
    pub memory_throughput: Number,
}

/// A steady state.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Intersection {
    /// Threads in the memory system.
    pub k: Number,
    /// Threads that compute.
    pub x: Number,
    /// Throughput of memory.
    pub memory_throughput: Number,
    /// Throughput of computation.
    pub computation_throughput: Number,
    /// `stable`, `unstable` or `touching`.
    pub stability: String,
    /// `computation`, `memory`, `both sides` or `between`.
    pub reached_from: String,
}

/// Numbers of threads with one bound.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// From so many threads.
    pub from: Number,
    /// To so many.
    pub to: Number,
    /// The bound.
    pub bound: String,
}

/// Parallelism of the workload and of the machine.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parallelism {
    /// n.
    pub tlp_workload: Number,
    /// pi + delta.
    pub tlp_machine: Number,
    /// E.
    pub ilp_workload: Option<Number>,
    /// Lanes.
    pub lanes_machine: Option<Number>,
    /// k.
    pub mlp_workload: Number,
    /// R L.
    pub mlp_machine: Number,
    /// Z.
    pub dlp_workload: Number,
    /// M / R.
    pub dlp_machine: Number,
}

/// A quantity that a question may change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Number,
    /// Its unit.
    pub unit: String,
}

/// A change that raises throughput.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Advice {
    /// What to do.
    pub change: String,
    /// The quantity.
    pub knob: String,
    /// Its value now.
    pub from: Number,
    /// Its value then.
    pub to: Number,
    /// Going further is no better.
    pub is_best: bool,
    /// Memory throughput after over before.
    pub memory_ratio: Number,
    /// Computation throughput after over before.
    pub computation_ratio: Number,
    /// What the latter cannot exceed.
    pub bound: Number,
    /// What it is bounded by.
    pub bounded_by: String,
    /// Principles that the graph shows.
    pub principles: Vec<String>,
}

/// Where more threads fall off the peak of the cache.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cliff {
    /// Threads at the peak.
    pub best_threads: Option<Number>,
    /// Where a drop is possible.
    pub possible: Option<Drop>,
    /// Where a drop is forced.
    pub forced: Option<Drop>,
    /// The largest loss.
    pub largest: Option<Number>,
}

/// A drop of throughput.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Drop {
    /// Number of threads.
    pub threads: Number,
    /// Throughput before.
    pub from: Number,
    /// Throughput after.
    pub to: Number,
}
