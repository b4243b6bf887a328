//! Where the paths of a warp part and meet again: the rules by which lanes run together, for everybody who follows the
//! control of a kernel.
//!
//! A path is a place in the code and the lanes that follow it. A branch that parts its lanes splits it and opens a node at
//! the reconvergence point, where the parts wait for each other; a call opens one behind itself, where all lanes meet
//! whenever they return. Nobody waits for lanes that have ended.
//!
//! What a path carries, and how a node counts who has come, is for the one who follows: the emulator counts lanes; the
//! count without a run counts paths, because a lane may be on two of them there.

use std::fmt;

use warplens_isa::BlockId;

/// A node, by its number in the warp.
pub type NodeId = u32;

/// No node.
pub const NO_NODE: NodeId = u32::MAX;

/// Where a node waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meeting {
    /// A block.
    pub block: BlockId,
    /// In the frame with this number of callers.
    pub callers: usize,
}

/// Lanes that execute together.
pub trait Travels: Clone + fmt::Debug {
    /// Whom a node waits for, and who has come.
    type Awaited: Clone + fmt::Debug;
    /// What has ended.
    type Ended;

    /// A node counts the lanes themselves, so that all nodes around it hear of lanes that end. Otherwise a node counts
    /// one inside it as one path, which ends with the last that the inner one waits for.
    const COUNTS_LANES: bool;

    /// The block and the number of callers.
    fn place(&self) -> (BlockId, usize);

    /// Goes to the beginning of a block.
    fn move_to(&mut self, block: BlockId);

    /// Innermost node that the path is expected at.
    fn node(&self) -> NodeId;

    /// Is expected at another node.
    fn set_node(&mut self, node: NodeId);

    /// Whom a node waits for that is opened for so many paths that are made of this one.
    fn awaited(&self, parts: usize) -> Self::Awaited;

    /// More paths will come, made of one that was expected.
    fn await_more(awaited: &mut Self::Awaited, more: usize);

    /// Comes to a node.
    fn arrive(self, awaited: &mut Self::Awaited, waiting: &mut Option<Self>);

    /// Nobody waits for what has ended.
    fn forget(awaited: &mut Self::Awaited, ended: &Self::Ended);

    /// All have come.
    fn is_complete(awaited: &Self::Awaited) -> bool;

    /// What goes on when all have come, if anything does.
    fn go_on(waiting: Option<Self>, awaited: &Self::Awaited) -> Option<Self>;
}

/// Paths that wait for each other.
#[derive(Clone, Debug)]
pub(crate) struct Node<P: Travels> {
    meeting: Meeting,
    pub(crate) awaited: P::Awaited,
    pub(crate) parent: NodeId,
    /// Those that have come.
    pub(crate) waiting: Option<P>,
}

/// The nodes of a warp.
#[derive(Debug)]
pub struct Nodes<P: Travels> {
    pub(crate) nodes: Vec<Node<P>>,
    free: Vec<NodeId>,
}

impl<P: Travels> Default for Nodes<P> {
    fn default() -> Self {
        Self { nodes: Vec::new(), free: Vec::new() }
    }
}

impl<P: Travels> Nodes<P> {
    /// Opens a node inside the present one of `path`, for so many paths that are made of it.
    pub fn open(&mut self, path: &mut P, meeting: Meeting, parts: usize) {
        let node = Node { meeting, awaited: path.awaited(parts), parent: path.node(), waiting: None };
        path.set_node(match self.free.pop() {
            Some(id) => {
                self.nodes[id as usize] = node;
                id
            }
            None => {
                self.nodes.push(node);
                self.nodes.len() as NodeId - 1
            }
        });
    }

    /// True when the innermost node of `path` waits at `meeting`.
    pub fn meets_at(&self, path: &P, meeting: Meeting) -> bool {
        self.nodes.get(path.node() as usize).is_some_and(|node| node.meeting == meeting)
    }

    /// More paths will come, made of `path`, for which no node was opened.
    fn await_more(&mut self, path: &P, more: usize) {
        if path.node() != NO_NODE {
            P::await_more(&mut self.nodes[path.node() as usize].awaited, more);
        }
    }

    /// Moves a path to a block; none if it waits for others there.
    #[inline(always)]
    pub fn go(&mut self, mut path: P, block: BlockId) -> Option<P> {
        path.move_to(block);
        if path.node() == NO_NODE { Some(path) } else { self.meet(path) }
    }

    /// Lets a path meet those that it is expected by, as long as it stands where they wait. Returns what goes on.
    pub fn meet(&mut self, mut path: P) -> Option<P> {
        loop {
            let (block, callers) = path.place();
            if !self.meets_at(&path, Meeting { block, callers }) {
                return Some(path);
            }
            path = self.arrive(path)?;
        }
    }

    /// A path has come to where its innermost node waits. Returns the path that goes on, if all have come.
    pub fn arrive(&mut self, path: P) -> Option<P> {
        let id = path.node();
        let node = &mut self.nodes[id as usize];
        path.arrive(&mut node.awaited, &mut node.waiting);
        if P::is_complete(&node.awaited) { self.close(id) } else { None }
    }

    /// All that a node waits for have come.
    fn close(&mut self, id: NodeId) -> Option<P> {
        let node = &mut self.nodes[id as usize];
        let mut path = P::go_on(node.waiting.take(), &node.awaited);
        if let Some(path) = &mut path {
            path.set_node(node.parent);
        }
        self.free.push(id);
        path
    }

    /// Splits a path into parts with their places. They meet again at `point`, if there is one. Returns the part that
    /// goes on at once.
    pub fn split(
        &mut self,
        runnable: &mut Vec<P>,
        mut path: P,
        point: Option<BlockId>,
        n_parts: usize,
        parts: impl FnOnce(&P, &mut dyn FnMut(P, BlockId)),
    ) -> Option<P> {
        match point.map(|block| Meeting { block, callers: path.place().1 }) {
            Some(meeting) if !self.meets_at(&path, meeting) => self.open(&mut path, meeting, n_parts),
            // Those who wait at the point, or around it, will see all parts.
            _ => self.await_more(&path, n_parts - 1),
        }
        parts(&path, &mut |part, block| {
            let part = self.go(part, block);
            runnable.extend(part);
        });
        runnable.pop()
    }

    /// A path calls: all lanes meet behind the call, at `next`, whenever they return. Lanes that do not call wait there.
    pub fn call(&mut self, path: &mut P, next: BlockId, others: Option<P>) {
        let meeting = Meeting { block: next, callers: path.place().1 };
        self.open(path, meeting, 1 + usize::from(others.is_some()));
        if let Some(mut others) = others {
            others.set_node(path.node());
            others.move_to(next);
            let complete = self.arrive(others);
            debug_assert!(complete.is_none(), "those that call are still expected");
        }
    }

    /// Some lanes of a path stay in a function from which the others return; they go to a block of it.
    pub fn stay(&mut self, runnable: &mut Vec<P>, staying: P, block: BlockId, others_return: bool) {
        if others_return {
            self.await_more(&staying, 1);
        }
        let staying = self.go(staying, block);
        runnable.extend(staying);
    }

    /// Something that was expected at `node` and around it has ended. What was waiting only for that can run.
    pub fn end(&mut self, runnable: &mut Vec<P>, mut node: NodeId, ended: &P::Ended) {
        let mut released = Vec::new();
        while node != NO_NODE {
            let id = node;
            let entry = &mut self.nodes[id as usize];
            P::forget(&mut entry.awaited, ended);
            node = entry.parent;
            let is_complete = P::is_complete(&entry.awaited);
            let goes_on = if is_complete { self.close(id) } else { None };
            let is_still_expected = !is_complete || goes_on.is_some();
            released.extend(goes_on);
            if !P::COUNTS_LANES && is_still_expected {
                break;
            }
        }
        for path in released {
            let path = self.meet(path);
            runnable.extend(path);
        }
    }

    /// Forgets everything, for the next CTA.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free.clear();
    }
}
