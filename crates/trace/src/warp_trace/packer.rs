//! Packing the traces of a CTA as they end. Many CTAs are traced, most of few steps: nothing is made for one of them but
//! the bytes that stay.

use std::sync::Arc;

use warplens_base::bytes::{Columns, Writer};

use super::builder::{Ends, WarpTraceBuilder};
use super::packed::WarpPacker;
use super::{CtaTrace, Parts};
use crate::CtaId;

/// What packs one CTA after the other.
#[derive(Clone, Debug, Default)]
pub struct CtaPacker {
    columns: Columns,
    body: Writer,
    /// What is packed, before it is copied.
    all: Writer,
    ends: Ends,
    warps: WarpPacker,
}

/// The trace of a CTA, packed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PackedCta {
    /// As [`CtaTrace::pack`](super::CtaTrace::pack) writes it behind the lists that it needs.
    pub bytes: Arc<[u8]>,
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
        let Self { columns, body, all, ends, warps: packer } = self;
        let mut packed = PackedCta::default();
        body.uint(id.0.into());
        body.count(warps.len());
        let mut before: Option<&WarpTraceBuilder> = None;
        for warp in warps {
            let warp = warp.ordered();
            if !before.is_some_and(|before| warp.does_as(before)) {
                warp.end(ends);
                packer.does(&warp.parts(ends), columns);
            }
            let parts = warp.parts(ends);
            packed.count(&parts);
            packer.pack(warp.bases(), parts.addresses, columns, body);
            before = Some(warp);
        }
        columns.before_in(body, all);
        packed.bytes = all.bytes().into();
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
        let mut packed = Self { bytes: columns.before(&mut body).into(), ..Self::default() };
        trace.warps.iter().for_each(|warp| packed.count(&warp.parts()));
        packed
    }
}

#[cfg(test)]
mod tests {
    use warplens_base::bytes::{Lists, Reader};
    use warplens_isa::StateSpace;

    use super::*;
    use crate::{AccessKind, ActiveMask, WARP_SIZE};

    /// A warp with a loop that moves by `stride` bytes, and gathers once if it is to.
    fn warp(warp: &mut WarpTraceBuilder, (first, stride, rounds): (u64, u64, u64), gathers: bool) {
        let access = |warp: &mut WarpTraceBuilder, slot, addresses: &[u64; WARP_SIZE]| {
            warp.access(slot, StateSpace::Global, AccessKind::Load, (4, 1), ActiveMask::FULL, addresses);
        };
        for round in 0..rounds {
            warp.step(1, ActiveMask::FULL);
            access(warp, 0, &std::array::from_fn(|lane| first + stride * round + 4 * lane as u64));
            if gathers {
                access(warp, 1, &std::array::from_fn(|lane| first + ((lane as u64) << (lane % 40))));
            }
        }
    }

    #[test]
    fn warps_are_packed_as_they_are_whatever_those_before_did() {
        // One after the other: the same from elsewhere, other distances, other lengths, lanes all over the memory.
        let ctas = [
            vec![((0, 128, 3), false), ((4096, 128, 3), false), ((0, 256, 3), false), ((8192, 256, 3), false)],
            vec![((0, 256, 3), true), ((4096, 256, 3), true), ((4096, 256, 1), false), ((0, 64, 0), false)],
            vec![((0, 64, 1), false), ((0, 64, 9), false), ((0, 64, 9), false), ((64, 64, 8), true)],
        ];
        let mut packer = CtaPacker::default();
        let mut builders = vec![WarpTraceBuilder::default(); 4];
        for (id, cta) in (0..).map(CtaId).zip(&ctas) {
            for (builder, &(moves, gathers)) in builders.iter_mut().zip(cta) {
                builder.clear();
                warp(builder, moves, gathers);
            }
            let packed = packer.pack(id, builders.iter_mut());
            let warps = builders.iter().cloned().map(WarpTraceBuilder::finish).collect();
            let trace = CtaTrace { id, warps };
            assert_eq!(packed, PackedCta::from(&trace));
            let mut from = Reader::new(&packed.bytes);
            let lists = Lists::read(&mut from).expect("lists");
            assert_eq!(CtaTrace::unpack(&lists, &mut from).expect("a trace"), trace);
            from.end().expect("nothing else");
        }
    }
}
