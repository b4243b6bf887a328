//! The files in which machine code comes.
//!
//! A cubin is an ELF file with the code of one generation ([`Cubin`]). A fatbin packs cubins for several generations and
//! PTX into one file ([`fatbin`]). A program or an object of the host holds fatbins in sections of its own. [`read`] takes
//! any of them and lists the device code inside; what is in a cubin is read when it is asked for ([`Image::cubin`]).
//!
//! NVIDIA documents none of these formats. What bytes mean was found in files of nvcc 11.8, 12.3, 12.8 and 13.0 and in
//! what cuobjdump and nvdisasm 13.5 say about them, also after single bytes of a file were changed; `tests/` holds what
//! is read against what cuobjdump prints.

mod attributes;
mod bytes;
mod cubin;
mod elf;
mod error;
pub mod extent;
pub mod fatbin;
mod host;
mod image;
mod kernels;
mod lines;
mod relocation;

pub use attributes::{ATTRIBUTES, Attribute, Form, KnownAttribute, Value, known};
pub use cubin::{
    Bank, Binding, Cubin, Function, Kernel, Layout, Parameter, Producer, Relocation, Section, SectionId, Shared,
    Symbol, SymbolId, SymbolKind, Target, Variable, VariableSpace,
};
pub use error::Error;
pub use image::{Image, ImageKind, Place, read};
pub use lines::{LineTable, Row, SourceFile};
pub use relocation::relocation_name;
