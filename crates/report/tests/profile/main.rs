//! Every count of a profile, on kernels small enough to be counted by hand: the cases of `tests/profile/*.md`.
//!
//! A case holds
//! - a `ptx` block: a kernel, without the directives for version, target and address size; or the path of a PTX file;
//! - a `toml` block: its launch, as in a launch file; or the path of a launch file;
//! - `json` blocks: parts of the profile in JSON. What they name must be there and equal. A rule's name may be a list of
//!   rules, or `*` for all of them. Words behind `json` change the run: `count=machine`, `cta=0..2`,
//!   `extent=auto`;
//! - `table` blocks: a launch per row. In front of the `|` stand parameters of the kernel, behind it what one rule says:
//!   of `table global` and `table local` whether the requests are coalesced (`c` or `u`) and their transactions
//!   (`u:1x32+2x128`), of `table shared` passes and wavefronts (`2/4`).
//!
//! Whatever a case says, its profile is checked for consistency, for being the same on one host thread and two, and
//! against the counts without a run.

mod consistency;
mod expectation;
mod statics;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::Value as Json;
use warplens_launch::Launch;
use warplens_literate::{Block, Case, Outcome, check_directory};
use warplens_report::document;
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Extent, Program, Progress, measure};

use expectation::{compare, compare_cell, rules_of};

/// Every key that a profile has, as a path with `RULE` for a rule. `tests/profile` holds a case for each.
const KEYS: &str = include_str!("keys.txt");

/// Replaces the directives that the cases leave out, on the first line so that lines keep their numbers.
const HEADER: &str = ".version 7.8 .target sm_90 .address_size 64 ";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn kernels_counted_by_hand() {
    let mut seen = BTreeSet::new();
    check_directory(root().join("tests/profile"), |case, outcome| {
        if let Err((line, message)) = check(case, outcome, &mut seen) {
            outcome.fail(line, message);
        }
    });
    let keys: BTreeSet<String> = KEYS.lines().map(str::to_owned).collect();
    let missing: Vec<_> = keys.difference(&seen).collect();
    assert!(missing.is_empty(), "no case counts {missing:?}");
}

/// The recorder agrees with the emulator's own totals on every example, and with itself on one host thread and two.
#[test]
fn examples_are_counted_consistently() {
    let examples = root().join("examples");
    let mut names: Vec<PathBuf> = std::fs::read_dir(&examples)
        .expect("the folder of examples can be read")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.join("launch.toml").is_file())
        .collect();
    names.sort();
    assert!(names.len() >= 8, "{names:?}");
    for folder in names {
        let subject = Subject::of_example(&folder, "sm_80");
        if let Err(message) = subject.profile(&subject.launch, Counting::Ptx, &Extent::Full) {
            panic!("{}: {message}", folder.display());
        }
    }
}

/// So it does on the kernels that test the emulator, which go through everything that PTX can do.
#[test]
fn kernels_of_every_kind_are_counted_consistently() {
    let folder = root().join("crates/exec/tests/data");
    let entries = std::fs::read_dir(&folder).expect("the folder of cases exists");
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.expect("entries can be read").path()).collect();
    cases.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    cases.sort();
    assert!(!cases.is_empty());
    let mut messages = Vec::new();
    for path in cases {
        let text = std::fs::read_to_string(&path).expect("cases can be read");
        let mut table: toml::Table = toml::from_str(&text).expect("cases are TOML");
        let targets = table["ptx"].as_array().expect("cases have targets").clone();
        for key in ["ptx", "stdout", "expect"] {
            table.remove(key);
        }
        let launch = toml::to_string(&table).expect("a table is TOML");
        let launches = Launch::parse_file("launch", &launch).expect("cases hold a launch");
        for target in targets {
            let target = target.as_str().expect("targets are names");
            let ptx = folder.join("ptx").join(target).join(path.file_name().expect("a file")).with_extension("ptx");
            let ptx = std::fs::read_to_string(ptx).expect("cases have PTX");
            let program = Program::from_ptx(target, ptx).expect("cases are PTX");
            if let Err(message) = profiles(&program, &launches, Counting::Ptx, &Extent::Full) {
                messages.push(format!("{} {target}: {message}", path.display()));
            }
        }
    }
    assert!(messages.is_empty(), "{}", messages.join("\n"));
}

/// Whatever the target that nvcc compiled for.
#[test]
fn a_vector_addition_takes_22_instructions_per_thread() {
    for target in ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"] {
        let subject = Subject::of_example(&root().join("examples/vector_add"), target);
        let profile = subject.profile(&subject.launch, Counting::Ptx, &Extent::Full).expect("the example runs");
        let count = |key: &str| profile[key].as_u64().expect("a count");
        assert_eq!(profile["instructions"]["total"], 22 * count("warps"), "{target}");
        assert_eq!(count("thread_instructions"), 22 << 20, "{target}");
    }
}

type Result<T> = std::result::Result<T, (usize, String)>;

/// A kernel with its launch.
struct Subject {
    program: Program,
    launch: Launch,
}

fn check(case: &Case, outcome: &mut Outcome, seen: &mut BTreeSet<String>) -> Result<()> {
    let subject = Subject::new(case)?;
    let mut n_checks = 0;
    for block in &case.blocks {
        match &*block.lang {
            "json" => check_json(&subject, block, outcome, seen)?,
            "table" => check_table(&subject, block, outcome, seen)?,
            _ => continue,
        }
        n_checks += 1;
    }
    if n_checks == 0 { Err((case.line, "nothing is checked".to_owned())) } else { Ok(()) }
}

impl Subject {
    fn new(case: &Case) -> Result<Self> {
        let block = |lang: &str| case.block(lang).ok_or((case.line, format!("no `{lang}` block")));
        let ptx = block("ptx")?;
        let text = match &*ptx.name {
            "" => format!("{HEADER}{}", ptx.text),
            path => read(path, ptx.line)?,
        };
        let program = Program::from_ptx("kernel", text).map_err(|error| (ptx.line, error.to_string()))?;
        let toml = block("toml")?;
        let text = match &*toml.name {
            "" => toml.text.clone(),
            path => read(path, toml.line)?,
        };
        let launches = Launch::parse_file("launch", &text).map_err(|error| (toml.line, error.to_string()))?;
        let [launch] = launches.try_into().map_err(|_| (toml.line, "one launch is wanted".to_owned()))?;
        Ok(Self { program, launch })
    }

    fn of_example(folder: &Path, target: &str) -> Self {
        let read = |path: PathBuf| std::fs::read_to_string(path).expect("the example can be read");
        let ptx = read(folder.join(format!("ptx/{target}.ptx")));
        let program = Program::from_ptx(target, ptx).expect("the example is PTX");
        let launches = warplens_session::source::launches(folder.join("launch.toml").to_str(), Launch::default());
        let launches = launches.expect("the example has a launch");
        let [launch] = launches.try_into().expect("the example has one launch");
        Self { program, launch }
    }

    fn profile(&self, launch: &Launch, counting: Counting, extent: &Extent) -> std::result::Result<Json, String> {
        let profiles = profiles(&self.program, std::slice::from_ref(launch), counting, extent)?;
        Ok(profiles.into_iter().next().expect("one launch has one profile"))
    }
}

/// The profiles of launches as JSON. They must be consistent, and the same on one host thread and two.
fn profiles(
    program: &Program,
    launches: &[Launch],
    counting: Counting,
    extent: &Extent,
) -> std::result::Result<Vec<Json>, String> {
    let [one, two] = [1, 2].map(|threads| {
        let options = ExecutionOptions { threads, extent: extent.clone(), ..ExecutionOptions::new() };
        let measurements = measure(program, launches, options, counting, &no_compiler(), &Progress::default());
        let measurements = measurements.map_err(|error| error.to_string())?;
        let documents = measurements.iter().map(|measurement| {
            let mut document = document::value(&document::profile::document(std::slice::from_ref(measurement)));
            document["emulation"]["seconds"] = Json::Null;
            document
        });
        Ok::<Vec<Json>, String>(documents.collect())
    });
    let (one, two) = (one?, two?);
    if one != two {
        return Err("the profile depends on the number of host threads".to_owned());
    }
    let all = *extent == Extent::Full && counting == Counting::Ptx;
    one.iter().try_for_each(|profile| consistency::check(profile, all))?;
    if all {
        statics::check(program, launches, &one)?;
    }
    Ok(one)
}

/// Registers are given or estimated, whatever is installed here.
pub(crate) fn no_compiler() -> Search {
    Search { sites: OnceLock::from(Vec::new()), ..Search::default() }
}

fn read(path: &str, line: usize) -> Result<String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| (line, format!("{path}: {error}")))
}

fn check_json(subject: &Subject, block: &Block, outcome: &mut Outcome, seen: &mut BTreeSet<String>) -> Result<()> {
    let at = |message: String| (block.line, message);
    let expected: Json = serde_json::from_str(&block.text)
        .map_err(|error| (block.line + error.line().max(1) - 1, format!("no JSON: {error}")))?;
    let (mut counting, mut extent) = (Counting::Ptx, Extent::Full);
    for word in block.name.split_whitespace() {
        match word.split_once('=') {
            Some(("count", "machine")) => counting = Counting::Machine,
            Some(("extent", "auto")) => extent = Extent::Auto,
            Some(("cta", range)) => {
                let ends = range.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
                extent = Extent::Ctas(ends.ok_or_else(|| at(format!("`{range}` is no range")))?);
            }
            _ => return Err(at(format!("unknown word `{word}`"))),
        }
    }
    let profile = subject.profile(&subject.launch, counting, &extent).map_err(at)?;
    for message in compare("", &expected, &profile, seen) {
        outcome.fail(block.line, message);
    }
    Ok(())
}

fn check_table(subject: &Subject, block: &Block, outcome: &mut Outcome, seen: &mut BTreeSet<String>) -> Result<()> {
    let space = &*block.name;
    let split = |line: &str| -> Option<(Vec<String>, Vec<String>)> {
        let line = line.split('#').next()?;
        let (left, right) = line.split_once('|')?;
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Some((words(left), words(right)))
    };
    let mut lines = block.text.lines().zip(block.line..).filter(|(line, _)| !line.trim().is_empty());
    let header = lines.next().and_then(|(line, _)| split(line)).ok_or((block.line, "no header".to_owned()))?;
    for (text, line) in lines {
        let (values, cells) = split(text).ok_or((line, "no `|`".to_owned()))?;
        if values.len() != header.0.len() || cells.len() != header.1.len() {
            return Err((line, "not as many cells as the header".to_owned()));
        }
        let mut launch = subject.launch.clone();
        for (name, value) in header.0.iter().zip(&values) {
            launch.add_argument(&format!("{name}={value}")).map_err(|error| (line, error.to_string()))?;
        }
        let profile = subject.profile(&launch, Counting::Ptx, &Extent::Full).map_err(|message| (line, message))?;
        for (rules, cell) in header.1.iter().zip(&cells) {
            for rule in rules_of(rules, space) {
                let counts = &profile[space][rule];
                if let Err(message) = compare_cell(space, cell, counts, seen) {
                    outcome.fail(line, format!("{space} under {rule}: {message}"));
                }
            }
        }
    }
    Ok(())
}
