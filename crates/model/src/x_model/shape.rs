//! What the curves look like and what a state means: peak, valley and plateau, the bound, the four parallelisms, and the
//! principles by which two states compare.

use super::curve::{Supply, System};
use super::intersect::{Intersection, Stability, intersections, turn};

/// A local extremum of f.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Extremum {
    /// Where.
    pub k: f64,
    /// f there.
    pub throughput: f64,
    /// Whether f is largest there.
    pub is_peak: bool,
}

/// The landmarks of f.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Landmarks {
    /// delta: the threads that saturate memory.
    pub delta: f64,
    /// R: what f comes to in the end.
    pub plateau: f64,
    /// psi: the first local maximum below delta, where the cache serves best.
    pub psi: Option<Extremum>,
    /// The minimum after it: the cache no longer helps and memory is not busy yet.
    pub valley: Option<Extremum>,
    /// A second local maximum, at or beyond delta.
    pub second_peak: Option<Extremum>,
}

impl Landmarks {
    /// The landmarks of a curve.
    pub fn of(supply: &Supply) -> Self {
        let (delta, plateau) = match supply {
            Supply::Memory(memory) => (memory.delta(), memory.throughput),
            Supply::Measured(points) => {
                let plateau = points.last().1;
                let (mut delta, mut later) = (points.last().0, true);
                for (at, value) in points.iter().collect::<Vec<_>>().into_iter().rev() {
                    later &= (value - plateau).abs() <= PLATEAU * plateau;
                    delta = if later { at } else { delta };
                }
                (delta, plateau)
            }
        };
        let extrema = extrema(supply);
        let psi = extrema.iter().copied().find(|extremum| extremum.is_peak && extremum.k < delta);
        let valley = psi.and_then(|psi| extrema.iter().copied().find(|other| !other.is_peak && other.k > psi.k));
        let second_peak = extrema.iter().copied().find(|extremum| extremum.is_peak && extremum.k >= delta);
        Self { delta, plateau, psi, valley, second_peak }
    }

    /// The highest point of f.
    pub fn highest(&self) -> f64 {
        let peaks = self.psi.iter().chain(&self.second_peak).map(|peak| peak.throughput);
        peaks.fold(self.plateau, f64::max)
    }
}

/// How far a measured point may lie from the last one and still belong to the plateau.
const PLATEAU: f64 = 0.02;

/// Local maxima and minima of f, by the number of threads.
pub fn extrema(supply: &Supply) -> Vec<Extremum> {
    let places = match supply {
        Supply::Memory(memory) => {
            let Some(cache) = memory.cache.filter(|cache| cache.scale() > 0.0) else { return Vec::new() };
            let scales = [memory.delta(), cache.scale(), cache.bytes / cache.beta];
            let finite = || scales.into_iter().filter(|scale| scale.is_finite());
            let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(0.0, f64::max));
            places(low * 1e-4, high * 1e4, supply.corners())
        }
        Supply::Measured(points) => std::iter::once(0.0).chain(points.iter().map(|(at, _)| at)).collect(),
    };
    let mut found = Vec::new();
    let mut rising = true;
    for pair in places.windows(2) {
        // The slope at a corner is that from the right, so the left end of a piece belongs to it and the right does not.
        let (left, right) = (pair[0], pair[1] - 1e-12 * pair[1]);
        for (at, slope) in [(left, supply.slope(left)), (right, supply.slope(right))] {
            if slope == 0.0 || (slope > 0.0) == rising {
                continue;
            }
            let k = if at == left { left } else { turn(supply, left, right) };
            found.push(Extremum { k, throughput: supply.value(k), is_peak: rising });
            rising = !rising;
        }
    }
    found
}

/// Places at even ratios, and the corners.
fn places(low: f64, high: f64, corners: Vec<f64>) -> Vec<f64> {
    const PER_DECADE: f64 = 80.0;
    let steps = (libm::log10(high / low) * PER_DECADE).ceil().min(4000.0) as u32;
    let mut places: Vec<f64> =
        (0..=steps).map(|step| low * libm::pow(high / low, f64::from(step) / f64::from(steps))).collect();
    places.extend(corners);
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// What keeps a machine from doing more.
///
/// The transit model names the four; these definitions are ours.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Bound {
    /// Too few threads: neither system is saturated.
    Thread,
    /// The lanes are saturated, memory is not.
    Computation,
    /// Memory is saturated, the lanes are not.
    Memory,
    /// Both are: machine balance.
    Capacity,
}

impl Bound {
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Thread => "threads",
            Self::Computation => "computation",
            Self::Memory => "memory",
            Self::Capacity => "capacity",
        }
    }

    /// The bound with `k` threads in memory and `x` computing.
    pub fn of(k: f64, x: f64, delta: f64, pi: f64) -> Self {
        const ROUNDING: f64 = 1.0 - 1e-9;
        match (x >= pi * ROUNDING, k >= delta * ROUNDING) {
            (false, false) => Self::Thread,
            (true, false) => Self::Computation,
            (false, true) => Self::Memory,
            (true, true) => Self::Capacity,
        }
    }
}

/// Numbers of threads between which one bound holds, as long as the state lies there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Region {
    /// From this number of threads in memory.
    pub from: f64,
    /// To this one.
    pub to: f64,
    /// The bound.
    pub bound: Bound,
}

/// The parallelism that a workload brings and that a machine can use.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parallelism {
    /// Threads of the workload: n.
    pub tlp_workload: f64,
    /// The fewest threads with which a machine reaches its capacity: pi + delta.
    pub tlp_machine: f64,
    /// Independent operations of a thread: E.
    pub ilp_workload: Option<f64>,
    /// Lanes that threads and their independent operations fill together: M lambda.
    pub lanes_machine: Option<f64>,
    /// Threads in the memory system: k.
    pub mlp_workload: f64,
    /// Threads that saturate it: R L.
    pub mlp_machine: f64,
    /// Operations per request: Z.
    pub dlp_workload: f64,
    /// Operations per request at which the machine is balanced: M/R. Below it a workload is memory-bound.
    pub dlp_machine: f64,
}

/// Everything about one system.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// The system.
    pub system: System,
    /// Every intersection, by the number of threads in memory; at least one.
    pub intersections: Vec<Intersection>,
    /// The landmarks of f.
    pub landmarks: Landmarks,
    /// pi: the threads that saturate the lanes.
    pub pi: f64,
    /// The bound of the state that is reached.
    pub bound: Bound,
}

impl State {
    /// Solves a system, or says what is wrong with it.
    pub fn of(system: System) -> Result<Self, String> {
        if let Some(flaw) = system.flaw() {
            return Err(flaw);
        }
        let intersections = intersections(&system);
        let Some(first) = intersections.first().copied() else {
            return Err("demand and supply do not meet".into());
        };
        let landmarks = Landmarks::of(&system.supply);
        let pi = system.computation.pi();
        let bound = Bound::of(first.k, first.x, landmarks.delta, pi);
        Ok(Self { system, intersections, landmarks, pi, bound })
    }

    /// The state that is reached from the computation side, as a kernel reaches it, all of whose threads start there:
    /// the first intersection.
    pub fn reached(&self) -> &Intersection {
        &self.intersections[0]
    }

    /// The state that is reached when all threads wait for memory at first: the last intersection.
    pub fn reached_from_memory(&self) -> &Intersection {
        &self.intersections[self.intersections.len() - 1]
    }

    /// Whether it matters where the threads start.
    pub fn depends_on_start(&self) -> bool {
        self.intersections.len() > 1
    }

    /// Intersections that last.
    pub fn stable(&self) -> impl Iterator<Item = &Intersection> {
        self.intersections.iter().filter(|intersection| intersection.stability == Stability::Stable)
    }

    /// TLP, ILP, MLP and DLP of workload and machine.
    pub fn parallelism(&self) -> Parallelism {
        let lanes = self.system.computation.lanes();
        Parallelism {
            tlp_workload: self.system.threads,
            tlp_machine: self.pi + self.landmarks.delta,
            ilp_workload: lanes.map(|lanes| lanes.parallelism),
            lanes_machine: lanes.map(|lanes| lanes.throughput * lanes.latency),
            mlp_workload: self.reached().k,
            mlp_machine: self.landmarks.delta,
            dlp_workload: self.system.intensity,
            dlp_machine: self.system.computation.highest() / self.landmarks.plateau,
        }
    }

    /// The bounds along the axis of `k`, from 0 to n.
    pub fn regions(&self) -> Vec<Region> {
        let n = self.system.threads;
        let mut cuts = vec![self.landmarks.delta, n - self.pi];
        cuts.retain(|&k| k > 0.0 && k < n);
        cuts.push(n);
        cuts.sort_by(f64::total_cmp);
        cuts.dedup();
        let starts = std::iter::once(0.0).chain(cuts.iter().copied());
        let region = |(from, to): (f64, f64)| {
            let middle = 0.5 * (from + to);
            Region { from, to, bound: Bound::of(middle, n - middle, self.landmarks.delta, self.pi) }
        };
        starts.zip(cuts.iter().copied()).map(region).collect()
    }

    /// Whether the lanes are not saturated: on a graph, the intersection lies to the right of pi.
    pub fn is_right_of_pi(&self) -> bool {
        self.reached().x < self.pi
    }
}

/// Why a change makes a machine faster, by what a graph shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Principle {
    /// The intersection goes up: memory throughput increases.
    IntersectionUp,
    /// It goes up and Z is the same: computation throughput increases.
    SameIntensity,
    /// Z increases and the intersection lies to the right of pi: computation throughput increases.
    MoreIntensity,
}

impl Principle {
    /// The paper's number and its sentence.
    pub const fn text(self) -> &'static str {
        match self {
            Self::IntersectionUp => "principle 1: the intersection goes up, so memory throughput increases",
            Self::SameIntensity => {
                "principle 2: the intersection goes up with the same Z, so computation throughput increases"
            }
            Self::MoreIntensity => {
                "principle 3: Z increases with the intersection to the right of pi, so computation throughput increases"
            }
        }
    }
}

/// The principles that hold between two states.
pub fn principles(before: &State, after: &State) -> Vec<Principle> {
    const LEAST: f64 = 1.0 + 1e-9;
    let up = after.reached().memory_throughput > before.reached().memory_throughput * LEAST;
    let (old, new) = (before.system.intensity, after.system.intensity);
    let mut found = Vec::new();
    if up {
        found.push(Principle::IntersectionUp);
    }
    if up && old == new {
        found.push(Principle::SameIntensity);
    }
    if new > old && before.is_right_of_pi() {
        found.push(Principle::MoreIntensity);
    }
    found
}
