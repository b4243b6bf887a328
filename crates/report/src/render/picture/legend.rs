//! The legend, below all panels, so that it never covers data; for a heat map the scale of its colours.

use super::font;
use super::glyphs;
use super::layout::SMALL;
use super::palette::{Ink, Style};
use super::scene::{Anchor, Fill, Rect, Scene, Stroke};
use super::style::Styles;
use crate::figure::{Data, Figure, Mark};
use crate::render::number::digits;

const SWATCH: f64 = 30.0;
const GAP: f64 = 18.0;
const ROW: f64 = 19.0;

/// What is explained.
pub(crate) struct Legend {
    entries: Vec<(String, Swatch)>,
    /// Name, lowest and highest value of a heat map.
    heat: Option<(String, f64, f64)>,
}

#[derive(Clone, Copy)]
enum Swatch {
    Line(Style),
    Marker(Style),
    Area(Style),
    Diagonal,
    Band,
}

impl Legend {
    pub(crate) fn new(figure: &Figure, styles: &Styles) -> Self {
        let mut legend = Self { entries: Vec::new(), heat: None };
        for (at, panel) in figure.panels.iter().enumerate() {
            for (number, series) in panel.series.iter().enumerate() {
                let style = styles.of(at, number);
                match &series.data {
                    Data::Line(_) | Data::Step(_) => legend.add(&series.name, Swatch::Line(style)),
                    Data::Points(_) => legend.add(&series.name, Swatch::Marker(style)),
                    Data::Bars { .. } | Data::Segments(_) => legend.add(&series.name, Swatch::Area(style)),
                    Data::Cells(cells) => {
                        let values = cells.iter().filter_map(|cell| cell.value).filter(|value| value.is_finite());
                        let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
                            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
                        });
                        legend.heat = ends.map(|(low, high)| (series.name.clone(), low, high));
                    }
                }
            }
            for mark in &panel.marks {
                match mark {
                    Mark::Diagonal { label, .. } => legend.add(label, Swatch::Diagonal),
                    Mark::Band { label, .. } => legend.add(label, Swatch::Band),
                    _ => {}
                }
            }
        }
        legend
    }

    fn add(&mut self, name: &str, swatch: Swatch) {
        if !name.is_empty() && self.entries.iter().all(|(other, _)| other != name) {
            self.entries.push((name.to_owned(), swatch));
        }
    }

    /// Draws it from the top of `area` down; returns where it ends.
    pub(crate) fn draw(&self, scene: &mut Scene, area: Rect) -> f64 {
        let mut y = area.y;
        if let Some((name, low, high)) = &self.heat {
            heat_scale(scene, area.x, y, name, *low, *high);
            y += ROW;
        }
        let mut x = area.x;
        for (name, swatch) in &self.entries {
            let name = font::shortened(name, SMALL, area.width - SWATCH - 8.0);
            let width = SWATCH + 8.0 + font::width(&name, SMALL);
            if x > area.x && x + width > area.right() {
                x = area.x;
                y += ROW;
            }
            draw_swatch(scene, *swatch, Rect::new(x, y + 2.0, SWATCH, 12.0));
            scene.text((x + SWATCH + 8.0, y + SMALL), name, SMALL, Anchor::Start, Ink::Fore);
            x += width + GAP;
        }
        if self.entries.is_empty() { y } else { y + ROW }
    }
}

fn draw_swatch(scene: &mut Scene, swatch: Swatch, area: Rect) {
    let (x, y) = area.center();
    let level = [(area.x, y), (area.right(), y)];
    match swatch {
        Swatch::Line(style) => {
            scene.polyline(&level, &area, Stroke::new(style.color, 2.0).dashed(style.dashes));
            if style.wants_marker {
                glyphs::marker(scene, (x, y), style, false);
            }
        }
        Swatch::Marker(style) => glyphs::marker(scene, (x, y), style, false),
        Swatch::Area(style) => glyphs::area(scene, area, style),
        Swatch::Diagonal => scene.polyline(&level, &area, glyphs::REFERENCE),
        Swatch::Band => scene.rect(area, Some(Fill::new(Ink::Muted, glyphs::SHADE)), None),
    }
}

fn heat_scale(scene: &mut Scene, x: f64, y: f64, name: &str, low: f64, high: f64) {
    const STEPS: u8 = 16;
    const STEP: f64 = 10.0;
    let mut x = x;
    let word = |scene: &mut Scene, x: &mut f64, text: &str| {
        scene.text((*x, y + SMALL), text, SMALL, Anchor::Start, Ink::Fore);
        *x += font::width(text, SMALL) + 8.0;
    };
    if !name.is_empty() {
        word(scene, &mut x, &format!("{name}:"));
    }
    word(scene, &mut x, &digits(low));
    for step in 0..STEPS {
        let share = f64::from(step) / f64::from(STEPS - 1);
        let ink = Ink::of_value(low * (1.0 - share) + high * share, low, high);
        scene.rect(Rect::new(x, y + 2.0, STEP + 0.3, 12.0), Some(Fill::new(ink, 1.0)), None);
        x += STEP;
    }
    x += 8.0;
    word(scene, &mut x, &digits(high));
}
