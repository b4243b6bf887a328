//! Kernels, functions, variables and constant banks of a cubin, put together from its symbols, the names of its sections
//! and the records in `.nv.info`.

use std::collections::HashMap;

use warplens_base::IdMap;

use super::attributes::{self, Attribute, records};
use super::bytes::{u16_at, u32_at};
use super::cubin::{
    Bank, Cubin, Function, Kernel, Layout, Parameter, SectionId, Shared, Symbol, SymbolId, SymbolKind, Variable,
    VariableSpace,
};
use super::elf::{File, Head};
use super::error::Error;

/// Shared memory that the system keeps for itself in each CTA, and the first chip whose files count it.
const RESERVED_SHARED_BYTES: u64 = 1024;
const FIRST_SM_WITH_RESERVED: u32 = 90;

/// What `.nv.info` says of a symbol.
#[derive(Clone, Copy, Default)]
struct Facts {
    registers: Option<u32>,
    frame_bytes: Option<u32>,
    min_stack_bytes: Option<u32>,
    max_stack_bytes: Option<u32>,
}

/// Sections by the function that they belong to.
#[derive(Default)]
struct Parts<'b> {
    info: HashMap<&'b [u8], Head<'b>>,
    shared: HashMap<&'b [u8], u64>,
    local: HashMap<&'b [u8], u64>,
    banks: HashMap<&'b [u8], Vec<Bank>>,
}

/// Fills in what functions and variables a cubin has.
pub(super) fn fill(cubin: &mut Cubin, file: &File<'_>, heads: &[Head<'_>]) -> Result<(), Error> {
    let mut facts = IdMap::filled(cubin.symbols.len(), Facts::default());
    if let Some(head) = heads.iter().find(|head| head.name == b".nv.info") {
        cubin.attributes = module_attributes(records_of(file, head)?, &mut facts);
    }
    let mut parts = parts(heads, &mut cubin.banks);
    let mut functions: Vec<SymbolId> = cubin
        .symbols
        .iter()
        .filter(|(_, symbol)| symbol.kind == SymbolKind::Function && symbol.section.is_some())
        .map(|(id, _)| id)
        .collect();
    functions.sort_by_key(|&id| (cubin.symbols[id].section, cubin.symbols[id].value));
    for id in functions {
        let symbol = &cubin.symbols[id];
        let Some(function) = function(cubin, id, symbol, facts[id], &mut parts, file)? else { continue };
        if symbol.is_kernel() {
            cubin.kernels.push(kernel(cubin, function, &mut parts)?);
        } else {
            cubin.functions.push(function);
        }
    }
    cubin.variables = cubin.symbols.iter().filter_map(|(id, symbol)| variable(cubin, id, symbol)).collect();
    cubin.variables.sort_by_key(|variable| (variable.section, variable.offset, variable.symbol));
    Ok(())
}

/// The records of a section.
pub(super) fn records_of(file: &File<'_>, head: &Head<'_>) -> Result<Vec<Attribute>, Error> {
    let damaged = |bad: attributes::BadRecord| Error::section(&head.text(), head.offset() + bad.at as u64, bad.why);
    records(file.data(head)?).map_err(damaged)
}

/// Notes what records say of symbols, and returns the others.
fn module_attributes(records: Vec<Attribute>, facts: &mut IdMap<SymbolId, Facts>) -> Vec<Attribute> {
    let mut rest = Vec::new();
    for record in records {
        let known = record.of_symbol().filter(|&(symbol, _)| facts.get(SymbolId(symbol)).is_some());
        let Some((symbol, value)) = known else {
            rest.push(record);
            continue;
        };
        let facts = &mut facts[SymbolId(symbol)];
        match record.number {
            attributes::REGCOUNT => facts.registers = Some(value),
            attributes::FRAME_SIZE => facts.frame_bytes = Some(value),
            attributes::MIN_STACK_SIZE => facts.min_stack_bytes = Some(value),
            attributes::MAX_STACK_SIZE => facts.max_stack_bytes = Some(value),
            _ => rest.push(record),
        }
    }
    rest
}

/// Sorts sections by the function in their names; constant banks without one are the module's.
fn parts<'b>(heads: &[Head<'b>], module_banks: &mut Vec<Bank>) -> Parts<'b> {
    let mut parts = Parts::default();
    for head in heads {
        let section = SectionId(head.index as u32);
        if let Some(name) = head.name.strip_prefix(b".nv.info.") {
            parts.info.entry(name).or_insert(*head);
        } else if let Some(name) = head.name.strip_prefix(b".nv.shared.") {
            parts.shared.entry(name).or_insert(head.size());
        } else if let Some(name) = head.name.strip_prefix(b".nv.local.") {
            parts.local.entry(name).or_insert(head.size());
        } else if let Some((number, name)) = bank(head.name) {
            let bank = Bank { number, section };
            name.map_or(&mut *module_banks, |name| parts.banks.entry(name).or_default()).push(bank);
        }
    }
    parts
}

/// Number of a constant bank and the function that it belongs to, by the name of its section.
fn bank(section: &[u8]) -> Option<(u8, Option<&[u8]>)> {
    let rest = section.strip_prefix(b".nv.constant")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    match rest[digits..].split_first() {
        None => Some((number, None)),
        Some((b'.', name)) => Some((number, Some(name))),
        Some(_) => None,
    }
}

fn function(
    cubin: &Cubin,
    id: SymbolId,
    symbol: &Symbol,
    facts: Facts,
    parts: &mut Parts<'_>,
    file: &File<'_>,
) -> Result<Option<Function>, Error> {
    let Some(section) = symbol.section else { return Ok(None) };
    let code = &cubin.sections[section];
    if !code.name.starts_with(".text.") {
        return Ok(None);
    }
    let end = symbol.value.checked_add(symbol.size);
    if end.is_none_or(|end| end > code.bytes.len() as u64) {
        let why = format!("the code of `{}` would end behind it", symbol.name);
        return Err(Error::section(&code.name, code.offset.saturating_add(symbol.value), why));
    }
    // Taken out: it belongs to one function, however many have its name.
    let info = parts.info.remove(symbol.name.as_bytes());
    let attributes = info.map(|head| records_of(file, &head)).transpose()?.unwrap_or_default();
    let in_header = code.info >> 24;
    Ok(Some(Function {
        symbol: id,
        name: symbol.name.clone(),
        section,
        offset: symbol.value,
        bytes: symbol.size,
        registers: facts.registers.or((symbol.value == 0 && in_header != 0).then_some(in_header)),
        frame_bytes: facts.frame_bytes,
        min_stack_bytes: facts.min_stack_bytes,
        max_stack_bytes: facts.max_stack_bytes,
        attributes,
    }))
}

fn kernel(cubin: &Cubin, function: Function, parts: &mut Parts<'_>) -> Result<Kernel, Error> {
    let name = function.name.as_bytes();
    let section_bytes = parts.shared.get(name).copied().unwrap_or_default();
    let counts_reserved =
        !cubin.is_relocatable && cubin.target.sm >= FIRST_SM_WITH_RESERVED && section_bytes >= RESERVED_SHARED_BYTES;
    let reserved_bytes = if counts_reserved { RESERVED_SHARED_BYTES } else { 0 };
    let mut kernel = Kernel {
        parameters: Vec::new(),
        parameter_base: None,
        parameter_bytes: None,
        banks: parts.banks.remove(name).unwrap_or_default(),
        shared: Shared { section_bytes, reserved_bytes },
        local_bytes: parts.local.get(name).copied().unwrap_or_default(),
        barriers: barriers_in_header(cubin, function.section),
        register_limit: None,
        max_threads: None,
        required_threads: None,
        cluster: None,
        max_cluster: None,
        exits: Vec::new(),
        cooperative: Vec::new(),
        function,
    };
    let records = std::mem::take(&mut kernel.function.attributes);
    for record in &records {
        note(&mut kernel, record).ok_or_else(|| {
            let known = attributes::known(record.number).map_or("", |known| known.name);
            let info = format!(".nv.info.{}", kernel.function.name);
            let offset = cubin.section(&info).map_or(0, |(_, section)| section.offset);
            Error::section(&info, offset, format!("the value of the attribute {known} is too short"))
        })?;
    }
    kernel.function.attributes = records;
    kernel.parameters.sort_by_key(|parameter| parameter.ordinal);
    Ok(kernel)
}

/// Barriers by the flags of the code's section, where the older layout has them.
fn barriers_in_header(cubin: &Cubin, section: SectionId) -> u32 {
    match cubin.layout {
        Layout::V7 => (cubin.sections[section].flags >> 20 & 0x1f) as u32,
        Layout::V8 => 0,
    }
}

/// Writes what a record says into the kernel. None where the value is too short for what it should be.
fn note(kernel: &mut Kernel, record: &Attribute) -> Option<()> {
    match record.number {
        attributes::KPARAM_INFO | attributes::KPARAM_INFO_V2 => kernel.parameters.push(parameter(record)?),
        attributes::PARAM_CBANK => {
            let (_, place) = record.of_symbol()?;
            kernel.parameter_base = Some(place & 0xffff);
            kernel.parameter_bytes.get_or_insert(place >> 16);
        }
        attributes::CBANK_PARAM_SIZE => kernel.parameter_bytes = Some(record.word()?),
        attributes::MAXREG_COUNT => kernel.register_limit = Some(record.word()?),
        attributes::NUM_BARRIERS => kernel.barriers = record.word()?,
        attributes::MAX_THREADS => kernel.max_threads = Some(record.dimensions()?),
        attributes::REQNTID => kernel.required_threads = Some(record.dimensions()?),
        attributes::CTA_PER_CLUSTER => kernel.cluster = Some(record.dimensions()?),
        attributes::MAX_CLUSTER_RANK => kernel.max_cluster = Some(record.word()?),
        attributes::EXIT_INSTR_OFFSETS => kernel.exits = record.words(),
        attributes::COOP_GROUP_INSTR_OFFSETS => kernel.cooperative = record.words(),
        _ => {}
    }
    Some(())
}

/// An index of 32 bits that is always 0, the ordinal and the offset in 16 bits each, and a word: in the first version the
/// alignment of what it points to in bits 0 to 7, its space in bits 8 to 11 and the size in bits 18 to 31; in the second,
/// for kernels with more than 4 KiB of parameters, the size in bits 0 to 15, then alignment and space.
fn parameter(record: &Attribute) -> Option<Parameter> {
    let attributes::Value::Bytes(bytes) = &record.value else { return None };
    let (ordinal, offset, word) = (u16_at(bytes, 4)?, u16_at(bytes, 6)?, u32_at(bytes, 8)?);
    let (size, pointee) =
        if record.number == attributes::KPARAM_INFO { (word >> 18, word) } else { (word & 0xffff, word >> 16) };
    Some(Parameter {
        ordinal,
        offset: offset.into(),
        bytes: size,
        pointee_log_alignment: (pointee & 0xff) as u8,
        pointee_space: (pointee >> 8 & 0xf) as u8,
    })
}

fn variable(cubin: &Cubin, id: SymbolId, symbol: &Symbol) -> Option<Variable> {
    let id_of_section = symbol.section.filter(|_| symbol.kind == SymbolKind::Object)?;
    let section = &cubin.sections[id_of_section];
    let space = match section.name.as_str() {
        ".nv.global" | ".nv.global.init" => VariableSpace::Global,
        name => VariableSpace::Constant(bank(name.as_bytes())?.0),
    };
    // Of two powers of two the smaller one divides both.
    let of_offset = if symbol.value == 0 { u64::MAX } else { 1 << symbol.value.trailing_zeros() };
    Some(Variable {
        symbol: id,
        name: symbol.name.clone(),
        space,
        section: id_of_section,
        offset: symbol.value,
        bytes: symbol.size,
        alignment: section.alignment.max(1).min(of_offset),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn banks_are_told_by_names() {
        assert_eq!(bank(b".nv.constant3"), Some((3, None)));
        assert_eq!(bank(b".nv.constant0.kernel"), Some((0, Some(b"kernel".as_slice()))));
        assert_eq!(bank(b".nv.constant17.a.b"), Some((17, Some(b"a.b".as_slice()))));
        assert_eq!(bank(b".nv.constant"), None);
        assert_eq!(bank(b".nv.constant300"), None);
        assert_eq!(bank(b".nv.constant.pic"), None);
    }
}
