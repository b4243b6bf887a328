//! The CUDA runtime and driver API with its C ABI, served by the emulator.
//!
//! A function of CUDA is one entry of `api!` here: it takes C's arguments apart, asks the `Runtime` and stores what C
//! wants to have. What is not supported exists too, and says so once. The shared libraries are made of this by the crates
//! `cudart12` and `cudart13`, one for each version of the runtime's structures; both serve the driver API as well, so that
//! a program that calls both has one device.
//!
//! Unsafe code is in `pointers` (what C hands in), `host` (memory at given addresses, the C library's standard output)
//! and in the attributes that export names; docs/decisions/0023-cuda-libraries.md says why.
#![cfg(target_os = "linux")]
#![allow(unsafe_code, non_snake_case)]

mod arrays;
mod driver;
mod driver_array;
mod driver_graph;
mod driver_library;
mod driver_link;
mod driver_memory;
mod driver_module;
mod driver_occupancy;
mod driver_stream;
mod driver_tensor_map;
mod errors;
mod functions;
mod graphs;
mod guard;
mod host;
mod operations;
mod pointers;
mod registration;
mod runtime_array;
mod runtime_device;
mod runtime_graph;
mod runtime_launch;
mod runtime_library;
mod runtime_memory;
mod runtime_pool;
mod runtime_stream;
mod structures;
mod user_objects;

pub use structures::set_major_version;

pub(crate) use warplens_runtime::Runtime;

/// Functions of one interface: each returns an error code, and is guarded.
///
/// The types of the arguments are C's. A pointer is one of the types of `pointers`, so that nothing here is unsafe but the
/// export of a name that others may call.
macro_rules! api {
    ($guard:path; $($(#[doc = $doc:literal])* fn $name:ident($($argument:ident: $ty:ty),* $(,)?) |$runtime:pat_param| $body:block)*) => {
        $(
            $(#[doc = $doc])*
            #[unsafe(no_mangle)]
            pub(crate) unsafe extern "C" fn $name($($argument: $ty),*) -> i32 {
                $guard(move |$runtime: &mut crate::Runtime| -> std::result::Result<(), warplens_runtime::Status> { $body })
            }
        )*
    };
}
pub(crate) use api;
