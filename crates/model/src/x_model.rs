//! X-model: threads are either computing or waiting for memory, and the machine rests where demand meets supply
//! (A. Li, S. L. Song, E. Brugel, D. Chavarria-Miranda, A. Kumar and H. Corporaal, "X: A Comprehensive Analytic Model for
//! Parallel Machines", IPDPS 2016, and the transit model, HPDC 2015, on which it builds).
//!
//! Symbols: n threads, of which x compute and k = n - x are in the memory system. [`System`] holds the workload (n, Z
//! and, in [`Lanes`], E) and the machine (M in [`Lanes`]; L, R and the cache in [`Memory`]); [`State`] is its solution.
//! Names of fields stand beside the paper's symbols in their docs.
//!
//! Misprints, read as follows: kR/L in the text is k/L; the "CS transition point delta" of section III-D is pi; flow
//! balance is f(k) = g(x)/Z. The remark that L$ leaves psi in place does not hold under equation (5), see the tests. The
//! printed accuracy of 84.1 % cannot be reproduced: it rests on counters of a Tesla K40 that the paper does not print,
//! and it is of computation throughput, not of time.

pub mod advice;
pub mod curve;
pub mod fit;
pub mod graph;
mod input;
pub mod intersect;
pub mod knob;
pub mod machine;
mod model;
pub mod points;
pub mod shape;

pub use advice::{Advice, Cliff, Drop, Effect, Technique, advice, advise, best_throttle, cliff, effect, effects};
pub use curve::{Cache, Computation, Lanes, Memory, Supply, System};
pub use fit::{Fit, Form, Locality, fit, fit_locality};
pub use graph::{Balance, Comparison, Family, FamilyCurve, Graph, Sample, Units, compare, family, graph};
pub use intersect::{Intersection, Stability, intersections};
pub use knob::{KNOBS, Knob};
pub use machine::{Architecture, ArchitectureComputation, ArchitectureSupply, Width, architecture, loads_pass_l1};
pub use model::XModel;
pub use points::{BadPoints, Points};
pub use shape::{Bound, Extremum, Landmarks, Parallelism, Principle, Region, State, extrema, principles};

/// A solved system and what its axes count, as a prediction carries it.
#[derive(Clone, PartialEq, Debug)]
pub struct Solved {
    /// The solution.
    pub state: State,
    /// What the axes count.
    pub units: Units,
}

impl Solved {
    /// The X-graph.
    pub fn graph(&self) -> Graph {
        graph(&self.state, self.units)
    }

    /// Everything that raises throughput, the largest gain first.
    pub fn advice(&self) -> Vec<Advice> {
        advice(&self.state)
    }

    /// Where more threads fall off the cache peak; none without a peak.
    pub fn cliff(&self) -> Option<Cliff> {
        cliff(&self.state.system)
    }
}
