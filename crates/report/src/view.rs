//! Results to sections. A view neither prints nor computes.

// generated: modules
pub mod calibrate;
pub mod compare;
pub mod config;
pub mod exec;
pub mod explain;
pub mod figure;
pub mod gate;
pub mod glance;
pub mod glossary;
pub mod gpu;
pub mod listing;
pub mod predict;
pub mod profile;
pub mod report;
pub mod run;
pub mod sweep;
pub mod timing;
pub mod tune;
pub mod validate;
pub mod whatif;
pub mod which;
pub mod x_model;
// end: modules
