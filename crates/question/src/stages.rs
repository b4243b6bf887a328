//! What each stage makes of an input, as text.

use warplens_codegen::{Options as CodeOptions, Target, generate};
use warplens_ir::{Cfg, Dominators};
use warplens_machine::{Machine, Reader, Strictness};
use warplens_ptx::syntax;

use warplens_base::error::{Error, ErrorKind, Findings, Result};
use warplens_session::Program;
use warplens_session::{Input, InputKind};

/// A stage's result, and what the stage had to say about the input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dump {
    /// The result.
    pub text: String,
    /// The findings.
    pub findings: Findings,
}

/// The tokens of a PTX text, one per line.
pub fn tokens(input: &Input) -> Result<Dump> {
    let source = ptx_text(input)?;
    Ok(Dump { text: syntax::dump_tokens(&source), findings: findings(input, &source, Vec::new()) })
}

/// The syntax tree of a PTX text. Errors do not stop it: what could be read is shown.
pub fn syntax_tree(input: &Input) -> Result<Dump> {
    let source = ptx_text(input)?;
    let (module, diagnostics) = syntax::parse(&source);
    let text = syntax::dump_ast(&module, false);
    drop(module);
    Ok(Dump { text, findings: findings(input, &source, diagnostics) })
}

/// The kernel representation, block by block.
pub fn representation(input: &Input) -> Result<Dump> {
    let program = program(input)?;
    Ok(Dump { text: warplens_ir::print(program.module()), findings: program.warnings })
}

/// The control-flow graph of every function: successors, immediate dominators and reconvergence points.
pub fn control_flow(input: &Input) -> Result<Dump> {
    let program = program(input)?;
    let module = program.module();
    let points = warplens_ir::reconvergence::points(module);
    let mut text = String::new();
    for (_, function) in module.functions.iter() {
        let cfg = Cfg::new(module, function);
        let dominators = Dominators::new(&cfg);
        text.push_str(&format!("{}\n", function.name));
        for block in function.block_ids() {
            let label = module.blocks[block].label.as_deref().unwrap_or("");
            let successors: Vec<String> = cfg.successors(block).iter().map(ToString::to_string).collect();
            let mut line = format!("  {block} {label}");
            if !successors.is_empty() {
                line.push_str(&format!(" -> {}", successors.join(" ")));
            }
            if let Some(dominator) = dominators.immediate(block) {
                line.push_str(&format!("  dominated by {dominator}"));
            }
            if let Some(point) = points[block] {
                line.push_str(&format!("  meets again at {point}"));
            }
            text.push_str(&line);
            text.push('\n');
        }
    }
    Ok(Dump { text, findings: program.warnings })
}

/// The machine code that a GPU runs of a kernel, block by block; of all kernels without a name.
pub fn machine_code(input: &Input, kernel: Option<&str>, machine: &Machine, schedule: bool) -> Result<Dump> {
    let program = program(input)?;
    let module = program.module();
    let kernels = match kernel {
        Some(_) => vec![program.kernel(kernel)?],
        None => module.kernels().map(|(id, _)| id).collect(),
    };
    let mut text = String::new();
    for kernel in kernels {
        let mut reader = Reader::new(machine, Strictness::AllowInferred);
        let target = Target::read(module, kernel, &mut reader).map_err(|missing| Error::input(missing.to_string()))?;
        let options = CodeOptions { schedule, ..CodeOptions::default() };
        let generated = generate(module, kernel, &target, options).map_err(|error| no_code(&program, &error))?;
        text.push_str(&format!("{} on {}\n", module.functions[kernel].name, machine.id));
        for sentence in generated.assumptions.iter().chain(&reader.finish().assumptions) {
            text.push_str(&format!("# {sentence}\n"));
        }
        text.push_str(&warplens_codegen::print(module, &generated.code));
    }
    Ok(Dump { text, findings: program.warnings })
}

/// Why there is no machine code, with the place in the text where an instruction is at fault.
fn no_code(program: &Program, error: &warplens_codegen::Error) -> Error {
    let warplens_codegen::Error::NoMachineCode { pc, opcode, .. } = error else {
        return Error::input(error.to_string());
    };
    let span = program.module().pcs[*pc].span;
    let diagnostic = warplens_base::Diagnostic::error("X001", span, format!("no machine code is known for `{opcode}`"));
    Error::new(ErrorKind::Unsupported, error.to_string()).with_findings(&program.name, &program.ptx, vec![diagnostic])
}

fn program(input: &Input) -> Result<Program> {
    Program::from_ptx(&input.name, ptx_text(input)?)
}

/// The manual's page on GPUs.
pub fn machines_page() -> Result<String> {
    warplens_machine::manual::machines().map_err(|error| Error::input(error.to_string()))
}

fn findings(input: &Input, source: &str, diagnostics: Vec<warplens_base::Diagnostic>) -> Findings {
    Findings { name: input.name.clone(), text: source.to_owned(), diagnostics }
}

fn ptx_text(input: &Input) -> Result<String> {
    match input.kind {
        InputKind::Ptx => Ok(input.text()),
        InputKind::CudaSource => Err(Error::input(format!("{} is CUDA C++; this stage takes PTX", input.name))
            .with_help("compile it first: nvcc -ptx FILE.cu")),
        _ => Err(input.unusable()),
    }
}
