//! Figures to scenes, which `svg` and `png` write. One layout serves both, so that they cannot differ.

mod font;
mod frame;
mod glyphs;
mod label;
mod layout;
mod legend;
mod palette;
mod panel;
mod scale;
mod scene;
mod series;
mod style;

pub(crate) use font::width as text_width;
pub(crate) use font::{FAMILIES, outlines};
pub(crate) use layout::scene;
pub(crate) use palette::{Ink, classes};
pub(crate) use scene::{Anchor, Fill, Scene, Shape, Step, Stroke};
