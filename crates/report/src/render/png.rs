//! Figures as PNG: the same scene, drawn with the font in the program, in the light theme.

use tiny_skia::{
    Color, FillRule, LineCap, LineJoin, Paint, PathBuilder, Pixmap, Rect, Stroke as SkiaStroke, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

use super::picture::{self, Anchor, Fill, Ink, Scene, Shape, Step, Stroke};
use crate::figure::Figure;

/// Pixels of the image to a pixel of the scene: sharp in print and on dense screens.
const DENSITY: f32 = 2.0;
/// Pixels of an image's side; a larger scene is drawn less densely.
const LARGEST: f32 = 16_000.0;

/// Renders a figure. The same figure gives the same bytes everywhere.
pub fn figure(figure: &Figure) -> Vec<u8> {
    let scene = picture::scene(figure);
    let density = DENSITY.min(LARGEST / (scene.width.max(scene.height).max(1.0) as f32));
    let pixels = |length: f64| ((length as f32) * density).ceil().clamp(1.0, LARGEST) as u32;
    let mut pixmap =
        Pixmap::new(pixels(scene.width), pixels(scene.height)).expect("the size is neither 0 nor too large");
    pixmap.fill(color(Ink::Back, 1.0));
    draw(&scene, &mut pixmap, Transform::from_scale(density, density));
    pixmap.encode_png().expect("writing to memory does not fail")
}

fn draw(scene: &Scene, pixmap: &mut Pixmap, transform: Transform) {
    for shape in &scene.shapes {
        match shape {
            Shape::Rect { area, fill, stroke } => {
                let (x, y, width, height) = (area.x as f32, area.y as f32, area.width as f32, area.height as f32);
                if let Some(rect) = Rect::from_xywh(x, y, width, height) {
                    draw_path(pixmap, &PathBuilder::from_rect(rect), *fill, *stroke, transform);
                }
            }
            Shape::Path { steps, fill, stroke } => {
                let mut builder = PathBuilder::new();
                for step in steps {
                    match *step {
                        Step::Move(x, y) => builder.move_to(x as f32, y as f32),
                        Step::Line(x, y) => builder.line_to(x as f32, y as f32),
                        Step::Close => builder.close(),
                    }
                }
                if let Some(path) = builder.finish() {
                    draw_path(pixmap, &path, *fill, *stroke, transform);
                }
            }
            Shape::Text { at, text, size, anchor, upwards, ink } => {
                let width = picture::text_width(text, *size);
                let shift = match anchor {
                    Anchor::Start => 0.0,
                    Anchor::Middle => -width / 2.0,
                    Anchor::End => -width,
                };
                let turned = if *upwards { Transform::from_rotate(-90.0) } else { Transform::identity() };
                let placed = turned.post_translate(at.0 as f32, at.1 as f32).post_concat(transform);
                draw_text(pixmap, text, *size, shift, *ink, placed);
            }
        }
    }
}

fn draw_path(
    pixmap: &mut Pixmap,
    path: &tiny_skia::Path,
    fill: Option<Fill>,
    stroke: Option<Stroke>,
    transform: Transform,
) {
    if let Some(fill) = fill {
        pixmap.fill_path(path, &paint(fill.ink, fill.opacity), FillRule::Winding, transform, None);
    }
    if let Some(stroke) = stroke {
        let dashes: Vec<f32> = stroke.dashes.iter().map(|&dash| dash as f32).collect();
        let pen = SkiaStroke {
            width: stroke.width as f32,
            line_cap: LineCap::Butt,
            line_join: LineJoin::Miter,
            dash: if dashes.is_empty() { None } else { StrokeDash::new(dashes, 0.0) },
            ..SkiaStroke::default()
        };
        pixmap.stroke_path(path, &paint(stroke.ink, 1.0), &pen, transform, None);
    }
}

fn draw_text(pixmap: &mut Pixmap, text: &str, size: f64, shift: f64, ink: Ink, transform: Transform) {
    let mut outline = Outline { builder: PathBuilder::new(), x: 0.0, scale: 1.0 };
    picture::outlines(text, size, |glyph, x, scale| {
        outline.x = (x + shift) as f32;
        outline.scale = scale as f32;
        glyph(&mut outline);
    });
    if let Some(path) = outline.builder.finish() {
        pixmap.fill_path(&path, &paint(ink, 1.0), FillRule::Winding, transform, None);
    }
}

/// Glyphs beside each other; fonts count upwards, images downwards.
struct Outline {
    builder: PathBuilder,
    x: f32,
    scale: f32,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

fn paint(ink: Ink, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color(color(ink, opacity));
    paint
}

fn color(ink: Ink, opacity: f64) -> Color {
    let (red, green, blue) = ink.light();
    Color::from_rgba8(red, green, blue, (255.0 * opacity.clamp(0.0, 1.0)).round() as u8)
}
