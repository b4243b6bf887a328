//! Results to sections. A view neither prints nor computes.

pub mod gpu;
pub mod predict;
pub mod profile;
pub mod run;
pub mod whatif;
