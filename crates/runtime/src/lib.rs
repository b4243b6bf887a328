//! What a program that calls CUDA has of a GPU, served by the emulator.
//!
//! Main types: [`Runtime`], all that the calls of a process share; [`Status`], CUDA's error codes; [`HostMemory`], what
//! memory that host and device see at one address needs of the host.
//!
//! Invariants: handles are numbers that are never used twice, so that a wrong one is an error; no call panics, whatever it
//! is given. This crate does not know about C, pointers of the host, or how functions are exported: the crate `cuda`
//! turns what C hands in into slices and numbers.

mod archive;
mod arrays;
mod capture;
mod checks;
mod clock;
mod config;
mod graphs;
mod handles;
mod kernels;
mod launch;
pub mod link;
mod memory;
mod operations;
mod pools;
mod properties;
mod runtime;
mod status;
mod streams;
mod timeline;
mod times;
mod user_objects;

pub use arrays::{ArrayInfo, TexelSource};
pub use capture::{CaptureInfo, CaptureMode};
pub use clock::Nanoseconds;
pub use config::Config;
pub use graphs::{Step, UpdateFault};
pub use handles::Handle;
pub use kernels::{FunctionInfo, ModuleSource, ParameterPlace};
pub use launch::Request;
pub use memory::{HostMemory, MemoryKind, NoMemory, Pointer};
pub use operations::{Extent, Fill, Operation, Rows, Transfer, is_empty};
pub use pools::Pool;
pub use properties::{Attribute, Properties};
pub use runtime::{Runtime, say};
pub use status::Status;
pub use user_objects::HostCall;
pub use warplens_isa::{AddressMode, Channel, Filter, ReadMode, Sampler, TexelFormat};
pub use warplens_session::trail::CopyKind;
