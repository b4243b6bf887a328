//! Packing the traces of a CTA as they end. Many CTAs are traced, most of few steps: nothing is made for one of them but
//! the bytes that stay.

use warplens_base::bytes::{Columns, Writer};

use super::builder::{Ends, WarpTraceBuilder};
use super::packed::Bases;
use crate::CtaId;

/// What packs one CTA after the other.
#[derive(Clone, Debug, Default)]
pub struct CtaPacker {
    columns: Columns,
    body: Writer,
    ends: Ends,
    bases: Bases,
}

/// The trace of a CTA, packed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PackedCta {
    /// As [`CtaTrace::pack`](super::CtaTrace::pack) writes it behind the lists that it needs.
    pub bytes: Vec<u8>,
    /// Bytes of memory that it takes when it is not packed.
    pub unpacked_bytes: u64,
    /// Steps of all warps.
    pub n_steps: u64,
    /// Steps of the longest warp.
    pub longest: usize,
}

impl CtaPacker {
    /// Packs what the warps of a CTA have executed up to now.
    pub fn pack<'w>(&mut self, id: CtaId, warps: impl ExactSizeIterator<Item = &'w mut WarpTraceBuilder>) -> PackedCta {
        let Self { columns, body, ends, bases } = self;
        let mut packed = PackedCta { bytes: Vec::new(), unpacked_bytes: 0, n_steps: 0, longest: 0 };
        body.uint(id.0.into());
        body.count(warps.len());
        for warp in warps {
            let parts = warp.parts(ends);
            packed.unpacked_bytes += parts.bytes();
            packed.n_steps += parts.steps.len() as u64;
            packed.longest = packed.longest.max(parts.steps.len());
            parts.pack(bases, columns, body);
        }
        packed.bytes = columns.before(body);
        packed
    }
}
