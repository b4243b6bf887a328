//! The models against their papers, against each other, and on profiles made by hand.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod directions;
mod equations;
mod kernels;
mod luo_suda;
mod merge;
mod roofline_bound;
mod scenario;
mod speed_of_light;
mod support;
mod worked_examples;
