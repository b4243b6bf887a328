//! Paths of a warp and the nodes at which they meet again.
//!
//! A warp is a set of paths, each with a place in the code and the lanes that follow it. A divergent branch splits a
//! path and opens a node: the lanes that wait for each other at the reconvergence point. Paths are scheduled one by one
//! and may be switched at any time, so a lane can wait for another one of its warp (independent thread scheduling).

use warplens_ir::FunctionId;
use warplens_isa::BlockId;

/// No node.
pub(crate) const NO_NODE: u32 = u32::MAX;

/// Where control of a frame goes back to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    /// Block that made the call.
    pub(crate) call_block: BlockId,
    /// Function that called.
    pub(crate) function: FunctionId,
    pub(crate) rows: u32,
    pub(crate) predicates: u32,
    pub(crate) local: u32,
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
    /// Function of the frame.
    pub(crate) function: FunctionId,
    /// First row of the frame.
    pub(crate) rows: u32,
    /// First predicate of the frame.
    pub(crate) predicates: u32,
    /// First byte of the frame in local memory.
    pub(crate) local: u32,
    /// Innermost node that the lanes are expected at.
    pub(crate) node: u32,
    /// Callers, outermost first.
    pub(crate) frames: Vec<Frame>,
    /// How often the lanes went around a loop that may wait for other threads.
    pub(crate) turns: Turns,
}

impl Path {
    /// True when the lanes of `other` could go on as one path with these: at the same operation of the same frame, and
    /// expected at the same node.
    pub(crate) fn stands_with(&self, other: &Self) -> bool {
        let place = |path: &Self| (path.block, path.operation, path.rows, path.node);
        place(self) == place(other) && self.frames == other.frames
    }
}

/// Turns that the same lanes made in a loop that may wait for other threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turns {
    /// The block that ends a turn.
    pub(crate) block: BlockId,
    pub(crate) lanes: u32,
    pub(crate) count: u32,
}

impl Turns {
    /// None.
    pub(crate) const NONE: Self = Self { block: BlockId(u32::MAX), lanes: 0, count: 0 };

    /// The lanes in `staying`, of all lanes in `mask`, go on with the loop that `block` ends.
    pub(crate) fn note(&mut self, block: BlockId, mask: u32, staying: u32) {
        if staying == mask {
            let is_same = (self.block, self.lanes) == (block, mask);
            *self = Self { block, lanes: mask, count: if is_same { self.count + 1 } else { 1 } };
        } else if self.block == block {
            // Some lane got what it waited for.
            *self = Self::NONE;
        }
    }
}

/// What a node waits at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Meeting {
    /// A block, in the frame with this number of callers.
    Block(BlockId, usize),
    /// The `Bsync` on a convergence barrier.
    Barrier(u32),
}

/// Lanes that wait for each other.
#[derive(Clone, Debug)]
struct Node {
    meeting: Meeting,
    /// Lanes that will come, or have come.
    expected: u32,
    /// Lanes that have come.
    arrived: u32,
    parent: u32,
    /// A path that has come: the frame in which the lanes go on.
    waiting: Option<Path>,
}

/// The nodes of a warp.
#[derive(Default)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    free: Vec<u32>,
}

impl Nodes {
    /// Opens a node for the lanes of a path, inside its present one.
    pub(crate) fn open(&mut self, meeting: Meeting, expected: u32, parent: u32) -> u32 {
        let node = Node { meeting, expected, arrived: 0, parent, waiting: None };
        match self.free.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as u32 - 1
            }
        }
    }

    /// True when the lanes of `path` are expected at the place where it stands.
    #[inline(always)]
    pub(crate) fn is_met(&self, path: &Path) -> bool {
        path.node != NO_NODE && self.nodes[path.node as usize].meeting == Meeting::Block(path.block, path.frames.len())
    }

    /// True when the innermost node of `path` waits at `meeting`.
    pub(crate) fn meets_at(&self, path: &Path, meeting: Meeting) -> bool {
        path.node != NO_NODE && self.nodes[path.node as usize].meeting == meeting
    }

    /// A path has come to where its innermost node waits. Returns the path that goes on, if all lanes are there.
    pub(crate) fn arrive(&mut self, path: Path) -> Option<Path> {
        let id = path.node;
        let node = &mut self.nodes[id as usize];
        node.arrived |= path.mask;
        node.waiting.get_or_insert(path);
        self.close_if_complete(id)
    }

    fn close_if_complete(&mut self, id: u32) -> Option<Path> {
        let node = &mut self.nodes[id as usize];
        if node.arrived != node.expected {
            return None;
        }
        let waiting = node.waiting.take();
        let (mask, parent) = (node.arrived, node.parent);
        self.free.push(id);
        waiting.filter(|_| mask != 0).map(|path| Path { mask, node: parent, ..path })
    }

    /// Lanes have exited: nobody waits for them any more. Returns the paths that can go on for that.
    pub(crate) fn forget(&mut self, mut node: u32, lanes: u32) -> Vec<Path> {
        let mut released = Vec::new();
        while node != NO_NODE {
            let entry = &mut self.nodes[node as usize];
            entry.expected &= !lanes;
            let parent = entry.parent;
            released.extend(self.close_if_complete(node));
            node = parent;
        }
        released
    }

    /// Lets the lanes that wait for `path` at its innermost occupied node go on without it.
    pub(crate) fn release_waiting(&mut self, path: &mut Path) -> Option<Path> {
        let mut id = path.node;
        while id != NO_NODE {
            let node = &mut self.nodes[id as usize];
            if let Some(waiting) = node.waiting.take() {
                let mask = std::mem::take(&mut node.arrived);
                node.expected &= !mask;
                return Some(Path { mask, node: node.parent, ..waiting });
            }
            id = node.parent;
        }
        None
    }

    /// Lets lanes that wait where `may_go` allows it go on without those that they wait for.
    pub(crate) fn release_where(&mut self, may_go: impl Fn(&Path) -> bool) -> Vec<Path> {
        let mut released = Vec::new();
        for node in self.nodes.iter_mut().filter(|node| node.waiting.as_ref().is_some_and(&may_go)) {
            let mask = std::mem::take(&mut node.arrived);
            node.expected &= !mask;
            released.extend(node.waiting.take().map(|path| Path { mask, node: node.parent, ..path }));
        }
        released
    }

    /// Lanes that wait at some node.
    pub(crate) fn waiting_lanes(&self) -> u32 {
        self.nodes.iter().filter(|node| node.waiting.is_some()).fold(0, |lanes, node| lanes | node.arrived)
    }

    /// Forgets everything, for the next CTA.
    pub(crate) fn clear(&mut self) {
        self.nodes.clear();
        self.free.clear();
    }
}
