//! Paths of a warp that is walked.
//!
//! They part and meet by the rules of the emulator. Here a lane may be on two paths at once, where nothing says which way
//! it goes; each path has registers of its own, and what the paths disagree on is unknown where they meet.

use warplens_exec::meeting::{NodeId, Travels};
use warplens_ir::FunctionId;
use warplens_isa::{BlockId, Pc};

use crate::registers::Registers;

/// Where a call goes back to.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) call_block: BlockId,
    pub(crate) function: FunctionId,
    pub(crate) registers: Registers,
    pub(crate) local: u32,
    pub(crate) turns: Vec<Turn>,
}

/// A loop that a path is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Index of the loop.
    pub(crate) index: usize,
    /// Turns begun, this one included.
    pub(crate) count: u64,
    /// Whether to leave the loop was decided by something known in this turn.
    pub(crate) decided: bool,
    /// A branch of this turn of which it is not known whether it leaves the loop.
    pub(crate) undecided: Option<Pc>,
}

/// Lanes that are followed together.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) block: BlockId,
    pub(crate) mask: u32,
    /// Share of the cases in which the path is taken.
    pub(crate) weight: f64,
    pub(crate) function: FunctionId,
    pub(crate) registers: Registers,
    /// First byte of the frame in local memory.
    pub(crate) local: u32,
    /// Innermost node that the path is expected at.
    pub(crate) node: NodeId,
    pub(crate) frames: Vec<Frame>,
    /// Loops of the frame that the path is in, the innermost last.
    pub(crate) turns: Vec<Turn>,
}

impl Path {
    /// Takes in another path that has come to the same place.
    fn join(&mut self, other: &Self) {
        self.registers.join(&other.registers, self.mask, other.mask);
        self.mask |= other.mask;
        for (own, other) in self.turns.iter_mut().zip(&other.turns) {
            if own.index == other.index {
                own.count = own.count.max(other.count);
                own.decided |= other.decided;
                own.undecided = own.undecided.or(other.undecided);
            }
        }
    }
}

/// Paths that a node waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited {
    /// Paths that are still expected.
    expected: usize,
    /// Share of the cases before the paths parted.
    weight: f64,
}

/// One path.
pub(crate) struct One;

impl Travels for Path {
    type Awaited = Awaited;
    type Ended = One;

    const COUNTS_LANES: bool = false;

    fn place(&self) -> (BlockId, usize) {
        (self.block, self.frames.len())
    }

    fn move_to(&mut self, block: BlockId) {
        self.block = block;
    }

    fn node(&self) -> NodeId {
        self.node
    }

    fn set_node(&mut self, node: NodeId) {
        self.node = node;
    }

    fn awaited(&self, parts: usize) -> Awaited {
        Awaited { expected: parts, weight: self.weight }
    }

    fn await_more(awaited: &mut Awaited, more: usize) {
        awaited.expected += more;
    }

    fn arrive(self, awaited: &mut Awaited, waiting: &mut Option<Self>) {
        awaited.expected -= 1;
        match waiting {
            Some(waiting) => {
                waiting.weight += self.weight;
                waiting.join(&self);
            }
            None => *waiting = Some(self),
        }
    }

    fn forget(awaited: &mut Awaited, _: &One) {
        awaited.expected -= 1;
    }

    fn is_complete(awaited: &Awaited) -> bool {
        awaited.expected == 0
    }

    /// Alternatives add up to the whole; paths that are both taken are no more than it.
    fn go_on(waiting: Option<Self>, awaited: &Awaited) -> Option<Self> {
        let mut path = waiting?;
        if path.weight > awaited.weight * (1.0 - 1e-9) {
            path.weight = awaited.weight;
        }
        Some(path)
    }
}
