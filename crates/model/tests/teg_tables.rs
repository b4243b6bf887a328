//! Lai and Seznec's tables 2 to 5, and the micro-benchmark of an arithmetic latency, with the listings of `examples/teg`.
//! The tables in `validation/teg.md` hold the errors; `UPDATE=1` rewrites them.

use std::fmt::Write as _;

use warplens_machine::words::{IssuePolicy, IssueScoreboard};
use warplens_machine::{Reader, Strictness, builtin};
use warplens_native::{Listing, read_listing_with};
use warplens_sim::{Effect, Job, Options, Outcome, SmConfig, Surroundings, Without, simulate};
use warplens_trace::{CtaId, MachineClass};

/// Warps of tables 2 and 3.
const WARPS: [u32; 5] = [1, 2, 4, 8, 16];
/// Table 2, measured.
const CONFLICT: [f64; 5] = [55605.0, 55803.0, 71465.0, 107_668.0, 186_958.0];
/// Table 3, measured.
const FREE: [f64; 5] = [17511.0, 17291.0, 18330.0, 23228.0, 33227.0];
/// Tables 4 and 5, measured: uncoalesced and coalesced accesses of 1, 2 and 4 warps.
const HOPPING: [[f64; 3]; 2] = [[51053.0, 68383.0, 122_430.0], [37926.0, 47038.0, 73100.0]];

fn listing(name: &str, values: &[(&str, i64)]) -> Listing {
    let path = format!("{}/../../examples/teg/{name}.gt200", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the listing is there");
    read_listing_with(&text, values).unwrap_or_else(|problems| panic!("{path}: {problems:#?}"))
}

fn gtx280(listing: &Listing) -> SmConfig {
    let machine = builtin::machine("gtx280").expect("a built-in machine").expect("its file is sound");
    let mut used: Vec<MachineClass> = listing.code.insts.iter().map(|inst| inst.class).collect();
    used.sort_unstable();
    used.dedup();
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    SmConfig::read(&mut reader, &used).unwrap_or_else(|missing| panic!("{missing}"))
}

/// Up to eight warps are one CTA; one SM of each TPC is at work.
fn run(listing: &Listing, config: &SmConfig, warps: u32, options: Options) -> Outcome {
    let n_ctas = warps.div_ceil(8);
    let ctas = listing.traces((0..n_ctas).map(CtaId), 32 * warps / n_ctas).expect("it runs");
    let surroundings = Surroundings { active_sms: 10, active_in_cluster: 1, ..Surroundings::ALONE };
    let job = Job { code: &listing.code, ctas: &ctas, resident: n_ctas, surroundings, footprint: None };
    simulate(config, &job, options)
}

fn cycles(listing: &Listing, config: &SmConfig, warps: u32) -> f64 {
    run(listing, config, warps, Options::default()).cycles as f64
}

/// Predicted cycles with the error against the measured ones.
struct Row {
    cycles: Vec<f64>,
    errors: Vec<f64>,
}

impl Row {
    fn of(name: &str, values: &[(&str, i64)], measured: &[f64]) -> Self {
        let listing = listing(name, values);
        let config = gtx280(&listing);
        Self::new(WARPS.iter().map(|&warps| cycles(&listing, &config, warps)).collect(), measured)
    }

    fn new(cycles: Vec<f64>, measured: &[f64]) -> Self {
        let errors = cycles.iter().zip(measured).map(|(cycles, measured)| 100.0 * (cycles / measured - 1.0)).collect();
        Self { cycles, errors }
    }

    fn mean(&self) -> f64 {
        self.errors.iter().map(|error| error.abs()).sum::<f64>() / self.errors.len() as f64
    }

    fn worst(&self) -> f64 {
        self.errors.iter().fold(0.0, |worst, error| error.abs().max(worst))
    }

    /// `| name | cycles (error) ... | mean | worst |`.
    fn line(&self, name: &str) -> String {
        let cells: String =
            self.cycles.iter().zip(&self.errors).map(|(cycles, error)| format!(" {cycles} ({error:+.1}) |")).collect();
        format!("| {name} |{cells} {:.1} | {:.1} |\n", self.mean(), self.worst())
    }
}

const TABLES: [(&str, &str, [f64; 5], f64, f64); 2] =
    [("table 2", "abt_conflict", CONFLICT, 6.0, 10.0), ("table 3", "abt_conflict_free", FREE, 4.0, 6.5)];

#[test]
fn matrix_products_take_the_measured_cycles() {
    let mut text =
        String::from("| | 1 warp | 2 | 4 | 8 | 16 | mean | worst |\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
    for (table, name, measured, mean, worst) in TABLES {
        let cells: String = measured.iter().map(|cycles| format!(" {cycles} |")).collect();
        writeln!(text, "| {table}, measured |{cells} | |").expect("strings take all");
        let row = Row::of(name, &[], &measured);
        text += &row.line(&format!("{table}, predicted"));
        assert!(row.mean() <= mean && row.worst() <= worst, "{table}: {:?}", row.errors);
        for (what, values) in [
            ("one instruction less per step", [("STEP", 1)]),
            ("one instruction more per step", [("STEP", 3)]),
            ("K = 128", [("K", 128)]),
        ] {
            text += &Row::of(name, &values, &measured).line(&format!("{table}, {what}"));
        }
    }
    hold("matrix products", &text);
}

type Edit = fn(&mut SmConfig);

#[test]
fn what_each_inference_is_worth() {
    let mut text =
        String::from("| | 1 warp | 2 | 4 | 8 | 16 | mean | worst |\n|---|---:|---:|---:|---:|---:|---:|---:|\n");
    let edits: [(&str, Edit); 5] = [
        ("as it is", |_| ()),
        ("the sum is waited for", |config| config.scoreboard = IssueScoreboard::AtIssue),
        ("warps in turn", |config| config.policy = IssuePolicy::LooseRoundRobin),
        ("the oldest warp first", |config| config.policy = IssuePolicy::GreedyThenOldest),
        ("both CTAs start at once", |config| config.cta_start = 0),
    ];
    let mut means = [0.0; 5];
    for (table, name, measured, ..) in TABLES {
        for ((what, edit), mean) in edits.into_iter().zip(&mut means) {
            let listing = listing(name, &[]);
            let mut config = gtx280(&listing);
            edit(&mut config);
            let cycles = WARPS.iter().map(|&warps| cycles(&listing, &config, warps)).collect();
            let row = Row::new(cycles, &measured);
            text += &row.line(&format!("{table}, {what}"));
            *mean += row.mean();
        }
    }
    hold("inferences", &text);
    assert!(means[1..].iter().all(|without| *without > means[0]), "each inference is worth something: {means:?}");
}

#[test]
fn leaving_out_conflicts_predicts_the_kernel_without_them() {
    let listing = listing("abt_conflict", &[]);
    let config = gtx280(&listing);
    let options = Options { without: Without::NOTHING.and(Effect::BankConflicts), ..Options::default() };
    let cycles = WARPS.iter().map(|&warps| run(&listing, &config, warps, options).cycles as f64).collect();
    let row = Row::new(cycles, &FREE);
    let head = "| | 1 warp | 2 | 4 | 8 | 16 | mean | worst |\n|---|---:|---:|---:|---:|---:|---:|---:|\n";
    hold("what-if", &format!("{head}{}", row.line("`abt_conflict` without `bank-conflicts`, against table 3")));
    assert!(row.mean() <= 4.0 && row.worst() <= 6.5, "{:?}", row.errors);
}

#[test]
fn hopping_matrices_scale_as_measured() {
    let predicted = [0, 1].map(|soa| {
        let listing = listing("hopping", &[("SOA", soa)]);
        let config = gtx280(&listing);
        [1, 2, 4].map(|warps| cycles(&listing, &config, warps))
    });
    let mut text = String::from("| | 1 warp | 2 | 4 | T(2)/T(1) | T(4)/T(1) |\n|---|---:|---:|---:|---:|---:|\n");
    let mut ratios = Vec::new();
    for (name, predicted, measured) in
        [("uncoalesced", predicted[0], HOPPING[0]), ("coalesced", predicted[1], HOPPING[1])]
    {
        for (what, cycles) in [("measured", measured), ("predicted", predicted)] {
            let [one, two, four] = cycles;
            writeln!(text, "| {name}, {what} | {one} | {two} | {four} | {:.3} | {:.3} |", two / one, four / one)
                .expect("strings take all");
        }
        ratios.push((predicted[1] / predicted[0], measured[1] / measured[0]));
        ratios.push((predicted[2] / predicted[0], measured[2] / measured[0]));
    }
    text += "\n| uncoalesced/coalesced | 1 warp | 2 | 4 |\n|---|---:|---:|---:|\n";
    for (what, [uncoalesced, coalesced]) in [("measured", HOPPING), ("predicted", predicted)] {
        let of = |index: usize| uncoalesced[index] / coalesced[index];
        writeln!(text, "| {what} | {:.3} | {:.3} | {:.3} |", of(0), of(1), of(2)).expect("strings take all");
    }
    for index in 0..3 {
        ratios.push((predicted[0][index] / predicted[1][index], HOPPING[0][index] / HOPPING[1][index]));
    }
    let errors: Vec<String> =
        ratios.iter().map(|(ours, theirs)| format!("{:+.1}", 100.0 * (ours / theirs - 1.0))).collect();
    writeln!(text, "\nErrors of the seven ratios in the order above, in percent: {}.", errors.join(", "))
        .expect("strings take all");
    hold("hopping matrix", &text);
    assert!(ratios.iter().all(|(ours, theirs)| (ours / theirs - 1.0).abs() <= 0.15), "{errors:?}");
}

/// The report reads the clock in two instructions and measures 514 cycles, of which it derives a latency of 24.
#[test]
fn a_chain_of_additions_lies_between_two_readings_of_the_clock() {
    let listing = listing("fadd_chain", &[]);
    let outcome = run(&listing, &gtx280(&listing), 1, Options { timeline_warps: 1, ..Options::default() });
    let issues: Vec<u64> = outcome.timeline.iter().map(|event| event.issue).collect();
    let [first, .., second, _] = issues.as_slice() else { panic!("{issues:?}") };
    let between = second - first;
    // S2R and the shift, as the report has it, then twenty latencies and the last addition, which occupies the warp.
    assert_eq!(between, 28 + 20 * 24 + 8);
    // The clock register counts every second cycle: one count more than was measured.
    assert_eq!(between / 2, 514 / 2 + 1);
    assert_eq!(((between as f64 - 28.0 - 8.0) / 20.0).round(), 24.0);
}

/// Holds a table of `validation/teg.md` against what is predicted now.
fn hold(name: &str, text: &str) {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/teg.md");
    warplens_literate::hold(document.as_ref(), name, text);
}
