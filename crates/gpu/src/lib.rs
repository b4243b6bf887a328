//! A GPU that is there: launches run on it and are timed, by the CUDA driver that is found at run time.
//!
//! Main types: [`Gpu`], which is opened once; [`Module`], what the driver made of a PTX text; [`Placed`], the buffers of a
//! plan in the memory of the GPU, with its launches; [`Timing`], what launches took.
//!
//! Invariants: nothing here needs a driver to build or to start, and without one, or with one that only emulates a GPU,
//! [`Gpu::open`] says so; everything that is taken from the driver goes back when its owner is dropped; settings of the
//! GPU, its clocks above all, stay as they are. This crate does not know about programs, machine files or models.

mod driver;
mod gpu;
mod image;
mod management;
mod module;
mod placed;
mod timing;

pub use gpu::{Facts, Gpu};
pub use module::Module;
pub use placed::Placed;
pub use timing::{Cache, Repeats, Timing};
