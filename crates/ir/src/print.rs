//! Text form of the IR, for dumps and goldens.

use std::fmt::Write;

use crate::{Constant, ConstantBank, ControlCode, Flow, Function, FunctionKind, Inst, Module, Operand, Sign, Variable};

/// The whole module as text.
pub fn print(module: &Module) -> String {
    let mut text = String::new();
    for bank in &module.constant_banks {
        print_bank(bank, &mut text);
    }
    for (_, variable) in module.variables.iter() {
        print_variable(module, variable, &mut text);
    }
    for (_, function) in module.functions.iter() {
        print_function(module, function, &mut text);
    }
    text
}

fn print_variable(module: &Module, variable: &Variable, text: &mut String) {
    let Variable { name, space, bytes, align, .. } = variable;
    let dynamic = if variable.is_dynamic { " dynamic" } else { "" };
    let _ = writeln!(text, "variable {name} {space}{dynamic} {bytes} bytes align {align}");
    let content = &variable.initializer;
    if !content.bytes.is_empty() {
        let _ = writeln!(text, "  bytes {}", hex(&content.bytes));
    }
    for &(at, width, variable, offset, generic) in &content.addresses {
        let address = operand_text(module, &Operand::Variable { variable, offset, generic });
        let _ = writeln!(text, "  at {at} width {width} {address}");
    }
    for &(at, byte, variable, offset, generic) in &content.address_bytes {
        let address = operand_text(module, &Operand::Variable { variable, offset, generic });
        let _ = writeln!(text, "  at {at} byte {byte} of {address}");
    }
    for &(at, width, function) in &content.functions {
        let _ = writeln!(text, "  at {at} width {width} &{}", module.functions[function].name);
    }
}

fn print_bank(bank: &ConstantBank, text: &mut String) {
    let ConstantBank { number, bytes, content, parameters } = bank;
    let place = parameters.map(|at| format!(" parameters at {at}")).unwrap_or_default();
    let _ = writeln!(text, "bank {number} {bytes} bytes{place}");
    if !content.is_empty() {
        let _ = writeln!(text, "  bytes {}", hex(content));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn print_function(module: &Module, function: &Function, text: &mut String) {
    let kind = match function.kind {
        FunctionKind::Kernel => "kernel",
        FunctionKind::Device => "device",
        FunctionKind::Subroutine => "subroutine",
    };
    let _ = writeln!(text, "{kind} {} {{", function.name);
    for parameter in &function.parameters {
        let _ = writeln!(
            text,
            "  parameter {} {} at {} size {}",
            parameter.name, parameter.ty, parameter.offset, parameter.bytes
        );
    }
    if function.shared_bytes != 0 {
        let _ = writeln!(text, "  shared {} bytes", function.shared_bytes);
    }
    for block in function.block_ids() {
        let body = &module.blocks[block];
        let label = body.label.as_deref().map(|label| format!(" ({label})")).unwrap_or_default();
        let _ = writeln!(text, "  {block}{label}:");
        for inst in &body.insts {
            let control = module.controls.get(&inst.pc).map(control_text).unwrap_or_default();
            let _ = writeln!(text, "    {}{control}", inst_text(module, inst));
        }
        let _ = writeln!(text, "    -> {}", flow_text(module, &body.flow));
    }
    text.push_str("}\n");
}

/// The control code of an instruction as a comment behind it.
fn control_text(control: &ControlCode) -> String {
    let mut text = format!(" // stall {}", control.stall);
    let scoreboards = [("writes", control.write_scoreboard), ("reads", control.read_scoreboard)];
    for (name, scoreboard) in scoreboards {
        if let Some(scoreboard) = scoreboard {
            let _ = write!(text, " {name} {scoreboard}");
        }
    }
    for (name, bits) in [("waits", control.waits), ("reuse", control.reuse)] {
        if bits != 0 {
            let _ = write!(text, " {name} {bits:#b}");
        }
    }
    text + if control.yields { " yields" } else { "" }
}

/// One instruction as text.
fn inst_text(module: &Module, inst: &Inst) -> String {
    let mut text = String::new();
    if let Some(guard) = inst.guard {
        let _ = write!(text, "@{}{:?} ", if guard.negated { "!" } else { "" }, guard.predicate);
    }
    let _ = write!(text, "{}.{}", inst.op().name(), inst.ty);
    if inst.source_ty != inst.ty {
        let _ = write!(text, ".{}", inst.source_ty);
    }
    let words = inst.operation.words();
    if !words.is_empty() {
        let _ = write!(text, " [{}]", words.join(" "));
    }
    let destinations = inst.destinations.iter().map(|register| match register {
        Some(register) => format!("{register:?}"),
        None => "_".to_owned(),
    });
    let memory = inst.memory.iter().map(|memory| {
        let base = operand_text(module, &memory.base);
        format!("{}[{base}{:+}]x{}", memory.space, memory.offset, memory.elements)
    });
    let sources = inst.sources.iter().map(|operand| operand_text(module, operand));
    let operands: Vec<String> = destinations.chain(memory).chain(sources).collect();
    if !operands.is_empty() {
        let _ = write!(text, " {}", operands.join(", "));
    }
    text
}

fn operand_text(module: &Module, operand: &Operand) -> String {
    match operand {
        Operand::Register(register) => format!("{register:?}"),
        Operand::NotPredicate(register) => format!("!{register:?}"),
        Operand::Immediate(bits) => format!("{bits:#x}"),
        Operand::Signed(sign, value) => {
            let value = operand_text(module, &value.operand());
            match sign {
                Sign::Negated => format!("-{value}"),
                Sign::Absolute => format!("|{value}|"),
                Sign::NegatedAbsolute => format!("-|{value}|"),
            }
        }
        Operand::Constant(Constant { bank, offset }) => format!("c[{bank:#x}][{offset:#x}]"),
        Operand::Special(register) => format!("{register:?}"),
        Operand::Variable { variable, offset, generic } => {
            let kind = if *generic { "generic " } else { "" };
            format!("&{kind}{}{offset:+}", module.variables[*variable].name)
        }
        Operand::Frame(offset) => format!("frame{offset:+}"),
        Operand::Function(function) => format!("&{}", module.functions[*function].name),
    }
}

fn flow_text(module: &Module, flow: &Flow) -> String {
    let or_else = |next: &Option<_>| next.map(|next| format!(" else {next}")).unwrap_or_default();
    match flow {
        Flow::Fallthrough(next) => format!("{next}"),
        Flow::Branch { taken, next } => format!("{taken}{}", or_else(next)),
        Flow::Indexed { targets, next } => format!("{targets:?}{}", or_else(next)),
        Flow::Computed { targets, next } => {
            let targets: Vec<String> =
                targets.iter().map(|(address, block)| format!("{address:#x}: {block}")).collect();
            format!("[{}]{}", targets.join(", "), or_else(next))
        }
        Flow::Call { target: crate::CallTarget::Direct(function), next } => {
            format!("call {} then {next}", module.functions[*function].name)
        }
        Flow::Call { target: crate::CallTarget::Indirect(operand, _), next } => {
            format!("call {} then {next}", operand_text(module, operand))
        }
        Flow::Return { next } => format!("return{}", or_else(next)),
        Flow::Exit { next } => format!("exit{}", or_else(next)),
    }
}
