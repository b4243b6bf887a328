//! Sections to text, figures to pictures. A renderer knows no view.

mod csv;
mod markdown;
mod number;
pub mod page;
mod picture;
mod parquet;
pub mod png;
pub mod svg;
mod text;

pub use csv::csv;
pub use markdown::markdown;
pub use number::show;
pub(crate) use number::time_label;
pub use parquet::parquet;
pub use page::html;
pub use text::{Style, WIDTH, text};

#[cfg(test)]
mod tests;
