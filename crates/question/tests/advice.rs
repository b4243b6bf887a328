//! Advice held against repairs that were made by hand: pairs of kernels in `validation/advice`, one with a classic mistake
//! and one without it.
//!
//! The mistake has to be the first or second change that is advised, at its line; the gain that is claimed has to be that
//! of the repaired kernel, as predicted; and a change of the launch has to give its gain when it is made.
//! `UPDATE=1` writes `validation/advice.md`; `PAIR=name,name` looks at some pairs alone.

use std::fmt::Write as _;

use warplens_launch::Launch;
use warplens_model::{ModelId, Options, Prediction};
use warplens_question::explain::{self, Advice, Trial};
use warplens_session::machines::{self, Machine};
use warplens_session::predict::{self, Analysis, Choice};
use warplens_session::profile::Counting;
use warplens_session::toolchain::Search;
use warplens_session::{ExecutionOptions, Measurement, Program, Progress, measure};

/// Share of the pairs whose mistake is found: 14 of 16.
const FOUND: f64 = 14.0 / 16.0;
/// By how much a claimed gain may differ from that of the repair.
const GAIN: f64 = 0.25;
/// By how much the gain of a launch may differ when it is run.
const AGAIN: f64 = 0.05;
/// Changes that are looked at first.
const RANKS: usize = 2;

/// A pair of `validation/advice`.
struct Pair {
    name: String,
    gpu: String,
    /// The advice that names the mistake.
    advice: String,
    /// Lines of the mistake.
    lines: Vec<u32>,
}

/// What came of it.
struct Row {
    pair: Pair,
    before_us: f64,
    /// Rank of the advice and the line that it names, where it is given.
    rank: Option<usize>,
    line: Option<u32>,
    claimed: Option<f64>,
    repaired: f64,
    /// What else is wrong.
    wrong: Vec<String>,
}

impl Row {
    fn is_found(&self) -> bool {
        let at = self.line.is_some_and(|line| self.pair.lines.contains(&line));
        at && self.rank.is_some_and(|rank| rank <= RANKS)
    }

    fn difference(&self) -> Option<f64> {
        self.claimed.map(|claimed| claimed / self.repaired - 1.0)
    }
}

fn path(name: &str) -> String {
    format!("{}/../../validation/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn file(name: &str) -> String {
    std::fs::read_to_string(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn pairs(only: Option<&str>) -> Vec<Pair> {
    let table = file("advice/pairs.csv");
    let rows = table.lines().skip(1).map(|row| row.split(',').collect::<Vec<_>>());
    let wanted = rows.filter(|row| only.is_none_or(|only| only.split(',').any(|one| one == row[0])));
    let pair = |row: Vec<&str>| {
        let [name, gpu, advice] = row[..] else { panic!("three columns: {row:?}") };
        let source = file(&format!("advice/{name}.cu"));
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
    let choice = Choice::Named(vec![ModelId::Teg, ModelId::SpeedOfLight]);
    predict::predict(measurement, std::slice::from_ref(machine), &choice, Options::default())
}

fn answer(analysis: &Analysis, model: ModelId) -> &Prediction {
    let answers = &analysis.gpus[0].answers;
    let answer = answers.iter().find(|answer| answer.model == model).expect("it was asked");
    answer.result.as_ref().unwrap_or_else(|refusal| panic!("{refusal}"))
}

fn microseconds(analysis: &Analysis) -> f64 {
    answer(analysis, ModelId::Teg).seconds().microseconds()
}

/// Grid and block of the flags of a question.
fn launched(launch: &Launch, question: &[String]) -> Option<Launch> {
    let number = |name: &str| {
        let value = question.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        value.map(|value| value.parse::<u32>().expect("a number"))
    };
    let (grid, block) = (number("grid"), number("block"));
    if grid.is_none() && block.is_none() {
        return None;
    }
    let mut launch = launch.clone();
    launch.grid = grid.map(|grid| [grid, 1, 1]).or(launch.grid);
    launch.block = block.map(|block| [block, 1, 1]).or(launch.block);
    Some(launch)
}

// For whoever looks at some pairs alone.
#[allow(clippy::print_stdout)]
fn row(pair: Pair) -> Row {
    let machine = machines::one(&pair.gpu).expect("a built-in machine");
    let ptx = format!("advice/{}.ptx", pair.name);
    let program = Program::from_ptx(&path(&ptx), file(&ptx)).expect("it is sound");
    let launches = Launch::parse_file(&pair.name, &file(&format!("advice/{}.toml", pair.name))).expect("launches");
    let [mistake, repaired] = [0, 1].map(|at| analysed(&program, &launches[at], &machine));
    let (before, after) = (microseconds(&mistake), microseconds(&repaired));
    let options = ExecutionOptions::new();
    let trial = Trial { program: &program, launches: &launches[..1], number: 0, options: &options };
    let explained = explain::explain(mistake, Options::default(), Some(trial));
    let advice: &[Advice] = &explained.gpus[0].advice;
    let mut wrong = Vec::new();
    for advice in advice {
        let at = advice.places.first().and_then(|place| place.source.as_ref()).map(|(_, line)| *line);
        println!("    {}: {:.2} x, line {at:?}: {}", advice.id, advice.speedup, advice.title);
        if let Some(launch) = launched(&launches[0], &advice.question) {
            let gain = before / microseconds(&analysed(&program, &launch, &machine));
            if (gain / advice.speedup - 1.0).abs() > AGAIN {
                wrong.push(format!(
                    "{}: {:.2} x is claimed, and running it gives {gain:.2} x",
                    advice.id, advice.speedup
                ));
            }
        }
    }
    let rank = advice.iter().position(|advice| advice.id == pair.advice);
    let found = rank.map(|at| &advice[at]);
    // What the repaired kernel has to move, the changed one has to move, too.
    let least = answer(&repaired, ModelId::SpeedOfLight).terms.iter().find(|term| term.name == "DRAM bandwidth");
    let least = least.expect("a bound of bytes").cycles.at(answer(&repaired, ModelId::SpeedOfLight).clock);
    if let Some(advice) = found.filter(|advice| advice.after.seconds().0 < least.0 * 0.98) {
        let after = advice.after.seconds().microseconds();
        wrong.push(format!("{}: {after:.2} us are below the speed of light, {:.2}", advice.id, least.microseconds()));
    }
    let line = found.and_then(|advice| advice.places.first()?.source.as_ref()).map(|(_, line)| *line);
    let claimed = found.map(|advice| advice.speedup);
    Row { pair, before_us: before, rank: rank.map(|at| at + 1), line, claimed, repaired: before / after, wrong }
}

fn page(rows: &[Row]) -> String {
    let found = rows.iter().filter(|row| row.is_found()).count();
    let near = rows.iter().filter(|row| row.difference().is_some_and(|by| by.abs() <= GAIN)).count();
    let mut page = format!(
        "# Advice and repairs\n\n\
         The kernels of `advice/` have a classic mistake each, which was repaired by hand.\n\
         What `explain` advises about the first is held against what the second gains, both as the model `teg` predicts them: \
         no kernel was measured.\n\
         The suite and the advice were made together, so that this shows that they agree, and not how often advice is right \
         elsewhere.\n\n\
         Of {n} mistakes {found} are the first or second change that is advised, at their line; of {near} the claimed gain is \
         within {percent:.0} % of the repair's.\n\
         `UPDATE=1 cargo test -p warplens-question --test advice` writes this page.\n\n\
         | Pair | GPU | Time (µs) | Advice | Rank | Line | Claimed | Repaired | Difference |\n\
         |---|---|---:|---|---:|---|---:|---:|---:|\n",
        n = rows.len(),
        percent = 100.0 * GAIN,
    );
    for row in rows {
        let Pair { name, gpu, advice, lines } = &row.pair;
        let rank = row.rank.map_or("-".to_owned(), |rank| rank.to_string());
        let line = match row.line {
            Some(line) if lines.contains(&line) => line.to_string(),
            Some(line) => format!("{line}, not {lines:?}"),
            None => "-".to_owned(),
        };
        let claimed = row.claimed.map_or("-".to_owned(), |claimed| format!("{claimed:.2}"));
        let difference = row.difference().map_or("-".to_owned(), |by| format!("{:+.0} %", 100.0 * by));
        let (before, repaired) = (row.before_us, row.repaired);
        writeln!(
            page,
            "| {name} | {gpu} | {before:.1} | {advice} | {rank} | {line} | {claimed} | {repaired:.2} | {difference} |"
        )
        .expect("a string");
    }
    page
}

#[test]
fn advice_comes_true() {
    let only = std::env::var("PAIR").ok();
    let rows: Vec<Row> = pairs(only.as_deref())
        .into_iter()
        .map(|pair| {
            println!("{}", pair.name);
            row(pair)
        })
        .collect();
    let page = page(&rows);
    println!("{page}");
    let wrong: Vec<String> =
        rows.iter().flat_map(|row| row.wrong.iter().map(|what| format!("{}: {what}", row.pair.name))).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    if only.is_some() {
        return;
    }
    let share = |count: usize| count as f64 / rows.len() as f64;
    let found = rows.iter().filter(|row| row.is_found()).count();
    let near = rows.iter().filter(|row| row.difference().is_some_and(|by| by.abs() <= GAIN)).count();
    assert!(rows.len() >= 16 && share(found) >= FOUND, "{found} of {} mistakes are found", rows.len());
    assert!(share(near) >= FOUND, "{near} of {} gains are near that of the repair", rows.len());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path("advice.md"), &page).expect("the page can be written");
    }
    assert_eq!(page, file("advice.md"), "UPDATE=1 writes validation/advice.md");
}
