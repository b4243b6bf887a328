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

/// Warps of a CTA that have waited for others, so that what the others did before comes before what they do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synchronized {
    /// A barrier of the CTA, or of its cluster, is complete. Each mask has a bit for each warp.
    Barrier {
        /// Warps that have come, or have exited.
        arrived: u32,
        /// Warps that go on behind it.
        released: u32,
    },
    /// A warp goes on behind a phase of a barrier in memory.
    Phase {
        /// The warp.
        warp: WarpIndex,
        /// The barrier, in shared memory.
        address: u64,
    },
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

    /// Warps have waited for others. Only who looks for races listens.
    #[inline]
    fn synchronized(&mut self, _cta: &mut Self::Cta, _event: Synchronized) {}

    /// Whether stores are compared with what stands where they go, which takes time.
    #[inline]
    fn wants_values(&self) -> bool {
        false
    }
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

/// Two observers of one execution.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const RECORDS: bool = A::RECORDS || B::RECORDS;

    type Cta = (A::Cta, B::Cta);

    fn fork(&self) -> Self {
        (self.0.fork(), self.1.fork())
    }

    fn merge(&mut self, other: Self) {
        self.0.merge(other.0);
        self.1.merge(other.1);
    }

    fn begin_cta(&mut self, id: CtaId) -> Self::Cta {
        (self.0.begin_cta(id), self.1.begin_cta(id))
    }

    fn end_cta(&mut self, cta: Self::Cta) {
        self.0.end_cta(cta.0);
        self.1.end_cta(cta.1);
    }

    #[inline]
    fn block(&mut self, cta: &mut Self::Cta, warp: WarpIndex, block: BlockId, mask: ActiveMask) {
        self.0.block(&mut cta.0, warp, block, mask);
        self.1.block(&mut cta.1, warp, block, mask);
    }

    #[inline]
    fn predicated(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, active: ActiveMask, on: ActiveMask) {
        self.0.predicated(&mut cta.0, warp, pc, active, on);
        self.1.predicated(&mut cta.1, warp, pc, active, on);
    }

    #[inline]
    fn branch_indexed(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, n_targets: u32) {
        self.0.branch_indexed(&mut cta.0, warp, pc, n_targets);
        self.1.branch_indexed(&mut cta.1, warp, pc, n_targets);
    }

    #[inline]
    fn access(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        self.0.access(&mut cta.0, warp, pc, access);
        self.1.access(&mut cta.1, warp, pc, access);
    }

    fn order_dependent(&mut self, cta: &mut Self::Cta, pc: Pc) {
        self.0.order_dependent(&mut cta.0, pc);
        self.1.order_dependent(&mut cta.1, pc);
    }

    #[inline]
    fn synchronized(&mut self, cta: &mut Self::Cta, event: Synchronized) {
        self.0.synchronized(&mut cta.0, event);
        self.1.synchronized(&mut cta.1, event);
    }

    #[inline]
    fn wants_values(&self) -> bool {
        self.0.wants_values() || self.1.wants_values()
    }
}

/// An observer that may be left out.
impl<A: Observer> Observer for Option<A> {
    const RECORDS: bool = A::RECORDS;

    type Cta = Option<A::Cta>;

    fn fork(&self) -> Self {
        self.as_ref().map(A::fork)
    }

    fn merge(&mut self, other: Self) {
        if let (Some(own), Some(other)) = (self, other) {
            own.merge(other);
        }
    }

    fn begin_cta(&mut self, id: CtaId) -> Self::Cta {
        self.as_mut().map(|observer| observer.begin_cta(id))
    }

    fn end_cta(&mut self, cta: Self::Cta) {
        if let (Some(observer), Some(cta)) = (self, cta) {
            observer.end_cta(cta);
        }
    }

    #[inline]
    fn block(&mut self, cta: &mut Self::Cta, warp: WarpIndex, block: BlockId, mask: ActiveMask) {
        if let (Some(observer), Some(cta)) = (self, cta) {
            observer.block(cta, warp, block, mask);
        }
    }

    #[inline]
    fn predicated(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, active: ActiveMask, on: ActiveMask) {
        if let (Some(observer), Some(cta)) = (self, cta) {
            observer.predicated(cta, warp, pc, active, on);
        }
    }

    #[inline]
    fn branch_indexed(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, n_targets: u32) {
        if let (Some(observer), Some(cta)) = (self, cta) {
            observer.branch_indexed(cta, warp, pc, n_targets);
        }
    }

    #[inline]
    fn access(&mut self, cta: &mut Self::Cta, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        if let (Some(observer), Some(cta)) = (self, cta) {
            observer.access(cta, warp, pc, access);
        }
    }

    fn order_dependent(&mut self, cta: &mut Self::Cta, pc: Pc) {
        if let (Some(observer), Some(cta)) = (self, cta) {
            observer.order_dependent(cta, pc);
        }
    }

    #[inline]
    fn synchronized(&mut self, cta: &mut Self::Cta, event: Synchronized) {
        if let (Some(observer), Some(cta)) = (self, cta) {
            observer.synchronized(cta, event);
        }
    }

    #[inline]
    fn wants_values(&self) -> bool {
        self.as_ref().is_some_and(A::wants_values)
    }
}
