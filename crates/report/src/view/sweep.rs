//! The rows of a study: the best of each kernel and GPU for people, all of them for programs.
//!
//! ```text
//! kernel  GPU   best of  time      configuration        bound by
//! tiled   h200  24       8.894 us  n=256 block=16x16    DRAM latency
//! ```

use std::collections::BTreeMap;

use warplens_question::sweep::{Answer, Row};
use warplens_question::tune::show_extents;

use crate::section::{Block, Cell, Column, Section, Table, Unit};

/// The fastest configuration of each kernel on each GPU, as things are.
pub fn best(rows: &[Row]) -> Vec<Section> {
    let mut groups: BTreeMap<(usize, usize), Vec<&Row>> = BTreeMap::new();
    let (mut kernels, mut gpus): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for row in rows.iter().filter(|row| row.what_if.is_none()) {
        let key = (position(&mut kernels, &row.kernel), position(&mut gpus, &row.gpu));
        groups.entry(key).or_default().push(row);
    }
    let mut table = Table::new(&[
        ("kernel", "kernel"),
        ("GPU", "gpu"),
        ("best of", "configurations"),
        ("time", "time_us"),
        ("configuration", "configuration"),
        ("bound by", "limiter"),
    ]);
    for ((kernel, gpu), rows) in &groups {
        let answered = rows.iter().filter_map(|row| Some((row, row.answer.as_ref().ok()?)));
        let best = answered.min_by(|(_, left), (_, right)| left.time_us.total_cmp(&right.time_us));
        let mut cells = vec![Cell::text(kernels[*kernel]), Cell::text(gpus[*gpu]), Cell::Count(rows.len() as u64)];
        match best {
            Some((row, answer)) => cells.extend([
                Cell::Number(answer.time_us, Unit::Microseconds),
                Cell::text(configuration(row)),
                Cell::text(&answer.limiter),
            ]),
            None => cells.extend([Cell::Missing, Cell::Missing, Cell::text("no model answered")]),
        }
        table.push(cells);
    }
    let all = "--format csv and --write rows.parquet have all of them.";
    let section = Section::new("sweep", "The fastest configuration").with(Block::Table(table));
    let refusals: Vec<&str> = rows.iter().filter_map(|row| Some(first_line(row.answer.as_ref().err()?))).collect();
    let section = match commonest(&refusals) {
        None => section.note(format!("{} rows; {all}", rows.len())),
        Some((reason, often)) => {
            section.note(format!("{} rows, {} of them without a time; {all}", rows.len(), refusals.len())).note(
                format!("Why {} of these {have} none: {reason}", often, have = if often == 1 { "has" } else { "have" }),
            )
        }
    };
    vec![section]
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// What occurs most often, and how often; of several the first.
fn commonest<'t>(texts: &[&'t str]) -> Option<(&'t str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for text in texts {
        match counts.iter_mut().find(|(known, _)| known == text) {
            Some((_, count)) => *count += 1,
            None => counts.push((text, 1)),
        }
    }
    counts.into_iter().rev().max_by_key(|&(_, count)| count)
}

fn position<'n>(names: &mut Vec<&'n str>, name: &'n str) -> usize {
    names.iter().position(|own| *own == name).unwrap_or_else(|| {
        names.push(name);
        names.len() - 1
    })
}

fn configuration(row: &Row) -> String {
    let values = row.values.iter().map(|(name, value)| format!("{name}={value}"));
    let launch = row.launch.iter().flat_map(|launch| {
        [format!("grid={}", show_extents(launch.grid)), format!("block={}", show_extents(launch.block))]
    });
    values.chain(launch).collect::<Vec<_>>().join(" ")
}

/// Columns whose cells are words, whatever the rows of a study: a file has the same kinds each time.
pub const WORDS: [&str; 6] = ["kernel", "gpu", "what_if", "model", "limiter", "refused"];

/// Every row with every digit. `names` are the sizes and macros of the study.
pub fn rows(rows: &[Row], names: &[String]) -> Section {
    let mut table = Table::new(&[("configuration", "configuration"), ("kernel", "kernel")]);
    table.columns.extend(names.iter().map(|name| Column::new(name, name)));
    let launch =
        ["grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_bytes", "registers", "instructions"];
    let answer = ["model", "time_us", "range_low_us", "range_high_us", "limiter", "occupancy_share", "refused"];
    let keys = launch.iter().chain(&["gpu", "what_if"]).chain(&answer);
    table.columns.extend(keys.map(|key| Column::new(key, key)));
    for row in rows {
        let mut cells = vec![Cell::Count(row.configuration), Cell::text(&row.kernel)];
        cells.extend(names.iter().map(|name| value(row, name)));
        cells.extend(launched(row));
        cells.push(Cell::text(&row.gpu));
        cells.push(row.what_if.as_ref().map_or(Cell::Missing, Cell::text));
        cells.extend(answered(row.answer.as_ref().ok()));
        cells.push(row.answer.as_ref().err().map_or(Cell::Missing, Cell::text));
        table.push(cells);
    }
    Section::new("sweep", "").with(Block::Table(table))
}

/// A value as a number where it is one.
fn value(row: &Row, name: &str) -> Cell {
    let Some((_, value)) = row.values.iter().find(|(own, _)| own == name) else { return Cell::Missing };
    match (value.parse::<u64>(), value.parse::<f64>()) {
        (Ok(count), _) => Cell::Count(count),
        (_, Ok(number)) if number.is_finite() => Cell::Number(number, Unit::One),
        _ => Cell::text(value),
    }
}

fn launched(row: &Row) -> Vec<Cell> {
    let launch = row.launch.as_ref();
    let count = |count: Option<u64>| count.map_or(Cell::Missing, Cell::Count);
    let axes = (0..3).map(|axis| launch.map(|launch| u64::from(launch.grid[axis])));
    let axes = axes.chain((0..3).map(|axis| launch.map(|launch| u64::from(launch.block[axis]))));
    let rest = [
        launch.map(|launch| launch.shared_bytes),
        launch.and_then(|launch| launch.registers).map(u64::from),
        launch.and_then(|launch| launch.instructions),
    ];
    axes.chain(rest).map(count).collect()
}

fn answered(answer: Option<&Answer>) -> [Cell; 6] {
    let range = answer.and_then(|answer| answer.range_us);
    let time = |time: Option<f64>| Cell::optional(time, Unit::Microseconds);
    [
        answer.map_or(Cell::Missing, |answer| Cell::text(&answer.model)),
        time(answer.map(|answer| answer.time_us)),
        time(range.map(|(low, _)| low)),
        time(range.map(|(_, high)| high)),
        answer.map_or(Cell::Missing, |answer| Cell::text(&answer.limiter)),
        Cell::optional(answer.and_then(|answer| answer.occupancy), Unit::Share),
    ]
}
