//! Counts without a run, held against the emulator's on every shipped example, and their rules one by one.

mod alike;
mod examples;
mod literate;
mod random;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use warplens_launch::Launch;
use warplens_session::profile::{Counting, Profile, Statistics};
use warplens_session::statics::Given;
use warplens_session::toolchain::Search;
use warplens_session::{Error, ExecutionOptions, Extent, Measurement, Program, Progress, measure};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Registers are given or estimated, whatever is installed here.
fn no_compiler() -> Search {
    Search { sites: OnceLock::from(Vec::new()), ..Search::default() }
}

/// All blocks executed.
fn emulated(program: &Program, launches: &[Launch], budget: u64) -> Result<Profile, Error> {
    Ok(run(program, launches, budget)?.profile)
}

fn run(program: &Program, launches: &[Launch], budget: u64) -> Result<Measurement, Error> {
    let options = ExecutionOptions { extent: Extent::Full, budget, ..ExecutionOptions::new() };
    let measured = measure(program, launches, options, Counting::Ptx, &no_compiler(), &Progress::default())?;
    Ok(measured.into_iter().next().expect("there is a launch"))
}

fn counted(program: &Program, launches: &[Launch], given: &Given, budget: u64) -> Result<Measurement, Error> {
    let options = ExecutionOptions { statics: Some(given.clone()), budget, ..ExecutionOptions::new() };
    let counted = measure(program, launches, options, Counting::Ptx, &no_compiler(), &Progress::default())?;
    Ok(counted.into_iter().next().expect("there is a launch"))
}

/// CTAs beyond which the emulator counts duplicate loads on some only.
const ALL_LOOKED_AT: u64 = 64;

/// Without what the emulator takes from a sample of the warps or CTAs.
fn comparable(profile: &Profile) -> Profile {
    let mut statistics = Statistics { reuse: None, periods: None, ..profile.statistics.clone() };
    // Without a run the words of a launch are not known.
    if let Some(atomics) = &mut statistics.atomics {
        atomics.concentration = None;
        atomics.lines.iter_mut().for_each(|line| line.concentration = None);
    }
    let mut profile = Profile { statistics, duplicate_share: 0.0, ..profile.clone() };
    if profile.launch.n_ctas() > ALL_LOOKED_AT {
        profile.duplicate_loads.clear();
    }
    profile
}
