//! Results in words, tables and documents.
//!
//! A view turns results into neutral [`Section`]s; a renderer turns sections into text, CSV, markdown or HTML. A picture
//! is a neutral [`Figure`] in the same way. The JSON documents are types of their own with a schema name and version,
//! described in `docs/report-schema.md`.
//! This crate computes no metric, and it does not know about terminals or files.

pub mod document;
pub mod figure;
pub mod render;
mod section;
pub mod view;

pub use figure::Figure;
pub use section::{Block, Cell, Column, Field, ListedLine, Listing, Plot, Section, Table, Unit};
