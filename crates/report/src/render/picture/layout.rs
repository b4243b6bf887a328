//! From a figure to a scene: heading, panels in a grid, one legend, caption.

use super::font;
use super::legend::Legend;
use super::palette::Ink;
use super::panel::{self, Margins};
use super::scene::{Anchor, Rect, Scene};
use super::style::Styles;
use crate::figure::{Figure, Panel};

/// Sizes of letters.
pub(super) const HEADING: f64 = 16.0;
pub(super) const AXIS: f64 = 12.5;
pub(super) const SMALL: f64 = 11.5;

/// Distance to the edge of the picture, and between its parts.
const EDGE: f64 = 14.0;
const LINE: f64 = 1.35;

/// Width of a panel whose axes are equally long.
const SQUARE: f64 = 540.0;

/// Places everything.
pub(crate) fn scene(figure: &Figure) -> Scene {
    let styles = Styles::new(figure);
    let columns = figure.columns.clamp(1, figure.panels.len().max(1));
    let is_square = figure.panels.iter().all(panel::is_square);
    let cell = if columns == 1 && is_square { SQUARE } else { cell_width(columns) };
    let width = 2.0 * EDGE + cell * columns as f64;
    let mut scene = Scene { width, height: 0.0, shapes: Vec::new() };
    let mut y = EDGE;
    y = lines(&mut scene, &font::wrapped(&figure.title, HEADING, width - 2.0 * EDGE), HEADING, Ink::Fore, y) + 6.0;
    // Panels beside and below each other have axes of the same length.
    let margins: Vec<Margins> = figure.panels.iter().map(|panel| panel::margins(panel, cell, columns)).collect();
    let margins = |at: usize| margins.iter().fold(margins[at], Margins::beside);
    for (row, panels) in figure.panels.chunks(columns).enumerate() {
        y = row_of_panels(&mut scene, panels, row * columns, &margins, cell, y, &styles);
    }
    let legend = Legend::new(figure, &styles);
    y = legend.draw(&mut scene, Rect::new(EDGE, y + 4.0, width - 2.0 * EDGE, 0.0));
    if !figure.caption.is_empty() {
        let caption = font::wrapped(&figure.caption, SMALL, width - 2.0 * EDGE);
        y = lines(&mut scene, &caption, SMALL, Ink::Muted, y + 6.0);
    }
    scene.height = (y + EDGE).ceil();
    scene
}

/// Draws panels beside each other; returns where the next row begins.
fn row_of_panels(
    scene: &mut Scene,
    panels: &[Panel],
    first: usize,
    margins: &dyn Fn(usize) -> Margins,
    cell: f64,
    y: f64,
    styles: &Styles,
) -> f64 {
    let top = (0..panels.len()).map(|at| margins(first + at).top).fold(0.0, f64::max);
    let mut bottom = y;
    for (at, panel) in panels.iter().enumerate() {
        let margins = Margins { top, ..margins(first + at) };
        let x = EDGE + cell * at as f64;
        let width = (cell - margins.left - margins.right).max(40.0);
        let height = panel::height(panel, width, panels.len());
        let width = if panel::is_square(panel) { width.min(height) } else { width };
        let plot = Rect::new(x + margins.left, y + top, width, height);
        panel::draw(scene, panel, plot, &margins, first + at, styles);
        bottom = bottom.max(plot.bottom() + margins.bottom);
    }
    bottom + 8.0
}

fn lines(scene: &mut Scene, texts: &[String], size: f64, ink: Ink, mut y: f64) -> f64 {
    for text in texts {
        scene.text((EDGE, y + size), text.clone(), size, Anchor::Start, ink);
        y += size * LINE;
    }
    y
}

const fn cell_width(columns: usize) -> f64 {
    match columns {
        1 => 760.0,
        2 => 500.0,
        3 => 390.0,
        _ => 330.0,
    }
}
