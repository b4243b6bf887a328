//! `cargo xtask fuzz`: the fuzz targets, each for some seconds, from seeds that lie in the repository.
//!
//! The stable compiler has what a fuzzer needs: LLVM's coverage pass is asked for by flags of code generation, and
//! libFuzzer comes with `libfuzzer-sys`. A finding ends the run; the input lies beside the corpora then.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::workspace::{Workspace, run};

/// A target, and the files that its corpus begins with: by the folder they lie in, and how their names end.
struct Target {
    name: &'static str,
    seeds: &'static [(&'static str, &'static str)],
}

const PTX: &[(&str, &str)] =
    &[("crates/ptx/tests/data/", ".ptx"), ("crates/exec/tests/data/ptx/", ".ptx"), ("examples/", ".ptx")];

const TARGETS: &[Target] = &[
    Target { name: "parse", seeds: PTX },
    Target { name: "fixpoint", seeds: PTX },
    Target { name: "lower", seeds: PTX },
    Target { name: "execute", seeds: PTX },
    Target { name: "statics", seeds: PTX },
    Target { name: "launch", seeds: &[("examples/", ".toml"), ("crates/exec/tests/data/", ".toml")] },
    Target { name: "profile", seeds: &[("crates/cli/tests/data/", ".json"), ("examples/profiles/", "")] },
    Target { name: "machine", seeds: &[("machines/", ".toml")] },
    Target {
        name: "container",
        seeds: &[("crates/sass/tests/data/", ".cubin"), ("crates/sass/tests/data/", ".fatbin")],
    },
    Target { name: "decode", seeds: &[("crates/sass/tests/data/", ".cubin")] },
    Target { name: "trace", seeds: &[("crates/native/tests/data/", ""), ("examples/", ".gt200")] },
];

/// Bytes of the largest seed and of the largest input that is made of them.
const MOST_BYTES: u64 = 16 << 10;

/// Seeds for each second that a target has. All of them are executed before the clock starts, by the slowest target for half
/// a second each.
const SEEDS_PER_SECOND: usize = 2;

const HOST: &str = "x86_64-unknown-linux-gnu";

/// What tells libFuzzer which ways an input has gone (LLVM's documentation of SanitizerCoverage).
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Runs the named targets, or all of them, each for so many seconds.
pub(crate) fn check(workspace: &Workspace, words: &[&str]) -> Result<()> {
    let (seconds, names) = match words {
        ["--seconds", seconds, names @ ..] => (seconds.parse().context("--seconds takes a number")?, names),
        names => (60u32, names),
    };
    let targets = chosen(names)?;
    let folder = workspace.metadata.target_directory.join("fuzz").into_std_path_buf();
    build(workspace, &folder)?;
    let files = workspace.files()?;
    for target in targets {
        println!("==> {}, {seconds} s", target.name);
        let corpus = folder.join("corpus").join(target.name);
        let n_seeds = plant(workspace, &files, target, &corpus, SEEDS_PER_SECOND * seconds as usize)?;
        println!("    {n_seeds} seeds");
        let mut command = Command::new(folder.join(HOST).join("release").join(target.name));
        command.arg(&corpus).args(options(workspace, seconds));
        command.arg(format!("-artifact_prefix={}/{}-", folder.display(), target.name));
        run(&mut command)?;
    }
    Ok(())
}

fn chosen(names: &[&str]) -> Result<Vec<&'static Target>> {
    if let Some(unknown) = names.iter().find(|name| TARGETS.iter().all(|target| target.name != **name)) {
        let known: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        bail!("no target `{unknown}`; there are {}", known.join(", "));
    }
    Ok(TARGETS.iter().filter(|target| names.is_empty() || names.contains(&target.name)).collect())
}

fn build(workspace: &Workspace, folder: &Path) -> Result<()> {
    // A named host keeps the flags away from build scripts, which no fuzzer runs.
    let manifest = workspace.root.join("fuzz/Cargo.toml");
    let mut command = workspace.cargo(&["build", "--release", "--locked", "--target", HOST, "--manifest-path"]);
    command.arg(manifest).env("RUSTFLAGS", COVERAGE).env("CARGO_TARGET_DIR", folder);
    run(&mut command)
}

/// Copies seeds of a target to its corpus: at most so many, spread over all of them.
fn plant(workspace: &Workspace, files: &[String], target: &Target, corpus: &Path, most: usize) -> Result<usize> {
    std::fs::create_dir_all(corpus).with_context(|| format!("making {}", corpus.display()))?;
    let is_seed = |path: &str| target.seeds.iter().any(|(folder, end)| path.starts_with(folder) && path.ends_with(end));
    let is_small = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|about| about.len() <= MOST_BYTES);
    let named = files.iter().filter(|path| is_seed(path)).map(|path| (path, workspace.root.join(path)));
    let seeds: Vec<(&String, PathBuf)> = named.filter(|(_, seed)| is_small(seed)).collect();
    let every = seeds.len().div_ceil(most.max(1)).max(1);
    let planted = seeds.iter().step_by(every);
    for (path, seed) in planted.clone() {
        std::fs::copy(seed, corpus.join(path.replace('/', "-"))).with_context(|| format!("copying {path}"))?;
    }
    Ok(planted.len())
}

fn options(workspace: &Workspace, seconds: u32) -> Vec<String> {
    vec![
        format!("-max_total_time={seconds}"),
        format!("-max_len={MOST_BYTES}"),
        format!("-dict={}", workspace.root.join("fuzz/ptx.dict").display()),
        "-timeout=25".to_owned(),
        "-rss_limit_mb=3072".to_owned(),
        "-print_final_stats=1".to_owned(),
        "-verbosity=0".to_owned(),
    ]
}
