//! What an engine asks while it runs the operations of a block.

use warplens_trace::Observer;

use crate::cta::Cta;
use crate::decoded::Block;
use crate::divergence::Path;
use crate::engine::Engine;
use crate::interpret::Worker;

/// A path in a block, and all that its operations can touch.
pub struct Run<'r, 'a, E: Engine, O: Observer> {
    pub(crate) worker: &'r mut Worker<'a, E, O>,
    pub(crate) cta: &'r mut Cta<E, O::Cta>,
    pub(crate) warp_index: usize,
    pub(crate) path: &'r mut Path,
    pub(crate) block: &'a Block,
    /// The operation to begin with.
    pub(crate) first: u32,
}
