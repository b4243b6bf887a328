//! Inputs side by side: what each is called, which kernel and launch it means, and its counts.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;
use warplens_base::quoted;
use warplens_launch::{Extents, Launch, parse_extents};
use warplens_question::compare::{self, Variant};
use warplens_serve::Words;
use warplens_session::machines::Machine;
use warplens_session::profile::{Counting, LaunchShape};
use warplens_session::source::Source;
use warplens_session::{Error, ExecutionOptions, Input, Measurement, Program};

use crate::flags::{ArgumentFlags, ExecutionFlags, ExtentFlags, gather};
use crate::terminal::Terminal;

/// Several inputs, kernels, launches or blocks.
#[derive(Args, Debug)]
pub(crate) struct VariantFlags {
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
}

/// How the inputs are executed.
pub(crate) struct Execution<'f> {
    pub(crate) flags: &'f ExecutionFlags,
    pub(crate) extent: &'f ExtentFlags,
    pub(crate) options: &'f ExecutionOptions,
    pub(crate) machines: &'f [Machine],
}

/// A measured variant, with what it was made of.
pub(crate) struct MeasuredVariant {
    pub(crate) variant: Variant,
    /// The program; none where the counts come from a file.
    pub(crate) program: Option<Box<Program>>,
    /// The file that was read.
    pub(crate) input: PathBuf,
    /// The input and its launch, as a user would type them.
    pub(crate) words: Words,
}

/// One variant as the command line says it.
#[derive(Debug)]
struct Wanted {
    /// Given, or made of the input's name.
    name: Option<String>,
    input: String,
    kernel: Option<String>,
    launch: Option<String>,
}

/// What the command line says, read before anything takes time.
#[derive(Debug)]
pub(crate) struct Asked {
    wanted: Vec<Wanted>,
    names: Vec<String>,
    blocks: Vec<Option<Extents>>,
}

/// The counts of a launch, before it has a name of its own.
struct Counted<'w> {
    wanted: &'w Wanted,
    /// That of all launches of the variant.
    name: String,
    block: Option<Extents>,
    measurement: Measurement,
    program: Option<Box<Program>>,
}

impl VariantFlags {
    /// Reads what is asked for.
    pub(crate) fn asked(&self) -> Result<Asked> {
        let (blocks, wanted) = (self.blocks()?, self.wanted()?);
        let names = names(&wanted);
        compare::check_names(&names)?;
        Ok(Asked { wanted, names, blocks })
    }

    /// Executes and counts everything.
    pub(crate) fn measure(
        &self,
        asked: &Asked,
        how: &Execution<'_>,
        terminal: &Terminal,
    ) -> Result<Vec<MeasuredVariant>> {
        let mut counted = Vec::new();
        for (wanted, name) in asked.wanted.iter().zip(&asked.names) {
            let input = Input::read(&wanted.input)?;
            let (file, over) = (wanted.launch.as_deref(), self.over(wanted)?);
            let sources = self.arguments.sources(&input, file, over, how.machines, terminal)?;
            for &block in &asked.blocks {
                let sources: Vec<Source> =
                    sources.iter().map(|source| self.shaped(source, block)).collect::<Result<_>>()?;
                let programs: Vec<_> = sources.iter().flat_map(programs).collect();
                let measurements = gather(sources, how.flags, how.extent, how.options, Counting::Ptx, terminal)?;
                counted.extend(measurements.into_iter().zip(programs).map(|(measurement, program)| Counted {
                    wanted,
                    name: name.clone(),
                    block,
                    measurement,
                    program,
                }));
            }
        }
        let names = names_of_launches(&counted);
        let variants = counted.into_iter().zip(names).map(|(counted, name)| MeasuredVariant {
            words: self.words(counted.wanted, counted.block.map(|_| counted.measurement.profile.launch)),
            input: PathBuf::from(&counted.wanted.input),
            program: counted.program,
            variant: Variant { name, block: counted.block, measurement: counted.measurement },
        });
        Ok(variants.collect())
    }

    /// The input and the launch of a variant, as a user would type them. `shape` is that of a variant whose block is
    /// another than the launch says.
    fn words(&self, wanted: &Wanted, shape: Option<LaunchShape>) -> Words {
        let extents = |of: fn(&LaunchShape) -> Extents, given: &Option<String>| {
            let shaped = shape.as_ref().map(|shape| of(shape).map(|extent| extent.to_string()).join(","));
            shaped.or_else(|| given.clone())
        };
        let joined = |options: &[(&str, Option<String>)], more: Vec<String>| {
            let given = options.iter().filter_map(|(flag, value)| Some(format!("{flag} {}", quoted(value.as_ref()?))));
            given.chain(more).collect::<Vec<_>>().join(" ")
        };
        let own = [("-k", wanted.kernel.clone()), ("--launch", wanted.launch.clone())];
        let common = [
            ("--grid", extents(|shape| shape.grid, &self.grid)),
            ("--block", extents(|shape| shape.block, &self.block)),
            ("--shared", self.shared.clone()),
        ];
        let common = joined(&common, self.arguments.words());
        let alone = [quoted(&wanted.input), joined(&own, Vec::new()), common.clone()];
        let alone: Vec<String> = alone.into_iter().filter(|words| !words.is_empty()).collect();
        let name = wanted.name.as_ref().map_or_else(String::new, |name| format!("{name}="));
        let launch = wanted.launch.as_ref().map_or_else(String::new, |launch| format!("@{launch}"));
        Words {
            alone: alone.join(" "),
            item: quoted(&format!("{name}{}{launch}", wanted.input)),
            kernel: wanted.kernel.clone(),
            common,
        }
    }

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
            Source::Counted(_) | Source::Archived(_) if block.is_some() || self.shared.is_some() => {
                let flag = if block.is_some() { "--blocks" } else { "--shared" };
                let message = format!("{flag} cannot change launches that were counted before or kept");
                Err(Error::usage(message).into())
            }
            Source::Counted(_) | Source::Archived(_) => Ok(source.clone()),
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

/// The program of each launch of a source.
fn programs(source: &Source) -> Vec<Option<Box<Program>>> {
    match source {
        Source::Program { program, launches } => launches.iter().map(|_| Some(program.clone())).collect(),
        Source::Counted(measurements) => measurements.iter().map(|_| None).collect(),
        Source::Archived(launches) => launches.iter().map(|_| None).collect(),
    }
}

/// What each launch is called. One input that the user gave no name is called by its kernel; several launches of one
/// input are called by their kernels, and by their numbers where these are the same.
fn names_of_launches(counted: &[Counted<'_>]) -> Vec<String> {
    let is_one = counted.iter().all(|of| std::ptr::eq(of.wanted, counted[0].wanted));
    let base = |at: usize| counted[at].measurement.kernel.base();
    let siblings = |at: usize| {
        let of = |own: &usize| counted[*own].name == counted[at].name && counted[*own].block == counted[at].block;
        (0..counted.len()).filter(of).collect::<Vec<usize>>()
    };
    let name = |at: usize| {
        let Counted { wanted, name, .. } = &counted[at];
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
    (0..counted.len()).map(name).collect()
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
