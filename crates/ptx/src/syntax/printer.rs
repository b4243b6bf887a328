//! Tree to text, in one canonical layout: what is printed parses to the same tree and prints to the same text.
//!
//! Comments are not kept. Numbers are printed folded: integers in decimal, floating-point numbers by their bits.

use std::fmt::{self, Display, Formatter, Write};

use super::ast::{
    Address, Alias, Attribute, Block, Body, Declarator, FieldValue, File, Function, FunctionDirective, FunctionKind,
    Immediate, Initializer, Instruction, Item, Lanes, Linkage, Loc, Modifier, Module, Operand, OperandKind, Parameter,
    Pointer, Pragma, Prototype, Section, SectionLine, SectionValue, Selector, Space, Statement, SymbolValue, Targets,
    Variable,
};
use crate::opcodes::Opcode;

/// The module as text.
pub fn print(module: &Module<'_>) -> String {
    module.to_string()
}

/// One instruction as text, without its semicolon.
pub fn print_instruction(instruction: &Instruction<'_>, body: &Body<'_>) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_instruction(&mut text, instruction, body.operands(instruction));
    text
}

impl Display for Module<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(version) = self.version {
            writeln!(f, ".version {}.{}", version.major, version.minor)?;
        }
        if !self.targets.is_empty() {
            write!(f, ".target ")?;
            list(f, &self.targets, ", ", |f, target| f.write_str(target.text))?;
            writeln!(f)?;
        }
        if let Some(size) = self.address_size {
            writeln!(f, ".address_size {size}")?;
        }
        for item in &self.items {
            match item {
                Item::Function(function) => write_function(f, function)?,
                Item::Variable(variable) => writeln!(f, "{variable};")?,
                Item::Alias(Alias { name, target }) => writeln!(f, ".alias {}, {};", name.text, target.text)?,
                Item::Pragma(pragma) => writeln!(f, "{pragma}")?,
                Item::File(file) => writeln!(f, "{file}")?,
                Item::Section(section) => writeln!(f, "{section}")?,
                Item::Dwarf(line) => writeln!(f, "{}", dwarf(line.text))?,
            }
        }
        Ok(())
    }
}

/// Writes items with a separator between them.
fn list<T, W: Write>(
    out: &mut W,
    items: &[T],
    separator: &str,
    mut write: impl FnMut(&mut W, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.write_str(separator)?;
        }
        write(out, item)?;
    }
    Ok(())
}

fn dwarf(line: &str) -> String {
    if line.is_empty() { "@@DWARF".to_owned() } else { format!("@@DWARF {line}") }
}

fn write_function(f: &mut Formatter<'_>, function: &Function<'_>) -> fmt::Result {
    f.write_str(linkage(function.linkage))?;
    f.write_str(match function.kind {
        FunctionKind::Entry => ".entry",
        FunctionKind::Func => ".func",
    })?;
    write_attributes(f, &function.attributes)?;
    if !function.returns.is_empty() {
        write!(f, " ({})", Parameters(&function.returns))?;
    }
    write!(f, " {}({})", function.name.text, Parameters(&function.parameters))?;
    for directive in &function.directives {
        write!(f, "\n{directive}")?;
    }
    match &function.body {
        None => writeln!(f, ";"),
        Some(body) => {
            writeln!(f, "\n{{")?;
            write_statements(f, &body.statements, body, 1)?;
            writeln!(f, "}}")
        }
    }
}

fn linkage(linkage: Linkage) -> &'static str {
    match linkage {
        Linkage::Internal => "",
        Linkage::Visible => ".visible ",
        Linkage::Extern => ".extern ",
        Linkage::Weak => ".weak ",
        Linkage::Common => ".common ",
    }
}

struct Parameters<'a>(&'a [Parameter<'a>]);

impl Display for Parameters<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        list(f, self.0, ", ", |f, parameter| write!(f, "{parameter}"))
    }
}

impl Display for Parameter<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.space)?;
        write_align(f, self.align)?;
        write_type(f, self.vector, self.ty.name())?;
        if let Some(pointer) = self.pointer {
            write!(f, "{pointer}")?;
        }
        write!(f, " {}", self.name.text)?;
        write_dimensions(f, &self.dimensions)
    }
}

fn write_align(f: &mut Formatter<'_>, align: Option<u32>) -> fmt::Result {
    align.map_or(Ok(()), |align| write!(f, " .align {align}"))
}

fn write_type(f: &mut Formatter<'_>, vector: u8, ty: &str) -> fmt::Result {
    if vector > 1 {
        write!(f, " .v{vector}")?;
    }
    write!(f, " .{ty}")
}

fn write_dimensions(f: &mut Formatter<'_>, dimensions: &[Option<u64>]) -> fmt::Result {
    for dimension in dimensions {
        match dimension {
            Some(size) => write!(f, "[{size}]")?,
            None => f.write_str("[]")?,
        }
    }
    Ok(())
}

impl Display for Space {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Reg => ".reg",
            Space::Sreg => ".sreg",
            Space::Const => ".const",
            Space::ConstBank(bank) => return write!(f, ".const[{bank}]"),
            Space::Global => ".global",
            Space::Local => ".local",
            Space::Param => ".param",
            Space::Shared => ".shared",
            Space::Tex => ".tex",
        })
    }
}

impl Display for Pointer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(" .ptr")?;
        if let Some(space) = self.space {
            write!(f, " {space}")?;
        }
        write_align(f, self.align)
    }
}

fn write_attributes(f: &mut Formatter<'_>, attributes: &[Attribute<'_>]) -> fmt::Result {
    if attributes.is_empty() {
        return Ok(());
    }
    f.write_str(" .attribute(")?;
    list(f, attributes, ", ", |f, attribute| {
        write!(f, ".{}", attribute.name.text)?;
        if attribute.values.is_empty() {
            return Ok(());
        }
        f.write_str("(")?;
        list(f, &attribute.values, ", ", |f, value| write!(f, "{value}"))?;
        f.write_str(")")
    })?;
    f.write_str(")")
}

impl Display for FunctionDirective<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, extent) = match self {
            FunctionDirective::MaxNReg(count) => return write!(f, ".maxnreg {count}"),
            FunctionDirective::MinNCtaPerSm(count) => return write!(f, ".minnctapersm {count}"),
            FunctionDirective::MaxNCtaPerSm(count) => return write!(f, ".maxnctapersm {count}"),
            FunctionDirective::MaxClusterRank(count) => return write!(f, ".maxclusterrank {count}"),
            FunctionDirective::AbiPreserve(count) => return write!(f, ".abi_preserve {count}"),
            FunctionDirective::AbiPreserveControl(count) => return write!(f, ".abi_preserve_control {count}"),
            FunctionDirective::ExplicitCluster(_) => return f.write_str(".explicitcluster"),
            FunctionDirective::BlocksAreClusters => return f.write_str(".blocksareclusters"),
            FunctionDirective::NoReturn => return f.write_str(".noreturn"),
            FunctionDirective::Pragma(strings) => return write_pragma(f, strings),
            FunctionDirective::MaxNTid(extent) => (".maxntid", extent),
            FunctionDirective::ReqNTid(extent) => (".reqntid", extent),
            FunctionDirective::ReqNCtaPerCluster(extent, _) => (".reqnctapercluster", extent),
        };
        let [x, y, z] = extent;
        write!(f, "{name} {x}, {y}, {z}")
    }
}

fn write_pragma(f: &mut Formatter<'_>, strings: &[&str]) -> fmt::Result {
    f.write_str(".pragma ")?;
    list(f, strings, ", ", |f, text| write!(f, "\"{text}\""))?;
    f.write_str(";")
}

impl Display for Pragma<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_pragma(f, &self.strings)
    }
}

fn write_statements(f: &mut Formatter<'_>, statements: &[Statement<'_>], body: &Body<'_>, depth: usize) -> fmt::Result {
    for statement in statements {
        if let Statement::Label(label) = statement {
            writeln!(f, "{}:", label.text)?;
            continue;
        }
        for _ in 0..depth {
            f.write_str("    ")?;
        }
        match statement {
            Statement::Instruction(instruction) => {
                write_instruction(f, instruction, body.operands(instruction))?;
                writeln!(f, ";")?;
            }
            Statement::Label(_) => {}
            Statement::Variable(variable) => writeln!(f, "{variable};")?,
            Statement::Loc(loc) => writeln!(f, "{loc}")?,
            Statement::Pragma(pragma) => writeln!(f, "{pragma}")?,
            Statement::BranchTargets(targets) => write_targets(f, ".branchtargets", targets)?,
            Statement::CallTargets(targets) => write_targets(f, ".calltargets", targets)?,
            Statement::CallPrototype(prototype) => writeln!(f, "{prototype};")?,
            Statement::Dwarf(line) => writeln!(f, "{}", dwarf(line.text))?,
            Statement::Block(block) => write_block(f, block, body, depth)?,
        }
    }
    Ok(())
}

fn write_block(f: &mut Formatter<'_>, block: &Block<'_>, body: &Body<'_>, depth: usize) -> fmt::Result {
    writeln!(f, "{{")?;
    write_statements(f, &block.statements, body, depth + 1)?;
    for _ in 0..depth {
        f.write_str("    ")?;
    }
    writeln!(f, "}}")
}

fn write_targets(f: &mut Formatter<'_>, directive: &str, targets: &Targets<'_>) -> fmt::Result {
    write!(f, "{}: {directive} ", targets.label.text)?;
    list(f, &targets.targets, ", ", |f, target| f.write_str(target.text))?;
    writeln!(f, ";")
}

impl Display for Prototype<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: .callprototype ", self.label.text)?;
        if !self.returns.is_empty() {
            write!(f, "({}) ", Parameters(&self.returns))?;
        }
        write!(f, "_ ({})", Parameters(&self.parameters))?;
        for directive in &self.directives {
            write!(f, " {directive}")?;
        }
        Ok(())
    }
}

fn write_instruction<W: Write>(out: &mut W, instruction: &Instruction<'_>, operands: &[Operand<'_>]) -> fmt::Result {
    if let Some(guard) = instruction.guard {
        write!(out, "@{}{} ", if guard.negated { "!" } else { "" }, guard.name)?;
    }
    let unknown = instruction.unknown.as_deref();
    match instruction.opcode {
        Opcode::Unknown => out.write_str(unknown.and_then(|names| names.opcode).unwrap_or_default())?,
        opcode => out.write_str(opcode.name())?,
    }
    let mut unknown = unknown.into_iter().flat_map(|names| names.modifiers.iter());
    // `.unified` is written behind the address that it speaks of; the parser puts it last.
    let address = operands.iter().position(|operand| matches!(operand.kind, OperandKind::Address(_)));
    let (names, trailing) = match (instruction.modifiers.split_last(), address) {
        (Some((Modifier::Unified, names)), Some(_)) => (names, true),
        _ => (&instruction.modifiers[..], false),
    };
    for &modifier in names {
        let name = if modifier == Modifier::Unknown { unknown.next().copied() } else { None };
        write!(out, ".{}", name.unwrap_or(modifier.name()))?;
    }
    for (index, operand) in operands.iter().enumerate() {
        out.write_str(if index == 0 { " " } else { ", " })?;
        write!(out, "{operand}")?;
        if trailing && Some(index) == address {
            out.write_str(".unified")?;
        }
    }
    Ok(())
}

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            OperandKind::Name(name) => f.write_str(name),
            OperandKind::Selected(name, selector) => write!(f, "{name}{selector}"),
            OperandKind::Not(name) => write!(f, "!{name}"),
            OperandKind::Negated(name, None) => write!(f, "-{name}"),
            OperandKind::Negated(name, Some(selector)) => write!(f, "-{name}{selector}"),
            OperandKind::Offset(name, offset) => write!(f, "{name}+{offset}"),
            OperandKind::Element(name, index) => write!(f, "{name}[{index}]"),
            OperandKind::Immediate(value) => write!(f, "{value}"),
            OperandKind::Sink => f.write_str("_"),
            OperandKind::Address(address) => write!(f, "{address}"),
            OperandKind::AddressList(parts) => write_operands(f, "[", parts, "]"),
            OperandKind::Vector(parts) => write_operands(f, "{", parts, "}"),
            OperandKind::Pair(pair) => write!(f, "{}|{}", pair[0], pair[1]),
            OperandKind::List(parts) => write_operands(f, "(", parts, ")"),
        }
    }
}

fn write_operands(f: &mut Formatter<'_>, open: &str, operands: &[Operand<'_>], close: &str) -> fmt::Result {
    f.write_str(open)?;
    list(f, operands, ", ", |f, operand| write!(f, "{operand}"))?;
    f.write_str(close)
}

impl Display for Address<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.base, self.offset) {
            (Some(base), 0) => write!(f, "[{base}]"),
            (Some(base), offset) => write!(f, "[{base}+{offset}]"),
            (None, offset) => write!(f, "[{offset}]"),
        }
    }
}

impl Display for Immediate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Immediate::Int(value) => write!(f, "{value}"),
            Immediate::Uint(value) => write!(f, "{value}U"),
            Immediate::F32(bits) => write!(f, "0f{bits:08X}"),
            Immediate::F64(bits) => write!(f, "0d{bits:016X}"),
            Immediate::WarpSize => f.write_str("WARP_SZ"),
        }
    }
}

impl Display for Selector {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let lanes = |f: &mut Formatter<'_>, letter: char, lanes: &Lanes| {
            write!(f, ".{letter}")?;
            lanes.digits[..usize::from(lanes.len)].iter().try_for_each(|digit| write!(f, "{digit}"))
        };
        match self {
            Selector::Component { index, colour } => {
                let letters = if *colour { b"rgba" } else { b"xyzw" };
                write!(f, ".{}", char::from(letters[usize::from(*index) & 3]))
            }
            Selector::Bytes(digits) => lanes(f, 'b', digits),
            Selector::Halves(digits) => lanes(f, 'h', digits),
        }
    }
}

impl Display for Variable<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", linkage(self.linkage), self.space)?;
        write_attributes(f, &self.attributes)?;
        write_align(f, self.align)?;
        write_type(f, self.vector, self.ty.name())?;
        if let Some(pointer) = self.pointer {
            write!(f, "{pointer}")?;
        }
        f.write_str(" ")?;
        list(f, &self.declarators, ", ", |f, declarator| write!(f, "{declarator}"))
    }
}

impl Display for Declarator<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.text)?;
        if let Some(count) = self.count {
            write!(f, "<{count}>")?;
        }
        write_dimensions(f, &self.dimensions)?;
        match &self.initializer {
            Some(initializer) => write!(f, " = {initializer}"),
            None => Ok(()),
        }
    }
}

impl Display for Initializer<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Initializer::Value(value) => write!(f, "{value}"),
            Initializer::Symbol(value) => write!(f, "{value}"),
            Initializer::List(values) => {
                f.write_str("{")?;
                list(f, values, ", ", |f, value| write!(f, "{value}"))?;
                f.write_str("}")
            }
            Initializer::Fields(fields) => {
                f.write_str("{")?;
                list(f, fields, ", ", |f, (name, value)| match value {
                    FieldValue::Name(text) => write!(f, "{name} = {text}"),
                    FieldValue::Number(number) => write!(f, "{name} = {number}"),
                })?;
                f.write_str("}")
            }
        }
    }
}

impl Display for SymbolValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(mask) = self.mask {
            write!(f, "0x{mask:X}(")?;
        }
        if self.generic {
            write!(f, "generic({})", self.name)?;
        } else {
            f.write_str(self.name)?;
        }
        if self.offset != 0 {
            write!(f, "+{}", self.offset)?;
        }
        f.write_str(if self.mask.is_some() { ")" } else { "" })
    }
}

impl Display for Loc<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".loc {} {} {}", self.file, self.line, self.column)?;
        let Some(inlined) = &self.inlined else { return Ok(()) };
        if let Some((label, offset)) = inlined.function_name {
            write!(f, ", function_name {label}")?;
            if offset != 0 {
                write!(f, "+{offset}")?;
            }
        }
        if let Some([file, line, column]) = inlined.at {
            write!(f, ", inlined_at {file} {line} {column}")?;
        }
        Ok(())
    }
}

impl Display for File<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, ".file {} \"{}\"", self.index, self.path)?;
        match self.stamp {
            Some((time, size)) => write!(f, ", {time}, {size}"),
            None => Ok(()),
        }
    }
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".section {}\n{{", self.name.text)?;
        for line in &self.lines {
            match *line {
                SectionLine::Label(name) => writeln!(f, "{name}:")?,
                SectionLine::Data { ty, first, len } => {
                    write!(f, ".{} ", ty.name())?;
                    list(f, self.values(first, len), ", ", |f, value| write!(f, "{value}"))?;
                    writeln!(f)?;
                }
            }
        }
        f.write_str("}")
    }
}

impl Display for SectionValue<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SectionValue::Number(value) => write!(f, "{value}"),
            SectionValue::Symbol(name, 0) => f.write_str(name),
            SectionValue::Symbol(name, offset) => write!(f, "{name}+{offset}"),
            SectionValue::Difference(from, to) => write!(f, "{from}-{to}"),
        }
    }
}
