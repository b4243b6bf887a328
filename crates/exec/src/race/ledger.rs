//! The notes on all buffers of a launch.
//!
//! Loads are the most frequent accesses, and most buffers that are loaded from are not written: loads are noted only
//! from buffers that the launch also changes. Which ones these are turns out on the way; the launch then starts anew,
//! usually in its first CTA.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use super::shadow::{Kind, Shadow};
use crate::memory::{BufferId, Device};

/// Why a launch has to be undone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Halt {
    /// Loads have to be noted too from some buffer.
    Mixed = 1,
    /// A CTA got in the way of another one.
    Overlap = 2,
}

/// Who did what to which buffer.
pub(crate) struct Ledger {
    buffers: Vec<Notes>,
    halt: AtomicU8,
}

#[derive(Default)]
struct Notes {
    /// Kinds of access that there were.
    kinds: AtomicU8,
    /// The buffer is loaded from and changed.
    is_mixed: bool,
    shadow: OnceLock<Shadow>,
}

impl Notes {
    fn loads_and_changes(&self) -> bool {
        let kinds = self.kinds.load(Ordering::Relaxed);
        kinds & Kind::Load as u8 != 0 && kinds & !(Kind::Load as u8) != 0
    }
}

impl Ledger {
    pub(crate) fn new(device: &Device) -> Self {
        let buffers = (0..device.n_buffers()).map(|_| Notes::default()).collect();
        Self { buffers, halt: AtomicU8::new(0) }
    }

    /// Notes that a buffer is accessed. Says where to note the bytes, if that matters.
    pub(crate) fn note(&self, device: &Device, id: BufferId, kind: Kind) -> Option<&Shadow> {
        let notes = &self.buffers[id.0 as usize];
        if notes.kinds.load(Ordering::Relaxed) & kind as u8 == 0 {
            notes.kinds.fetch_or(kind as u8, Ordering::Relaxed);
        }
        if notes.loads_and_changes() && !notes.is_mixed {
            // What the access changes is kept all the same, to be undone.
            self.halt(Halt::Mixed);
        }
        let is_noted = kind != Kind::Load || notes.is_mixed;
        is_noted.then(|| notes.shadow.get_or_init(|| Shadow::new(&device.buffer(id).cells)))
    }

    /// Forgets who touched some bytes of a buffer.
    pub(crate) fn forget(&self, id: BufferId, bytes: std::ops::Range<u64>) {
        if let Some(shadow) = self.buffers.get(id.0 as usize).and_then(|notes| notes.shadow.get()) {
            shadow.forget(bytes);
        }
    }

    /// Asks everybody to stop. An overlap outweighs the rest.
    pub(crate) fn halt(&self, why: Halt) {
        self.halt.fetch_max(why as u8, Ordering::Relaxed);
    }

    pub(crate) fn halted(&self) -> Option<Halt> {
        match self.halt.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Halt::Mixed),
            _ => Some(Halt::Overlap),
        }
    }

    /// True if some buffer is loaded from and changed.
    pub(crate) fn is_mixed(&self) -> bool {
        self.buffers.iter().any(Notes::loads_and_changes)
    }

    /// Puts back what stood in memory before, and forgets who did what; but remembers which buffers are mixed.
    pub(crate) fn undo(&mut self, device: &Device) {
        for (index, notes) in self.buffers.iter_mut().enumerate() {
            if let Some(shadow) = notes.shadow.take() {
                shadow.undo(&device.buffer(BufferId(index as u32)).cells);
            }
            notes.is_mixed |= notes.loads_and_changes();
            *notes.kinds.get_mut() = 0;
        }
        *self.halt.get_mut() = 0;
    }

    /// Puts back what stood in memory before, and forgets everything.
    pub(crate) fn reset(&mut self, device: &Device) {
        self.undo(device);
        self.buffers.iter_mut().for_each(|notes| notes.is_mixed = false);
    }
}
