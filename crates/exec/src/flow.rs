//! Control: where the paths of a warp go at the end of a block.

use warplens_isa::BlockId;
use warplens_trace::{ActiveMask, Observer, WarpIndex};

use crate::cta::{Cta, Warp};
use crate::decoded::{Block, Flow, Guard, Operand};
use crate::divergence::Path;
use crate::engine::Engine;
use crate::error::ExecError;
use crate::interpret::Worker;
use crate::meeting::Meeting;

impl<E: Engine, O: Observer> Worker<'_, E, O> {
    /// Follows the flow of a block that has been executed. Returns the path that goes on at once, if one does.
    #[inline(always)]
    pub(crate) fn follow(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        mut path: Path,
        block: &Block,
    ) -> Result<Option<Path>, ExecError> {
        let on = match block.guard {
            None => path.mask,
            Some(guard) => {
                let on = path.mask & self.flow_predicate(cta, warp_index, &path, guard);
                if O::RECORDS {
                    let (warp, active) = (WarpIndex(warp_index as u32), ActiveMask(path.mask));
                    self.observer.predicated(&mut cta.record, warp, block.flow_pc, active, ActiveMask(on));
                }
                on
            }
        };
        let warp = &mut cta.warps[warp_index];
        match &block.flow {
            Flow::Fallthrough(next) => Ok(go(warp, path, *next)),
            Flow::Branch { taken, next } => match next {
                None => Ok(go(warp, path, *taken)),
                Some(_) if on == path.mask => Ok(go(warp, path, *taken)),
                Some(next) if on == 0 => Ok(go(warp, path, *next)),
                Some(next) => {
                    let off = path.mask & !on;
                    Ok(split(warp, path, block, &[(*taken, on), (*next, off)]))
                }
            },
            Flow::Sync { barrier, next } => {
                path.block = *next;
                if warp.nodes.meets_at(&path, Meeting::Barrier(*barrier)) {
                    return Ok(warp.nodes.arrive(path).and_then(|path| warp.nodes.meet(path)));
                }
                Ok(Some(path))
            }
            Flow::Exit { next } => self.exit(cta, warp_index, path, on, *next),
            Flow::Return { next } if path.callers.is_empty() => self.exit(cta, warp_index, path, on, *next),
            _ => self.follow_rarely(cta, warp_index, path, block, on),
        }
    }

    #[inline(always)]
    pub(crate) fn flow_predicate(&self, cta: &Cta<E, O::Cta>, warp: usize, path: &Path, guard: Guard) -> u32 {
        let bits = E::predicate(&cta.warps[warp].registers, path.frame, guard.predicate);
        if guard.negated { !bits } else { bits }
    }

    #[inline(never)]
    fn follow_rarely(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        path: Path,
        block: &Block,
        on: u32,
    ) -> Result<Option<Path>, ExecError> {
        match &block.flow {
            Flow::Indexed { index, targets, next } => {
                self.branch_indexed(cta, warp_index, path, block, (*index, targets, *next, on))
            }
            Flow::Call(target) => self.call(cta, warp_index, path, block, target, on),
            Flow::Return { next } => Ok(self.return_(cta, warp_index, path, on, *next)),
            Flow::Trap { next } => {
                if on == 0
                    && let Some(next) = next
                {
                    return Ok(go(&mut cta.warps[warp_index], path, *next));
                }
                let thread = self.thread(cta.coordinates, warp_index as u32, on);
                Err(ExecError::Trap { pc: block.flow_pc, thread, message: "a trap instruction was executed".into() })
            }
            _ => {
                let thread = self.thread(cta.coordinates, warp_index as u32, path.mask);
                Err(ExecError::ReachedUnsupported { pc: block.flow_pc, thread })
            }
        }
    }

    /// Ends the lanes in `on`; the others go to `next`.
    #[inline(never)]
    fn exit(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        mut path: Path,
        on: u32,
        next: Option<BlockId>,
    ) -> Result<Option<Path>, ExecError> {
        let warp = &mut cta.warps[warp_index];
        path.mask &= !on;
        if on == 0 {
            return Ok(next.and_then(|next| go(warp, path, next)));
        }
        warp.live &= !on;
        warp.nodes.end(&mut warp.runnable, path.node, &on);
        let rest = match next {
            Some(next) if path.mask != 0 => go(warp, path, next),
            _ => None,
        };
        self.after_exit(cta, warp_index);
        Ok(rest)
    }

    fn branch_indexed(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        path: Path,
        block: &Block,
        (index, targets, next, on): (Operand, &[BlockId], Option<BlockId>, u32),
    ) -> Result<Option<Path>, ExecError> {
        let indices = self.operand(cta, warp_index, &path, index).map(|index| index as u32);
        let mut parts: Vec<(BlockId, u32)> = Vec::new();
        let mut add = |target: BlockId, lanes: u32| match parts.iter_mut().find(|(block, _)| *block == target) {
            Some((_, mask)) => *mask |= lanes,
            None => parts.push((target, lanes)),
        };
        for lane in ActiveMask(on).lanes() {
            match targets.get(indices[lane] as usize) {
                Some(&target) => add(target, 1 << lane),
                None => {
                    let thread = self.thread(cta.coordinates, warp_index as u32, 1 << lane);
                    let address = u64::from(indices[lane]);
                    return Err(ExecError::BadTarget { pc: block.flow_pc, thread, what: "branch", address });
                }
            }
        }
        if let Some(next) = next
            && path.mask & !on != 0
        {
            add(next, path.mask & !on);
        }
        if O::RECORDS {
            let warp = WarpIndex(warp_index as u32);
            self.observer.branch_indexed(&mut cta.record, warp, block.flow_pc, parts.len() as u32);
        }
        let warp = &mut cta.warps[warp_index];
        match parts[..] {
            [(target, _)] => Ok(go(warp, path, target)),
            _ => Ok(split(warp, path, block, &parts)),
        }
    }
}

/// Moves a path to a block; `None` if it now waits for other lanes there.
#[inline(always)]
pub(crate) fn go<E: Engine>(warp: &mut Warp<E>, path: Path, block: BlockId) -> Option<Path> {
    warp.nodes.go(path, block)
}

/// Lets the lanes of a path, which are about to part, meet again at a block, if there is one.
pub(crate) fn open_meeting<E: Engine>(warp: &mut Warp<E>, path: &mut Path, point: Option<BlockId>) {
    if let Some(point) = point {
        let meeting = Meeting::Block(point, path.callers.len());
        if !warp.nodes.meets_at(path, meeting) {
            warp.nodes.open(path, meeting, 1);
        }
    }
}

/// Splits a path. The parts meet again at the block's reconvergence point, if it has one.
#[inline(never)]
fn split<E: Engine>(warp: &mut Warp<E>, path: Path, block: &Block, parts: &[(BlockId, u32)]) -> Option<Path> {
    warp.nodes.split(&mut warp.runnable, path, block.reconvergence, parts.len(), |path, go| {
        parts.iter().for_each(|&(target, mask)| go(Path { mask, ..path.clone() }, target));
    })
}
