//! `warplens exec PROGRAM`: a program that uses CUDA, run unchanged with libraries that emulate a GPU.

mod child;

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::Result;
use clap::Args;
use warplens_base::{Keep, visible};
use warplens_question::exec::Account;
use warplens_question::exec::program::{self, Linked};
use warplens_report::{document, render, view};
use warplens_session::archive::Folder;
use warplens_session::trail::Check;
use warplens_session::trail::environment::{
    CHECKS, CLOCK, CODE, GPUS, LEAVE_OUT, OPTIONS, OVERREADS, RECORD, RECORD_LIMIT, SAMPLE, THREADS, TRAIL, VIRTUAL,
    YES,
};
use warplens_session::{Error, machines, served, trail};

use super::{Document, Outcome};
use crate::flags::{CodeArgument, Format, OutputFlags, parse_count, parse_output};
use crate::terminal::Terminal;

/// Exit codes where there is none of the program's, as `env` and `timeout` have them.
const FAILED: u8 = 125;
const CANNOT_RUN: u8 = 126;
const NOT_FOUND: u8 = 127;
/// Added to the number of the signal that ended the program, as shells do.
const SIGNAL: i32 = 128;

/// Where the libraries are, for who has moved them.
const LIBRARIES: &str = "WARPLENS_LIBRARIES";
/// The library that moves the program's clocks, and what loads it before all others.
const CLOCK_LIBRARY: &str = "libwarplens_clock.so";
const PRELOAD: &str = "LD_PRELOAD";
const SEARCH_PATH: &str = "LD_LIBRARY_PATH";

#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct ExecFlags {
    /// GPUs, in a comma list: the program sees the first, and times are predicted for all
    #[arg(long, value_name = "LIST", default_value = "h200", help_heading = "Prediction")]
    gpu: String,
    /// Switch an option of the models on, such as emptied-caches
    #[arg(long = "option", value_name = "NAME", help_heading = "Prediction")]
    options: Vec<String>,
    /// Execute launches of more than N thread instructions in part, and not at all where they repeat: times come soon,
    /// and what the program computes is wrong
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "500M",
        value_parser = parse_size,
        help_heading = "Execution"
    )]
    sample: Option<u64>,
    /// Look for mistakes that stop no program, in a comma list
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        conflicts_with = "sample",
        help_heading = "Execution"
    )]
    check: Vec<Checked>,
    /// End with exit code 3 where a check found something or an access was refused, and the program itself ended with 0
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Execution")]
    fail_on: Option<FailOn>,
    /// Keep the launches that are simulated in DIR, with the memory that they can reach: other verbs read it
    #[arg(long, value_name = "DIR", conflicts_with = "sample", help_heading = "Output")]
    record: Option<PathBuf>,
    /// Bytes that the archive may take on disk
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "4G",
        value_parser = parse_size,
        requires = "record",
        help_heading = "Output"
    )]
    record_limit: u64,
    /// Let loads read zeros behind the end of an allocation, up to the end of the 2 MiB that a GPU maps
    #[arg(long, help_heading = "Execution")]
    allow_overreads: bool,
    /// Execute no launch: shows whether the program itself notices that its results are wrong
    #[arg(long, conflicts_with_all = ["sample", "check", "record"], help_heading = "Execution")]
    leave_out_launches: bool,
    #[command(flatten)]
    code: CodeArgument,
    /// What the program's own clocks (std::chrono, clock_gettime, gettimeofday) show
    #[arg(long, value_enum, default_value_t = Clock::Host, help_heading = "Execution")]
    clock: Clock,
    /// Write what the device does when to FILE: a picture where it ends in .svg or .png, else a trace that Perfetto opens
    #[arg(long, value_name = "FILE", value_parser = parse_output, help_heading = "Output")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// What programs are checked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, clap::ValueEnum)]
enum Checked {
    /// Accesses to the same bytes that nothing orders: of blocks in device memory, of warps in shared memory
    Races,
    /// Reads of device memory that nothing wrote
    #[value(alias = "uninitialized")]
    Uninitialised,
    /// Device memory that is not freed
    Leaks,
}

impl Checked {
    fn check(self) -> Check {
        match self {
            Self::Races => Check::Races,
            Self::Uninitialised => Check::Uninitialised,
            Self::Leaks => Check::Leaks,
        }
    }
}

/// When the exit code says that something is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum FailOn {
    /// A check found something, or a call or an access was refused
    Findings,
}

/// What clocks show.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Clock {
    /// The time that the emulator takes
    Host,
    /// Predicted time while the program waits for the device, and that of the host elsewhere
    Virtual,
}

const AFTER: &str = "The program must be linked with the shared runtime library (nvcc -cudart shared). Its PTX \
(-arch=sm_XX) is what is executed, or its machine code where it has no PTX for the GPU. With --code machine it is the \
machine code, which ptxas makes of PTX where the program has none for the GPU. Its output and its exit code stay its own; the report goes to standard error, or to the file of -o.";

/// Runs the program. What goes wrong on our side has an exit code of its own, which no program's is mistaken for.
pub(crate) fn run(flags: &ExecFlags, threads: Option<u32>, terminal: &Terminal) -> Outcome {
    match execute(flags, threads, terminal) {
        Ok(outcome) => outcome,
        Err(error) => {
            terminal.error(&error);
            Outcome::Program(FAILED)
        }
    }
}

fn execute(flags: &ExecFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    if flags.output.format == Format::Json && flags.output.output.is_none() {
        let error = Error::usage("--format json needs -o FILE: standard output is the program's");
        return Err(error.into());
    }
    flags.code.check(&machines::select(&flags.gpu)?)?;
    served::answering(&flags.options)?;
    let (name, arguments) = flags.command.split_first().expect("clap asks for the program");
    let Some(path) = find(Path::new(name)) else {
        terminal.error(&Error::input(format!("there is no program {}", name.to_string_lossy())).into());
        return Ok(Outcome::Program(NOT_FOUND));
    };
    let linked = program::linked(&std::fs::read(&path).unwrap_or_default());
    if linked == Linked::Statically {
        terminal.message(&format!(
            "{} holds NVIDIA's runtime library, which works with NVIDIA's driver only: build it with `nvcc -cudart \
             shared`, and nothing else has to change, or with `-cudart none libwarplens_cudart13.a`",
            path.display()
        ));
    }
    let archive = flags.record.as_deref().map(Folder::new).transpose()?;
    let folder = folder(linked)?;
    let written = folder.path().join("trail");
    let mut search: Vec<PathBuf> = vec![folder.path().to_owned()];
    search.extend(std::env::var_os(SEARCH_PATH).iter().flat_map(std::env::split_paths));
    let search = std::env::join_paths(search)?;
    let mut child = Command::new(&path);
    child.args(arguments).env(SEARCH_PATH, &search).env(GPUS, &flags.gpu).env(TRAIL, &written);
    child.env(CODE, flags.code.kind().name()).env(OPTIONS, flags.options.join(","));
    if let Some(threads) = threads {
        child.env(THREADS, threads.to_string());
    }
    if let Some(sample) = flags.sample {
        child.env(SAMPLE, sample.to_string());
        terminal.message(&format!(
            "kernels of more than {sample} thread instructions are executed in part (--sample): what the program \
             computes is wrong"
        ));
    }
    if let Some(archive) = &archive {
        child.env(RECORD, archive.path()).env(RECORD_LIMIT, flags.record_limit.to_string());
    }
    for (name, is_set) in [(OVERREADS, flags.allow_overreads), (LEAVE_OUT, flags.leave_out_launches)] {
        if is_set {
            child.env(name, YES);
        }
    }
    let checks = checks(flags);
    if !checks.is_empty() {
        child.env(CHECKS, checks.iter().map(|check| check.name()).collect::<Vec<_>>().join(","));
    }
    if flags.clock == Clock::Virtual {
        let preloaded = std::env::var_os(PRELOAD).filter(|list| !list.is_empty());
        let list = std::env::join_paths(std::iter::once(library(CLOCK_LIBRARY)?).chain(preloaded.map(PathBuf::from)))?;
        child.env(PRELOAD, list).env(CLOCK, VIRTUAL);
    }
    if terminal.verbose > 0 {
        let shown = search.to_string_lossy();
        terminal.message(&format!("{SEARCH_PATH}={shown} {GPUS}={} {TRAIL}={}", flags.gpu, written.display()));
    }
    let status = match child::wait(&mut child, terminal) {
        Ok(status) => status,
        Err(error) => {
            terminal.error(&Error::input(format!("{} cannot be run: {error}", path.display())).into());
            let code = if error.kind() == ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
            return Ok(Outcome::Program(code));
        }
    };
    let text = std::fs::read(&written).unwrap_or_default();
    let entries = trail::read(&String::from_utf8_lossy(&text));
    let mut is_wrong = false;
    if entries.is_empty() {
        terminal.message(nothing(linked));
    } else {
        let words = flags.command.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>();
        if let (Some(archive), Some(path)) = (&archive, &flags.record) {
            let (kept, left_out) = archive.finish(&entries, &words)?;
            terminal.message(&summary(path, kept, left_out));
        }
        let account = Account::new(&entries);
        if let Some(path) = &flags.trace {
            terminal.file(path, &traced(&account, &words, path)?)?;
        }
        is_wrong = !account.findings.is_empty() || !account.failures.is_empty();
        show(&account, (&words, status.code(), &checks), &flags.output, terminal)?;
    }
    if is_wrong && flags.fail_on == Some(FailOn::Findings) && status.success() {
        return Ok(Outcome::GateBreached);
    }
    let code = status.code().or_else(|| signal(status).map(|signal| SIGNAL + signal));
    Ok(Outcome::Program(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)))
}

/// What an archive holds.
fn summary(path: &Path, kept: usize, left_out: usize) -> String {
    let path = path.display();
    let lacking = if left_out > 0 { format!("; {left_out} could not be kept") } else { String::new() };
    match kept {
        0 => format!("{path} holds no launch{lacking}"),
        _ => format!("{path} holds {kept} launches{lacking}: warplens explain {path}#0"),
    }
}

/// A number of instructions or bytes: `500M`, `2G`, `100000`.
fn parse_size(text: &str) -> std::result::Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K', 'M', 'G']) {
        Some(digits) if text.ends_with('G') => (digits, 1_000_000_000),
        Some(digits) if text.ends_with('M') => (digits, 1_000_000),
        Some(digits) => (digits, 1000),
        None => (text, 1),
    };
    let size = parse_count(digits).ok().and_then(|digits| digits.checked_mul(factor));
    size.ok_or_else(|| "write a number such as 500M or 2G".to_owned())
}

/// The time line, as the name of the file says.
fn traced(account: &Account, words: &[String], path: &Path) -> Result<Vec<u8>> {
    let picture = || view::figure::program(account, &words.join(" "));
    Ok(match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => render::svg::figure(&picture()).into_bytes(),
        Some("png") => render::png::figure(&picture()),
        _ => {
            let line = document::value(&document::timeline::document(account, words));
            (serde_json::to_string(&line)? + "\n").into_bytes()
        }
    })
}

/// Why there is no report.
fn nothing(linked: Linked) -> &'static str {
    match linked {
        Linked::Statically => "the program did not reach the emulated GPU, so that there is no report",
        Linked::Shared(_) | Linked::Served | Linked::Unknown => {
            "the program called no function of CUDA, so that there is no report"
        }
    }
}

/// What is looked for, each once.
fn checks(flags: &ExecFlags) -> Vec<Check> {
    let mut checks: Vec<Check> = flags.check.iter().map(|checked| checked.check()).collect();
    checks.sort_unstable();
    checks.dedup();
    checks
}

fn show(
    account: &Account,
    (command, exit_code, checks): (&[String], Option<i32>, &[Check]),
    output: &OutputFlags,
    terminal: &Terminal,
) -> Result<()> {
    let sections = || view::exec::sections(account, checks, terminal.verbose > 0);
    let tables = || view::exec::tables(account, checks);
    let json = || document::value(&view::exec::document(account, command, exit_code, checks));
    if output.output.is_some() {
        let document = Document { title: "Kernels of a program", sections: &sections, tables: &tables, json: &json };
        return document.write(output, terminal);
    }
    let text = match output.format {
        Format::Csv => render::csv(&tables()),
        Format::Md => render::markdown(&sections()),
        Format::Html => render::html("Kernels of a program", &sections()),
        Format::Text | Format::Json => render::text(&sections(), render::Style::Plain, terminal.file_width),
    };
    terminal.keep_tables(&tables);
    // Standard output is the program's.
    terminal.to_stderr(&visible(&text, Keep::Lines));
    Ok(())
}

/// The program, in the folders of `PATH` where its name has no folder.
fn find(name: &Path) -> Option<PathBuf> {
    if name.components().count() > 1 || name.is_absolute() {
        return name.exists().then(|| name.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// A library of ours by its file name.
fn library(name: &str) -> Result<PathBuf> {
    let own = std::env::current_exe().ok().and_then(|path| path.parent().map(Path::to_owned));
    let places: Vec<PathBuf> = match std::env::var_os(LIBRARIES) {
        Some(folder) => vec![PathBuf::from(folder)],
        None => own.iter().flat_map(|own| [own.clone(), own.join("../lib/warplens")]).collect(),
    };
    if let Some(path) = places.iter().map(|place| place.join(name)).find(|path| path.is_file()) {
        return Ok(path.canonicalize()?);
    }
    let looked = places.iter().map(|place| place.display().to_string()).collect::<Vec<_>>().join(" and ");
    let error = Error::input(format!("{name} is neither in {looked}"));
    Err(error.with_help(format!("build it with the program, or name its folder in {LIBRARIES}")).into())
}

/// A folder in which the loader finds the libraries by the names that programs ask for.
fn folder(linked: Linked) -> Result<tempfile::TempDir> {
    let name = |version: u32| format!("libwarplens_cudart{version}.so");
    let folder = tempfile::tempdir()?;
    let mut any = None;
    for version in program::VERSIONS {
        if let Ok(path) = library(&name(version)) {
            link(&path, &folder.path().join(format!("libcudart.so.{version}")))?;
            // The driver is in the library that the program loads, so that both have one device.
            if any.is_none() || linked == Linked::Shared(version) {
                any = Some(path);
            }
        }
    }
    let driver = match any {
        Some(driver) => driver,
        None => library(&name(program::VERSIONS[0]))?,
    };
    link(&driver, &folder.path().join("libcuda.so.1"))?;
    Ok(folder)
}

/// The signal that ended a program.
#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

/// The signal that ended a program: elsewhere there is none.
#[cfg(not(unix))]
fn signal(_status: ExitStatus) -> Option<i32> {
    None
}

/// Makes a file known by another name.
#[cfg(unix)]
fn link(file: &Path, name: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(file, name)
}

/// Makes a file known by another name: elsewhere that is another file.
#[cfg(not(unix))]
fn link(file: &Path, name: &Path) -> std::io::Result<()> {
    std::fs::copy(file, name).map(drop)
}
