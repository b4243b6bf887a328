//! Results as JSON documents: the types are those of [`warplens_document`], described in `docs/report-schema.md`.

pub mod compare;
pub mod explain;
pub mod figure;
pub mod gated;
pub mod gpu;
pub mod predict;
pub mod profile;
pub mod run;
pub mod sarif;
pub mod sweep;
pub mod timeline;
pub mod timing;
pub mod trace_events;
pub mod tune;
pub mod whatif;
mod x_model;

use serde::Serialize;
use serde_json::Value;

pub use warplens_document::{Entry, check, documents, keys};

/// A document as JSON.
pub fn value(document: &impl Serialize) -> Value {
    serde_json::to_value(document).expect("keys are texts, and numbers that JSON has not are texts, too")
}
