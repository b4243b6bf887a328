//! Kernels that compilers made, run as machine code: they leave what they leave as PTX.
//!
//! The cases are those of the conformance tests. Their cubins are named `FOLDER_TARGET_NAME.CHIP.cubin` after the PTX that
//! they were assembled from and lie in the folder that `WARPLENS_CUBINS` names; without it those of `data/cubins` are run.
//! `CASE=shuffle` runs one case only, `CHIP=90a` the cubins of one chip.

use std::path::{Path, PathBuf};

use expectation::{describe, difference, integer};
use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, Extent, Generation, OutputRequest, Program, Progress, RunResult, run};

#[path = "emulator/expectation.rs"]
mod expectation;

/// Warp instructions that a case may take.
const BUDGET: u64 = 20_000_000;

/// Folders with cases, by the words that the names of their cubins begin with.
const FOLDERS: [(&str, &str); 2] = [
    ("crates_exec_tests_data_ptx", "../exec/tests/data"),
    ("validation_suite_committed_ptx", "../../validation/suite/committed"),
];

struct Case {
    name: String,
    table: toml::Table,
    launches: Vec<Launch>,
}

fn read_case(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).expect("cases can be read");
    let table: toml::Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut launch = table.clone();
    for key in ["ptx", "stdout", "expect"] {
        launch.remove(key);
    }
    let launch = toml::to_string(&launch).expect("a table is valid TOML");
    let launches = Launch::parse_file(&path.to_string_lossy(), &launch)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.file_stem().expect("cases have names").to_string_lossy().into_owned();
    Case { name, table, launches }
}

impl Case {
    fn expectations(&self) -> Vec<&toml::Table> {
        let list = self.table.get("expect").and_then(toml::Value::as_array);
        list.into_iter().flatten().filter_map(toml::Value::as_table).collect()
    }

    fn run(&self, program: &Program) -> Result<RunResult, String> {
        let mut buffers: Vec<i64> = self.expectations().iter().map(|expect| integer(expect, "buffer")).collect();
        buffers.sort_unstable();
        buffers.dedup();
        let requests: Vec<OutputRequest> =
            buffers.iter().map(|buffer| OutputRequest { key: buffer.to_string(), count: None }).collect();
        let options = ExecutionOptions {
            threads: 2,
            budget: BUDGET,
            launch_budget: u64::MAX,
            walk_budget: u64::MAX,
            allow_unsupported: false,
            // An atomic on half a word reads and writes the whole.
            allow_overreads: true,
            extent: Extent::Full,
            full_limit: warplens_session::FULL_LIMIT,
            statics: None,
            traced_for: Vec::new(),
            trace_limits: warplens_session::TraceLimits::default(),
            generations: vec![Generation::Threads],
        };
        run(program, &self.launches, &requests, options, &Progress::default()).map_err(|error| describe(&error))
    }

    fn differences(&self, result: &RunResult) -> Vec<String> {
        let mut differences: Vec<String> =
            self.expectations().into_iter().flat_map(|expect| difference(expect, result)).collect();
        let stdout = self.table.get("stdout").and_then(toml::Value::as_str).unwrap_or_default();
        if result.printed != stdout {
            differences.push(format!("printed {:?} instead of {stdout:?}", result.printed));
        }
        differences
    }
}

/// A cubin of the case that lies beside the folder of its PTX.
struct Machine {
    case: PathBuf,
    chip: String,
    path: PathBuf,
}

fn machines() -> Vec<Machine> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cubins");
    let folder = std::env::var_os("WARPLENS_CUBINS").map_or(own, PathBuf::from);
    let (only, chip_only) = (std::env::var("CASE").ok(), std::env::var("CHIP").ok());
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entries can be read").path()).collect();
    paths.sort();
    let mut machines = Vec::new();
    for path in paths {
        let file = path.file_name().expect("entries have names").to_string_lossy().into_owned();
        let Some((name, chip)) = file.strip_suffix(".cubin").and_then(|name| name.rsplit_once('.')) else { continue };
        let Some((prefix, of)) = FOLDERS.iter().find(|(prefix, _)| name.starts_with(prefix)) else { continue };
        // `_sm_90_shuffle`: the target of the PTX and the name.
        let rest = name[prefix.len()..].trim_start_matches("_sm_");
        let Some((_, case)) = rest.split_once('_') else { continue };
        let is_wanted = only.as_ref().is_none_or(|only| only == case)
            && chip_only.as_ref().is_none_or(|only| only == chip);
        if is_wanted {
            let case = Path::new(env!("CARGO_MANIFEST_DIR")).join(of).join(case).with_extension("toml");
            machines.push(Machine { case, chip: chip.to_owned(), path });
        }
    }
    machines
}

#[test]
fn machine_code_leaves_the_expected_values() {
    let (mut failures, mut n_runs) = (Vec::new(), 0);
    for Machine { case, chip, path } in machines() {
        if !case.exists() {
            continue;
        }
        let case = read_case(&case);
        let bytes = std::fs::read(&path).expect("cubins can be read");
        n_runs += 1;
        let of = format!("{} ({})", path.file_stem().expect("cubins have names").to_string_lossy(), chip);
        let result = Program::from_cubin(&case.name, &bytes).map_err(|error| describe(&error));
        match result.and_then(|program| case.run(&program)) {
            Ok(result) => failures.extend(case.differences(&result).iter().map(|text| format!("{of}: {text}"))),
            Err(message) => failures.push(format!("{of}: {message}")),
        }
    }
    assert!(n_runs > 0, "there are cases");
    assert!(failures.is_empty(), "{} findings in {n_runs} runs:\n{}", failures.len(), failures.join("\n"));
}
