//! Convergence barriers: how lanes meet in functions that say so themselves, as machine code does from compute
//! capability 7.0 on.
//!
//! A warp has a mask of lanes for each barrier, whichever function it is in. `Bssy` adds lanes to it and `Break` takes
//! lanes out. At a `Bsync` lanes of the mask wait until all others of it wait at the same barrier, wherever in the code
//! they do, or have exited; then the mask is empty, and those that stand at the same place go on together. A mask can
//! be read and written, so that a function may use a barrier that its caller is using: lanes that wait without being in
//! the mask wait on until they are in it again.
//!
//! Lanes do not wait for ever to run together. Where nothing else can run, or where those that are waited for seem to
//! wait for the others in a loop, lanes that wait go on alone, and nobody waits for them.

use warplens_isa::Pc;

use crate::cta::{Blocked, BlockedAt, Cta, Warp};
use crate::divergence::{Path, join};
use crate::engine::Engine;
use crate::synchronize::Released;

impl<E: Engine> Warp<E> {
    /// Nobody waits any longer at a convergence barrier for these lanes.
    pub(crate) fn break_convergence(&mut self, barrier: u32, lanes: u32) {
        self.convergence[barrier as usize] &= !lanes;
        self.resume_complete(barrier);
    }

    /// Writes the mask of a convergence barrier.
    pub(crate) fn write_convergence(&mut self, barrier: u32, mask: u32) {
        self.convergence[barrier as usize] = mask;
        self.resume_complete(barrier);
    }

    /// Lanes of a path have come to a convergence barrier, behind which the path stands already; its other lanes, and
    /// those that are not in the mask, do not wait. Returns a path that goes on at once, if there is one.
    #[inline(never)]
    pub(crate) fn sync(&mut self, mut path: Path, lanes: u32, (barrier, pc): (u32, Pc)) -> Option<Path> {
        let mask = self.convergence[barrier as usize] & self.live;
        let arriving = path.mask & lanes & mask;
        if arriving == mask {
            // Nobody of the mask is missing, and nobody has waited.
            self.convergence[barrier as usize] = 0;
        } else if arriving != 0 {
            let at = BlockedAt::Convergence { barrier, pc };
            self.blocked.push(Blocked { path: Path { mask: arriving, ..path.clone() }, at });
            path.mask &= !arriving;
            let mut together = self.take_complete(barrier);
            if path.mask != 0 {
                join(&mut together, path);
            }
            self.resume(together);
            return self.runnable.pop();
        }
        self.nodes.meet(path)
    }

    /// Lanes that wait at a convergence barrier.
    fn converging(&self, barrier: u32) -> u32 {
        let here = self.blocked.iter().filter(|blocked| blocked.convergence_barrier() == Some(barrier));
        here.fold(0, |lanes, blocked| lanes | blocked.path.mask)
    }

    /// The paths that waited at a convergence barrier, if all lanes of its mask have come.
    fn take_complete(&mut self, barrier: u32) -> Vec<Path> {
        let mask = self.convergence[barrier as usize] & self.live;
        if mask == 0 || mask & !self.converging(barrier) != 0 {
            return Vec::new();
        }
        let paths = self.take_converging(barrier, mask);
        self.convergence[barrier as usize] = 0;
        paths
    }

    /// The paths of lanes that waited at a convergence barrier. They are no longer in its mask.
    fn take_converging(&mut self, barrier: u32, lanes: u32) -> Vec<Path> {
        self.convergence[barrier as usize] &= !lanes;
        let mut together = Vec::new();
        self.blocked.retain_mut(|blocked| {
            let going = blocked.path.mask & lanes;
            if blocked.convergence_barrier() != Some(barrier) || going == 0 {
                return true;
            }
            join(&mut together, Path { mask: going, ..blocked.path.clone() });
            blocked.path.mask &= !going;
            blocked.path.mask != 0
        });
        together
    }

    fn resume(&mut self, paths: Vec<Path>) {
        for path in paths {
            let path = self.nodes.meet(path);
            self.runnable.extend(path);
        }
    }

    fn resume_complete(&mut self, barrier: u32) {
        if !self.blocked.is_empty() {
            let together = self.take_complete(barrier);
            self.resume(together);
        }
    }

    /// Lanes have exited: convergence barriers no longer wait for them.
    pub(crate) fn resume_after_exit(&mut self) {
        self.occupied_barriers(|_, _| true).into_iter().for_each(|barrier| self.resume_complete(barrier));
    }

    /// The convergence barriers at which lanes wait and of which `is_wanted` holds; it is told the mask and who waits.
    fn occupied_barriers(&self, is_wanted: impl Fn(u32, u32) -> bool) -> Vec<u32> {
        let mut barriers: Vec<u32> = self.blocked.iter().filter_map(Blocked::convergence_barrier).collect();
        barriers.sort_unstable();
        barriers.dedup();
        barriers.retain(|&barrier| is_wanted(self.convergence[barrier as usize], self.converging(barrier)));
        barriers
    }

    /// Of some convergence barriers those at which nobody is waited for who waits at another one of them; all of them if
    /// there is none.
    fn innermost(&self, barriers: Vec<u32>) -> Vec<u32> {
        let awaits = |barrier: u32, other: u32| {
            other != barrier && self.convergence[barrier as usize] & self.converging(other) != 0
        };
        let is_inner = |barrier: u32| !barriers.iter().any(|&other| awaits(barrier, other));
        let inner: Vec<u32> = barriers.iter().copied().filter(|&barrier| is_inner(barrier)).collect();
        if inner.is_empty() { barriers } else { inner }
    }

    /// Lets those go on alone that wait at some convergence barriers, at the innermost of them. Returns their paths.
    fn give_up(&mut self, barriers: Vec<u32>) -> Vec<Path> {
        let inner = self.innermost(barriers);
        inner.into_iter().flat_map(|barrier| self.take_converging(barrier, self.converging(barrier))).collect()
    }

    /// Lets the lanes that wait for `path` go on without it, in the innermost place where some do.
    pub(crate) fn release_waiting(&mut self, path: &mut Path) -> Vec<Path> {
        if let Some(released) = self.nodes.release_waiting(path) {
            return vec![released];
        }
        // Where somebody waits who is not in the mask, the mask is kept in a register, and it is not known of whom.
        let of_path = self.occupied_barriers(|mask, waiting| mask & path.mask != 0 || waiting & !mask != 0);
        self.give_up(of_path)
    }

    /// Lanes that wait to run together with others of the warp.
    pub(crate) fn reconverging_lanes(&self) -> u32 {
        let converging = self.blocked.iter().filter(|blocked| blocked.convergence_barrier().is_some());
        converging.fold(self.nodes.waiting_lanes() & self.live, |lanes, blocked| lanes | blocked.path.mask)
    }

    /// True when nothing outside of the warp can wake it, and lanes wait at convergence barriers.
    pub(crate) fn holds_up_itself(&self) -> bool {
        let is_inside = |blocked: &Blocked| match blocked.at {
            BlockedAt::Convergence { .. } | BlockedAt::Lanes { .. } => true,
            BlockedAt::Barrier { .. }
            | BlockedAt::Phase { .. }
            | BlockedAt::Cluster { .. }
            | BlockedAt::Group { .. } => false,
        };
        self.blocked.iter().all(is_inside) && self.blocked.iter().any(|it| it.convergence_barrier().is_some())
    }
}

/// Lets lanes that wait at convergence barriers go on alone, in warps that cannot run and of which `is_meant` is true.
/// Returns whether some do.
pub(crate) fn give_up_convergence<E: Engine, R>(cta: &mut Cta<E, R>, is_meant: fn(&Warp<E>) -> bool) -> Released {
    let mut released = Released::None;
    for warp in cta.warps.iter_mut().filter(|warp| warp.runnable.is_empty() && is_meant(warp)) {
        let barriers = warp.occupied_barriers(|_, _| true);
        if !barriers.is_empty() {
            released = Released::Some;
            let paths = warp.give_up(barriers);
            warp.resume(paths);
        }
    }
    released
}
