//! Machine code of NVIDIA GPUs.
//!
//! [`container`] reads the files in which it comes: cubins, the fatbins that hold several of them, and the programs that
//! hold fatbins. Main types: [`container::Image`], one piece of device code and where it was found; [`container::Cubin`],
//! the kernels, functions, variables and constants of a cubin; [`container::LineTable`], the lines of the source that its
//! instructions came from.
//!
//! [`Decoder`] knows how a chip encodes its instructions, and makes an [`Instruction`] of a word, with its [`Control`]: the
//! scheduling that the assembler wrote into it.
//!
//! [`lower`] makes of a cubin a module of the warplens IR, which the emulator executes.
//!
//! Invariants: whatever the bytes say, reading them ends in a value or an error, and takes memory in proportion to them.
//! This crate does not know about files, launches or GPUs that run code, and opens nothing: bytes are handed in.

pub mod container;
mod control;
mod decode;
mod encoding;
pub mod hazards;
pub mod lower;
mod number;
mod syntax;

pub use control::Control;
pub use decode::{Decoder, DecoderError, Instruction, WORD_BYTES, words};
pub use encoding::{CHIPS, TableError};
