//! A calibration: fitted values beside those of the machine file, and what could not be fitted.
//!
//! ```text
//! parameter     unit     before  fitted  95 % from     to  points  residual
//! latency.fp32  cycles        4       4          4      4       8     0.0 %
//! ```

use warplens_document::calibrate as document;
use warplens_document::{Id, Number};
use warplens_question::calibrate::{Calibration, Fitted, Repredicted};
use warplens_session::machines::{Key, Machine};

use crate::section::{Block, Cell, Section, Table, Unit};

/// A calibration and what it was made of.
#[derive(Clone, Copy, Debug)]
pub struct Calibrated<'c> {
    /// The GPU as its machine file has it.
    pub machine: &'c Machine,
    /// What was found.
    pub calibration: &'c Calibration,
    /// Where the times come from.
    pub times: &'c str,
    /// The virtual GPU that was measured, if it was one.
    pub hardware: Option<&'c Machine>,
}

impl Calibrated<'_> {
    /// What a machine has for a fitted parameter, in its unit.
    fn of(self, machine: &Machine, of: &Fitted) -> Option<f64> {
        machine.canonical(of.key).ok().map(|value| value * of.cycles_per_unit())
    }
}

/// For people and as tables.
pub fn sections(of: Calibrated<'_>) -> Vec<Section> {
    let mut columns = vec![
        ("parameter", "parameter"),
        ("unit", "unit"),
        ("before", "before"),
        ("fitted", "value"),
        ("95 % from", "low"),
        ("to", "high"),
        ("points", "points"),
        ("residual", "residual"),
    ];
    if of.hardware.is_some() {
        columns.push(("wanted", "wanted"));
        columns.push(("off by", "error"));
    }
    let mut table = Table::new(&columns);
    for fitted in &of.calibration.fitted {
        let told = Some(fitted.interval).filter(|(_, high)| high.is_finite());
        let unit = unit(fitted.key);
        let mut row = vec![
            Cell::text(fitted.key.name()),
            Cell::text(fitted.key.unit().symbol()),
            Cell::optional(of.of(of.machine, fitted), unit),
            Cell::Number(fitted.value, unit),
            // As many launches as values leave no scatter that would say how far they may be off.
            Cell::optional(told.map(|(low, _)| low), unit),
            Cell::optional(told.map(|(_, high)| high), unit),
            Cell::Number(fitted.n_points as f64, Unit::One),
            Cell::Number(fitted.residual, Unit::Share),
        ];
        if let Some(hardware) = of.hardware {
            let wanted = of.of(hardware, fitted);
            row.push(Cell::optional(wanted, unit));
            row.push(Cell::optional(wanted.map(|wanted| fitted.off(wanted)), Unit::Share));
        }
        table.push(row);
    }
    let title = format!("{} by {}", of.machine.id, of.times);
    let mut sections = vec![Section::new("fitted", title).with(Block::Table(table))];
    sections.extend(same_times(of.calibration));
    sections.extend(repredicted(of.calibration));
    if !of.calibration.left.is_empty() {
        let mut table = Table::new(&[("parameter", "parameter"), ("why it stays as it was", "reason")]);
        for left in &of.calibration.left {
            table.push(vec![Cell::text(left.key.name()), Cell::text(&left.reason)]);
        }
        sections.push(Section::new("left", "Not fitted").with(Block::Table(table)));
    }
    sections
}

/// How numbers of a parameter are written: large ones of a base unit with a prefix, all others under the unit of their row.
fn unit(key: Key) -> Unit {
    match key.unit().symbol() {
        "B/s" => Unit::BytesPerSecond,
        "Hz" => Unit::Hertz,
        _ => Unit::One,
    }
}

/// Values that no time tells apart.
fn same_times(calibration: &Calibration) -> Option<Section> {
    let mut table = Table::new(&[("parameter", "parameter"), ("from", "low"), ("to", "high")]);
    for (of, (low, high)) in calibration.fitted.iter().filter_map(|of| Some((of, of.same?))) {
        let number = |value| Cell::Number(value, unit(of.key));
        table.push(vec![Cell::text(of.key.name()), number(low), number(high)]);
    }
    let section = || Section::new("same-times", "Values that give the same times").with(Block::Table(table.clone()));
    (!table.rows.is_empty()).then(section)
}

/// Launches that were held out, beside what the closed models say of them.
fn repredicted(calibration: &Calibration) -> Option<Section> {
    let mut table = Table::new(&[
        ("launches for", "class"),
        ("model", "model"),
        ("fitted to", "training"),
        ("mean error", "training_error"),
        ("held out", "held_out"),
        ("mean error", "held_out_error"),
        ("worst", "worst_error"),
    ]);
    for of in calibration.repredicted() {
        table.push(vec![
            Cell::text(of.group.name),
            Cell::text(of.group.model.name()),
            Cell::Number(of.n_training as f64, Unit::One),
            Cell::Number(of.training_error, Unit::Share),
            Cell::Number(of.n_held_out as f64, Unit::One),
            Cell::Number(of.held_out_error, Unit::Share),
            Cell::Number(of.worst_error, Unit::Share),
        ]);
    }
    let title = "Predicted with what was fitted, of what was held out";
    (!table.rows.is_empty()).then(|| Section::new("repredicted", title).with(Block::Table(table)))
}

/// For programs.
pub fn document(of: Calibrated<'_>) -> document::Calibrate {
    let fitted = |fitted: &Fitted| document::FittedParameter {
        parameter: fitted.key.name().to_owned(),
        unit: fitted.key.unit().symbol().to_owned(),
        before: of.of(of.machine, fitted).map(Number),
        value: Number(fitted.value),
        low: Number(fitted.interval.0),
        high: Number(fitted.interval.1),
        points: fitted.n_points as u64,
        residual: Number(fitted.residual),
        elasticity: Number(fitted.elasticity),
        same_low: fitted.same.map(|(low, _)| Number(low)),
        same_high: fitted.same.map(|(_, high)| Number(high)),
        wanted: of.hardware.and_then(|hardware| of.of(hardware, fitted)).map(Number),
    };
    let left = of
        .calibration
        .left
        .iter()
        .map(|left| document::LeftParameter { parameter: left.key.name().to_owned(), reason: left.reason.clone() });
    document::Calibrate {
        schema: Id::new(),
        gpu: of.machine.id.clone(),
        times: of.times.to_owned(),
        fitted: of.calibration.fitted.iter().map(fitted).collect(),
        left: left.collect(),
        repredicted: of.calibration.repredicted().into_iter().map(repredicted_group).collect(),
    }
}

fn repredicted_group(of: Repredicted) -> document::RepredictedGroup {
    document::RepredictedGroup {
        class: of.group.name.to_owned(),
        model: of.group.model.name().to_owned(),
        training: of.n_training as u64,
        training_error: Number(of.training_error),
        held_out: of.n_held_out as u64,
        held_out_error: Number(of.held_out_error),
        worst_error: Number(of.worst_error),
    }
}
