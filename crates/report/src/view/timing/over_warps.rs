//! Predicted times of the same work by the number of warps that do it.

use warplens_question::timing::Answer;
use warplens_question::timing::over_warps::{OverWarps, Point};

use super::refused;
use crate::section::{Block, Cell, Section, Table, Unit};

/// The tables of all answers.
pub fn over_warps(all: &[Answer<OverWarps>]) -> Vec<Section> {
    let of_one = |answer: &Answer<OverWarps>| match &answer.result {
        Ok(of) => section(of),
        Err(refusal) => refused(&answer.kernel, &answer.gpu, refusal),
    };
    all.iter().map(of_one).collect()
}

fn section(of: &OverWarps) -> Section {
    let mut table = Table::new(&[
        ("warps", "warps"),
        ("time", "time_us"),
        ("cycles", "cycles"),
        ("speedup", "speedup"),
        ("CPD", "cpd"),
        ("T_c", "t_c_cycles"),
        ("T_p", "t_p_cycles"),
    ]);
    for point in &of.points {
        table.push(cells(of, point).into());
    }
    let title = format!("Time of {} on {} over the warps of each SM", of.kernel, of.gpu);
    let lines: Vec<String> = of.assumptions.iter().map(|text| format!("- {text}")).collect();
    Section::new("over-warps", title)
        .with(Block::Table(table))
        .note(
            "The work is always that of the launch; speedup is T(1) / T(n). T_c and T_p are the cycles that wait for \
             accesses of the same calculate period and of the one before.",
        )
        .note(lines.join("\n"))
}

fn cells(of: &OverWarps, point: &Point) -> [Cell; 7] {
    [
        Cell::Count(point.warps as u64),
        Cell::Number(1e6 * point.cycles / of.clock_hz, Unit::Microseconds),
        Cell::Number(point.cycles, Unit::One),
        Cell::optional(of.speedup(point), Unit::One),
        Cell::Number(point.cpd, Unit::One),
        Cell::Number(point.t_c, Unit::One),
        Cell::Number(point.t_p, Unit::One),
    ]
}

/// One row per point with every digit: for programs.
pub fn rows(all: &[Answer<OverWarps>]) -> Section {
    let keys = ["kernel", "gpu", "warps", "time_us", "cycles", "speedup", "cpd", "t_c_cycles", "t_p_cycles"];
    let mut table = Table::new(&keys.map(|key| (key, key)));
    for of in all.iter().filter_map(|answer| answer.result.as_ref().ok()) {
        for point in &of.points {
            let mut row = vec![Cell::text(&of.kernel), Cell::text(&of.gpu)];
            row.extend(cells(of, point));
            table.push(row);
        }
    }
    Section::new("over-warps", "").with(Block::Table(table))
}
