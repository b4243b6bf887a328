//! Counts of launches that others made: what profilers wrote on a GPU.
//!
//! Every reader turns its text or bytes into [`Imported`] launches. What a source does not count is named in
//! [`Profile::absent`](warplens_stats::Profile), never put down as zero. No reader panics, whatever its input.
//! This crate opens no files; who hands it a text may ask it what the text is ([`is_nsight_csv`],
//! [`is_visual_profiler_log`]).

mod csv;
mod imported;
mod manual;
mod nsight;
mod nsight_csv;
mod nsight_report;
mod visual_profiler;

pub use csv::without_mark;
pub use imported::{Imported, Measured, Shape};
pub use manual::page;
pub use nsight_csv::{is_table as is_nsight_csv, launches as nsight_csv};
pub use nsight_report::launches as nsight_report;
pub use visual_profiler::{is_log as is_visual_profiler_log, read as visual_profiler};
