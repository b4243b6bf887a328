//! Finds launches whose CTAs race: one CTA touches bytes that another one writes, without an ordered access.
//!
//! What such a launch leaves depends on the order of its CTAs. So CTAs run in any order while it is noted who touches
//! what; if two get in each other's way, everything is undone, and the launch runs again in a fixed order.
//!
//! As long as no CTA touches what another one wrote, each does what it would do alone. So whether two of them meet does
//! not depend on the order either, nor on the number of host threads.

mod ledger;
mod shadow;

pub(crate) use ledger::{Halt, Ledger};
pub(crate) use shadow::{Kind, Meeting, Shadow, Touch, cta_of, tag_of};

use warplens_isa::Pc;
use warplens_trace::CtaId;

/// Two CTAs that touch the same byte, at least one of which writes it: the first such pair in the fixed order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Race {
    /// The second access.
    pub pc: Pc,
    /// The CTA that makes it.
    pub cta: CtaId,
    /// The CTA that was there before; `None` if there were several.
    pub other: Option<CtaId>,
    /// Name of the buffer.
    pub buffer: String,
    /// The byte in the buffer.
    pub offset: u64,
}
