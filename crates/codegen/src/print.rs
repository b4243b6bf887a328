//! Machine code as text.

use std::fmt::Write as _;

use warplens_ir::Module;
use warplens_trace::{Code, MachineInst, NO_SLOT, Operands};

/// Writes the code block by block: class, operands, slot, and the line that it comes from.
pub fn print(module: &Module, code: &Code) -> String {
    let mut text = String::new();
    for (id, block) in module.blocks.iter() {
        let insts = code.block(id.0);
        if insts.is_empty() {
            continue;
        }
        let label = block.label.as_ref().map_or(String::new(), |label| format!(" ({label})"));
        let _ = writeln!(text, "{id}{label}:");
        for inst in insts {
            let _ = writeln!(text, "{}", line(code, inst));
        }
    }
    text
}

fn line(code: &Code, inst: &MachineInst) -> String {
    let mut line = String::from("  ");
    if let Some(guard) = inst.guard {
        let _ = write!(line, "@%{guard} ");
    }
    let _ = write!(line, "{}", inst.class);
    if inst.amount != 1 {
        let _ = write!(line, "*{}", inst.amount);
    }
    if inst.slot != NO_SLOT {
        let _ = write!(line, ".{}#{}", inst.space, inst.slot);
    }
    let writes = registers(code, inst.writes);
    let reads = registers(code, inst.reads);
    let operands = match (writes.is_empty(), reads.is_empty()) {
        (true, true) => String::new(),
        (false, true) => writes,
        (true, false) => format!("<- {reads}"),
        (false, false) => format!("{writes} <- {reads}"),
    };
    let place = &code.places[inst.place as usize];
    let source = place.source.as_ref().map_or(String::new(), |(file, line)| format!("  {file}:{line}"));
    format!("{line:<24} {operands:<28} ; {}: {}{source}", place.line, place.text)
}

fn registers(code: &Code, operands: Operands) -> String {
    let names: Vec<String> = code.registers(operands).iter().map(|register| format!("%{register}")).collect();
    names.join(" ")
}
