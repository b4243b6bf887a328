//! The observer that records what some warps executed, and which lines of memory some CTAs touched.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use warplens_base::Id;
use warplens_base::bytes::{Lists, Reader};
use warplens_isa::{BlockId, Pc, StateSpace};
use warplens_trace::{
    Access, AccessKind, ActiveMask, CtaId, CtaPacker, CtaTrace, Observer, PackedCta, WarpIndex, WarpTraceBuilder,
};

use crate::footprint::{self, Extents, Lines, LinesOpen, Words};

/// What a [`Tracer`] is to record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceRequest {
    /// CTAs whose warps are followed, ascending.
    pub ctas: Vec<CtaId>,
    /// Bytes of memory that the trace of one CTA may take; what its warps do after that is only counted.
    pub bytes_per_cta: u64,
    /// The sectors are kept that CTAs with smaller numbers load.
    pub window: u32,
    /// CTAs whose words are kept, ascending.
    pub pattern: Vec<CtaId>,
}

/// A traced CTA. Many are kept, and few looked at, so its trace is packed.
#[derive(Clone, PartialEq, Debug)]
pub struct TracedCta {
    id: CtaId,
    packed: Arc<[u8]>,
    /// Bytes that its trace takes when it is not.
    bytes: u64,
    n_steps: u64,
    longest: usize,
    left_out: Vec<(u32, u64)>,
}

impl TracedCta {
    /// What its warps executed: all of it, or the first steps of each warp; and the executions of blocks that are not in
    /// the trace, by block.
    pub fn new(trace: &CtaTrace, left_out: Vec<(u32, u64)>) -> Self {
        Self::packed(trace.id, trace.into(), left_out)
    }

    fn packed(id: CtaId, trace: PackedCta, left_out: Vec<(u32, u64)>) -> Self {
        let PackedCta { bytes, unpacked_bytes, n_steps, longest } = trace;
        let n_steps = n_steps + left_out.iter().map(|(_, n)| n).sum::<u64>();
        Self { id, packed: bytes, bytes: unpacked_bytes, n_steps, longest, left_out }
    }

    /// Which CTA of the grid.
    pub const fn id(&self) -> CtaId {
        self.id
    }

    /// What its warps executed, as far as it was kept.
    pub fn trace(&self) -> CtaTrace {
        let mut from = Reader::new(&self.packed);
        let lists = Lists::read(&mut from);
        lists.and_then(|lists| CtaTrace::unpack(&lists, &mut from)).expect("it was packed here")
    }

    /// Executions of blocks by its warps, whether or not they are in the trace.
    pub const fn n_steps(&self) -> u64 {
        self.n_steps
    }

    /// Steps of the longest warp in the trace.
    pub const fn longest(&self) -> usize {
        self.longest
    }

    /// Executions of blocks that are not in the trace, by block; none where it is whole.
    pub fn left_out(&self) -> &[(u32, u64)] {
        &self.left_out
    }
}

/// Records traces of chosen CTAs.
pub struct Tracer {
    places: Arc<[MemoryPlace]>,
    n_warps: usize,
    request: Arc<TraceRequest>,
    recorded: Recorded,
    packer: CtaPacker,
    /// Warps and lines of CTAs that have ended, for the memory that they take.
    spare: Vec<Box<[OpenWarp]>>,
    spare_lines: Vec<LinesOpen>,
}

/// What a [`Tracer`] recorded, by CTA.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recorded {
    /// Traces.
    pub ctas: Vec<TracedCta>,
    /// Sectors that the first CTAs load.
    pub lines: Vec<(CtaId, Lines)>,
    /// Words that some CTAs load.
    pub words: Vec<(CtaId, Words)>,
    /// Words that they store to.
    pub stored: Vec<(CtaId, Words)>,
}

/// Block and slot of an instruction that touches memory.
pub type MemoryPlace = Option<(BlockId, u16)>;

/// What a [`Tracer`] keeps for a running CTA.
#[derive(Debug)]
pub struct TracedState {
    id: CtaId,
    warps: Option<Box<[OpenWarp]>>,
    lines: Option<LinesOpen>,
    stored: Option<LinesOpen>,
}

/// A warp that is followed.
#[derive(Clone, Debug, Default)]
struct OpenWarp {
    trace: WarpTraceBuilder,
    /// Executions of blocks that were not kept, by block.
    left_out: FxHashMap<u32, u64>,
    is_full: bool,
}

/// Steps back to which an access may belong.
const REACH: usize = 4096;

impl Tracer {
    /// A tracer of CTAs with `n_warps` warps. `places` has for each instruction of the module the block and the number in
    /// it, if it is a memory instruction.
    pub fn new(places: Arc<[MemoryPlace]>, n_warps: usize, request: TraceRequest) -> Self {
        Self::of(places, n_warps, Arc::new(request))
    }

    fn of(places: Arc<[MemoryPlace]>, n_warps: usize, request: Arc<TraceRequest>) -> Self {
        let (recorded, packer) = (Recorded::default(), CtaPacker::default());
        Self { places, n_warps, request, recorded, packer, spare: Vec::new(), spare_lines: Vec::new() }
    }

    /// The same tracer with another request; what was recorded stays.
    #[must_use]
    pub fn continued(self, request: TraceRequest) -> Self {
        Self { request: Arc::new(request), ..self }
    }

    /// Bytes of memory that the largest trace of a CTA takes that was recorded up to now.
    pub fn largest(&self) -> u64 {
        self.recorded.ctas.iter().map(|cta| cta.bytes).max().unwrap_or(0)
    }

    /// Whether the CTAs of the pattern show what the others load that were executed.
    pub fn has_pattern(&self, extents: Extents) -> bool {
        footprint::is_pattern(extents, &self.recorded.words, &self.recorded.lines)
    }

    /// What was recorded, by CTA.
    pub fn finish(self) -> Recorded {
        let mut recorded = self.recorded;
        recorded.ctas.sort_by_key(TracedCta::id);
        recorded.lines.sort_by_key(|(id, _)| *id);
        recorded
    }
}

impl OpenWarp {
    /// Starts another warp.
    fn clear(&mut self) {
        self.trace.clear();
        self.left_out.clear();
        self.is_full = false;
    }

    /// The step that an access of the block belongs to; none where it was not kept.
    fn step_of(&self, block: BlockId, mask: ActiveMask) -> Option<usize> {
        if self.is_full {
            return None;
        }
        let steps = || self.trace.steps().iter().enumerate().rev().take(REACH).filter(|(_, (of, _))| *of == block.0);
        // The lanes of a bulk copy are places in memory, and may be more than those that execute it: it belongs to the
        // last execution of its block.
        let fitting = steps().find(|(_, (_, lanes))| mask.without(*lanes).is_empty()).or_else(|| steps().next());
        fitting.map(|(index, _)| index)
    }
}

impl Observer for Tracer {
    const RECORDS: bool = true;

    type Cta = TracedState;

    fn fork(&self) -> Self {
        Self::of(self.places.clone(), self.n_warps, self.request.clone())
    }

    fn merge(&mut self, other: Self) {
        let Recorded { ctas, lines, words, stored } = other.recorded;
        self.recorded.ctas.extend(ctas);
        self.recorded.lines.extend(lines);
        self.recorded.words.extend(words);
        self.recorded.stored.extend(stored);
    }

    fn begin_cta(&mut self, id: CtaId) -> TracedState {
        let followed = self.request.ctas.binary_search(&id).is_ok();
        let open = || std::iter::repeat_with(OpenWarp::default).take(self.n_warps).collect();
        let warps = followed.then(|| self.spare.pop().unwrap_or_else(open));
        let is_of_pattern = self.request.pattern.contains(&id);
        let mut open = || self.spare_lines.pop().unwrap_or_default();
        let lines = (id.0 < self.request.window || is_of_pattern).then(&mut open);
        let stored = is_of_pattern.then(open);
        TracedState { id, warps, lines, stored }
    }

    fn end_cta(&mut self, cta: TracedState) {
        if let Some(mut warps) = cta.warps {
            let mut left_out: BTreeMap<u32, u64> = BTreeMap::new();
            for (block, n) in warps.iter().flat_map(|warp| &warp.left_out) {
                *left_out.entry(*block).or_default() += n;
            }
            let packed = self.packer.pack(cta.id, warps.iter_mut().map(|warp| &mut warp.trace));
            self.recorded.ctas.push(TracedCta::packed(cta.id, packed, left_out.into_iter().collect()));
            warps.iter_mut().for_each(OpenWarp::clear);
            self.spare.push(warps);
        }
        if let Some(mut lines) = cta.lines {
            let words = lines.close();
            if cta.id.0 < self.request.window {
                self.recorded.lines.push((cta.id, words.sectors()));
            }
            if cta.stored.is_some() {
                self.recorded.words.push((cta.id, words));
            }
            self.spare_lines.push(lines);
        }
        if let Some(mut stored) = cta.stored {
            self.recorded.stored.push((cta.id, stored.close()));
            self.spare_lines.push(stored);
        }
    }

    #[inline]
    fn block(&mut self, cta: &mut TracedState, warp: WarpIndex, block: BlockId, mask: ActiveMask) {
        let Some(warps) = &mut cta.warps else { return };
        let most = self.request.bytes_per_cta / self.n_warps.max(1) as u64;
        let warp = &mut warps[warp.0 as usize];
        warp.is_full |= warp.trace.bytes() as u64 >= most;
        if warp.is_full {
            *warp.left_out.entry(block.0).or_default() += 1;
        } else {
            warp.trace.step(block.0, mask);
        }
    }

    #[inline]
    fn predicated(&mut self, _: &mut TracedState, _: WarpIndex, _: Pc, _: ActiveMask, _: ActiveMask) {}

    #[inline]
    fn branch_indexed(&mut self, _: &mut TracedState, _: WarpIndex, _: Pc, _: u32) {}

    #[inline]
    fn access(&mut self, cta: &mut TracedState, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        let touched = if access.kind == AccessKind::Store { &mut cta.stored } else { &mut cta.lines };
        if let Some(lines) = touched
            && access.space == StateSpace::Global
        {
            lines.touch(access);
        }
        let Some(warps) = &mut cta.warps else { return };
        let Some((block, slot)) = self.places[pc.index()] else { return };
        if access.space == StateSpace::Param || access.mask.is_empty() {
            return;
        }
        let warp = &mut warps[warp.0 as usize];
        let Some(step) = warp.step_of(block, access.mask) else { return };
        let size = (access.element_bytes, access.elements);
        warp.trace.access_of(step, slot, access.space, access.kind, size, access.mask, access.addresses);
    }

    fn order_dependent(&mut self, _: &mut TracedState, _: Pc) {}
}
