//! Placeholder

pub mod semantics;
