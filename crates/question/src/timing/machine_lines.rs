//! Lines of machine code with what is known of them beside their text: where each instruction came from, and how the
//! assembler wants it issued.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use warplens_ir::{ControlCode, PtxLine};
use warplens_session::Program;

use crate::listing::source_text;

/// An instruction of machine code.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MachineLine {
    /// File and line of the program that it came from.
    pub source: Option<(String, u32)>,
    /// The PTX that it came from.
    pub ptx: Option<PtxLine>,
    /// How it is issued.
    pub control: ControlCode,
}

/// The instructions of a listing, by line.
pub(super) fn of(program: &Program) -> BTreeMap<u32, MachineLine> {
    let module = program.module();
    let of_instruction = |(pc, control): (&warplens_isa::Pc, &ControlCode)| {
        let location = module.locations.get(pc);
        let source = location.map(|location| (module.files[location.file as usize].clone(), location.line));
        let ptx = module.ptx_lines.get(pc).cloned();
        (module.pcs[*pc].line, MachineLine { source, ptx, control: *control })
    };
    module.controls.iter().map(of_instruction).collect()
}

/// The listing with the text of the lines of the program that stand above its instructions, where their files are found.
pub(super) fn with_sources(program: &Program, beside: Option<&Path>) -> String {
    let module = program.module();
    let mut lines = HashMap::new();
    let mut files: HashMap<u32, Vec<String>> = HashMap::new();
    for location in module.locations.values() {
        let name = &module.files[location.file as usize];
        let text = files.entry(location.file).or_insert_with(|| {
            let text = source_text(program, beside, name).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        });
        if let Some(text) = text.get(location.line as usize - 1) {
            lines.insert(format!("// {name}:{}", location.line), text.trim().to_owned());
        }
    }
    let shown = |line: &str| match lines.get(line.trim()) {
        Some(text) => format!("{line}  {text}\n"),
        None => format!("{line}\n"),
    };
    program.ptx.lines().map(shown).collect()
}
