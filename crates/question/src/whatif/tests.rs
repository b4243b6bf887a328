//! What is kept of a launch, models that are asked alone, and prices that are given up.

use std::path::Path;

use super::*;
use warplens_base::stop::{Stop, Stopped};
use warplens_session::machines;
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Generation, Program, Progress};

/// A kernel whose accesses are not coalesced, with what its warps did.
fn measured(gpus: &[Machine]) -> Measurement {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/layout_aos");
    let ptx = std::fs::read_to_string(folder.join("ptx/sm_80.ptx")).unwrap();
    let launches = warplens_session::source::launches(folder.join("launch.toml").to_str(), Launch::default()).unwrap();
    let program = Program::from_ptx("layout_aos", ptx).unwrap();
    let options = ExecutionOptions {
        traced_for: Choice::Auto.traced(gpus),
        generations: Generation::of_all(gpus),
        ..ExecutionOptions::new()
    };
    let (search, progress) = (Search::default(), Progress::default());
    warplens_session::measure(&program, &launches, options, Counting::Ptx, &search, &progress).unwrap().remove(0)
}

#[test]
fn what_is_kept_answers_as_what_is_made_anew() {
    let gpus = machines::select("h200,a100-80").unwrap();
    let (measurement, kept) = (measured(&gpus), Kept::default());
    let (choice, options) = (Choice::Alone(vec![ModelId::Analyzer, ModelId::Teg]), Options::default());
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let prices = price(measurement.clone(), &gpus, &choice, options);
    for _ in 0..2 {
        for without in [&["uncoalesced"][..], &["uncoalesced", "divergence"], &["divergence", "uncoalesced"], &[]] {
            let scenario = Scenario::parse(&texts(&["dram.bandwidth=2x"]), &texts(without)).unwrap();
            let anew = run(measurement.clone(), None, &gpus, &choice, options, &scenario);
            let again = run_kept(measurement.clone(), None, &gpus, &choice, options, &scenario, &kept);
            assert_eq!(again, anew, "{without:?}");
            assert!(anew.has_answer());
        }
        let again = price_watched(measurement.clone(), &gpus, &choice, options, &kept, &Progress::default());
        assert_eq!(again, prices);
    }
}

#[test]
fn a_model_that_is_asked_alone_says_the_same() {
    let gpus = machines::select("h200").unwrap();
    let measurement = measured(&gpus);
    let scenario = Scenario::parse(&["clock=2x".to_owned()], &["uncoalesced".to_owned()]).unwrap();
    let of = |choice: &Choice| run(measurement.clone(), None, &gpus, choice, Options::default(), &scenario);
    let models = vec![ModelId::XModel, ModelId::HongKim];
    let (alone, named) = (of(&Choice::Alone(models.clone())), of(&Choice::Named(models)));
    assert_eq!(alone.gpus[0].models, named.gpus[0].models);
    assert!(alone.gpus[0].models.iter().all(|model| model.speedup().is_some()));
}

#[test]
fn prices_that_nobody_wants_are_given_up() {
    let gpus = machines::select("h200").unwrap();
    let (progress, choice) = (Progress::default(), Choice::Alone(vec![ModelId::Analyzer]));
    let (kept, measurement) = (Kept::default(), measured(&gpus));
    let stop = Stop::default();
    stop.stop();
    let asked = || stop.within(|| price_watched(measurement, &gpus, &choice, Options::default(), &kept, &progress));
    let given_up = std::panic::catch_unwind(std::panic::AssertUnwindSafe(asked)).unwrap_err();
    assert!(given_up.is::<Stopped>());
    let done = progress.done.load(std::sync::atomic::Ordering::Relaxed);
    assert!(done < progress.total.load(std::sync::atomic::Ordering::Relaxed), "{done}");
}
