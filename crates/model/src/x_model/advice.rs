//! What to change: every knob tried, what raises nothing dropped, the rest bounded and ranked; and where more threads
//! make a machine slower at once.

use super::curve::System;
use super::intersect::smallest;
use super::knob::Knob;
use super::shape::{Landmarks, Principle, State, extrema, principles};

/// What a small change of a knob does.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Effect {
    /// The knob.
    pub knob: Knob,
    /// Its value before.
    pub from: f64,
    /// Its value after.
    pub to: f64,
    /// Memory throughput after over before.
    pub memory_ratio: f64,
    /// Computation throughput after over before.
    pub computation_ratio: f64,
}

/// The effect of every knob, up and down by `step` (0.1 for a tenth).
pub fn effects(state: &State, step: f64) -> Vec<Effect> {
    let tried = Knob::ALL.into_iter().flat_map(|knob| {
        let value = knob.value(&state.system);
        value
            .into_iter()
            .flat_map(move |value| [1.0 + step, 1.0 - step].map(|factor| effect(state, knob, factor * value)))
    });
    tried.flatten().collect()
}

/// The effect of another value of one knob; none where nothing can be computed of it.
pub fn effect(state: &State, knob: Knob, to: f64) -> Option<Effect> {
    let from = knob.value(&state.system)?;
    let after = State::of(knob.changed(&state.system, to)).ok()?;
    let (old, new) = (state.reached(), after.reached());
    Some(Effect {
        knob,
        from,
        to,
        memory_ratio: new.memory_throughput / old.memory_throughput,
        computation_ratio: new.computation_throughput / old.computation_throughput,
    })
}

/// A way to make a kernel faster.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Technique {
    /// Fewer threads at a time.
    Throttle,
    /// More threads at a time.
    MoreThreads,
    /// Requests pass the cache, which leaves it to the others, or memory is wider.
    Bypass,
    /// More operations per request.
    MoreIntensity,
    /// Fewer independent operations in flight.
    LessParallelism,
    /// More independent operations in flight.
    MoreParallelism,
    /// More lanes.
    MoreLanes,
    /// Less latency of memory.
    FasterMemory,
    /// A bigger cache.
    BiggerCache,
    /// A faster cache.
    FasterCache,
    /// Better locality: the hit rate grows faster with a thread's share.
    SteeperLocality,
    /// Better locality: a smaller share serves as well.
    SmallerWorkingSet,
}

impl Technique {
    /// Every technique.
    pub const ALL: [Self; 12] = [
        Self::Throttle,
        Self::MoreThreads,
        Self::Bypass,
        Self::MoreIntensity,
        Self::LessParallelism,
        Self::MoreParallelism,
        Self::MoreLanes,
        Self::FasterMemory,
        Self::BiggerCache,
        Self::FasterCache,
        Self::SteeperLocality,
        Self::SmallerWorkingSet,
    ];

    /// The knob that it turns.
    pub const fn knob(self) -> Knob {
        match self {
            Self::Throttle | Self::MoreThreads => Knob::Threads,
            Self::Bypass => Knob::MemoryThroughput,
            Self::MoreIntensity => Knob::Intensity,
            Self::LessParallelism | Self::MoreParallelism => Knob::Parallelism,
            Self::MoreLanes => Knob::Lanes,
            Self::FasterMemory => Knob::MemoryLatency,
            Self::BiggerCache => Knob::CacheBytes,
            Self::FasterCache => Knob::CacheLatency,
            Self::SteeperLocality => Knob::Alpha,
            Self::SmallerWorkingSet => Knob::Beta,
        }
    }

    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throttle => "fewer threads (throttling)",
            Self::MoreThreads => "more threads",
            Self::Bypass => "more memory throughput (cache bypassing)",
            Self::MoreIntensity => "more operations per request",
            Self::LessParallelism => "less instruction-level parallelism",
            Self::MoreParallelism => "more instruction-level parallelism",
            Self::MoreLanes => "more lanes",
            Self::FasterMemory => "less memory latency",
            Self::BiggerCache => "a bigger cache",
            Self::FasterCache => "a faster cache",
            Self::SteeperLocality => "better locality (alpha)",
            Self::SmallerWorkingSet => "a smaller working set (beta)",
        }
    }

    const fn raises(self) -> bool {
        !matches!(
            self,
            Self::Throttle | Self::LessParallelism | Self::FasterMemory | Self::FasterCache | Self::SmallerWorkingSet
        )
    }
}

/// A technique that makes a kernel faster, and how far it goes.
#[derive(Clone, PartialEq, Debug)]
pub struct Advice {
    /// What to do.
    pub technique: Technique,
    /// The knob's value now.
    pub from: f64,
    /// The best value where there is one; else twice (or half) the present one.
    pub to: f64,
    /// Whether going further than `to` makes nothing faster, or slower again.
    pub is_best: bool,
    /// Memory throughput after over before.
    pub memory_ratio: f64,
    /// Computation throughput after over before.
    pub computation_ratio: f64,
    /// Computation throughput over now that the technique cannot exceed, however far it goes.
    pub bound: f64,
    /// What sets that bound.
    pub bounded_by: &'static str,
    /// The principles that the graph shows.
    pub principles: Vec<Principle>,
}

/// A gain below this share is none.
const LEAST_GAIN: f64 = 1e-3;
/// How far a knob is turned to see what it can do at most.
const FAR: f64 = 1e6;

/// Everything that raises throughput, the largest gain first.
pub fn advice(state: &State) -> Vec<Advice> {
    let mut found: Vec<Advice> = Technique::ALL.into_iter().filter_map(|technique| advise(state, technique)).collect();
    found.sort_by(|left, right| right.computation_ratio.total_cmp(&left.computation_ratio));
    found
}

/// The best that one technique does; none where it raises nothing.
pub fn advise(state: &State, technique: Technique) -> Option<Advice> {
    let knob = technique.knob();
    let from = knob.value(&state.system)?;
    let to = |factor: f64| match knob {
        // A hit rate needs alpha above 1, so that alpha - 1 is what is scaled.
        Knob::Alpha => 1.0 + factor * (from - 1.0),
        _ => factor * from,
    };
    let gain = |factor: f64| effect(state, knob, to(factor)).map_or(0.0, |effect| effect.computation_ratio);
    let step = if technique.raises() { 2.0 } else { 0.5 };
    let mut factor = step;
    let mut is_best = false;
    match technique {
        Technique::Bypass => {
            // The best bypass lifts R to the peak's height (figure 15).
            let Landmarks { plateau, .. } = state.landmarks;
            let peak = state.landmarks.highest() / plateau;
            if peak > 1.0 + LEAST_GAIN {
                (factor, is_best) = (peak, true);
            }
        }
        Technique::Throttle => (factor, is_best) = (best_throttle(state)? / from, true),
        Technique::LessParallelism => {
            (factor, is_best) = (best_factor(&gain, 1e-2, 1.0), true);
        }
        Technique::MoreThreads | Technique::MoreParallelism => {
            let best = best_factor(&gain, 1.0, 64.0);
            if gain(best) > gain(64.0) * (1.0 + LEAST_GAIN) {
                (factor, is_best) = (best, true);
            }
        }
        _ => {}
    }
    let after = effect(state, knob, to(factor))?;
    if after.computation_ratio < 1.0 + LEAST_GAIN {
        return None;
    }
    let (bound, bounded_by) = bound(state, technique, gain(if technique.raises() { FAR } else { 1.0 / FAR }));
    let changed = State::of(knob.changed(&state.system, after.to)).ok()?;
    Some(Advice {
        technique,
        from,
        to: after.to,
        is_best,
        memory_ratio: after.memory_ratio,
        computation_ratio: after.computation_ratio,
        bound: bound.max(after.computation_ratio),
        bounded_by,
        principles: principles(state, &changed),
    })
}

/// What a technique cannot exceed: psi, R or the lanes.
fn bound(state: &State, technique: Technique, far: f64) -> (f64, &'static str) {
    let now = state.reached().computation_throughput;
    let lanes = state.system.computation.highest() / now;
    let peak = state.system.intensity * state.landmarks.highest() / now;
    let (bound, by) = match technique {
        Technique::Throttle | Technique::LessParallelism | Technique::MoreThreads | Technique::MoreParallelism => {
            (peak, "the highest point of f")
        }
        Technique::Bypass if state.landmarks.psi.is_some() => (peak, "the height of the cache peak"),
        _ => (far, "this knob alone, however far it is turned"),
    };
    if lanes <= bound { (lanes, "the lanes (M)") } else { (bound, by) }
}

/// The best factor between two, on a grid of ratios and then between its points; the one nearest to 1 of equals.
fn best_factor(gain: &impl Fn(f64) -> f64, low: f64, high: f64) -> f64 {
    const STEPS: u32 = 48;
    let place = |step: u32| low * libm::pow(high / low, f64::from(step) / f64::from(STEPS));
    let mut best = (1.0, gain(1.0));
    for step in 0..=STEPS {
        let (factor, found) = (place(step), gain(place(step)));
        let nearer = libm::log(factor).abs() < libm::log(best.0).abs();
        if found > best.1 * (1.0 + 1e-9) || (found > best.1 * (1.0 - 1e-9) && nearer) {
            best = (factor, found);
        }
    }
    let width = libm::pow(high / low, 1.0 / f64::from(STEPS));
    let refined = smallest((best.0 / width).max(low), (best.0 * width).min(high), |factor| -gain(factor));
    if gain(refined) > best.1 * (1.0 + 1e-9) { refined } else { best.0 }
}

/// The number of threads, at least one, with which demand passes the highest point that fewer threads than now can reach
/// (figure 14); none where fewer threads raise nothing.
pub fn best_throttle(state: &State) -> Option<f64> {
    let system = &state.system;
    let now = state.reached().memory_throughput;
    let most = system.computation.highest() / system.intensity;
    let peaks = extrema(&system.supply).into_iter().filter(|extremum| extremum.is_peak);
    // Where the lanes cannot ask for as much as the peak gives, the rising side below it does as well.
    let candidates = peaks.filter_map(|peak| {
        let k = if peak.throughput <= most { peak.k } else { rising_to(system, peak.k, most) };
        let threads = (k + computing(system, peak.throughput.min(most))?).max(1.0);
        let changed = State::of(Knob::Threads.changed(system, threads)).ok()?;
        (threads < system.threads).then_some((threads, changed.reached().memory_throughput))
    });
    let best = candidates.max_by(|left, right| left.1.total_cmp(&right.1).then(right.0.total_cmp(&left.0)));
    best.filter(|(_, throughput)| *throughput > now * (1.0 + LEAST_GAIN)).map(|(threads, _)| threads)
}

/// Threads that must compute to ask for `throughput`; none where no number of them does.
fn computing(system: &System, throughput: f64) -> Option<f64> {
    let operations = throughput * system.intensity;
    let pi = system.computation.pi();
    if operations > system.computation.highest() * (1.0 + 1e-12) {
        return None;
    }
    if let Some(lanes) = system.computation.lanes() {
        return Some(operations * lanes.latency / lanes.parallelism);
    }
    let (mut low, mut high) = (0.0, pi);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if system.computation.value(middle) < operations { low = middle } else { high = middle }
    }
    Some(high)
}

/// The first k up to `peak` at which f reaches `throughput`.
fn rising_to(system: &System, peak: f64, throughput: f64) -> f64 {
    let (mut low, mut high) = (0.0, peak);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if system.supply.value(middle) < throughput { low = middle } else { high = middle }
    }
    high
}

/// What happens when threads are added to a machine whose cache has a peak (figure 9 C).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cliff {
    /// Threads with which demand passes the peak; more of them lose throughput. None where the lanes cannot ask for as
    /// much as the peak gives.
    pub best_threads: Option<f64>,
    /// Threads from which on a second, worse state exists: demand touches the falling f. None where f falls so gently
    /// that throughput is lost step by step. The loss is 0 at first where it is the corner of demand that touches.
    pub possible: Option<Drop>,
    /// Threads from which on the better state is gone. None where it stays however many threads there are.
    pub forced: Option<Drop>,
    /// The largest loss, M/Z - R, which is approached with many threads; only where the better state stays and
    /// computation is what bounds it.
    pub largest: Option<f64>,
}

/// A drop from one state to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Drop {
    /// n at which it happens.
    pub threads: f64,
    /// Memory throughput before.
    pub from: f64,
    /// Memory throughput after.
    pub to: f64,
}

impl Drop {
    /// Requests per cycle that are lost.
    pub fn loss(&self) -> f64 {
        self.from - self.to
    }
}

/// Where adding threads falls off the cache peak; none without a peak.
///
/// Along a falling piece of f, demand with slope s passes the point (k, f(k)) when n = k + f(k)/s. Where that number has a
/// local extremum, demand touches f: at a minimum two more states appear, at a maximum two vanish.
pub fn cliff(system: &System) -> Option<Cliff> {
    let lanes = *system.computation.lanes()?;
    let found = extrema(&system.supply);
    let peak = *found.iter().find(|extremum| extremum.is_peak)?;
    let slope = lanes.parallelism / lanes.latency / system.intensity;
    let most = lanes.throughput / system.intensity;
    let plateau = Landmarks::of(&system.supply).plateau;
    let threads = |k: f64| k + system.supply.value(k) / slope;
    let end = found.iter().find(|other| !other.is_peak && other.k > peak.k).map_or(1e3 * peak.k, |valley| valley.k);
    let stays = most <= peak.throughput;
    // Demand reaches no higher than the lanes, so that it touches f only where that is lower.
    let start = if stays { falling_to(system, peak.k, end, most) } else { peak.k };
    let touches = touches(start, end, threads);
    let drop_at = |k: f64| {
        let (n, here) = (threads(k), system.supply.value(k));
        let mut at_touch = system.clone();
        at_touch.threads = n;
        let throughputs = super::intersect::intersections(&at_touch).into_iter().map(|state| state.memory_throughput);
        let (low, high) = throughputs.fold((here, here), |(low, high), other| (low.min(other), high.max(other)));
        Drop { threads: n, from: high, to: low }
    };
    let corner = (stays && threads(start) <= threads(start * (1.0 + 1e-6))).then_some(start);
    let minima = touches.iter().filter(|(_, is_maximum)| !is_maximum).map(|(k, _)| *k);
    let possible = corner.into_iter().chain(minima).min_by(|left, right| threads(*left).total_cmp(&threads(*right)));
    let forced = touches.iter().find(|(_, is_maximum)| *is_maximum).map(|(k, _)| *k);
    Some(Cliff {
        best_threads: (!stays).then(|| threads(peak.k)),
        possible: possible.map(drop_at),
        forced: forced.filter(|_| !stays).map(drop_at),
        largest: (stays && most > plateau).then_some(most - plateau),
    })
}

/// The first k from `peak` to `end` at which f has fallen to `throughput`; `end` where it has not.
fn falling_to(system: &System, peak: f64, end: f64, throughput: f64) -> f64 {
    let (mut low, mut high) = (peak, end);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if system.supply.value(middle) > throughput { low = middle } else { high = middle }
    }
    high
}

/// Local extrema of `threads` between two places, with whether it is a maximum.
fn touches(from: f64, to: f64, threads: impl Fn(f64) -> f64) -> Vec<(f64, bool)> {
    const STEPS: u32 = 600;
    let place = |step: u32| from * libm::pow(to / from, f64::from(step) / f64::from(STEPS));
    let mut found = Vec::new();
    for step in 1..STEPS {
        let [left, middle, right] = [step - 1, step, step + 1].map(place);
        let (before, here, after) = (threads(left), threads(middle), threads(right));
        if here < before && here <= after {
            found.push((smallest(left, right, &threads), false));
        } else if here > before && here >= after {
            found.push((smallest(left, right, |k| -threads(k)), true));
        }
    }
    found
}
