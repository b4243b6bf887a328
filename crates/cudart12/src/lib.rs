//! The CUDA libraries of version 12 as one shared library: all functions are those of the crate `cuda`.
#![cfg(target_os = "linux")]
#![allow(unsafe_code)]

/// Says with which structures programs were compiled that load this library, before any of them runs.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    warplens_cuda::set_major_version(12);
}
