//! The parts of an ELF file of 64 bits: header, sections, symbols and relocations, each checked against the file.
//!
//! The crate `object` knows the structures; errors here say which section is wrong, and where.

use object::LittleEndian;
use object::elf::{FileHeader64, Rel64, Rela64, SHT_REL, SHT_RELA, SHT_SYMTAB, SectionHeader64, Sym64};
use object::read::StringTable;
use object::read::elf::{FileHeader as _, SectionHeader as _, SectionTable, Sym as _};

use super::error::Error;

/// First bytes of an ELF file.
pub(super) const MAGIC: &[u8] = b"\x7fELF";
/// Machine code of NVIDIA's GPUs (EM_CUDA).
pub(super) const GPU: u16 = 190;
/// Bytes of the header of a file.
pub(super) const HEADER_BYTES: u64 = 64;
/// Bytes of the header of a section.
const SECTION_HEADER_BYTES: u64 = 64;

const LE: LittleEndian = LittleEndian;

type Header = FileHeader64<LittleEndian>;

/// An ELF file.
pub(super) struct File<'b> {
    header: &'b Header,
    sections: SectionTable<'b, Header>,
    bytes: &'b [u8],
}

/// The header of a section, with its name.
#[derive(Clone, Copy)]
pub(super) struct Head<'b> {
    pub(super) name: &'b [u8],
    /// Position in the table of sections.
    pub(super) index: usize,
    raw: &'b SectionHeader64<LittleEndian>,
}

/// A relocation as the file has it.
pub(super) struct RawRelocation {
    pub(super) offset: u64,
    pub(super) kind: u32,
    pub(super) symbol: u32,
    /// None where it lies in the bytes that are changed.
    pub(super) addend: Option<i64>,
}

impl<'b> File<'b> {
    /// Reads the header and the table of sections.
    pub(super) fn read(bytes: &'b [u8]) -> Result<Self, Error> {
        check_identity(bytes)?;
        let header = Header::parse(bytes).map_err(|_| truncated("the ELF header", HEADER_BYTES, bytes))?;
        let table = header.e_shoff(LE);
        let count = u64::from(header.e_shnum(LE));
        let end = table.saturating_add(count.saturating_mul(SECTION_HEADER_BYTES));
        if table != 0 && end > bytes.len() as u64 {
            return Err(truncated("the table of sections", end, bytes));
        }
        let sections = header
            .sections(LE, bytes)
            .map_err(|error| Error::section("table of sections", table, error.to_string()))?;
        Ok(Self { header, sections, bytes })
    }

    pub(super) fn machine(&self) -> u16 {
        self.header.e_machine(LE).0
    }

    pub(super) fn flags(&self) -> u32 {
        self.header.e_flags(LE).0
    }

    /// True of a file that is to be linked (ET_REL).
    pub(super) fn is_relocatable(&self) -> bool {
        self.header.e_type(LE) == object::elf::ET_REL
    }

    /// The byte of the header that names the conventions of the file, and that of their version.
    pub(super) fn abi(&self) -> (u8, u8) {
        (self.bytes[7], self.bytes[8])
    }

    /// All sections, also the empty first one.
    pub(super) fn heads(&self) -> Result<Vec<Head<'b>>, Error> {
        let mut heads = Vec::with_capacity(self.sections.len());
        for (index, raw) in self.sections.iter().enumerate() {
            let at = self.header.e_shoff(LE).saturating_add(SECTION_HEADER_BYTES.saturating_mul(index as u64));
            let name = match self.sections.section_name(LE, raw) {
                Ok(name) => name,
                Err(_) if index == 0 => b"",
                Err(_) => return Err(Error::section("table of sections", at, format!("section {index} has no name"))),
            };
            heads.push(Head { name, index, raw });
        }
        Ok(heads)
    }

    /// The bytes of a section, none where it has none in the file.
    pub(super) fn data(&self, head: &Head<'b>) -> Result<&'b [u8], Error> {
        head.raw.data(LE, self.bytes).map_err(|_| {
            truncated(&format!("section `{}`", head.text()), head.offset().saturating_add(head.size()), self.bytes)
        })
    }

    /// The table of symbols and the texts of their names, if there is one.
    pub(super) fn symbols(&self, heads: &[Head<'b>]) -> Result<Option<Symbols<'b>>, Error> {
        let Some(head) = heads.iter().find(|head| head.raw.sh_type(LE) == SHT_SYMTAB) else { return Ok(None) };
        // A cut section is told from a wrong one.
        self.data(head)?;
        let damaged = |why: &str| Error::section(&head.text(), head.offset(), why);
        let table = head
            .raw
            .symbols(LE, self.bytes, &self.sections, object::SectionIndex(head.index))
            .map_err(|error| damaged(&error.to_string()))?
            .ok_or_else(|| damaged("it is no table of symbols"))?;
        Ok(Some(Symbols { head: *head, symbols: table.symbols(), strings: table.strings() }))
    }

    /// The relocations that a section holds, if it is one of them, and the section that they change.
    pub(super) fn relocations(&self, head: &Head<'b>) -> Result<Option<(usize, Vec<RawRelocation>)>, Error> {
        let kind = head.raw.sh_type(LE);
        let target = head.raw.sh_info(LE) as usize;
        let data = self.data(head)?;
        let damaged = || Error::section(&head.text(), head.offset(), "its size is no whole number of relocations");
        let relocations = if kind == SHT_RELA {
            whole::<Rela64<LittleEndian>>(data).ok_or_else(damaged)?.iter().map(rela).collect()
        } else if kind == SHT_REL {
            whole::<Rel64<LittleEndian>>(data).ok_or_else(damaged)?.iter().map(rel).collect()
        } else {
            return Ok(None);
        };
        Ok(Some((target, relocations)))
    }
}

fn rela(raw: &Rela64<LittleEndian>) -> RawRelocation {
    RawRelocation {
        offset: raw.r_offset.get(LE),
        kind: raw.r_type(LE, false).0,
        symbol: raw.r_sym(LE, false),
        addend: Some(raw.r_addend.get(LE)),
    }
}

fn rel(raw: &Rel64<LittleEndian>) -> RawRelocation {
    RawRelocation { offset: raw.r_offset.get(LE), kind: raw.r_type(LE).0, symbol: raw.r_sym(LE), addend: None }
}

fn whole<T: object::Pod>(data: &[u8]) -> Option<&[T]> {
    let count = data.len() / size_of::<T>();
    let (items, rest) = object::pod::slice_from_bytes(data, count).ok()?;
    rest.is_empty().then_some(items)
}

/// Refuses what is no ELF file of 64 bits with the low byte first, by its first bytes.
pub(super) fn check_identity(bytes: &[u8]) -> Result<(), Error> {
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    if !bytes.starts_with(MAGIC) {
        // A piece of the magic number is a file that was cut.
        if MAGIC.starts_with(bytes) {
            return Err(truncated("the ELF header", HEADER_BYTES, bytes));
        }
        return Err(Error::NotElf(bytes[..bytes.len().min(4)].to_vec()));
    }
    if bytes.len() < HEADER_BYTES as usize && bytes.get(4) != Some(&1) {
        return Err(truncated("the ELF header", HEADER_BYTES, bytes));
    }
    if bytes[4] != 2 {
        return Err(Error::ElfKind("32 bits"));
    }
    if bytes[5] != 1 {
        return Err(Error::ElfKind("64 bits with the high byte first"));
    }
    Ok(())
}

fn truncated(what: &str, needed: u64, bytes: &[u8]) -> Error {
    Error::Truncated { what: what.to_owned(), needed, has: bytes.len() as u64 }
}

impl Head<'_> {
    pub(super) fn text(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }

    pub(super) fn kind(&self) -> u32 {
        self.raw.sh_type(LE).0
    }

    pub(super) fn flags(&self) -> u64 {
        self.raw.sh_flags(LE).0
    }

    /// Where it begins in the file.
    pub(super) fn offset(&self) -> u64 {
        self.raw.sh_offset(LE)
    }

    /// Bytes, whether they are in the file or not.
    pub(super) fn size(&self) -> u64 {
        self.raw.sh_size(LE)
    }

    pub(super) fn alignment(&self) -> u64 {
        self.raw.sh_addralign(LE)
    }

    pub(super) fn info(&self) -> u32 {
        self.raw.sh_info(LE)
    }
}

/// A table of symbols.
pub(super) struct Symbols<'b> {
    pub(super) head: Head<'b>,
    pub(super) symbols: &'b [Sym64<LittleEndian>],
    strings: StringTable<'b>,
}

/// A symbol as the file has it.
pub(super) struct RawSymbol<'b> {
    pub(super) name: &'b [u8],
    pub(super) kind: u8,
    pub(super) binding: u8,
    pub(super) other: u8,
    pub(super) section: u16,
    pub(super) value: u64,
    pub(super) size: u64,
}

impl<'b> Symbols<'b> {
    /// The symbol at a position of the table.
    pub(super) fn get(&self, raw: &'b Sym64<LittleEndian>) -> Option<RawSymbol<'b>> {
        Some(RawSymbol {
            name: raw.name(LE, self.strings).ok()?,
            kind: raw.st_type().0,
            binding: raw.st_bind().0,
            other: raw.st_other().0,
            section: raw.st_shndx(LE).0,
            value: raw.st_value(LE),
            size: raw.st_size(LE),
        })
    }
}
