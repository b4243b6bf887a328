//! A program gives the same cycles whether it comes as a listing or as a trace in Accel-Sim's format.

use warplens_machine::{Reader, Strictness, builtin};
use warplens_native::{read_listing, read_sass_trace};
use warplens_sim::{Job, Options, Outcome, SmConfig, Surroundings, simulate};
use warplens_trace::{Code, CtaId, CtaTrace, MachineClass};

const LISTING: &str = include_str!("../../native/tests/data/exchange.gt200");
const TRACE: &str = include_str!("../../native/tests/data/exchange.traceg");

fn run(gpu: &str, code: &Code, ctas: &[CtaTrace]) -> Outcome {
    let machine = builtin::machine(gpu).expect("a built-in machine").expect("its file is sound");
    let mut used: Vec<MachineClass> = code.insts.iter().map(|inst| inst.class).collect();
    used.sort_unstable();
    used.dedup();
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    let config = SmConfig::read(&mut reader, &used).unwrap_or_else(|missing| panic!("{missing}"));
    let job = Job { code, ctas, resident: 2, surroundings: Surroundings::ALONE, footprint: None };
    simulate(&config, &job, Options::default())
}

#[test]
fn listing_and_trace_agree() {
    let listing = read_listing(LISTING).expect("a listing");
    let ctas = listing.traces((0..2).map(CtaId), 64).expect("it runs");
    let trace = read_sass_trace(TRACE).expect("a trace");
    for gpu in ["gtx280", "v100-pcie", "a100-80", "h200"] {
        let (ours, theirs) = (run(gpu, &listing.code, &ctas), run(gpu, &trace.code, &trace.ctas));
        assert_eq!(ours.cycles, theirs.cycles, "{gpu}");
        assert_eq!(ours.issued, theirs.issued, "{gpu}");
        assert_eq!(ours.traffic, theirs.traffic, "{gpu}");
        assert_eq!(ours.stalls(), theirs.stalls(), "{gpu}");
        assert_eq!(ours.ctas, theirs.ctas, "{gpu}");
        // Device memory is waited for in each of four turns.
        assert!(ours.cycles > 4 * 300, "{gpu}: {}", ours.cycles);
    }
}

#[test]
fn another_address_gives_other_cycles() {
    let listing = read_listing(LISTING).expect("a listing");
    let far = read_listing(&LISTING.replace("4 * (first + lane * 7 % 32)", "512 * (first + lane * 7 % 32)"))
        .expect("a listing");
    let cycles = |listing: &warplens_native::Listing| {
        run("v100-pcie", &listing.code, &listing.traces((0..2).map(CtaId), 64).expect("it runs")).cycles
    };
    assert!(cycles(&far) > cycles(&listing));
}
