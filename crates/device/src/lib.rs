//! An emulated device as its users see it: modules are loaded, linked and unloaded, memory is allocated, copied and
//! freed, textures and surfaces are made of it, kernels are launched one after the other.
//!
//! Main types: [`Context`]; [`ModuleHandle`], [`Allocation`], [`Kernel`] and [`Symbol`], which a context hands out;
//! [`Error`]. Launch files are one client; what serves a program that brings its own launches is another.
//!
//! Invariants: a handle means the same thing for ever, or an error once that is gone: neither handles nor addresses are
//! used twice; no call panics, whatever handle or address it is given; memory is bounded by the limit of the context.
//! This crate does not know about PTX text, files, launch files or what is counted.

mod context;
mod error;
mod handle;
mod memory;
mod module;
mod texture;

pub use context::{Context, MAX_SHARED_BYTES};
pub use error::Error;
pub use handle::{Allocation, ModuleHandle};
pub use memory::Location;
pub use module::{Kernel, KernelHandle, NamedPlace, Symbol};
pub use warplens_exec::Marks;
pub use warplens_exec::texture::{Resource, TexelPlace};
