//! Who listens to an execution.

use warplens_base::define_id;
use warplens_isa::{BlockId, Pc};

use crate::{Access, ActiveMask};

define_id! {
    /// A CTA by its linear index in the grid: x fastest, then y, then z.
    pub struct CtaId("cta");
    /// A warp by its index in the CTA.
    pub struct WarpIndex("w");
}

/// Receives the events of an execution.
///
/// One observer serves all CTAs that a host thread runs, one after the other or taking turns: what it must keep apart
/// for each CTA lies in [`Observer::Cta`], which the executor holds beside the CTA and hands in with every event. Whole
/// grids are thus observed without an observer, an allocation or a merge per CTA.
///
/// Everything recorded must be independent of the order of CTAs and of how they are spread over observers (sums,
/// minima, maxima, unions of integers), so that results do not depend on the number of host threads.
pub trait Observer: Sized + Send {
    /// False lets the interpreter leave out all events.
    const RECORDS: bool;

    /// What the observer keeps for a CTA while it runs.
    type Cta: Send;

    /// An empty observer for another host thread.
    fn fork(&self) -> Self;

    /// Takes over what a forked observer recorded, after its CTAs have ended.
    fn merge(&mut self, other: Self);

    /// A CTA starts. It stays with this observer until it ends.
    fn begin_cta(&mut self, id: CtaId) -> Self::Cta;

    /// A CTA has run to its end.
    fn end_cta(&mut self, cta: Self::Cta);

    /// A warp enters a block with these lanes.
    fn block(&mut self, cta: &mut Self::Cta, warp: WarpIndex, block: BlockId, mask: ActiveMask);

    /// A guarded instruction is executed: of the `active` lanes its guard is true in `on`. Comes before the
    /// instruction's other events, also when `on` is empty.
    fn predicated(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, active: ActiveMask, on: ActiveMask);

    /// An indexed branch sends the active lanes to `n_targets` different blocks.
    fn branch_indexed(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, n_targets: u32);

    /// A memory instruction is executed with at least one active lane.
    fn access(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, access: &Access<'_>);

    /// Progress depended on the order in which warps, paths or CTAs were run: counts may differ from run to run.
    fn order_dependent(&mut self, cta: &mut Self::Cta, pc: Pc);
}

/// The observer that records nothing and costs nothing.
impl Observer for () {
    const RECORDS: bool = false;
    type Cta = ();
    fn fork(&self) -> Self {}
    fn merge(&mut self, (): Self) {}
    fn begin_cta(&mut self, _: CtaId) -> Self::Cta {}
    fn end_cta(&mut self, (): Self::Cta) {}
    fn block(&mut self, (): &mut (), _: WarpIndex, _: BlockId, _: ActiveMask) {}
    fn predicated(&mut self, (): &mut (), _: WarpIndex, _: Pc, _: ActiveMask, _: ActiveMask) {}
    fn branch_indexed(&mut self, (): &mut (), _: WarpIndex, _: Pc, _: u32) {}
    fn access(&mut self, (): &mut (), _: WarpIndex, _: Pc, _: &Access<'_>) {}
    fn order_dependent(&mut self, (): &mut (), _: Pc) {}
}
