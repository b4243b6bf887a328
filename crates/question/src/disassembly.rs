//! Machine code as text: the instructions of a cubin, or of what a fatbin or a program holds, with their scheduling and the
//! lines that they came from.

use std::fmt::Write;

use warplens_base::error::{Error, Result};
use warplens_launch::KernelName;
use warplens_sass::container::{self, Cubin, Function, Image, ImageKind, LineTable, Place};
use warplens_sass::{Control, Decoder, WORD_BYTES, words};
use warplens_session::Input;

/// What is asked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Request {
    /// The function, by its mangled name, its name, or its signature; all without it.
    pub kernel: Option<String>,
    /// Only code for this compute capability, times ten.
    pub sm: Option<u32>,
}

/// The text of machine code.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Disassembly {
    /// The listing.
    pub text: String,
    /// Instructions in it.
    pub instructions: usize,
    /// Those of them that no instruction of the chip is encoded as.
    pub unknown: usize,
}

/// The machine code in a file.
pub fn disassemble(input: &Input, request: &Request) -> Result<Disassembly> {
    let damaged = |error: container::Error| Error::input(format!("{}: {error}", input.name));
    let images = container::read(&input.bytes).map_err(damaged)?;
    let mut listing = Disassembly::default();
    let (mut chips, mut names) = (Vec::new(), Vec::new());
    for image in images.iter().filter(|image| image.kind == ImageKind::Cubin) {
        let cubin = image.cubin().map_err(damaged)?;
        chips.push(cubin.target.sm);
        if request.sm.is_some_and(|sm| sm != cubin.target.sm) {
            continue;
        }
        let functions = functions(&cubin);
        names.extend(functions.iter().map(|function| function.name.clone()));
        let mut wanted = Vec::new();
        for function in functions {
            let is_wanted = match &request.kernel {
                Some(name) => KernelName::new(&function.name).matches(name)?,
                None => true,
            };
            if is_wanted {
                wanted.push(function);
            }
        }
        if wanted.is_empty() {
            continue;
        }
        let decoder = Decoder::of(cubin.target.sm).map_err(|error| Error::input(format!("{}: {error}", input.name)))?;
        let lines = cubin.lines().map_err(damaged)?;
        for function in wanted {
            add(&mut listing, function, image, &cubin, &decoder, &lines);
        }
    }
    if listing.instructions == 0 {
        return Err(nothing(input, request, &chips, &names));
    }
    Ok(listing)
}

fn nothing(input: &Input, request: &Request, chips: &[u32], names: &[String]) -> Error {
    let name = &input.name;
    if chips.is_empty() {
        return Error::input(format!("{name} holds no machine code, only PTX"));
    }
    if let Some(sm) = request.sm.filter(|sm| !chips.contains(sm)) {
        let mut chips: Vec<String> = chips.iter().map(|sm| format!("sm_{sm}")).collect();
        chips.dedup();
        return Error::input(format!("{name} has no machine code for sm_{sm}; there is {}", chips.join(", ")));
    }
    match &request.kernel {
        Some(kernel) => Error::input(format!("{name} has no function `{kernel}`; there are {}", names.join(", "))),
        None => Error::input(format!("{name} has no instructions")),
    }
}

/// All functions, kernels first.
fn functions(cubin: &Cubin) -> Vec<&Function> {
    cubin.kernels.iter().map(|kernel| &kernel.function).chain(&cubin.functions).collect()
}

fn add(
    listing: &mut Disassembly,
    function: &Function,
    image: &Image<'_>,
    cubin: &Cubin,
    decoder: &Decoder,
    lines: &LineTable,
) {
    let out = &mut listing.text;
    if !out.is_empty() {
        out.push('\n');
    }
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", title(function, image, cubin));
    let (mut line, mut ptx_line) = (None, None);
    for (index, word) in words(cubin.code(function)).enumerate() {
        let address = index as u64 * WORD_BYTES;
        let in_section = function.offset + address;
        let row = lines.at(function.section, in_section);
        let at = row.and_then(|row| Some((lines.path(row.file?)?, row.line)));
        if at != line {
            if let Some((file, line)) = &at {
                let _ = writeln!(out, "  // {file}:{line}");
            }
            line = at;
        }
        let at = lines.ptx_line(function.section, in_section);
        if at != ptx_line {
            if let Some(text) = at.and_then(|line| lines.ptx_text(line)) {
                let _ = writeln!(out, "  // PTX: {}", text.trim());
            }
            ptx_line = at;
        }
        let _ = write!(out, "  {in_section:04x}  {}  ", Control::of(word));
        match decoder.decode(word) {
            Some(instruction) => instruction.write(in_section, out),
            None => {
                listing.unknown += 1;
                let _ = write!(out, "unknown {:#018x} {:#018x}", word as u64, (word >> 64) as u64);
            }
        }
        out.push('\n');
        listing.instructions += 1;
    }
}

fn title(function: &Function, image: &Image<'_>, cubin: &Cubin) -> String {
    let mut title = format!("{} sm_{}", function.name, cubin.target.sm);
    title.extend(cubin.target.variant);
    let name = KernelName::new(&function.name);
    if name.demangled != function.name {
        title.push_str(&format!("  // {}", name.demangled));
    }
    if let Some(registers) = function.registers {
        title.push_str(&format!("\n  // {registers} registers"));
    }
    if let Some(kernel) = cubin.kernel(&function.name) {
        title.push_str(&format!(", {} bytes of shared memory", kernel.shared.own_bytes()));
        if let (Some(base), Some(bytes)) = (kernel.parameter_base, kernel.parameter_bytes) {
            title.push_str(&format!(", parameters c[0x0][{base:#x}] to c[0x0][{:#x}]", base.saturating_add(bytes)));
        }
    }
    if let Place::Fatbin { section: Some(section), .. } = &image.place {
        title.push_str(&format!("\n  // from section {section}"));
    }
    title
}
