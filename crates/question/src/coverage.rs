//! Which instructions of the opcode table the emulator executes, found by trying them.
//!
//! Instructions are written from the table: opcode, names, types and operands. One that parses and lowers without an
//! error and that the emulator can decode is executed; nothing here repeats what those stages know.

mod fidelity;
mod fragment;
mod sample;
mod texels;

use std::collections::BTreeSet;
use std::sync::Arc;

use rayon::prelude::*;
use warplens_device::Context;
use warplens_ir::{Inst, Module};
use warplens_isa::Op;
use warplens_ptx::opcodes::Opcode;
use warplens_ptx::opcodes::forms::Form;
use warplens_ptx::syntax::ast::Modifier;

use fidelity::Fidelity;
use sample::{operand_lists, target_of};

/// What became of an instruction, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// The emulator executes it.
    Executed,
    /// It is understood, but the emulator lacks it with these operands.
    Undecodable,
    /// It is understood, but the representation of kernels lacks it.
    Unsupported,
    /// It is no instruction of the language.
    Malformed,
}

/// Tries an instruction without its operands, such as `add.rn.f32`, with all operands that its form may have.
pub fn try_instruction(names: &str) -> Verdict {
    let mut parts = names.split('.');
    let Some(opcode) = parts.next().and_then(Opcode::from_name) else { return Verdict::Malformed };
    let Some(modifiers) = parts.map(Modifier::from_name).collect::<Option<Vec<_>>>() else {
        return Verdict::Malformed;
    };
    opcode.form(&modifiers).map_or(Verdict::Malformed, |form| try_form(opcode, form, &modifiers))
}

fn try_form(opcode: Opcode, form: &Form, modifiers: &[Modifier]) -> Verdict {
    let head: String = modifiers.iter().fold(opcode.name().to_owned(), |head, it| head + "." + it.name());
    let mut best = Verdict::Malformed;
    for operands in operand_lists(opcode, form, modifiers) {
        best = best.min(try_statement(&format!("{head} {operands};")));
        // Other operands do not help where there is no operation for the instruction.
        if matches!(best, Verdict::Executed | Verdict::Unsupported) {
            break;
        }
    }
    best
}

/// Device memory that is enough for a sample and for the heap.
const SAMPLE_BYTES: u64 = 16 << 20;

fn try_statement(statement: &str) -> Verdict {
    try_on(statement, target_of(statement))
}

fn try_on(statement: &str, target: &str) -> Verdict {
    let Some(module) = loaded(statement, target) else { return Verdict::Malformed };
    if instructions(&module).any(|inst| inst.op() == Op::Unsupported) {
        return Verdict::Unsupported;
    }
    let kernel = module.functions.iter().find(|(_, function)| function.is_kernel()).map(|(id, _)| id);
    let kernel = kernel.expect("the sample module has a kernel");
    let mut context = Context::new(module.address_bits, SAMPLE_BYTES);
    let prepared = context.load(Arc::new(module)).and_then(|module| {
        let kernel = context.kernel_of(module, kernel)?;
        context.prepare(kernel)
    });
    let prepared = prepared.expect("the sample module is small, and the device has place for a heap");
    if prepared.program().unsupported().is_empty() { Verdict::Executed } else { Verdict::Undecodable }
}

fn loaded(statement: &str, target: &str) -> Option<Module> {
    warplens_ptx::load(&sample::module_of(statement, target)).0
}

/// Instructions of a form that are looked at once more, for what is promised of them.
const MOST_STATEMENTS: usize = 40;

/// Targets from which on instructions may exist, the oldest first.
const TARGETS: &[&str] = &[
    "sm_10", "sm_20", "sm_30", "sm_35", "sm_50", "sm_53", "sm_60", "sm_61", "sm_70", "sm_72", "sm_75", "sm_80",
    "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120a",
];

/// The oldest target that the front end lets an executed statement be for.
fn oldest_target(statement: &str) -> Option<&'static str> {
    TARGETS.iter().copied().find(|target| try_on(statement, target) == Verdict::Executed)
}

fn instructions(module: &Module) -> impl Iterator<Item = &Inst> {
    module.blocks.iter().flat_map(|(_, block)| &block.insts)
}

/// What is executed of a form.
struct FormCoverage {
    types: Parts,
    names: Parts,
    /// True when an instruction of the form is executed.
    executed: bool,
    /// What is promised of its results, with some types or others.
    fidelity: BTreeSet<Fidelity>,
    /// The oldest target that one of them may be for.
    target: Option<&'static str>,
}

/// Names of one sort: those with which some instruction is executed, and those with which none is.
#[derive(Default)]
struct Parts {
    executed: Vec<&'static str>,
    missing: Vec<&'static str>,
}

impl Parts {
    fn note(&mut self, name: Modifier, executed: bool) {
        if executed { &mut self.executed } else { &mut self.missing }.push(name.name());
    }
}

fn cover(opcode: Opcode, form: &Form) -> FormCoverage {
    let (types, names): (Vec<Modifier>, Vec<Modifier>) =
        form.allowed.iter().filter(|it| !form.needs.contains(it)).partition(|it| it.as_type().is_some());
    let executes = |parts: [&[Modifier]; 3]| {
        try_form(opcode, form, &[&form.needs, parts[0], parts[1], parts[2]].concat()) == Verdict::Executed
    };
    // Many instructions need one more name: a rounding, a comparison, a direction.
    // A matrix shape is never the one that is missing, and there are many.
    let one_more = names.chunks(1).filter(|name| name[0].shape().is_none());
    let one_more: Vec<&[Modifier]> = std::iter::once(&[][..]).chain(one_more).collect();
    let (tied, free): (Vec<_>, Vec<_>) =
        sample::frames(opcode, form).into_iter().partition(|(_, types)| types.is_some());
    let fillers = || free.iter().flat_map(|(frame, _)| one_more.iter().map(move |name| [&frame[..], name].concat()));

    let tied = tied.into_iter().filter_map(|(frame, types)| Some((frame, types?)));
    let mut executed: Vec<(Vec<Modifier>, Vec<Modifier>)> =
        tied.filter(|(frame, types)| executes([frame, &[], types])).collect();
    for ty in &types {
        let with_filler = |list: Vec<Modifier>| {
            let filler = fillers().find(|filler| executes([filler, &[], &list]))?;
            Some((filler, list))
        };
        executed.extend(type_lists(*ty, &types).into_iter().find_map(with_filler));
    }
    let mut type_parts = Parts::default();
    for ty in &types {
        type_parts.note(*ty, executed.iter().any(|(_, list)| list.contains(ty)));
    }
    if !form.needs_type {
        executed.extend(free.iter().filter_map(|(frame, _)| {
            let mut fillers = one_more.iter().map(|name| [&frame[..], name].concat());
            Some((fillers.find(|filler| executes([filler, &[], &[]]))?, Vec::new()))
        }));
    }
    let mut name_parts = Parts::default();
    for name in names.chunks(1) {
        let joins = |(filler, list): &(Vec<Modifier>, Vec<Modifier>)| {
            filler.contains(&name[0]) || executes([name, &[], list]) || executes([filler, name, list])
        };
        name_parts.note(name[0], executed.iter().any(joins));
    }
    // Products of matrices are thousands.
    let statements: Vec<String> = executed
        .iter()
        .step_by(executed.len() / MOST_STATEMENTS + 1)
        .filter_map(|(filler, list)| executed_statement(opcode, form, &[&form.needs[..], filler, list].concat()))
        .collect();
    let fidelity = statements
        .iter()
        .filter_map(|statement| Some(Fidelity::of_module(&loaded(statement, target_of(statement))?)))
        .collect();
    let rank = |target: &&str| TARGETS.iter().position(|it| it == target);
    let ends = statements.first().into_iter().chain(statements.last());
    let target = ends.filter_map(|statement| oldest_target(statement)).min_by_key(rank);
    FormCoverage { types: type_parts, names: name_parts, executed: !executed.is_empty(), fidelity, target }
}

/// An instruction with operands with which it is executed.
fn executed_statement(opcode: Opcode, form: &Form, modifiers: &[Modifier]) -> Option<String> {
    let head: String = modifiers.iter().fold(opcode.name().to_owned(), |head, it| head + "." + it.name());
    let mut statements = operand_lists(opcode, form, modifiers).map(|operands| format!("{head} {operands};"));
    statements.find(|statement| try_statement(statement) == Verdict::Executed)
}

/// The ways to write the types of an instruction whose first type is `ty`.
fn type_lists(ty: Modifier, types: &[Modifier]) -> Vec<Vec<Modifier>> {
    let mut lists = vec![vec![ty], vec![ty; 2], vec![ty; 3]];
    // As in cvt.pack.
    lists.push(vec![ty, Modifier::S32, Modifier::B32]);
    lists.extend(types.iter().map(|second| vec![ty, *second]));
    // As in ldmatrix: what is in registers, then what is in memory.
    lists.extend(types.iter().map(|first| vec![*first, ty]));
    lists
}

const INTRODUCTION: &str = "\
# Instruction coverage

Every instruction of PTX is parsed.
This page says which of them the emulator executes; it is written by trying instructions that are made from the opcode table.
A type or name counts as executed when an instruction with it is executed.
A kernel with an instruction that is not executed ends with exit code 4 before it runs, unless `--allow-unsupported` is given.
A hint, such as a cache policy, is accepted and changes no result.
A target stands where older ones do not have the instruction.

";

/// The page of the manual on instructions.
pub fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("Results are\n\n");
    for fidelity in Fidelity::ALL {
        page.push_str(&format!("- **{}**: {}.\n", fidelity.name(), fidelity.meaning()));
    }
    page.push_str(
        "\n| Instruction | Since PTX | Target | Results | Executed | Not executed |\n|---|---|---|---|---|---|\n",
    );
    let mut missing = String::new();
    let (mut n_executed, mut n_forms) = (0, 0);
    let forms: Vec<_> =
        Opcode::ALL.iter().flat_map(|opcode| opcode.forms().iter().map(move |form| (*opcode, form))).collect();
    let covered: Vec<FormCoverage> = forms.par_iter().map(|&(opcode, form)| cover(opcode, form)).collect();
    for ((opcode, form), coverage) in forms.into_iter().zip(&covered) {
        let names: String = form.needs.iter().map(|name| format!(".{}", name.name())).collect();
        let (name, (major, minor)) = (format!("`{}{names}`", opcode.name()), form.version);
        n_forms += 1;
        if coverage.executed {
            n_executed += 1;
            let target = coverage.target.filter(|target| *target != TARGETS[0]).unwrap_or_default();
            let results: Vec<&str> = coverage.fidelity.iter().map(|fidelity| fidelity.name()).collect();
            let results = results.join(", ");
            page.push_str(&format!("| {name} | {major}.{minor} | {target} | {results} | {} |\n", cells(coverage)));
        } else {
            missing.push_str(&format!("| {name} | {major}.{minor} | {} |\n", opcode.purpose_of_lacking()));
        }
    }
    page.push_str(&format!(
        "\n## Parsed, not executed\n\nOf {n_forms} forms {n_executed} are executed, these are not:\n"
    ));
    page.push_str("\n| Instruction | Since PTX | What it is for |\n|---|---|---|\n");
    page + &missing
}

/// What is executed and what is not; "all" where nothing is missing.
fn cells(coverage: &FormCoverage) -> String {
    let code = |names: &[&str]| names.iter().map(|name| format!("`.{name}`")).collect::<Vec<_>>().join(" ");
    let missing = [code(&coverage.types.missing), code(&coverage.names.missing)].join(" ");
    let executed = match (coverage.types.executed.is_empty(), missing.trim().is_empty()) {
        (_, true) => "all".to_owned(),
        (true, false) => "all else".to_owned(),
        (false, false) => code(&coverage.types.executed),
    };
    format!("{executed} | {}", missing.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_tried_with_operands_that_fit() {
        use Verdict::{Executed, Malformed, Unsupported};
        let cases = [
            ("add.rn.f32", Executed),
            ("mad.wide.u32", Executed),
            ("setp.lt.and.s32", Executed),
            ("cvt.rn.bf16x2.f32", Executed),
            ("cvt.pack.sat.u8.s32.b32", Executed),
            ("shfl.sync.bfly.b32", Executed),
            ("ld.param.u64", Executed),
            ("atom.global.cas.b64", Executed),
            ("bar.red.and.pred", Executed),
            ("brx.idx", Executed),
            ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", Executed),
            ("ldmatrix.sync.aligned.m8n8.x2.shared.b16", Executed),
            ("wmma.load.a.sync.aligned.row.m16n16k16.f16", Executed),
            ("wmma.mma.sync.aligned.row.col.m8n32k16.s32.s8.s8.s32", Executed),
            ("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16", Executed),
            ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", Unsupported),
            ("cp.async.ca.shared.global", Executed),
            ("tex.2d.v4.f32.s32", Executed),
            ("suld.b.a2d.v2.b32.trap", Executed),
            ("suld.p.1d.v4.f32.trap", Unsupported),
            ("sust.p.1d.v4.b32.trap", Executed),
            ("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", Executed),
            ("wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.bf16.bf16", Executed),
            ("add.b32", Malformed),
            ("add.nothing", Malformed),
            ("nothing", Malformed),
        ];
        for (names, expected) in cases {
            assert_eq!(try_instruction(names), expected, "{names}");
        }
    }

    #[test]
    fn most_of_what_real_files_hold_is_executed() {
        let histogram = include_str!("../../ptx/tests/data/opcode_histogram.csv");
        let (mut n_executed, mut n_instructions) = (0u64, 0u64);
        for row in histogram.lines() {
            let cells: Vec<&str> = row.split(',').collect();
            let ["full", names, _, _, occurrences] = cells[..] else { continue };
            let verdict = try_instruction(names);
            // `setp` with one name tries what a compiler knows; it is no instruction.
            let is_probe = names.strip_prefix("setp.").is_some_and(|name| !name.contains('.'));
            assert!(verdict != Verdict::Malformed || is_probe, "{names}");
            let occurrences: u64 = occurrences.parse().expect("the last column is a number");
            n_instructions += occurrences;
            n_executed += if verdict == Verdict::Executed { occurrences } else { 0 };
        }
        let share = n_executed as f64 / n_instructions as f64;
        assert!(share > 0.98, "{share}");
    }
}
