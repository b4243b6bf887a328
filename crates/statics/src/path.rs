//! Paths of a warp and the nodes at which they meet again.
//!
//! As in the emulator a divergent branch splits a path and opens a node at the reconvergence point. Here a lane may be
//! on two paths at once, where nothing says which way it goes; each path has registers of its own, and what the paths
//! disagree on is unknown where they meet.

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
    pub(crate) node: Option<usize>,
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

/// Where paths wait for each other.
#[derive(Clone, Debug)]
struct Node {
    block: BlockId,
    /// Number of callers of the frame.
    depth: usize,
    /// Paths that are still expected.
    expected: usize,
    /// Share of the cases before the paths parted.
    weight: f64,
    parent: Option<usize>,
    /// The paths that have come, joined; their weights summed.
    waiting: Option<Path>,
}

/// The nodes of a warp.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
    free: Vec<usize>,
}

impl Nodes {
    /// Sends a path to a node of its own at `block`, unless that is where it is expected already. `parts` paths will
    /// come.
    pub(crate) fn expect(&mut self, path: &mut Path, block: BlockId, parts: usize) {
        let depth = path.frames.len();
        if let Some(node) = path.node.map(|id| &mut self.nodes[id])
            && (node.block, node.depth) == (block, depth)
        {
            node.expected += parts - 1;
            return;
        }
        self.open(path, block, parts);
    }

    /// Opens a node inside the present one.
    pub(crate) fn open(&mut self, path: &mut Path, block: BlockId, parts: usize) {
        let node = Node {
            block,
            depth: path.frames.len(),
            expected: parts,
            weight: path.weight,
            parent: path.node,
            waiting: None,
        };
        path.node = Some(match self.free.pop() {
            Some(id) => {
                self.nodes[id] = node;
                id
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() - 1
            }
        });
    }

    /// More paths are expected where `path` is, and no node was opened for them.
    pub(crate) fn expect_more(&mut self, path: &Path, more: usize) {
        if let Some(id) = path.node {
            self.nodes[id].expected += more;
        }
    }

    /// Lets a path meet those that it is expected by, as long as it stands where they wait. Returns what goes on.
    pub(crate) fn meet(&mut self, mut path: Path) -> Option<Path> {
        while let Some(id) = path.node {
            let node = &self.nodes[id];
            if (node.block, node.depth) != (path.block, path.frames.len()) {
                break;
            }
            path = self.arrive(id, path)?;
        }
        Some(path)
    }

    /// A path has come to its innermost node.
    pub(crate) fn arrive(&mut self, id: usize, path: Path) -> Option<Path> {
        let node = &mut self.nodes[id];
        node.expected -= 1;
        match &mut node.waiting {
            Some(waiting) => {
                waiting.weight += path.weight;
                waiting.join(&path);
            }
            None => node.waiting = Some(path),
        }
        self.close(id)
    }

    fn close(&mut self, id: usize) -> Option<Path> {
        let node = &mut self.nodes[id];
        if node.expected > 0 {
            return None;
        }
        self.free.push(id);
        let mut path = node.waiting.take()?;
        // Alternatives add up to the whole; paths that are both taken are no more than it.
        if path.weight > node.weight * (1.0 - 1e-9) {
            path.weight = node.weight;
        }
        path.node = node.parent;
        Some(path)
    }

    /// A path has ended: nobody waits for it any more. Returns the path that can go on for that.
    pub(crate) fn leave(&mut self, mut node: Option<usize>) -> Option<Path> {
        while let Some(id) = node {
            self.nodes[id].expected -= 1;
            if self.nodes[id].expected > 0 {
                return None;
            }
            node = self.nodes[id].parent;
            if let Some(path) = self.close(id) {
                return Some(path);
            }
        }
        None
    }
}
