//! What memory moves at once, and what a profile counts in: sectors, four of which are a line.
//!
//! Transactions of global memory have 32, 64 or 128 bytes (CUDA C++ Programming Guide, device memory accesses), and the
//! machine files of designs with caches state lines of 128 bytes.

/// Bytes of a sector.
pub const BYTES: u64 = 32;

/// Bytes of a line.
pub const LINE_BYTES: u64 = 128;

/// Sectors of a line.
pub const PER_LINE: u64 = LINE_BYTES / BYTES;
