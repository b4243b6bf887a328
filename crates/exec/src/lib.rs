//! SIMT emulator: runs a kernel's grid on the CPU, checks every access, and tells an observer what happened.
//!
//! Main types: [`Device`] (memory), [`Program`] (a decoded kernel), [`Launch`], [`launch`]; errors are [`ExecError`].
//! [`decoded`] is a kernel as data; an [`Engine`] runs its operations, [`Simt`] unless another one is asked for.
//!
//! Invariants: no operation runs with an empty mask; a lane is in exactly one path, which may wait, or waits at a node, or
//! has exited; memory is touched only after the access was checked; all unsafe code is in `raw`.
//! This crate does not know about cycles, latencies, files or text.

mod access;
mod barrier;
mod bind;
mod calls;
mod cluster;
mod code;
mod communication;
mod constants;
mod convergence;
mod cta;
mod decode;
pub mod decoded;
mod divergence;
pub mod engine;
mod error;
pub mod exchange;
mod flow;
mod format;
mod grid;
mod interpret;
mod layout;
pub mod meeting;
mod memory;
mod mode;
mod phase;
mod program;
mod race;
mod raw;
mod run;
pub mod semantics;
mod shapes;
mod simt;
mod synchronize;
mod system;
pub mod texture;
mod waiting;
mod warpgroup;

pub use barrier::BarrierRule;
pub use decode::Unsupported;
pub use engine::Engine;
pub use error::{
    AccessError, AccessFault, ExecError, HandleFault, NearestBuffer, TextureError, TextureFault, ThreadCoordinates,
    WaitingPlace, WaitingWarp,
};
pub use grid::{Launch, LaunchSummary, Parts, Schedule, launch};
pub use memory::{BadFree, Buffer, BufferId, Device, HEAP_BYTES, ImageId, Marks, MemoryError, Place};
pub use program::{Order, Program};
pub use race::Race;
pub use semantics::tensor::TensorCores;
pub use simt::Simt;
