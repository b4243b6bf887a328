//! What the timing simulation found: stalls by line, scaling over warps, and the state of the SM.
//!
//! ```text
//! line  hot  share   warp cycles  issued  why                                      k.ptx
//!   57    1  41.2 %       52 310   1 024  long_scoreboard 93 %, selected 2 %       ld.global.f32  %f12, [%rd9];
//! ```
//!
//! *warp cycles* are those that resident warps spent until the line's instructions were issued, by the states that Nsight
//! Compute samples; *hot* numbers the lines that take half of them together.

mod annotate;
mod scale;
mod simulation;

pub use annotate::{annotation, rows as annotation_rows};
pub use scale::{rows as scale_rows, scale};
pub use simulation::{Size, simulation};
