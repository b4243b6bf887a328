//! Micro-benchmarks that others ran on GPUs, simulated: how far the simulation is off. The tables in
//! `validation/teg-accuracy.md` hold the errors; `UPDATE=1` rewrites them, and they are read like code.
//!
//! The kernels are traces written by hand, as the vendor's compiler makes their loops: what they do is nothing but a few
//! instructions with known addresses.

mod chase;
mod document;
mod program;
mod strides;
