//! Launches counted without a run.

use warplens_device::Kernel;
use warplens_exec as exec;
use warplens_ir::FunctionId;
use warplens_statics::{BadLine, Counts, Effort, Refusal, Request};
use warplens_stats::{Counting, LaunchShape};

use crate::execution::{Execution, ExecutionOptions};
use crate::failure;
pub use crate::measurement::{Bound, BoundKind, Given, Line, Statics};
use crate::measurement::{Measurement, Support};
use crate::program::{CodeForm, Program};
use crate::registers::{self, Registers};
use crate::toolchain::Search;
use warplens_base::error::{Error, ErrorKind, Result};
use warplens_launch::KernelName;
use warplens_launch::Launch;

/// Lines that a message lists.
const MAX_LINES: usize = 8;

/// Counts launches without running them. Of the buffers only the sizes matter.
pub(crate) fn count(
    program: &Program,
    launches: &[Launch],
    given: &Given,
    options: ExecutionOptions,
    counting: Counting,
    search: &Search,
) -> Result<Vec<Measurement>> {
    let launches: Vec<Launch> = launches.iter().map(Launch::without_contents).collect();
    let cta_budget = options.walk_budget;
    let mut execution = Execution::prepare(program, &launches, options)?;
    (0..launches.len())
        .map(|number| {
            let (kernel, planned) = &execution.launches[number];
            let registers = registers::of_launch(program, *kernel, (planned.registers, planned.block), search)?;
            one(&mut execution, number, given, cta_budget, counting, registers)
        })
        .collect()
}

fn one(
    execution: &mut Execution<'_>,
    number: usize,
    given: &Given,
    cta_budget: u64,
    counting: Counting,
    (registers, registers_basis): Registers,
) -> Result<Measurement> {
    let program = execution.program;
    let prepared = execution.decode(number)?;
    let decoded = prepared.program();
    execution.n_ctas(number)?;
    let (kernel, planned) = &execution.launches[number];
    let kernel = *kernel;
    let shape = LaunchShape {
        grid: planned.grid,
        block: planned.block,
        cluster: planned.cluster,
        shared_bytes: decoded.static_shared_bytes() + planned.dynamic_shared,
        registers,
        registers_basis,
    };
    let wanted = Wanted { given, counting, cta_budget, effort: Effort::Bounded };
    let counts = walk(execution, (number, &prepared), (kernel, shape), wanted);
    let counts = counts.map_err(|refusal| error(program, kernel, &refusal))?;
    let basis = basis(&counts, 0);
    let mut profile = counts.profile;
    profile.order_dependent |= matches!(decoded.order(), exec::Order::Local(_) | exec::Order::Communicating(_));
    Ok(Measurement {
        kernel: KernelName::new(&program.module.functions[kernel].name),
        traces: warplens_sim::traces::Traces::None,
        profile,
        listing: counts.listing,
        emulation: None,
        support: Support::of(program, decoded, kernel),
        race: None,
        communicates: matches!(decoded.order(), exec::Order::Communicating(_)),
        measured: None,
        code: Some(program.code(kernel)),
        archived: None,
        elsewhere: Vec::new(),
        statics: Some(basis),
    })
}

/// What counts stand on, where so many CTAs were executed all the same.
pub(crate) fn basis(counts: &Counts, executed_ctas: u64) -> Statics {
    Statics {
        bounds: counts.bounds.clone(),
        used: counts.used.clone(),
        unused: counts.unused.clone(),
        walked_ctas: counts.walked_ctas,
        walked_instructions: counts.walked_instructions,
        executed_ctas,
    }
}

/// How a launch is to be walked.
pub(crate) struct Wanted<'a> {
    pub(crate) given: &'a Given,
    pub(crate) counting: Counting,
    /// Instructions of one CTA that are walked.
    pub(crate) cta_budget: u64,
    pub(crate) effort: Effort,
}

/// Walks CTAs of a launch.
pub(crate) fn walk(
    execution: &Execution<'_>,
    (number, prepared): (usize, &Kernel),
    (kernel, shape): (FunctionId, LaunchShape),
    Wanted { given, counting, cta_budget, effort }: Wanted<'_>,
) -> std::result::Result<Counts, Refusal> {
    warplens_statics::count(&Request {
        module: &execution.program.module,
        kernel,
        program: prepared.program(),
        shape,
        parameters: &execution.parameters(number),
        dynamic_shared: execution.launches[number].1.dynamic_shared,
        given,
        counting,
        global_bytes: Some(execution.global_bytes()),
        budget: execution.options().budget,
        cta_budget,
        effort,
    })
}

fn error(program: &Program, kernel: FunctionId, refusal: &Refusal) -> Error {
    match refusal {
        Refusal::Given(bad) => bad_line(bad, program.form()),
        _ => match refusal.pc() {
            Some(pc) => {
                let name = &program.module.functions[kernel].name;
                let all = failure::at(program, ErrorKind::Input, name, "X006", pc, &refusal.to_string());
                let line = program.module.pcs[pc].line;
                match refusal {
                    Refusal::UnknownTrips { .. } => all.with_help(format!(
                        "say how often it is turned each time that it is reached, for example --trips {line}=100"
                    )),
                    Refusal::Budget { .. } => all.with_help(
                        "a loop that is long, not endless, needs --budget N; one that ends by data needs --trips LINE=N",
                    ),
                    _ => all.with_help("run the kernel instead: leave --static out"),
                }
            }
            None => Error::input(format!("{}: {refusal}", program.name)),
        },
    }
}

fn bad_line(bad: &BadLine, form: CodeForm) -> Error {
    match bad {
        BadLine::NoLoop { line, known } => {
            let error = Error::usage(format!("--trips {line}: {bad}"));
            if known.is_empty() {
                error.with_help("the kernel has no loops")
            } else {
                error.with_help(lines("loops", known, form))
            }
        }
        BadLine::NoBranch { line, known } => {
            let error = Error::usage(format!("--prob {line}: {bad}"));
            if known.is_empty() {
                error.with_help("the kernel has no branches")
            } else {
                error.with_help(lines("branches", known, form))
            }
        }
        BadLine::TwoThings { line } => {
            Error::usage(format!("{bad}")).with_help(format!("write ptx:{line} or source:{line}"))
        }
        BadLine::EndsLoop { line } => Error::usage(format!("--prob {line}: {bad}"))
            .with_help(format!("give the number of turns with --trips {line}=N")),
        BadLine::Trips { .. } => Error::usage(format!("--trips: {bad}")),
        BadLine::Probability { .. } => Error::usage(format!("--prob: {bad}")),
    }
}

/// Lines on which something is, in the code and in the program.
fn lines(what: &str, known: &[(u32, Option<u32>)], form: CodeForm) -> String {
    let one = |&(ptx, source): &(u32, Option<u32>)| match source {
        Some(source) => format!("{ptx} (source {source})"),
        None => ptx.to_string(),
    };
    let listed: Vec<String> = known.iter().take(MAX_LINES).map(one).collect();
    let more = if known.len() > MAX_LINES { format!(" and {} more", known.len() - MAX_LINES) } else { String::new() };
    format!("there are {what} on {}s {}{more}", form.line(), listed.join(", "))
}

/// Reads `LINE=NUMBER`, where the line may begin with `ptx:` or `source:`. `flag` is what messages call it.
pub fn parse_given(flag: &str, text: &str) -> Result<(Line, f64)> {
    let usage = |what: String| {
        Error::usage(format!("{flag} {text}: {what}"))
            .with_help(format!("write {flag} LINE=NUMBER, or ptx:LINE=NUMBER or source:LINE=NUMBER"))
    };
    let (line, number) = text.split_once('=').ok_or_else(|| usage("there is no `=`".to_owned()))?;
    let (make, digits): (fn(u32) -> Line, &str) = match line.split_once(':') {
        None => (Line::Either, line),
        Some(("ptx", digits)) => (Line::Ptx, digits),
        Some(("source", digits)) => (Line::Source, digits),
        Some((prefix, _)) => return Err(usage(format!("`{prefix}` is neither ptx nor source"))),
    };
    let line = digits.trim().parse().map_err(|_| usage(format!("`{digits}` is no line")))?;
    let value: f64 = number.trim().parse().map_err(|_| usage(format!("`{number}` is no number")))?;
    Ok((make(line), value))
}
