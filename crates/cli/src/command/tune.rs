//! `warplens tune INPUT...`: the fastest block size, grid, shared memory and macros.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use warplens_launch::Launch;
use warplens_question::tune::{self, GivenShape, LaunchTemplate, Request, Space, SpaceText, Text, Tuning};
use warplens_report::{document, view};
use warplens_session::machines;
use warplens_session::{Error, Generation, Input, InputKind, Targets, read_text};

use super::compare::parse_percent;
use super::{Document, Outcome, picture};
use crate::ask::ModelFlags;
use crate::flags::{ArgumentFlags, ExecutionFlags, ExtentFlags, OutputFlags, targets};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct TuneFlags {
    /// PTX or CUDA C++; several are variants to choose from
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
    /// Kernel, by its mangled or demangled name, or by a pattern; several of one input are variants
    #[arg(short, long = "kernel", value_name = "NAME|regex:RE", help_heading = "Launch")]
    kernels: Vec<String>,
    /// Arguments, and the shape of what is not searched
    #[arg(long, value_name = "FILE.toml", help_heading = "Launch")]
    launch: Option<String>,
    #[command(flatten)]
    arguments: ArgumentFlags,
    /// A number with a name, for the expressions: n=1<<20
    #[arg(long = "let", value_name = "NAME=NUMBER", help_heading = "Search space")]
    lets: Vec<String>,
    /// Block sizes: 64,128 or 16x16,32x8, a range 32..1024*2 or 32..1024:32, or expressions
    #[arg(long, value_name = "LIST", help_heading = "Search space")]
    block: Vec<String>,
    /// Threads along the block's x axis: a list of numbers, ranges and expressions
    #[arg(long, value_name = "LIST", help_heading = "Search space")]
    block_x: Vec<String>,
    /// Threads along the block's y axis
    #[arg(long, value_name = "LIST", help_heading = "Search space")]
    block_y: Vec<String>,
    /// Threads along the block's z axis
    #[arg(long, value_name = "LIST", help_heading = "Search space")]
    block_z: Vec<String>,
    /// Blocks of the grid, such as 'ceil(n/block.x)'; again for another mapping. Else as many threads as the launch has
    #[arg(long, value_name = "X[,Y[,Z]]", allow_hyphen_values = true, help_heading = "Search space")]
    grid: Vec<String>,
    /// Bytes of dynamic shared memory, such as '4*block.x'; a list of expressions
    #[arg(long, value_name = "LIST", allow_hyphen_values = true, help_heading = "Search space")]
    shared: Vec<String>,
    /// Values of a macro of a .cu file: TILE=8,16,32
    #[arg(long = "macro", value_name = "NAME=LIST", help_heading = "Search space")]
    macros: Vec<String>,
    /// Leave points out where this does not hold: 'block.x*block.y <= 512'
    #[arg(long = "constraint", value_name = "EXPR", allow_hyphen_values = true, help_heading = "Search space")]
    constraints: Vec<String>,
    /// The same things in a file; flags go over it
    #[arg(long, value_name = "FILE.toml", help_heading = "Search space")]
    space: Option<PathBuf>,
    /// Evaluate at most this many points; all up to 10000 unless given, else 1000
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Search")]
    points: Option<u32>,
    /// Compare the outputs of all points with those of the first
    #[arg(long, help_heading = "Search")]
    check: bool,
    /// Difference of floats, as a share of the largest value, up to which outputs are the same
    #[arg(long, value_name = "SHARE", default_value_t = 1e-4, requires = "check", help_heading = "Search")]
    tolerance: f64,
    /// Points that are slower than the best by at most this may be tied with it
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent, help_heading = "Search")]
    band: f64,
    #[command(flatten)]
    model: ModelFlags,
    /// Draw a picture to the file of -o; the result goes to standard output
    #[arg(long, value_enum, value_name = "KIND", help_heading = "Output")]
    plot: Option<Plot>,
    #[command(flatten)]
    execution: ExecutionFlags,
    #[command(flatten)]
    extent: ExtentFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum Plot {
    /// Time of each point: block sizes to the right, everything else downwards
    Heat,
}

pub(crate) fn run(flags: &TuneFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    // What was asked for is checked before anything takes time.
    let machines = machines::select(&flags.model.gpu)?;
    let (choice, options) = flags.model.choice()?;
    if flags.plot.is_some() {
        picture::check(flags.output.output.as_deref())?;
    }
    if !(flags.tolerance.is_finite() && flags.tolerance >= 0.0) {
        return Err(Error::usage(format!("--tolerance {}: write a share such as 1e-4", flags.tolerance)).into());
    }
    let mut execution = flags.execution.options(threads)?;
    execution.extent = flags.extent.extent()?;
    execution.generations = Generation::of_all(&machines);
    execution.traced_for = choice.traced(&machines);
    let text = flags.space_text()?;
    let launch = flags.launch()?;
    let inputs: Vec<Input> = flags.inputs.iter().map(Input::read).collect::<Result<_, _>>()?;
    let (names, variants) = flags.variants()?;
    if let Some(twice) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        return Err(Error::usage(format!("`{}` is given twice", names[twice])).into());
    }
    let given = GivenShape { grid: launch.grid, block: launch.block, shared: launch.shared };
    let several_kernels = flags.kernels.len() > 1;
    let space = Space::new(&text, &names, given)?.of_variants(if several_kernels { "kernel" } else { "input" });
    if space.n_points() == 1 {
        return Err(Error::usage("there is nothing to search: one point is all there is")
            .with_help("give several values to --block, --grid, --shared or --macro, or several inputs")
            .into());
    }
    let targets = targets(flags.arguments.target.as_deref(), &machines);
    say_shared(&targets, &inputs, terminal);
    let request = Request {
        inputs: &inputs,
        variants: variants.into_iter().map(|(input, kernel)| (input, kernel.or(launch.kernel.clone()))).collect(),
        target: targets.first(),
        launch: LaunchTemplate::new(launch, &flags.arguments.arguments)?,
        space,
        machines,
        choice,
        options,
        execution,
        most_points: flags.points.map(|points| points as usize),
        check: flags.check.then_some(flags.tolerance),
        band: flags.band,
    };
    let search = flags.arguments.compiler.search()?;
    let tuning = terminal.with_progress_of("points", |progress| tune::tune(&request, &search, progress))?;
    write(flags, &tuning, terminal)?;
    if tuning.candidates.iter().all(|candidate| candidate.result.is_err()) {
        terminal.message("no point can be launched");
        return Ok(Outcome::NoAnswer);
    }
    Ok(Outcome::of_models(tuning.has_answer(), terminal))
}

/// Says so where GPUs share the code that CUDA C++ was compiled to for the oldest of them.
fn say_shared(targets: &Targets, inputs: &[Input], terminal: &Terminal) {
    let is_compiled = inputs.iter().any(|input| input.kind == InputKind::CudaSource);
    if is_compiled && matches!(targets, Targets::Own(several) if several.len() > 1) {
        let oldest = targets.first();
        terminal.message(&format!(
            "all GPUs run code for {oldest}, the oldest of them: tuned alone, each has code of its own; --target chooses one"
        ));
    }
}

fn write(flags: &TuneFlags, tuning: &Tuning, terminal: &Terminal) -> Result<()> {
    let sections = || view::tune::ranking(tuning, terminal.detail());
    let tables = || vec![view::tune::rows(tuning)];
    let json = || document::value(&document::tune::document(tuning));
    let document = Document { title: "Tuning", sections: &sections, tables: &tables, json: &json };
    let (Some(Plot::Heat), Some(path)) = (flags.plot, flags.output.output.as_deref()) else {
        return document.write(&flags.output, terminal);
    };
    match view::tune::heat_map(tuning) {
        Some(figure) => picture::write(&figure, path, terminal)?,
        None => terminal.message("--plot heat: there is nothing to draw: no point has a time"),
    }
    document.write(&flags.output.to_stdout(), terminal)
}

impl TuneFlags {
    /// Names of the variants, and the input and kernel of each.
    fn variants(&self) -> Result<(Vec<String>, Vec<VariantSource>)> {
        if self.kernels.len() < 2 {
            let kernel = self.kernels.first();
            return Ok((names(&self.inputs), (0..self.inputs.len()).map(|at| (at, kernel.cloned())).collect()));
        }
        if self.inputs.len() > 1 {
            return Err(Error::usage("several inputs and several kernels: variants are either inputs or kernels")
                .with_help("give one -k for all inputs, or one input")
                .into());
        }
        let variants = self.kernels.iter().map(|kernel| (0, Some(kernel.clone()))).collect();
        Ok((self.kernels.clone(), variants))
    }

    /// The search space of the file and the flags.
    fn space_text(&self) -> Result<SpaceText> {
        let texts = |flag: &str, values: &[String]| values.iter().map(|value| Text::new(flag, value)).collect();
        let flags = SpaceText {
            lets: texts("--let", &self.lets),
            macros: texts("--macro", &self.macros),
            block: texts("--block", &self.block),
            axes: [
                texts("--block-x", &self.block_x),
                texts("--block-y", &self.block_y),
                texts("--block-z", &self.block_z),
            ],
            grid: texts("--grid", &self.grid),
            shared: texts("--shared", &self.shared),
            constraints: texts("--constraint", &self.constraints),
        };
        let Some(path) = &self.space else { return Ok(flags) };
        let text = read_text(path, "search-space file")?;
        Ok(SpaceText::parse_file(&path.to_string_lossy(), &text)?.overridden_by(flags))
    }

    /// The launch of the file, with the flags over it; arguments are added point by point.
    fn launch(&self) -> Result<Launch> {
        let mut flags = Launch { kernel: self.kernels.first().cloned(), ..Launch::default() };
        self.arguments.fill(&mut flags)?;
        let mut launches = warplens_session::source::launches(self.launch.as_deref(), flags)?;
        let launch = launches.pop().context("a launch file holds a launch")?;
        if !launches.is_empty() {
            let message = format!("a search is of one launch, and the file holds {}", launches.len() + 1);
            return Err(Error::usage(message).into());
        }
        Ok(launch)
    }
}

/// Position of the input, and the kernel.
type VariantSource = (usize, Option<String>);

/// Inputs by the ends of their paths, as long as they have to be to differ.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &PathBuf, count: usize| {
        let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        parts[parts.len().saturating_sub(count)..].join("/")
    };
    let longest = paths.iter().map(|path| path.iter().count()).max().unwrap_or(1);
    let differ = |count: &usize| {
        let mut names: Vec<String> = paths.iter().map(|path| last(path, *count)).collect();
        names.sort();
        names.dedup();
        names.len() == paths.len()
    };
    let count = (1..=longest).find(differ).unwrap_or(longest);
    paths.iter().map(|path| last(path, count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_called_by_the_ends_that_differ() {
        let of = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(of(&["a/b/k.ptx"]), ["k.ptx"]);
        assert_eq!(of(&["x/a/k.ptx", "x/b/k.ptx"]), ["a/k.ptx", "b/k.ptx"]);
        assert_eq!(of(&["k.ptx", "k.ptx"]), ["k.ptx", "k.ptx"]);
    }
}
