//! Clusters: CTAs that run together, look into each other's shared memory and wait for each other.
//!
//! One host thread runs all CTAs of a cluster, each for a turn, in the order of their ranks: that is fair, and the same on
//! every run. To other clusters a cluster is what a CTA is where there are none. Without clusters each CTA is a group of
//! its own.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use warplens_isa::ClusterPhase;
use warplens_trace::{Observer, Synchronized};

use crate::cta::{Blocked, BlockedAt, Cta, Warp};
use crate::decoded::Block;
use crate::divergence::Path;
use crate::engine::{BlockEnd, Engine};
use crate::error::{AccessFault, ExecError};
use crate::flow::open_meeting;
use crate::interpret::{CtaStatus, Worker};
use crate::program::Order;
use crate::raw::Cells;
use crate::synchronize::Released;

/// CTAs that are run together.
pub(crate) struct Group<E: Engine, R> {
    /// Its place in the order of execution.
    pub(crate) position: u64,
    /// By rank.
    pub(crate) ctas: Vec<Cta<E, R>>,
    /// The cluster has been told that these CTAs have ended.
    done: Vec<bool>,
}

impl<E: Engine, R> Group<E, R> {
    pub(crate) fn new(position: u64, ctas: Vec<Cta<E, R>>) -> Self {
        let done = vec![false; ctas.len()];
        Self { position, ctas, done }
    }
}

/// What the CTAs of a cluster have in common.
pub(crate) struct Cluster {
    /// Shared memory of the CTAs, by rank.
    memories: Vec<Rc<Cells>>,
    /// Times that all threads have met.
    phase: Cell<u64>,
    warps: RefCell<Vec<Vec<Attendance>>>,
    exited: Vec<Cell<bool>>,
}

/// Who of a warp has come to the barrier of the cluster.
#[derive(Clone, Copy)]
struct Attendance {
    /// Lanes that have not exited.
    live: u32,
    /// Lanes that have arrived in this phase.
    arrived: u32,
}

impl Cluster {
    /// A cluster of CTAs whose warps have so many lanes each.
    pub(crate) fn new(memories: Vec<Rc<Cells>>, lanes: &[u32]) -> Self {
        let warps: Vec<_> = lanes.iter().map(|&live| Attendance { live, arrived: 0 }).collect();
        let exited = memories.iter().map(|_| Cell::new(false)).collect();
        Self { phase: Cell::new(0), warps: RefCell::new(vec![warps; memories.len()]), exited, memories }
    }

    /// Shared memory of a CTA that has not ended.
    pub(crate) fn memory(&self, rank: u32) -> Result<&Cells, AccessFault> {
        match (self.memories.get(rank as usize), self.exited.get(rank as usize)) {
            (Some(memory), Some(exited)) if !exited.get() => Ok(memory),
            (Some(_), _) => Err(AccessFault::Exited(rank)),
            (None, _) => Err(AccessFault::NoSuchCta { rank, n_ctas: self.memories.len() as u32 }),
        }
    }

    /// Lanes of a warp arrive.
    fn arrive(&self, rank: u32, warp: usize, lanes: u32) {
        self.warps.borrow_mut()[rank as usize][warp].arrived |= lanes;
        self.complete();
    }

    /// Lanes of a warp have exited, of which `live` are left: nobody waits for them any more.
    pub(crate) fn leave(&self, rank: u32, warp: usize, live: u32) {
        self.warps.borrow_mut()[rank as usize][warp].live = live;
        self.complete();
    }

    /// Begins the next phase if all threads have come.
    fn complete(&self) {
        let mut warps = self.warps.borrow_mut();
        let mut all = warps.iter().flatten();
        let has_come = |warp: &Attendance| warp.live & !warp.arrived == 0;
        if all.clone().all(has_come) && all.any(|warp| warp.arrived != 0) {
            warps.iter_mut().flatten().for_each(|warp| warp.arrived = 0);
            self.phase.set(self.phase.get() + 1);
        }
    }

    /// Lanes of a warp that have arrived in a phase that has not ended.
    fn pending(&self, rank: u32, warp: usize) -> u32 {
        self.warps.borrow()[rank as usize][warp].arrived
    }
}

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Runs the CTAs of a group, each for a turn, until all have ended or can only wait for others. An error comes with
    /// its CTA.
    pub(crate) fn run_group(&mut self, group: &mut Group<E, O::Cta>) -> Result<CtaStatus, ExecError> {
        if let [cta] = group.ctas.as_mut_slice()
            && cta.cluster.is_none()
        {
            return self.run_cta(cta);
        }
        loop {
            let before = self.moved(group);
            let mut interrupted = false;
            for rank in 0..group.ctas.len() {
                if group.done[rank] {
                    continue;
                }
                match self.run_cta(&mut group.ctas[rank])? {
                    CtaStatus::Done => {
                        group.done[rank] = true;
                        group.ctas[rank].cluster.iter().for_each(|cluster| cluster.exited[rank].set(true));
                    }
                    CtaStatus::Yielded => interrupted = true,
                    CtaStatus::Waiting => {}
                    CtaStatus::Halted => return Ok(CtaStatus::Halted),
                }
            }
            if group.done.iter().all(|&done| done) {
                return Ok(CtaStatus::Done);
            }
            let is_stuck = !interrupted && self.moved(group) == before;
            if is_stuck && self.release_in(group) == Released::None {
                return Err(self.deadlock(&group.ctas));
            }
            let gives_way = interrupted && matches!(self.shared.program.order(), Order::Communicating(_));
            if gives_way || self.shared.mode.takes_turns() {
                return Ok(CtaStatus::Yielded);
            }
        }
    }

    /// What grows whenever a group gets on.
    fn moved(&self, group: &Group<E, O::Cta>) -> (u64, u64, usize) {
        let phase = group.ctas[0].cluster.as_ref().map_or(0, |cluster| cluster.phase.get());
        (self.summary.warp_instructions, phase, group.done.iter().filter(|&&done| done).count())
    }

    /// Nothing can run: lanes that wait to reconverge with those that wait for the cluster go on alone, and those that
    /// wait for a phase are told that it has not ended.
    fn release_in(&mut self, group: &mut Group<E, O::Cta>) -> Released {
        let mut released = Released::None;
        for cta in &mut group.ctas {
            let parted = self.release_parted(cta, Warp::waits_for_cluster);
            if parted == Released::Some || self.give_up_some_phases(cta) == Released::Some {
                released = Released::Some;
            }
        }
        released
    }

    /// Lanes of a path have come to a barrier of the cluster.
    pub(crate) fn meet_cluster(
        &mut self,
        (cta, warp_index): (&mut Cta<E, O::Cta>, usize),
        (path, block): (&mut Path, &Block),
        (on, half): (u32, ClusterPhase),
        operation: u32,
    ) -> BlockEnd {
        let rank = self.shared.shape.clusters.rank(cta.coordinates);
        let cluster = cta.cluster.as_deref().expect("kernels with such barriers run in clusters, if of one CTA");
        path.operation = Some(operation + 1);
        let waiting = match half {
            ClusterPhase::Arrive => {
                cluster.arrive(rank, warp_index, on);
                0
            }
            // Who has not arrived in this phase has arrived in one that has ended.
            ClusterPhase::Wait => on & cluster.pending(rank, warp_index),
        };
        if waiting != 0 {
            let warp = &mut cta.warps[warp_index];
            if waiting != path.mask {
                open_meeting(warp, path, block.behind);
            }
            let at = BlockedAt::Cluster { phase: cluster.phase.get(), operation };
            warp.blocked.push(Blocked { path: Path { mask: waiting, ..path.clone() }, at });
            path.mask &= !waiting;
        }
        if path.mask == 0 { BlockEnd::Blocked } else { BlockEnd::Again }
    }

    /// Lets paths go on that wait for a phase of the cluster's barrier that has ended.
    pub(crate) fn release_from_cluster(&mut self, cta: &mut Cta<E, O::Cta>) {
        let Some(cluster) = cta.cluster.as_deref() else { return };
        let now = cluster.phase.get();
        if cta.phase == now {
            return;
        }
        cta.phase = now;
        for warp in &mut cta.warps {
            let is_over = |blocked: &mut Blocked| match blocked.at {
                BlockedAt::Cluster { phase, .. } => phase != now,
                BlockedAt::Barrier { .. }
                | BlockedAt::Convergence { .. }
                | BlockedAt::Phase { .. }
                | BlockedAt::Group { .. }
                | BlockedAt::Lanes { .. } => false,
            };
            warp.runnable.extend(warp.blocked.extract_if(.., is_over).map(|blocked| blocked.path));
        }
        if O::RECORDS {
            // All warps of the cluster have arrived; who has not waited yet finds that it need not.
            let event = Synchronized::Barrier { arrived: u32::MAX, released: u32::MAX };
            self.observer.synchronized(&mut cta.record, event);
        }
    }
}
