//! The only module with unsafe code: views of register rows, memory cells that several CTAs may touch at once, and lane
//! handlers compiled for the CPU's vector units.
//!
//! Everything outside sees safe functions; each `unsafe` block states why it holds.
#![allow(unsafe_code)]

mod cells;
mod fused;
mod handler;
mod near;
mod offsets;
mod rows;
#[cfg(target_arch = "x86_64")]
mod vector;

pub(crate) use cells::{Cell, Cells, Selection};
pub(crate) use fused::{Elements, FARTHEST, FusedSum, NONE, WarpProduct, add_products, multiply_in_warp};
pub(crate) use handler::{
    LaneFunction, Level, Leveled, call, carry, map1, map1_with, map2, map2_with, map3, map3_with, map4, masks,
    with_level,
};
pub(crate) use near::Near;
pub(crate) use offsets::{Offsets, is_consecutive};
pub(crate) use rows::{LaneInput, LaneOutput, Lanes, Row, Source};
