//! Small shapes: markers, hatched areas, arrow heads, and the strokes of helping lines.

use super::palette::{Ink, Style};
use super::scene::{Fill, Rect, Scene, Shape, Step, Stroke};
use crate::figure::{Hatch, Marker};

/// Stroke of reference lines.
pub(crate) const REFERENCE: Stroke = Stroke::new(Ink::Muted, 1.2).dashed(&[5.0, 3.0]);
/// Opacity of regions.
pub(crate) const SHADE: f64 = 0.13;

const RADIUS: f64 = 4.5;
/// Distance of the strokes of a hatch.
const PITCH: f64 = 6.0;

/// A point's shape.
pub(crate) fn marker(scene: &mut Scene, (x, y): (f64, f64), style: Style, hollow: bool) {
    let r = RADIUS;
    let fill = Some(Fill::new(if hollow { Ink::Back } else { style.color }, 1.0));
    let outline = Some(Stroke::new(if hollow { style.color } else { Ink::Back }, if hollow { 1.8 } else { 0.8 }));
    let corners: Vec<(f64, f64)> = match style.marker {
        // Twelve corners look round at this size.
        Marker::Circle => CIRCLE.iter().map(|(dx, dy)| (x + r * dx, y + r * dy)).collect(),
        Marker::Square => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
        Marker::Triangle => vec![(x, y - 1.2 * r), (x + 1.15 * r, y + 0.9 * r), (x - 1.15 * r, y + 0.9 * r)],
        Marker::Down => vec![(x, y + 1.2 * r), (x + 1.15 * r, y - 0.9 * r), (x - 1.15 * r, y - 0.9 * r)],
        Marker::Diamond => vec![(x, y - 1.3 * r), (x + 1.3 * r, y), (x, y + 1.3 * r), (x - 1.3 * r, y)],
        Marker::Cross | Marker::Plus => {
            let arms = if style.marker == Marker::Plus { [(r, 0.0), (0.0, r)] } else { [(r, r), (r, -r)] };
            let width = if hollow { 1.2 } else { 2.4 };
            for (dx, dy) in arms {
                scene.line((x - dx, y - dy), (x + dx, y + dy), Stroke::new(style.color, width));
            }
            return;
        }
    };
    scene.polygon(&corners, fill, outline);
}

/// Sixteen directions.
const CIRCLE: [(f64, f64); 16] = [
    (1.0, 0.0),
    (0.924, 0.383),
    (0.707, 0.707),
    (0.383, 0.924),
    (0.0, 1.0),
    (-0.383, 0.924),
    (-0.707, 0.707),
    (-0.924, 0.383),
    (-1.0, 0.0),
    (-0.924, -0.383),
    (-0.707, -0.707),
    (-0.383, -0.924),
    (0.0, -1.0),
    (0.383, -0.924),
    (0.707, -0.707),
    (0.924, -0.383),
];

/// A filled and hatched rectangle.
pub(crate) fn area(scene: &mut Scene, area: Rect, style: Style) {
    scene.rect(area, Some(Fill::new(style.color, 1.0)), None);
    hatch(scene, &area, style.hatch, Stroke::new(Ink::Back, 1.3));
    scene.rect(area, None, Some(Stroke::new(style.color, 1.0)));
}

/// Strokes over a rectangle.
pub(crate) fn hatch(scene: &mut Scene, area: &Rect, hatch: Hatch, stroke: Stroke) {
    if area.width < 3.0 || area.height < 3.0 {
        return;
    }
    let mut steps = Vec::new();
    let mut add = |a: (f64, f64), b: (f64, f64)| {
        if let Some((a, b)) = area.clip(a, b) {
            steps.extend([Step::Move(a.0, a.1), Step::Line(b.0, b.1)]);
        }
    };
    // Positions are counted from the corner of the picture, so that neighbours fit.
    let each = |from: f64, to: f64| {
        let first = (from / PITCH).floor() as i32;
        let last = (to / PITCH).ceil() as i32;
        (first..=last).map(|at| f64::from(at) * PITCH)
    };
    let (left, right, top, bottom) = (area.x, area.right(), area.y, area.bottom());
    if matches!(hatch, Hatch::Rising | Hatch::Crossed) {
        each(left + top, right + bottom).for_each(|sum| add((sum - top, top), (sum - bottom, bottom)));
    }
    if matches!(hatch, Hatch::Falling | Hatch::Crossed) {
        each(left - bottom, right - top).for_each(|gap| add((gap + top, top), (gap + bottom, bottom)));
    }
    if matches!(hatch, Hatch::Level | Hatch::Dotted) {
        each(top, bottom).for_each(|y| add((left, y), (right, y)));
    }
    if hatch == Hatch::Upright {
        each(left, right).for_each(|x| add((x, top), (x, bottom)));
    }
    let stroke = if hatch == Hatch::Dotted { Stroke { width: 2.0, ..stroke }.dashed(&[2.0, 4.0]) } else { stroke };
    if !steps.is_empty() {
        scene.shapes.push(Shape::Path { steps, fill: None, stroke: Some(stroke) });
    }
}

/// A line with a head at its end.
pub(crate) fn arrow(scene: &mut Scene, from: (f64, f64), to: (f64, f64)) {
    const HEAD: f64 = 9.0;
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    if length < 1.0 {
        return;
    }
    let (ux, uy) = (dx / length, dy / length);
    let neck = (to.0 - HEAD * ux, to.1 - HEAD * uy);
    scene.line(from, neck, Stroke::new(Ink::Fore, 1.4));
    let corner = |side: f64| (neck.0 - side * 0.45 * HEAD * uy, neck.1 + side * 0.45 * HEAD * ux);
    scene.polygon(&[to, corner(1.0), corner(-1.0)], Some(Fill::new(Ink::Fore, 1.0)), None);
}
