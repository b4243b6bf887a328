//! The questions that one can ask about a kernel: why it takes as long (explain), what if something were different
//! (what-if), which of several is faster (compare), which variant is the best (tune), where its time goes (timing,
//! listing), what a picture shows (plot).
//!
//! Each question is a module: a function from what the session measured and predicted to an answer as plain data.
//! This crate does not know about terminals, formats or flags.

mod digits;
mod rewrite;
mod threads;
mod waits;

// generated: modules
pub mod calibrate;
pub mod compare;
pub mod coverage;
pub mod disassembly;
pub mod exec;
pub mod explain;
pub mod gate;
pub mod glance;
pub mod glossary;
pub mod hardware;
pub mod hazards;
pub mod listing;
pub mod measured;
pub mod native;
pub mod plot;
pub mod stages;
pub mod sweep;
pub mod timing;
pub mod toml_file;
pub mod tune;
pub mod validate;
pub mod whatif;
pub mod which;
// end: modules

pub use warplens_model::x_model;
