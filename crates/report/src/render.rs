//! Sections to text, figures to pictures. A renderer knows no view.

mod csv;
mod markdown;
mod number;
pub mod page;
mod parquet;
mod picture;
pub mod png;
pub mod svg;
mod text;

pub use csv::csv;
pub use markdown::markdown;
pub use number::show;
pub(crate) use number::time_label;
pub use page::html;
pub use parquet::parquet;
pub use text::{Style, WIDTH, text};

#[cfg(test)]
mod tests;
