//! Machine code that others wrote down, for the timing simulation: listings of the GT200 era with annotated addresses
//! ([`read_listing`]), and traces in the SASS format of Accel-Sim ([`read_sass_trace`]).
//!
//! Both end in the same [`Code`](warplens_trace::Code) and [`CtaTrace`](warplens_trace::CtaTrace)s as an emulated
//! execution. Nothing is executed: a listing says where the lanes of a memory instruction point, a trace has recorded it.
//! This crate does not know about machines, IR or time, and opens no files.

mod listing;
mod sass;

pub use listing::{Listing, read_listing, read_listing_with};
pub use sass::{Dim3, SassTrace, TraceHeader, read_sass_trace};
