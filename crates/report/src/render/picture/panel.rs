//! A panel: its size, its axes and its marks; `series` draws the data between them.

use super::frame::Frame;
use super::glyphs::{self, REFERENCE, SHADE};
use super::label::Labels;
use super::layout::{AXIS, SMALL};
use super::palette::{Ink, Style};
use super::scale::{Range, superscript};
use super::scene::{Anchor, Fill, Rect, Scene, Stroke};
use super::style::Styles;
use super::{font, series};
use crate::figure::{Axis, Data, Hatch, Look, Mark, Panel, Scale, Side};

/// Room around the axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Margins {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
    /// Of `right`, what the axis there takes.
    pub(super) right_axis: f64,
}

impl Margins {
    /// Room that is enough for both, beside each other's ends.
    pub(super) fn beside(self, other: &Self) -> Self {
        Self { left: self.left.max(other.left), right: self.right.max(other.right), ..self }
    }
}

const TICK: f64 = 5.0;
const PAD: f64 = 5.0;
/// Names of upright lines may reach this far beyond the right end.
const EDGE: f64 = 10.0;
/// Height of a line of small words.
const ROW: f64 = 15.0;
/// Names of marks at the right are broken at this width.
const MARK_WIDTH: f64 = 120.0;
/// Names at an axis are at most this long.
const LONGEST_NAME: f64 = 190.0;

/// True where both axes need the same length for the same distance.
pub(super) fn is_square(panel: &Panel) -> bool {
    let diagonal = |mark: &Mark| matches!(mark, Mark::Diagonal { .. } | Mark::Band { .. });
    panel.x.scale == panel.y.scale && panel.x.unit == panel.y.unit && panel.marks.iter().any(diagonal)
}

/// Height of the area between the axes.
pub(super) fn height(panel: &Panel, width: f64, n_beside: usize) -> f64 {
    if let Scale::Names(names) = &panel.y.scale {
        let is_map = panel.series.iter().any(|series| matches!(series.data, Data::Cells(_)));
        let row = if is_map { 34.0 } else { 30.0 };
        return (row * names.len() as f64).clamp(50.0, 2400.0);
    }
    match (is_square(panel), n_beside) {
        (true, _) => width.min(440.0),
        (false, 1) => 350.0,
        (false, _) => 260.0,
    }
}

/// The room that words around the axes need.
pub(super) fn margins(panel: &Panel, cell: f64, columns: usize) -> Margins {
    let about = Rect::new(0.0, 0.0, 0.75 * cell, if columns == 1 { 350.0 } else { 260.0 });
    let frame = Frame::new(panel, about);
    let words = |range: &Range, axis: &Axis| {
        let widest = range.ticks(n_ticks_up(&about)).iter().map(|tick| widest_line(&tick.label)).fold(0.0, f64::max);
        let heading = if heading(axis, range).is_empty() { 0.0 } else { AXIS * 1.8 };
        TICK + PAD + widest.min(LONGEST_NAME) + heading
    };
    let right_axis =
        frame.right.as_ref().zip(panel.right.as_ref()).map_or(0.0, |(range, axis)| words(range, axis) + PAD);
    let names = horizontals(panel).map(|(_, label)| marked(label).1).fold(0.0, f64::max);
    let names = if names > 0.0 && panel.right.is_none() { names + 16.0 } else { 0.0 };
    let flags = flag_rows(panel, &frame).1;
    let title = if panel.title.is_empty() { 4.0 } else { AXIS * 1.6 };
    let below = x_words(panel, &frame.x, about.width).1;
    let heading = if heading(&panel.x, &frame.x).is_empty() { 0.0 } else { AXIS * 1.6 };
    Margins {
        left: words(&frame.y, &panel.y),
        right: right_axis + names.max(12.0),
        top: title + flags as f64 * ROW + if flags > 0 { 4.0 } else { 0.0 },
        bottom: TICK + PAD + below + heading,
        right_axis,
    }
}

/// Draws everything of a panel around and into `plot`.
pub(super) fn draw(scene: &mut Scene, panel: &Panel, plot: Rect, margins: &Margins, number: usize, styles: &Styles) {
    let frame = Frame::new(panel, plot);
    let mut labels = Labels::new(plot);
    if !panel.title.is_empty() {
        let title = font::shortened(&panel.title, AXIS, plot.width + margins.right);
        scene.text((plot.x, plot.y - margins.top + AXIS), title, AXIS, Anchor::Start, Ink::Fore);
    }
    let named = regions(scene, panel, &frame);
    axes(scene, panel, &frame, margins);
    helping_lines(scene, panel, &frame, &mut labels);
    series::draw(scene, panel, &frame, number, styles, &mut labels);
    named.iter().for_each(|(area, label)| region_name(scene, area, label, &mut labels));
    notes(scene, panel, &frame, &mut labels);
}

/// What stands at an axis: its words, its unit, and the power of ten that its ticks leave out.
fn heading(axis: &Axis, range: &Range) -> String {
    match range.exponent() {
        0 => axis.heading(),
        exponent => {
            let unit = format!("10{} {}", superscript(exponent), axis.unit);
            Axis { unit: unit.trim_end().to_owned(), ..axis.clone() }.heading()
        }
    }
}

const fn n_ticks_up(plot: &Rect) -> usize {
    let n = (plot.height / 55.0) as usize;
    if n < 3 { 3 } else { n }
}

fn n_ticks_along(plot: &Rect) -> usize {
    ((plot.width / 75.0) as usize).max(3)
}

fn widest_line(text: &str) -> f64 {
    text.lines().map(|line| font::width(line, SMALL)).fold(0.0, f64::max)
}

fn axes(scene: &mut Scene, panel: &Panel, frame: &Frame, margins: &Margins) {
    let plot = frame.plot;
    let has_names = |axis: &Axis| matches!(axis.scale, Scale::Names(_));
    let line = Stroke::new(Ink::Fore, 1.0);
    for tick in frame.y.ticks(n_ticks_up(&plot)) {
        let y = frame.y_at(tick.value, Side::Left);
        if !(plot.y - 0.5..=plot.bottom() + 0.5).contains(&y) {
            continue;
        }
        let is_minor = tick.label.is_empty();
        if !has_names(&panel.y) {
            scene.line((plot.x, y), (plot.right(), y), Stroke::new(Ink::Grid, if is_minor { 0.4 } else { 0.8 }));
            scene.line((plot.x - if is_minor { 3.0 } else { TICK }, y), (plot.x, y), line);
        }
        let place = (plot.x - TICK - PAD, y);
        block(scene, place, &tick.label, Anchor::End);
    }
    if let (Some(range), Some(axis)) = (&frame.right, &panel.right) {
        for tick in range.ticks(n_ticks_up(&plot)) {
            let y = frame.y_at(tick.value, Side::Right);
            if !(plot.y - 0.5..=plot.bottom() + 0.5).contains(&y) {
                continue;
            }
            scene.line((plot.right(), y), (plot.right() + TICK, y), line);
            block(scene, (plot.right() + TICK + PAD, y), &tick.label, Anchor::Start);
        }
        let at = (plot.right() + margins.right_axis - AXIS * 0.4, plot.center().1);
        scene.text_upwards(at, heading(axis, range), AXIS, Anchor::Middle, Ink::Fore);
        scene.line((plot.right(), plot.y), (plot.right(), plot.bottom()), line);
    }
    along(scene, panel, frame, margins);
    scene.line((plot.x, plot.y), (plot.x, plot.bottom()), line);
    scene.line((plot.x, plot.bottom()), (plot.right(), plot.bottom()), line);
    let title = heading(&panel.y, &frame.y);
    let widest = plot.height.max(120.0) + 60.0;
    let at = (plot.x - margins.left + AXIS, plot.center().1);
    scene.text_upwards(at, font::shortened(&title, AXIS, widest), AXIS, Anchor::Middle, Ink::Fore);
}

/// The axis below.
fn along(scene: &mut Scene, panel: &Panel, frame: &Frame, margins: &Margins) {
    let plot = frame.plot;
    let (upright, _) = x_words(panel, &frame.x, plot.width);
    let has_names = matches!(panel.x.scale, Scale::Names(_));
    let mut free_from = f64::NEG_INFINITY;
    for tick in frame.x.ticks(n_ticks_along(&plot)) {
        let x = frame.x_at(tick.value);
        if !(plot.x - 0.5..=plot.right() + 0.5).contains(&x) {
            continue;
        }
        let is_minor = tick.label.is_empty();
        if !has_names {
            scene.line((x, plot.y), (x, plot.bottom()), Stroke::new(Ink::Grid, if is_minor { 0.4 } else { 0.8 }));
            let length = if is_minor { 3.0 } else { TICK };
            scene.line((x, plot.bottom()), (x, plot.bottom() + length), Stroke::new(Ink::Fore, 1.0));
        }
        let y = plot.bottom() + TICK + PAD;
        if upright {
            let text = font::shortened(&tick.label.replace('\n', " "), SMALL, LONGEST_NAME);
            scene.text_upwards((x + SMALL * 0.35, y), text, SMALL, Anchor::End, Ink::Fore);
            continue;
        }
        let half = widest_line(&tick.label) / 2.0;
        // Words that would touch their neighbours are left out.
        if has_names || x - half > free_from {
            for (line, text) in name_lines(panel, &tick.label, plot.width).iter().enumerate() {
                let baseline = y + SMALL * (0.8 + 1.25 * line as f64);
                scene.text((x, baseline), text.clone(), SMALL, Anchor::Middle, Ink::Fore);
            }
            free_from = if is_minor { free_from } else { x + half + 6.0 };
        }
    }
    let y = plot.bottom() + margins.bottom - AXIS * 0.3;
    let title = font::shortened(&heading(&panel.x, &frame.x), AXIS, plot.width + margins.left + margins.right);
    scene.text((plot.center().0, y), title, AXIS, Anchor::Middle, Ink::Fore);
}

/// Lines of a name below the axis.
fn name_lines(panel: &Panel, name: &str, width: f64) -> Vec<String> {
    match &panel.x.scale {
        Scale::Names(names) => font::wrapped(name, SMALL, width / names.len().max(1) as f64 - 6.0),
        _ => vec![name.to_owned()],
    }
}

/// Whether the words below the axis stand upright, and how high they are.
fn x_words(panel: &Panel, range: &Range, width: f64) -> (bool, f64) {
    let Scale::Names(names) = &panel.x.scale else { return (false, SMALL * 1.1) };
    let room = width / names.len().max(1) as f64 - 6.0;
    let lines: Vec<Vec<String>> = names.iter().map(|name| font::wrapped(name, SMALL, room)).collect();
    let fits = lines.iter().flatten().all(|line| font::width(line, SMALL) <= room);
    let most = lines.iter().map(Vec::len).max().unwrap_or(1);
    if fits && most <= 4 {
        return (false, SMALL * 1.25 * most as f64);
    }
    let widest =
        range.ticks(0).iter().map(|tick| font::width(&tick.label.replace('\n', " "), SMALL)).fold(0.0, f64::max);
    (true, widest.min(LONGEST_NAME))
}

/// A few lines beside a place, centred upwards.
fn block(scene: &mut Scene, (x, y): (f64, f64), text: &str, anchor: Anchor) {
    let lines: Vec<&str> = text.lines().collect();
    let top = y - lines.len() as f64 * SMALL * 1.15 / 2.0;
    for (number, line) in lines.iter().enumerate() {
        let baseline = top + SMALL * (0.92 + 1.15 * number as f64);
        scene.text((x, baseline), font::shortened(line, SMALL, LONGEST_NAME), SMALL, anchor, Ink::Fore);
    }
}

/// Shaded regions and bands; returns the regions with their names.
fn regions<'p>(scene: &mut Scene, panel: &'p Panel, frame: &Frame) -> Vec<(Rect, &'p str)> {
    let mut named = Vec::new();
    let plot = frame.plot;
    let mut shades = [Fill::new(Ink::Muted, SHADE), Fill::new(Ink::Muted, SHADE / 3.0)].into_iter().cycle();
    for mark in &panel.marks {
        match mark {
            Mark::Columns { from, to, label } => {
                let (left, right) = (frame.x_within(*from), frame.x_within(*to));
                let area = Rect::between((left, plot.y), (right, plot.bottom()));
                scene.rect(area, shades.next(), None);
                named.push((area, label.as_str()));
            }
            Mark::Rows { from, to, label } => {
                let (low, high) = (frame.y_within(*from), frame.y_within(*to));
                let area = Rect::between((plot.x, low), (plot.right(), high));
                scene.rect(area, shades.next(), None);
                named.push((area, label.as_str()));
            }
            Mark::Band { from, to, .. } => {
                let low = frame.diagonal(*from);
                let mut corners = frame.diagonal(*to);
                corners.extend(low.iter().rev());
                scene.polygon(&corners, Some(Fill::new(Ink::Muted, SHADE)), None);
            }
            _ => {}
        }
    }
    named
}

/// A region's name, at its top unless data are there; upright where the region is narrow.
fn region_name(scene: &mut Scene, area: &Rect, label: &str, labels: &mut Labels) {
    let room = area.width - 6.0;
    let lines = font::wrapped(label, SMALL, room);
    let fits = lines.iter().all(|line| font::width(line, SMALL) <= room) && lines.len() <= 3;
    let center = area.center().0;
    if fits {
        let width = lines.iter().map(|line| font::width(line, SMALL)).fold(0.0, f64::max);
        let last = (area.height - 6.0 - SMALL * 1.2 * lines.len() as f64).max(3.0);
        let heights = (0..=8).map(|at| area.y + 3.0 + (last - 3.0) * f64::from(at) / 8.0);
        let aside = (area.width - width) / 2.0 - 4.0;
        let places: Vec<(f64, f64)> = heights
            .flat_map(|y| [0.0, -0.5, 0.5, -1.0, 1.0].map(|share| (center + share * aside.max(0.0), y)))
            .collect();
        labels.center(scene, &places, &lines, width, Ink::Muted);
    } else if area.width >= SMALL + 2.0 && area.height > 40.0 {
        let text = font::shortened(label, SMALL, area.height - 8.0);
        let length = font::width(&text, SMALL);
        let tops = [area.y + 5.0, area.bottom() - 5.0 - length, area.center().1 - length / 2.0];
        let places = tops.map(|top| Rect::new(center - SMALL / 2.0, top, SMALL, length));
        let place = labels.best(&places);
        scene.text_upwards((center + SMALL * 0.35, place.y), text, SMALL, Anchor::End, Ink::Muted);
        labels.avoid(place);
    }
}

/// Reference lines with their names outside, and diagonals.
fn helping_lines(scene: &mut Scene, panel: &Panel, frame: &Frame, labels: &mut Labels) {
    let plot = frame.plot;
    let (flags, _) = flag_rows(panel, frame);
    for (x, text, row, area) in flags {
        let top = plot.y - 4.0 - ROW * row as f64;
        let top = if text.is_empty() { plot.y } else { top - ROW * 0.7 };
        scene.line((x, plot.bottom()), (x, top), REFERENCE);
        labels.avoid_line(&[(x, plot.bottom()), (x, plot.y)]);
        let baseline = plot.y - 4.0 - ROW * row as f64;
        scene.text((area.0 + 3.0, baseline), text, SMALL, Anchor::Start, Ink::Fore);
    }
    for mark in &panel.marks {
        if let Mark::Diagonal { factor, .. } = mark {
            scene.polyline(&frame.diagonal(*factor), &plot.grown(0.5), REFERENCE);
            labels.avoid_line(&frame.diagonal(*factor));
        }
    }
    let mut lines: Vec<(f64, &str)> = horizontals(panel)
        .map(|(y, label)| (frame.y_at(y, Side::Left), label))
        .filter(|(y, _)| (plot.y - 0.5..=plot.bottom() + 0.5).contains(y))
        .collect();
    lines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free_from = f64::NEG_INFINITY;
    for (y, label) in lines {
        scene.line((plot.x, y), (plot.right(), y), REFERENCE);
        labels.avoid_line(&[(plot.x, y), (plot.right(), y)]);
        if panel.right.is_some() {
            continue;
        }
        let texts = marked(label).0;
        let height = texts.len() as f64 * SMALL * 1.15;
        let top = (y - height / 2.0).max(free_from);
        let x = plot.right();
        scene.line((x, y), (x + 10.0, top + height / 2.0), Stroke::new(Ink::Muted, 0.8));
        for (number, text) in texts.iter().enumerate() {
            let baseline = top + SMALL * (0.92 + 1.15 * number as f64);
            scene.text((x + 13.0, baseline), text.clone(), SMALL, Anchor::Start, Ink::Fore);
        }
        free_from = top + height + 2.0;
    }
}

/// Level lines with their names.
fn horizontals(panel: &Panel) -> impl Iterator<Item = (f64, &str)> {
    panel.marks.iter().filter_map(|mark| match mark {
        Mark::Horizontal { y, label } => Some((*y, label.as_str())),
        _ => None,
    })
}

/// Lines of a name at the right, and their width.
fn marked(label: &str) -> (Vec<String>, f64) {
    let lines = font::wrapped(label, SMALL, MARK_WIDTH);
    let width = lines.iter().map(|line| font::width(line, SMALL)).fold(0.0, f64::max);
    (lines, width)
}

/// An upright line: its place, its name, the row of the name above the panel, and the name's ends.
type Flag = (f64, String, usize, (f64, f64));

/// Rows for the names of upright lines, such that no name covers another one or its line; and how many rows there are.
fn flag_rows(panel: &Panel, frame: &Frame) -> (Vec<Flag>, usize) {
    let plot = frame.plot;
    let mut lines: Vec<(f64, &str)> = panel
        .marks
        .iter()
        .filter_map(|mark| match mark {
            Mark::Vertical { x, label } => Some((frame.x_at(*x), label.as_str())),
            _ => None,
        })
        .filter(|(x, _)| (plot.x - 0.5..=plot.right() + 0.5).contains(x))
        .collect();
    lines.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut flags: Vec<Flag> = Vec::new();
    for (x, label) in lines {
        let text = font::shortened(label, SMALL, 0.8 * plot.width);
        let width = font::width(&text, SMALL) + 6.0;
        // At the right end the name stands on the other side of its line.
        let start = if x + width > plot.right() + EDGE { x - width } else { x };
        let area = if text.is_empty() { (x, x) } else { (start, start + width) };
        let is_free = |row: usize| {
            flags.iter().all(|(other_x, other_text, other_row, other)| {
                let apart = area.1 <= other.0 || area.0 >= other.1;
                let own_line_is_free = *other_row >= row || x <= other.0 || x >= other.1 || other_text.is_empty();
                let other_line_is_free = *other_row <= row || *other_x <= area.0 || *other_x >= area.1;
                (*other_row != row || apart) && own_line_is_free && other_line_is_free
            })
        };
        let row = if text.is_empty() { 0 } else { (0..8).find(|&row| is_free(row)).unwrap_or(8) };
        flags.push((x, text, row, area));
    }
    let rows = flags.iter().filter(|flag| !flag.1.is_empty()).map(|flag| flag.2 + 1).max().unwrap_or(0);
    (flags, rows)
}

/// Words and arrows between the axes, after the data.
fn notes(scene: &mut Scene, panel: &Panel, frame: &Frame, labels: &mut Labels) {
    for mark in &panel.marks {
        if let Mark::Arrow { from, to, .. } = mark {
            let (from, to) = (frame.at(*from, Side::Left), frame.at(*to, Side::Left));
            let visible = from.zip(to).and_then(|(from, to)| frame.plot.clip(from, to));
            if let Some((from, to)) = visible {
                glyphs::arrow(scene, from, to);
                labels.avoid_line(&[from, to]);
            }
        }
    }
    // With an axis at the right there is no room for the names of level lines outside.
    for (y, label) in horizontals(panel).filter(|(_, label)| panel.right.is_some() && !label.is_empty()) {
        let (y, width) = (frame.y_at(y, Side::Left), font::width(label, SMALL));
        let plot = frame.plot;
        // A line beyond the axis is not drawn, and neither is its name.
        if !(plot.y - 0.5..=plot.bottom() + 0.5).contains(&y) {
            continue;
        }
        let shifts: Vec<f64> =
            (0..9).map(|at| plot.right() - 4.0 - width / 2.0 - 0.1 * f64::from(at) * plot.width).collect();
        let places: Vec<(f64, f64)> =
            shifts.iter().flat_map(|&x| [(x, y - SMALL * 1.2 - 3.0), (x, y + 3.0)]).filter(|_| y.is_finite()).collect();
        labels.center(scene, &places, &[label.to_owned()], width, Ink::Fore);
    }
    for mark in &panel.marks {
        let (at, text) = match mark {
            Mark::Note { x, y, text } => ((*x, *y), text),
            Mark::Arrow { from, to, label } => ((from.0 / 2.0 + to.0 / 2.0, from.1 / 2.0 + to.1 / 2.0), label),
            _ => continue,
        };
        if let Some(at) = frame.at(at, Side::Left).filter(|at| !text.is_empty() && frame.plot.grown(1.0).contains(*at))
        {
            labels.place(scene, at, text, Ink::Fore);
        }
    }
}

/// The look of what has none of its own: fields without a value.
pub(super) fn empty_style() -> Style {
    Style::new(0, Look { hatch: Some(Hatch::Rising), ..Look::default() })
}
