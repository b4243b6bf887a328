//! Pictures of a comparison: the sign plot, the heat map, performance beside a count.

use warplens_question::compare::{Comparison, Counts, SignMatrix};
use warplens_question::tune::show_extents;

use crate::figure::{Axis, Figure, HeatCell, Panel, Point, Series};
use crate::render::{show, time_label};
use crate::section::{Cell, Unit};

/// A kind of picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlotKind {
    /// Name on the command line.
    pub name: &'static str,
    /// What it shows.
    pub about: &'static str,
}

/// Every picture of a comparison.
pub const PLOTS: [PlotKind; 4] = [
    PlotKind { name: "sign", about: "each variant against each other: faster, equal, slower" },
    PlotKind { name: "heat", about: "time of each variant by block size, or by GPU" },
    PlotKind { name: "instructions", about: "speed-up beside the number of instructions" },
    PlotKind { name: "memory", about: "speed-up beside the number of memory requests" },
];

/// Panels beside each other.
const COLUMNS: usize = 2;

/// The picture called `name`; none where there is nothing to draw, or no such picture.
pub fn figure(comparison: &Comparison, name: &str) -> Option<Figure> {
    let figure = match name {
        "sign" => sign_plot(comparison),
        "heat" => heat_map(comparison),
        "instructions" => beside(comparison, "instructions", |counts| counts.instructions),
        "memory" => beside(comparison, "memory requests", |counts| counts.requests),
        _ => return None,
    };
    figure.check().is_ok().then_some(figure)
}

/// The sign plot: rows against columns. The colour is the prediction, the number the measured sign where there is one.
fn sign_plot(comparison: &Comparison) -> Figure {
    let panels: Vec<Panel> = comparison.signs.iter().map(|matrix| sign_panel(comparison, matrix)).collect();
    let is_measured = comparison.signs.iter().any(|matrix| matrix.agreement.is_some());
    let band = show(&Cell::Number(comparison.band, Unit::Share));
    let numbers = if is_measured {
        "The colour is predicted, the number measured; a frame marks where they differ."
    } else {
        "Colour and number are predicted."
    };
    let caption =
        format!("1: the row is faster than the column by over {band}; 0: equal within {band}; -1: slower. {numbers}");
    Figure::of_panels("sign", "Each variant against each other", panels, COLUMNS).caption(caption)
}

fn sign_panel(comparison: &Comparison, matrix: &SignMatrix) -> Panel {
    let names: Vec<&str> = matrix.variants.iter().map(|&variant| comparison.variants[variant].name.as_str()).collect();
    let mut cells = Vec::new();
    for (row, (predicted, measured)) in matrix.predicted.iter().zip(&matrix.measured).enumerate() {
        for (column, (own, measured)) in predicted.iter().zip(measured).enumerate() {
            let label = measured.or(*own).map_or("-".to_owned(), |sign| sign.to_string());
            let framed = measured.is_some() && own.is_some() && measured != own;
            cells.push(HeatCell { column, row, value: own.map(f64::from), label, framed });
        }
    }
    let block = matrix.block.map(|block| format!(", block {}", show_extents(block))).unwrap_or_default();
    let mut title = format!("{}{block}, {}", comparison.gpus[matrix.gpu].id, matrix.model);
    if let Some(agreement) = matrix.agreement {
        title.push_str(&format!(": {} of {} pairs as measured", agreement.n_same, agreement.n_pairs));
    }
    Panel::new(Axis::names("kernel x", names.clone()), Axis::names("kernel y", names))
        .titled(title)
        .series(Series::cells("sign of y against x", cells))
}

/// Variants by block size, a panel for each GPU and model; by GPU where each variant has one block.
fn heat_map(comparison: &Comparison) -> Figure {
    let by_block = comparison.variants.iter().any(|variant| variant.block.is_some());
    let mut panels = Vec::new();
    if by_block {
        for gpu in 0..comparison.gpus.len() {
            for model in comparison.models(gpu) {
                let blocks = comparison.blocks();
                let columns: Vec<String> =
                    blocks.iter().map(|block| block.map_or("-".to_owned(), show_extents)).collect();
                let time = |name: &str, column: usize| {
                    let found = |at: &usize| {
                        let variant = &comparison.variants[*at];
                        variant.name == name && variant.block == blocks[column]
                    };
                    comparison.entry(gpu, model, (0..comparison.variants.len()).find(found)?)?.time_us()
                };
                let title = format!("{}, {model}", comparison.gpus[gpu].id);
                // Each panel has colours of its own, and so a legend of its own.
                let legend = format!("time over the shortest, {title}");
                panels.push(heat_panel(comparison, "block", &legend, columns, &time).titled(title));
            }
        }
    } else {
        let columns = comparison.gpus.iter().map(|machine| machine.id.clone()).collect();
        let time = |name: &str, gpu: usize| {
            let variant = comparison.variants.iter().position(|variant| variant.name == name)?;
            let model = *comparison.models(gpu).first()?;
            comparison.entry(gpu, model, variant)?.time_us()
        };
        panels.push(heat_panel(comparison, "GPU", "time over the shortest", columns, &time));
    }
    let what = if by_block { "panel" } else { "column" };
    Figure::of_panels("heat", "Predicted time of each variant", panels, COLUMNS).caption(format!(
        "The colour is the time over the shortest of the {what}, which is framed; the number is the time."
    ))
}

fn heat_panel(
    comparison: &Comparison,
    axis: &str,
    legend: &str,
    columns: Vec<String>,
    time: &dyn Fn(&str, usize) -> Option<f64>,
) -> Panel {
    let names = comparison.names();
    let shortest = |columns: std::ops::Range<usize>| {
        let times = columns.flat_map(|column| names.iter().filter_map(move |name| time(name, column)));
        times.fold(f64::INFINITY, f64::min)
    };
    let mut cells = Vec::new();
    for (row, name) in names.iter().enumerate() {
        for column in 0..columns.len() {
            // Times of different GPUs are no measure of each other.
            let best = if axis == "GPU" { shortest(column..column + 1) } else { shortest(0..columns.len()) };
            let own = time(name, column);
            let label = time_label(own);
            cells.push(HeatCell { column, row, value: own.map(|own| own / best), label, framed: own == Some(best) });
        }
    }
    Panel::new(Axis::names(axis, columns), Axis::names("variant", names)).series(Series::cells(legend, cells))
}

/// Speed-up as bars, a count as points on an axis of its own.
fn beside(comparison: &Comparison, what: &str, count: fn(&Counts) -> Option<u64>) -> Figure {
    let labels: Vec<String> =
        (0..comparison.variants.len()).map(|variant| comparison.label(variant).replace(' ', "\n")).collect();
    let mut panels = Vec::new();
    for gpu in 0..comparison.gpus.len() {
        for model in comparison.models(gpu) {
            let entries: Vec<_> =
                (0..comparison.variants.len()).map(|variant| comparison.entry(gpu, model, variant)).collect();
            let speedups = entries.iter().map(|entry| entry.and_then(|entry| entry.speedup)).collect();
            let counts = entries.iter().enumerate();
            let counts: Vec<Point> = counts
                .filter_map(|(at, entry)| Some(Point::new(at as f64, count(&entry.as_ref()?.counts)? as f64)))
                .collect();
            // Both start at 0, as bars do.
            let most = counts.iter().map(|point| point.y).fold(0.0, f64::max).max(1.0);
            panels.push(
                Panel::new(Axis::names("variant", labels.clone()), Axis::new("speed-up", ""))
                    .titled(format!("{}, {model}", comparison.gpus[gpu].id))
                    .right(Axis::new(what, "").range(0.0, 1.15 * most))
                    .series(Series::bars("speed-up", speedups, 0))
                    .series(Series::points(what, counts).on_right()),
            );
        }
    }
    let id = if what == "instructions" { "instructions" } else { "memory" };
    Figure::of_panels(id, format!("Performance beside {what}"), panels, COLUMNS)
        .caption("Speed-up against the baseline, and the count of the whole launch.")
}
