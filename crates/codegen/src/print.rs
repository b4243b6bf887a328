//! Machine code as text.

use std::fmt::Write as _;

use warplens_ir::Module;
use warplens_isa::BlockId;
use warplens_trace::{Code, IntegerLanes, MachineInst, NO_SLOT, Operands};

/// Writes the code block by block: class, operands, slot, and the line that it comes from. Blocks that were put together
/// stand in the place of the first; what they are by themselves is left out.
pub fn print(module: &Module, code: &Code) -> String {
    let mut text = String::new();
    let chained = |id: BlockId| code.chains.iter().any(|chain| chain.blocks.contains(&id.0));
    for (id, block) in module.blocks.iter() {
        let chain = code.chain(id.0);
        let insts = code.block(chain.map_or(id.0, |chain| chain.merged));
        if insts.is_empty() || chain.is_none() && chained(id) {
            continue;
        }
        let label = block.label.as_ref().map_or(String::new(), |label| format!(" ({label})"));
        let rest = chain.map_or(String::new(), |chain| format!(", then {}", rest(&chain.blocks[1..])));
        let _ = writeln!(text, "{id}{label}{rest}:");
        for inst in insts {
            let _ = writeln!(text, "{}", line(code, inst));
        }
    }
    text
}

/// The blocks behind the first of a chain, with how often each comes.
fn rest(blocks: &[u32]) -> String {
    let runs = blocks.chunk_by(|left, right| left == right);
    let name = |run: &[u32]| match run.len() {
        1 => BlockId(run[0]).to_string(),
        n => format!("{} {n} times", BlockId(run[0])),
    };
    runs.map(name).collect::<Vec<_>>().join(", ")
}

fn line(code: &Code, inst: &MachineInst) -> String {
    let mut line = String::from("  ");
    if let Some(guard) = inst.guard {
        let _ = write!(line, "@%{guard} ");
    }
    let _ = write!(line, "{}", inst.class);
    if inst.lanes == IntegerLanes::MultiplyAdd {
        line.push_str(".mad");
    }
    if inst.amount != 1 {
        let _ = write!(line, "*{}", inst.amount);
    }
    if inst.slot != NO_SLOT {
        let _ = write!(line, ".{}#{}", inst.space, inst.slot);
        if inst.turn > 0 {
            let _ = write!(line, "/{}", inst.turn);
        }
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
