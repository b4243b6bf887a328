//! Fatbins in programs, libraries and objects of the host.
//!
//! nvcc puts them into the section `.nv_fatbin`, and those of code that is yet to be linked (`-rdc=true`) into
//! `__nv_relfatbin`: one behind the other, each at a multiple of 8 bytes, with zeros between them.

use super::elf::File;
use super::error::Error;
use super::fatbin::{self, Fault};

/// Sections with fatbins.
const SECTIONS: [&[u8]; 2] = [b".nv_fatbin", b"__nv_relfatbin"];
/// What fatbins are aligned to, in bytes.
const ALIGNMENT: usize = 8;

/// A fatbin in a file of the host.
pub(super) struct Found<'b> {
    /// The section that it lies in.
    pub(super) section: String,
    /// Where it begins in the file.
    pub(super) offset: u64,
    pub(super) bytes: &'b [u8],
}

/// The fatbins of an ELF file that is no cubin.
pub(super) fn fatbins<'b>(file: &File<'b>) -> Result<Vec<Found<'b>>, Error> {
    let mut found = Vec::new();
    for head in file.heads()? {
        if SECTIONS.contains(&head.name) {
            in_section(&head.text(), head.offset(), file.data(&head)?, &mut found)?;
        }
    }
    if found.is_empty() { Err(Error::NoDeviceCode { machine: file.machine() }) } else { Ok(found) }
}

fn in_section<'b>(name: &str, start: u64, data: &'b [u8], found: &mut Vec<Found<'b>>) -> Result<(), Error> {
    let mut at = 0;
    while at < data.len() {
        // Between fatbins there are zeros.
        if data[at..].iter().take(ALIGNMENT).all(|&byte| byte == 0) {
            at += ALIGNMENT;
            continue;
        }
        let offset = start.saturating_add(at as u64);
        let fault = |fault: Fault| Error::Fatbin { offset, fault };
        let length = fatbin::length(&data[at..]).map_err(fault)?;
        let bytes = data[at..].get(..length).ok_or_else(|| fault(Fault::Cut))?;
        found.push(Found { section: name.to_owned(), offset, bytes });
        at = (at + length).next_multiple_of(ALIGNMENT);
    }
    Ok(())
}
