//! GPUs: a list, one with all its parameters, two beside each other.
//!
//! ```text
//! GPU   name             target  SMs     clock  peak bandwidth  achieved
//! h200  H200 SXM 141GB   sm_90   132  1.98 GHz        4.8 TB/s  3.534 TB/s
//! ```

use warplens_session::machines::{self, Difference, Entry, Key, Machine, Row, Value};

use crate::section::{Block, Cell, Field, Section, Table, Unit};

/// One line per GPU.
pub fn list(entries: &[Entry]) -> Section {
    let mut table = Table::new(&[
        ("GPU", "gpu"),
        ("name", "name"),
        ("target", "target"),
        ("SMs", "sms"),
        ("clock", "clock_hz"),
        ("peak bandwidth", "peak_bandwidth_bytes_per_s"),
        ("achieved", "achieved_bandwidth_bytes_per_s"),
    ]);
    for entry in entries {
        table.push(vec![
            Cell::text(&entry.id),
            Cell::text(&entry.name),
            Cell::text(&entry.target),
            Cell::optional(entry.sms, Unit::One),
            Cell::optional(entry.clock, Unit::Hertz),
            Cell::optional(entry.peak_bandwidth, Unit::BytesPerSecond),
            Cell::optional(entry.achieved_bandwidth, Unit::BytesPerSecond),
        ]);
    }
    Section::new("gpus", "").with(Block::Table(table))
}

/// What a GPU is called, and all its parameters.
pub fn show(machine: &Machine, rows: &[Row]) -> Vec<Section> {
    let mut fields =
        vec![Field::new("identifier", Cell::text(&machine.id)), Field::new("target", Cell::text(machine.cc.target()))];
    fields.extend(machine.chip.as_ref().map(|chip| Field::new("chip", Cell::text(chip))));
    if !machine.aliases.is_empty() {
        fields.push(Field::new("also called", Cell::text(machine.aliases.join(", "))));
    }
    let unknown: Vec<&str> = rows.iter().filter(|row| row.value == Value::Unknown).map(|row| row.key.name()).collect();
    let mut table =
        Table::new(&[("parameter", "parameter"), ("value", "value"), ("basis", "basis"), ("source", "source")]);
    // Mixes are long words, which would widen the column of all other values.
    let mut mixes = table.clone();
    for row in rows.iter().filter(|row| row.value != Value::Unknown) {
        let table = if matches!(row.value, Value::Mix(_)) { &mut mixes } else { &mut table };
        table.push(vec![Cell::text(row.key.name()), measure(row.key, &row.value), basis(row), Cell::text(&row.source)]);
    }
    let mut sections = vec![
        Section::new("gpu", &machine.name).with(Block::Fields(fields)),
        Section::new("parameters", "").with(Block::Table(table)),
    ];
    if !mixes.rows.is_empty() {
        sections.push(Section::new("mixes", "").with(Block::Table(mixes)));
    }
    if !unknown.is_empty() {
        let note = format!("Not known: {}.", unknown.join(", "));
        sections.push(Section::new("unknown", "").note(note));
    }
    sections
}

/// One line per known parameter, with the unit apart: for programs.
pub fn parameters(rows: &[Row]) -> Section {
    let columns =
        [("parameter", "parameter"), ("value", "value"), ("unit", "unit"), ("basis", "basis"), ("source", "source")];
    let mut table = Table::new(&columns);
    for row in rows.iter().filter(|row| row.value != Value::Unknown) {
        table.push(vec![
            Cell::text(row.key.name()),
            cell(&row.value, Unit::One),
            Cell::text(row.unit.symbol()),
            basis(row),
            Cell::text(&row.source),
        ]);
    }
    Section::new("parameters", "").with(Block::Table(table))
}

fn basis(row: &Row) -> Cell {
    row.basis.map_or(Cell::Missing, |basis| Cell::text(basis.name()))
}

/// The parameters in which two GPUs differ.
pub fn diff(left: &Machine, right: &Machine, differences: &[Difference]) -> Section {
    let columns = [("parameter", "parameter"), (left.id.as_str(), "left"), (&right.id, "right"), ("ratio", "ratio")];
    let mut table = Table::new(&columns);
    for difference in differences {
        table.push(vec![
            Cell::text(difference.key.name()),
            measure(difference.key, &difference.left.value),
            measure(difference.key, &difference.right.value),
            Cell::optional(difference.ratio, Unit::One),
        ]);
    }
    let section = Section::new("diff", "");
    if differences.is_empty() { section.note("They do not differ.") } else { section.with(Block::Table(table)) }
}

const TRANSFERS: &str = "T/s";

/// A parameter's value with its unit.
pub(crate) fn measure(key: Key, value: &Value) -> Cell {
    // Transfers per second would read as tera per second.
    if let (TRANSFERS, Value::Number(number)) = (key.unit().symbol(), value) {
        return Cell::Number(number / 1e6, Unit::Named("MT/s"));
    }
    let unit = match key.unit() {
        machines::Unit::Count => Unit::One,
        machines::Unit::Hertz => Unit::Hertz,
        machines::Unit::Bytes => Unit::Bytes,
        machines::Unit::BytesPerSecond => Unit::BytesPerSecond,
        machines::Unit::Cycles => Unit::Cycles,
        machines::Unit::Seconds => Unit::Seconds,
        other => Unit::Named(other.symbol()),
    };
    cell(value, unit)
}

fn cell(value: &Value, unit: Unit) -> Cell {
    match value {
        Value::Unknown => Cell::Missing,
        Value::Number(number) => Cell::Number(*number, unit),
        Value::List(list) => Cell::text(list.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")),
        Value::Word(word) => Cell::text(word.name()),
        Value::Mix(mix) => {
            Cell::text(mix.iter().map(|(key, count)| format!("{} {count}", key.name())).collect::<Vec<_>>().join(", "))
        }
    }
}
