//! Cubins: ELF files with the machine code of one generation.
//!
//! There are two layouts. That of CUDA 12 for chips before sm_100 (OS ABI 0x33, version 7) has the number of the chip in
//! the low byte of the header's flags, the letter `a` in bit 11, and the virtual architecture in bits 16 to 23. That of
//! CUDA 13, and of CUDA 12.8 for sm_100 and later (OS ABI 0x41, version 8), has the chip in bits 8 to 15, the letter in a
//! record of `.nv.compat`, and the virtual architecture in the note `.note.nv.cuinfo`. A section `.text.NAME` holds a
//! kernel or a function with all that is called from it alone, `.nv.info.NAME` the attributes, `.nv.shared.NAME` the static
//! shared memory, `.nv.constantN.NAME` what bank N holds. Copies in another encoding (`.nv.merc...`, `.nv.capmerc...`),
//! which CUDA 13 adds for sm_100 and later, are named in the table of sections and not read.

use warplens_base::{IdMap, define_id};

use super::attributes::Attribute;
use super::bytes::{text_at, u16_at, u32_at, u64_at};
use super::elf::{self, File, Head};
use super::error::Error;
use super::kernels;
use super::lines::LineTable;

define_id! {
    /// A section of a cubin, by its position in the file's table.
    pub struct SectionId("section");
    /// A symbol of a cubin, by its position in the file's table.
    pub struct SymbolId("symbol");
}

/// Most bytes of sections and names that are kept, for each byte of the file: its sections lie beside each other and a
/// name is used by several symbols at most, so that more is a file that was made to fill the memory.
const KEPT_PER_BYTE: u64 = 16;

/// Section of a symbol that is defined elsewhere.
const UNDEFINED: u16 = 0;
/// First of the numbers that name no section of the table.
const FIRST_SPECIAL: u16 = 0xff00;
/// Bit of a symbol's last byte that makes a function a kernel (STO_CUDA_ENTRY).
const ENTRY: u8 = 0x10;

/// The conventions of a cubin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// OS ABI 0x33, version 7: CUDA 12 and before, for chips before sm_100.
    V7,
    /// OS ABI 0x41, version 8: CUDA 13, and CUDA 12.8 for sm_100 and later.
    V8,
}

/// The chip that code was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// Its number: 90 of sm_90.
    pub sm: u32,
    /// The letter behind the number: `a` for code with instructions of this chip alone, `f` for code for its family. The
    /// first is stated by the file, the second only by the words with which the assembler was called.
    pub variant: Option<char>,
}

impl Target {
    /// A GPU of this number runs the code: one of the same generation that is not older (CUDA C++ Programming Guide, Binary
    /// Compatibility), and of code for one chip that chip alone.
    pub const fn runs_on(self, sm: u32) -> bool {
        match self.variant {
            Some('a') => self.sm == sm,
            _ => self.sm / 10 == sm / 10 && self.sm <= sm,
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sm_{}", self.sm)?;
        self.variant.map_or(Ok(()), |letter| write!(f, "{letter}"))
    }
}

/// A tool that made the file, as `.note.nv.tkinfo` says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Producer {
    /// Its name: ptxas or nvlink.
    pub tool: String,
    /// Its version in words.
    pub version: String,
    /// The branch that it was built from.
    pub branch: String,
    /// The words that it was called with.
    pub arguments: String,
}

/// A cubin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cubin {
    /// The chip.
    pub target: Target,
    /// Number of the virtual architecture that the code was compiled from, where the file states it.
    pub virtual_sm: Option<u32>,
    /// The conventions of the file.
    pub layout: Layout,
    /// True of an object that nvlink has yet to link.
    pub is_relocatable: bool,
    /// Who made it; the layout of CUDA 12 does not say.
    pub producers: Vec<Producer>,
    /// All sections. That of number 0 is empty.
    pub sections: IdMap<SectionId, Section>,
    /// All symbols. That of number 0 is empty.
    pub symbols: IdMap<SymbolId, Symbol>,
    /// The kernels, by their place in the file.
    pub kernels: Vec<Kernel>,
    /// Functions that kernels call, by their place in the file.
    pub functions: Vec<Function>,
    /// Variables of the module: in global memory and in constant banks.
    pub variables: Vec<Variable>,
    /// Constant banks that all kernels share.
    pub banks: Vec<Bank>,
    /// Attributes of the module that belong to no function.
    pub attributes: Vec<Attribute>,
}

/// A section of a cubin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its type (sh_type).
    pub kind: u32,
    /// Its flags (sh_flags).
    pub flags: u64,
    /// Where it begins in the file.
    pub offset: u64,
    /// Bytes, in memory or in the file.
    pub size: u64,
    /// Bytes that it is aligned to.
    pub alignment: u64,
    /// What its type makes of it (sh_info): of a `.text` section the kernel's symbol, and in bits 24 to 31 the registers.
    pub info: u32,
    /// What it holds: empty of a section that is memory alone, and of one that is not code, data or debugging information.
    pub bytes: Vec<u8>,
    /// What a linker or loader changes in it, by offset.
    pub relocations: Vec<Relocation>,
}

/// A place in a section that depends on where a symbol lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// Where in the section, in bytes.
    pub offset: u64,
    /// Number of its kind; [`relocation_name`](super::relocation_name) knows the names.
    pub kind: u32,
    /// The symbol.
    pub symbol: SymbolId,
    /// Bytes that are added to its address. None where they lie in the bytes that are changed.
    pub addend: Option<i64>,
}

/// What a symbol names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    /// Not said.
    None,
    /// A variable.
    Object,
    /// A kernel or function.
    Function,
    /// A section.
    Section,
    /// Something else, by its number.
    Other(u8),
}

/// Who sees a symbol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binding {
    /// The file alone.
    Local,
    /// Every file.
    Global,
    /// Every file, and one of them may define it anew.
    Weak,
    /// Something else, by its number.
    Other(u8),
}

/// A symbol of a cubin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// Its name, as the compiler mangled it.
    pub name: String,
    /// What it names.
    pub kind: SymbolKind,
    /// Who sees it.
    pub binding: Binding,
    /// Its last byte (st_other), in which 0x10 marks a kernel.
    pub other: u8,
    /// Where it is defined, if it is here.
    pub section: Option<SectionId>,
    /// Offset in the section, in bytes.
    pub value: u64,
    /// Bytes of what it names.
    pub size: u64,
}

impl Symbol {
    /// True of a function that is launched.
    pub fn is_kernel(&self) -> bool {
        self.kind == SymbolKind::Function && self.other & ENTRY != 0
    }
}

/// Code with a name: a kernel's, or a function that kernels call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Function {
    /// Its symbol.
    pub symbol: SymbolId,
    /// Its mangled name.
    pub name: String,
    /// The section of its code.
    pub section: SectionId,
    /// Where its code begins in the section, in bytes.
    pub offset: u64,
    /// Bytes of its code. Functions that the compiler put behind a kernel's own code are part of the kernel's, too.
    pub bytes: u64,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Bytes of its frame on the stack in local memory.
    pub frame_bytes: Option<u32>,
    /// Fewest bytes of stack that a thread needs, with all that is called.
    pub min_stack_bytes: Option<u32>,
    /// Most bytes of stack that a thread needs, where calls are bounded.
    pub max_stack_bytes: Option<u32>,
    /// The records of its `.nv.info` section, all of them, in the order of the file.
    pub attributes: Vec<Attribute>,
}

/// A kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kernel {
    /// Its code and what is said of any function.
    pub function: Function,
    /// Its parameters by ordinal.
    pub parameters: Vec<Parameter>,
    /// Where the parameters begin in constant bank 0, in bytes.
    pub parameter_base: Option<u32>,
    /// Bytes of all parameters.
    pub parameter_bytes: Option<u32>,
    /// Its own constant banks, of which bank 0 holds what the launch fills in and then the parameters.
    pub banks: Vec<Bank>,
    /// Its static shared memory.
    pub shared: Shared,
    /// Bytes of its section `.nv.local`, which stands for local memory beside the stack.
    pub local_bytes: u64,
    /// Named barriers that it uses.
    pub barriers: u32,
    /// Most registers of a thread that the compiler was allowed; 255 is no limit.
    pub register_limit: Option<u32>,
    /// Most threads of a CTA in x, y and z (`__launch_bounds__`).
    pub max_threads: Option<[u32; 3]>,
    /// The threads that a CTA must have (`.reqntid`).
    pub required_threads: Option<[u32; 3]>,
    /// CTAs of a cluster (`__cluster_dims__`).
    pub cluster: Option<[u32; 3]>,
    /// Most CTAs of a cluster.
    pub max_cluster: Option<u32>,
    /// Offsets in the code of the instructions that end a thread, in bytes.
    pub exits: Vec<u32>,
    /// Offsets in the code of instructions by which the threads of a group wait for or tell each other. Whether a launch has
    /// to be cooperative is not in the file.
    pub cooperative: Vec<u32>,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Its position.
    pub ordinal: u16,
    /// Where it begins behind the base of the parameters, in bytes.
    pub offset: u32,
    /// Its size.
    pub bytes: u32,
    /// Logarithm to base 2 of the alignment of what it points to; 0 where nothing is known.
    pub pointee_log_alignment: u8,
    /// Number of the space that it points to; 0 where nothing is known.
    pub pointee_space: u8,
}

/// What a constant bank holds before a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bank {
    /// Its number.
    pub number: u8,
    /// The section with its bytes, and the relocations in them.
    pub section: SectionId,
}

/// Static shared memory of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Shared {
    /// Bytes of the section, which is what a CTA gets.
    pub section_bytes: u64,
    /// Bytes in them that the system keeps for itself: 1024 on sm_90 and later, once the file is linked. On sm_80 to sm_89
    /// the driver adds as many at the launch, and the section does not have them.
    pub reserved_bytes: u64,
}

impl Shared {
    /// Bytes of the kernel's own variables.
    pub fn own_bytes(self) -> u64 {
        self.section_bytes.saturating_sub(self.reserved_bytes)
    }
}

/// Where a variable lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VariableSpace {
    /// Global memory.
    Global,
    /// A constant bank.
    Constant(u8),
}

/// A variable of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Its symbol.
    pub symbol: SymbolId,
    /// Its mangled name.
    pub name: String,
    /// Where it lives.
    pub space: VariableSpace,
    /// Its section.
    pub section: SectionId,
    /// Where it begins in the section, in bytes.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// The largest power of two, up to the alignment of the section, that divides its offset: the file does not state more.
    pub alignment: u64,
}

impl Cubin {
    /// Reads a cubin.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let file = File::read(bytes)?;
        if file.machine() != elf::GPU {
            return Err(Error::Machine(file.machine()));
        }
        let layout = match file.abi() {
            (0x33, 7) => Layout::V7,
            (0x41, 8) => Layout::V8,
            (os_abi, version) => return Err(Error::Layout { os_abi, version }),
        };
        let heads = file.heads()?;
        let mut budget = Budget::new(bytes);
        let symbols = symbols(&file, &heads, &mut budget)?;
        let mut sections = sections(&file, &heads, &mut budget)?;
        relocations(&file, &heads, &symbols, &mut sections)?;
        let producers = producers(&file, &heads)?;
        let mut cubin = Self {
            target: target(&file, layout, &heads, &producers)?,
            virtual_sm: virtual_sm(&file, layout, &heads)?,
            layout,
            is_relocatable: file.is_relocatable(),
            producers,
            sections,
            symbols,
            kernels: Vec::new(),
            functions: Vec::new(),
            variables: Vec::new(),
            banks: Vec::new(),
            attributes: Vec::new(),
        };
        kernels::fill(&mut cubin, &file, &heads)?;
        Ok(cubin)
    }

    /// The kernel of a mangled name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.function.name == name)
    }

    /// The code of a function.
    pub fn code(&self, function: &Function) -> &[u8] {
        self.slice(function.section, function.offset, function.bytes).unwrap_or_default()
    }

    /// What a variable holds when the module is loaded, before relocations. None of one that is all zeros.
    pub fn initial(&self, variable: &Variable) -> Option<&[u8]> {
        self.slice(variable.section, variable.offset, variable.bytes)
    }

    /// Some bytes of a section, if it has them in the file.
    pub fn slice(&self, section: SectionId, offset: u64, bytes: u64) -> Option<&[u8]> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(usize::try_from(bytes).ok()?)?;
        self.sections.get(section)?.bytes.get(start..end)
    }

    /// The first section of a name.
    pub fn section(&self, name: &str) -> Option<(SectionId, &Section)> {
        self.sections.iter().find(|(_, section)| section.name == name)
    }

    /// Where instructions come from in the source, as far as the file says.
    pub fn lines(&self) -> Result<LineTable, Error> {
        LineTable::read(self)
    }
}

/// Bytes that may still be kept of a file.
struct Budget {
    left: u64,
    most: u64,
}

impl Budget {
    fn new(bytes: &[u8]) -> Self {
        let most = (bytes.len() as u64).saturating_mul(KEPT_PER_BYTE);
        Self { left: most, most }
    }

    fn take(&mut self, bytes: usize) -> Result<(), Error> {
        let left = self.left.checked_sub(bytes as u64).ok_or(Error::TooMuch { most: self.most })?;
        self.left = left;
        Ok(())
    }
}

/// Sections whose bytes are kept.
fn is_kept(name: &[u8]) -> bool {
    const PREFIXES: &[&[u8]] = &[b".text.", b".nv.constant", b".nv.global", b".debug_", b".nv_debug_"];
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Sections with code in another encoding, and what belongs to it.
pub(super) fn is_mercury(name: &[u8]) -> bool {
    name.starts_with(b".nv.merc") || name.starts_with(b".nv.capmerc")
}

fn sections(file: &File<'_>, heads: &[Head<'_>], budget: &mut Budget) -> Result<IdMap<SectionId, Section>, Error> {
    let mut sections = IdMap::new();
    for head in heads {
        budget.take(head.name.len())?;
        let data = if is_mercury(head.name) { &[] } else { file.data(head)? };
        // Each is read once at most, if not kept as it is then as records, symbols or relocations.
        budget.take(data.len())?;
        let data = if is_kept(head.name) { data } else { &[] };
        sections.push(Section {
            name: head.text(),
            kind: head.kind(),
            flags: head.flags(),
            offset: head.offset(),
            size: head.size(),
            alignment: head.alignment(),
            info: head.info(),
            bytes: data.to_vec(),
            relocations: Vec::new(),
        });
    }
    Ok(sections)
}

fn symbols(file: &File<'_>, heads: &[Head<'_>], budget: &mut Budget) -> Result<IdMap<SymbolId, Symbol>, Error> {
    let mut symbols = IdMap::new();
    let Some(table) = file.symbols(heads)? else { return Ok(symbols) };
    for (index, raw) in table.symbols.iter().enumerate() {
        let at = table.head.offset() + (index * size_of_val(raw)) as u64;
        let damaged = |why: &str| Error::section(&table.head.text(), at, format!("symbol {index} {why}"));
        let raw = table.get(raw).ok_or_else(|| damaged("has no name"))?;
        budget.take(raw.name.len())?;
        let section = match raw.section {
            UNDEFINED | FIRST_SPECIAL.. => None,
            section if usize::from(section) < heads.len() => Some(SectionId(u32::from(section))),
            section => return Err(damaged(&format!("lies in section {section}, and there are {}", heads.len()))),
        };
        symbols.push(Symbol {
            name: String::from_utf8_lossy(raw.name).into_owned(),
            kind: match raw.kind {
                0 => SymbolKind::None,
                1 => SymbolKind::Object,
                2 => SymbolKind::Function,
                3 => SymbolKind::Section,
                other => SymbolKind::Other(other),
            },
            binding: match raw.binding {
                0 => Binding::Local,
                1 => Binding::Global,
                2 => Binding::Weak,
                other => Binding::Other(other),
            },
            other: raw.other,
            section,
            value: raw.value,
            size: raw.size,
        });
    }
    Ok(symbols)
}

fn relocations(
    file: &File<'_>,
    heads: &[Head<'_>],
    symbols: &IdMap<SymbolId, Symbol>,
    sections: &mut IdMap<SectionId, Section>,
) -> Result<(), Error> {
    for head in heads.iter().filter(|head| !is_mercury(head.name)) {
        let Some((target, raw)) = file.relocations(head)? else { continue };
        let damaged = |why: String| Error::section(&head.text(), head.offset(), why);
        let target = SectionId(target as u32);
        if sections.get(target).is_none() {
            return Err(damaged(format!("it changes section {}, and there are {}", target.0, heads.len())));
        }
        let section = &mut sections[target];
        for raw in raw {
            if raw.offset >= section.size {
                return Err(damaged(format!(
                    "it changes byte {:#x} of `{}`, which ends before",
                    raw.offset, section.name
                )));
            }
            let symbol = SymbolId(raw.symbol);
            if symbols.get(symbol).is_none() {
                return Err(damaged(format!("it names symbol {}, and there are {}", raw.symbol, symbols.len())));
            }
            section.relocations.push(Relocation { offset: raw.offset, kind: raw.kind, symbol, addend: raw.addend });
        }
        section.relocations.sort_by_key(|relocation| relocation.offset);
    }
    Ok(())
}

/// Bits of the flags of the older layout.
const V7_VARIANT_A: u32 = 1 << 11;
/// The record of `.nv.compat` that says whether the code has instructions of its chip alone.
const COMPAT_ACCELERATOR: u8 = 0x09;

fn target(file: &File<'_>, layout: Layout, heads: &[Head<'_>], producers: &[Producer]) -> Result<Target, Error> {
    let flags = file.flags();
    let (sm, is_a) = match layout {
        Layout::V7 => (flags & 0xff, flags & V7_VARIANT_A != 0),
        Layout::V8 => (flags >> 8 & 0xff, says_a(file, heads)?),
    };
    let family = format!("sm_{sm}f");
    let is_f = || producers.iter().any(|producer| producer.arguments.split_whitespace().any(|word| word == family));
    let variant = if is_a { Some('a') } else { is_f().then_some('f') };
    Ok(Target { sm, variant })
}

fn says_a(file: &File<'_>, heads: &[Head<'_>]) -> Result<bool, Error> {
    let Some(head) = heads.iter().find(|head| head.name == b".nv.compat") else { return Ok(false) };
    let records = kernels::records_of(file, head)?;
    Ok(records.iter().any(|record| record.number == COMPAT_ACCELERATOR && record.word().is_some_and(|word| word != 0)))
}

fn virtual_sm(file: &File<'_>, layout: Layout, heads: &[Head<'_>]) -> Result<Option<u32>, Error> {
    match layout {
        Layout::V7 => Ok(Some(file.flags() >> 16 & 0xff)),
        // Version and number, 16 bits each.
        Layout::V8 => {
            Ok(notes(file, heads, b".note.nv.cuinfo")?.first().and_then(|note| u16_at(note, 2)).map(u32::from))
        }
    }
}

/// What notes of a section say, each behind its owner's name.
fn notes<'b>(file: &File<'b>, heads: &[Head<'b>], section: &[u8]) -> Result<Vec<&'b [u8]>, Error> {
    /// Bytes of the sizes and the kind before the name.
    const HEADER: usize = 12;
    let mut notes = Vec::new();
    let Some(head) = heads.iter().find(|head| head.name == section) else { return Ok(notes) };
    let mut rest = file.data(head)?;
    while !rest.is_empty() {
        let at = head.offset() + head.size().saturating_sub(rest.len() as u64);
        let cut = || Error::section(&head.text(), at, "a note ends in the middle");
        let name = u32_at(rest, 0).ok_or_else(cut)? as usize;
        let size = u32_at(rest, 4).ok_or_else(cut)? as usize;
        let start = HEADER.saturating_add(name).checked_next_multiple_of(4).ok_or_else(cut)?;
        let end = start.saturating_add(size);
        notes.push(rest.get(start..end).ok_or_else(cut)?);
        rest = rest.get(end.saturating_add(3) & !3..).unwrap_or_default();
    }
    Ok(notes)
}

fn producers(file: &File<'_>, heads: &[Head<'_>]) -> Result<Vec<Producer>, Error> {
    /// Where the texts begin: behind a version, an unused number, and four places among them.
    const TEXTS: usize = 24;
    let mut producers = Vec::new();
    for note in notes(file, heads, b".note.nv.tkinfo")? {
        let text = |at: usize| {
            let start = u32_at(note, at).unwrap_or_default() as usize;
            text_at(note, TEXTS.saturating_add(start)).unwrap_or_default()
        };
        producers.push(Producer {
            tool: text(8),
            version: text(12),
            branch: text(16),
            arguments: text(20).trim().to_owned(),
        });
    }
    Ok(producers)
}

impl Section {
    /// What is added to a symbol's address at a relocation, where that is a whole word of 64 bits.
    pub(super) fn addend(&self, relocation: &Relocation) -> Option<u64> {
        match relocation.addend {
            Some(addend) => Some(addend as u64),
            None => u64_at(&self.bytes, usize::try_from(relocation.offset).ok()?),
        }
    }
}
