//! What the emulator does, seen through PTX modules that each show one behaviour.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]

mod cases;
mod expectation;
mod heap;
mod kernel_text;
mod limits;
mod local_arrays;
mod machine_code;
mod members;
mod memory;
mod races;
mod random;
mod vectors;
mod video;
mod waiting;

/// The engine that executes what is written in the IR.
type Tested = warplens_exec::Simt;
