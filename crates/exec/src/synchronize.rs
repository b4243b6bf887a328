//! Paths that wait for each other: lanes of a member mask, CTA barriers.

use warplens_isa::BarrierKind;
use warplens_trace::Observer;

use crate::barrier::{N_BARRIERS, Reduction};
use crate::code::{BarrierOperation, Code, Kind, SINK};
use crate::cta::{Blocked, BlockedAt, Cta, Warp};
use crate::divergence::Path;
use crate::error::ExecError;
use crate::exchange;
use crate::interpret::{Worker, set_value};
use crate::raw::Lanes;

impl<O: Observer> Worker<'_, O> {
    /// A path has come to an operation whose member mask names lanes of other paths.
    pub(crate) fn wait_for_lanes(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        blocked: Blocked,
    ) -> Result<(), ExecError> {
        let warp = &mut cta.warps[warp_index];
        let BlockedAt::Lanes { members, .. } = blocked.at else { return Ok(()) };
        let code = self.shared.code();
        let together = |other: &&Blocked| is_same_place(code, other, &blocked);
        let present = warp.blocked.iter().filter(together).fold(blocked.path.mask, |lanes, b| lanes | b.path.mask);
        if members & warp.live & !present != 0 {
            warp.blocked.push(blocked);
            return Ok(());
        }
        self.exchange_together(cta, warp_index, blocked)
    }

    /// Executes the operation that `blocked` and others at the same place wait at, and lets them all go on.
    pub(crate) fn exchange_together(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        blocked: Blocked,
    ) -> Result<(), ExecError> {
        let code = self.shared.code();
        let warp = &mut cta.warps[warp_index];
        let BlockedAt::Lanes { operation, .. } = blocked.at else { return Ok(()) };
        let (mut group, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut warp.blocked).into_iter().partition(|other| is_same_place(code, other, &blocked));
        warp.blocked = rest;
        group.push(blocked);
        let lanes = group.iter().fold(0, |all, member| match member.at {
            BlockedAt::Lanes { lanes, .. } => all | lanes,
            BlockedAt::Barrier { .. } => all,
        });
        let decoded = &code.operations[operation as usize];
        exchange::exchange(&mut frame(warp, &group[0].path, &code.pool, lanes), decoded);
        for member in group {
            if let BlockedAt::Lanes { operation, .. } = member.at {
                warp.runnable.push(Path { operation: Some(operation + 1), ..member.path });
            }
        }
        Ok(())
    }

    /// A path has come to a CTA barrier. Returns whether it must wait.
    pub(crate) fn wait_at_barrier(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        path: &Path,
        on: u32,
        index: u32,
        operation: u32,
    ) -> Result<bool, ExecError> {
        let code = self.shared.code();
        let barrier = &code.barriers[index as usize];
        let decoded = &code.operations[operation as usize];
        let lanes = frame(&mut cta.warps[warp_index], path, &code.pool, on);
        let lowest = on.trailing_zeros().min(31) as usize;
        let number = lanes.words(barrier.barrier)[lowest];
        let count = barrier.count.map(|count| lanes.words(count)[lowest]);
        let truths = barrier.predicate.map_or(0, |predicate| lanes.predicate(predicate));
        if number >= N_BARRIERS || count == Some(0) {
            let thread = self.thread(cta.coordinates, warp_index as u32, on);
            let count = count.unwrap_or(self.shared.shape.threads);
            return Err(ExecError::BadBarrier { pc: decoded.pc, thread, barrier: number, count });
        }
        // A warp whose other lanes are off at a guarded barrier arrives with those that are on.
        cta.barriers.arrive(number, warp_index, on, truths, count);
        let waits = barrier.kind != BarrierKind::Arrive;
        if waits {
            let at = BlockedAt::Barrier { barrier: number, operation };
            let path = Path { operation: Some(operation + 1), ..path.clone() };
            cta.warps[warp_index].blocked.push(Blocked { path, at });
        }
        self.complete_barrier(cta, number);
        Ok(waits)
    }

    /// Releases the paths at a barrier if all have come.
    fn complete_barrier(&mut self, cta: &mut Cta<O::Cta>, number: u32) {
        let live: Vec<u32> = cta.warps.iter().map(|warp| warp.live).collect();
        let Some(reduction) = cta.barriers.complete(number, |warp| live[warp]) else { return };
        for warp in &mut cta.warps {
            let is_here =
                |blocked: &Blocked| matches!(blocked.at, BlockedAt::Barrier { barrier, .. } if barrier == number);
            let (released, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut warp.blocked).into_iter().partition(is_here);
            warp.blocked = rest;
            for blocked in released {
                self.write_reduction(warp, &blocked, reduction);
                warp.runnable.push(blocked.path);
            }
        }
    }

    fn write_reduction(&self, warp: &mut Warp, blocked: &Blocked, reduction: Reduction) {
        let code = self.shared.code();
        let BlockedAt::Barrier { operation, .. } = blocked.at else { return };
        let decoded = &code.operations[operation as usize];
        let Kind::Barrier(index) = decoded.kind else { return };
        let BarrierOperation { kind, destination, .. } = code.barriers[index as usize];
        if destination == SINK {
            return;
        }
        let mut lanes = frame(warp, &blocked.path, &code.pool, blocked.path.mask);
        if let Some(guard) = decoded.guard {
            lanes.mask &= lanes.predicate(guard.predicate);
        }
        let answer = match kind {
            BarrierKind::ReduceAnd => reduction.truths == reduction.arrived,
            BarrierKind::ReduceOr => reduction.truths != 0,
            BarrierKind::ReducePopc | BarrierKind::Sync | BarrierKind::Arrive => {
                return set_value(&mut lanes, destination, crate::code::Wide::No, u64::from(reduction.truths));
            }
        };
        lanes.set_predicate(destination, if answer { u32::MAX } else { 0 });
    }

    /// Lanes have exited: barriers and member masks no longer wait for them.
    pub(crate) fn after_exit(&mut self, cta: &mut Cta<O::Cta>, warp_index: usize) -> Result<(), ExecError> {
        let waiting: Vec<u32> = cta
            .warps
            .iter()
            .flat_map(|warp| &warp.blocked)
            .filter_map(|blocked| match blocked.at {
                BlockedAt::Barrier { barrier, .. } => Some(barrier),
                BlockedAt::Lanes { .. } => None,
            })
            .collect();
        for number in 0..N_BARRIERS {
            if waiting.contains(&number) {
                self.complete_barrier(cta, number);
            }
        }
        let for_lanes = |blocked: &Blocked| matches!(blocked.at, BlockedAt::Lanes { .. });
        let n_waiting = cta.warps[warp_index].blocked.iter().filter(|blocked| for_lanes(blocked)).count();
        for _ in 0..n_waiting {
            let warp = &mut cta.warps[warp_index];
            let Some(position) = warp.blocked.iter().position(for_lanes) else { break };
            let blocked = warp.blocked.remove(position);
            self.wait_for_lanes(cta, warp_index, blocked)?;
        }
        Ok(())
    }
}

/// True when two paths that wait for lanes wait for each other: at the same operation of one frame, or at barriers of
/// the warp wherever these stand.
fn is_same_place(code: &Code, a: &Blocked, b: &Blocked) -> bool {
    let (BlockedAt::Lanes { operation: first, .. }, BlockedAt::Lanes { operation: second, .. }) = (a.at, b.at) else {
        return false;
    };
    let is_barrier = |operation: u32| matches!(code.operations[operation as usize].kind, Kind::BarrierWarp);
    first == second && a.path.rows == b.path.rows || is_barrier(first) && is_barrier(second)
}

fn frame<'a>(warp: &'a mut Warp, path: &Path, pool: &'a [crate::raw::Row], mask: u32) -> Lanes<'a> {
    Lanes {
        rows: &mut warp.rows[path.rows as usize..],
        predicates: &mut warp.predicates[path.predicates as usize..],
        pool,
        mask,
    }
}
