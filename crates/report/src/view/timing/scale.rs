//! Predicted cycles by the number of warps.

use warplens_question::timing::Answer;
use warplens_question::timing::scale::{Scale, Step};

use super::refused;

use crate::render::show;
use crate::section::{Block, Cell, Section, Table, Unit};

/// The tables of all answers.
pub fn scales(all: &[Answer<Scale>]) -> Vec<Section> {
    let of_one = |answer: &Answer<Scale>| match &answer.result {
        Ok(of) => scale(of),
        Err(refusal) => vec![refused(&answer.kernel, &answer.gpu, refusal)],
    };
    all.iter().flat_map(of_one).collect()
}

/// A table with what stops the scaling.
pub fn scale(scale: &Scale) -> Vec<Section> {
    let mut table = Table::new(&[
        ("warps", "warps"),
        ("blocks", "ctas"),
        ("cycles", "cycles"),
        ("speedup", "speedup"),
        ("efficiency", "efficiency_share"),
        ("instr/cycle", "ipc"),
        ("busiest unit", "busiest_unit"),
        ("more warps wait for", "stop"),
    ]);
    for step in &scale.steps {
        let mut row = vec![Cell::Count(step.warps.into()), Cell::Count(step.ctas.into())];
        row.extend(numbers(step));
        row.push(step.busiest.map_or(Cell::Missing, |(unit, share)| {
            Cell::text(format!("{unit} {}", show(&Cell::Number(share, Unit::Share))))
        }));
        row.push(step.stop.map_or(Cell::Missing, |stop| {
            Cell::text(format!("{} +{}", stop.stall, show(&Cell::Number(stop.growth, Unit::One))))
        }));
        table.push(row);
    }
    let title = format!("Scaling of {} on {} from one warp to a full SM", scale.kernel, scale.gpu);
    let mut section = Section::new("scale", title).with(Block::Table(table)).note(
        "speedup = n T(1) / T(n) with n times the work; efficiency = speedup / n. `more warps wait for` is the state \
         whose warp cycles per instruction grew most since the row above, and by how many.",
    );
    if !scale.assumptions.is_empty() {
        let lines: Vec<String> = scale.assumptions.iter().map(|text| format!("- {text}")).collect();
        section = section.note(lines.join("\n"));
    }
    vec![section]
}

fn numbers(step: &Step) -> [Cell; 4] {
    [
        Cell::Number(step.cycles as f64, Unit::One),
        Cell::Number(step.speedup, Unit::One),
        Cell::Number(step.efficiency, Unit::Share),
        Cell::Number(step.ipc, Unit::One),
    ]
}

/// One row per step with every digit: for programs.
pub fn rows(all: &[Answer<Scale>]) -> Section {
    let keys = [
        "kernel",
        "gpu",
        "warps",
        "ctas",
        "cycles",
        "speedup",
        "efficiency_share",
        "ipc",
        "issued",
        "busiest_unit",
        "busiest_share",
        "stop",
        "stop_growth_cycles",
    ];
    let mut table = Table::new(&keys.map(|key| (key, key)));
    for scale in all.iter().filter_map(|answer| answer.result.as_ref().ok()) {
        for step in &scale.steps {
            let mut row = vec![
                Cell::text(&scale.kernel),
                Cell::text(&scale.gpu),
                Cell::Count(step.warps.into()),
                Cell::Count(step.ctas.into()),
            ];
            row.extend(numbers(step));
            row.push(Cell::Count(step.issued));
            row.push(step.busiest.map_or(Cell::Missing, |(unit, _)| Cell::text(unit.name())));
            row.push(Cell::optional(step.busiest.map(|(_, share)| share), Unit::Share));
            row.push(step.stop.map_or(Cell::Missing, |stop| Cell::text(stop.stall.name())));
            row.push(Cell::optional(step.stop.map(|stop| stop.growth), Unit::Cycles));
            table.push(row);
        }
    }
    Section::new("scale", "").with(Block::Table(table))
}
