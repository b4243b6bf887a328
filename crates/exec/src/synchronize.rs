//! Paths that wait for each other: lanes of a member mask, CTA barriers.

use warplens_isa::{BarrierKind, Pc};
use warplens_trace::{Observer, Synchronized};

use crate::barrier::{BarrierRule, N_BARRIERS};
use crate::convergence::give_up_convergence;
use crate::cta::{Blocked, BlockedAt, Cta, Party, Warp};
use crate::decoded::Block;
use crate::divergence::{Path, join};
use crate::engine::{At, BlockEnd, Engine};
use crate::error::ExecError;
use crate::exchange::{Brought, Group};
use crate::flow::open_meeting;
use crate::interpret::Worker;
use crate::semantics::warp::Exchange;

/// Whether lanes that waited go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Released {
    /// Nobody does.
    None,
    /// Some do.
    Some,
}

/// What lanes bring to a CTA barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Form.
    pub kind: BarrierKind,
    /// Number of the barrier.
    pub barrier: u32,
    /// Threads that must arrive, if given.
    pub count: Option<u32>,
    /// Lanes whose predicate is true.
    pub truths: u32,
}

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Lanes of a path have come to an exchange in which some of them lack others: those wait, and the rest goes on.
    pub(crate) fn wait_for_lanes(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        path: &mut Path,
        block: &Block,
        (what, groups): (Exchange, &[Group]),
        operation: u32,
    ) -> BlockEnd {
        let code = self.shared.bound();
        let warp = &mut cta.warps[warp_index];
        let (made, lacking): (Vec<Group>, Vec<Group>) = groups.iter().partition(|group| group.is_complete(warp.live));
        let waiting = lacking.iter().fold(0, |waiting, group| waiting | group.lanes);
        if waiting != path.mask || lacking.len() > 1 {
            open_meeting(warp, path, block.behind);
        }
        for group in made {
            let path = Path { mask: group.lanes, operation: Some(operation), ..path.clone() };
            exchange(code, warp, &[path], what);
        }
        for Group { members, lanes } in lacking {
            let party = Party { what, members };
            let path = Path { mask: lanes, operation: Some(operation), ..path.clone() };
            warp.blocked.push(Blocked { path, at: BlockedAt::Lanes { operation, party } });
            exchange_if_complete(code, warp, party);
        }
        path.mask &= !waiting;
        path.operation = Some(operation + 1);
        if path.mask == 0 { BlockEnd::Blocked } else { BlockEnd::Again }
    }

    /// Lets the members of a party that are there make their exchange without the others.
    pub(crate) fn exchange_present(&mut self, warp: &mut Warp<E>, party: Party) {
        exchange_among(self.shared.bound(), warp, party);
    }

    /// Lanes of a path have come to a CTA barrier.
    pub(crate) fn wait_at_barrier(
        &mut self,
        (cta, warp_index): (&mut Cta<E, O::Cta>, usize),
        (path, block): (&mut Path, &Block),
        (on, arrival): (u32, Arrival),
        (operation, pc): (u32, Pc),
    ) -> Result<BlockEnd, ExecError> {
        let Arrival { kind, barrier: number, count, truths } = arrival;
        if number >= N_BARRIERS || count == Some(0) {
            let thread = self.thread(cta.coordinates, warp_index as u32, on);
            let count = count.unwrap_or(self.shared.shape.threads);
            return Err(ExecError::BadBarrier { pc, thread, barrier: number, count });
        }
        if on != cta.warps[warp_index].live {
            self.note_partial_barrier();
        }
        cta.barriers.arrive(number, warp_index, on, truths, count);
        path.operation = Some(operation + 1);
        let waiting = match (kind, self.shared.shape.barriers) {
            (BarrierKind::Arrive, _) => 0,
            (_, BarrierRule::Threads) => on,
            (_, BarrierRule::Warps) => path.mask,
        };
        if waiting != 0 {
            let warp = &mut cta.warps[warp_index];
            if waiting != path.mask {
                open_meeting(warp, path, block.behind);
            }
            let at = BlockedAt::Barrier { barrier: number, operation };
            warp.blocked.push(Blocked { path: Path { mask: waiting, ..path.clone() }, at });
            path.mask &= !waiting;
        }
        self.complete_barrier(cta, number);
        Ok(if path.mask == 0 { BlockEnd::Blocked } else { BlockEnd::Again })
    }

    /// Releases the paths at a barrier if all have come.
    fn complete_barrier(&mut self, cta: &mut Cta<E, O::Cta>, number: u32) {
        let code = self.shared.bound();
        let Cta { warps, barriers, .. } = cta;
        let Some(reduction) = barriers.complete(number, |warp| warps[warp].live) else { return };
        let mut released = 0;
        for (index, warp) in warps.iter_mut().enumerate() {
            let mut next = 0;
            while let Some(Blocked { at, .. }) = warp.blocked.get(next) {
                match *at {
                    BlockedAt::Barrier { barrier, operation } if barrier == number => {
                        let Blocked { path, .. } = warp.blocked.remove(next);
                        E::write_reduction(at_operation(code, warp, &path, operation), path.mask, reduction);
                        warp.runnable.push(path);
                        released |= 1 << index;
                    }
                    BlockedAt::Barrier { .. }
                    | BlockedAt::Convergence { .. }
                    | BlockedAt::Cluster { .. }
                    | BlockedAt::Phase { .. }
                    | BlockedAt::Group { .. }
                    | BlockedAt::Lanes { .. } => next += 1,
                }
            }
        }
        if O::RECORDS {
            let event = Synchronized::Barrier { arrived: reduction.warps, released };
            self.observer.synchronized(&mut cta.record, event);
        }
    }

    /// Lanes have exited: barriers of all kinds and member masks no longer wait for them.
    pub(crate) fn after_exit(&mut self, cta: &mut Cta<E, O::Cta>, warp_index: usize) {
        if let Some(cluster) = &cta.cluster {
            cluster.leave(self.shared.shape.clusters.rank(cta.coordinates), warp_index, cta.warps[warp_index].live);
        }
        let waiting: Vec<u32> = cta
            .warps
            .iter()
            .flat_map(|warp| &warp.blocked)
            .filter_map(|blocked| match blocked.at {
                BlockedAt::Barrier { barrier, .. } => Some(barrier),
                BlockedAt::Convergence { .. }
                | BlockedAt::Cluster { .. }
                | BlockedAt::Phase { .. }
                | BlockedAt::Group { .. }
                | BlockedAt::Lanes { .. } => None,
            })
            .collect();
        for number in 0..N_BARRIERS {
            if waiting.contains(&number) {
                self.complete_barrier(cta, number);
            }
        }
        let code = self.shared.bound();
        let warp = &mut cta.warps[warp_index];
        warp.resume_after_exit();
        let parties: Vec<Party> = warp.blocked.iter().filter_map(Blocked::party).collect();
        parties.into_iter().for_each(|party| exchange_if_complete(code, warp, party));
    }

    /// Nothing can run, and lanes of a warp wait at a barrier while others wait to reconverge with them. From compute
    /// capability 7.0 on a barrier counts threads, at whichever instruction they come to it, and threads do not wait for
    /// ever to run together: those that wait in the innermost places go on alone. Returns whether some do.
    pub(crate) fn release_parted(&mut self, cta: &mut Cta<E, O::Cta>, waits: fn(&Warp<E>) -> bool) -> Released {
        if self.shared.shape.barriers == BarrierRule::Warps {
            return Released::None;
        }
        let mut released = give_up_convergence(cta, waits);
        for warp in cta.warps.iter_mut().filter(|warp| warp.runnable.is_empty() && waits(warp)) {
            for path in warp.nodes.release_innermost() {
                released = Released::Some;
                let path = warp.nodes.meet(path);
                warp.runnable.extend(path);
            }
        }
        released
    }
}

/// An operation of a path.
fn at_operation<'r, E: Engine>(code: &'r E::Code, warp: &'r mut Warp<E>, path: &Path, operation: u32) -> At<'r, E> {
    At { code, registers: &mut warp.registers, frame: path.frame, operation }
}

/// Makes the exchange of a party if all of its members that have not exited are there.
fn exchange_if_complete<E: Engine>(code: &E::Code, warp: &mut Warp<E>, party: Party) {
    let present = warp.blocked.iter().filter(|blocked| blocked.party() == Some(party));
    let lanes = present.fold(0, |lanes, blocked| lanes | blocked.path.mask);
    if lanes != 0 && (Group { members: party.members, lanes }).is_complete(warp.live) {
        exchange_among(code, warp, party);
    }
}

/// Makes the exchange among those of a party that wait, and lets them go on. Lanes at the same place go on together.
fn exchange_among<E: Engine>(code: &E::Code, warp: &mut Warp<E>, party: Party) {
    let (there, rest): (Vec<_>, Vec<_>) =
        std::mem::take(&mut warp.blocked).into_iter().partition(|blocked| blocked.party() == Some(party));
    warp.blocked = rest;
    let there: Vec<Path> = there.into_iter().map(|blocked| blocked.path).collect();
    exchange(code, warp, &there, party.what);
    let mut together: Vec<Path> = Vec::new();
    for mut path in there {
        path.operation = path.operation.map(|operation| operation + 1);
        join(&mut together, path);
    }
    warp.runnable.extend(together);
}

/// Makes an exchange among the lanes of some paths, each at its own operation.
pub(crate) fn exchange<E: Engine>(code: &E::Code, warp: &mut Warp<E>, paths: &[Path], what: Exchange) {
    let operation = |path: &Path| path.operation.expect("it waits at an operation");
    let mut brought = Brought::NOTHING;
    // What a shuffle reads from a lane that takes no part is undefined: it is what the first instruction would read.
    if let Some(path) = paths.first() {
        E::bring(at_operation(code, warp, path, operation(path)), u32::MAX, what, &mut brought);
    }
    let mut members = 0;
    for path in paths {
        members |= path.mask;
        E::bring(at_operation(code, warp, path, operation(path)), path.mask, what, &mut brought);
    }
    let received = E::exchange(what, &brought, members);
    for path in paths {
        E::receive(at_operation(code, warp, path, operation(path)), path.mask, what, &received);
    }
}
