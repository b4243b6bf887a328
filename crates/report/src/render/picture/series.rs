//! The data of a panel: lines, points, bars, fields and segments.

use super::font;
use super::frame::Frame;
use super::glyphs;
use super::label::Labels;
use super::layout::SMALL;
use super::palette::{Ink, Style};
use super::panel::empty_style;
use super::scene::{Anchor, Fill, Rect, Scene, Stroke};
use super::style::Styles;
use crate::figure::{Data, HeatCell, Panel, Point, Scale, Segment, Series, Side};
use crate::render::number::digits;

/// Draws areas first, lines on them, points last.
pub(super) fn draw(
    scene: &mut Scene,
    panel: &Panel,
    frame: &Frame,
    number: usize,
    styles: &Styles,
    labels: &mut Labels,
) {
    let all = || panel.series.iter().enumerate().map(|(at, series)| (series, styles.of(number, at)));
    bars(scene, panel, frame, number, styles, labels);
    for (series, style) in all() {
        match &series.data {
            Data::Cells(cells) => heat_map(scene, panel, frame, cells),
            Data::Segments(segments) => lanes(scene, panel, frame, segments, style),
            _ => {}
        }
    }
    for (series, style) in all() {
        if let Some(points) = line_points(series, frame) {
            let inside = frame.plot.grown(1.0);
            scene.polyline(&points, &inside, Stroke::new(style.color, 2.0).dashed(style.dashes));
            labels.avoid_line(&points);
            if style.wants_marker {
                let data = of_line(series);
                let places = data.iter().filter_map(|&point| frame.at(point, series.side));
                places.filter(|at| inside.contains(*at)).for_each(|at| glyphs::marker(scene, at, style, false));
            }
            // A single point makes no line.
            if points.len() == 1 && inside.contains(points[0]) {
                glyphs::marker(scene, points[0], style, false);
            }
        }
    }
    scattered(scene, frame, all(), labels);
}

fn of_line(series: &Series) -> &[(f64, f64)] {
    match &series.data {
        Data::Line(points) | Data::Step(points) => points,
        _ => &[],
    }
}

/// Places of a line or of stairs; none for other data.
fn line_points(series: &Series, frame: &Frame) -> Option<Vec<(f64, f64)>> {
    let is_step = match &series.data {
        Data::Line(_) => false,
        Data::Step(_) => true,
        _ => return None,
    };
    let mut places: Vec<(f64, f64)> = Vec::new();
    for place in of_line(series).iter().filter_map(|&point| frame.at(point, series.side)) {
        if let Some(last) = places.last().copied().filter(|_| is_step) {
            places.push((place.0, last.1));
        }
        places.push(place);
    }
    Some(places)
}

fn scattered<'f>(
    scene: &mut Scene,
    frame: &Frame,
    all: impl Iterator<Item = (&'f Series, Style)>,
    labels: &mut Labels,
) {
    let mut named: Vec<((f64, f64), &str)> = Vec::new();
    for (series, style) in all {
        let Data::Points(points) = &series.data else { continue };
        for (point, at) in points.iter().filter_map(|point| Some((point, place(frame, point, series.side)?))) {
            glyphs::marker(scene, at, style, point.hollow);
            labels.avoid(Rect::new(at.0 - 5.0, at.1 - 5.0, 10.0, 10.0));
            if !point.label.is_empty() {
                named.push((at, &point.label));
            }
        }
    }
    for (at, label) in named {
        labels.place(scene, at, label, Ink::Fore);
    }
}

fn place(frame: &Frame, point: &Point, side: Side) -> Option<(f64, f64)> {
    frame.at((point.x, point.y), side).filter(|at| frame.plot.grown(1.0).contains(*at))
}

/// Bars by name: stacks beside each other, series on each other.
fn bars(scene: &mut Scene, panel: &Panel, frame: &Frame, number: usize, styles: &Styles, labels: &mut Labels) {
    let Scale::Names(names) = &panel.x.scale else { return };
    let mut stacks: Vec<usize> = Vec::new();
    for series in &panel.series {
        if let Data::Bars { stack, .. } = series.data
            && !stacks.contains(&stack)
        {
            stacks.push(stack);
        }
    }
    if stacks.is_empty() {
        return;
    }
    let band = frame.plot.width / names.len().max(1) as f64;
    let width = (0.76 * band / stacks.len() as f64).clamp(0.5, 64.0);
    for (at, stack) in stacks.iter().enumerate() {
        let shift = (at as f64 - (stacks.len() as f64 - 1.0) / 2.0) * width;
        for name in 0..names.len() {
            let middle = frame.x_at(name as f64) + shift;
            let members = panel.series.iter().enumerate().filter_map(|(number_of, series)| match &series.data {
                Data::Bars { values, stack: other } if other == stack => {
                    Some((series.side, styles.of(number, number_of), values.get(name).copied().flatten()))
                }
                _ => None,
            });
            one_stack(scene, frame, middle, width * 0.92, &members.collect::<Vec<_>>(), labels);
        }
    }
}

/// One stack with its height above it.
fn one_stack(
    scene: &mut Scene,
    frame: &Frame,
    middle: f64,
    width: f64,
    members: &[(Side, Style, Option<f64>)],
    labels: &mut Labels,
) {
    let side = members.first().map_or(Side::Left, |member| member.0);
    let range = frame.range(side);
    let mut height = 0.0;
    let mut below = frame.y_at(range.base(), side);
    let mut has_value = false;
    for (_, style, value) in members {
        let Some(value) = value.filter(|value| value.is_finite()) else { continue };
        has_value = true;
        height += value;
        let above = frame.y_at(height, side);
        if !above.is_finite() {
            continue;
        }
        let above = above.clamp(frame.plot.y, frame.plot.bottom());
        glyphs::area(scene, Rect::between((middle - width / 2.0, below), (middle + width / 2.0, above)), *style);
        below = above;
    }
    let text = if has_value { short(height, range.scale()) } else { "–".to_owned() };
    if font::width(&text, SMALL) <= width + 10.0 {
        let y = if height < 0.0 { below + SMALL } else { below - 4.0 };
        scene.text((middle, y), text, SMALL, Anchor::Middle, Ink::Fore);
    }
    let bar = Rect::between((middle - width / 2.0, below - SMALL - 4.0), (middle + width / 2.0, frame.plot.bottom()));
    labels.avoid(bar);
}

fn short(value: f64, scale: &Scale) -> String {
    if *scale == Scale::Percent { format!("{:.0} %", 100.0 * value) } else { digits_of_three(value) }
}

/// Three significant digits, which a bar has room for.
fn digits_of_three(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return digits(value);
    }
    let power = 10f64.powi(2 - value.abs().log10().floor().clamp(-290.0, 290.0) as i32);
    digits((value * power).round() / power)
}

fn heat_map(scene: &mut Scene, panel: &Panel, frame: &Frame, cells: &[HeatCell]) {
    let n = |scale: &Scale| if let Scale::Names(names) = scale { names.len().max(1) } else { 1 };
    let (width, height) = (frame.plot.width / n(&panel.x.scale) as f64, frame.plot.height / n(&panel.y.scale) as f64);
    let values = || cells.iter().filter_map(|cell| cell.value).filter(|value| value.is_finite());
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(f64::NEG_INFINITY, f64::max);
    let mut framed = Vec::new();
    for cell in cells {
        let Some((x, y)) = frame.at((cell.column as f64, cell.row as f64), Side::Left) else { continue };
        let area = Rect::new(x - width / 2.0, y - height / 2.0, width, height);
        if !frame.plot.grown(0.5).contains((x, y)) {
            continue;
        }
        let ink = match cell.value.filter(|value| value.is_finite()) {
            Some(value) => {
                let ink = Ink::of_value(value, low, high);
                let edge = Stroke::new(Ink::Back, 1.0);
                scene.rect(area, Some(Fill::new(ink, 1.0)), Some(edge));
                ink.on()
            }
            None => {
                glyphs::hatch(scene, &area, empty_style().hatch, Stroke::new(Ink::Grid, 1.0));
                Ink::Fore
            }
        };
        let text = font::shortened(&cell.label, SMALL, width - 4.0);
        scene.text((x, y + SMALL * 0.36), text, SMALL, Anchor::Middle, ink);
        if cell.framed {
            framed.push(area);
        }
    }
    // Frames lie above the neighbours' edges.
    for area in framed {
        scene.rect(area.grown(-1.5), None, Some(Stroke::new(Ink::Dark, 3.0)));
    }
}

fn lanes(scene: &mut Scene, panel: &Panel, frame: &Frame, segments: &[Segment], style: Style) {
    let n = if let Scale::Names(names) = &panel.y.scale { names.len().max(1) } else { 1 };
    let height = (0.72 * frame.plot.height / n as f64).min(30.0);
    for segment in segments {
        let y = frame.y_at(segment.lane as f64, Side::Left);
        let (start, end) = (frame.x_within(segment.start), frame.x_within(segment.end));
        if !y.is_finite() || segment.start.is_nan() || segment.end.is_nan() {
            continue;
        }
        let area = Rect::between((start, y - height / 2.0), (end, y + height / 2.0));
        glyphs::area(scene, area, style);
        let width = font::width(&segment.label, SMALL) + 4.0;
        if !segment.label.is_empty() && width + 2.0 <= area.width && height >= SMALL {
            // A ground of its own, so that no hatch runs through the words.
            let (x, y) = area.center();
            let ground = Rect::new(x - width / 2.0, y - SMALL * 0.6, width, SMALL * 1.2);
            scene.rect(ground, Some(Fill::new(Ink::Back, 0.85)), None);
            scene.text((x, y + SMALL * 0.36), segment.label.clone(), SMALL, Anchor::Middle, Ink::Fore);
        }
    }
}
