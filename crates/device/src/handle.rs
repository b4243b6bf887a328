//! Handles: what a context hands out for a module or an allocation.
//!
//! A handle names its context, so that one of another context is noticed, and a place that is never given to anything
//! else, so that one that is too old is noticed.

use std::sync::atomic::{AtomicU64, Ordering};

use warplens_exec::{BufferId, ImageId};

/// The context that a handle belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Owner(u64);

impl Owner {
    /// One that no other context of the process has.
    pub(crate) fn unique() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A module that was loaded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ModuleHandle {
    pub(crate) owner: Owner,
    pub(crate) id: ImageId,
}

/// Memory that was allocated.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Allocation {
    pub(crate) owner: Owner,
    pub(crate) id: BufferId,
}
