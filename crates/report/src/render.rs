//! Sections to text, figures to pictures. A renderer knows no view.

mod csv;
mod html;
mod markdown;
mod number;
mod picture;
pub mod png;
pub mod svg;
mod text;

pub use csv::csv;
pub use html::html;
pub use markdown::markdown;
pub use number::show;
pub use text::{Style, text};

#[cfg(test)]
mod tests;
