//! The JSON documents: wire types with a schema name and version, described in `docs/report-schema.md`.

pub mod compare;
pub mod explain;
pub mod figure;
pub mod gpu;
mod json;
pub mod predict;
pub mod profile;
pub mod run;
pub mod timing;
pub mod trace_events;
pub mod tune;
pub mod whatif;
mod x_model;

pub use json::number;
