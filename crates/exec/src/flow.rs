//! Control: where the paths of a warp go at the end of a block.

use warplens_isa::BlockId;
use warplens_trace::{ActiveMask, Observer, WarpIndex};

use crate::cta::{Cta, Warp};
use crate::decoded::{Block, Flow, Guard};
use crate::divergence::Path;
use crate::engine::{Engine, LaneValues};
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
                Ok(warp.sync(path, on, (*barrier, block.flow_pc)))
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
                let indices = self.operand(cta, warp_index, &path, *index).map(|index| u64::from(index as u32));
                let target = |index: u64| targets.get(index as usize).copied();
                self.branch_by_value(cta, warp_index, path, block, (&indices, target, *next, on), SameBlock::Together)
            }
            Flow::Computed { address, targets, next } => {
                let addresses = self.operand(cta, warp_index, &path, *address);
                let target = |address: u64| {
                    let found = targets.binary_search_by_key(&address, |&(address, _)| address);
                    found.ok().map(|position| targets[position].1)
                };
                self.branch_by_value(cta, warp_index, path, block, (&addresses, target, *next, on), SameBlock::Apart)
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

    /// Each lane in `on` goes to the target of its value, an index or an address; the others go to `next`.
    fn branch_by_value(
        &mut self,
        cta: &mut Cta<E, O::Cta>,
        warp_index: usize,
        path: Path,
        block: &Block,
        (values, target, next, on): (&LaneValues, impl Fn(u64) -> Option<BlockId>, Option<BlockId>, u32),
        same_block: SameBlock,
    ) -> Result<Option<Path>, ExecError> {
        let mut parts: Vec<(BlockId, u32)> = Vec::new();
        let mut add = |target: BlockId, lanes: u32| {
            let other = parts.iter_mut().find(|(block, _)| *block == target && same_block == SameBlock::Together);
            match other {
                Some((_, mask)) => *mask |= lanes,
                None => parts.push((target, lanes)),
            }
        };
        let mut rest = on;
        while rest != 0 {
            let address = values[rest.trailing_zeros() as usize];
            let same = ActiveMask(rest).lanes().filter(|&lane| values[lane] == address);
            let lanes = same.fold(0, |lanes, lane| lanes | 1 << lane);
            let Some(target) = target(address) else {
                let thread = self.thread(cta.coordinates, warp_index as u32, lanes);
                return Err(ExecError::BadTarget { pc: block.flow_pc, thread, what: "branch", address });
            };
            add(target, lanes);
            rest &= !lanes;
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

/// What becomes of lanes that name the same block by different values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SameBlock {
    /// They go on together: a table may name a block several times.
    Together,
    /// They go on apart: machine code so lets groups of lanes run one after the other.
    Apart,
}

/// Moves a path to a block; `None` if it now waits for other lanes there.
#[inline(always)]
pub(crate) fn go<E: Engine>(warp: &mut Warp<E>, path: Path, block: BlockId) -> Option<Path> {
    warp.nodes.go(path, block)
}

/// Lets the lanes of a path, which are about to part, meet again at a block, if there is one.
pub(crate) fn open_meeting<E: Engine>(warp: &mut Warp<E>, path: &mut Path, point: Option<BlockId>) {
    if let Some(point) = point {
        let meeting = Meeting { block: point, callers: path.callers.len() };
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
