//! What is launched: kernel, grid, arguments; as users write it, and bound to a kernel's parameters.
//!
//! A [`Launch`] is what was written, on the command line or in a file. [`Plan`] is the same with every argument turned
//! into bytes and buffers, checked against the kernel.
//! This crate does not know about the emulator or machines, and opens no files: who binds a launch hands in a reader.

mod cluster;
mod content;
mod element;
mod file;
mod kernel_name;
mod launch;
pub mod npy;
mod plan;
mod scanner;
mod shape;
mod tensor_map;
mod texture;
mod value;

pub use cluster::{ClusterDemands, cluster_of};
pub use element::{Element, ElementType, Number};
pub use file::Script;
pub use kernel_name::KernelName;
pub use launch::{Launch, LaunchArgument, LaunchSymbol};
pub use plan::{
    BufferId, KernelInterface, ObjectId, Plan, PlannedBuffer, PlannedLaunch, PlannedObject, PlannedSymbol, Pointer,
    Words, element_of, extents,
};
pub use shape::{Extents, check as check_extents, parse_extents};
pub use texture::{ObjectSettings, Texels};
pub use value::{Argument, Buffer, Content, Member, ObjectValue, Reference, Target, TensorMapText, Value};
