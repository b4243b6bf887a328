//! Why a file cannot be read.

use thiserror::Error;

use super::fatbin::Fault;

/// Why bytes are no device code, or none that can be read. Offsets are bytes from the start of the file, or of the cubin
/// where it lies in another file.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// There are no bytes.
    #[error("the file is empty")]
    Empty,
    /// It begins neither as an ELF file nor as a fatbin.
    #[error("it is neither an ELF file nor a fatbin: it begins with {}", hex(.0))]
    NotElf(Vec<u8>),
    /// An ELF file of a kind that holds no code of a GPU that is supported.
    #[error("it is an ELF file of {0}, and only those of 64 bits with the low byte first are read")]
    ElfKind(&'static str),
    /// An ELF file of another machine where a cubin is asked for.
    #[error("it is an ELF file for machine {0}, and machine code of a GPU says 190")]
    Machine(u16),
    /// A cubin whose header has another layout.
    #[error("it is a cubin of an unknown layout: OS ABI {os_abi:#x}, version {version}")]
    Layout {
        /// Byte 7 of the file.
        os_abi: u8,
        /// Byte 8 of the file.
        version: u8,
    },
    /// A program, library or object without device code.
    #[error("it is an ELF file for machine {machine} without code for a GPU: no section holds a fatbin")]
    NoDeviceCode {
        /// The machine of the host.
        machine: u16,
    },
    /// The file ends too early.
    #[error("the file ends early: {what} would need {needed} bytes, and it has {has}")]
    Truncated {
        /// What is not there as a whole.
        what: String,
        /// Bytes of the file that this needs.
        needed: u64,
        /// Bytes of the file.
        has: u64,
    },
    /// A part of an ELF file holds what it cannot.
    #[error("section `{section}` is damaged at offset {offset:#x}: {why}")]
    Section {
        /// Name of the section, or what it is where it has no name.
        section: String,
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        why: String,
    },
    /// A fatbin that cannot be read.
    #[error("the fatbin at offset {offset:#x} cannot be read: {fault}")]
    Fatbin {
        /// Where it begins in the file.
        offset: u64,
        /// What is wrong with it.
        fault: Fault,
    },
    /// Sections that cover the same bytes again and again.
    #[error("its sections and names add up to more than {most} bytes: they cover the same bytes many times")]
    TooMuch {
        /// Bytes that are read at most.
        most: u64,
    },
    /// Another kind of image is asked for.
    #[error("it is {is}, and {asked} is asked for")]
    Kind {
        /// What it is.
        is: &'static str,
        /// What is asked for.
        asked: &'static str,
    },
}

impl Error {
    pub(super) fn section(section: &str, offset: u64, why: impl Into<String>) -> Self {
        Self::Section { section: section.to_owned(), offset, why: why.into() }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}
