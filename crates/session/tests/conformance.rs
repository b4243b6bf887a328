//! Kernels that compilers made, run on the emulator; their results are compared with values computed from formulas.
//!
//! The cases lie in `crates/exec/tests/data`, whose README names the keys, and, as a part of a larger suite, in
//! `validation/suite/committed`. `CASE=shuffle` runs one case only.
//!
//! The same cases run as machine code: cubins that ptxas made of their PTX, named `FOLDER_TARGET_NAME.CHIP.cubin` after it,
//! of which some lie in `data/cubins`. `WARPLENS_CUBINS` names another folder of them, and `CHIP=90` takes those of one chip.

use std::path::{Path, PathBuf};

use expectation::{describe, difference, integer};
use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, Extent, Generation, OutputRequest, Program, Progress, RunResult, run};

#[path = "emulator/expectation.rs"]
mod expectation;

/// Warp instructions that a case may take: enough for each, and soon over for a kernel that waits for ever.
const BUDGET: u64 = 20_000_000;

fn folders() -> [PathBuf; 2] {
    ["../exec/tests/data", "../../validation/suite/committed"]
        .map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder))
}

struct Case {
    /// Where its PTX lies, by target.
    folder: PathBuf,
    name: String,
    table: toml::Table,
    launches: Vec<Launch>,
}

fn cases() -> Vec<Case> {
    let only = std::env::var("CASE").ok();
    let entries = folders().map(|folder| std::fs::read_dir(folder).expect("the folders of cases exist"));
    let mut paths: Vec<PathBuf> =
        entries.into_iter().flatten().map(|entry| entry.expect("entries can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let cases = paths.iter().map(|path| read_case(path));
    cases.filter(|case| only.as_ref().is_none_or(|only| *only == case.name)).collect()
}

/// A case is a launch file with the keys of the expectations added.
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
    Case { folder: path.with_file_name("ptx"), name, table, launches }
}

impl Case {
    fn targets(&self) -> Vec<&str> {
        let targets = self.table["ptx"].as_array().expect("`ptx` is a list");
        targets.iter().map(|target| target.as_str().expect("targets are names")).collect()
    }

    fn expectations(&self) -> Vec<&toml::Table> {
        let Some(list) = self.table.get("expect") else {
            assert!(self.table.contains_key("stdout"), "{}: a case expects something", self.name);
            return Vec::new();
        };
        let list = list.as_array().expect("`expect` is a list");
        list.iter().map(|expect| expect.as_table().expect("expectations are tables")).collect()
    }

    fn program(&self, target: &str) -> Result<Program, String> {
        let path = self.folder.join(target).join(&self.name).with_extension("ptx");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Program::from_ptx(&self.name, text).map_err(|error| describe(&error))
    }

    fn run(&self, target: &str, threads: usize) -> Result<RunResult, String> {
        self.run_program(&self.program(target)?, threads)
    }

    fn run_program(&self, program: &Program, threads: usize) -> Result<RunResult, String> {
        let mut buffers: Vec<i64> = self.expectations().iter().map(|expect| integer(expect, "buffer")).collect();
        buffers.sort_unstable();
        buffers.dedup();
        let requests: Vec<OutputRequest> =
            buffers.iter().map(|buffer| OutputRequest { key: buffer.to_string(), count: None }).collect();
        let options = ExecutionOptions {
            threads,
            budget: BUDGET,
            launch_budget: u64::MAX,
            walk_budget: u64::MAX,
            allow_unsupported: false,
            // In machine code an atomic on half a word reads and writes the whole.
            allow_overreads: program.is_machine_code(),
            extent: Extent::Full,
            full_limit: warplens_session::FULL_LIMIT,
            alike_limit: u64::MAX,
            statics: None,
            traced_for: Vec::new(),
            trace_limits: warplens_session::TraceLimits::default(),
            generations: vec![Generation::Threads],
        };
        run(program, &self.launches, &requests, options, &Progress::default()).map_err(|error| describe(&error))
    }

    /// What the results have that the case does not expect.
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

#[test]
fn kernels_leave_the_expected_values() {
    let mut failures = Vec::new();
    let mut n_runs = 0;
    for case in cases() {
        for target in case.targets() {
            n_runs += 1;
            match case.run(target, 2) {
                Ok(result) => {
                    let differences = case.differences(&result);
                    failures.extend(differences.iter().map(|text| format!("{} ({target}): {text}", case.name)));
                }
                Err(message) => failures.push(format!("{} ({target}): {message}", case.name)),
            }
        }
    }
    assert!(n_runs > 0, "there are cases");
    assert!(failures.is_empty(), "{} of {n_runs} runs:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn results_do_not_depend_on_the_number_of_host_threads() {
    for case in cases() {
        for target in case.targets() {
            let results =
                [1, 3].map(|threads| case.run(target, threads).map(|result| (result.outputs, result.printed)));
            assert!(results[0] == results[1], "{} ({target})", case.name);
        }
    }
}

/// A cubin of a case.
struct Machine {
    case: PathBuf,
    path: PathBuf,
}

/// The folders of the cases, by the words that the names of their cubins begin with.
const PREFIXES: [&str; 2] = ["crates_exec_tests_data_ptx_sm_", "validation_suite_committed_ptx_sm_"];

fn machines() -> Vec<Machine> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/cubins");
    let folder = std::env::var_os("WARPLENS_CUBINS").map_or(own, PathBuf::from);
    let (only, only_chip) = (std::env::var("CASE").ok(), std::env::var("CHIP").ok());
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entries can be read").path()).collect();
    paths.sort();
    let mut machines = Vec::new();
    for path in paths {
        let file = path.file_name().expect("entries have names").to_string_lossy().into_owned();
        let Some((name, chip)) = file.strip_suffix(".cubin").and_then(|name| name.rsplit_once('.')) else { continue };
        let of = PREFIXES.iter().zip(folders()).find(|(prefix, _)| name.starts_with(**prefix));
        let Some((prefix, folder)) = of else { continue };
        let Some((_, case)) = name[prefix.len()..].split_once('_') else { continue };
        let is_wanted = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|wanted| wanted == is);
        let case_file = folder.join(case).with_extension("toml");
        if is_wanted(&only, case) && is_wanted(&only_chip, chip) && case_file.exists() {
            machines.push(Machine { case: case_file, path });
        }
    }
    machines
}

#[test]
fn machine_code_leaves_the_expected_values() {
    let (mut failures, mut n_runs) = (Vec::new(), 0);
    for Machine { case, path } in machines() {
        let case = read_case(&case);
        let bytes = std::fs::read(&path).expect("cubins can be read");
        n_runs += 1;
        let of = path.file_stem().expect("cubins have names").to_string_lossy().into_owned();
        let program = Program::from_cubin(&case.name, &bytes).map_err(|error| describe(&error));
        match program.and_then(|program| case.run_program(&program, 2)) {
            Ok(result) => failures.extend(case.differences(&result).iter().map(|text| format!("{of}: {text}"))),
            Err(message) => failures.push(format!("{of}: {message}")),
        }
    }
    assert!(n_runs > 0, "there are cases");
    assert!(failures.is_empty(), "{} findings in {n_runs} runs:\n{}", failures.len(), failures.join("\n"));
}
