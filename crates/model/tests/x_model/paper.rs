//! The numbers of the paper and of its reading.

use warplens_machine::{Key, Strictness, builtin};
use warplens_model::x_model::{
    Cache, Computation, Knob, Landmarks, Lanes, Memory, State, Supply, System, Width, architecture, cliff,
};

/// The system of the example with five intersections.
pub(crate) fn example() -> System {
    let cache = Cache { bytes: 16384.0, latency: 20.0, alpha: 4.0, beta: 1000.0 };
    System {
        threads: 60.0,
        intensity: 1.0,
        supply: Supply::Memory(Memory { latency: 400.0, throughput: 0.1, knee: None, cache: Some(cache) }),
        computation: Computation::Lanes(Lanes { throughput: 0.243, parallelism: 0.05, latency: 1.0 }),
    }
}

/// L = delta x SMs x bytes per warp / R: 918 and 888 cycles on the GTX570, 598 and 807 on the K40 (at the 876 MHz of the
/// table), 497 and 491 on the GTX750Ti.
#[test]
fn table_2_gives_latencies() {
    let table = [
        ("gtx570", 1464e6, [(48.0, 147e9, 918.0), (24.0, 152e9, 888.0)]),
        ("k40", 876e6, [(64.0, 180e9, 598.0), (48.0, 200e9, 807.0)]),
        ("gtx750ti", 1137e6, [(56.0, 82e9, 497.0), (28.0, 83e9, 491.0)]),
    ];
    for (id, clock, rows) in table {
        let machine = builtin::machine(id).unwrap().unwrap().at_clock(clock);
        let graph = architecture(&machine, 4, Strictness::Strict).unwrap();
        for (supply, (delta, bandwidth, latency)) in graph.supply.iter().zip(rows) {
            assert!(
                (supply.memory.latency - latency).abs() <= 0.5,
                "{id} {:?}: {}",
                supply.width,
                supply.memory.latency
            );
            assert!((supply.memory.delta() - delta).abs() < 1e-9 * delta, "{id}: delta is {}", supply.memory.delta());
            assert!((supply.bandwidth / bandwidth - 1.0).abs() < 1e-12, "{id}: R is {} B/s", supply.bandwidth);
            let saturated = supply.curve.iter().find(|sample| sample.at >= delta).unwrap();
            assert!((saturated.value / supply.memory.throughput - 1.0).abs() < 1e-12);
        }
        assert_eq!(graph.supply.iter().map(|supply| supply.width).collect::<Vec<_>>(), Width::ALL);
        assert_eq!(graph.computation.len(), 4);
        assert!(graph.readings.parameters.iter().any(|read| read.key == Key::XModelDeltaFp32));
    }
}

/// The paper says that L$ does not move psi. By equation (5) it does: with alpha 4, from 4.4 to 11.3.
#[test]
fn a_slower_cache_moves_the_peak() {
    let psi = |latency: f64| {
        let supply = Knob::CacheLatency.changed(&example(), latency).supply;
        Landmarks::of(&supply).psi.unwrap()
    };
    let (fast, slow) = (psi(5.0), psi(20.0));
    assert!((fast.k - 4.4).abs() < 0.05, "{}", fast.k);
    assert!((slow.k - 11.3).abs() < 0.05, "{}", slow.k);
    assert!(fast.throughput > slow.throughput, "a fast cache is always beneficial");
}

/// f has a kink at delta = R L, comes down to R from above, and its valley lies between psi and a second peak.
#[test]
fn landmarks_are_in_their_order() {
    let system = example();
    let found = Landmarks::of(&system.supply);
    let (psi, valley, second) = (found.psi.unwrap(), found.valley.unwrap(), found.second_peak.unwrap());
    assert!((found.delta - 40.0).abs() < 1e-9);
    assert!(psi.k < valley.k && valley.k < second.k && second.k >= found.delta);
    assert!(valley.throughput < psi.throughput && valley.throughput < second.throughput);
    for k in [100.0, 1000.0, 1e5] {
        assert!(system.supply.value(k) > found.plateau);
    }
    assert!((system.supply.value(1e7) / found.plateau - 1.0).abs() < 1e-3);
    // The slope jumps at the kink.
    let slopes = [39.999, 40.0].map(|k| system.supply.slope(k));
    assert!((slopes[0] - slopes[1]).abs() > 1e-4, "{slopes:?}");
}

/// TLP of the machine is pi + delta, its DLP M/R, its MLP R L; capacity is reached only with Z = M/R.
#[test]
fn machine_balance() {
    let at = |intensity: f64, threads: f64| {
        let memory = Memory { latency: 400.0, throughput: 0.1, knee: None, cache: None };
        let lanes = Lanes { throughput: 0.8, parallelism: 2.0, latency: 16.0 };
        let system =
            System { threads, intensity, supply: Supply::Memory(memory), computation: Computation::Lanes(lanes) };
        State::of(system).unwrap()
    };
    let parallelism = at(8.0, 50.0).parallelism();
    assert!((parallelism.tlp_machine - (6.4 + 40.0)).abs() < 1e-9);
    assert!((parallelism.dlp_machine - 8.0).abs() < 1e-9 && (parallelism.mlp_machine - 40.0).abs() < 1e-9);
    let names = [(8.0, 46.4), (8.0, 46.0), (8.0, 60.0), (7.9, 60.0), (8.1, 60.0), (7.0, 20.0)]
        .map(|(intensity, threads)| at(intensity, threads).bound.name());
    assert_eq!(names, ["capacity", "threads", "capacity", "memory", "computation", "threads"]);
    // More operations per byte than the ridge point: computation-bound; fewer: memory-bound.
    let reached = *at(8.0, 60.0).reached();
    assert!((reached.memory_throughput - 0.1).abs() < 1e-12 && (reached.computation_throughput - 0.8).abs() < 1e-12);
}

/// The example with a fast cache, whose peak is high and sharp.
fn peaked(throughput: f64, parallelism: f64) -> System {
    let mut system = Knob::CacheLatency.changed(&example(), 5.0);
    Knob::Lanes.set(&mut system, throughput);
    Knob::Parallelism.set(&mut system, parallelism);
    system
}

/// The drop when threads are added is smallest, and above 0, where demand first touches the falling f; with many threads
/// it comes to M/Z - R.
#[test]
fn adding_threads_falls_off_the_peak() {
    // Computation bounds demand below the peak: the better state stays however many threads there are.
    let bound = peaked(0.4, 0.012);
    let found = cliff(&bound).unwrap();
    assert_eq!((found.best_threads, found.forced), (None, None));
    let first = found.possible.unwrap();
    assert!(first.loss() > 0.0);
    let largest = found.largest.unwrap();
    assert!((largest - (0.4 - 0.1)).abs() < 1e-12);
    let loss = |threads: f64| {
        let state = State::of(Knob::Threads.changed(&bound, threads)).unwrap();
        state.reached().memory_throughput - state.reached_from_memory().memory_throughput
    };
    assert_eq!(loss(first.threads * 0.999), 0.0, "one state before the curves touch");
    let just_after = loss(first.threads * 1.001);
    assert!((just_after / first.loss() - 1.0).abs() < 0.2, "{just_after} {first:?}");
    let many = [80.0, 200.0, 1000.0, 1e5].map(loss);
    assert!(many.is_sorted() && just_after < many[0], "{many:?}");
    assert!((many[3] / largest - 1.0).abs() < 0.02, "{many:?}");
}

/// Where the lanes could ask for more than the peak gives, threads beyond a second touch lose the better state for good.
#[test]
fn too_many_threads_lose_the_better_state() {
    assert_eq!(cliff(&peaked(1.0, 0.05)).unwrap().forced, None, "steep demand loses throughput step by step");
    let system = peaked(1.0, 0.012);
    let found = cliff(&system).unwrap();
    let (best, forced) = (found.best_threads.unwrap(), found.forced.unwrap());
    let reached =
        |threads: f64| State::of(Knob::Threads.changed(&system, threads)).unwrap().reached().memory_throughput;
    let peak = Landmarks::of(&system.supply).psi.unwrap();
    assert!((reached(best) / peak.throughput - 1.0).abs() < 1e-9);
    assert!(best < forced.threads && found.largest.is_none());
    let (before, after) = (reached(forced.threads * 0.999), reached(forced.threads * 1.001));
    assert!(before > 1.2 * after, "{before} {after}");
    assert!((before / forced.from - 1.0).abs() < 0.1 && (after / forced.to - 1.0).abs() < 0.02, "{forced:?}");
}
