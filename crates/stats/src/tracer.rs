//! The observer that records what some warps executed, and which lines of memory some CTAs touched.

use std::sync::Arc;

use warplens_base::Id;
use warplens_isa::{BlockId, Pc, StateSpace};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, CtaTrace, Observer, Step, WarpIndex, WarpTrace};

use crate::footprint::{Lines, LinesOpen};

/// What a [`Tracer`] is to record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceRequest {
    /// CTAs whose warps are followed, ascending.
    pub ctas: Vec<CtaId>,
    /// Steps and accesses of one warp that are kept; what it does after them is only counted.
    pub per_warp: usize,
    /// The lines are kept that CTAs with smaller numbers load.
    pub window: u32,
}

/// A traced CTA.
#[derive(Clone, PartialEq, Debug)]
pub struct TracedCta {
    /// What its warps executed, as far as it was kept.
    pub trace: CtaTrace,
    /// Steps of all its warps.
    pub steps: u64,
    /// Of these, kept.
    pub kept: u64,
}

impl TracedCta {
    /// Leaves out what a warp executed beyond so many steps and accesses.
    pub fn shorten(&mut self, per_warp: usize) {
        for warp in Arc::make_mut(&mut self.trace.warps) {
            let is_kept = |(index, step): (usize, &Step)| index + step.first_access as usize <= per_warp;
            let kept = warp.steps.iter().enumerate().take_while(|&it| is_kept(it)).count();
            if let Some(next) = warp.steps.get(kept) {
                warp.accesses.truncate(next.first_access as usize);
                warp.steps.truncate(kept);
            }
        }
        self.kept = self.trace.warps.iter().map(|warp| warp.steps.len() as u64).sum();
    }
}

/// Records traces of chosen CTAs.
pub struct Tracer {
    places: Arc<[MemoryPlace]>,
    n_warps: usize,
    request: Arc<TraceRequest>,
    ctas: Vec<TracedCta>,
    lines: Vec<(CtaId, Lines)>,
}

/// Block and slot of an instruction that touches memory.
pub type MemoryPlace = Option<(BlockId, u16)>;

/// What a [`Tracer`] keeps for a running CTA.
#[derive(Debug)]
pub struct TracedState {
    id: CtaId,
    warps: Option<Box<[OpenWarp]>>,
    lines: Option<Box<LinesOpen>>,
}

/// A warp that is followed.
#[derive(Clone, Debug, Default)]
struct OpenWarp {
    trace: WarpTrace,
    /// The step of each access: paths of a warp that wait go on after the steps of others.
    steps: Vec<u32>,
    /// Steps that were not kept.
    left_out: u64,
}

/// Addresses without a rule that count as an access.
const ADDRESSES: usize = 4;
/// Steps back to which an access may belong.
const REACH: usize = 4096;

impl Tracer {
    /// A tracer of CTAs with `n_warps` warps. `places` has for each instruction of the module the block and the number in
    /// it, if it is a memory instruction.
    pub fn new(places: Arc<[MemoryPlace]>, n_warps: usize, request: TraceRequest) -> Self {
        Self { places, n_warps, request: Arc::new(request), ctas: Vec::new(), lines: Vec::new() }
    }

    /// Steps and accesses of one warp that are kept.
    pub fn per_warp(&self) -> usize {
        self.request.per_warp
    }

    /// The same tracer with another request; what was recorded stays.
    #[must_use]
    pub fn continued(self, request: TraceRequest) -> Self {
        Self { request: Arc::new(request), ..self }
    }

    /// What was recorded, by CTA.
    pub fn finish(mut self) -> (Vec<TracedCta>, Vec<(CtaId, Lines)>) {
        self.ctas.sort_by_key(|cta| cta.trace.id);
        self.lines.sort_by_key(|(id, _)| *id);
        (self.ctas, self.lines)
    }
}

impl OpenWarp {
    fn is_full(&self, most: usize) -> bool {
        let WarpTrace { steps, accesses, addresses } = &self.trace;
        self.left_out > 0 || steps.len() + accesses.len() + addresses.len() / ADDRESSES >= most
    }

    /// The step that an access of the block belongs to; none where it was not kept.
    fn step_of(&self, block: BlockId, mask: ActiveMask) -> Option<u32> {
        if self.left_out > 0 {
            return None;
        }
        let steps = self.trace.steps.iter().enumerate().rev().take(REACH);
        let mut fitting = steps.filter(|(_, step)| step.block == block.0 && mask.without(step.mask).is_empty());
        fitting.next().map(|(index, _)| u32::try_from(index).expect("fewer than 2^32 steps of a warp"))
    }

    /// The trace, with the accesses in the order of the steps.
    fn close(mut self) -> WarpTrace {
        if !self.steps.is_sorted() {
            let mut order: Vec<usize> = (0..self.steps.len()).collect();
            order.sort_by_key(|&index| self.steps[index]);
            self.trace.accesses = order.iter().map(|&index| self.trace.accesses[index]).collect();
            self.steps.sort_unstable();
        }
        let mut next = 0;
        for (index, step) in self.trace.steps.iter_mut().enumerate() {
            while self.steps.get(next).is_some_and(|&of| (of as usize) < index) {
                next += 1;
            }
            step.first_access = u32::try_from(next).expect("fewer than 2^32 accesses of a warp");
        }
        self.trace.steps.shrink_to_fit();
        self.trace.accesses.shrink_to_fit();
        self.trace.addresses.shrink_to_fit();
        self.trace
    }
}

impl Observer for Tracer {
    const RECORDS: bool = true;

    type Cta = TracedState;

    fn fork(&self) -> Self {
        let (places, request) = (self.places.clone(), self.request.clone());
        Self { places, n_warps: self.n_warps, request, ctas: Vec::new(), lines: Vec::new() }
    }

    fn merge(&mut self, other: Self) {
        self.ctas.extend(other.ctas);
        self.lines.extend(other.lines);
    }

    fn begin_cta(&mut self, id: CtaId) -> TracedState {
        let followed = self.request.ctas.binary_search(&id).is_ok();
        let warps = followed.then(|| vec![OpenWarp::default(); self.n_warps].into());
        let lines = (id.0 < self.request.window).then(Box::default);
        TracedState { id, warps, lines }
    }

    fn end_cta(&mut self, cta: TracedState) {
        if let Some(warps) = cta.warps {
            let kept: u64 = warps.iter().map(|warp| warp.trace.steps.len() as u64).sum();
            let left_out: u64 = warps.iter().map(|warp| warp.left_out).sum();
            let trace = CtaTrace { id: cta.id, warps: warps.into_iter().map(OpenWarp::close).collect() };
            self.ctas.push(TracedCta { trace, steps: kept + left_out, kept });
        }
        if let Some(lines) = cta.lines {
            self.lines.push((cta.id, lines.close()));
        }
    }

    #[inline]
    fn block(&mut self, cta: &mut TracedState, warp: WarpIndex, block: BlockId, mask: ActiveMask) {
        let Some(warps) = &mut cta.warps else { return };
        let warp = &mut warps[warp.0 as usize];
        if warp.is_full(self.request.per_warp) {
            warp.left_out += 1;
        } else {
            warp.trace.push_step(block.0, mask);
        }
    }

    #[inline]
    fn predicated(&mut self, _: &mut TracedState, _: WarpIndex, _: Pc, _: ActiveMask, _: ActiveMask) {}

    #[inline]
    fn branch_indexed(&mut self, _: &mut TracedState, _: WarpIndex, _: Pc, _: u32) {}

    #[inline]
    fn access(&mut self, cta: &mut TracedState, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        if let Some(lines) = &mut cta.lines
            && access.space == StateSpace::Global
            && access.kind != AccessKind::Store
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
        let elements = (access.element_bytes, access.elements);
        warp.trace.push_access(slot, access.space, access.kind, elements, access.mask, access.addresses);
        warp.steps.push(step);
    }

    fn order_dependent(&mut self, _: &mut TracedState, _: Pc) {}
}
