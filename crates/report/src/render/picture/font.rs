//! The font of pictures: widths for the layout and outlines for PNG.
//!
//! It is DejaVu Sans Condensed, whose letters are about as wide as those of Arial and Helvetica, so that the layout holds
//! where an SVG viewer has only those.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// Families that a viewer of SVG may take.
pub(crate) const FAMILIES: &str = "DejaVu Sans Condensed, Arial, Helvetica, Liberation Sans, sans-serif";

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(dejavu::sans_condensed::regular(), 0).expect("the font in the program is whole"));

/// Width of a line of text.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    let units: f64 = text.chars().map(|c| f64::from(FACE.glyph_hor_advance(glyph(c)).unwrap_or(0))).sum();
    units * scale(size)
}

/// Hands the outlines of a line of text to `draw`, with the place of each glyph's origin and the size of a font unit.
pub(crate) fn outlines(text: &str, size: f64, mut draw: impl FnMut(&mut dyn FnMut(&mut dyn OutlineBuilder), f64, f64)) {
    let mut x = 0.0;
    for c in text.chars() {
        let id = glyph(c);
        let mut outline = |builder: &mut dyn OutlineBuilder| {
            FACE.outline_glyph(id, builder);
        };
        draw(&mut outline, x, scale(size));
        x += f64::from(FACE.glyph_hor_advance(id).unwrap_or(0)) * scale(size);
    }
}

fn glyph(c: char) -> GlyphId {
    FACE.glyph_index(c).unwrap_or_default()
}

fn scale(size: f64) -> f64 {
    size / f64::from(FACE.units_per_em())
}

/// The lines of a text that are at most `limit` wide, broken at blanks and where the text breaks itself. A longer word
/// stands alone.
pub(crate) fn wrapped(text: &str, size: f64, limit: f64) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            if !line.is_empty() && width(&longer, size) > limit {
                lines.push(std::mem::replace(&mut line, word.to_owned()));
            } else {
                line = longer;
            }
        }
        lines.push(line);
    }
    lines
}

/// A text that is at most `limit` wide, its end left out where it must.
pub(crate) fn shortened(text: &str, size: f64, limit: f64) -> String {
    if width(text, size) <= limit {
        return text.to_owned();
    }
    let mut kept = text.to_owned();
    while kept.pop().is_some() {
        let shown = format!("{}…", kept.trim_end());
        if width(&shown, size) <= limit {
            return shown;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_add_up() {
        let pair = width("W", 12.0) + width("i", 12.0);
        assert!((width("Wi", 12.0) - pair).abs() < 1e-9 && width("W", 12.0) > width("i", 12.0));
        assert!((width("Wi", 24.0) - 2.0 * pair).abs() < 1e-9);
    }

    #[test]
    fn the_letters_of_models_exist() {
        for c in "αβδπψµΔ×±≤≥·…–10⁰¹²³⁴⁵⁶⁷⁸⁹⁻".chars() {
            assert!(FACE.glyph_index(c).is_some(), "no glyph for {c}");
        }
    }

    #[test]
    fn texts_are_broken_and_shortened() {
        assert_eq!(wrapped("one two\nthree", 12.0, 1e3), ["one two", "three"]);
        assert_eq!(wrapped("one two", 12.0, 1.0), ["one", "two"]);
        assert_eq!(shortened("occupancy", 12.0, 1e3), "occupancy");
        assert!(shortened("occupancy", 12.0, 30.0).ends_with('…'));
        assert_eq!(shortened("occupancy", 12.0, 1.0), "");
    }
}
