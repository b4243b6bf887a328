//! A calibration: fitted values beside those of the machine file, and what could not be fitted.
//!
//! ```text
//! parameter     unit     before  fitted  95 % from     to  points  residual
//! latency.fp32  cycles        4       4          4      4       8     0.0 %
//! ```

use warplens_document::calibrate as document;
use warplens_document::{Id, Number};
use warplens_question::calibrate::{Calibration, Fitted};
use warplens_session::machines::Machine;

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
        let mut row = vec![
            Cell::text(fitted.key.name()),
            Cell::text(fitted.key.unit().symbol()),
            Cell::optional(of.of(of.machine, fitted), Unit::One),
            Cell::Number(fitted.value, Unit::One),
            Cell::Number(fitted.interval.0, Unit::One),
            Cell::Number(fitted.interval.1, Unit::One),
            Cell::Number(fitted.n_points as f64, Unit::One),
            Cell::Number(fitted.residual, Unit::Share),
        ];
        if let Some(hardware) = of.hardware {
            let wanted = of.of(hardware, fitted);
            row.push(Cell::optional(wanted, Unit::One));
            row.push(Cell::optional(wanted.map(|wanted| fitted.value / wanted - 1.0), Unit::Share));
        }
        table.push(row);
    }
    let title = format!("{} by {}", of.machine.id, of.times);
    let mut sections = vec![Section::new("fitted", title).with(Block::Table(table))];
    if !of.calibration.left.is_empty() {
        let mut table = Table::new(&[("parameter", "parameter"), ("why it stays as it was", "reason")]);
        for left in &of.calibration.left {
            table.push(vec![Cell::text(left.key.name()), Cell::text(&left.reason)]);
        }
        sections.push(Section::new("left", "Not fitted").with(Block::Table(table)));
    }
    sections
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
    }
}
