//! The container in which compilers put PTX and machine code into a program.
//!
//! A container has a header (magic number, version, sizes) and entries. An entry has a header of its own with kind,
//! architecture, flags and sizes; what follows may be packed by LZ4 (speed) or Zstandard (size). Numbers are little-endian.
//! Which bytes mean what was found by looking at files that nvcc 11, 12 and 13 wrote.
//!
//! The header of an entry has, by offset: the kind (0), bytes of the header (4) and of what follows with its padding (8),
//! bytes when packed or 0 (16), where a place and a length of options stand (20), the version (24), the architecture
//! (28), where the name stands and its length (32), flags (40), and bytes when unpacked or 0 (56).

use std::borrow::Cow;
use std::io::Read as _;

use super::bytes;

/// First bytes of a container.
pub const MAGIC: u32 = 0xba55_ed50;
/// Bytes of the header of a container.
const HEADER: usize = 16;
/// Fewest bytes of the header of an entry.
const ENTRY_HEADER: usize = 64;
/// What is in an entry.
const PTX: u16 = 1;
const MACHINE_CODE: u16 = 2;
/// How an entry is packed, in its flags.
const LZ4: u64 = 0x2000;
const ZSTANDARD: u64 = 0x8000;
/// Most bytes that an entry may have: a claim beyond it is no entry of a compiler.
pub const MOST_BYTES: u64 = 1 << 30;
/// Most bytes that a packed byte may become: device code becomes a tenth, and texts of zeros a hundredth.
pub const MOST_RATIO: u64 = 4096;
/// Most entries that are read.
const MOST_ENTRIES: usize = 4096;

/// What an entry holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// PTX text.
    Ptx,
    /// Machine code.
    MachineCode,
    /// Something else, by its number.
    Other(u16),
}

/// An entry of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry<'b> {
    /// What it holds.
    pub kind: Kind,
    /// Compute capability that it was made for: 80 for 8.0.
    pub architecture: u32,
    /// Version of the PTX, or of the conventions of the machine code: major and minor number.
    pub version: (u16, u16),
    /// How it is packed, and other flags.
    pub flags: u64,
    /// The name that the compiler was given, if there is one.
    pub name: &'b str,
    /// Of PTX the words with which ptxas is to be called; of machine code the records of its section `.nv.compat`.
    pub options: &'b [u8],
    unpacked: u64,
    payload: &'b [u8],
}

/// Why a container cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fault {
    /// It does not begin as one.
    Magic,
    /// It ends before it should.
    Cut,
    /// An entry cannot be unpacked.
    Packed(String),
    /// A text is no UTF-8.
    Text,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Magic => write!(f, "it does not begin as a container of device code does"),
            Self::Cut => write!(f, "it ends in the middle"),
            Self::Packed(why) => write!(f, "an entry cannot be unpacked: {why}"),
            Self::Text => write!(f, "its PTX is no text"),
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Fault> {
    bytes::u16_at(bytes, at).ok_or(Fault::Cut)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, Fault> {
    bytes::u32_at(bytes, at).ok_or(Fault::Cut)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, Fault> {
    bytes::u64_at(bytes, at).ok_or(Fault::Cut)
}

/// Bytes of a whole container by its header, of which only that has to be there.
pub fn length(header: &[u8]) -> Result<usize, Fault> {
    if u32_at(header, 0)? != MAGIC {
        return Err(Fault::Magic);
    }
    let (own, entries) = (usize::from(u16_at(header, 6)?), u64_at(header, 8)?);
    if own < HEADER || entries > MOST_BYTES {
        return Err(Fault::Cut);
    }
    Ok(own + entries as usize)
}

/// The containers inside an object or an archive of a compiler, wherever they lie.
pub fn within(bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut at = 0;
    // The sections that hold them begin at words.
    while at + HEADER <= bytes.len() {
        match length(&bytes[at..]).ok().and_then(|length| bytes.get(at..at + length)) {
            Some(container) => {
                found.push(container);
                at += container.len().next_multiple_of(4).max(4);
            }
            None => at += 4,
        }
    }
    found
}

/// Bytes that [`length`] needs.
pub const HEADER_BYTES: usize = HEADER;

/// The entries of a container.
pub fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Fault> {
    let end = length(bytes)?;
    let bytes = bytes.get(..end).ok_or(Fault::Cut)?;
    let mut at = usize::from(u16_at(bytes, 6)?);
    let mut entries = Vec::new();
    while at < end && entries.len() < MOST_ENTRIES {
        let entry = &bytes[at..];
        let (own, padded) = (u32_at(entry, 4)? as usize, u64_at(entry, 8)?);
        if own < ENTRY_HEADER || padded > MOST_BYTES {
            return Err(Fault::Cut);
        }
        let whole = own.checked_add(padded as usize).ok_or(Fault::Cut)?;
        let stored = entry.get(own..whole).ok_or(Fault::Cut)?;
        let (packed, flags) = (u32_at(entry, 16)? as usize, u64_at(entry, 40)?);
        let payload = if packed > 0 { stored.get(..packed).ok_or(Fault::Cut)? } else { stored };
        if packed > 0 && flags & (LZ4 | ZSTANDARD) == 0 {
            return Err(Fault::Packed(format!("it is packed in a way that is not known, by flags {flags:#x}")));
        }
        entries.push(Entry {
            kind: match u16_at(entry, 0)? {
                PTX => Kind::Ptx,
                MACHINE_CODE => Kind::MachineCode,
                other => Kind::Other(other),
            },
            architecture: u32_at(entry, 28)?,
            version: (u16_at(entry, 26)?, u16_at(entry, 24)?),
            flags,
            name: name(&entry[..own]).unwrap_or_default(),
            options: options(&entry[..own]).unwrap_or_default(),
            unpacked: u64_at(entry, 56)?,
            payload,
        });
        at += whole;
    }
    Ok(entries)
}

/// Some bytes of an entry's header.
fn part(header: &[u8], at: u32, length: u32) -> Option<&[u8]> {
    header.get(at as usize..)?.get(..length as usize)
}

/// The name of an entry, by its header. No entry is refused for it.
fn name(header: &[u8]) -> Option<&str> {
    let name = part(header, u32_at(header, 32).ok()?, u32_at(header, 36).ok()?)?;
    std::str::from_utf8(name.split(|&byte| byte == 0).next()?).ok()
}

/// The options of an entry, by its header. No entry is refused for them.
fn options(header: &[u8]) -> Option<&[u8]> {
    let at = u32_at(header, 20).ok().filter(|&at| at != 0)? as usize;
    part(header, u32_at(header, at).ok()?, u32_at(header, at.checked_add(4)?).ok()?)
}

impl<'b> Entry<'b> {
    /// The bytes as they were before they were packed.
    pub fn unpack(&self) -> Result<Vec<u8>, Fault> {
        self.bytes().map(Cow::into_owned)
    }

    /// The bytes as they were before they were packed, without a copy where they are not.
    pub fn bytes(&self) -> Result<Cow<'b, [u8]>, Fault> {
        if self.flags & (LZ4 | ZSTANDARD) == 0 {
            return Ok(Cow::Borrowed(self.payload));
        }
        if self.unpacked > MOST_BYTES.min(MOST_RATIO.saturating_mul(self.payload.len() as u64)) {
            return Err(Fault::Packed(format!("it claims to have {} bytes", self.unpacked)));
        }
        self.decompress().map(Cow::Owned)
    }

    fn decompress(&self) -> Result<Vec<u8>, Fault> {
        let length = self.unpacked as usize;
        if self.flags & LZ4 != 0 {
            return lz4_flex::block::decompress(self.payload, length).map_err(|error| Fault::Packed(error.to_string()));
        }
        let mut decoder =
            ruzstd::decoding::StreamingDecoder::new(self.payload).map_err(|error| Fault::Packed(error.to_string()))?;
        let mut bytes = Vec::new();
        let read = decoder.by_ref().take(self.unpacked).read_to_end(&mut bytes);
        read.map_err(|error| Fault::Packed(error.to_string()))?;
        if bytes.len() < length {
            return Err(Fault::Packed(format!("{} of {length} bytes are there", bytes.len())));
        }
        Ok(bytes)
    }

    /// The PTX of an entry that holds some.
    pub fn text(&self) -> Result<String, Fault> {
        let mut bytes = self.unpack()?;
        // Texts end with zeros, which fill a word.
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        bytes.truncate(end);
        String::from_utf8(bytes).map_err(|_| Fault::Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A container with one entry.
    fn container(kind: u16, flags: u64, packed: &[u8], unpacked: usize) -> Vec<u8> {
        let packed_bytes = if flags & (LZ4 | ZSTANDARD) == 0 { 0 } else { packed.len() };
        let padded = packed.len().next_multiple_of(8);
        let mut entry = vec![0; ENTRY_HEADER];
        entry[..2].copy_from_slice(&kind.to_le_bytes());
        entry[4..8].copy_from_slice(&(ENTRY_HEADER as u32).to_le_bytes());
        entry[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
        entry[16..20].copy_from_slice(&(packed_bytes as u32).to_le_bytes());
        entry[28..32].copy_from_slice(&80u32.to_le_bytes());
        entry[40..48].copy_from_slice(&flags.to_le_bytes());
        entry[56..64].copy_from_slice(&(unpacked as u64).to_le_bytes());
        entry.extend_from_slice(packed);
        entry.resize(ENTRY_HEADER + padded, 0);
        let mut bytes = MAGIC.to_le_bytes().to_vec();
        bytes.extend_from_slice(&1u16.to_le_bytes());
        bytes.extend_from_slice(&(HEADER as u16).to_le_bytes());
        bytes.extend_from_slice(&(entry.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&entry);
        bytes
    }

    const TEXT: &str = ".version 8.0\n.target sm_80\n.target sm_80\n.target sm_80\n";

    #[test]
    fn texts_are_found_however_they_are_packed() {
        let plain = container(PTX, 0x11, format!("{TEXT}\0").as_bytes(), 0);
        let lz4 = container(PTX, 0x11 | LZ4, &lz4_flex::block::compress(TEXT.as_bytes()), TEXT.len());
        let packed = ruzstd::encoding::compress_to_vec(TEXT.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
        let zstandard = container(PTX, 0x11 | ZSTANDARD, &packed, TEXT.len());
        for bytes in [plain, lz4, zstandard] {
            let entries = entries(&bytes).unwrap();
            assert_eq!((entries.len(), entries[0].kind, entries[0].architecture), (1, Kind::Ptx, 80));
            assert_eq!(entries[0].text().as_deref(), Ok(TEXT));
        }
    }

    #[test]
    fn containers_are_found_inside_of_objects() {
        let container = container(PTX, 0x11, format!("{TEXT}\0").as_bytes(), 0);
        let object = [b"\x7fELF, 8 bytes".as_slice(), &[0; 3], &container, b"the rest of the object"].concat();
        assert_eq!(within(&object), [container.as_slice()]);
        assert_eq!(within(&object[..object.len() - container.len()]), [&[] as &[u8]; 0]);
    }

    #[test]
    fn hostile_bytes_end_in_an_error() {
        assert_eq!(entries(b"ELF"), Err(Fault::Cut));
        assert_eq!(entries(&[0; 64]), Err(Fault::Magic));
        let whole = container(PTX, 0x11 | LZ4, &lz4_flex::block::compress(TEXT.as_bytes()), TEXT.len());
        for end in 0..whole.len() {
            assert!(entries(&whole[..end]).is_err(), "{end}");
        }
        // Whatever one byte says, nothing panics.
        for at in 0..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                if let Ok(entries) = entries(&bytes) {
                    entries.iter().for_each(|entry| drop(entry.text()));
                }
            }
        }
    }

    #[test]
    fn claims_are_bounded() {
        let packed = lz4_flex::block::compress(TEXT.as_bytes());
        for claim in [usize::MAX, (MOST_BYTES + 1) as usize, MOST_RATIO as usize * packed.len() + 1] {
            let bytes = container(PTX, LZ4, &packed, claim);
            let entries = entries(&bytes).unwrap();
            assert_eq!(entries[0].text(), Err(Fault::Packed(format!("it claims to have {claim} bytes"))));
        }
        let mut unknown = container(PTX, LZ4, &packed, TEXT.len());
        unknown[HEADER + 40..HEADER + 48].copy_from_slice(&0x4000u64.to_le_bytes());
        let why = "it is packed in a way that is not known, by flags 0x4000";
        assert_eq!(entries(&unknown), Err(Fault::Packed(why.to_owned())));
    }

    #[test]
    fn an_empty_container_has_no_entries() {
        let mut bytes = container(PTX, 0, b"", 0);
        bytes[8..16].copy_from_slice(&0u64.to_le_bytes());
        assert_eq!(entries(&bytes), Ok(Vec::new()));
    }
}
