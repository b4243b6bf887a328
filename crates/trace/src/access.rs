//! Memory accesses of a warp.

use warplens_isa::StateSpace;

use crate::{ActiveMask, WARP_SIZE};

/// What a memory instruction does with its addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads, modifies and writes; with or without returning the old value.
    Atomic,
}

/// One execution of a memory instruction by a warp: a request.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// State space that the addresses lie in; never generic. A generic access to several spaces gives one event each.
    pub space: StateSpace,
    /// Load, store or atomic.
    pub kind: AccessKind,
    /// Bytes of one element.
    pub element_bytes: u8,
    /// Elements per lane (vector accesses have 2, 4 or 8).
    pub elements: u8,
    /// Lanes that access memory; never empty.
    pub mask: ActiveMask,
    /// Byte address per lane; meaningless outside `mask`. Global addresses are those of the device address space,
    /// constant, parameter and shared addresses count from the start of their space, local ones from the start of the
    /// thread's own local memory.
    pub addresses: &'a [u64; WARP_SIZE],
}

impl Access<'_> {
    /// Bytes that each lane accesses.
    pub const fn lane_bytes(&self) -> u32 {
        self.element_bytes as u32 * self.elements as u32
    }
}
