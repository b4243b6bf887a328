//! Predictions against measured times, both axes logarithmic and of one scale: above the line the prediction is too long,
//! below it too short; the band is a tenth on either side.

use warplens_question::plot::accuracy::Accuracy;

use crate::figure::{Axis, Figure, Mark, Panel, Point, Scale, Series};
use crate::render::show;
use crate::section::{Cell, Unit};

/// Names are written beside the points up to this many.
const NAMED: usize = 24;

/// A series per GPU.
pub fn accuracy(accuracy: &Accuracy) -> Figure {
    let axis = |label: &str| Axis::new(label, "µs").scaled(Scale::Log10);
    let mut panel = Panel::new(axis("measured time"), axis("predicted time"))
        .mark(Mark::band(0.9, 1.1, "±10 %"))
        .mark(Mark::diagonal(1.0, "as measured"));
    let mut gpus: Vec<&str> = Vec::new();
    for pair in &accuracy.pairs {
        if !gpus.contains(&pair.gpu.as_str()) {
            gpus.push(&pair.gpu);
        }
    }
    for gpu in gpus {
        let here = accuracy.pairs.iter().filter(|pair| pair.gpu == gpu);
        let point = |pair: &warplens_question::plot::accuracy::Pair| {
            let label = if accuracy.pairs.len() <= NAMED { pair.kernel.as_str() } else { "" };
            Point::new(pair.measured_us, pair.predicted_us).labeled(label)
        };
        panel = panel.series(Series::points(gpu, here.map(point).collect()));
    }
    let share = |value: f64| show(&Cell::Number(value, Unit::Share));
    let refused = match accuracy.refused.as_slice() {
        [] => String::new(),
        refused => format!(" No answer: {}.", refused.join("; ")),
    };
    let n = accuracy.pairs.len();
    Figure::new("accuracy", "Prediction against measurement", panel).caption(format!(
        "{n} time{}: mean error {}, geometric mean error {}, {} within 10 %.{refused}",
        if n == 1 { "" } else { "s" },
        share(accuracy.mean_error),
        share(accuracy.geometric_error),
        accuracy.within_tenth,
    ))
}
