//! The rules of static counting: the cases of `tests/statics/*.md`.
//!
//! A case holds a `ptx` block, a kernel without the directives for version, target and address size; a `toml` block, its
//! launch; perhaps a `given` block with lines `trips LINE=N`, `prob LINE=P` and
//! `budget N`; and a `snapshot` of what was counted and
//! how it compares with the emulator. `UPDATE=1 cargo test -p warplens-session --test statics` writes the snapshots.

use std::fmt::Write as _;

use warplens_launch::Launch;
use warplens_literate::{Case, Outcome, check_directory};
use warplens_session::profile::{BankRule, CoalescingRule, Profile};
use warplens_session::statics::{Given, parse_given};
use warplens_session::{DEFAULT_BUDGET, Measurement, Program};

use crate::{comparable, counted, emulated, root};

/// Replaces the directives that the cases leave out, on the first line so that lines keep their numbers.
const HEADER: &str = ".version 7.8 .target sm_80 .address_size 64 ";

#[test]
fn rules_of_static_counting() {
    check_directory(root().join("tests/statics"), |case, outcome| {
        if let Err((line, message)) = check(case, outcome) {
            outcome.fail(line, message);
        }
    });
}

fn check(case: &Case, outcome: &mut Outcome) -> Result<(), (usize, String)> {
    let block = |lang: &str| case.block(lang).ok_or((case.line, format!("no `{lang}` block")));
    let (ptx, toml) = (block("ptx")?, block("toml")?);
    let program = Program::from_ptx("kernel", format!("{HEADER}{}", ptx.text));
    let program = program.map_err(|error| (ptx.line, format!("{error:?}")))?;
    let launches = Launch::parse_file("launch", &toml.text).map_err(|error| (toml.line, error.to_string()))?;
    let mut given = Given::default();
    let mut budget = DEFAULT_BUDGET;
    for line in case.block("given").iter().flat_map(|block| block.text.lines()) {
        let (what, text) = line.split_once(' ').ok_or((case.line, format!("`{line}`")))?;
        if what == "budget" {
            budget = text.parse().map_err(|_| (case.line, format!("`{line}`")))?;
            continue;
        }
        let pair = parse_given(what, text).map_err(|error| (case.line, error.to_string()))?;
        if what == "trips" { given.trips.push(pair) } else { given.probabilities.push(pair) }
    }
    let run = emulated(&program, &launches, budget);
    let text = match counted(&program, &launches, &given, budget) {
        Ok(counted) => {
            let mut text = describe(&counted);
            match &run {
                Ok(run) if comparable(run) == comparable(&counted.profile) => text.push_str("emulator: the same\n"),
                Ok(run) => write!(text, "emulator:\n{}", numbers(run)).expect("a string takes everything"),
                Err(error) => writeln!(text, "emulator: {error}").expect("a string takes everything"),
            }
            text
        }
        Err(error) => {
            let help = error.help.as_ref().map(|help| format!("help: {help}\n")).unwrap_or_default();
            format!("error: {}\n{help}", error.message)
        }
    };
    outcome.snapshot(text);
    Ok(())
}

fn describe(counted: &Measurement) -> String {
    let statics = counted.statics.as_ref().expect("the counts are static");
    let mut text = format!("walked {} of {} blocks\n", statics.walked_ctas, counted.profile.coverage.ctas_total);
    text.push_str(&numbers(&counted.profile));
    for bound in &statics.bounds {
        writeln!(text, "bound: {} {} line {}", bound.kind.name(), bound.opcode, bound.ptx_line)
            .expect("a string takes everything");
    }
    for line in &statics.unused {
        writeln!(text, "of no effect: line {line}").expect("a string takes everything");
    }
    text
}

fn numbers(profile: &Profile) -> String {
    let mut text = format!(
        "  {} warp instructions, {} thread instructions, {} branches, {} divergent\n",
        profile.instructions.total, profile.thread_instructions, profile.branches, profile.divergent_branches
    );
    let mut add = |line: String| text.push_str(&line);
    if let Some(counts) = profile.global.get(&CoalescingRule::Cc70).filter(|counts| counts.requests > 0) {
        add(format!(
            "  global: {} loads, {} stores, {} atomics, {} sectors, {} coalesced; {} sectors read, {} written\n",
            counts.loads,
            counts.stores,
            counts.atomics,
            counts.t32,
            counts.coalesced,
            profile.distinct_sectors_read,
            profile.distinct_sectors_written
        ));
    }
    if let Some(counts) = profile.local.get(&CoalescingRule::Cc70).filter(|counts| counts.requests > 0) {
        add(format!("  local: {} requests, {} sectors\n", counts.requests, counts.t32));
    }
    if let Some(counts) = profile.shared.get(&BankRule::Cc20).filter(|counts| counts.requests > 0) {
        add(format!("  shared: {} requests, {} passes\n", counts.requests, counts.passes));
    }
    text
}
