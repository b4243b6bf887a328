//! Paths that wait for each other: lanes of a member mask, CTA barriers.

use warplens_isa::BarrierKind;
use warplens_trace::Observer;

use crate::barrier::{BarrierRule, N_BARRIERS, Reduction};
use crate::code::{BarrierOperation, Code, CodeBlock, CodeFlow, Kind, SINK};
use crate::cta::{Blocked, BlockedAt, Cta, Party, Warp};
use crate::divergence::{Frame, Path};
use crate::error::ExecError;
use crate::exchange::{self, Brought, Group};
use crate::interpret::{BlockEnd, Worker, open_meeting, set_value};
use crate::raw::Lanes;

/// Whether lanes that waited go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Released {
    /// Nobody does.
    None,
    /// Some do.
    Some,
}

impl<O: Observer> Worker<'_, O> {
    /// Lanes of a path have come to an exchange in which some of them lack others: those wait, and the rest goes on.
    pub(crate) fn wait_for_lanes(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        path: &mut Path,
        block: &CodeBlock,
        groups: &[Group],
        operation: u32,
    ) -> BlockEnd {
        let code = self.shared.code();
        let decoded = &code.operations[operation as usize];
        let Kind::Exchange(exchange) = decoded.kind else { return BlockEnd::Through };
        let what = code.exchanges[exchange as usize].what;
        let warp = &mut cta.warps[warp_index];
        let (made, lacking): (Vec<Group>, Vec<Group>) = groups.iter().partition(|group| group.is_complete(warp.live));
        let waiting = lacking.iter().fold(0, |waiting, group| waiting | group.lanes);
        if waiting != path.mask || lacking.len() > 1 {
            open_meeting(warp, path, block.behind);
        }
        for group in made {
            exchange::make(&mut frame(warp, path, &code.pool, group.lanes), decoded, what);
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
    pub(crate) fn exchange_present(&mut self, warp: &mut Warp, party: Party) {
        exchange_among(self.shared.code(), warp, party);
    }

    /// Lanes of a path have come to a CTA barrier.
    pub(crate) fn wait_at_barrier(
        &mut self,
        cta: &mut Cta<O::Cta>,
        warp_index: usize,
        path: &mut Path,
        block: &CodeBlock,
        on: u32,
        operation: u32,
    ) -> Result<BlockEnd, ExecError> {
        let code = self.shared.code();
        let decoded = &code.operations[operation as usize];
        let Kind::Barrier(index) = decoded.kind else { return Ok(BlockEnd::Through) };
        let barrier = &code.barriers[index as usize];
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
        if on != cta.warps[warp_index].live {
            self.note_partial_barrier();
        }
        cta.barriers.arrive(number, warp_index, on, truths, count);
        path.operation = Some(operation + 1);
        let waiting = match (barrier.kind, self.shared.shape.barriers) {
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
    pub(crate) fn after_exit(&mut self, cta: &mut Cta<O::Cta>, warp_index: usize) {
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
        let code = self.shared.code();
        let warp = &mut cta.warps[warp_index];
        let parties: Vec<Party> = warp.blocked.iter().filter_map(Blocked::party).collect();
        parties.into_iter().for_each(|party| exchange_if_complete(code, warp, party));
    }

    /// Lanes of a warp that wait at a barrier keep it from completing only because lanes wait for them to reconverge.
    /// Where these can only exit from there, they go on alone: a barrier waits for threads that have not exited. Returns
    /// whether some do.
    pub(crate) fn release_leaving(&mut self, cta: &mut Cta<O::Cta>) -> Released {
        if self.shared.shape.barriers == BarrierRule::Warps {
            return Released::None;
        }
        let code = self.shared.code();
        let mut released = Released::None;
        for warp in cta.warps.iter_mut().filter(|warp| warp.runnable.is_empty() && warp.is_at_barrier()) {
            for path in warp.nodes.release_where(|path| only_leaves(code, path)) {
                released = Released::Some;
                let path = warp.nodes.meet(path);
                warp.runnable.extend(path);
            }
        }
        released
    }
}

/// True when no CTA barrier can follow in what a path has still to execute.
fn only_leaves(code: &Code, path: &Path) -> bool {
    let returns_to = |frame: &Frame| match &code.block(frame.call_block).flow {
        CodeFlow::Call(call) => call.next,
        _ => unreachable!("frames are made by calls"),
    };
    let mut blocks = path.frames.iter().map(returns_to).chain([path.block]);
    blocks.all(|block| !code.block(block).reaches_barrier)
}

/// Makes the exchange of a party if all of its members that have not exited are there.
fn exchange_if_complete(code: &Code, warp: &mut Warp, party: Party) {
    let present = warp.blocked.iter().filter(|blocked| blocked.party() == Some(party));
    let lanes = present.fold(0, |lanes, blocked| lanes | blocked.path.mask);
    if lanes != 0 && (Group { members: party.members, lanes }).is_complete(warp.live) {
        exchange_among(code, warp, party);
    }
}

/// Makes the exchange among those of a party that wait, and lets them go on. Lanes at the same place go on together.
fn exchange_among(code: &Code, warp: &mut Warp, party: Party) {
    let (there, rest): (Vec<_>, Vec<_>) =
        std::mem::take(&mut warp.blocked).into_iter().partition(|blocked| blocked.party() == Some(party));
    warp.blocked = rest;
    let decoded = |path: &Path| &code.operations[path.operation.expect("it waits at an operation") as usize];
    let mut brought = Brought::NOTHING;
    // What a shuffle reads from a lane that takes no part is undefined: it is what the first instruction would read.
    if let Some(Blocked { path, .. }) = there.first() {
        brought.add(&frame(warp, path, &code.pool, u32::MAX), decoded(path), party.what);
    }
    let mut members = 0;
    for Blocked { path, .. } in &there {
        members |= path.mask;
        brought.add(&frame(warp, path, &code.pool, path.mask), decoded(path), party.what);
    }
    let received = party.what.exchanged(&brought, members);
    let mut together: Vec<Path> = Vec::new();
    for Blocked { mut path, .. } in there {
        let mut lanes = frame(warp, &path, &code.pool, path.mask);
        exchange::receive(&received, &mut lanes, decoded(&path), party.what);
        path.operation = path.operation.map(|operation| operation + 1);
        match together.iter_mut().find(|other| other.stands_with(&path)) {
            Some(other) => other.mask |= path.mask,
            None => together.push(path),
        }
    }
    warp.runnable.extend(together);
}

fn frame<'a>(warp: &'a mut Warp, path: &Path, pool: &'a [crate::raw::Row], mask: u32) -> Lanes<'a> {
    Lanes {
        rows: &mut warp.rows[path.rows as usize..],
        predicates: &mut warp.predicates[path.predicates as usize..],
        pool,
        mask,
    }
}
