//! Results as pictures. One file per kind; the data come from `session`.

mod accuracy;
mod counts;
mod cpi;
mod cycles;
mod dependences;
mod fit;
mod occupancy;
mod program;
mod roofline;
mod scale;
mod stalls;
mod timeline;
mod x_graph;

pub use accuracy::accuracy;
pub use counts::counts;
pub use cpi::cpi;
pub use cycles::cycles;
pub use dependences::dependences;
pub use fit::fit;
pub use occupancy::occupancy;
pub use program::program;
pub use roofline::roofline;
pub use scale::scale;
pub use stalls::stalls;
pub use timeline::timeline;
pub use x_graph::{architecture, f_family, x_graph};

use crate::figure::{Data, Figure, Scale};
use crate::section::{Block, Cell, Section, Table, Unit};

/// A kind of picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FigureKind {
    /// Name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
}

/// Every kind that `warplens plot` draws.
pub const FIGURES: &[FigureKind] = &[
    FigureKind { name: "roofline", about: "kernels under the roofs of GPUs: issue slots and memory" },
    FigureKind { name: "occupancy", about: "occupancy against block size, registers and shared memory" },
    FigureKind { name: "cpi", about: "time, cycles per instruction, MWP and CWP by model, with the terms of the time" },
    FigureKind { name: "timeline", about: "when the warps of an SM compute and when they wait for memory" },
    FigureKind { name: "stalls", about: "why warps do not issue, by scheduler and for the hottest lines" },
    FigureKind {
        name: "dependencies",
        about: "what waits for what in the hottest block of machine code, and the longest chain",
    },
    FigureKind { name: "scale", about: "speedup and efficiency from one warp to a full SM" },
    FigureKind { name: "x-graph", about: "demand and supply of memory with every state, before and after a change" },
    FigureKind { name: "f-family", about: "what memory supplies for several values of one quantity of the X-model" },
    FigureKind {
        name: "architecture",
        about: "what a GPU supplies and computes with so many warps, before any workload",
    },
    FigureKind { name: "accuracy", about: "predictions against measured times" },
];

/// The numbers of a figure: a row for each point, bar, field or segment.
pub fn data(figure: &Figure) -> Section {
    let columns = [
        ("Panel", "panel"),
        ("Series", "series"),
        ("Kind", "kind"),
        ("x axis", "x_axis"),
        ("x unit", "x_unit"),
        ("x", "x"),
        ("x end", "x_end"),
        ("y axis", "y_axis"),
        ("y unit", "y_unit"),
        ("y", "y"),
        ("Value", "value"),
        ("Label", "label"),
    ];
    let mut table = Table::new(&columns);
    for panel in &figure.panels {
        for series in &panel.series {
            let y = panel.axis(series.side);
            for row in rows(&series.data) {
                let place = |value: f64, scale: &Scale| match scale {
                    Scale::Names(names) => {
                        Cell::text(names.get(value as usize).map_or("", String::as_str).replace('\n', " "))
                    }
                    _ => Cell::Number(value, Unit::One),
                };
                table.push(vec![
                    Cell::text(panel.title.clone()),
                    Cell::text(series.name.clone()),
                    Cell::text(series.data.kind()),
                    Cell::text(panel.x.label.clone()),
                    Cell::text(panel.x.unit.clone()),
                    place(row.x, &panel.x.scale),
                    Cell::optional(row.x_end, Unit::One),
                    Cell::text(y.label.clone()),
                    Cell::text(y.unit.clone()),
                    row.y.map_or(Cell::Missing, |value| place(value, &y.scale)),
                    Cell::optional(row.value, Unit::One),
                    Cell::text(row.label),
                ]);
            }
        }
    }
    let section = Section::new("figure", figure.title.clone()).with(Block::Table(table));
    if figure.caption.is_empty() { section } else { section.note(figure.caption.clone()) }
}

/// One value of a series with its place.
pub(crate) struct Row {
    pub(crate) x: f64,
    pub(crate) x_end: Option<f64>,
    pub(crate) y: Option<f64>,
    pub(crate) value: Option<f64>,
    pub(crate) label: String,
}

pub(crate) fn rows(data: &Data) -> Vec<Row> {
    let row = |x: f64, y: Option<f64>| Row { x, x_end: None, y, value: None, label: String::new() };
    match data {
        Data::Line(points) | Data::Step(points) => points.iter().map(|&(x, y)| row(x, Some(y))).collect(),
        Data::Points(points) => {
            points.iter().map(|point| Row { label: point.label.clone(), ..row(point.x, Some(point.y)) }).collect()
        }
        Data::Bars { values, .. } => values.iter().enumerate().map(|(at, value)| row(at as f64, *value)).collect(),
        Data::Cells(cells) => cells
            .iter()
            .map(|cell| Row {
                value: cell.value,
                label: cell.label.clone(),
                ..row(cell.column as f64, Some(cell.row as f64))
            })
            .collect(),
        Data::Segments(segments) => segments
            .iter()
            .map(|segment| Row {
                x_end: Some(segment.end),
                label: segment.label.clone(),
                ..row(segment.start, Some(segment.lane as f64))
            })
            .collect(),
    }
}

/// The only element, or how many there are: for titles.
pub(super) fn one_or_many(mut names: Vec<&str>, many: &str) -> String {
    names.dedup();
    match names.as_slice() {
        [one] => (*one).to_owned(),
        _ => format!("{} {many}", names.len()),
    }
}
