//! What holds whatever the parameters: intersections alternate between stable and unstable, none is missed, more of a
//! good thing never hurts where the equations say so, and the limits are those of simpler models.

use proptest::prelude::*;
use warplens_model::x_model::{
    Cache, Computation, Knob, Lanes, Memory, Stability, State, Supply, System, effects, extrema, intersections,
};

prop_compose! {
    fn any_cache()(
        bytes in 512.0..262_144f64,
        latency in 1.0..60f64,
        alpha in 1.05..9f64,
        beta in 16.0..30_000f64,
    ) -> Cache {
        Cache { bytes, latency, alpha, beta }
    }
}

prop_compose! {
    fn any_memory()(
        latency in 80.0..1200f64,
        throughput in 1e-3..1f64,
        knee in prop_oneof![3 => Just(None), 1 => (0.7..12f64).prop_map(Some)],
        cache in prop_oneof![1 => Just(None), 3 => any_cache().prop_map(Some)],
    ) -> Memory {
        Memory { latency, throughput, knee, cache }
    }
}

prop_compose! {
    fn any_system()(
        threads in 1.0..96f64,
        intensity in 0.2..200f64,
        memory in any_memory(),
        throughput in 0.1..8f64,
        parallelism in 0.5..4f64,
        latency in 1.0..24f64,
    ) -> System {
        System {
            threads,
            intensity,
            supply: Supply::Memory(memory),
            computation: Computation::Lanes(Lanes { throughput, parallelism, latency }),
        }
    }
}

fn without_cache(mut system: System) -> System {
    if let Supply::Memory(memory) = &mut system.supply {
        (memory.cache, memory.knee) = (None, None);
    }
    system
}

fn lanes(system: &System) -> Lanes {
    *system.computation.lanes().expect("the strategy gives a system")
}

fn memory(system: &System) -> Memory {
    *system.supply.memory().expect("the strategy gives a system")
}

fn reached(system: &System) -> f64 {
    State::of(system.clone()).expect("the strategy gives a system").reached().memory_throughput
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn intersections_alternate_and_lie_on_both_curves(system in any_system()) {
        let found = intersections(&system);
        prop_assert!(!found.is_empty());
        prop_assert!(found.is_sorted_by(|left, right| left.k < right.k));
        for intersection in &found {
            let demand = system.demand(intersection.k);
            prop_assert!((demand / intersection.memory_throughput - 1.0).abs() < 1e-7, "{intersection:?} {demand}");
            prop_assert!((intersection.k + intersection.x - system.threads).abs() < 1e-9);
        }
        let crossing: Vec<_> = found.iter().filter(|found| found.stability != Stability::Touching).collect();
        for (index, intersection) in crossing.iter().enumerate() {
            let wanted = if index % 2 == 0 { Stability::Stable } else { Stability::Unstable };
            prop_assert_eq!(intersection.stability, wanted);
            // (6), and the remark that a state on a rising f is always stable.
            if wanted == Stability::Unstable {
                prop_assert!(intersection.supply_slope < 0.0);
                prop_assert!(intersection.supply_slope.abs() * (1.0 + 1e-6) >= intersection.demand_slope.abs());
            }
        }
        prop_assert_eq!(crossing.len() % 2, 1);
    }

    /// A plain search on a fine grid finds no intersection that is not there.
    #[test]
    fn no_intersection_is_missed(system in any_system()) {
        const STEPS: u32 = 20_000;
        let below = |step: u32| {
            let k = system.threads * f64::from(step) / f64::from(STEPS);
            system.supply.value(k) < system.demand(k)
        };
        let crossings = (1..=STEPS).filter(|&step| below(step) != below(step - 1)).count();
        prop_assert!(intersections(&system).len() >= crossings, "{crossings} crossings");
    }

    /// Without a cache the throughput is the smallest of three bounds: bandwidth, lanes, and latency over threads.
    #[test]
    fn without_cache_it_is_a_roofline_with_latency(system in any_system().prop_map(without_cache)) {
        let (lanes, memory) = (lanes(&system), memory(&system));
        let computing = system.intensity * lanes.latency / lanes.parallelism;
        let wanted = memory.throughput
            .min(lanes.throughput / system.intensity)
            .min(system.threads / (memory.latency + computing));
        prop_assert!((reached(&system) / wanted - 1.0).abs() < 1e-9);
        // With threads enough it is the roofline.
        let many = Knob::Threads.changed(&system, 1e7);
        let roof = memory.throughput.min(lanes.throughput / system.intensity);
        prop_assert!((reached(&many) / roof - 1.0).abs() < 1e-9);
    }

    /// One thread: its round trip, of a request and of the computation between two.
    #[test]
    fn one_thread_makes_round_trips(system in any_system().prop_map(without_cache)) {
        let mut system = Knob::Threads.changed(&system, 1.0);
        Knob::Lanes.set(&mut system, 100.0);
        Knob::MemoryThroughput.set(&mut system, 100.0);
        let computing = system.intensity * lanes(&system).latency / lanes(&system).parallelism;
        let wanted = 1.0 / (memory(&system).latency + computing);
        prop_assert!((reached(&system) / wanted - 1.0).abs() < 1e-9);
    }

    /// With infinite bandwidth memory never saturates: only latency and the lanes count.
    #[test]
    fn with_infinite_bandwidth_only_latency_counts(system in any_system().prop_map(without_cache)) {
        let endless = Knob::MemoryThroughput.changed(&system, f64::INFINITY);
        let lanes = lanes(&system);
        let computing = system.intensity * lanes.latency / lanes.parallelism;
        let wanted = (lanes.throughput / system.intensity).min(system.threads / (memory(&system).latency + computing));
        prop_assert!((reached(&endless) / wanted - 1.0).abs() < 1e-9);
        prop_assert!(reached(&endless) >= reached(&system) * (1.0 - 1e-9));
    }

    /// A cache of no bytes, and one that holds all, are the two forms without a cache.
    #[test]
    fn a_cache_lies_between_none_and_one_that_holds_all(system in any_system()) {
        let Some(cache) = memory(&system).cache else { return Ok(()) };
        let mut none = memory(&system);
        none.cache = None;
        for k in [0.5, 3.0, 17.0, 90.0] {
            let value = system.supply.value(k);
            let miss = Supply::Memory(none).value(k);
            let hit = k / cache.latency;
            let (low, high) = (miss.min(hit), miss.max(hit));
            prop_assert!((low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(&value));
            let empty = Knob::CacheBytes.changed(&system, 0.0).supply.value(k);
            prop_assert!((empty / miss - 1.0).abs() < 1e-9);
            let endless = Knob::CacheBytes.changed(&system, 1e300).supply.value(k);
            prop_assert!((endless / hit - 1.0).abs() < 1e-3);
        }
    }

    /// More of M, R, S$ or alpha, or less of L, L$ or beta, lifts a curve everywhere, so that the state reached from the
    /// memory side is never worse for memory's knobs. Less than that holds of n, E and Z: that is what the model is for.
    #[test]
    fn better_memory_is_never_worse(system in any_system()) {
        let cache_is_faster = memory(&system).cache.is_none_or(|cache| cache.latency < memory(&system).latency);
        prop_assume!(cache_is_faster);
        let state = State::of(system.clone()).unwrap();
        for effect in effects(&state, 0.2) {
            let better = match effect.knob {
                Knob::MemoryThroughput | Knob::CacheBytes | Knob::Alpha => effect.to > effect.from,
                Knob::MemoryLatency | Knob::CacheLatency | Knob::Beta => effect.to < effect.from,
                _ => continue,
            };
            if better {
                prop_assert!(effect.memory_ratio > 1.0 - 1e-9, "{effect:?}");
                prop_assert!((effect.computation_ratio / effect.memory_ratio - 1.0).abs() < 1e-9);
            }
        }
    }

    /// Lines to the plateau: f ends at R, and extrema alternate beginning with a peak.
    #[test]
    fn extrema_alternate_from_a_peak(memory in any_memory()) {
        let found = extrema(&Supply::Memory(memory));
        prop_assert!(found.len() <= 4, "{found:?}");
        prop_assert!(found.iter().enumerate().all(|(index, extremum)| extremum.is_peak == (index % 2 == 0)), "{found:?}");
        prop_assert!(found.windows(2).all(|pair| (pair[0].throughput > pair[1].throughput) == pair[0].is_peak));
    }
}
