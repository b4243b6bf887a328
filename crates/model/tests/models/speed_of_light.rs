//! The bound that no execution beats: its terms alone, and that more work never takes less.

use proptest::prelude::*;
use warplens_model::{Given, Options, Prediction, Resource, auto, find};

use crate::support::machine;

fn evaluate(given: &[(&str, f64)], gpu: &str) -> Prediction {
    let given: Given = given.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    find("speed-of-light").unwrap().evaluate(&given, Some(&machine(gpu)), &Options::default()).unwrap()
}

/// What is given, and what that takes.
type Case = (&'static [(&'static str, f64)], Resource, f64);

#[test]
fn each_resource_bounds_alone() {
    // 108 SMs of four schedulers, each of which chooses every second cycle, and 16 lanes of memory instructions.
    let cases: [Case; 4] = [
        (&[("instructions", 432e3)], Resource::Issue, 432e3 / (108.0 * 4.0) * 2.0),
        (&[("instructions", 1.0), ("memory_instructions", 108e3)], Resource::LoadStore, 2000.0),
        (&[("instructions", 1.0), ("wavefronts", 108e3), ("pass_cycles", 2.0)], Resource::LoadStore, 2000.0),
        (&[("instructions", 1.0), ("dram_bytes", 2039e6), ("clock", 1e9)], Resource::DramBandwidth, 1e6),
    ];
    for (given, resource, cycles) in cases {
        let given: Vec<_> = given.iter().copied().chain([("issue_per_clk", 2.0), ("ldst_lanes", 16.0)]).collect();
        let prediction = evaluate(&given, "a100-80");
        assert_eq!(prediction.limiter(), resource, "{given:?}");
        assert!((prediction.time.0 / cycles - 1.0).abs() < 1e-9, "{given:?}: {} cycles", prediction.time.0);
    }
}

#[test]
fn auto_never_takes_the_bound() {
    assert!(auto::PREFERENCE.iter().all(|model| model.name() != "speed-of-light"));
    let bound = evaluate(&[("instructions", 1.0)], "h200");
    assert_eq!(auto::band([&bound]), None);
}

#[test]
fn endless_bandwidth_leaves_the_instructions() {
    let given = |bandwidth| [("instructions", 1e6), ("dram_bytes", 1e9), ("bandwidth", bandwidth)];
    assert_eq!(evaluate(&given(1e9), "h200").limiter(), Resource::DramBandwidth);
    assert_eq!(evaluate(&given(1e24), "h200").limiter(), Resource::Issue);
}

proptest! {
    #[test]
    fn more_work_never_takes_less(work in [0.0f64..1e9, 0.0f64..1e9, 0.0f64..1e9, 0.0f64..1e12], which in 0..4usize, factor in 1.0f64..8.0) {
        let names = ["instructions", "memory_instructions", "wavefronts", "dram_bytes"];
        let time = |work: [f64; 4]| {
            let given: Vec<(&str, f64)> = names.into_iter().zip(work).collect();
            evaluate(&given, "a100-80").time
        };
        let mut more = work;
        more[which] *= factor;
        prop_assert!(time(more) >= time(work));
    }
}
