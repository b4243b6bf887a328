//! Shapes at places: what a figure comes to before it is SVG or PNG. Both draw the same scene.

use super::palette::Ink;

/// A drawing of some size, in pixels of 1/96 inch, from the top left corner.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Drawn in this order.
    pub(crate) shapes: Vec<Shape>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Shape {
    Rect { area: Rect, fill: Option<Fill>, stroke: Option<Stroke> },
    Path { steps: Vec<Step>, fill: Option<Fill>, stroke: Option<Stroke> },
    Text { at: (f64, f64), text: String, size: f64, anchor: Anchor, upwards: bool, ink: Ink },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Step {
    Move(f64, f64),
    Line(f64, f64),
    Close,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Fill {
    pub(crate) ink: Ink,
    pub(crate) opacity: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Stroke {
    pub(crate) ink: Ink,
    pub(crate) width: f64,
    /// Lengths of strokes and gaps by turns; empty for a solid line.
    pub(crate) dashes: &'static [f64],
}

/// Which part of a text stands at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A rectangle, by its top left corner.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Fill {
    pub(crate) const fn new(ink: Ink, opacity: f64) -> Self {
        Self { ink, opacity }
    }
}

impl Stroke {
    pub(crate) const fn new(ink: Ink, width: f64) -> Self {
        Self { ink, width, dashes: &[] }
    }

    pub(crate) const fn dashed(self, dashes: &'static [f64]) -> Self {
        Self { dashes, ..self }
    }
}

impl Rect {
    pub(crate) const fn new(x: f64, y: f64, width: f64, height: f64) -> Self {
        Self { x, y, width, height }
    }

    /// The rectangle between two corners, whichever they are.
    pub(crate) fn between(a: (f64, f64), b: (f64, f64)) -> Self {
        Self::new(a.0.min(b.0), a.1.min(b.1), (a.0 - b.0).abs(), (a.1 - b.1).abs())
    }

    pub(crate) fn right(&self) -> f64 {
        self.x + self.width
    }

    pub(crate) fn bottom(&self) -> f64 {
        self.y + self.height
    }

    pub(crate) fn center(&self) -> (f64, f64) {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// The rectangle, larger by `by` on each side.
    pub(crate) fn grown(&self, by: f64) -> Self {
        Self::new(self.x - by, self.y - by, self.width + 2.0 * by, self.height + 2.0 * by)
    }

    pub(crate) fn contains(&self, (x, y): (f64, f64)) -> bool {
        (self.x..=self.right()).contains(&x) && (self.y..=self.bottom()).contains(&y)
    }

    /// Area that both cover.
    pub(crate) fn overlap(&self, other: &Self) -> f64 {
        let width = self.right().min(other.right()) - self.x.max(other.x);
        let height = self.bottom().min(other.bottom()) - self.y.max(other.y);
        width.max(0.0) * height.max(0.0)
    }

    /// The part of a straight line that lies inside (Liang and Barsky).
    pub(crate) fn clip(&self, a: (f64, f64), b: (f64, f64)) -> Option<((f64, f64), (f64, f64))> {
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let (mut first, mut last) = (0.0f64, 1.0f64);
        let sides = [(-dx, a.0 - self.x), (dx, self.right() - a.0), (-dy, a.1 - self.y), (dy, self.bottom() - a.1)];
        for (direction, distance) in sides {
            if direction == 0.0 {
                if distance < 0.0 {
                    return None;
                }
            } else if direction < 0.0 {
                first = first.max(distance / direction);
            } else {
                last = last.min(distance / direction);
            }
        }
        let at = |share: f64| (a.0 + share * dx, a.1 + share * dy);
        (first <= last).then(|| (at(first), at(last)))
    }
}

impl Scene {
    pub(crate) fn line(&mut self, a: (f64, f64), b: (f64, f64), stroke: Stroke) {
        let steps = vec![Step::Move(a.0, a.1), Step::Line(b.0, b.1)];
        self.shapes.push(Shape::Path { steps, fill: None, stroke: Some(stroke) });
    }

    /// Straight lines from point to point, as far as they lie inside.
    pub(crate) fn polyline(&mut self, points: &[(f64, f64)], inside: &Rect, stroke: Stroke) {
        let mut steps = Vec::new();
        let mut end = None;
        for pair in thinned(points).windows(2) {
            let Some((a, b)) = inside.clip(pair[0], pair[1]) else { continue };
            if end != Some(a) {
                steps.push(Step::Move(a.0, a.1));
            }
            steps.push(Step::Line(b.0, b.1));
            end = Some(b);
        }
        if !steps.is_empty() {
            self.shapes.push(Shape::Path { steps, fill: None, stroke: Some(stroke) });
        }
    }

    pub(crate) fn polygon(&mut self, points: &[(f64, f64)], fill: Option<Fill>, stroke: Option<Stroke>) {
        let mut steps: Vec<Step> = points.iter().map(|&(x, y)| Step::Line(x, y)).collect();
        if let Some(first) = steps.first_mut()
            && let Step::Line(x, y) = *first
        {
            *first = Step::Move(x, y);
            steps.push(Step::Close);
            self.shapes.push(Shape::Path { steps, fill, stroke });
        }
    }

    pub(crate) fn rect(&mut self, area: Rect, fill: Option<Fill>, stroke: Option<Stroke>) {
        self.shapes.push(Shape::Rect { area, fill, stroke });
    }

    /// One line of text with its baseline at `at`.
    pub(crate) fn text(&mut self, at: (f64, f64), text: impl Into<String>, size: f64, anchor: Anchor, ink: Ink) {
        let text = text.into();
        if !text.is_empty() {
            self.shapes.push(Shape::Text { at, text, size, anchor, upwards: false, ink });
        }
    }

    /// One line of text that runs from the bottom to the top.
    pub(crate) fn text_upwards(
        &mut self,
        at: (f64, f64),
        text: impl Into<String>,
        size: f64,
        anchor: Anchor,
        ink: Ink,
    ) {
        let text = text.into();
        if !text.is_empty() {
            self.shapes.push(Shape::Text { at, text, size, anchor, upwards: true, ink });
        }
    }
}

/// Points without those that lie on the way between their neighbours, as far as an eye can see (Ramer, Douglas and
/// Peucker).
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    /// Distance in pixels.
    const SEEN: f64 = 0.03;
    let mut keep = vec![false; points.len()];
    let mut spans = vec![(0, points.len().saturating_sub(1))];
    while let Some((first, last)) = spans.pop() {
        let (Some(a), Some(b)) = (points.get(first), points.get(last)) else { continue };
        (keep[first], keep[last]) = (true, true);
        let farthest =
            (first + 1..last).map(|at| (at, distance(points[at], *a, *b))).max_by(|x, y| x.1.total_cmp(&y.1));
        if let Some((at, _)) = farthest.filter(|(_, distance)| *distance > SEEN) {
            spans.extend([(first, at), (at, last)]);
        }
    }
    points.iter().zip(keep).filter(|(_, keep)| *keep).map(|(point, _)| *point).collect()
}

/// From a point to the way between two others.
fn distance(point: (f64, f64), a: (f64, f64), b: (f64, f64)) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx * dx + dy * dy;
    let share = if length > 0.0 { ((point.0 - a.0) * dx + (point.1 - a.1) * dy) / length } else { 0.0 };
    let share = share.clamp(0.0, 1.0);
    (point.0 - a.0 - share * dx).hypot(point.1 - a.1 - share * dy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_ways_need_two_points() {
        let line: Vec<(f64, f64)> = (0..100).map(|at| (f64::from(at), 0.5 * f64::from(at))).collect();
        assert_eq!(thinned(&line), [(0.0, 0.0), (99.0, 49.5)]);
        assert_eq!(thinned(&[(0.0, 0.0), (5.0, 5.0), (10.0, 0.0)]).len(), 3);
        // There and back again.
        assert_eq!(thinned(&[(0.0, 0.0), (9.0, 0.0), (3.0, 0.0)]).len(), 3);
        assert_eq!((thinned(&[]).len(), thinned(&[(1.0, 1.0)]).len()), (0, 1));
        let round: Vec<(f64, f64)> = (0..1000).map(|at| (f64::from(at), 1e-3 * f64::from(at * at))).collect();
        assert!((20..400).contains(&thinned(&round).len()));
    }

    #[test]
    fn lines_end_at_the_edge() {
        let area = Rect::new(0.0, 0.0, 10.0, 10.0);
        assert_eq!(area.clip((-5.0, 5.0), (5.0, 5.0)), Some(((0.0, 5.0), (5.0, 5.0))));
        assert_eq!(area.clip((-5.0, -5.0), (-1.0, 20.0)), None);
    }
}
