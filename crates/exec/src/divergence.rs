//! Paths of a warp in the emulator.
//!
//! A warp is a set of paths, which part and meet as [`meeting`](crate::meeting) says, and in functions with explicit
//! convergence as [`convergence`](crate::convergence) does. Paths are scheduled one by one and
//! may be switched at any time, so a lane can wait for another one of its warp (independent thread scheduling).

use warplens_isa::BlockId;

use crate::engine::Frame;
use crate::meeting::{NO_NODE, NodeId, Nodes, Travels};
use crate::waiting::Wait;

/// Where control goes back to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Caller {
    /// Block that made the call.
    pub(crate) block: BlockId,
    /// Its frame.
    pub(crate) frame: Frame,
}

/// Lanes that execute together.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// Block.
    pub(crate) block: BlockId,
    /// Operation to execute next; `None` before the block has begun.
    pub(crate) operation: Option<u32>,
    /// Lanes.
    pub(crate) mask: u32,
    /// Its function, registers and local memory.
    pub(crate) frame: Frame,
    /// Innermost node that the lanes are expected at.
    pub(crate) node: NodeId,
    /// Callers, outermost first.
    pub(crate) callers: Vec<Caller>,
    /// How often the lanes went around a loop that may wait for other threads.
    pub(crate) turns: Turns,
}

impl Path {
    /// True when the lanes of `other` could go on as one path with these: at the same operation of the same frame, and
    /// expected at the same node.
    pub(crate) fn stands_with(&self, other: &Self) -> bool {
        let place = |path: &Self| (path.block, path.operation, path.frame.words, path.node);
        place(self) == place(other) && self.callers == other.callers
    }
}

/// Adds a path to others; lanes that stand at the same place go on together.
pub(crate) fn join(paths: &mut Vec<Path>, path: Path) {
    match paths.iter_mut().find(|other| other.stands_with(&path)) {
        Some(other) => other.mask |= path.mask,
        None => paths.push(path),
    }
}

/// Turns that the same lanes made in a loop that may wait for other threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// Where the loop begins.
    pub(crate) header: BlockId,
    /// The block that ended the first turn.
    pub(crate) block: BlockId,
    pub(crate) lanes: u32,
    pub(crate) count: u32,
    /// Nothing changes from turn to turn but the answer that the lanes are given.
    pub(crate) only_asks: bool,
}

impl Turns {
    /// None.
    pub(crate) const NONE: Self =
        Self { header: BlockId(u32::MAX), block: BlockId(u32::MAX), lanes: 0, count: 0, only_asks: false };

    /// The lanes in `staying`, of all lanes in `mask`, go on with the loop that `block` ends. A loop that waits may end its
    /// turns in several places.
    pub(crate) fn note(&mut self, &Wait { header, only_asks, .. }: &Wait, block: BlockId, mask: u32, staying: u32) {
        if staying == mask {
            let is_same = (self.header, self.lanes) == (header, mask);
            *self = if is_same {
                Self { count: self.count + 1, ..*self }
            } else {
                Self { header, block, lanes: mask, count: 1, only_asks }
            };
        } else if self.block == block || self.header == block {
            // Some lane got what it waited for.
            *self = Self::NONE;
        }
    }
}

/// Lanes that a node waits for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited {
    /// Lanes that will come, or have come.
    expected: u32,
    /// Lanes that have come.
    arrived: u32,
}

impl Travels for Path {
    type Awaited = Awaited;
    /// Lanes that have exited.
    type Ended = u32;

    const COUNTS_LANES: bool = true;

    #[inline(always)]
    fn place(&self) -> (BlockId, usize) {
        (self.block, self.callers.len())
    }

    #[inline(always)]
    fn move_to(&mut self, block: BlockId) {
        self.block = block;
        self.operation = None;
    }

    #[inline(always)]
    fn node(&self) -> NodeId {
        self.node
    }

    fn set_node(&mut self, node: NodeId) {
        self.node = node;
    }

    fn awaited(&self, _: usize) -> Awaited {
        Awaited { expected: self.mask, arrived: 0 }
    }

    /// The lanes stay the same.
    fn await_more(_: &mut Awaited, _: usize) {}

    /// The lanes go on in the frame of the first path that has come.
    fn arrive(self, awaited: &mut Awaited, waiting: &mut Option<Self>) {
        awaited.arrived |= self.mask;
        waiting.get_or_insert(self);
    }

    fn forget(awaited: &mut Awaited, exited: &u32) {
        awaited.expected &= !exited;
    }

    fn is_complete(awaited: &Awaited) -> bool {
        awaited.arrived == awaited.expected
    }

    fn go_on(waiting: Option<Self>, awaited: &Awaited) -> Option<Self> {
        waiting.filter(|_| awaited.arrived != 0).map(|path| Self { mask: awaited.arrived, ..path })
    }
}

impl Nodes<Path> {
    /// Lets the lanes that wait for `path` at its innermost occupied node go on without it.
    pub(crate) fn release_waiting(&mut self, path: &mut Path) -> Option<Path> {
        let mut id = path.node;
        while id != NO_NODE {
            let node = &mut self.nodes[id as usize];
            if let Some(waiting) = node.waiting.take() {
                let mask = std::mem::take(&mut node.awaited.arrived);
                node.awaited.expected &= !mask;
                return Some(Path { mask, node: node.parent, ..waiting });
            }
            id = node.parent;
        }
        None
    }

    /// Lets lanes go on without those that they wait for, at the nodes inside of which nobody else waits.
    pub(crate) fn release_innermost(&mut self) -> Vec<Path> {
        let mut is_outer = vec![false; self.nodes.len()];
        for node in self.nodes.iter().filter(|node| node.waiting.is_some()) {
            let mut outer = node.parent;
            while outer != NO_NODE {
                is_outer[outer as usize] = true;
                outer = self.nodes[outer as usize].parent;
            }
        }
        let mut released = Vec::new();
        for (node, is_outer) in self.nodes.iter_mut().zip(is_outer) {
            if let Some(waiting) = node.waiting.take_if(|_| !is_outer) {
                let mask = std::mem::take(&mut node.awaited.arrived);
                node.awaited.expected &= !mask;
                released.push(Path { mask, node: node.parent, ..waiting });
            }
        }
        released
    }

    /// Lanes that wait at some node.
    pub(crate) fn waiting_lanes(&self) -> u32 {
        self.nodes.iter().filter(|node| node.waiting.is_some()).fold(0, |lanes, node| lanes | node.awaited.arrived)
    }
}
