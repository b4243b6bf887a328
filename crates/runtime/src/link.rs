//! Code that a program puts together while it runs: parts are added to a linker, and what comes out is a container.
//!
//! The container takes the place of the machine code that CUDA's linker gives: it holds the PTX of all parts, which are
//! linked when it is loaded. Numbers are little-endian: magic number, version, bytes of all of it, number of texts; then
//! for each text its length and itself.

use warplens_session::served;

use crate::handles::Handle;
use crate::kernels::ModuleSource;
use crate::runtime::{Runtime, words};
use crate::status::{Result, Status};

/// First bytes of a container of linked parts.
pub const MAGIC: u32 = u32::from_le_bytes(*b"\x7fWPL");
/// Bytes in front of its texts.
pub const HEADER_BYTES: usize = 24;
const VERSION: u32 = 1;
/// Most bytes that a container may claim to have.
const MOST_BYTES: u64 = 1 << 30;

/// What is being linked.
#[derive(Default)]
pub(crate) struct Linker {
    parts: Vec<String>,
    /// The container, once it is complete: the program reads it where it is.
    container: Vec<u8>,
}

/// Bytes of a whole container by its header.
pub fn length(header: &[u8]) -> Result<usize> {
    let number = |at: usize| header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
    let bytes = header.get(8..16).and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
    match (number(0), number(4), bytes) {
        (Some(MAGIC), Some(VERSION), Some(bytes)) if (HEADER_BYTES as u64..=MOST_BYTES).contains(&bytes) => {
            Ok(bytes as usize)
        }
        _ => Err(Status::INVALID_IMAGE),
    }
}

/// A container of these texts.
fn pack(parts: &[String]) -> Vec<u8> {
    let bytes: usize = parts.iter().map(|part| part.len() + 8).sum();
    let mut container = [MAGIC.to_le_bytes(), VERSION.to_le_bytes()].concat();
    container.extend(((HEADER_BYTES + bytes) as u64).to_le_bytes());
    container.extend((parts.len() as u64).to_le_bytes());
    for part in parts {
        container.extend((part.len() as u64).to_le_bytes());
        container.extend(part.as_bytes());
    }
    container
}

/// The texts of a container.
pub fn unpack(container: &[u8]) -> Result<Vec<String>> {
    let mut rest = container.get(HEADER_BYTES..length(container)?).ok_or(Status::INVALID_IMAGE)?;
    let mut parts = Vec::new();
    while let Some((count, behind)) = rest.split_first_chunk::<8>() {
        let count = usize::try_from(u64::from_le_bytes(*count)).map_err(|_| Status::INVALID_IMAGE)?;
        let text = behind.get(..count).ok_or(Status::INVALID_IMAGE)?;
        parts.push(String::from_utf8(text.to_vec()).map_err(|_| Status::INVALID_IMAGE)?);
        rest = &behind[count..];
    }
    if parts.is_empty() || !rest.is_empty() { Err(Status::INVALID_IMAGE) } else { Ok(parts) }
}

impl Runtime {
    /// Begins to link.
    pub fn create_linker(&mut self) -> Handle {
        self.linkers.insert(Linker::default())
    }

    /// Adds code, called `name` in messages. It is read at once, so that what is wrong with it is said here.
    pub fn add_to_linker(&mut self, linker: Handle, name: &str, source: ModuleSource) -> Result<()> {
        self.linkers.get(linker).ok_or(Status::INVALID_HANDLE)?;
        let parts = self.texts(source)?;
        self.add_texts(linker, name, parts)
    }

    /// Adds the PTX of an object or an archive.
    pub fn add_library_to_linker(&mut self, linker: Handle, name: &str, library: &[u8]) -> Result<()> {
        self.linkers.get(linker).ok_or(Status::INVALID_HANDLE)?;
        let parts = self.library_texts(library)?;
        self.add_texts(linker, name, parts)
    }

    fn add_texts(&mut self, linker: Handle, name: &str, parts: Vec<String>) -> Result<()> {
        for part in &parts {
            served::check_part(name, part).map_err(|error| self.fail(Status::INVALID_PTX, &words(&error)))?;
        }
        self.linkers.get_mut(linker).ok_or(Status::INVALID_HANDLE)?.parts.extend(parts);
        Ok(())
    }

    /// Links what was added. The container stays where it is for as long as the linker.
    pub fn complete_linker(&mut self, linker: Handle) -> Result<&[u8]> {
        let parts = &self.linkers.get(linker).ok_or(Status::INVALID_HANDLE)?.parts;
        if let Err(error) = served::check_whole("linked code", parts) {
            return Err(self.fail(Status::INVALID_PTX, &words(&error)));
        }
        let linker = self.linkers.get_mut(linker).ok_or(Status::INVALID_HANDLE)?;
        linker.container = pack(&linker.parts);
        Ok(&linker.container)
    }

    /// Ends it, and takes the container away.
    pub fn destroy_linker(&mut self, linker: Handle) -> Result<()> {
        self.linkers.remove(linker).map(drop).ok_or(Status::INVALID_HANDLE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_out_as_they_went_in() {
        let parts = ["first".to_owned(), String::new(), "third\n".to_owned()];
        assert_eq!(unpack(&pack(&parts)), Ok(parts.to_vec()));
    }

    #[test]
    fn hostile_containers_end_in_an_error() {
        let whole = pack(&["first".to_owned(), "second".to_owned()]);
        for end in 0..whole.len() {
            assert!(unpack(&whole[..end]).is_err(), "{end}");
        }
        for at in 0..whole.len() {
            for byte in [0, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                drop(unpack(&bytes));
            }
        }
        assert!(unpack(&pack(&[])).is_err());
    }
}
