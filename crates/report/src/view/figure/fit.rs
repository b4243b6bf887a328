//! The launches of one fit: measured times beside those of the fit, and by how much they differ.

use warplens_question::calibrate::{Part, Row};

use crate::figure::{Axis, Figure, Mark, Panel, Point, Scale, Series};

/// Numbers of the launches along both panels, in the order of the table of times.
pub fn fit(gpu: &str, part: Part, rows: &[Row]) -> Figure {
    let launches = || Axis::new("launch", "").range(0.0, rows.len() as f64 + 1.0);
    let number = |at: usize| at as f64 + 1.0;
    let points = |of: fn(&Row) -> f64, is_held_out: bool| -> Vec<Point> {
        let chosen = rows.iter().enumerate().filter(|(_, row)| row.is_held_out == is_held_out);
        chosen.map(|(at, row)| Point::new(number(at), of(row))).collect()
    };
    // As wide as the launch, so that one alone shows, and that nothing is said of what lies between two.
    let ends = |(at, row): (usize, &Row)| [-0.5, 0.5].map(|side| (number(at) + side, row.predicted_us));
    let fitted = rows.iter().enumerate().flat_map(ends).collect();
    let mut times = Panel::new(launches(), Axis::new("time", "µs").scaled(Scale::Log10))
        .titled("Times")
        .series(Series::line("the fit", fitted));
    let mut residuals = Panel::new(launches(), Axis::new("fit over measured, less 1", "").scaled(Scale::Percent))
        .titled("Residuals")
        .mark(Mark::horizontal(0.0, ""));
    for (name, is_held_out, color) in [("measured", false, 1), ("measured, held out", true, 2)] {
        if rows.iter().any(|row| row.is_held_out == is_held_out) {
            times = times.series(Series::points(name, points(|row| row.measured_us, is_held_out)).colored(color));
            residuals = residuals.series(Series::points(name, points(Row::error, is_held_out)).colored(color));
        }
    }
    let names: Vec<&str> = part.keys().iter().map(|key| key.name()).collect();
    let shown = if names.len() > 4 { format!("{} parameters", names.len()) } else { names.join(", ") };
    Figure::of_panels("fit", format!("{gpu}: {}", part.name()), vec![times, residuals], 2).caption(format!("{shown}."))
}
