//! Where values lie between the axes of a panel.

use super::scale::Range;
use super::scene::Rect;
use crate::figure::{Data, Mark, Panel, Scale, Side};

/// The area between the axes, and the ranges along them.
pub(super) struct Frame {
    pub(super) plot: Rect,
    pub(super) x: Range,
    pub(super) y: Range,
    pub(super) right: Option<Range>,
    names_up: bool,
}

/// Points a diagonal is drawn through; it is no straight line where one axis is logarithmic.
const DIAGONAL_POINTS: u32 = 64;

impl Frame {
    pub(super) fn new(panel: &Panel, plot: Rect) -> Self {
        let along = values(panel, None);
        let is_bare = panel.series.iter().all(|series| matches!(series.data, Data::Points(_)));
        let is_timeline = panel.series.iter().any(|series| matches!(series.data, Data::Segments(_)));
        // Points by themselves need room around them; lines and lanes end where their data do.
        let margin = is_bare.then_some(0.05);
        let bars =
            |side| panel.series.iter().any(|series| series.side == side && matches!(series.data, Data::Bars { .. }));
        let upwards = |side| {
            let axis = panel.axis(side);
            let values = values(panel, Some(side));
            Range::new(&axis.scale, &values, axis.range, bars(side), margin.or(Some(0.03)))
        };
        let mut x = Range::new(&panel.x.scale, &along, panel.x.range, is_timeline, margin);
        let mut y = upwards(Side::Left);
        if super::panel::is_square(panel) && panel.x.range.is_none() && panel.y.range.is_none() {
            let both = [along, values(panel, Some(Side::Left))].concat();
            x = Range::new(&panel.x.scale, &both, None, false, Some(0.05));
            y = x.clone();
        }
        let right = panel.right.as_ref().map(|_| upwards(Side::Right));
        Self { plot, x, y, right, names_up: matches!(panel.y.scale, Scale::Names(_)) }
    }

    pub(super) fn x_at(&self, x: f64) -> f64 {
        self.plot.x + self.x.share(x) * self.plot.width
    }

    pub(super) fn y_at(&self, y: f64, side: Side) -> f64 {
        let range = self.range(side);
        let share = range.share(y);
        if self.names_up && side == Side::Left {
            self.plot.y + share * self.plot.height
        } else {
            self.plot.bottom() - share * self.plot.height
        }
    }

    /// The range upwards of a side.
    pub(super) fn range(&self, side: Side) -> &Range {
        match side {
            Side::Left => &self.y,
            Side::Right => self.right.as_ref().unwrap_or(&self.y),
        }
    }

    /// The place of a pair of values, unless a number has none.
    pub(super) fn at(&self, (x, y): (f64, f64), side: Side) -> Option<(f64, f64)> {
        let place = (self.x_at(x), self.y_at(y, side));
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    /// The place of a value to the right, which may be infinite, at most at the ends of the plot.
    pub(super) fn x_within(&self, x: f64) -> f64 {
        let at = self.x_at(x);
        // A logarithmic axis has no place for values up to 0: they lie at its low end.
        if at.is_nan() { self.plot.x } else { at.clamp(self.plot.x, self.plot.right()) }
    }

    /// The same upwards.
    pub(super) fn y_within(&self, y: f64) -> f64 {
        let at = self.y_at(y, Side::Left);
        if at.is_nan() { self.plot.bottom() } else { at.clamp(self.plot.y, self.plot.bottom()) }
    }

    /// Places of `y = factor x` from the low to the high end, the ones outside drawn to the edge.
    pub(super) fn diagonal(&self, factor: f64) -> Vec<(f64, f64)> {
        let plot = self.plot;
        let inside = |step: u32| {
            let share = f64::from(step) / f64::from(DIAGONAL_POINTS);
            let x = self.x.value(share);
            Some((plot.x + share * plot.width, self.y_at(factor * x, Side::Left))).filter(|(_, y)| y.is_finite())
        };
        let points: Vec<(f64, f64)> = (0..=DIAGONAL_POINTS).filter_map(inside).collect();
        let mut clipped: Vec<(f64, f64)> = Vec::new();
        for pair in points.windows(2) {
            if let Some((a, b)) = plot.clip(pair[0], pair[1]) {
                if clipped.last() != Some(&a) {
                    clipped.push(a);
                }
                clipped.push(b);
            }
        }
        clipped
    }
}

/// Every value that the range along (`None`) or the range of a side should hold.
fn values(panel: &Panel, upwards: Option<Side>) -> Vec<f64> {
    let mut values = Vec::new();
    let pick = |pair: (f64, f64)| if upwards.is_none() { pair.0 } else { pair.1 };
    for series in panel.series.iter().filter(|series| upwards.is_none_or(|side| side == series.side)) {
        match &series.data {
            Data::Bars { .. } if upwards.is_some() => values.extend(stack_ends(panel, series.side)),
            _ => values.extend(series.data.places().into_iter().map(pick)),
        }
    }
    for mark in &panel.marks {
        match (mark, upwards) {
            (Mark::Vertical { x, .. }, None) => values.push(*x),
            (Mark::Horizontal { y, .. }, Some(Side::Left)) => values.push(*y),
            (Mark::Note { x, y, .. }, None | Some(Side::Left)) => values.push(pick((*x, *y))),
            (Mark::Arrow { from, to, .. }, None | Some(Side::Left)) => values.extend([pick(*from), pick(*to)]),
            _ => {}
        }
    }
    values
}

/// Upper and lower ends of the bars that stand on each other.
fn stack_ends(panel: &Panel, side: Side) -> Vec<f64> {
    let mut ends = Vec::new();
    let mut stacks: Vec<(usize, Vec<f64>)> = Vec::new();
    for series in panel.series.iter().filter(|series| series.side == side) {
        let Data::Bars { values, stack } = &series.data else { continue };
        let at = stacks.iter().position(|(other, _)| other == stack).unwrap_or_else(|| {
            stacks.push((*stack, Vec::new()));
            stacks.len() - 1
        });
        let heights = &mut stacks[at].1;
        heights.resize(heights.len().max(values.len()), 0.0);
        for (height, value) in heights.iter_mut().zip(values) {
            *height += value.filter(|value| value.is_finite()).unwrap_or(0.0);
            ends.push(*height);
        }
    }
    ends
}
