//! `warplens compare INPUT...`: kernels, variants and GPUs side by side, and what makes the difference.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use warplens_launch::{Extents, Launch, parse_extents};
use warplens_question::compare::{self, CompareOptions, Comparison, MeasuredTimes, Variant};
use warplens_question::gate::Judgement;
use warplens_report::{document, view};
use warplens_session::machines::{self, Machine};
use warplens_session::profile::Counting;
use warplens_session::source::Source;
use warplens_session::{Error, ExecutionOptions, Generation, Input, Measurement};

use super::{Document, Outcome, picture};
use crate::ask::ModelFlags;
use crate::flags::{ArgumentFlags, ExecutionFlags, ExtentFlags, OutputFlags, gather};
use crate::review::{Review, ReviewFlags, Writes};
use crate::terminal::Terminal;

#[derive(Args, Debug)]
pub(crate) struct CompareFlags {
    /// PTX, CUDA C++, profiles or scripts, each perhaps with a name and a launch file; of one input, several kernels,
    /// launches, blocks or GPUs are compared
    #[arg(value_name = "[NAME=]INPUT[@LAUNCH.toml]", required = true)]
    inputs: Vec<String>,
    /// Kernel: one for all inputs, or one for each; several of one input are compared
    #[arg(short, long = "kernel", value_name = "NAME|regex:RE", help_heading = "Launch")]
    kernels: Vec<String>,
    /// Launch file: one for all inputs, or one for each; several of one input are compared
    #[arg(long = "launch", value_name = "FILE.toml", help_heading = "Launch")]
    launches: Vec<String>,
    /// Blocks per axis
    #[arg(long, value_name = "X[,Y[,Z]]", allow_negative_numbers = true, help_heading = "Launch")]
    grid: Option<String>,
    /// Threads per block and axis
    #[arg(long, value_name = "X[,Y[,Z]]", allow_negative_numbers = true, help_heading = "Launch")]
    block: Option<String>,
    /// Compare every variant at these block sizes; without --grid the threads of each axis stay
    #[arg(long, value_name = "XxY,...", conflicts_with = "block", help_heading = "Launch")]
    blocks: Option<String>,
    /// Bytes of dynamic shared memory per block, or an expression such as 16*block.x
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, help_heading = "Launch")]
    shared: Option<String>,
    #[command(flatten)]
    arguments: ArgumentFlags,
    #[command(flatten)]
    model: ModelFlags,
    /// What the others are compared with: the name of a variant or a GPU; the first unless given
    #[arg(long, value_name = "NAME", help_heading = "Comparison")]
    baseline: Option<String>,
    /// Times that differ by less than this are equal
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = parse_percent, help_heading = "Comparison")]
    band: f64,
    /// Times from hardware: columns variant, time_us, and where needed gpu and block
    #[arg(long, value_name = "FILE.csv", help_heading = "Comparison")]
    measured: Option<PathBuf>,
    #[command(flatten)]
    review: ReviewFlags,
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
    /// Each variant against each other: faster, equal, slower
    Sign,
    /// Time of each variant by block size, or by GPU
    Heat,
    /// Speed-up beside the number of instructions
    Instructions,
    /// Speed-up beside the number of memory requests
    Memory,
}

impl Plot {
    const fn name(self) -> &'static str {
        match self {
            Self::Sign => "sign",
            Self::Heat => "heat",
            Self::Instructions => "instructions",
            Self::Memory => "memory",
        }
    }
}

/// One variant as the command line says it.
struct Wanted {
    /// Given, or made of the input's name.
    name: Option<String>,
    input: String,
    kernel: Option<String>,
    launch: Option<String>,
}

pub(crate) fn run(flags: &CompareFlags, threads: Option<u32>, terminal: &Terminal) -> Result<Outcome> {
    // What was asked for is checked before anything takes time.
    let machines = machines::select(&flags.model.gpu)?;
    let (choice, options) = flags.model.choice()?;
    if flags.plot.is_some() {
        picture::check(flags.output.output.as_deref())?;
    }
    let review = flags.review.review(Writes::default())?;
    let blocks = flags.blocks()?;
    let measured = flags.measured.as_deref().map(read_measured).transpose()?;
    let wanted = flags.wanted()?;
    let names = names(&wanted);
    compare::check_names(&names)?;
    let mut execution = flags.execution.options(threads)?;
    execution.extent = flags.extent.extent()?;
    execution.traced_for = choice.traced(&machines);
    execution.generations = Generation::of_all(&machines);
    let mut variants = Vec::new();
    for (wanted, name) in wanted.iter().zip(&names) {
        for (block, measurement) in flags.measure(wanted, &blocks, &machines, &execution, terminal)? {
            variants.push((wanted, name.clone(), block, measurement));
        }
    }
    let variants = named(variants);
    if variants.len() == 1 && machines.len() == 1 {
        return Err(Error::usage("one variant on one GPU has nothing to be compared with")
            .with_help("give several inputs, several -k or --launch, --blocks, or several GPUs with --gpu a,b")
            .into());
    }
    let how = CompareOptions { choice, options, baseline: flags.baseline.clone(), band: flags.band, measured };
    let comparison = compare::compare(variants, machines, &how)?;
    let judgement = review.judge(&document::gated::of_comparison(&document::compare::document(&comparison)))?;
    write(flags, &comparison, (&review, &judgement), terminal)?;
    match Outcome::of_models(comparison.has_answer(), terminal) {
        Outcome::Done => Ok(review.outcome(&judgement, terminal)),
        other => Ok(other),
    }
}

fn write(
    flags: &CompareFlags,
    comparison: &Comparison,
    (review, judgement): (&Review<'_>, &Judgement),
    terminal: &Terminal,
) -> Result<()> {
    let sections = || {
        let judged = review.sections(judgement);
        judged.into_iter().chain(view::compare::comparison(comparison, terminal.detail())).collect()
    };
    let tables = || vec![view::compare::rows(comparison)];
    let json = || document::value(&document::compare::document(comparison));
    let document = Document { title: "Comparison", sections: &sections, tables: &tables, json: &json };
    let (Some(plot), Some(path)) = (flags.plot, flags.output.output.as_deref()) else {
        return review.write(&document, None, &flags.output, terminal);
    };
    match view::compare::figure(comparison, plot.name()) {
        Some(figure) => picture::write(&figure, path, terminal)?,
        None => {
            let why = match plot {
                Plot::Sign => "a sign plot needs two variants",
                _ => "no variant has a time",
            };
            return Err(Error::usage(format!("--plot {}: there is nothing to draw: {why}", plot.name())).into());
        }
    }
    review.write(&document, None, &flags.output.to_stdout(), terminal)
}

impl CompareFlags {
    fn blocks(&self) -> Result<Vec<Option<Extents>>> {
        let Some(list) = &self.blocks else { return Ok(vec![None]) };
        let mut blocks = Vec::new();
        for item in list.split(',') {
            let block = Some(parse_extents("--blocks", item.trim())?);
            if blocks.contains(&block) {
                return Err(Error::usage(format!("--blocks {list}: {item} is given twice")).into());
            }
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// The variants: inputs with their kernels and launches.
    fn wanted(&self) -> Result<Vec<Wanted>> {
        let parts: Vec<(Option<String>, String, Option<String>)> = self.inputs.iter().map(|text| parts(text)).collect();
        let own_launches = parts.iter().filter(|(.., launch)| launch.is_some()).count();
        if own_launches > 0 && self.launches.len() > 1 {
            return Err(Error::usage("say the launches with --launch or with INPUT@LAUNCH.toml, not with both").into());
        }
        // One input is repeated for several kernels or launches of it.
        let count = parts.len().max(self.kernels.len()).max(self.launches.len());
        let matched = |what: &str, own: usize| match own {
            0 | 1 => Ok(()),
            own if own == count => Ok(()),
            own => Err(Error::usage(format!("{own} {what} cannot be matched with {count} variants"))
                .with_help("give one for all, or one for each in their order")),
        };
        matched("inputs", parts.len())?;
        matched("--kernel", self.kernels.len())?;
        matched("--launch", self.launches.len())?;
        let nth = |list: &[String], at: usize| list.get(if list.len() == 1 { 0 } else { at }).cloned();
        let variant = |at: usize| {
            let (name, input, launch) = parts[if parts.len() == 1 { 0 } else { at }].clone();
            let launch = launch.or_else(|| nth(&self.launches, at));
            Wanted { name, input, kernel: nth(&self.kernels, at), launch }
        };
        Ok((0..count).map(variant).collect())
    }

    /// The counts of a variant at every block.
    fn measure(
        &self,
        wanted: &Wanted,
        blocks: &[Option<Extents>],
        machines: &[Machine],
        options: &ExecutionOptions,
        terminal: &Terminal,
    ) -> Result<Vec<(Option<Extents>, Measurement)>> {
        let input = Input::read(&wanted.input)?;
        let sources =
            self.arguments.sources(&input, wanted.launch.as_deref(), self.over(wanted)?, machines, terminal)?;
        let mut measured = Vec::new();
        for &block in blocks {
            let sources = sources.iter().map(|source| self.shaped(source, block)).collect::<Result<_>>()?;
            let measurements = gather(sources, &self.execution, &self.extent, options, Counting::Ptx, terminal)?;
            measured.extend(measurements.into_iter().map(|measurement| (block, measurement)));
        }
        Ok(measured)
    }

    /// The source with another block, and with the shared memory that the flags say.
    fn shaped(&self, source: &Source, block: Option<Extents>) -> Result<Source> {
        let shape = |launch: &Launch| -> Result<Launch> {
            let mut launch = match block {
                Some(block) => compare::with_block(launch, block, self.grid.is_some())?,
                None => launch.clone(),
            };
            if let Some(text) = &self.shared {
                launch.shared = Some(compare::shared_bytes(text, &launch)?);
            }
            Ok(launch)
        };
        match source {
            Source::Program { program, launches } => {
                let launches = launches.iter().map(shape).collect::<Result<_>>()?;
                Ok(Source::Program { program: program.clone(), launches })
            }
            Source::Counted(_) if block.is_some() || self.shared.is_some() => {
                let flag = if block.is_some() { "--blocks" } else { "--shared" };
                let message = format!("{flag} cannot change launches that were counted before");
                Err(Error::usage(message).into())
            }
            Source::Counted(_) => Ok(source.clone()),
        }
    }

    /// What the flags say over the launch file of a variant.
    fn over(&self, wanted: &Wanted) -> Result<Launch> {
        let extents =
            |flag: &str, text: &Option<String>| text.as_ref().map(|text| parse_extents(flag, text)).transpose();
        let mut flags = Launch {
            kernel: wanted.kernel.clone(),
            grid: extents("--grid", &self.grid)?,
            block: extents("--block", &self.block)?,
            ..Launch::default()
        };
        self.arguments.fill(&mut flags)?;
        self.arguments.arguments.iter().try_for_each(|text| flags.add_argument(text))?;
        Ok(flags)
    }
}

/// Name, input and launch file of `[NAME=]INPUT[@LAUNCH.toml]`. A file of that very name comes first.
fn parts(text: &str) -> (Option<String>, String, Option<String>) {
    if Path::new(text).exists() {
        return (None, text.to_owned(), None);
    }
    let is_name = |name: &str| !name.is_empty() && !name.contains(['/', '\\']);
    let (name, rest) = match text.split_once('=').filter(|(name, _)| is_name(name)) {
        Some((name, rest)) => (Some(name.to_owned()), rest),
        None => (None, text),
    };
    match rest.rsplit_once('@').filter(|(input, launch)| !input.is_empty() && launch.ends_with(".toml")) {
        Some((input, launch)) => (name, input.to_owned(), Some(launch.to_owned())),
        None => (name, rest.to_owned(), None),
    }
}

/// What a variant could be called.
type NameOf<'n> = dyn Fn(&Wanted) -> Option<String> + 'n;

/// What each variant is called: as the user says, else by what tells it apart: kernel, input, launch file.
fn names(wanted: &[Wanted]) -> Vec<String> {
    let stem =
        |path: &str| Path::new(path).file_stem().map_or(path.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let differ = |of: &NameOf<'_>| {
        let mut all: Vec<Option<String>> = wanted.iter().map(of).collect();
        all.sort();
        all.dedup();
        all.len() == wanted.len() && all.iter().all(Option::is_some)
    };
    let candidates: [&NameOf<'_>; 4] = [
        &|wanted| wanted.kernel.clone(),
        &|wanted| Some(stem(&wanted.input)),
        &|wanted| wanted.launch.as_deref().map(stem),
        // The folder tells files of one name apart.
        &|wanted| {
            let folder = Path::new(&wanted.input).parent()?;
            let target = folder.file_name()?.to_string_lossy().into_owned();
            let above = folder.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            Some(if target == "ptx" { above? } else { target })
        },
    ];
    let best = candidates.iter().find(|candidate| differ(candidate));
    let automatic = |own: &Wanted| match best {
        Some(name) => name(own).unwrap_or_default(),
        None if wanted.len() == 1 => stem(&own.input),
        None => own.input.clone(),
    };
    wanted.iter().map(|own| own.name.clone().unwrap_or_else(|| automatic(own))).collect()
}

/// Variants with their names. One input that the user gave no name is called by its kernel; several launches of one
/// input are called by their kernels, and by their numbers where these are the same.
fn named(measured: Vec<(&Wanted, String, Option<Extents>, Measurement)>) -> Vec<Variant> {
    let is_one = measured.iter().all(|(wanted, ..)| std::ptr::eq(*wanted, measured[0].0));
    let base = |at: usize| measured[at].3.kernel.base();
    let siblings = |at: usize| {
        let of = |own: &usize| measured[*own].1 == measured[at].1 && measured[*own].2 == measured[at].2;
        (0..measured.len()).filter(of).collect::<Vec<usize>>()
    };
    let name = |at: usize| {
        let (wanted, name, ..) = &measured[at];
        let siblings = siblings(at);
        let number = siblings.iter().position(|own| *own == at).unwrap_or(0);
        let by_kernel = siblings.iter().all(|own| *own == at || base(*own) != base(at));
        match (siblings.len(), by_kernel) {
            (1, _) if is_one && wanted.name.is_none() => base(at).to_owned(),
            (1, _) => name.clone(),
            (_, true) if is_one => base(at).to_owned(),
            (_, true) => format!("{name}:{}", base(at)),
            (_, false) => format!("{name}:{number}"),
        }
    };
    let names: Vec<String> = (0..measured.len()).map(name).collect();
    let variants = measured.into_iter().zip(names);
    variants.map(|((_, _, block, measurement), name)| Variant { name, block, measurement }).collect()
}

fn read_measured(path: &Path) -> Result<MeasuredTimes> {
    let input = Input::read(path)?;
    Ok(MeasuredTimes::parse(&input.name, &input.text())?)
}

/// A percentage as a fraction.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim().parse().ok();
    match number.filter(|number| number.is_finite() && *number >= 0.0) {
        Some(number) => Ok(number / 100.0),
        None => Err("write a percentage, such as 10".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_may_have_a_name_and_a_launch() {
        let own = |text| {
            let (name, input, launch) = parts(text);
            (name.unwrap_or_default(), input, launch.unwrap_or_default())
        };
        let expected = |name: &str, input: &str, launch: &str| (name.to_owned(), input.to_owned(), launch.to_owned());
        assert_eq!(own("k.ptx"), expected("", "k.ptx", ""));
        assert_eq!(own("a=k.ptx@l.toml"), expected("a", "k.ptx", "l.toml"));
        assert_eq!(own("dir/a=b.ptx"), expected("", "dir/a=b.ptx", ""));
        assert_eq!(own("k@home.ptx"), expected("", "k@home.ptx", ""));
    }

    #[test]
    fn variants_are_called_by_what_tells_them_apart() {
        let wanted = |input: &str, kernel: Option<&str>, launch: Option<&str>| Wanted {
            name: None,
            input: input.to_owned(),
            kernel: kernel.map(str::to_owned),
            launch: launch.map(str::to_owned),
        };
        let of = |list: &[Wanted]| names(list);
        assert_eq!(of(&[wanted("a.ptx", None, None), wanted("b.ptx", None, None)]), ["a", "b"]);
        assert_eq!(of(&[wanted("a.ptx", Some("f"), None), wanted("a.ptx", Some("g"), None)]), ["f", "g"]);
        let launches = [wanted("a.ptx", None, Some("x/small.toml")), wanted("a.ptx", None, Some("x/large.toml"))];
        assert_eq!(of(&launches), ["small", "large"]);
        let examples = [wanted("e/naive/ptx/sm_80.ptx", None, None), wanted("e/tiled/ptx/sm_80.ptx", None, None)];
        assert_eq!(of(&examples), ["naive", "tiled"]);
        assert_eq!(of(&[wanted("a.ptx", None, None), wanted("a.ptx", None, None)]), ["a.ptx", "a.ptx"]);
    }
}
