//! `warplens dev`: what each stage makes of an input, for bug reports and the curious.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, CommandFactory, Subcommand};
use warplens_question::{coverage, disassembly, hazards, native, stages, validate, whatif};
use warplens_report::{document, render, view};
use warplens_session::machines::Strictness;
use warplens_session::{Choice, Error, ExecutionOptions, Input, Progress, import, machines, predict};

use super::Outcome;
use crate::flags::Cli;
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct DevFlags {
    #[command(subcommand)]
    stage: Stage,
}

#[derive(Subcommand, Debug)]
enum Stage {
    /// The tokens of a PTX text, one per line
    Tokens(InputFlag),
    /// The syntax tree of a PTX text
    Ast(InputFlag),
    /// The kernel representation that PTX is lowered to
    Ir(InputFlag),
    /// The control-flow graph of every function, with reconvergence points
    Cfg(InputFlag),
    /// The machine code that a GPU runs of a kernel, as the timing simulation sees it
    Code(CodeFlags),
    /// The machine code in a cubin, a fatbin or a program, with its scheduling and the lines that it came from
    Disasm(DisasmFlags),
    /// Hazards of machine code: results that its own scheduling does not guarantee where they are used. Ends with exit
    /// code 1 where there are any
    Hazards(DisasmFlags),
    /// Machine code that others wrote down, on one SM: a listing of the GT200 era, or a trace in Accel-Sim's format
    Simulate(SimulateFlags),
    /// The JSON Schema of a document that `--format json` writes
    Schema {
        /// Which document, such as profile; all are listed without it
        document: Option<String>,
    },
    /// The manual's pages that the program writes itself
    Docs {
        /// Which page; all pages are listed without it
        page: Option<String>,
    },
}

#[derive(Args, Debug)]
struct InputFlag {
    /// A PTX file, or - for standard input
    input: PathBuf,
}

#[derive(Args, Debug)]
struct CodeFlags {
    /// A PTX file, or - for standard input
    input: PathBuf,
    /// The kernel; all kernels without it
    #[arg(short, long)]
    kernel: Option<String>,
    /// The GPU, such as h200, sm_80 or mine.toml
    #[arg(long)]
    gpu: String,
    /// Leave instructions in the order of the PTX
    #[arg(long)]
    no_schedule: bool,
}

#[derive(Args, Debug)]
struct DisasmFlags {
    /// A cubin, a fatbin, or a program, library or object that holds one; - for standard input
    input: PathBuf,
    /// The kernel or function; all without it
    #[arg(short, long)]
    kernel: Option<String>,
    /// Only machine code for this architecture, such as sm_90
    #[arg(long, value_name = "SM", value_parser = architecture)]
    arch: Option<u32>,
}

fn architecture(text: &str) -> Result<u32, String> {
    let digits = text.strip_prefix("sm_").unwrap_or(text).trim_end_matches(['a', 'f']);
    digits.parse().map_err(|_| format!("`{text}` is no architecture such as sm_90"))
}

#[derive(Args, Debug)]
struct SimulateFlags {
    /// A listing or a trace, or - for standard input
    input: PathBuf,
    /// The GPU, such as gtx280 or mine.toml
    #[arg(long)]
    gpu: String,
    /// Threads of a block of a listing
    #[arg(long)]
    threads: Option<u32>,
    /// Blocks of a listing that the SM gets, or the first so many of a trace
    #[arg(long)]
    blocks: Option<u32>,
    /// Blocks that are on the SM at once; as many as fit without it
    #[arg(long)]
    resident: Option<u32>,
    /// SMs of the GPU that are at work; all without it
    #[arg(long)]
    sms: Option<u32>,
    /// Another value for a `.let` name of a listing, such as K=128
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    set: Vec<(String, i64)>,
}

fn name_and_value(text: &str) -> Result<(String, i64), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let value = value.trim().parse().map_err(|_| format!("`{}` is no integer", value.trim()))?;
    Ok((name.trim().to_owned(), value))
}

pub(crate) fn run(flags: &DevFlags, terminal: &Terminal) -> Result<Outcome> {
    let (show, flag): (fn(&Input) -> warplens_session::Result<stages::Dump>, _) = match &flags.stage {
        Stage::Tokens(flag) => (stages::tokens, flag),
        Stage::Ast(flag) => (stages::syntax_tree, flag),
        Stage::Ir(flag) => (stages::representation, flag),
        Stage::Cfg(flag) => (stages::control_flow, flag),
        Stage::Code(flags) => return code(flags, terminal),
        Stage::Disasm(flags) => return disasm(flags, terminal),
        Stage::Hazards(flags) => return hazards(flags, terminal),
        Stage::Simulate(flags) => return simulate(flags, terminal),
        Stage::Schema { document } => return schema(document.as_deref(), terminal),
        Stage::Docs { page } => return docs(page.as_deref(), terminal),
    };
    let dump = show(&Input::read(&flag.input)?)?;
    terminal.text(&dump.text)?;
    terminal.warnings(&dump.findings);
    Ok(Outcome::Done)
}

fn code(flags: &CodeFlags, terminal: &Terminal) -> Result<Outcome> {
    let machine = machines::one(&flags.gpu)?;
    let input = Input::read(&flags.input)?;
    let dump = stages::machine_code(&input, flags.kernel.as_deref(), &machine, !flags.no_schedule)?;
    terminal.text(&dump.text)?;
    terminal.warnings(&dump.findings);
    Ok(Outcome::Done)
}

fn disasm(flags: &DisasmFlags, terminal: &Terminal) -> Result<Outcome> {
    let request = disassembly::Request { kernel: flags.kernel.clone(), sm: flags.arch };
    let listing = disassembly::disassemble(&Input::read(&flags.input)?, &request)?;
    terminal.text(&listing.text)?;
    if listing.unknown > 0 {
        terminal.message(&format!("{} of {} instructions are not known", listing.unknown, listing.instructions));
    }
    Ok(Outcome::Done)
}

fn hazards(flags: &DisasmFlags, terminal: &Terminal) -> Result<Outcome> {
    let request = hazards::Request { kernel: flags.kernel.clone(), sm: flags.arch };
    let input = Input::read(&flags.input)?;
    let checked = hazards::check(&input, &request)?;
    terminal.text(&checked.text)?;
    match checked.hazards {
        0 => Ok(Outcome::Done),
        n => Err(Error::input(format!("{} has {n} hazards in its machine code", input.name)).into()),
    }
}

fn simulate(flags: &SimulateFlags, terminal: &Terminal) -> Result<Outcome> {
    let machine = machines::one(&flags.gpu)?;
    let request = native::Request {
        values: flags.set.clone(),
        threads: flags.threads,
        ctas: flags.blocks,
        resident: flags.resident,
        sms: flags.sms,
        shares_trace: false,
    };
    let answer = native::annotated(&Input::read(&flags.input)?, &request, &machine, Strictness::AllowInferred)?;
    let simulated = answer.result.map_err(|refusal| Error::input(refusal.to_string()))?;
    let sections = view::timing::annotation(&simulated, true);
    terminal.data(None, &render::text(&sections, terminal.style, terminal.width))?;
    Ok(Outcome::Done)
}

fn schema(name: Option<&str>, terminal: &Terminal) -> Result<Outcome> {
    let text = match name {
        None => document::documents().map(|entry| format!("{:<20}  {}\n", entry.name(), entry.about)).collect(),
        Some(name) => match document::documents().find(|entry| entry.name() == name || entry.id == name) {
            Some(entry) => serde_json::to_string_pretty(&(entry.schema)())? + "\n",
            None => {
                let names: Vec<&str> = document::documents().map(document::Entry::name).collect();
                return Err(Error::usage(format!("no document `{name}`; there are {}", names.join(", "))).into());
            }
        },
    };
    terminal.data(None, &text)?;
    Ok(Outcome::Done)
}

type Page = fn() -> Result<String>;

/// Pages of the manual that would drift if people wrote them.
const PAGES: &[(&str, &str, Page)] = &[
    ("command-line", "every verb with its flags", command_line),
    ("models", "the models with their options, inputs and assumptions", || Ok(predict::models_page())),
    ("import", "profiles from elsewhere, and what becomes of their counters", || Ok(import::page())),
    ("instruction-coverage", "which PTX instructions are executed", || Ok(coverage::page())),
    ("whatif", "what-if questions: effects, and everything that can be set", || Ok(whatif::page())),
    ("accuracy", "how far predictions are from measured times, by class of rows", || {
        Ok(view::validate::summary(&project_baseline()?, "teg", "roofline"))
    }),
    ("baseline", "the same with worst rows and ranges, from the last run over everything measured", || {
        let sections = view::validate::sections(&project_baseline()?);
        Ok(format!("# How far predictions are from measured times\n\n{BASELINE}\n\n{}", render::markdown(&sections)))
    }),
    ("ranges", "the table of ranges in which measured times lie, from the same run, as the program holds it", || {
        Ok(validate::ranges::table(&project_baseline()?.ranges))
    }),
    ("machines", "the GPUs and the parameters that describe them", || Ok(stages::machines_page()?)),
];

/// What the page of the baseline is.
const BASELINE: &str = "The last run of `warplens validate` over everything that the project holds, as \
[baseline.csv](baseline.csv) records it; `UPDATE=1 cargo xtask validate` makes it anew.";

/// The errors that the project last had.
fn project_baseline() -> Result<validate::Validation> {
    let request = validate::Request {
        choice: Choice::All,
        options: predict::Options::default(),
        execution: ExecutionOptions::new(),
        gpus: None,
        code: Default::default(),
    };
    Ok(validate::validate(&[validate::baseline::of_project()?], &request, &Progress::default())?)
}

fn docs(page: Option<&str>, terminal: &Terminal) -> Result<Outcome> {
    let text = match page {
        None => PAGES.iter().map(|(name, about, _)| format!("{name:<20}  {about}\n")).collect(),
        Some(wanted) => match PAGES.iter().find(|(name, ..)| *name == wanted) {
            Some((_, _, page)) => page()?,
            None => {
                let names: Vec<&str> = PAGES.iter().map(|(name, ..)| *name).collect();
                return Err(Error::usage(format!("no page `{wanted}`; there are {}", names.join(", "))).into());
            }
        },
    };
    terminal.data(None, &text)?;
    Ok(Outcome::Done)
}

fn command_line() -> Result<String> {
    let mut command = Cli::command().max_term_width(100).color(clap::ColorChoice::Never);
    command.build();
    let mut page = "# Command line\n".to_owned();
    describe(&command, "warplens", &mut page);
    Ok(page)
}

fn describe(command: &clap::Command, name: &str, page: &mut String) {
    let help = command.clone().term_width(100).render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    page.push_str(&format!("\n## {name}\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        describe(verb, &format!("{name} {}", verb.get_name()), page);
    }
}
