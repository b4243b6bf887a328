//! The literate cases of `tests/exec`.
//!
//! A case holds PTX and one or more `toml` blocks, each a launch with what it leaves. PTX that does not start with a
//! directive is the body of a kernel with one parameter, the address of its results, and these registers: `%p0`-`%p9`,
//! `%h0`-`%h9`, `%r0`-`%r19`, `%rd0`-`%rd19`, `%f0`-`%f9`, `%d0`-`%d9`; `%tid0` is the thread's index, `%out` the
//! address of the results and `%slot` that of the thread's own 32-bit word there. Lines in messages are those of the block.
//!
//! Initial values may be strings, `= "text"`, which PTX does not have.
//!
//! The keys of a `toml` block are those of a launch file (grid 1, block 32 and `args = ["u32[32]"]` unless given), those
//! of the conformance kernels (`[[expect]]`, `stdout`), and
//!
//! | Key | Meaning |
//! |---|---|
//! | `out` | what argument 0 holds: numbers, `VxN` for N times V, `A..B` for a range |
//! | `error` | how the launch fails, with the lines that tell more |
//! | `generation` | `warps`: the launch runs as before compute capability 7.0 |
//! | `budget` | warp instructions that it may take |
//! | `order` | `free`, `unordered`, `local` or `communicating` |
//! | `race` | whether blocks are said to touch what others write; the counts are the same with any number of threads |
//! | `order_dependent` | whether the counts are said to depend on the order of execution |

use std::path::Path;
use std::sync::Arc;

use toml::{Table, Value};
use warplens_launch::Launch;
use warplens_literate::{Block, Case, Outcome, check_directory};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{
    ExecutionOptions, Extent, Generation, OutputRequest, Program, Progress, RunResult, measure, run,
};

use crate::expectation::{describe, difference, integer};
use crate::kernel_text::module_text;

/// Warp instructions that a launch may take unless the case says otherwise.
const BUDGET: u64 = 3_000_000;

#[test]
fn literate_cases() {
    let only = std::env::var("CASE").ok();
    check_directory(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/exec"), |case, outcome| {
        if only.as_ref().is_none_or(|only| case.title.contains(only)) {
            check(case, outcome);
        }
    });
}

fn check(case: &Case, outcome: &mut Outcome) {
    let block = case.block("ptx").expect("a case has PTX");
    let program = match Program::from_ptx("case", module_text(&block.text)) {
        Ok(program) => program,
        Err(error) => return outcome.fail(block.line, describe(&error)),
    };
    assert!(case.block("toml").is_some(), "{}: a case has a launch", case.title);
    for block in case.blocks_in("toml") {
        check_launch(&program, block, outcome);
    }
}

fn check_launch(program: &Program, block: &Block, outcome: &mut Outcome) {
    let table: Table = match toml::from_str(&block.text) {
        Ok(table) => table,
        Err(error) => return outcome.fail(block.line, error.to_string()),
    };
    let launch = launch_of(&table);
    let results = [1, 3].map(|threads| execute(program, &launch, &table, threads));
    if results[0] != results[1] {
        outcome.fail(block.line, format!("one thread: {:?}\nthree threads: {:?}", results[0], results[1]));
    }
    let [result, _] = results;
    let wanted = table.get("error").map(|error| error.as_str().unwrap().trim_end());
    match (result, wanted) {
        (Ok(_), Some(wanted)) => outcome.fail(block.line, format!("it should fail with: {wanted}")),
        (Err(message), Some(wanted)) if message == wanted => {}
        (Err(message), _) => outcome.fail(block.line, message),
        (Ok((outputs, printed)), None) => {
            for message in differences(&table, outputs, printed) {
                outcome.fail(block.line, message);
            }
        }
    }
    check_order(program, &launch, &table, block, outcome);
    check_race(program, &launch, &table, block, outcome);
}

fn launch_of(table: &Table) -> Launch {
    let mut launch = table.clone();
    crate::kernel_text::OUTCOMES.iter().for_each(|key| drop(launch.remove(*key)));
    launch.entry("grid").or_insert(Value::Integer(1));
    launch.entry("block").or_insert(Value::Integer(32));
    launch.entry("args").or_insert(Value::Array(vec!["u32[32]".into()]));
    let [launch] = Launch::parse_file("launch", &toml::to_string(&launch).unwrap()).unwrap().try_into().unwrap();
    launch
}

fn options(table: &Table, threads: usize) -> ExecutionOptions {
    let budget = table.get("budget").map_or(BUDGET, |budget| budget.as_integer().unwrap() as u64);
    let generation = match table.get("generation").map(|generation| generation.as_str().unwrap()) {
        None => Generation::default(),
        Some("warps") => Generation::Warps,
        Some(other) => panic!("there is no generation `{other}`"),
    };
    ExecutionOptions {
        threads,
        budget,
        launch_budget: u64::MAX,
        walk_budget: u64::MAX,
        allow_unsupported: false,
        allow_overreads: false,
        extent: Extent::Full,
        full_limit: warplens_session::FULL_LIMIT,
        alike_limit: u64::MAX,
        statics: None,
        traced_for: Vec::new(),
        trace_limits: warplens_session::TraceLimits::default(),
        generations: vec![generation],
    }
}

type Outputs = Vec<warplens_session::Output>;

fn execute(program: &Program, launch: &Launch, table: &Table, threads: usize) -> Result<(Outputs, String), String> {
    let mut keys: Vec<String> =
        expectations(table).iter().map(|expect| integer(expect, "buffer").to_string()).collect();
    keys.sort();
    keys.dedup();
    let requests: Vec<_> = keys.into_iter().map(|key| OutputRequest { key, count: None }).collect();
    run(program, std::slice::from_ref(launch), &requests, options(table, threads), &Progress::default())
        .map(|result| (result.outputs, result.printed))
        .map_err(|error| describe(&error))
}

/// The expectations of a launch, that of `out` among them.
fn expectations(table: &Table) -> Vec<Table> {
    let written = table.get("expect").and_then(Value::as_array);
    let mut all: Vec<Table> = written.into_iter().flatten().map(|expect| expect.as_table().unwrap().clone()).collect();
    if let Some(out) = table.get("out") {
        let mut expect = Table::new();
        let values = match out {
            Value::String(text) => text.split_whitespace().flat_map(numbers).collect(),
            Value::Array(values) => values.clone(),
            value => vec![value.clone()],
        };
        expect.insert("values".into(), Value::Array(values));
        all.push(expect);
    }
    all
}

/// `V`, `VxN` or `A..B`.
fn numbers(word: &str) -> Vec<Value> {
    let number = |text: &str| -> i64 { text.parse().unwrap_or_else(|_| panic!("`{text}` is no number")) };
    if let Some((first, end)) = word.split_once("..") {
        return (number(first)..number(end)).map(Value::Integer).collect();
    }
    let (value, count) = word.split_once('x').unwrap_or((word, "1"));
    vec![Value::Integer(number(value)); number(count) as usize]
}

fn differences(table: &Table, outputs: Outputs, printed: String) -> Vec<String> {
    let stdout = table.get("stdout").map_or("", |text| text.as_str().unwrap());
    let mut messages = Vec::new();
    if printed != stdout {
        messages.push(format!("it printed {printed:?}"));
    }
    let result = RunResult { outputs, printed, ..RunResult::default() };
    messages.extend(expectations(table).iter().filter_map(|expect| difference(expect, &result)));
    messages
}

/// What the emulator thinks about the order of execution.
fn check_order(program: &Program, launch: &Launch, table: &Table, block: &Block, outcome: &mut Outcome) {
    if let Some(wanted) = table.get("order").map(|order| order.as_str().unwrap()) {
        let (module, _) = warplens_ptx::load(&program.ptx);
        let module = module.unwrap();
        let (kernel, _) = module.kernels().next().unwrap();
        let mut context = warplens_device::Context::new(module.address_bits, u64::MAX);
        let loaded = context.load(Arc::new(module)).unwrap();
        let kernel = context.kernel_of(loaded, kernel).unwrap();
        let order = format!("{:?}", context.prepare(kernel).unwrap().program().order()).to_lowercase();
        if order.split('(').next() != Some(wanted) {
            outcome.fail(block.line, format!("the order is {order}"));
        }
    }
    if let Some(wanted) = table.get("order_dependent").map(|wanted| wanted.as_bool().unwrap()) {
        let launches = std::slice::from_ref(launch);
        let search = Search { sites: Vec::new().into(), ..Search::default() };
        let measured = measure(program, launches, options(table, 1), Counting::Ptx, &search, &Progress::default());
        match measured {
            Ok(measured) if measured[0].profile.order_dependent == wanted => {}
            Ok(_) => outcome.fail(block.line, "what it says about the order of execution is wrong"),
            Err(error) => outcome.fail(block.line, describe(&error)),
        }
    }
}

/// What the emulator says about blocks that touch each other's memory, and that it counts the same however many host
/// threads it has.
fn check_race(program: &Program, launch: &Launch, table: &Table, block: &Block, outcome: &mut Outcome) {
    let Some(wanted) = table.get("race").map(|wanted| wanted.as_bool().unwrap()) else { return };
    let launches = std::slice::from_ref(launch);
    let search = Search { sites: Vec::new().into(), ..Search::default() };
    let measured = [1, 2, 4].map(|threads| {
        let options = options(table, threads);
        measure(program, launches, options, Counting::Ptx, &search, &Progress::default()).map(|mut all| all.remove(0))
    });
    let first = &measured[0];
    for own in &measured {
        match (own, first) {
            (Ok(own), Ok(first)) if own.race != first.race || own.profile != first.profile => {
                outcome.fail(block.line, "the counts depend on the number of host threads")
            }
            (Ok(own), Ok(_)) if own.race.is_some() != wanted => {
                let said = own.race.as_ref().map_or_else(|| "nothing".to_owned(), |race| race.said(own.form()));
                outcome.fail(block.line, format!("it says of races: {said}"));
            }
            (Ok(_), Ok(_)) => {}
            (Err(error), _) | (_, Err(error)) => outcome.fail(block.line, describe(error)),
        }
    }
}
