//! The command line.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Parser, ValueEnum};

use anyhow::Result;
use warplens_base::quoted;
use warplens_launch::{Launch, parse_extents};
use warplens_session::machines::Machine;
use warplens_session::profile::Counting;
use warplens_session::source::{self, Source};
use warplens_session::statics::{Given, parse_given};
use warplens_session::toolchain::{CodeKind, CompilerFlags, Search};
use warplens_session::{
    DEFAULT_BUDGET, DEFAULT_LAUNCH_BUDGET, Error, ExecutionOptions, Extent, Input, Measurement, Program, Targets,
};

use crate::command::Verb;
use crate::terminal::Terminal;

/// Predict the run time of CUDA kernels on NVIDIA GPUs, and what bounds it, without a GPU.
#[derive(Parser, Debug)]
#[command(name = "warplens", version, max_term_width = 110, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) verb: Verb,
    #[command(flatten)]
    pub(crate) global: GlobalFlags,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 bad input, or no model could answer; 2 usage; 3 a gate given with \
--fail-on is breached; 4 the kernel uses an instruction that is not supported. Of exec it is that of the program, or 125 \
where exec itself fails, 126 where the program cannot be run, 127 where it is not found.";

/// Flags of every verb.
#[derive(Args, Debug)]
pub(crate) struct GlobalFlags {
    /// No messages besides errors
    #[arg(short, long, global = true, help_heading = "Messages")]
    pub(crate) quiet: bool,
    /// More to read; twice for still more
    #[arg(short, long, global = true, action = clap::ArgAction::Count, help_heading = "Messages")]
    pub(crate) verbose: u8,
    /// Colour the output; `auto` asks whether a terminal reads it, and honours NO_COLOR
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN", help_heading = "Messages")]
    pub(crate) color: ColorChoice,
    /// Columns of the text; those of the terminal, and 120 where no terminal reads it, unless given
    #[arg(long, global = true, value_name = "COLUMNS", value_parser = clap::value_parser!(u16).range(40..), help_heading = "Messages")]
    pub(crate) width: Option<u16>,
    /// Write over files that are there already, but never over an input
    #[arg(long, global = true, help_heading = "Messages")]
    pub(crate) force: bool,
    /// Host threads to use; all cores unless given
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Messages")]
    pub(crate) threads: Option<u32>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorChoice {
    Auto,
    Always,
    Never,
}

/// Format and place of the result.
#[derive(Args, Debug)]
pub(crate) struct OutputFlags {
    /// Format of the result
    #[arg(long, value_enum, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
    /// Write the result to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", value_parser = parse_output, help_heading = "Output")]
    pub(crate) output: Option<PathBuf>,
}

impl OutputFlags {
    /// The same format on standard output, where the file is for a picture.
    pub(crate) fn to_stdout(&self) -> Self {
        Self { format: self.format, output: None }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    /// For people at a terminal
    Text,
    /// For programs; see docs/report-schema.md
    Json,
    /// The tables, with every digit
    Csv,
    /// Markdown
    Md,
    /// One page that loads nothing
    Html,
}

/// The input and its launch.
#[derive(Args, Debug)]
pub(crate) struct LaunchFlags {
    /// PTX, CUDA C++, a cubin, a fatbin, or a program that holds one; or - for standard input
    // Verbs that need no program take profiles and scripts, too: see `sources`.
    pub(crate) input: PathBuf,
    /// Kernel, by its mangled or demangled name, or by a pattern
    #[arg(short, long, value_name = "NAME|regex:RE", help_heading = "Launch")]
    kernel: Option<String>,
    /// Blocks per axis
    #[arg(long, value_name = "X[,Y[,Z]]", allow_negative_numbers = true, help_heading = "Launch")]
    grid: Option<String>,
    /// Threads per block and axis
    #[arg(long, value_name = "X[,Y[,Z]]", allow_negative_numbers = true, help_heading = "Launch")]
    block: Option<String>,
    /// Blocks per cluster and axis
    #[arg(long, value_name = "X[,Y[,Z]]", allow_negative_numbers = true, help_heading = "Launch")]
    cluster: Option<String>,
    /// Bytes of dynamic shared memory per block
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, help_heading = "Launch")]
    shared: Option<u64>,
    /// Registers per thread; else from ptxas, else estimated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255), help_heading = "Launch")]
    registers: Option<u32>,
    // Not a doc comment: rustdoc would take the brackets for a link.
    #[arg(
        help = "Argument: 1024, 1<<20, 2.5, f32[1<<20]:uniform(-1,1), &0+64, none, struct(1,2.5), bytes(00ff)",
        long = "arg",
        value_name = "[NAME|INDEX=]VALUE",
        allow_hyphen_values = true,
        help_heading = "Launch"
    )]
    arguments: Vec<String>,
    /// Content of a .const or .global variable
    #[arg(long = "symbol", value_name = "NAME=VALUE", help_heading = "Launch")]
    symbols: Vec<String>,
    /// The same things in a file; flags go over it
    #[arg(long, value_name = "FILE.toml", help_heading = "Launch")]
    launch: Option<String>,
    /// Target that CUDA C++ is compiled for; else for each GPU what it runs, sm_75 for those before
    #[arg(long, value_name = "sm_XX", help_heading = "Launch")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    compiler: CompilerArguments,
}

/// What the compiler of CUDA C++ is told.
#[derive(Args, Debug)]
pub(crate) struct CompilerArguments {
    /// Folder in which headers of CUDA C++ are looked for, behind that of the source
    #[arg(short = 'I', long = "include", value_name = "DIR", help_heading = "Launch")]
    includes: Vec<PathBuf>,
    /// Flag for the compiler of CUDA C++, with its value in the same word
    #[arg(long = "nvcc-flag", value_name = "FLAG", allow_hyphen_values = true, help_heading = "Launch")]
    flags: Vec<String>,
    #[command(flatten)]
    code: CodeArgument,
}

/// What is made of PTX.
#[derive(Args, Debug)]
pub(crate) struct CodeArgument {
    /// Code that is executed and simulated: machine code where the input has it (auto), PTX and what is generated of it,
    /// or machine code, which ptxas makes of PTX for each GPU
    #[arg(long = "code", value_name = "auto|ptx|generated|machine", default_value = "auto", value_parser = parse_code, help_heading = "Execution")]
    code: CodeKind,
}

impl CodeArgument {
    /// Which it is.
    pub(crate) const fn kind(&self) -> CodeKind {
        self.code
    }

    /// Refuses machine code for GPUs whose code is not known.
    pub(crate) fn check(&self, machines: &[Machine]) -> Result<()> {
        if let Some(machine) = machines.iter().find(|machine| !self.code.serves(machine.cc)) {
            return Err(Error::usage(format!("--code machine: the machine code of {} is not known", machine.board()))
                .with_help("it is known from compute capability 7.5 on; --code generated serves all GPUs")
                .into());
        }
        Ok(())
    }
}

fn parse_code(text: &str) -> std::result::Result<CodeKind, String> {
    CodeKind::named(text).ok_or_else(|| "auto, ptx, generated or machine".to_owned())
}

impl CompilerArguments {
    /// Where compilers are looked for, and what they are told.
    pub(crate) fn search(&self) -> Result<Search> {
        let flags = CompilerFlags::new(&self.includes, &self.flags)?;
        Ok(Search { flags, code: self.code.kind(), ..Search::from_environment() })
    }

    /// The flags that were given, as a user would type them.
    pub(crate) fn words(&self) -> Vec<String> {
        let includes = self.includes.iter().flat_map(|folder| ["-I".to_owned(), quoted(&folder.to_string_lossy())]);
        let flags = self.flags.iter().map(|flag| format!("--nvcc-flag={}", quoted(flag)));
        let is_other = self.code.kind() != CodeKind::default();
        let code = is_other.then(|| format!("--code={}", self.code.kind().name()));
        includes.chain(flags).chain(code).collect()
    }
}

impl LaunchFlags {
    /// Reads the input, which no GPU is asked about.
    pub(crate) fn program(&self, terminal: &Terminal) -> Result<Program> {
        let input = Input::read(&self.input)?;
        let program = Program::load_for(&input, &targets(self.target.as_deref(), &[]), &self.compiler.search()?)?;
        announce(&program, terminal);
        Ok(program)
    }

    /// Reads an input that may also be a profile or a script.
    pub(crate) fn sources(&self, machines: &[Machine], terminal: &Terminal) -> Result<Vec<Source>> {
        let input = Input::read(&self.input)?;
        let search = self.compiler.search()?;
        self.compiler.code.check(machines)?;
        sources(&input, self.launch.as_deref(), self.over()?, (self.target.as_deref(), machines), &search, terminal)
    }

    /// The same input and launch under another verb, as a user would type it.
    pub(crate) fn command(&self, verb: &str, flags: &[String]) -> String {
        let mut words = vec!["warplens".to_owned(), verb.to_owned(), quoted(&self.input.to_string_lossy())];
        let options = [
            ("-k", &self.kernel),
            ("--grid", &self.grid),
            ("--block", &self.block),
            ("--cluster", &self.cluster),
            ("--launch", &self.launch),
            ("--target", &self.target),
        ];
        for (name, value) in options {
            words.extend(value.iter().flat_map(|value| [name.to_owned(), quoted(value)]));
        }
        let numbers = [("--shared", self.shared), ("--registers", self.registers.map(u64::from))];
        for (name, number) in numbers {
            words.extend(number.iter().flat_map(|number| [name.to_owned(), number.to_string()]));
        }
        for (name, values) in [("--arg", &self.arguments), ("--symbol", &self.symbols)] {
            words.extend(values.iter().flat_map(|value| [name.to_owned(), quoted(value)]));
        }
        words.extend(self.compiler.words());
        words.extend_from_slice(flags);
        words.join(" ")
    }

    /// The launches of the file and the flags.
    pub(crate) fn launches(&self) -> Result<Vec<Launch>> {
        Ok(source::launches(self.launch.as_deref(), self.over()?)?)
    }

    /// What the flags say.
    fn over(&self) -> Result<Launch> {
        let extents =
            |flag: &str, text: &Option<String>| text.as_ref().map(|text| parse_extents(flag, text)).transpose();
        let mut flags = Launch {
            kernel: self.kernel.clone(),
            grid: extents("--grid", &self.grid)?,
            block: extents("--block", &self.block)?,
            cluster: extents("--cluster", &self.cluster)?,
            shared: self.shared,
            registers: self.registers,
            ..Launch::default()
        };
        self.arguments.iter().try_for_each(|text| flags.add_argument(text))?;
        self.symbols.iter().try_for_each(|text| flags.add_symbol("--symbol", text))?;
        Ok(flags)
    }
}

/// What several launches have in common.
#[derive(Args, Debug)]
pub(crate) struct ArgumentFlags {
    /// Registers per thread; else from ptxas, else estimated
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=255), help_heading = "Launch")]
    registers: Option<u32>,
    // Not a doc comment: rustdoc would take the brackets for a link.
    #[arg(
        help = "Argument: 1024, 1<<20, 2.5, f32[1<<20]:uniform(-1,1), &0+64, none, struct(1,2.5), bytes(00ff)",
        long = "arg",
        value_name = "[NAME|INDEX=]VALUE",
        allow_hyphen_values = true,
        help_heading = "Launch"
    )]
    pub(crate) arguments: Vec<String>,
    /// Content of a .const or .global variable
    #[arg(long = "symbol", value_name = "NAME=VALUE", help_heading = "Launch")]
    symbols: Vec<String>,
    /// Target that CUDA C++ is compiled for; else for each GPU what it runs, sm_75 for those before
    #[arg(long, value_name = "sm_XX", help_heading = "Launch")]
    pub(crate) target: Option<String>,
    #[command(flatten)]
    pub(crate) compiler: CompilerArguments,
}

impl ArgumentFlags {
    /// The flags that were given, as a user would type them.
    pub(crate) fn words(&self) -> Vec<String> {
        let registers = self.registers.map(|n| format!("--registers {n}"));
        let target = self.target.as_ref().map(|target| format!("--target {}", quoted(target)));
        let arguments = self.arguments.iter().map(|text| format!("--arg {}", quoted(text)));
        let symbols = self.symbols.iter().map(|text| format!("--symbol {}", quoted(text)));
        let words = registers.into_iter().chain(arguments).chain(symbols).chain(target);
        words.chain(self.compiler.words()).collect()
    }

    /// Puts registers and symbols into a launch; what arguments mean is for the verb to say.
    pub(crate) fn fill(&self, launch: &mut Launch) -> Result<()> {
        launch.registers = self.registers;
        Ok(self.symbols.iter().try_for_each(|text| launch.add_symbol("--symbol", text))?)
    }

    /// What an input holds: a program with its launches, or counts.
    pub(crate) fn sources(
        &self,
        input: &Input,
        launch_file: Option<&str>,
        flags: Launch,
        machines: &[Machine],
        terminal: &Terminal,
    ) -> Result<Vec<Source>> {
        let asked = (self.target.as_deref(), machines);
        sources(input, launch_file, flags, asked, &self.compiler.search()?, terminal)
    }
}

/// What CUDA C++ is compiled for: what the user says, else what each of the GPUs runs.
pub(crate) fn targets(asked: Option<&str>, machines: &[Machine]) -> Targets {
    asked.map_or_else(|| Targets::of(machines), |target| Targets::One(target.to_owned()))
}

/// Reads an input that may also be a profile or a script. `asked` is the target that the user wants CUDA C++ compiled for.
fn sources(
    input: &Input,
    launch_file: Option<&str>,
    flags: Launch,
    (asked, machines): (Option<&str>, &[Machine]),
    search: &Search,
    terminal: &Terminal,
) -> Result<Vec<Source>> {
    if let Some(target) = asked.filter(|_| input.kind.is_counted()) {
        let message = format!("{} is {}: nothing is compiled for {target}", input.name, input.kind.name());
        return Err(Error::usage(message).into());
    }
    let request = source::Request { input, launch_file, flags, targets: &targets(asked, machines) };
    let sources = source::load(&request, search)?;
    for source in &sources {
        if let Source::Program { program, .. } = source {
            announce(program, terminal);
        }
    }
    Ok(sources)
}

/// Says what the compiler said and what was found in the text.
fn announce(program: &Program, terminal: &Terminal) {
    if let Some((compiler, messages)) = &program.compiled {
        if terminal.verbose > 0 {
            terminal.message(&format!("compiled for {} by {compiler}", program.targets().join(", ")));
        }
        if !messages.trim().is_empty() {
            terminal.message(messages);
        }
    }
    terminal.warnings(&program.warnings);
}

/// Executes and counts what the sources hold. The flags that tell how must be of use.
pub(crate) fn gather(
    sources: Vec<Source>,
    execution: &ExecutionFlags,
    extent: &ExtentFlags,
    options: &ExecutionOptions,
    counting: Counting,
    terminal: &Terminal,
) -> Result<Vec<Measurement>> {
    let is_executed = |source: &Source| matches!(source, Source::Program { .. } | Source::Archived(_));
    let mut words = [execution.words(), extent.words()].concat();
    if options.statics.is_some() {
        words.push("--static".to_owned());
    }
    if let Some(flag) = words.first().filter(|_| !sources.iter().any(is_executed)) {
        return Err(Error::usage(format!(
            "nothing is executed: the launches were counted before, and {flag} is of no use"
        ))
        .into());
    }
    let search = Search::from_environment();
    Ok(terminal.with_progress(|progress| source::gather(sources, options, counting, &search, progress))?)
}

/// How the kernel is executed.
#[derive(Args, Debug)]
pub(crate) struct ExecutionFlags {
    /// Instructions that a warp may execute before the launch is given up as endless
    #[arg(long, value_name = "N", default_value_t = DEFAULT_BUDGET, value_parser = parse_count, help_heading = "Execution")]
    budget: u64,
    /// Instructions that all warps of a launch may execute together
    #[arg(long, value_name = "N", default_value_t = DEFAULT_LAUNCH_BUDGET, value_parser = parse_count, help_heading = "Execution")]
    launch_budget: u64,
    /// Run kernels with instructions that are not supported, until one is reached
    #[arg(long, help_heading = "Execution")]
    allow_unsupported: bool,
    /// Let loads read zeros behind the end of a buffer, up to the end of the 2 MiB that a GPU maps
    #[arg(long, help_heading = "Execution")]
    allow_overreads: bool,
}

impl ExecutionFlags {
    /// The flags that were given, as a user would type them.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.budget != DEFAULT_BUDGET {
            words.extend(["--budget".to_owned(), self.budget.to_string()]);
        }
        if self.launch_budget != DEFAULT_LAUNCH_BUDGET {
            words.extend(["--launch-budget".to_owned(), self.launch_budget.to_string()]);
        }
        if self.allow_unsupported {
            words.push("--allow-unsupported".to_owned());
        }
        if self.allow_overreads {
            words.push("--allow-overreads".to_owned());
        }
        words
    }

    pub(crate) fn options(&self, threads: Option<u32>) -> Result<ExecutionOptions> {
        let mut options = ExecutionOptions::new();
        options.budget = self.budget;
        options.launch_budget = self.launch_budget;
        options.allow_unsupported = self.allow_unsupported;
        options.allow_overreads = self.allow_overreads;
        if let Some(threads) = threads {
            options.threads = threads as usize;
        }
        Ok(options)
    }
}

/// Which blocks are executed to measure a launch.
#[derive(Args, Debug)]
pub(crate) struct ExtentFlags {
    /// Execute all blocks of a large launch, not a part of them
    #[arg(long, conflicts_with = "cta", help_heading = "Execution")]
    full: bool,
    /// Execute the blocks with these numbers and scale the counts
    #[arg(long, value_name = "N..M", help_heading = "Execution")]
    cta: Option<String>,
}

impl ExtentFlags {
    /// The flags that were given, as a user would type them.
    pub(crate) fn words(&self) -> Vec<String> {
        match &self.cta {
            Some(range) => vec!["--cta".to_owned(), quoted(range)],
            None if self.full => vec!["--full".to_owned()],
            None => Vec::new(),
        }
    }

    pub(crate) fn extent(&self) -> Result<Extent> {
        let Some(text) = &self.cta else {
            return Ok(if self.full { Extent::Full } else { Extent::Auto });
        };
        let range = text.split_once("..").and_then(|(start, end)| {
            let (start, end): (u32, u32) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
            (start < end).then_some(start..end)
        });
        let usage = || Error::usage(format!("--cta {text}: write N..M with N below M, for example --cta 0..64"));
        Ok(Extent::Ctas(range.ok_or_else(usage)?))
    }
}

/// The path of a file to be written, refused while nothing has taken time yet where no file can lie there.
pub(crate) fn parse_output(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        _ if text.is_empty() => Err("it has no name".to_owned()),
        _ if path.is_dir() => Err("is a folder, not a file".to_owned()),
        Some(folder) if !folder.is_dir() => Err(format!("there is no folder {}", folder.display())),
        _ => Ok(path),
    }
}

/// The files that a command line says to write, whatever its verb.
pub(crate) fn written(matches: &ArgMatches) -> Vec<PathBuf> {
    let texts = |id: &str| matches.try_get_raw(id).ok().flatten().into_iter().flatten();
    let paths = ["output", "trace", "predictions", "write"].into_iter().flat_map(texts).map(PathBuf::from);
    // NAME=FILE
    let saved = texts("save").filter_map(|text| text.to_str()?.split_once('=')).map(|(_, path)| PathBuf::from(path));
    let below = matches.subcommand().map(|(_, matches)| written(matches)).unwrap_or_default();
    paths.chain(saved).chain(below).collect()
}

/// Counting without a run.
#[derive(Args, Debug)]
pub(crate) struct StaticFlags {
    /// Count from the code, the launch and the arguments, without running the kernel
    #[arg(long = "static", conflicts_with_all = ["full", "cta"], help_heading = "Static counts")]
    is_static: bool,
    /// How often a loop is turned each time that it is reached, where data decide; LINE is one of the PTX or the source
    #[arg(
        long,
        value_name = "LINE=N",
        requires = "is_static",
        allow_hyphen_values = true,
        help_heading = "Static counts"
    )]
    trips: Vec<String>,
    /// Share of the executions in which a branch is taken or a guarded instruction takes effect, where data decide
    #[arg(
        long,
        value_name = "LINE=P",
        requires = "is_static",
        allow_hyphen_values = true,
        help_heading = "Static counts"
    )]
    prob: Vec<String>,
}

impl StaticFlags {
    /// What is said about loops and branches, if counts are to be made without a run.
    pub(crate) fn given(&self) -> Result<Option<Given>> {
        let parse = |flag: &str, texts: &[String]| {
            texts.iter().map(|text| parse_given(flag, text)).collect::<std::result::Result<Vec<_>, _>>()
        };
        let given = Given { trips: parse("--trips", &self.trips)?, probabilities: parse("--prob", &self.prob)? };
        Ok(self.is_static.then_some(given))
    }

    /// The flags that were given, as a user would type them.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.is_static.then(|| "--static".to_owned()).into_iter().collect();
        for (name, values) in [("--trips", &self.trips), ("--prob", &self.prob)] {
            words.extend(values.iter().flat_map(|value| [name.to_owned(), quoted(value)]));
        }
        words
    }
}

/// A count such as `1000000`, `1_000_000`, `1e6` or `1<<20`.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let digits = text.replace('_', "");
    if let Some((value, shift)) = digits.split_once("<<") {
        let shifted = value.parse::<u64>().ok().zip(shift.parse::<u32>().ok());
        let shifted = shifted.and_then(|(value, shift)| value.checked_mul(1u64.checked_shl(shift)?));
        return shifted.ok_or_else(|| "out of range".to_owned());
    }
    match digits.parse::<f64>() {
        Ok(number) if (1.0..1e19).contains(&number) && number.fract() == 0.0 => {
            Ok(digits.parse().unwrap_or(number as u64))
        }
        _ => Err("not a positive whole number".to_owned()),
    }
}
