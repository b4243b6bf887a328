//! Saved profiles: the document [`warplens_document::profile`] from measurements, and measurements from it.
//!
//! This is the only place that knows both sides. A key that is missing is a count that the profile lacks. Derived numbers
//! (shares and means) are written but not read: whoever edits counts need not compute them anew. Counts that must agree
//! are checked when they are read.

mod check;
mod groups;
mod opcode;
mod origin;
mod read;
mod recording;
mod sequences;
mod statistics;
#[cfg(test)]
mod tests;
mod words;
mod write;

pub use origin::{emulation, origin, race, support};
pub(crate) use read::read;
pub use read::{document_of, read_registers_basis};
pub use write::{counted, counts, document, launch, registers_basis};
