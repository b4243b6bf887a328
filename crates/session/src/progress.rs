//! How far work has come, for whoever shows it.

use std::sync::atomic::AtomicU64;

/// How far the work is; read by whoever shows it.
#[derive(Debug, Default)]
pub struct Progress {
    /// CTAs that ended, or whatever else the work consists of.
    pub done: AtomicU64,
    /// All of them; 0 until known.
    pub total: AtomicU64,
}
