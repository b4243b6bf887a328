//! Places for words beside points: where they cover neither each other nor the data.

use super::font;
use super::layout::SMALL;
use super::palette::Ink;
use super::scene::{Anchor, Rect, Scene, Stroke};

/// What words should not cover.
pub(crate) struct Labels {
    plot: Rect,
    boxes: Vec<Rect>,
    lines: Vec<((f64, f64), (f64, f64))>,
}

/// Directions around a point, the preferred ones first.
const DIRECTIONS: [(f64, f64); 8] =
    [(1.0, -1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, -1.0), (1.0, 1.0), (-1.0, 0.0), (0.0, 1.0), (-1.0, 1.0)];
/// Distances from the point, in pixels.
const DISTANCES: [f64; 5] = [8.0, 16.0, 28.0, 44.0, 64.0];
/// A label this far away gets a line to its point.
const NEAR: f64 = 16.0;

impl Labels {
    pub(crate) fn new(plot: Rect) -> Self {
        Self { plot, boxes: Vec::new(), lines: Vec::new() }
    }

    /// Keeps words away from an area.
    pub(crate) fn avoid(&mut self, area: Rect) {
        self.boxes.push(area);
    }

    /// Keeps words away from lines, if less strictly.
    pub(crate) fn avoid_line(&mut self, points: &[(f64, f64)]) {
        let visible = points.windows(2).filter_map(|pair| self.plot.clip(pair[0], pair[1]));
        self.lines.extend(visible);
    }

    /// Writes words beside a point.
    pub(crate) fn place(&mut self, scene: &mut Scene, at: (f64, f64), text: &str, ink: Ink) {
        let lines: Vec<&str> = text.lines().collect();
        let width = lines.iter().map(|line| font::width(line, SMALL)).fold(0.0, f64::max);
        let height = lines.len() as f64 * SMALL * 1.25;
        let candidates = DISTANCES.iter().flat_map(|&distance| {
            DIRECTIONS.iter().enumerate().map(move |(rank, &(dx, dy))| {
                let reach = if dx != 0.0 && dy != 0.0 { 0.7 * distance } else { distance };
                let center = (at.0 + dx * (reach + width / 2.0), at.1 + dy * (reach + height / 2.0));
                let area = Rect::new(center.0 - width / 2.0, center.1 - height / 2.0, width, height);
                (area, distance, distance + 0.4 * rank as f64)
            })
        });
        let scored = candidates.map(|(area, distance, cost)| (area, distance, cost + self.cost(&area)));
        let Some((area, distance, _)) = scored.min_by(|a, b| a.2.total_cmp(&b.2)) else { return };
        if distance > NEAR {
            let end = (at.0.clamp(area.x, area.right()), at.1.clamp(area.y, area.bottom()));
            scene.line(at, end, Stroke::new(Ink::Muted, 0.7));
        }
        for (number, line) in lines.iter().enumerate() {
            let baseline = area.y + SMALL * (0.95 + 1.25 * number as f64);
            scene.text((area.x, baseline), *line, SMALL, Anchor::Start, ink);
        }
        self.boxes.push(area.grown(2.0));
    }

    /// Writes lines of words, `width` wide, at one of the places for their middle and top where they cover least.
    pub(crate) fn center(&mut self, scene: &mut Scene, places: &[(f64, f64)], lines: &[String], width: f64, ink: Ink) {
        let height = lines.len() as f64 * SMALL * 1.2;
        let areas = places.iter().map(|&(x, y)| Rect::new(x - width / 2.0, y, width, height));
        let scored = areas.enumerate().map(|(rank, area)| (area, rank as f64 + self.cost(&area)));
        let Some((area, _)) = scored.min_by(|a, b| a.1.total_cmp(&b.1)) else { return };
        for (number, line) in lines.iter().enumerate() {
            let baseline = area.y + SMALL * (0.95 + 1.2 * number as f64);
            scene.text((area.center().0, baseline), line.clone(), SMALL, Anchor::Middle, ink);
        }
        self.boxes.push(area.grown(2.0));
    }

    /// The place that covers least; the first of equals.
    pub(crate) fn best(&self, places: &[Rect; 3]) -> Rect {
        let mut best = places[0];
        for place in &places[1..] {
            if self.cost(place) < self.cost(&best) {
                best = *place;
            }
        }
        best
    }

    fn cost(&self, area: &Rect) -> f64 {
        let outside = area.width * area.height - area.overlap(&self.plot);
        let covered: f64 = self.boxes.iter().map(|other| area.overlap(other)).sum();
        let wide = area.grown(2.0);
        let crossed = self.lines.iter().filter(|(a, b)| wide.clip(*a, *b).is_some()).count().min(20);
        20.0 * outside + 5.0 * covered + 40.0 * crossed as f64
    }
}
