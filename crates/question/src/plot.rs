//! The data of pictures: what `report` only has to arrange.
//!
//! One file per kind. Each takes results (analyses, machines, measured times) and gives numbers in the units that the
//! picture shows, or says why there is nothing to draw.

pub mod accuracy;
pub mod occupancy;
pub mod roofline;
pub mod stalls;
pub mod terms;
pub mod timeline;
pub mod x_graph;
