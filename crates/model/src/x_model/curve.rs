//! The two curves: what memory supplies to `k` threads, f(k), and what computation asks of memory, g(x)/Z.
//!
//! Equations (1) to (5) of the paper: with a cache a request takes `h L$ + (1 - h) L_m` cycles on the average, where the
//! hit rate of a cache that `k` threads share evenly is `h = 1 - (S$/(beta k) + 1)^-(alpha - 1)`, and `L_m = max(L, k/R)`
//! is the way to memory and its queue. Without a cache f(k) = min(k/L, R). The text prints f(k) = kR/L once; the slope 1/L
//! with the ceiling R is what its figures and MLP = R L need. `k` counts the threads in the memory system, not all.
//!
//! Ours: the knee. Memory does not turn from latency to throughput at one point; `L_m = (L^p + (k/R)^p)^(1/p)` takes
//! the place of the maximum, so that without a cache `f(k) = 1/((L/k)^p + (1/R)^p)^(1/p)`. For large p it is the paper's
//! form. And ours: `lambda`, the cycles from an instruction to one that needs its result; a thread issues E
//! instructions in them, so that g(x) = min(E x/lambda, M). With lambda = 1 it is the paper's form.

use super::points::Points;

/// A cache in front of memory, and the locality of what goes through it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cache {
    /// S$: its size.
    pub bytes: f64,
    /// L$: cycles of a hit.
    pub latency: f64,
    /// alpha: how fast the hit rate grows with the share of a thread; above 1, and 1 where nothing is used again.
    pub alpha: f64,
    /// beta: the scale of that share.
    pub beta: f64,
}

impl Cache {
    /// Equation (3): the hit rate where `k` threads share the cache.
    pub fn hit_rate(&self, k: f64) -> f64 {
        1.0 - self.miss_rate(k)
    }

    fn miss_rate(&self, k: f64) -> f64 {
        libm::pow(self.bytes / (self.beta * k) + 1.0, 1.0 - self.alpha)
    }

    /// The threads at which the hit rate changes most: where a share of the cache is what locality asks for.
    pub(super) fn scale(&self) -> f64 {
        self.bytes * (self.alpha - 1.0) / self.beta
    }
}

/// A memory system by its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Memory {
    /// L: cycles of a request while memory is not saturated.
    pub latency: f64,
    /// R: requests per cycle that memory sustains.
    pub throughput: f64,
    /// p: sharpness of the knee between the two; the paper's corner where there is none.
    pub knee: Option<f64>,
    /// The cache in front of it.
    pub cache: Option<Cache>,
}

impl Memory {
    /// L_m: cycles of a request that goes to memory while `k` threads are in the memory system (4).
    pub fn memory_latency(&self, k: f64) -> f64 {
        let queue = k / self.throughput;
        match self.knee {
            None => self.latency.max(queue),
            Some(p) => {
                // The larger one is taken out, so that no power overflows.
                let large = self.latency.max(queue);
                large * libm::pow(libm::pow(self.latency / large, p) + libm::pow(queue / large, p), 1.0 / p)
            }
        }
    }

    fn memory_latency_slope(&self, k: f64) -> f64 {
        match self.knee {
            None if k < self.latency * self.throughput => 0.0,
            None => 1.0 / self.throughput,
            Some(p) => libm::pow(k / self.throughput / self.memory_latency(k), p - 1.0) / self.throughput,
        }
    }

    /// L_k: mean cycles of a request (1).
    pub fn latency_at(&self, k: f64) -> f64 {
        let to_memory = self.memory_latency(k);
        match self.cache {
            None => to_memory,
            Some(cache) => cache.latency + (to_memory - cache.latency) * cache.miss_rate(k),
        }
    }

    fn latency_slope(&self, k: f64) -> f64 {
        let slope = self.memory_latency_slope(k);
        let Some(cache) = self.cache else { return slope };
        let share = cache.bytes / (cache.beta * k);
        let miss_slope = (cache.alpha - 1.0) * libm::pow(share + 1.0, -cache.alpha) * share / k;
        slope * cache.miss_rate(k) + (self.memory_latency(k) - cache.latency) * miss_slope
    }

    /// Share of the requests that hit, 0 without a cache.
    pub fn hit_rate(&self, k: f64) -> f64 {
        self.cache.map_or(0.0, |cache| cache.hit_rate(k))
    }

    /// delta = R L: the threads that saturate memory, its parallelism.
    pub fn delta(&self) -> f64 {
        self.latency * self.throughput
    }
}

/// f(k): requests per cycle that `k` threads get.
#[derive(Clone, PartialEq, Debug)]
pub enum Supply {
    /// By equation (2) or (5).
    Memory(Memory),
    /// As measured.
    Measured(Points),
}

impl Supply {
    /// f(k).
    pub fn value(&self, k: f64) -> f64 {
        match self {
            _ if k <= 0.0 => 0.0,
            Self::Memory(memory) => k / memory.latency_at(k),
            Self::Measured(points) => points.value(k),
        }
    }

    /// df/dk, from the right.
    pub fn slope(&self, k: f64) -> f64 {
        match self {
            Self::Memory(memory) => {
                let latency = memory.latency_at(k);
                (latency - k * memory.latency_slope(k)) / (latency * latency)
            }
            Self::Measured(points) => points.slope(k),
        }
    }

    /// The parameters, where the curve has some.
    pub fn memory(&self) -> Option<&Memory> {
        match self {
            Self::Memory(memory) => Some(memory),
            Self::Measured(_) => None,
        }
    }

    pub(super) fn memory_mut(&mut self) -> Option<&mut Memory> {
        match self {
            Self::Memory(memory) => Some(memory),
            Self::Measured(_) => None,
        }
    }

    /// Places where the curve may have a corner.
    pub(super) fn corners(&self) -> Vec<f64> {
        match self {
            Self::Memory(memory) if memory.knee.is_none() && memory.delta().is_finite() => vec![memory.delta()],
            Self::Memory(_) => Vec::new(),
            Self::Measured(points) => points.iter().map(|(at, _)| at).collect(),
        }
    }
}

/// A computation system by its parameters.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lanes {
    /// M: operations per cycle of all lanes.
    pub throughput: f64,
    /// E: operations of one thread that do not need each other.
    pub parallelism: f64,
    /// lambda: cycles from an operation to one that needs its result; 1 in the paper.
    pub latency: f64,
}

/// g(x): operations per cycle of `x` threads.
#[derive(Clone, PartialEq, Debug)]
pub enum Computation {
    /// min(E x/lambda, M).
    Lanes(Lanes),
    /// As measured.
    Measured(Points),
}

impl Computation {
    /// g(x).
    pub fn value(&self, x: f64) -> f64 {
        match self {
            _ if x <= 0.0 => 0.0,
            Self::Lanes(lanes) => (lanes.parallelism * x / lanes.latency).min(lanes.throughput),
            Self::Measured(points) => points.value(x),
        }
    }

    /// dg/dx, from the left, which is from the right on the axis of `k`.
    pub fn slope(&self, x: f64) -> f64 {
        match self {
            Self::Lanes(lanes) if x <= self.pi() => lanes.parallelism / lanes.latency,
            Self::Lanes(_) => 0.0,
            Self::Measured(points) => points.slope(x),
        }
    }

    /// M: the most that there is.
    pub fn highest(&self) -> f64 {
        match self {
            Self::Lanes(lanes) => lanes.throughput,
            Self::Measured(points) => points.highest(),
        }
    }

    /// pi: the threads that saturate the lanes.
    pub fn pi(&self) -> f64 {
        match self {
            Self::Lanes(lanes) => lanes.throughput * lanes.latency / lanes.parallelism,
            Self::Measured(points) => {
                let highest = points.highest();
                points.iter().find(|(_, value)| *value >= highest).map_or(0.0, |(at, _)| at)
            }
        }
    }

    /// The parameters, where the curve has some.
    pub fn lanes(&self) -> Option<&Lanes> {
        match self {
            Self::Lanes(lanes) => Some(lanes),
            Self::Measured(_) => None,
        }
    }

    pub(super) fn lanes_mut(&mut self) -> Option<&mut Lanes> {
        match self {
            Self::Lanes(lanes) => Some(lanes),
            Self::Measured(_) => None,
        }
    }

    pub(super) fn corners(&self) -> Vec<f64> {
        match self {
            Self::Lanes(_) => vec![self.pi()],
            Self::Measured(points) => points.iter().map(|(at, _)| at).collect(),
        }
    }
}

/// A workload on a machine: all that the model knows of one SM.
///
/// Units are free but must agree. Predictions count warps, warp instructions and warp-level requests per SM.
#[derive(Clone, PartialEq, Debug)]
pub struct System {
    /// n: threads in the machine.
    pub threads: f64,
    /// Z: operations between two requests of a thread.
    pub intensity: f64,
    /// f(k).
    pub supply: Supply,
    /// g(x).
    pub computation: Computation,
}

impl System {
    /// d(k) = g(n - k)/Z: what computation asks of memory while `k` threads are there.
    pub fn demand(&self, k: f64) -> f64 {
        self.computation.value(self.threads - k) / self.intensity
    }

    /// dd/dk, from the right.
    pub fn demand_slope(&self, k: f64) -> f64 {
        -self.computation.slope(self.threads - k) / self.intensity
    }

    /// What is wrong with the numbers, as a clause; nothing where the equations have a solution.
    pub fn flaw(&self) -> Option<String> {
        let mut numbers = vec![("n", self.threads), ("Z", self.intensity)];
        if let Some(memory) = self.supply.memory() {
            numbers.extend([("L", memory.latency), ("R", memory.throughput)]);
            numbers.extend(memory.knee.map(|p| ("p", p)));
            if let Some(cache) = memory.cache {
                numbers.extend([("cache_latency", cache.latency), ("beta", cache.beta)]);
                if cache.alpha.is_nan() || cache.alpha < 1.0 {
                    return Some(format!("alpha is {}, and a hit rate needs at least 1", cache.alpha));
                }
                if cache.bytes.is_nan() || cache.bytes < 0.0 {
                    return Some(format!("cache_bytes is {}", cache.bytes));
                }
            }
        }
        if let Some(lanes) = self.computation.lanes() {
            numbers.extend([("M", lanes.throughput), ("E", lanes.parallelism), ("lambda", lanes.latency)]);
        } else if self.computation.highest() <= 0.0 {
            return Some("no point of g(x) is above 0".into());
        }
        let bad = numbers.into_iter().find(|(_, number)| number.is_nan() || *number <= 0.0);
        bad.map(|(name, number)| format!("{name} is {number}, and there is no steady state unless it is above 0"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(knee: Option<f64>, cache: bool) -> Memory {
        let cache = cache.then_some(Cache { bytes: 16384.0, latency: 20.0, alpha: 4.0, beta: 1000.0 });
        Memory { latency: 400.0, throughput: 0.1, knee, cache }
    }

    #[test]
    fn slopes_are_those_of_the_curves() {
        for supply in [memory(None, false), memory(None, true), memory(Some(2.5), false), memory(Some(0.8), true)]
            .map(Supply::Memory)
        {
            for k in [0.5, 4.0, 11.0, 25.0, 39.0, 41.0, 60.0, 200.0] {
                let numeric = (supply.value(k + 1e-4) - supply.value(k - 1e-4)) / 2e-4;
                assert!((supply.slope(k) - numeric).abs() < 1e-7, "{supply:?} at {k}: {} {numeric}", supply.slope(k));
            }
        }
    }

    #[test]
    fn a_sharp_knee_is_the_papers_corner() {
        let (corner, knee) = (Supply::Memory(memory(None, false)), Supply::Memory(memory(Some(200.0), false)));
        for k in [1.0, 20.0, 39.0, 41.0, 80.0] {
            assert!((corner.value(k) / knee.value(k) - 1.0).abs() < 4e-3);
            assert!(knee.value(k) <= corner.value(k) * (1.0 + 1e-12));
        }
    }

    #[test]
    fn without_reuse_a_cache_changes_nothing() {
        let plain = Supply::Memory(memory(None, false));
        let mut useless = memory(None, true);
        useless.cache.as_mut().unwrap().alpha = 1.0;
        for k in [1.0, 20.0, 60.0] {
            assert!((plain.value(k) - Supply::Memory(useless).value(k)).abs() < 1e-15);
        }
    }
}
