//! Packing the traces of a CTA as they end. Many CTAs are traced, most of few steps: nothing is made for one of them but
//! the bytes that stay.

use warplens_base::bytes::{Columns, Writer};

use super::builder::{Ends, WarpTraceBuilder};
use super::packed::Bases;
use super::{CtaTrace, Parts};
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
#[derive(Clone, PartialEq, Eq, Debug, Default)]
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
        let mut packed = PackedCta::default();
        body.uint(id.0.into());
        body.count(warps.len());
        for warp in warps {
            let parts = warp.parts(ends);
            packed.count(&parts);
            parts.pack(bases, columns, body);
        }
        packed.bytes = columns.before(body);
        packed
    }
}

impl PackedCta {
    /// Adds a warp to what is counted.
    fn count(&mut self, warp: &Parts<'_>) {
        self.unpacked_bytes += warp.bytes();
        self.n_steps += warp.steps.len() as u64;
        self.longest = self.longest.max(warp.steps.len());
    }
}

impl From<&CtaTrace> for PackedCta {
    fn from(trace: &CtaTrace) -> Self {
        let (mut columns, mut body) = (Columns::default(), Writer::default());
        trace.pack(&mut columns, &mut body);
        let mut packed = Self { bytes: columns.before(&mut body), ..Self::default() };
        trace.warps.iter().for_each(|warp| packed.count(&warp.parts()));
        packed
    }
}
