//! Memory accesses of a warp.

use warplens_isa::StateSpace;

use crate::{ActiveMask, Addresses};

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

impl AccessKind {
    const ALL: [Self; 3] = [Self::Load, Self::Store, Self::Atomic];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Atomic => "atomic",
        }
    }

    /// The kind of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
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
    /// Lanes that access memory; never empty. Those of a bulk copy are places in memory and no threads.
    pub mask: ActiveMask,
    /// Byte address per lane. Global addresses are those of the device address space,
    /// constant, parameter and shared addresses count from the start of their space, local ones from the start of the
    /// thread's own local memory. Those of barriers in memory say what these are told ([`Told`](crate::Told)).
    pub addresses: Addresses<'a>,
    /// Lanes of a store to shared memory that leave what stands there; empty unless the observer
    /// [wants](crate::Observer::wants_values) to know.
    pub unchanged: ActiveMask,
}

impl Access<'_> {
    /// Bytes that each lane accesses.
    pub const fn lane_bytes(&self) -> u32 {
        self.element_bytes as u32 * self.elements as u32
    }
}
