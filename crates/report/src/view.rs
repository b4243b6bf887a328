//! Results to sections. A view neither prints nor computes.

pub mod gpu;
pub mod listing;
pub mod predict;
pub mod profile;
pub mod report;
pub mod run;
pub mod whatif;
pub mod x_model;
