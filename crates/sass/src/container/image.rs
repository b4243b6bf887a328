//! The one entry to all files with device code.

use std::borrow::Cow;

use super::cubin::Cubin;
use super::elf::{self, File};
use super::error::Error;
use super::fatbin::{self, Entry, Fault, Kind};
use super::host;

/// Where a piece of device code was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// It is the file.
    File,
    /// It is an entry of a fatbin.
    Fatbin {
        /// The section of a program, library or object that the fatbin lies in; None where it is the file.
        section: Option<String>,
        /// Where the fatbin begins in the file.
        offset: u64,
        /// Position among the entries of the fatbin.
        entry: usize,
    },
}

/// What a piece of device code is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImageKind {
    /// PTX text.
    Ptx,
    /// Machine code.
    Cubin,
    /// Something else in a fatbin, by its number there.
    Other(u16),
}

impl ImageKind {
    /// What messages call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ptx => "PTX",
            Self::Cubin => "machine code",
            Self::Other(_) => "an entry of an unknown kind",
        }
    }
}

/// A piece of device code. What is in it is unpacked and read when it is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Image<'b> {
    /// Where it was found.
    pub place: Place,
    /// What it is.
    pub kind: ImageKind,
    content: Content<'b>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Content<'b> {
    Bytes(&'b [u8]),
    Entry(Entry<'b>),
}

/// The device code in a cubin, in a fatbin, or in a program, library or object of the host.
pub fn read(bytes: &[u8]) -> Result<Vec<Image<'_>>, Error> {
    if bytes.starts_with(&fatbin::MAGIC.to_le_bytes()) {
        let mut images = Vec::new();
        add_entries(None, 0, bytes, &mut images)?;
        return Ok(images);
    }
    let file = File::read(bytes)?;
    if file.machine() == elf::GPU {
        return Ok(vec![Image { place: Place::File, kind: ImageKind::Cubin, content: Content::Bytes(bytes) }]);
    }
    let mut images = Vec::new();
    for found in host::fatbins(&file)? {
        add_entries(Some(&found.section), found.offset, found.bytes, &mut images)?;
    }
    Ok(images)
}

fn add_entries<'b>(
    section: Option<&str>,
    offset: u64,
    bytes: &'b [u8],
    images: &mut Vec<Image<'b>>,
) -> Result<(), Error> {
    let entries = fatbin::entries(bytes).map_err(|fault| Error::Fatbin { offset, fault })?;
    for (index, entry) in entries.into_iter().enumerate() {
        images.push(Image {
            place: Place::Fatbin { section: section.map(str::to_owned), offset, entry: index },
            kind: match entry.kind {
                Kind::Ptx => ImageKind::Ptx,
                Kind::MachineCode => ImageKind::Cubin,
                Kind::Other(kind) => ImageKind::Other(kind),
            },
            content: Content::Entry(entry),
        });
    }
    Ok(())
}

impl<'b> Image<'b> {
    /// The entry of the fatbin that it lies in, with its architecture, version, name and options.
    pub fn entry(&self) -> Option<&Entry<'b>> {
        match &self.content {
            Content::Bytes(_) => None,
            Content::Entry(entry) => Some(entry),
        }
    }

    /// Its bytes, unpacked.
    pub fn bytes(&self) -> Result<Cow<'b, [u8]>, Error> {
        match &self.content {
            Content::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Content::Entry(entry) => entry.bytes().map_err(|fault| self.fault(fault)),
        }
    }

    /// Reads its machine code.
    pub fn cubin(&self) -> Result<Cubin, Error> {
        if self.kind == ImageKind::Cubin {
            return Cubin::read(&self.bytes()?);
        }
        Err(Error::Kind { is: self.kind.name(), asked: ImageKind::Cubin.name() })
    }

    /// Its PTX.
    pub fn ptx(&self) -> Result<String, Error> {
        match &self.content {
            Content::Entry(entry) if self.kind == ImageKind::Ptx => entry.text().map_err(|fault| self.fault(fault)),
            _ => Err(Error::Kind { is: self.kind.name(), asked: ImageKind::Ptx.name() }),
        }
    }

    fn fault(&self, fault: Fault) -> Error {
        let offset = match self.place {
            Place::File => 0,
            Place::Fatbin { offset, .. } => offset,
        };
        Error::Fatbin { offset, fault }
    }
}
