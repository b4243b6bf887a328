//! The attributes in the sections `.nv.info`: the one table of their numbers, names and forms, and the reader of records.
//!
//! A record is a byte for how its value is stored, a byte for the attribute, and the value: nothing (1, NVAL), a byte
//! (2, BVAL) or 16 bits (3, HVAL) in the two bytes that follow, or (4, SVAL) their number in 16 bits and that many bytes.
//! The names are those that cuobjdump 13.5 prints (there with `EIATTR_` before them) when each number in turn is written
//! into a record of a cubin; the forms are those of the records in cubins of ptxas 12.3 and 13.0.

use super::bytes::{u16_at, u32_at};

/// What the value of an attribute is, where a compiler was seen to write it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Nothing: that it is there says all.
    Empty,
    /// A byte.
    Byte,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
    /// Several times 32 bits.
    Words,
    /// Three times 32 bits: sizes in x, y and z.
    Dimensions,
    /// Offsets of instructions in the code of the function, in bytes, 32 bits each.
    Offsets,
    /// Number of a symbol and a number of bytes, 32 bits each.
    SymbolAndBytes,
    /// Number of a symbol and a count, 32 bits each.
    SymbolAndCount,
    /// A parameter of a kernel.
    Parameter,
    /// Number of a symbol in 32 bits, then where the parameters begin in bank 0 and how many bytes they have, 16 bits each.
    ParameterBank,
    /// No compiler was seen to write it.
    Unseen,
}

/// An attribute whose name is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KnownAttribute {
    /// Its number.
    pub number: u8,
    /// NVIDIA's name, without `EIATTR_`.
    pub name: &'static str,
    /// What its value is.
    pub form: Form,
}

const fn row(number: u8, name: &'static str, form: Form) -> KnownAttribute {
    KnownAttribute { number, name, form }
}

/// All attributes whose names are known, by their numbers.
pub const ATTRIBUTES: &[KnownAttribute] = &[
    row(0x00, "ERROR", Form::Unseen),
    row(0x01, "PAD", Form::Unseen),
    row(0x02, "IMAGE_SLOT", Form::Unseen),
    row(0x03, "JUMPTABLE_RELOCS", Form::Unseen),
    row(0x04, "CTAIDZ_USED", Form::Unseen),
    row(0x05, "MAX_THREADS", Form::Dimensions),
    row(0x06, "IMAGE_OFFSET", Form::Unseen),
    row(0x07, "IMAGE_SIZE", Form::Unseen),
    row(0x08, "TEXTURE_NORMALIZED", Form::Unseen),
    row(0x09, "SAMPLER_INIT", Form::Unseen),
    row(0x0a, "PARAM_CBANK", Form::ParameterBank),
    row(0x0b, "SMEM_PARAM_OFFSETS", Form::Unseen),
    row(0x0c, "CBANK_PARAM_OFFSETS", Form::Unseen),
    row(0x0d, "SYNC_STACK", Form::Unseen),
    row(0x0e, "TEXID_SAMPID_MAP", Form::Unseen),
    row(0x0f, "EXTERNS", Form::Unseen),
    row(0x10, "REQNTID", Form::Dimensions),
    row(0x11, "FRAME_SIZE", Form::SymbolAndBytes),
    row(0x12, "MIN_STACK_SIZE", Form::SymbolAndBytes),
    row(0x13, "SAMPLER_FORCE_UNNORMALIZED", Form::Unseen),
    row(0x14, "BINDLESS_IMAGE_OFFSETS", Form::Unseen),
    row(0x15, "BINDLESS_TEXTURE_BANK", Form::Unseen),
    row(0x16, "BINDLESS_SURFACE_BANK", Form::Unseen),
    row(0x17, "KPARAM_INFO", Form::Parameter),
    row(0x18, "SMEM_PARAM_SIZE", Form::Unseen),
    row(0x19, "CBANK_PARAM_SIZE", Form::Half),
    row(0x1a, "QUERY_NUMATTRIB", Form::Unseen),
    row(0x1b, "MAXREG_COUNT", Form::Half),
    row(0x1c, "EXIT_INSTR_OFFSETS", Form::Offsets),
    row(0x1d, "S2RCTAID_INSTR_OFFSETS", Form::Unseen),
    row(0x1e, "CRS_STACK_SIZE", Form::Word),
    row(0x1f, "NEED_CNP_WRAPPER", Form::Unseen),
    row(0x20, "NEED_CNP_PATCH", Form::Unseen),
    row(0x21, "EXPLICIT_CACHING", Form::Unseen),
    row(0x22, "ISTYPEP_USED", Form::Unseen),
    row(0x23, "MAX_STACK_SIZE", Form::SymbolAndBytes),
    row(0x24, "SUQ_USED", Form::Unseen),
    row(0x25, "LD_CACHEMOD_INSTR_OFFSETS", Form::Unseen),
    row(0x26, "LOAD_CACHE_REQUEST", Form::Unseen),
    row(0x27, "ATOM_SYS_INSTR_OFFSETS", Form::Unseen),
    row(0x28, "COOP_GROUP_INSTR_OFFSETS", Form::Offsets),
    row(0x29, "COOP_GROUP_MASK_REGIDS", Form::Words),
    row(0x2b, "WMMA_USED", Form::Unseen),
    row(0x2c, "HAS_PRE_V10_OBJECT", Form::Unseen),
    row(0x2d, "ATOMF16_EMUL_INSTR_OFFSETS", Form::Unseen),
    row(0x2e, "ATOM16_EMUL_INSTR_REG_MAP", Form::Unseen),
    row(0x2f, "REGCOUNT", Form::SymbolAndCount),
    row(0x31, "INT_WARP_WIDE_INSTR_OFFSETS", Form::Offsets),
    row(0x32, "SHARED_SCRATCH", Form::Unseen),
    row(0x33, "STATISTICS", Form::Unseen),
    row(0x34, "INDIRECT_BRANCH_TARGETS", Form::Unseen),
    row(0x36, "SW_WAR", Form::Word),
    row(0x37, "CUDA_API_VERSION", Form::Word),
    row(0x38, "NUM_MBARRIERS", Form::Unseen),
    row(0x39, "MBARRIER_INSTR_OFFSETS", Form::Unseen),
    row(0x3a, "COROUTINE_RESUME_ID_OFFSETS", Form::Unseen),
    row(0x3b, "SAM_REGION_STACK_SIZE", Form::Unseen),
    row(0x3c, "PER_REG_TARGET_PERF_STATS", Form::Unseen),
    row(0x3d, "CTA_PER_CLUSTER", Form::Dimensions),
    row(0x3e, "EXPLICIT_CLUSTER", Form::Empty),
    row(0x3f, "MAX_CLUSTER_RANK", Form::Word),
    row(0x40, "INSTR_REG_MAP", Form::Unseen),
    row(0x41, "RESERVED_SMEM_USED", Form::Unseen),
    row(0x42, "RESERVED_SMEM_0_SIZE", Form::Unseen),
    row(0x43, "UCODE_SECTION_DATA", Form::Unseen),
    row(0x44, "UNUSED_LOAD_BYTE_OFFSET", Form::Unseen),
    row(0x45, "KPARAM_INFO_V2", Form::Parameter),
    row(0x46, "SYSCALL_OFFSETS", Form::Unseen),
    row(0x48, "GRAPHICS_GLOBAL_CBANK", Form::Unseen),
    row(0x49, "SHADER_TYPE", Form::Unseen),
    row(0x4a, "VRC_CTA_INIT_COUNT", Form::Byte),
    row(0x4b, "TOOLS_PATCH_FUNC", Form::Unseen),
    row(0x4c, "NUM_BARRIERS", Form::Byte),
    row(0x4d, "TEXMODE_INDEPENDENT", Form::Unseen),
    row(0x4e, "PERF_STATISTICS", Form::Unseen),
    row(0x4f, "AT_ENTRY_FRAGMENTS", Form::Unseen),
    row(0x50, "SPARSE_MMA_MASK", Form::Half),
    row(0x51, "TCGEN05_1CTA_USED", Form::Unseen),
    row(0x52, "TCGEN05_2CTA_USED", Form::Unseen),
    row(0x53, "GEN_ERRBAR_AT_EXIT", Form::Unseen),
    row(0x54, "REG_RECONFIG", Form::Unseen),
    row(0x55, "ANNOTATIONS", Form::Unseen),
    row(0x57, "STACK_CANARY_TRAP_OFFSETS", Form::Unseen),
    row(0x58, "STUB_FUNCTION_KIND", Form::Unseen),
    row(0x59, "LOCAL_CTA_ASYNC_STORE_OFFSETS", Form::Unseen),
    row(0x5b, "BLOCKS_ARE_CLUSTERS", Form::Unseen),
    row(0x5c, "SANITIZE", Form::Unseen),
    row(0x5d, "SYSCALLS_FALLBACK", Form::Unseen),
    row(0x5e, "CUDA_REQ", Form::Unseen),
    row(0x61, "RTCORE_ENTRY", Form::Unseen),
    row(0x62, "CLUSTER_LAUNCH_CONTROL_USED", Form::Unseen),
    row(0x64, "MIN_PER_CTA_MEMORY_SIZE", Form::Unseen),
    row(0x65, "IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS", Form::Unseen),
    row(0x66, "LANGUAGE", Form::Unseen),
    row(0x68, "GRID_ATTRIBUTES", Form::Unseen),
    row(0x69, "STACK_OFFSET", Form::Unseen),
    row(0x6a, "RT_LIVESTATE_SASS_MAP", Form::Unseen),
    row(0x6b, "NVSAL_SW_WAR", Form::Unseen),
    row(0x6c, "INSTR_OFFSETS", Form::Unseen),
    row(0x6d, "PREEXIT_USED", Form::Unseen),
];

pub(super) const MAX_THREADS: u8 = 0x05;
pub(super) const PARAM_CBANK: u8 = 0x0a;
pub(super) const REQNTID: u8 = 0x10;
pub(super) const FRAME_SIZE: u8 = 0x11;
pub(super) const MIN_STACK_SIZE: u8 = 0x12;
pub(super) const KPARAM_INFO: u8 = 0x17;
pub(super) const CBANK_PARAM_SIZE: u8 = 0x19;
pub(super) const MAXREG_COUNT: u8 = 0x1b;
pub(super) const EXIT_INSTR_OFFSETS: u8 = 0x1c;
pub(super) const MAX_STACK_SIZE: u8 = 0x23;
pub(super) const COOP_GROUP_INSTR_OFFSETS: u8 = 0x28;
pub(super) const REGCOUNT: u8 = 0x2f;
pub(super) const CTA_PER_CLUSTER: u8 = 0x3d;
pub(super) const MAX_CLUSTER_RANK: u8 = 0x3f;
pub(super) const KPARAM_INFO_V2: u8 = 0x45;
pub(super) const NUM_BARRIERS: u8 = 0x4c;

/// The table's row of an attribute, if its name is known.
pub fn known(number: u8) -> Option<&'static KnownAttribute> {
    let at = ATTRIBUTES.binary_search_by_key(&number, |known| known.number).ok()?;
    Some(&ATTRIBUTES[at])
}

/// The value of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Nothing.
    Empty,
    /// A byte.
    Byte(u8),
    /// 16 bits.
    Half(u16),
    /// Bytes whose meaning follows from the attribute.
    Bytes(Vec<u8>),
}

/// A record of a section `.nv.info`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Which attribute, as in [`ATTRIBUTES`].
    pub number: u8,
    /// Its value as it is stored.
    pub value: Value,
}

impl Attribute {
    /// The value as numbers of 32 bits, as many as there are whole ones.
    pub fn words(&self) -> Vec<u32> {
        match &self.value {
            Value::Empty => Vec::new(),
            Value::Byte(byte) => vec![u32::from(*byte)],
            Value::Half(half) => vec![u32::from(*half)],
            Value::Bytes(bytes) => (0..bytes.len() / 4).filter_map(|index| u32_at(bytes, 4 * index)).collect(),
        }
    }

    /// The first number of the value.
    pub(super) fn word(&self) -> Option<u32> {
        match &self.value {
            Value::Bytes(bytes) => u32_at(bytes, 0),
            Value::Empty | Value::Byte(_) | Value::Half(_) => self.words().first().copied(),
        }
    }

    /// The value as sizes in x, y and z.
    pub(super) fn dimensions(&self) -> Option<[u32; 3]> {
        self.words().first_chunk().copied()
    }

    /// The value as the number of a symbol and a number that belongs to it.
    pub(super) fn of_symbol(&self) -> Option<(u32, u32)> {
        match &self.value {
            Value::Bytes(bytes) => Some((u32_at(bytes, 0)?, u32_at(bytes, 4)?)),
            Value::Empty | Value::Byte(_) | Value::Half(_) => None,
        }
    }
}

/// A record that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BadRecord {
    /// Where it begins in the section.
    pub(super) at: usize,
    pub(super) why: &'static str,
}

/// The records of a section.
pub(super) fn records(bytes: &[u8]) -> Result<Vec<Attribute>, BadRecord> {
    let mut records = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let (record, length) = record(&bytes[at..]).map_err(|why| BadRecord { at, why })?;
        records.push(record);
        at += length;
    }
    Ok(records)
}

/// The first record of some bytes, and how many of them it has.
fn record(bytes: &[u8]) -> Result<(Attribute, usize), &'static str> {
    const CUT: &str = "a record ends in the middle";
    let &[format, number, low, high] = bytes.first_chunk().ok_or(CUT)?;
    let value = match format {
        1 => Value::Empty,
        2 => Value::Byte(low),
        3 => Value::Half(u16::from_le_bytes([low, high])),
        4 => {
            let length = usize::from(u16_at(bytes, 2).ok_or(CUT)?);
            let value = bytes.get(4..4 + length).ok_or(CUT)?;
            return Ok((Attribute { number, value: Value::Bytes(value.to_vec()) }, 4 + length));
        }
        _ => return Err("a record has an unknown format"),
    };
    Ok((Attribute { number, value }, 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(ATTRIBUTES.is_sorted_by(|left, right| left.number < right.number));
        assert_eq!(known(0x2f).map(|known| known.name), Some("REGCOUNT"));
        assert_eq!(known(0x2a), None);
    }

    #[test]
    fn records_of_all_formats_are_read() {
        let bytes = [1, 0x3e, 0, 0, 2, 0x4c, 3, 0, 3, 0x1b, 0xff, 1, 4, 0x1c, 8, 0, 0x90, 0, 0, 0, 0, 1, 0, 0];
        let records = records(&bytes).unwrap();
        let read: Vec<_> = records.iter().map(|record| (record.number, record.words())).collect();
        assert_eq!(
            read,
            [
                (0x3e, vec![]),
                (NUM_BARRIERS, vec![3]),
                (MAXREG_COUNT, vec![0x1ff]),
                (EXIT_INSTR_OFFSETS, vec![0x90, 0x100])
            ]
        );
    }

    #[test]
    fn a_record_that_is_cut_is_named() {
        let bytes = [1, 0x3e, 0, 0, 4, 0x1c, 8, 0, 0x90];
        assert_eq!(records(&bytes).unwrap_err(), BadRecord { at: 4, why: "a record ends in the middle" });
        assert_eq!(records(&[9, 1, 0, 0]).unwrap_err().why, "a record has an unknown format");
    }
}
