//! A warp on the SM: where it is in its trace and what it waits for.

use std::collections::VecDeque;

use warplens_trace::{ActiveMask, Code, CtaTrace, Cursor, MachineClass, MachineInst, Step, WarpTrace};

use crate::Stall;
use crate::unit::scoreboard::Pending;

/// What a warp slot holds.
#[derive(Clone, Debug)]
pub(crate) struct Warp {
    /// The CTA, by its slot on the SM.
    pub(crate) cta: u32,
    /// Index in the CTA.
    pub(crate) index: u32,
    /// Order in which it came.
    pub(crate) age: u64,
    /// Where it is.
    pub(crate) state: State,
    cursor: Cursor,
    step: Step,
    /// Lanes of the first step.
    all: ActiveMask,
    /// The next instruction, in [`Code::insts`], and the end of its block.
    next: u32,
    end: u32,
    /// Of the current block only memory instructions, barriers and ends are executed.
    skips: bool,
    credit: f64,
    /// Cycle of its last issue; before the first, the one before its start.
    pub(crate) last_issue: u64,
    /// The earliest next issue by the warp's last instruction.
    pub(crate) free: Pending,
    /// The earliest next issue by operands, too.
    pub(crate) ready: Pending,
    /// When its results are there and its stores have left the SM.
    pub(crate) drained_at: f64,
    /// When the open group of asynchronous operations is done, and when the closed ones are, oldest first.
    pub(crate) open_group: f64,
    pub(crate) groups: VecDeque<f64>,
    /// The phase in which it arrived at the barrier of its cluster.
    pub(crate) meeting: u32,
    /// What its last instruction asked a barrier in memory.
    pub(crate) asks: Option<Question>,
}

/// Where a warp is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// The slot is empty.
    Empty,
    /// It has instructions to issue.
    Runs,
    /// It waits at a barrier, since the cycle in which it arrived.
    AtBarrier(u32),
    /// It waits for a phase of a barrier in memory.
    ForPhase(Question),
}

/// A warp asks whether the last phase of a parity has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Question {
    pub(crate) address: u32,
    pub(crate) parity: bool,
}

impl Warp {
    pub(crate) fn empty() -> Self {
        Self {
            cta: 0,
            index: 0,
            age: 0,
            state: State::Empty,
            cursor: Cursor::default(),
            step: Step::NONE,
            all: ActiveMask::EMPTY,
            next: 0,
            end: 0,
            skips: false,
            credit: 0.0,
            last_issue: 0,
            free: Pending::READY,
            ready: Pending::READY,
            drained_at: 0.0,
            open_group: 0.0,
            groups: VecDeque::with_capacity(8),
            meeting: 0,
            asks: None,
        }
    }

    /// Starts with warp `index` of a CTA in slot `cta`, at cycle `at`.
    pub(crate) fn start(&mut self, cta: u32, index: u32, age: u64, at: u64) {
        self.groups.clear();
        let groups = std::mem::take(&mut self.groups);
        let start = Pending { at, stall: Stall::Wait };
        *self = Self {
            cta,
            index,
            age,
            state: State::Runs,
            last_issue: at.wrapping_sub(1),
            free: start,
            ready: start,
            drained_at: at as f64,
            groups,
            ..Self::empty()
        };
    }

    /// The step that it is in.
    pub(crate) const fn step(&self) -> &Step {
        &self.step
    }

    /// The next instruction.
    pub(crate) fn inst(&self) -> u32 {
        self.next
    }

    /// True at the last instruction of a block.
    pub(crate) const fn ends_block(&self) -> bool {
        self.next + 1 >= self.end
    }

    /// Goes on to the next instruction of the block. False where it stays: at the end of the block, and where only some
    /// instructions of it are executed.
    pub(crate) const fn advance_in_block(&mut self) -> bool {
        let goes_on = self.next + 1 < self.end && !self.skips;
        if goes_on {
            self.next += 1;
        }
        goes_on
    }

    /// Goes on to the instruction after the current one. False at the end of the trace. Where `compact` is true, the
    /// work of partly active steps is left out in proportion to the lanes that they lack.
    pub(crate) fn advance(&mut self, code: &Code, trace: &WarpTrace, compact: bool) -> bool {
        if self.next < self.end {
            self.next += 1;
        }
        loop {
            while self.next < self.end {
                if !self.skips || is_kept(&code.insts[self.next as usize]) {
                    return true;
                }
                self.next += 1;
            }
            let Some(step) = trace.next_of(code, &mut self.cursor) else { return false };
            self.step = step;
            let block = &code.blocks[step.block as usize];
            (self.next, self.end) = (block.start, block.end);
            if compact {
                if self.all.is_empty() {
                    self.all = step.mask;
                }
                self.weigh(step.mask, self.all);
            }
        }
    }

    /// Goes to the first instruction.
    pub(crate) fn begin(&mut self, code: &Code, trace: &WarpTrace, compact: bool) -> bool {
        self.cursor = Cursor::default();
        (self.next, self.end) = (0, 0);
        self.advance(code, trace, compact)
    }

    fn weigh(&mut self, mask: ActiveMask, all: ActiveMask) {
        self.credit += f64::from(mask.count()) / f64::from(all.count().max(1));
        self.skips = self.credit < 1.0 - 1e-9;
        if !self.skips {
            self.credit -= 1.0;
        }
    }
}

/// Instructions that stay where the work of partly active warps is put together: memory accesses, whose bytes stay, and
/// what other warps wait for.
fn is_kept(inst: &MachineInst) -> bool {
    use MachineClass as Class;
    inst.touches_memory()
        || matches!(
            inst.class,
            Class::Barrier | Class::BarrierArrive | Class::AsyncCommit | Class::AsyncWait | Class::Exit | Class::Fence
        )
}

/// The trace of a warp of a CTA.
pub(crate) fn trace(ctas: &[CtaTrace], cta: u32, index: u32) -> &WarpTrace {
    &ctas[cta as usize].warps[index as usize]
}
