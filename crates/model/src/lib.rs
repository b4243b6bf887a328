//! Placeholder

pub mod occupancy;
