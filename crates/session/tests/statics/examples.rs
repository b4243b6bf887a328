//! Every shipped example, emulated in full and counted without a run.

use std::fmt::Write as _;
use std::path::PathBuf;

use warplens_launch::Launch;
use warplens_session::profile::{BankRule, CoalescingRule, Counting, Family, Profile, StateSpace};
use warplens_session::statics::{Given, Line};
use warplens_session::{DEFAULT_BUDGET, ExecutionOptions, Measurement, Program, Progress, measure};

use crate::{comparable, counted, emulated, no_compiler, root};

/// Examples in which a branch, a trip count or an address depends on data. All others are counted exactly.
const DEPEND_ON_DATA: [&str; 4] = ["black_scholes", "black_scholes_7", "histogram_atomics", "mandelbrot"];

pub(crate) fn names() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("examples")).expect("the folder of examples can be read");
    let paths = entries.map(|entry| entry.expect("the folder can be read").path());
    let names = paths.filter(|path| path.join("ptx").is_dir() && path.join("launch.toml").is_file());
    let mut names: Vec<String> =
        names.map(|path| path.file_name().expect("an entry has a name").to_string_lossy().into_owned()).collect();
    names.sort();
    assert!(names.len() >= 11, "{names:?}");
    names
}

pub(crate) fn program(example: &str, target: &str) -> Program {
    let path: PathBuf = root().join("examples").join(example).join(format!("ptx/{target}.ptx"));
    let text = std::fs::read_to_string(&path).expect("the PTX can be read");
    Program::from_ptx(&path.display().to_string(), text).expect("the PTX is fine")
}

pub(crate) fn launches(example: &str) -> Vec<Launch> {
    let path = root().join("examples").join(example).join("launch.toml");
    warplens_session::source::launches(path.to_str(), Launch::default()).expect("the launch file is fine")
}

/// Examples with loops that end by data: nothing is counted of them without a number.
const NEED_TRIPS: [&str; 1] = ["fmm_ulist"];

/// The mean number of turns that the emulator saw, for the three loops of `fmm_ulist` on sm_80: each is closed by a
/// branch, and skipped by another one in front of it.
fn mean_trips(example: &str, run: &Profile) -> Given {
    if !NEED_TRIPS.contains(&example) {
        return Given::default();
    }
    let branches: Vec<_> = run.lines.iter().filter(|line| line.opcode.key.family == Family::Bra).collect();
    let [skip_targets, skip_boxes, skip_sources, sources, boxes, targets] = branches[..] else {
        panic!("{branches:?}");
    };
    let pairs = [(sources, skip_sources), (boxes, skip_boxes), (targets, skip_targets)];
    let trips = pairs.map(|(close, skip)| (Line::Ptx(close.ptx_line), close.executed as f64 / skip.executed as f64));
    Given { trips: trips.to_vec(), probabilities: Vec::new() }
}

/// Both counts of an example.
fn both(example: &str, target: &str, given: &Given) -> (Profile, Measurement) {
    let (program, launches) = (program(example, target), launches(example));
    let run = emulated(&program, &launches, DEFAULT_BUDGET).unwrap_or_else(|error| panic!("{example}: {error}"));
    let counted = counted(&program, &launches, given, DEFAULT_BUDGET)
        .unwrap_or_else(|error| panic!("{example}: {error} {:?}", error.help));
    (run, counted)
}

fn shared_passes(profile: &Profile) -> u64 {
    profile.shared.get(&BankRule::Cc20).map_or(0, |counts| counts.passes)
}

fn sectors(profile: &Profile) -> u64 {
    profile.global.get(&CoalescingRule::Cc70).map_or(0, |counts| counts.t32)
}

#[test]
fn every_example_is_counted_as_the_emulator_counts_it_or_bounded() {
    for example in names() {
        if NEED_TRIPS.contains(&example.as_str()) {
            continue;
        }
        for target in ["sm_75", "sm_100"] {
            let (run, counted) = both(&example, target, &Given::default());
            let statics = counted.statics.as_ref().expect("the counts are static");
            let profile = &counted.profile;
            if statics.bounds.is_empty() {
                // What depends on data in the PTX of one target may be computed without a branch in that of another.
                assert_eq!(comparable(profile), comparable(&run), "{example} {target}");
                for (rule, factor) in &run.duplicate_loads {
                    let ratio = profile.duplicate_loads[rule] / factor;
                    assert!(
                        (0.95..1.05).contains(&ratio),
                        "{example} {target}: duplicate loads, rule {rule:?}: {ratio}"
                    );
                }
                continue;
            }
            assert!(DEPEND_ON_DATA.contains(&example.as_str()), "{example}: {:?}", statics.bounds);
            let pairs = [
                ("warp instructions", profile.instructions.total, run.instructions.total),
                ("thread instructions", profile.thread_instructions, run.thread_instructions),
                ("sectors", sectors(profile), sectors(&run)),
                ("passes", shared_passes(profile), shared_passes(&run)),
                ("divergent branches", profile.divergent_branches, run.divergent_branches),
            ];
            for (what, bound, count) in pairs {
                assert!(bound >= count, "{example} {target}: {what} {bound} is no upper bound of {count}");
            }
        }
    }
}

/// The branch that only infinite values take.
#[test]
fn a_given_probability_makes_black_scholes_exact() {
    let (run, free) = both("black_scholes", "sm_80", &Given::default());
    let statics = free.statics.expect("the counts are static");
    let [bound] = &statics.bounds[..] else { panic!("{:?}", statics.bounds) };
    let taken = run.lines.iter().any(|line| line.ptx_line == bound.ptx_line && line.divergent > 0);
    assert!(!taken, "the branch is taken by all or by none");
    let exact = [0.0, 1.0].into_iter().any(|share| {
        let given = Given { trips: Vec::new(), probabilities: vec![(Line::Ptx(bound.ptx_line), share)] };
        let (_, counted) = both("black_scholes", "sm_80", &given);
        assert_eq!(counted.statics.as_ref().map(|statics| statics.bounds.len()), Some(0));
        comparable(&counted.profile) == comparable(&run)
    });
    assert!(exact, "neither side is what the emulator counts");
}

/// With the mean number of turns that the emulator saw, the instructions of mandelbrot agree within 1 %.
#[test]
fn given_trips_bring_mandelbrot_within_one_percent() {
    let (run, free) = both("mandelbrot", "sm_80", &Given::default());
    let bounds = free.statics.expect("the counts are static").bounds;
    let [bound] = &bounds[..] else { panic!("{bounds:?}") };
    let turns = run.lines.iter().find(|line| line.ptx_line == bound.ptx_line).expect("the branch is counted").executed;
    let trips = turns as f64 / run.warps as f64;
    assert!((1.0..256.0).contains(&trips), "{trips}");
    let given = Given { trips: vec![(Line::Ptx(bound.ptx_line), trips)], probabilities: Vec::new() };
    let (_, counted) = both("mandelbrot", "sm_80", &given);
    let statics = counted.statics.expect("the counts are static");
    assert_eq!((statics.bounds.len(), statics.used.len()), (0, 1));
    let ratio = counted.profile.instructions.total as f64 / run.instructions.total as f64;
    assert!((0.99..=1.01).contains(&ratio), "{ratio}");
    assert!(free.profile.instructions.total > 2 * run.instructions.total);
}

/// Without a number the loops over lists in memory are refused; with means the instructions agree within 5 %.
#[test]
fn given_trips_count_the_lists_of_fmm_ulist() {
    let (program, launches) = (program("fmm_ulist", "sm_80"), launches("fmm_ulist"));
    let refused = counted(&program, &launches, &Given::default(), DEFAULT_BUDGET).expect_err("loops end by data");
    assert!(refused.help.as_ref().is_some_and(|help| help.contains("--trips")), "{refused:?}");
    let run = emulated(&program, &launches, DEFAULT_BUDGET).expect("it runs");
    let (_, counted) = both("fmm_ulist", "sm_80", &mean_trips("fmm_ulist", &run));
    let ratio = counted.profile.instructions.total as f64 / run.instructions.total as f64;
    assert!((0.95..=1.05).contains(&ratio), "{ratio}");
}

/// Following a block ends, however long the block would run.
#[test]
fn a_block_that_takes_too_long_to_follow_is_refused() {
    let (program, launches) = (program("matmul_naive", "sm_80"), launches("matmul_naive"));
    let mut options = ExecutionOptions { statics: Some(Given::default()), ..ExecutionOptions::new() };
    options.walk_budget = 1000;
    let progress = Progress::default();
    let refused =
        measure(&program, &launches, options, Counting::Ptx, &no_compiler(), &progress).expect_err("too long");
    assert!(refused.to_string().contains("a block executes more than 1000 instructions"), "{refused}");
    assert!(refused.help.as_ref().is_some_and(|help| help.contains("leave --static out")), "{refused:?}");
}

/// Everything but the bank conflicts of the data-dependent atomics is exact.
#[test]
fn the_histogram_is_exact_but_for_its_bank_conflicts() {
    let (run, counted) = both("histogram_atomics", "sm_80", &Given::default());
    let statics = counted.statics.as_ref().expect("the counts are static");
    assert!(
        statics
            .bounds
            .iter()
            .all(|bound| bound.opcode.key.family == Family::Atom && bound.opcode.key.space == Some(StateSpace::Shared)),
        "{:?}",
        statics.bounds
    );
    let without = |profile: &Profile| {
        let mut profile = comparable(profile);
        profile.shared.clear();
        profile.lines.iter_mut().for_each(|line| line.shared.clear());
        let atomics = profile.statistics.atomics.iter_mut().flat_map(|atomics| &mut atomics.lines);
        for line in atomics.filter(|line| line.space == StateSpace::Shared) {
            (line.distinct_words, line.passes) = (0, 0);
        }
        profile
    };
    // Lanes whose word is not known do not meet.
    let met = |profile: &Profile| {
        let atomics = profile.statistics.atomics.as_ref().expect("atomics are counted");
        let line = atomics.lines.iter().find(|line| line.space == StateSpace::Shared).expect("there is one");
        (line.accesses, line.operations, line.distinct_words, line.passes)
    };
    let (counted_met, run_met) = (met(&counted.profile), met(&run));
    assert_eq!(counted_met, (run_met.0, run_met.1, run_met.1, run_met.0));
    assert!(run_met.2 < run_met.1 && run_met.3 > run_met.0);
    assert_eq!(without(&counted.profile), without(&run));
    let requests = |profile: &Profile| profile.shared[&BankRule::Cc20].requests;
    assert_eq!(requests(&counted.profile), requests(&run));
}

/// `docs/static-counts.md`; `UPDATE=1` writes it.
#[test]
fn the_page_of_static_counts_is_current() {
    let mut page = String::from(
        "# Static counts of the examples\n\n\
         What `warplens profile --static` counts of each shipped example, beside the emulator's counts (PTX for sm_80, `launch.toml`, all blocks).\n\
         `=` stands where both are the same; blocks are those that were walked of those in the grid.\n\n\
         | Example | Blocks | Warp instructions | Static | Sectors, rule 7.0 | Static | Shared passes, rule 2.0 | Static | Not exact because of |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for example in names() {
        let run = emulated(&program(&example, "sm_80"), &launches(&example), DEFAULT_BUDGET).expect("it runs");
        let (_, counted) = both(&example, "sm_80", &mean_trips(&example, &run));
        let statics = counted.statics.as_ref().expect("the counts are static");
        let pair = |count: fn(&Profile) -> u64| {
            let (run, counted) = (count(&run), count(&counted.profile));
            if run == counted { format!("{run} | =") } else { format!("{run} | {counted}") }
        };
        let mut bounds: Vec<String> = statics
            .bounds
            .iter()
            .map(|bound| {
                let place = bound.source.as_ref().map(|(file, line)| format!("{file}:{line}")).unwrap_or_default();
                format!("`{}` {place}", bound.opcode)
            })
            .collect();
        bounds.dedup();
        bounds.extend(statics.used.iter().map(|(line, number)| format!("`--trips {line}={number:.3}` given")));
        writeln!(
            page,
            "| {example} | {} of {} | {} | {} | {} | {} |",
            statics.walked_ctas,
            run.coverage.ctas_total,
            pair(|profile| profile.instructions.total),
            pair(sectors),
            pair(shared_passes),
            bounds.join(", ")
        )
        .expect("a string takes everything");
    }
    let path = root().join("docs/static-counts.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(current, page, "UPDATE=1 cargo test -p warplens-session --test statics writes the page");
}
