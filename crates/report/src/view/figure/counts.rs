//! What is counted beside the counters of a profiler, both axes logarithmic and of one scale: above the line too much is
//! counted, below it too little.

use warplens_question::measured::counters::Counter;
use warplens_question::validate::Validation;

use crate::figure::{Axis, Figure, Mark, Panel, Point, Scale, Series};

/// A series for each counter; none where no counter has a number above 0 on both sides.
pub fn counts(validation: &Validation) -> Option<Figure> {
    let axis = |label: &str| Axis::new(label, "").scaled(Scale::Log10);
    let mut panel = Panel::new(axis("counted by the profiler"), axis("counted here"))
        .mark(Mark::band(0.9, 1.1, "±10 %"))
        .mark(Mark::diagonal(1.0, "as counted"));
    let mut n = 0;
    for &counter in Counter::ALL {
        let here = validation.counts.iter().filter(|of| of.counter == counter && of.measured > 0.0 && of.counted > 0.0);
        let points: Vec<Point> = here.map(|of| Point::new(of.measured, of.counted)).collect();
        if !points.is_empty() {
            n += points.len();
            panel = panel.series(Series::points(counter.name(), points));
        }
    }
    let caption = format!("{n} counters; those that are 0 on a side have no place on these axes.");
    (n > 0).then(|| Figure::new("counts", "Counts beside counters", panel).caption(caption))
}
