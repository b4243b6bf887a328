//! Finds what is wrong with launches that go well.
//!
//! Main types: [`Watcher`], an observer of a launch; [`Written`], which bytes of the device's memory something has written;
//! [`Found`], what a watcher has to say.
//!
//! Invariants: what is found does not depend on the number of host threads, and two accesses are called a race only if
//! nothing that the program does orders them. This crate does not know about allocations, names of kernels or messages:
//! it speaks of addresses, instructions and threads by number.

mod found;
mod hazards;
mod watcher;
mod written;

pub use found::{Fault, Found, Hazard};
pub use watcher::{Ordered, Watcher};
pub use written::Written;
