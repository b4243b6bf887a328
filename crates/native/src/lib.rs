//! Machine code that others wrote down, for the timing simulation: listings of the GT200 era with annotated addresses
//!
//! Both end in the same [`Code`](warplens_trace::Code) and [`CtaTrace`](warplens_trace::CtaTrace)s as an emulated
//! execution. Nothing is executed: a listing says where the lanes of a memory instruction point, a trace has recorded it.
//! This crate does not know about machines, IR or time, and opens no files.

mod listing;

pub use listing::{Listing, read_listing, read_listing_with};
