//! The data of X-graphs: curves as points, with everything that is marked on them. Drawing is left to others.
//!
//! The horizontal axis is k, the threads in the memory system, from 0 at the left to n at the right; x = n - k runs the
//! other way. The vertical axis is memory throughput; computation throughput is Z times that.

use super::curve::{Computation, Supply, System};
use super::knob::Knob;
use super::shape::{Landmarks, Principle, Region, State, principles};
use crate::Unit;

/// Places at which a curve is sampled, besides its landmarks.
pub const SAMPLES: u32 = 256;

/// A point of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// Threads.
    pub at: f64,
    /// Throughput.
    pub value: f64,
}

/// What the axes count.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Units {
    /// Of n, k and x.
    pub threads: Unit,
    /// Of f and d.
    pub memory: Unit,
    /// Of g.
    pub computation: Unit,
    /// Bytes per second of the whole GPU that one unit of f means, where that is known.
    pub bytes_per_second: Option<f64>,
}

impl Units {
    /// Of a system that a user gives: threads, requests and operations in units of their choice.
    pub const GIVEN: Self = Self {
        threads: Unit::Threads,
        memory: Unit::RequestsPerCycle,
        computation: Unit::OperationsPerCycle,
        bytes_per_second: None,
    };

    /// Of one SM, as predictions count.
    pub const fn of_sm(bytes_per_second: Option<f64>) -> Self {
        Self {
            threads: Unit::WarpsPerSm,
            memory: Unit::RequestsPerCyclePerSm,
            computation: Unit::WarpInstructionsPerCycle,
            bytes_per_second,
        }
    }
}

/// An X-graph: one workload on one machine.
#[derive(Clone, PartialEq, Debug)]
pub struct Graph {
    /// What the axes count.
    pub units: Units,
    /// n: the length of the horizontal axis.
    pub threads: f64,
    /// f(k).
    pub supply: Vec<Sample>,
    /// d(k) = g(n - k)/Z.
    pub demand: Vec<Sample>,
    /// The solution: intersections with their stability, landmarks of f, pi and the bound.
    pub state: State,
    /// The bounds along the axis.
    pub regions: Vec<Region>,
    /// Where demand turns on the axis: k = n - pi; outside of it when there are too few threads.
    pub pi_at: f64,
    /// The machine balance.
    pub balance: Balance,
    /// Throughput that a profiler measured, where there is one.
    pub measured: Option<f64>,
}

/// The state in which both systems do their best (figure 5).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Balance {
    /// pi + delta: the fewest threads that it takes, the machine's TLP.
    pub threads: f64,
    /// M/R: the intensity at which it is reached, the machine's DLP.
    pub intensity: f64,
    /// R: memory throughput there.
    pub memory_throughput: f64,
}

/// Samples a state.
pub fn graph(state: &State, units: Units) -> Graph {
    let system = &state.system;
    let n = system.threads;
    let mut places = even_places(n);
    let landmarks = &state.landmarks;
    let marked = landmarks.psi.iter().chain(&landmarks.valley).chain(&landmarks.second_peak).map(|mark| mark.k);
    places.extend(landmarks.psi.iter().flat_map(|psi| places_around(psi.k, n)));
    places.extend(marked.chain([landmarks.delta, n - state.pi]));
    places.extend(state.intersections.iter().map(|intersection| intersection.k));
    let places = tidy(places, n);
    let parallelism = state.parallelism();
    Graph {
        units,
        threads: n,
        supply: sampled(&places, |k| system.supply.value(k)),
        demand: sampled(&places, |k| system.demand(k)),
        regions: state.regions(),
        pi_at: n - state.pi,
        balance: Balance {
            threads: parallelism.tlp_machine,
            intensity: parallelism.dlp_machine,
            memory_throughput: landmarks.plateau,
        },
        measured: None,
        state: state.clone(),
    }
}

/// A workload before and after a change (figures 4, 8 and 12 to 17).
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// Before.
    pub before: Graph,
    /// After.
    pub after: Graph,
    /// Memory throughput after over before.
    pub memory_ratio: f64,
    /// Computation throughput after over before.
    pub computation_ratio: f64,
    /// The principles that say so.
    pub principles: Vec<Principle>,
}

/// Compares two states.
pub fn compare(before: &State, after: &State, units: Units) -> Comparison {
    let (old, new) = (before.reached(), after.reached());
    Comparison {
        before: graph(before, units),
        after: graph(after, units),
        memory_ratio: new.memory_throughput / old.memory_throughput,
        computation_ratio: new.computation_throughput / old.computation_throughput,
        principles: principles(before, after),
    }
}

/// f(k) for several values of one knob (figure 8: locality, size and latency of the cache).
#[derive(Clone, PartialEq, Debug)]
pub struct Family {
    /// What is varied.
    pub knob: Knob,
    /// A curve for each value.
    pub curves: Vec<FamilyCurve>,
}

/// f(k) for one value of a knob.
#[derive(Clone, PartialEq, Debug)]
pub struct FamilyCurve {
    /// The value.
    pub value: f64,
    /// f(k).
    pub supply: Vec<Sample>,
    /// Its landmarks.
    pub landmarks: Landmarks,
}

/// f(k) from 0 to `threads` for `values` of a knob; values of which nothing can be computed are left out.
pub fn family(system: &System, knob: Knob, values: &[f64], threads: f64) -> Family {
    let curve = |&value: &f64| {
        let changed = knob.changed(system, value);
        if changed.flaw().is_some() {
            return None;
        }
        let landmarks = Landmarks::of(&changed.supply);
        Some(FamilyCurve { value, supply: supply_curve(&changed.supply, threads), landmarks })
    };
    Family { knob, curves: values.iter().filter_map(curve).collect() }
}

/// f(k) from 0 to `threads`.
pub fn supply_curve(supply: &Supply, threads: f64) -> Vec<Sample> {
    let landmarks = Landmarks::of(supply);
    let mut places = even_places(threads);
    places.extend(landmarks.psi.iter().flat_map(|psi| places_around(psi.k, threads)));
    places.extend(landmarks.psi.iter().chain(&landmarks.valley).chain(&landmarks.second_peak).map(|mark| mark.k));
    places.extend(supply.corners());
    sampled(&tidy(places, threads), |k| supply.value(k))
}

/// g(x) from 0 to `threads`.
pub fn computation_curve(computation: &Computation, threads: f64) -> Vec<Sample> {
    let mut places = even_places(threads);
    places.extend(computation.corners());
    sampled(&tidy(places, threads), |x| computation.value(x))
}

fn even_places(n: f64) -> Vec<f64> {
    (0..=SAMPLES).map(|step| n * f64::from(step) / f64::from(SAMPLES)).collect()
}

/// More places around a peak that is narrow on the axis.
fn places_around(peak: f64, n: f64) -> Vec<f64> {
    const NARROW: f64 = 32.0;
    if peak * NARROW > n { Vec::new() } else { even_places(NARROW * peak) }
}

fn tidy(mut places: Vec<f64>, n: f64) -> Vec<f64> {
    places.retain(|at| (0.0..=n).contains(at));
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

fn sampled(places: &[f64], value: impl Fn(f64) -> f64) -> Vec<Sample> {
    places.iter().map(|&at| Sample { at, value: value(at) }).collect()
}
