//! The computation and memory periods of a few warps of one SM, as the MWP-CWP models see them: memory periods that lie
//! above each other are served together, and a gap is a warp that waits for the SM or for its request to depart.

use warplens_question::plot::timeline::{Period, Timeline};

use crate::figure::{Axis, Figure, Hatch, Mark, Panel, Segment, Series};
use crate::render::show;
use crate::section::{Cell, Unit};

/// One lane per warp.
pub fn timeline(timeline: &Timeline) -> Figure {
    let segment = |period: &Period| Segment {
        lane: period.warp,
        start: period.start,
        end: period.end,
        label: period.number.to_string(),
    };
    let segments = |periods: &[Period]| periods.iter().map(segment).collect();
    let periods = &timeline.periods;
    let lanes = (0..timeline.warps).map(|warp| format!("warp {warp}"));
    let mut panel = Panel::new(Axis::new("time", "cycles"), Axis::names("", lanes))
        .series(Series::segments("computation period", segments(&timeline.computation)).hatched(Hatch::Plain))
        .series(Series::segments("memory period", segments(&timeline.memory)).hatched(Hatch::Rising));
    let first = |number: usize| timeline.memory.iter().find(|period| period.warp == 0 && period.number == number);
    if let Some(period) = first(1) {
        panel = panel.mark(Mark::vertical(period.end, "end of the first memory period"));
    }
    let number = |value: f64| show(&Cell::Number(value, Unit::One));
    let more = match periods.n.round() as usize {
        n if n > timeline.warps => format!(" {} of {n} warps are shown; all of them run.", timeline.warps),
        _ => String::new(),
    };
    Figure::new("timeline", format!("Warps of one SM: {} on {}", timeline.kernel, timeline.gpu), panel).caption(format!(
        "{}: N {}, MWP {}, CWP {}, memory period {} cycles, departure delay {} cycles, computation period {} cycles; \
         equation {}.{more}",
        timeline.model,
        number(periods.n),
        number(periods.mwp),
        number(periods.cwp),
        number(periods.mem_l),
        number(periods.departure_delay),
        number(periods.comp_p),
        periods.equation,
    ))
}
