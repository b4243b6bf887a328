//! What the timing simulation found: stalls by line, scaling over warps, and the state of the SM.
//!
//! ```text
//! line  hot  share   warp cycles  issued  why                                      k.ptx
//!   57    1  41.2 %       52 310   1 024  long_scoreboard 93 %, selected 2 %       ld.global.f32  %f12, [%rd9];
//! ```
//!
//! *warp cycles* are those that resident warps spent until the line's instructions were issued, by the states that Nsight
//! Compute samples; *hot* numbers the lines that take most of them together.

mod annotate;
mod over_warps;
mod scale;
mod simulation;

pub use annotate::{annotation, annotations, rows as annotation_rows};
pub use over_warps::{over_warps, rows as over_warps_rows};
pub use scale::{rows as scale_rows, scale, scales};
pub use simulation::{Size, simulation};

use warplens_launch::KernelName;
use warplens_session::predict::Refusal;

use crate::section::{Block, Cell, Field, Section};

/// A GPU for which there is no answer.
fn refused(kernel: &KernelName, gpu: &str, refusal: &Refusal) -> Section {
    let field = Field::new("refused", Cell::text(&refusal.reason));
    Section::new("refused", format!("{} on {gpu}", kernel.demangled)).with(Block::Fields(vec![field]))
}
