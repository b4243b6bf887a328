//! Everything that is read from a file, as text.

use std::fmt::Write as _;

use warplens_sass::container::{
    Attribute, Bank, Cubin, Function, Image, ImageKind, Kernel, LineTable, Place, Relocation, SectionId, SymbolKind,
    Value, known, relocation_name,
};

/// Sections whose relocations are shown: those of debugging information are many and alike.
fn is_shown(name: &str) -> bool {
    [".text.", ".nv.constant", ".nv.global"].iter().any(|prefix| name.starts_with(prefix))
}

/// Everything that is read from some device code.
pub(crate) fn describe(images: &[Image<'_>]) -> String {
    let mut out = String::new();
    for image in images {
        place(&mut out, image);
        match image.kind {
            ImageKind::Cubin => match image.cubin() {
                Ok(read) => cubin(&mut out, &read),
                Err(error) => line(&mut out, 0, &error.to_string()),
            },
            ImageKind::Ptx => match image.ptx() {
                Ok(text) => line(&mut out, 0, &format!("PTX of {} lines", text.lines().count())),
                Err(error) => line(&mut out, 0, &error.to_string()),
            },
            ImageKind::Other(kind) => line(&mut out, 0, &format!("kind {kind}")),
        }
    }
    out
}

fn line(out: &mut String, depth: usize, text: &str) {
    let _ = writeln!(out, "{:width$}{text}", "", width = 2 * depth);
}

fn place(out: &mut String, image: &Image<'_>) {
    if let (Place::Fatbin { section, offset, entry }, Some(header)) = (&image.place, image.entry()) {
        let section = section.as_deref().unwrap_or("the file");
        let (major, minor) = header.version;
        let options = String::from_utf8_lossy(header.options);
        let options = if image.kind == ImageKind::Ptx { options.trim() } else { "" };
        line(
            out,
            0,
            &format!(
                "entry {entry} of the fatbin at {offset:#x} in {section}: sm_{}, version {major}.{minor}, name `{}`, \
                 options `{options}`, flags {:#x}",
                header.architecture, header.name, header.flags
            ),
        );
    }
}

fn cubin(out: &mut String, cubin: &Cubin) {
    let kind = if cubin.is_relocatable { "to be linked" } else { "linked" };
    let target = cubin.target;
    line(out, 0, &format!("{target}, virtual {:?}, layout {:?}, {kind}", cubin.virtual_sm, cubin.layout));
    for producer in &cubin.producers {
        line(
            out,
            0,
            &format!("made by {}: {} ({}) {}", producer.tool, producer.version, producer.branch, producer.arguments),
        );
    }
    attributes(out, 0, &cubin.attributes);
    banks(out, 0, cubin, &cubin.banks);
    for variable in &cubin.variables {
        let section = &cubin.sections[variable.section].name;
        let initial = cubin.initial(variable).map_or_else(|| "zeros".to_owned(), hex);
        line(
            out,
            0,
            &format!(
                "variable {} {:?} at {:#x} of {section}, {} bytes, aligned to {}: {initial}",
                variable.name, variable.space, variable.offset, variable.bytes, variable.alignment
            ),
        );
    }
    for kernel in &cubin.kernels {
        self::kernel(out, cubin, kernel);
    }
    for function in &cubin.functions {
        line(out, 0, &format!("function {}", function.name));
        self::function(out, cubin, function);
    }
    for (id, section) in cubin.sections.iter().filter(|(_, section)| is_shown(&section.name)) {
        for relocation in &section.relocations {
            line(out, 0, &self::relocation(cubin, id, relocation));
        }
    }
    for (id, symbol) in cubin.symbols.iter().filter(|(_, symbol)| symbol.kind != SymbolKind::Section) {
        let section =
            symbol.section.and_then(|section| cubin.sections.get(section)).map_or("-", |section| &section.name);
        line(
            out,
            0,
            &format!(
                "{id} `{}` {:?} {:?} other {:#x} at {:#x} of {section}, {} bytes",
                symbol.name, symbol.kind, symbol.binding, symbol.other, symbol.value, symbol.size
            ),
        );
    }
    match cubin.lines() {
        Ok(table) => lines(out, cubin, &table),
        Err(error) => line(out, 0, &error.to_string()),
    }
}

fn kernel(out: &mut String, cubin: &Cubin, kernel: &Kernel) {
    line(out, 0, &format!("kernel {}", kernel.function.name));
    function(out, cubin, &kernel.function);
    line(out, 1, &format!("parameters at {:?}, {:?} bytes", kernel.parameter_base, kernel.parameter_bytes));
    for parameter in &kernel.parameters {
        line(
            out,
            2,
            &format!(
                "{} at {:#x}, {} bytes, points to space {} aligned to 2^{}",
                parameter.ordinal,
                parameter.offset,
                parameter.bytes,
                parameter.pointee_space,
                parameter.pointee_log_alignment
            ),
        );
    }
    banks(out, 1, cubin, &kernel.banks);
    line(
        out,
        1,
        &format!(
            "shared {} of {} bytes, local {}, barriers {}, register limit {:?}",
            kernel.shared.own_bytes(),
            kernel.shared.section_bytes,
            kernel.local_bytes,
            kernel.barriers,
            kernel.register_limit
        ),
    );
    line(
        out,
        1,
        &format!(
            "most threads {:?}, required {:?}, cluster {:?}, most {:?}",
            kernel.max_threads, kernel.required_threads, kernel.cluster, kernel.max_cluster
        ),
    );
    line(out, 1, &format!("exits {:x?}, cooperative {:x?}", kernel.exits, kernel.cooperative));
}

fn function(out: &mut String, cubin: &Cubin, function: &Function) {
    let section = &cubin.sections[function.section];
    line(
        out,
        1,
        &format!(
            "code at {:#x} of {} (file {:#x}), {} bytes: {}",
            function.offset,
            section.name,
            section.offset,
            function.bytes,
            hex(&cubin.code(function)[..16.min(function.bytes as usize)])
        ),
    );
    line(
        out,
        1,
        &format!(
            "registers {:?}, frame {:?}, stack {:?} to {:?} bytes",
            function.registers, function.frame_bytes, function.min_stack_bytes, function.max_stack_bytes
        ),
    );
    attributes(out, 1, &function.attributes);
}

fn attributes(out: &mut String, depth: usize, attributes: &[Attribute]) {
    for attribute in attributes {
        let name = known(attribute.number).map_or("unknown", |known| known.name);
        let value = match &attribute.value {
            Value::Empty => String::new(),
            Value::Byte(byte) => format!("{byte:#x}"),
            Value::Half(half) => format!("{half:#x}"),
            Value::Bytes(bytes) => hex(bytes),
        };
        line(out, depth, format!("attribute {:#x} {name} {value}", attribute.number).trim_end());
    }
}

fn banks(out: &mut String, depth: usize, cubin: &Cubin, banks: &[Bank]) {
    for bank in banks {
        let section = &cubin.sections[bank.section];
        line(out, depth, &format!("bank {}: {} bytes, {}", bank.number, section.size, hex(&section.bytes)));
    }
}

fn relocation(cubin: &Cubin, section: SectionId, relocation: &Relocation) -> String {
    let kind = relocation_name(relocation.kind).map_or_else(|| relocation.kind.to_string(), str::to_owned);
    let (section, symbol) = (&cubin.sections[section].name, &cubin.symbols[relocation.symbol].name);
    format!("relocation {kind} at {:#x} of {section}: `{symbol}` + {:x?}", relocation.offset, relocation.addend)
}

fn lines(out: &mut String, cubin: &Cubin, table: &LineTable) {
    for kernel in &cubin.kernels {
        let code = &kernel.function;
        let section = code.section;
        let mut last = String::new();
        for offset in (code.offset..code.offset.saturating_add(code.bytes)).step_by(16) {
            let mut text = String::new();
            if let Some(row) = table.at(section, offset) {
                let file = row.file.and_then(|file| table.path(file)).unwrap_or_default();
                let _ = write!(text, "{file}:{}", row.line);
                if let Some(function) = table.function(row) {
                    let _ = write!(text, " in {function}");
                }
                for caller in table.callers(row) {
                    let _ = write!(text, " called at {}", caller.line);
                }
            }
            if let Some(line) = table.ptx_line(section, offset) {
                let ptx = table.ptx_text(line).unwrap_or_default();
                let _ = write!(text, " | {line}: {}", ptx.replace('\t', " "));
            }
            if text != last {
                line(out, 0, &format!("line {} {offset:#05x} {text}", code.name));
            }
            last = text;
        }
    }
}

/// Bytes in hexadecimal: the zeros at their end are left out, and what is long is cut.
fn hex(bytes: &[u8]) -> String {
    const MOST: usize = 48;
    let end = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    let shown: String = bytes[..end.min(MOST)].iter().map(|byte| format!("{byte:02x}")).collect();
    match (end, end > MOST) {
        (0, _) => "zeros".to_owned(),
        (_, true) => format!("{shown}..."),
        (_, false) => shown,
    }
}
