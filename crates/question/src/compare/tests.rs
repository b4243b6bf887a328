//! Comparisons of the shipped kernels.

use std::path::Path;

use super::*;
use warplens_session::Measured;
use warplens_session::Program;
use warplens_session::machines;
use warplens_session::predict::Resource;
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Progress};

fn variant(name: &str) -> Variant {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let ptx = std::fs::read_to_string(folder.join("ptx/sm_80.ptx")).unwrap();
    let launches = warplens_session::source::launches(folder.join("launch.toml").to_str(), Launch::default()).unwrap();
    let program = Program::from_ptx(name, ptx).unwrap();
    let (options, counting) = (ExecutionOptions::new(), Counting::Ptx);
    let measured =
        warplens_session::measure(&program, &launches, options, counting, &Search::default(), &Progress::default());
    Variant { name: name.to_owned(), block: None, measurement: measured.unwrap().remove(0) }
}

fn how(model: &str) -> CompareOptions {
    CompareOptions {
        choice: Choice::parse(model).unwrap(),
        options: Options::default(),
        baseline: None,
        band: 0.1,
        measured: None,
    }
}

#[test]
fn the_structure_of_arrays_wins_by_its_transactions() {
    let variants = vec![variant("layout_aos"), variant("layout_soa")];
    let comparison = compare(variants, machines::select("gtx280,h200").unwrap(), &how("auto")).unwrap();
    assert_eq!(comparison.baseline, Baseline::Variant(0));
    for (gpu, explanation) in comparison.explanations.iter().enumerate() {
        let entry = comparison.entry(gpu, explanation.model, 1).unwrap();
        assert!(entry.speedup.unwrap() > 1.1, "{:?}", entry.speedup);
        assert_eq!(comparison.entry(gpu, explanation.model, 0).unwrap().speedup, Some(1.0));
        assert!(explanation.terms[0].change_us() < 0.0);
        assert!(explanation.counts.iter().any(|change| change.before > 2.0 * change.after), "{explanation:?}");
    }
    let signs = &comparison.signs[0];
    assert_eq!(signs.predicted, [[Some(0), Some(-1)], [Some(1), Some(0)]]);
}

#[test]
fn one_variant_is_compared_across_gpus_and_the_parameters_say_why() {
    let machines = machines::select("k40,h200").unwrap();
    let comparison = compare(vec![variant("vector_add")], machines, &how("roofline")).unwrap();
    assert_eq!(comparison.baseline, Baseline::Gpu(0));
    assert!(comparison.entries[1].speedup.unwrap() > 5.0);
    let explanation = &comparison.explanations[0];
    assert_eq!(explanation.terms[0].resource, Resource::DramBandwidth);
    assert!(explanation.parameters[0].after > explanation.parameters[0].before, "{:?}", explanation.parameters);
    assert!(comparison.signs.is_empty());
}

#[test]
fn agreement_with_measured_times_is_counted() {
    let variants = ["matmul_naive", "matmul_tiled", "vector_add"].map(variant).to_vec();
    // The first pair is measured the other way round.
    let text = "variant,time_us\nmatmul_naive,1\nmatmul_tiled,50\nvector_add,0.1\nother,3\n";
    let measured = Some(MeasuredTimes::parse("m.csv", text).unwrap());
    let how = CompareOptions { measured, ..how("auto") };
    let comparison = compare(variants.clone(), machines::select("h200").unwrap(), &how).unwrap();
    assert_eq!(comparison.n_ignored, 1);
    assert_eq!(comparison.signs[0].agreement, Some(Agreement { n_same: 2, n_pairs: 3 }));
    let two = machines::select("h200,k40").unwrap();
    let error = compare(variants, two, &how).unwrap_err();
    assert_eq!(error.message, "m.csv: no row is of a variant and GPU that is compared");
}

#[test]
fn a_profilers_time_is_of_its_own_gpu() {
    let mut profiled = variant("vector_add");
    let target = Some("sm_90".to_owned());
    profiled.measurement.measured =
        Some(Measured { time_us: 10.0, device: None, target, profiler: "a profiler".to_owned() });
    let comparison = compare(vec![profiled], machines::select("k40,h200").unwrap(), &how("roofline")).unwrap();
    let measured: Vec<Option<f64>> = comparison.entries.iter().map(|entry| entry.measured_us).collect();
    assert_eq!(measured, [None, Some(10.0)]);
}

#[test]
fn counts_that_a_profile_lacks_are_missing() {
    let mut partial = variant("vector_add");
    partial.measurement.profile.absent.insert(Count::LocalTransactions);
    let comparison = compare(vec![partial], machines::select("h200").unwrap(), &how("roofline")).unwrap();
    let counts = comparison.entries[0].counts;
    assert_eq!((counts.transactions, counts.bytes_moved), (None, None));
    assert!(counts.requests.is_some());
}

#[test]
fn names_are_checked() {
    let names = ["a", "b", "a"].map(str::to_owned);
    assert_eq!(check_names(&names).unwrap_err().message, "two variants are called `a`");
    let wanted = CompareOptions { baseline: Some("vector_ad".to_owned()), ..how("auto") };
    let error = compare(vec![variant("vector_add")], machines::select("h200").unwrap(), &wanted).unwrap_err();
    assert_eq!(error.help.as_deref(), Some("did you mean `vector_add`?"));
}

#[test]
fn another_block_keeps_the_threads() {
    let launch = Launch { grid: Some([10, 2, 1]), block: Some([48, 4, 1]), ..Launch::default() };
    let other = with_block(&launch, [64, 2, 1], false).unwrap();
    assert_eq!((other.grid, other.block), (Some([8, 4, 1]), Some([64, 2, 1])));
    let fixed = with_block(&launch, [64, 2, 1], true).unwrap();
    assert_eq!((fixed.grid, fixed.block), (launch.grid, Some([64, 2, 1])));
    assert!(with_block(&Launch::default(), [1, 1, 1], false).is_err());
    assert_eq!(shared_bytes("16*block.x + grid.y", &other).unwrap(), 1028);
    assert_eq!(
        shared_bytes("block.x/3", &other).unwrap_err().message,
        "--shared block.x/3 is 21.333333333333332, which is no number of bytes"
    );
    assert!(shared_bytes("blok.x", &other).unwrap_err().message.contains("there is no value `blok.x`"));
}
