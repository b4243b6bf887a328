//! What went wrong in an execution, said with the place in the PTX and in the program that it was compiled from.

use std::sync::Arc;

use warplens_base::Diagnostic;
use warplens_device::Context;
use warplens_exec::{AccessFault, ExecError, WaitingPlace, WaitingWarp};
use warplens_ir::FunctionId;
use warplens_isa::{Family, Pc};
use warplens_launch::Launch;

use crate::host;
use crate::program::{CodeForm, Program};
use warplens_base::error::{Error, ErrorKind, Result};

/// The error of a launch of `kernel`.
pub(crate) fn of(program: &Program, kernel: FunctionId, error: &ExecError) -> Error {
    let name = &program.module.functions[kernel].name;
    match error {
        ExecError::Unsupported(list) => {
            let diagnostics = list.iter().map(|unsupported| {
                let info = &program.module.pcs[unsupported.pc];
                let message = match undefined_callee(program, unsupported.pc) {
                    Some(name) => format!("call of `{name}`, which is declared here and defined nowhere"),
                    None => format!("instruction that is not supported: {}", unsupported.reason),
                };
                Diagnostic::error("X001", info.span, message)
            });
            let count = list.len();
            let plural = if count == 1 { "instruction that is" } else { "instructions that are" };
            Error::new(ErrorKind::Unsupported, format!("kernel `{name}` has {count} {plural} not supported"))
                .with_findings(&program.name, &program.ptx, diagnostics.collect())
                .with_help("--allow-unsupported runs the kernel until such an instruction is reached")
        }
        ExecError::ReachedUnsupported { pc, .. } => {
            at(program, ErrorKind::Unsupported, name, "X001", *pc, &error.to_string())
        }
        ExecError::Deadlock(warps) => {
            let all = at_first(program, name, "X004", error);
            let lines = warps.iter().take(MAX_WARPS).map(|warp| waiting(program, warp));
            let all = lines.fold(all, Error::with_detail);
            if warps.len() > MAX_WARPS { all.with_detail(format!("and {} more", warps.len() - MAX_WARPS)) } else { all }
        }
        ExecError::Budget { .. } => {
            at_first(program, name, "X003", error).with_help("a kernel that is long, not endless, needs --budget N")
        }
        ExecError::LaunchBudget { .. } => at_first(program, name, "X003", error)
            .with_help("a launch that is long, not endless, needs --launch-budget N"),
        ExecError::Access(access) => {
            let all = at_first(program, name, "X002", error);
            match access.fault {
                AccessFault::OutOfBounds if access.kind == "load" => all.with_help(
                    "give a larger buffer, or another grid or count; --allow-overreads lets loads go beyond the end of a buffer",
                ),
                AccessFault::OutOfBounds => all.with_help("give a larger buffer, or another grid or count"),
                AccessFault::Null => all.with_help("a buffer argument such as f32[1024] is an address"),
                _ => all,
            }
        }
        ExecError::PartedWarpgroup { others: Some(pc), .. } => {
            at_first(program, name, "X005", error).with_detail(format!("the other is {}", place(program, *pc)))
        }
        _ => at_first(program, name, "X005", error),
    }
}

/// The function that a call names and nobody defines.
fn undefined_callee(program: &Program, pc: Pc) -> Option<&str> {
    if program.module.spelling(pc).key.family != Family::Call {
        return None;
    }
    let span = program.module.pcs[pc].span;
    let text = program.ptx.get(span.start as usize..span.end as usize)?;
    // A guard and the word itself, then perhaps results in parentheses, then the name or a register with an address.
    let rest = text[text.find("call")?..].split_once(char::is_whitespace)?.1.trim_start();
    let rest = match rest.strip_prefix('(') {
        Some(results) => results.split_once(')')?.1.trim_start_matches([',', ' ', '\t', '\r', '\n']),
        None => rest,
    };
    let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c))).next()?;
    let is_defined = program.module.functions.iter().any(|(_, function)| function.name == name);
    (!name.is_empty() && !name.starts_with('%') && !is_defined).then_some(name)
}

/// Refuses kernels with instructions that are not supported, before anything is said of how they are launched.
pub fn check_support(program: &Program, launches: &[Launch]) -> Result<()> {
    let mut context = Context::new(program.module.address_bits, host::memory_for_buffers());
    let loaded = context.load(Arc::clone(&program.module)).map_err(|error| of_device(program, &error))?;
    for launch in launches {
        let kernel = program.kernel(launch.kernel.as_deref())?;
        let handle = context.kernel_of(loaded, kernel).expect("it is a kernel of the module");
        let prepared = context.prepare(handle).map_err(|error| of_device(program, &error))?;
        let unsupported = prepared.program().unsupported();
        if !unsupported.is_empty() {
            return Err(of(program, kernel, &ExecError::Unsupported(unsupported.to_vec())));
        }
    }
    Ok(())
}

/// The error of a device that cannot hold what a program or a launch asks for.
pub(crate) fn of_device(program: &Program, error: &warplens_device::Error) -> Error {
    Error::input(format!("{}: {error}", program.name))
}

/// Waiting warps that are listed.
const MAX_WARPS: usize = 8;

fn at_first(program: &Program, kernel: &str, code: &'static str, error: &ExecError) -> Error {
    match error.pc() {
        Some(pc) => at(program, ErrorKind::Input, kernel, code, pc, &error.to_string()),
        None => Error::input(format!("kernel `{kernel}`: {error}")),
    }
}

pub(crate) fn at(program: &Program, kind: ErrorKind, kernel: &str, code: &'static str, pc: Pc, message: &str) -> Error {
    let place = place(program, pc);
    let message = format!("kernel `{kernel}`, {place}: {message}");
    let finding = Diagnostic::error(code, program.module.pcs[pc].span, message.clone());
    Error::new(kind, message).with_findings(&program.name, &program.ptx, vec![finding])
}

/// The line of the PTX or of the listing, and the line of the program where it is known.
pub(crate) fn place(program: &Program, pc: Pc) -> String {
    let info = &program.module.pcs[pc];
    let source = program.module.locations.get(&pc).and_then(|location| {
        let file = program.module.files.get(location.file as usize)?;
        Some(format!(" ({file}:{})", location.line))
    });
    let part = program.part_of(pc).map(|part| format!(" of part {part}"));
    let form = if program.module.controls.contains_key(&pc) { CodeForm::Machine } else { CodeForm::Ptx };
    format!("{} {}{}{}", form.line(), info.line, part.unwrap_or_default(), source.unwrap_or_default())
}

fn waiting(program: &Program, warp: &WaitingWarp) -> String {
    let [x, y, z] = warp.cta;
    let lanes = warp.lanes.count_ones();
    let at = match (warp.at, warp.place) {
        (Some(pc), WaitingPlace::Cluster) => format!("for the blocks of the cluster, {}", place(program, pc)),
        (Some(pc), WaitingPlace::Barrier(barrier)) => format!("at barrier {barrier}, {}", place(program, pc)),
        (Some(pc), WaitingPlace::Phase { address, parity, missing }) => {
            let lacks = match missing {
                Some((arrivals, 0)) => format!(", which lacks {arrivals} arrivals"),
                Some((arrivals, bytes)) => format!(", which lacks {arrivals} arrivals and {bytes} bytes"),
                None => String::new(),
            };
            let parity = u8::from(parity);
            format!("for phase {parity} of the barrier at {address:#x} of shared memory{lacks}, {}", place(program, pc))
        }
        (Some(pc), WaitingPlace::Group) => format!("for the other warps of its group, {}", place(program, pc)),
        (Some(pc), WaitingPlace::Lanes) => format!("at {}", place(program, pc)),
        (None, _) => "for lanes of the same warp that wait elsewhere".to_owned(),
    };
    format!("block ({x},{y},{z}) warp {}: {lanes} threads wait {at}", warp.warp)
}
