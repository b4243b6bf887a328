//! Shared memory of other CTAs of the cluster.

use warplens_isa::{Pc, cluster_rank, cluster_window};
use warplens_trace::{ActiveMask, Observer};

use super::addresses;
use crate::code::{Base, MemoryOperation};
use crate::engine::Engine;
use crate::error::{AccessFault, ExecError};
use crate::interpret::{Context, Worker};
use crate::raw::{Cells, Lanes, Row, Source};

impl<'w, R> Context<'w, R> {
    /// Shared memory of a CTA of the cluster; without clusters a CTA is the only one of its own.
    pub(super) fn memory_of(&self, rank: u32) -> Result<&'w Cells, AccessFault> {
        match self.cluster {
            Some(cluster) => cluster.memory(rank),
            None if rank == 0 => Ok(self.shared),
            None => Err(AccessFault::NoSuchCta { rank, n_ctas: 1 }),
        }
    }
}

/// The address of the same place in the window of another CTA. `own` is one's own or of any CTA.
pub(super) fn place_in(rank: u32, own: u64) -> u64 {
    let start = cluster_rank(own).map_or(0, cluster_window);
    own - start + cluster_window(rank)
}

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Makes an atomic at the same place of each CTA that the mask of a lane names, lane by lane, lowest rank first.
    #[inline(never)]
    pub(crate) fn atomic_in_ctas(
        &mut self,
        context: &mut Context<'_, O::Cta>,
        lanes: &mut Lanes<'_>,
        operation: &MemoryOperation,
        (index, pc): (u32, Pc),
        masks: &[u32; 32],
    ) -> Result<(), ExecError> {
        let own = addresses(lanes, operation, context.local.base);
        let values = *lanes.pairs(operation.sources[0]);
        let at_pair = MemoryOperation {
            base: Base::Pair(Source::frame(0)),
            offset: 0,
            sources: vec![Source::frame(2)],
            ..operation.clone()
        };
        for lane in ActiveMask(lanes.mask).lanes() {
            for rank in ActiveMask(masks[lane]).lanes() {
                let mut rows = [Row::splat(0); 4];
                let mut one = Lanes { rows: &mut rows, predicates: &mut [], pool: &[], mask: 1 << lane };
                one.set_pairs(0, &[place_in(rank as u32, own[lane]); 32]);
                one.set_pairs(2, &values);
                self.atomic(context, &mut one, &at_pair, index, pc)?;
            }
        }
        Ok(())
    }
}
