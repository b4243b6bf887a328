//! How many bytes an ELF file has that is given by its address alone, as `cuModuleLoadData` gets it.

use object::LittleEndian;
use object::elf::{FileHeader64, SHT_NOBITS, SectionHeader64};
use object::read::ReadRef as _;
use object::read::elf::{FileHeader as _, SectionHeader as _};

use super::elf::{self, check_identity};
use super::error::Error;

/// Bytes from which the place of the tables is known.
pub const HEADER_BYTES: usize = elf::HEADER_BYTES as usize;
/// Most bytes that a file may claim to have.
const MOST_BYTES: u64 = 1 << 30;

const LE: LittleEndian = LittleEndian;

type Header = FileHeader64<LittleEndian>;

/// Bytes up to the end of the tables of sections and segments, by the header.
pub fn of_tables(header: &[u8]) -> Result<usize, Error> {
    check_identity(header)?;
    let header = parsed(header)?;
    let sections = end(header.e_shoff(LE), header.e_shnum(LE), header.e_shentsize(LE));
    let segments = end(header.e_phoff(LE), header.e_phnum(LE), header.e_phentsize(LE));
    bounded(sections.max(segments).max(elf::HEADER_BYTES))
}

/// Bytes up to the end of the last section, by the header and the tables.
pub fn of_file(tables: &[u8]) -> Result<usize, Error> {
    let header = parsed(tables)?;
    let (start, count) = (header.e_shoff(LE), usize::from(header.e_shnum(LE)));
    let sections: &[SectionHeader64<LittleEndian>] = tables
        .read_slice_at(start, count)
        .map_err(|()| Error::section("table of sections", start, "it is not whole"))?;
    let in_file = sections.iter().filter(|section| section.sh_type(LE) != SHT_NOBITS);
    let last = in_file.map(|section| section.sh_offset(LE).saturating_add(section.sh_size(LE))).max();
    bounded(last.unwrap_or(0).max(tables.len() as u64))
}

fn parsed(bytes: &[u8]) -> Result<&Header, Error> {
    Header::parse(bytes).map_err(|_| Error::section("ELF header", 0, "it is not whole"))
}

fn end(start: u64, count: u16, size: u16) -> u64 {
    if count == 0 { 0 } else { start.saturating_add(u64::from(count) * u64::from(size)) }
}

fn bounded(bytes: u64) -> Result<usize, Error> {
    if bytes > MOST_BYTES {
        return Err(Error::section("ELF header", 0, format!("it claims {bytes} bytes")));
    }
    Ok(bytes as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_as_long_as_its_tables_say() {
        let file = include_bytes!("../../tests/data/vector_add_90a.cubin");
        let tables = of_tables(&file[..HEADER_BYTES]).unwrap();
        assert_eq!(of_file(&file[..tables]).unwrap(), file.len());
    }

    #[test]
    fn what_is_cut_or_claims_too_much_is_refused() {
        let mut file = include_bytes!("../../tests/data/vector_add_90a.cubin").to_vec();
        for end in 0..HEADER_BYTES {
            assert!(of_tables(&file[..end]).is_err(), "{end}");
        }
        assert!(of_file(&file[..HEADER_BYTES]).is_err());
        // The place of the table of sections.
        file[0x28..0x30].fill(0x7f);
        assert!(of_tables(&file).is_err());
    }
}
