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

/// Receives the events of an execution. One observer is forked for each CTA and merged in CTA order, so that results
/// do not depend on the number of host threads.
pub trait Observer: Sized + Send {
    /// False lets the interpreter leave out all events.
    const RECORDS: bool;

    /// An observer for one CTA.
    fn fork(&self, cta: CtaId) -> Self;

    /// Takes over what a forked observer recorded. Called in CTA order.
    fn merge(&mut self, other: Self);

    /// A warp enters a block with these lanes.
    fn block(&mut self, warp: WarpIndex, block: BlockId, mask: ActiveMask);

    /// A guarded instruction is executed: of the `active` lanes its guard is true in `on`.
    fn predicated(&mut self, pc: Pc, active: ActiveMask, on: ActiveMask);

    /// An indexed branch sends the active lanes to `n_targets` different blocks.
    fn branch_indexed(&mut self, pc: Pc, n_targets: u32);

    /// A memory instruction is executed with at least one active lane.
    fn access(&mut self, warp: WarpIndex, pc: Pc, access: &Access<'_>);

    /// Progress depended on the order in which warps, paths or CTAs were run: counts may differ from run to run.
    fn order_dependent(&mut self, pc: Pc);
}

/// The observer that records nothing and costs nothing.
impl Observer for () {
    const RECORDS: bool = false;
    fn fork(&self, _: CtaId) -> Self {}
    fn merge(&mut self, (): Self) {}
    fn block(&mut self, _: WarpIndex, _: BlockId, _: ActiveMask) {}
    fn predicated(&mut self, _: Pc, _: ActiveMask, _: ActiveMask) {}
    fn branch_indexed(&mut self, _: Pc, _: u32) {}
    fn access(&mut self, _: WarpIndex, _: Pc, _: &Access<'_>) {}
    fn order_dependent(&mut self, _: Pc) {}
}
