//! Which line of the source an instruction came from, if the compiler was called with `-lineinfo`.
//!
//! There are two tables, both DWARF line programs of version 2: `.debug_line` names lines of the CUDA source, and
//! `.nv_debug_line_sass` lines of the PTX, whose text lies in `.nv_debug_ptx_txt`, a line behind the other with zeros
//! between them. The address that a program sets is a relocation to a kernel's symbol. An extended opcode of NVIDIA's
//! (0x90) says before a row that its code was inlined: a row of the same sequence, counted from 1, at which the call
//! stands, and where in `.debug_str` the name of the inlined function lies. It holds until the next one; row 0
//! ends it. nvdisasm prints the same with `-gi`.

use std::borrow::Cow;

use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LineInstruction, LineRow, LittleEndian, Reader as _,
};

use super::cubin::{Cubin, Section, SectionId};
use super::error::Error;

/// NVIDIA's extended opcode for a row of inlined code.
const INLINED_CALL: u8 = 0x90;
/// Bytes of an address in the programs.
const ADDRESS_BYTES: u8 = 8;
/// Most functions that are taken as inlined into each other.
const MOST_CALLERS: usize = 64;

/// A file of the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    /// Its name.
    pub name: String,
    /// Its folder, as an index of [`LineTable::folders`].
    pub folder: Option<usize>,
}

/// A row of a line table: some neighbouring instructions that come from one line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The section of the code.
    pub section: SectionId,
    /// Where the instructions begin in the section, in bytes.
    pub offset: u64,
    /// Where they end. A row without instructions is one that others were inlined at.
    pub end: u64,
    /// The file, as an index of [`LineTable::files`].
    pub file: Option<usize>,
    /// The line, from 1; 0 where there is none.
    pub line: u64,
    /// The row at which this one's function was called, if it was inlined.
    pub inlined_at: Option<usize>,
    /// Where the name of the inlined function lies; [`LineTable::function`] has it.
    function: Option<usize>,
}

/// The lines of a cubin.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineTable {
    /// Folders of the files.
    pub folders: Vec<String>,
    /// Files of the source.
    pub files: Vec<SourceFile>,
    /// Rows of the CUDA source, in the order of the compiler.
    pub rows: Vec<Row>,
    /// Rows of the PTX, in the order of the compiler.
    pub ptx_rows: Vec<Row>,
    /// Positions of rows that have instructions, by section and offset.
    order: Vec<usize>,
    ptx_order: Vec<usize>,
    /// Names of inlined functions, each up to a zero.
    names: Vec<u8>,
    ptx_text: Vec<u8>,
    /// Where each line of the PTX begins.
    ptx_lines: Vec<usize>,
}

impl LineTable {
    /// Reads the tables of a cubin. Without line information the table is empty.
    pub(super) fn read(cubin: &Cubin) -> Result<Self, Error> {
        let mut table = Self::default();
        if let Some((_, section)) = cubin.section(".debug_line") {
            table.rows = Program { cubin, section, table: &mut table }.rows()?;
        }
        if let Some((_, section)) = cubin.section(".nv_debug_line_sass") {
            // Its rows name the only file there is, without saying its name.
            let mut own = Self::default();
            table.ptx_rows = Program { cubin, section, table: &mut own }.rows()?;
        }
        table.order = order(&table.rows);
        table.ptx_order = order(&table.ptx_rows);
        table.names = cubin.section(".debug_str").map(|(_, section)| section.bytes.clone()).unwrap_or_default();
        if let Some((_, section)) = cubin.section(".nv_debug_ptx_txt") {
            table.ptx_text.clone_from(&section.bytes);
            let ends = section.bytes.iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(at, _)| at + 1);
            table.ptx_lines = std::iter::once(0).chain(ends).filter(|&at| at < section.bytes.len()).collect();
        }
        Ok(table)
    }

    /// True where the compiler wrote no lines.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.ptx_rows.is_empty()
    }

    /// The row of the CUDA source for the instruction at an offset of a section.
    pub fn at(&self, section: SectionId, offset: u64) -> Option<&Row> {
        find(&self.rows, &self.order, section, offset)
    }

    /// The rows at which the code of a row was inlined, from the innermost call outwards.
    pub fn callers<'t>(&'t self, row: &'t Row) -> impl Iterator<Item = &'t Row> {
        let next = |row: &&'t Row| row.inlined_at.and_then(|at| self.rows.get(at));
        std::iter::successors(next(&row), next).take(MOST_CALLERS)
    }

    /// The line of the PTX for the instruction at an offset of a section, from 1.
    pub fn ptx_line(&self, section: SectionId, offset: u64) -> Option<u64> {
        find(&self.ptx_rows, &self.ptx_order, section, offset).map(|row| row.line).filter(|&line| line != 0)
    }

    /// The text of a line of the PTX, from 1.
    pub fn ptx_text(&self, line: u64) -> Option<Cow<'_, str>> {
        let at = usize::try_from(line).ok()?.checked_sub(1)?;
        Some(until_zero(self.ptx_text.get(*self.ptx_lines.get(at)?..)?))
    }

    /// The name of a file with its folder.
    pub fn path(&self, file: usize) -> Option<String> {
        let file = self.files.get(file)?;
        let folder = file.folder.and_then(|folder| self.folders.get(folder)).filter(|folder| !folder.is_empty());
        Some(match folder {
            Some(folder) if !file.name.starts_with('/') => format!("{folder}/{}", file.name),
            _ => file.name.clone(),
        })
    }

    /// The mangled name of the inlined function that a row is in.
    pub fn function(&self, row: &Row) -> Option<Cow<'_, str>> {
        Some(until_zero(self.names.get(row.function?..)?))
    }
}

fn until_zero(bytes: &[u8]) -> Cow<'_, str> {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end])
}

fn order(rows: &[Row]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rows.len()).filter(|&at| rows[at].offset < rows[at].end).collect();
    order.sort_by_key(|&at| (rows[at].section, rows[at].offset));
    order
}

fn find<'t>(rows: &'t [Row], order: &[usize], section: SectionId, offset: u64) -> Option<&'t Row> {
    let behind = order.partition_point(|&at| (rows[at].section, rows[at].offset) <= (section, offset));
    let row = &rows[order[behind.checked_sub(1)?]];
    (row.section == section && offset < row.end).then_some(row)
}

type Slice<'b> = EndianSlice<'b, LittleEndian>;

/// The line programs of a section.
struct Program<'c> {
    cubin: &'c Cubin,
    section: &'c Section,
    /// Takes files and folders.
    table: &'c mut LineTable,
}

/// The call that rows are inlined at, as an opcode says.
#[derive(Clone, Copy, Default)]
struct Call {
    row: Option<usize>,
    function: Option<usize>,
}

impl Program<'_> {
    /// The rows of all programs.
    fn rows(&mut self) -> Result<Vec<Row>, Error> {
        let bytes = self.relocated();
        let lines = DebugLine::new(&bytes, LittleEndian);
        let mut rows = Vec::new();
        let mut at = 0;
        while at < bytes.len() {
            let damaged = |error: gimli::Error| {
                Error::section(&self.section.name, self.section.offset + at as u64, format!("a line program: {error}"))
            };
            let program = lines.program(DebugLineOffset(at), ADDRESS_BYTES, None, None).map_err(damaged)?;
            let size = program.header().unit_length();
            run(program.clone(), self.table, &mut rows).map_err(damaged)?;
            let length_bytes = usize::from(program.header().format().initial_length_size());
            at = at.saturating_add(length_bytes).saturating_add(size);
        }
        Ok(rows)
    }

    /// The section with its relocations applied: an address has the section of the code in its upper half.
    fn relocated(&self) -> Vec<u8> {
        let mut bytes = self.section.bytes.clone();
        for relocation in &self.section.relocations {
            let symbol = &self.cubin.symbols[relocation.symbol];
            let (Some(section), Some(addend)) = (symbol.section, self.section.addend(relocation)) else { continue };
            let offset = symbol.value.wrapping_add(addend) & u64::from(u32::MAX);
            let address = u64::from(section.0) << 32 | offset;
            let start = relocation.offset as usize;
            let end = start.saturating_add(usize::from(ADDRESS_BYTES));
            if let Some(place) = bytes.get_mut(start..end) {
                place.copy_from_slice(&address.to_le_bytes());
            }
        }
        bytes
    }
}

/// Runs a line program.
fn run(
    mut program: gimli::IncompleteLineProgram<Slice<'_>>,
    table: &mut LineTable,
    rows: &mut Vec<Row>,
) -> gimli::Result<()> {
    let header = program.header().clone();
    let (first_file, mut first_row) = (table.files.len(), rows.len());
    add_files(&header, table);
    let mut instructions = header.instructions();
    let mut state = LineRow::new(&header);
    let mut call = Call::default();
    let mut open: Option<usize> = None;
    while let Some(instruction) = instructions.next_instruction(&header)? {
        if let LineInstruction::UnknownExtended(opcode, operands) = &instruction
            && opcode.0 == INLINED_CALL
        {
            call = inlined_call(*operands, first_row, rows.len())?;
        }
        if !state.execute(instruction, &mut program)? {
            continue;
        }
        if let Some(open) = open.take() {
            rows[open].end = offset_of(&state);
        }
        if state.end_sequence() {
            call = Call::default();
            first_row = rows.len();
        } else {
            // Files are counted from 1.
            let file = usize::try_from(state.file_index()).ok().and_then(|file| file.checked_sub(1));
            let file = file.map(|file| first_file.saturating_add(file)).filter(|&file| file < table.files.len());
            open = Some(rows.len());
            rows.push(Row {
                section: SectionId((state.address() >> 32) as u32),
                offset: offset_of(&state),
                end: offset_of(&state),
                file,
                line: state.line().map_or(0, std::num::NonZero::get),
                inlined_at: call.row,
                function: call.function,
            });
        }
        state.reset(&header);
    }
    Ok(())
}

fn offset_of(state: &LineRow) -> u64 {
    state.address() & u64::from(u32::MAX)
}

/// The operands of NVIDIA's opcode. A row that is not there yet can be no caller.
fn inlined_call(mut operands: Slice<'_>, first: usize, next: usize) -> gimli::Result<Call> {
    let (row, name) = (operands.read_uleb128()?, operands.read_uleb128()?);
    let caller = usize::try_from(row).ok().and_then(|row| first.checked_add(row.checked_sub(1)?));
    let caller = caller.filter(|&caller| caller < next);
    Ok(Call { row: caller, function: caller.and_then(|_| usize::try_from(name).ok()) })
}

fn add_files(header: &gimli::LineProgramHeader<Slice<'_>>, table: &mut LineTable) {
    let first = table.folders.len();
    table.folders.extend(header.include_directories().iter().map(text));
    let n_folders = table.folders.len() - first;
    for file in header.file_names() {
        // Folder 0 is that of the compilation, which the programs do not name.
        let folder = usize::try_from(file.directory_index()).ok().and_then(|folder| folder.checked_sub(1));
        let folder = folder.filter(|&folder| folder < n_folders).map(|folder| first + folder);
        table.files.push(SourceFile { name: text(&file.path_name()), folder });
    }
}

fn text(value: &AttributeValue<Slice<'_>>) -> String {
    match value {
        AttributeValue::String(text) => text.to_string_lossy().into_owned(),
        _ => String::new(),
    }
}
