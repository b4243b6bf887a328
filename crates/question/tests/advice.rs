//! Advice held against repairs that were made by hand: pairs of kernels, one with a classic mistake and one without it.

use std::fmt::Write as _;

use warplens_launch::Launch;
use warplens_model::{ModelId, Options};
use warplens_question::explain::{self, Advice, Trial};
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Analysis, Choice};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Measurement, Program, Progress, measure};

/// A pair of `validation/advice`.
struct Pair {
    name: String,
    gpu: String,
    /// The advice that names the mistake.
    advice: String,
    /// Lines of the mistake.
    lines: Vec<u32>,
}

fn path(name: &str) -> String {
    format!("{}/../../validation/advice/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn file(name: &str) -> String {
    let path = path(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn pairs() -> Vec<Pair> {
    let only = std::env::var("PAIR").ok();
    let table = file("pairs.csv");
    let rows = table.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    let wanted = rows.filter(|row| only.as_deref().is_none_or(|only| only.split(',').any(|one| one == row[0])));
    let pair = |row: Vec<&str>| {
        let [name, gpu, advice] = row[..] else { panic!("three columns: {row:?}") };
        let source = file(&format!("{name}.cu"));
        let marked = source.lines().zip(1..).filter(|(line, _)| line.ends_with("// here"));
        let lines: Vec<u32> = marked.map(|(_, number)| number).collect();
        assert!(!lines.is_empty(), "{name}: the mistake is marked");
        Pair { name: name.to_owned(), gpu: gpu.to_owned(), advice: advice.to_owned(), lines }
    };
    wanted.map(pair).collect()
}

fn analysed(program: &Program, launch: &Launch, machine: &Machine) -> Analysis {
    let mut options = ExecutionOptions::new();
    options.traced_for = vec![machine.clone()];
    let launches = std::slice::from_ref(launch);
    let measured = measure(program, launches, options, Counting::Ptx, &Search::default(), &Progress::default());
    let measurement: Measurement = measured.unwrap_or_else(|error| panic!("{error}")).remove(0);
    predict::predict(measurement, std::slice::from_ref(machine), &Choice::Named(vec![ModelId::Teg]), Options::default())
}

fn microseconds(analysis: &Analysis) -> f64 {
    let answer = &analysis.gpus[0].answers[0].result;
    answer.as_ref().unwrap_or_else(|refusal| panic!("{refusal}")).seconds().microseconds()
}

#[test]
fn advice_comes_true() {
    let mut table = String::new();
    for pair in pairs() {
        let machine = machines::one(&pair.gpu).expect("a built-in machine");
        let started = std::time::Instant::now();
        let program = Program::from_ptx(&path(&format!("{}.ptx", pair.name)), file(&format!("{}.ptx", pair.name)))
            .expect("it is sound");
        let launches = Launch::parse_file(&pair.name, &file(&format!("{}.toml", pair.name))).expect("launches");
        let [mistake, repaired] = [0, 1].map(|at| analysed(&program, &launches[at], &machine));
        let (before, after) = (microseconds(&mistake), microseconds(&repaired));
        let trial = Trial { program: &program, launches: &launches[..1], number: 0, options: &ExecutionOptions::new() };
        let explained = explain::explain(mistake, Options::default(), Some(trial));
        let advice: &[Advice] = &explained.gpus[0].advice;
        let rank = advice.iter().position(|advice| advice.id == pair.advice);
        let found = rank.map(|at| &advice[at]);
        let line = found.and_then(|advice| advice.places.first()?.source.as_ref()).map(|(_, line)| *line);
        let claimed = found.map_or(f64::NAN, |advice| advice.speedup);
        let gain = before / after;
        writeln!(
            table,
            "{:18} {before:9.1} us, rank {:?} line {line:?} (at {:?}), claimed {claimed:.2}, repaired {gain:.2}, {:+.0} %  [{:.1} s]",
            pair.name,
            rank.map(|at| at + 1),
            pair.lines,
            100.0 * (claimed / gain - 1.0),
            started.elapsed().as_secs_f64()
        )
        .expect("a string");
        for other in advice.iter().take(5) {
            let at = other.places.first().and_then(|place| place.source.as_ref()).map(|(_, line)| *line);
            writeln!(table, "      {} {:.2} x: {} {at:?}", other.id, other.speedup, other.title).expect("a string");
        }
        eprint!("{table}");
        table.clear();
    }
}
