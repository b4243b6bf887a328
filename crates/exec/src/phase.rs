//! Paths that wait for a phase of a barrier in memory to end.
//!
//! A question that has no answer yet is answered late: the lanes that ask wait until their phase has ended, as
//! `mbarrier.try_wait` may let them. Lanes that go on asking would do so as often as the order of execution has it, which
//! is not the kernel's business. Where nothing else can run, or all that run seem to wait, too, the answer is that the
//! phase has not ended: so no lane waits for ever that could do something else instead. Where all that are left only ask
//! again, the launch has come to a deadlock.

use warplens_isa::{MbarrierState, cluster_rank, cluster_window};
use warplens_trace::{Observer, Synchronized, WarpIndex};

use crate::cluster::Cluster;
use crate::cta::{Blocked, BlockedAt, Cta};
use crate::decoded::Register;
use crate::divergence::{Path, Turns};
use crate::engine::{BlockEnd, Engine};
use crate::error::{ExecError, WaitingPlace};
use crate::flow::open_meeting;
use crate::interpret::Worker;
use crate::raw::{Cells, Source};
use crate::run::{Request, Run, Scratch};
use crate::synchronize::Released;

/// What a path waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PhaseWait {
    /// The barrier, in shared memory.
    address: u64,
    /// Parity of the phase.
    parity: bool,
    /// Where the answer goes.
    destination: Option<Register>,
}

impl<E: Engine, O: Observer> Run<'_, '_, E, O> {
    /// Lanes ask whether phases of some parities have ended, and those wait whose have not. Control goes on behind the
    /// operation.
    pub fn test_phase(
        &mut self,
        operation: u32,
        request: &Request,
        parities: &[u32; 32],
        destination: Option<Register>,
    ) -> Result<BlockEnd, ExecError> {
        let mut scratch = Scratch::new(request, &[parities.map(u64::from)], None);
        scratch.operation.asks = Some(Source::frame(2));
        scratch.operation.sources.clear();
        scratch.operation.destinations = scratch.value_rows(1);
        self.access(&mut scratch, request, Worker::load)?;
        let states = scratch.values(1)[0];
        let lanes = || (0..32).filter(|lane| request.lanes >> lane & 1 == 1);
        let mut ended = 0;
        let mut waiting: Vec<(PhaseWait, u32)> = Vec::new();
        for lane in lanes() {
            let parity = parities[lane] & 1 == 1;
            if MbarrierState::unpack(states[lane]).parity != parity {
                ended |= 1 << lane;
                continue;
            }
            let wait = PhaseWait { address: request.addresses[lane], parity, destination };
            match waiting.iter_mut().find(|(other, _)| *other == wait) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => waiting.push((wait, 1 << lane)),
            }
        }
        let bound = self.worker.shared.bound();
        let warp = &mut self.cta.warps[self.warp_index];
        let path = &mut *self.path;
        if let Some(destination) = destination {
            E::set_values(bound, &mut warp.registers, path.frame, destination, ended, &[1; 32]);
        }
        let lacking = request.lanes & !ended;
        if lacking != 0 && (lacking != path.mask || waiting.len() > 1) {
            open_meeting(warp, path, self.block.behind);
        }
        path.operation = Some(operation + 1);
        for (wait, lanes) in waiting {
            let at = BlockedAt::Phase { wait, operation };
            warp.blocked.push(Blocked { path: Path { mask: lanes, ..path.clone() }, at });
        }
        path.mask &= !lacking;
        Ok(if path.mask == 0 { BlockEnd::Blocked } else { BlockEnd::Again })
    }
}

impl PhaseWait {
    /// What the barrier holds that is waited for, as a CTA sees it.
    fn state(&self, shared: &Cells, cluster: Option<&Cluster>) -> Option<MbarrierState> {
        let (cells, start) = match cluster_rank(self.address) {
            Some(rank) => (cluster?.memory(rank).ok()?, cluster_window(rank)),
            None => (shared, 0),
        };
        let bytes = cells.read_bytes(usize::try_from(self.address - start).ok()?, 8);
        Some(MbarrierState::unpack(u64::from_le_bytes(bytes.try_into().ok()?)))
    }

    /// What to say of a wait that never ends.
    pub(crate) fn place<E: Engine, R>(&self, cta: &Cta<E, R>) -> WaitingPlace {
        let missing = self.state(&cta.shared, cta.cluster.as_deref()).map(|state| (state.pending, state.bytes));
        WaitingPlace::Phase { address: self.address, parity: self.parity, missing }
    }
}

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Lets paths go on whose phase has ended.
    pub(crate) fn end_phases(&mut self, cta: &mut Cta<E, O::Cta>) -> Released {
        let Cta { warps, shared, cluster, record, .. } = cta;
        let has_ended = |wait: &PhaseWait| Some(wait.state(shared, cluster.as_deref())?.parity != wait.parity);
        let mut released = Released::None;
        for (index, warp) in warps.iter_mut().enumerate().filter(|(_, warp)| warp.waits_for_phase()) {
            let of = |blocked: &mut Blocked| match &blocked.at {
                BlockedAt::Phase { wait, .. } => has_ended(wait) == Some(true),
                BlockedAt::Barrier { .. }
                | BlockedAt::Convergence { .. }
                | BlockedAt::Cluster { .. }
                | BlockedAt::Group { .. }
                | BlockedAt::Lanes { .. } => false,
            };
            for blocked in warp.blocked.extract_if(.., of).collect::<Vec<_>>() {
                released = Released::Some;
                answer::<E>(self.shared.bound(), &mut warp.registers, &blocked, true);
                if let (true, BlockedAt::Phase { wait, .. }) = (O::RECORDS, &blocked.at) {
                    let event = Synchronized::Phase { warp: WarpIndex(index as u32), address: wait.address };
                    self.observer.synchronized(record, event);
                }
                warp.runnable.push(blocked.path);
            }
        }
        released
    }

    /// Tells paths that wait for a phase that it has not ended.
    pub(crate) fn give_up_phases(&self, cta: &mut Cta<E, O::Cta>) -> Released {
        self.tell_that_phases_go_on(cta, |_, _| true)
    }

    /// The same where nothing else can run. Paths that have been told so before and did nothing but ask again would do that
    /// for ever, as nobody is left who could end their phase: they wait on, unless others wait for them in turn.
    pub(crate) fn give_up_some_phases(&self, cta: &mut Cta<E, O::Cta>) -> Released {
        self.tell_that_phases_go_on(cta, |path, is_awaited| {
            let Turns { only_asks, lanes, count, .. } = path.turns;
            is_awaited || !only_asks || lanes != path.mask || count == 0
        })
    }

    /// Tells those paths of which `is_told` holds; it is asked whether lanes wait to reconverge in their warp, too.
    fn tell_that_phases_go_on(&self, cta: &mut Cta<E, O::Cta>, is_told: impl Fn(&Path, bool) -> bool) -> Released {
        let mut released = Released::None;
        for warp in cta.warps.iter_mut().filter(|warp| warp.waits_for_phase()) {
            let is_awaited = warp.reconverging_lanes() != 0;
            let of = |blocked: &mut Blocked| {
                matches!(blocked.at, BlockedAt::Phase { .. }) && is_told(&blocked.path, is_awaited)
            };
            for blocked in warp.blocked.extract_if(.., of).collect::<Vec<_>>() {
                released = Released::Some;
                answer::<E>(self.shared.bound(), &mut warp.registers, &blocked, false);
                warp.runnable.push(blocked.path);
            }
        }
        released
    }
}

/// Writes the answer for a path that waited.
fn answer<E: Engine>(bound: &E::Code, registers: &mut E::Registers, Blocked { path, at }: &Blocked, has_ended: bool) {
    if let BlockedAt::Phase { wait: PhaseWait { destination: Some(destination), .. }, .. } = at {
        E::set_values(bound, registers, path.frame, *destination, path.mask, &[u64::from(has_ended); 32]);
    }
}
