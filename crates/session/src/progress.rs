//! How far work has come, for whoever shows it, and that nobody wants it any more.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How far the work is; read by whoever shows it.
#[derive(Debug, Default)]
pub struct Progress {
    /// CTAs that ended, or whatever else the work consists of.
    pub done: AtomicU64,
    /// All of them; 0 until known.
    pub total: AtomicU64,
    stopped: AtomicBool,
}

impl Progress {
    /// Nobody wants the result any more: work that asks ends at its next step.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether the work may end without a result.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}
