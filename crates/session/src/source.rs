//! Where counts come from: a kernel that is executed, or a file that holds the counts of earlier launches.
//!
//! A script is a launch file whose launches name their inputs; it is given in place of an input. Launches of one input
//! run one after the other and share the device, as in a launch file; those of different inputs have nothing in common.

use std::path::Path;

use warplens_stats::{Count, Counting, RegistersBasis};

use crate::archive::{Archive, Archived};
use crate::execution::ExecutionOptions;
use crate::failure;
use crate::import;
use crate::input::{Input, InputKind, read_text};
use crate::measure::measure;
use crate::measurement::Measurement;
use crate::program::{Program, Targets};
use crate::progress::Progress;
use crate::toolchain::Search;
use warplens_base::error::{Error, Result};
use warplens_import::Shape;
use warplens_launch::{Launch, Script};

/// One input with what is to be known about it.
#[derive(Clone, Debug)]
pub enum Source {
    /// A program and its launches.
    Program {
        /// The program.
        program: Box<Program>,
        /// The launches, in order.
        launches: Vec<Launch>,
    },
    /// Launches that were kept, to be executed again.
    Archived(Vec<Archived>),
    /// Launches that were counted before.
    Counted(Vec<Measurement>),
}

/// What a user asks for.
#[derive(Clone, Debug)]
pub struct Request<'r> {
    /// A program, a profile in any form, or a script.
    pub input: &'r Input,
    /// The launch file.
    pub launch_file: Option<&'r str>,
    /// What goes over it.
    pub flags: Launch,
    /// What CUDA C++ is compiled for.
    pub targets: &'r Targets,
}

/// Reads everything that is needed before anything is executed.
pub fn load(request: &Request<'_>, search: &Search) -> Result<Vec<Source>> {
    let input = request.input;
    if input.kind == InputKind::Script {
        return script(request, search);
    }
    if input.kind == InputKind::Archive {
        return Ok(vec![archived(request)?]);
    }
    if input.kind.is_counted() {
        if let Some(file) = request.launch_file {
            return Err(Error::usage(format!(
                "{} is {}: its launch is known, and --launch {file} cannot change it",
                input.name,
                input.kind.name()
            )));
        }
        return Ok(vec![Source::Counted(counted(input, &request.flags)?)]);
    }
    let program = Program::load_for(input, request.targets, search)?;
    let launches = launches(request.launch_file, request.flags.clone())?;
    Ok(vec![Source::Program { program: Box::new(program), launches }])
}

/// The launches of a file, if one is given, with what the flags say put over them.
pub fn launches(file: Option<&str>, flags: Launch) -> Result<Vec<Launch>> {
    let Some(path) = file else { return Ok(vec![flags]) };
    let text = read_text(path, "launch file")?;
    Launch::parse_file_with(path, &text, flags)
}

/// Executes and counts what was not counted before. The order is that of the sources.
pub fn gather(
    sources: Vec<Source>,
    options: &ExecutionOptions,
    counting: Counting,
    search: &Search,
    progress: &Progress,
) -> Result<Vec<Measurement>> {
    let mut measurements = Vec::new();
    for source in sources {
        match source {
            Source::Program { program, launches } => {
                // What no argument can change is said before what is wrong with the arguments.
                if !options.allow_unsupported && options.statics.is_none() {
                    program.each().try_for_each(|program| failure::check_support(program, &launches))?;
                }
                measurements.extend(measure(&program, &launches, options.clone(), counting, search, progress)?);
            }
            Source::Archived(launches) => {
                for launch in launches {
                    measurements.extend(launch.measure(options, counting, search, progress)?);
                }
            }
            Source::Counted(counted) => measurements.extend(counted),
        }
    }
    Ok(measurements)
}

/// The launches of an archive that are asked for. Everything about them is known.
fn archived(request: &Request<'_>) -> Result<Source> {
    let Request { input, launch_file, flags, .. } = request;
    let kernel = flags.kernel.as_deref();
    if launch_file.is_some() || !(Launch { kernel: None, ..flags.clone() }).is_empty() {
        let what = format!("{} is {}: only -k chooses among them", input.name, input.kind.name());
        return Err(Error::usage(what));
    }
    let folder = input.path.as_deref().unwrap_or(Path::new(""));
    let archive = Archive::read(&folder.to_string_lossy(), folder, &input.text())?;
    Ok(Source::Archived(archive.launches(input.launch_number(), kernel)?))
}

fn script(request: &Request<'_>, search: &Search) -> Result<Vec<Source>> {
    let name = &request.input.name;
    if request.launch_file.is_some() || !request.flags.is_empty() {
        return Err(Error::usage(format!(
            "{name} is a script: its launches say everything, and flags cannot change them"
        )));
    }
    let folder = request.input.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let script = Script::parse(name, &request.input.text())?;
    let mut sources = Vec::new();
    for (path, launches) in script.by_input() {
        let input = Input::read(folder.join(&path))?;
        match input.kind {
            InputKind::Script => {
                return Err(Error::input(format!("{name}: {path} is a script, too; scripts do not nest")));
            }
            kind if kind.is_counted() => {
                for launch in &launches {
                    sources.push(Source::Counted(counted(&input, launch)?));
                }
            }
            _ => {
                let program = Box::new(Program::load_for(&input, request.targets, search)?);
                sources.push(Source::Program { program, launches });
            }
        }
    }
    Ok(sources)
}

/// The launches of a profile that are asked for, with what the flags may say about them.
fn counted(input: &Input, flags: &Launch) -> Result<Vec<Measurement>> {
    let name = &input.name;
    let fixed = |flag: &str| {
        Error::usage(format!("{name} is {}, counted before: {flag} cannot change it", input.kind.name()))
            .with_help("count the kernel again, or edit the profile")
    };
    if !flags.arguments.is_empty() || !flags.overrides.is_empty() {
        return Err(fixed("--arg"));
    }
    if !flags.symbols.is_empty() {
        return Err(fixed("--symbol"));
    }
    let shape = Shape { grid: flags.grid, block: flags.block };
    let measurements = import::read_with(input, &shape)?;
    let mut chosen = choose(input, measurements, flags.kernel.as_deref())?;
    for measurement in &mut chosen {
        let launch = measurement.profile.launch;
        let profile = &mut measurement.profile;
        if flags.grid.is_some_and(|grid| grid != profile.launch.grid) {
            return Err(fixed("--grid"));
        }
        if flags.block.is_some_and(|block| block != profile.launch.block) {
            return Err(fixed("--block"));
        }
        match flags.shared {
            Some(bytes) if profile.absent.remove(&Count::SharedBytes) => profile.launch.shared_bytes = bytes,
            Some(bytes) if bytes != profile.launch.shared_bytes => return Err(fixed("--shared")),
            _ => {}
        }
        if let Some(registers) = flags.registers {
            profile.launch.registers = registers;
            profile.launch.registers_basis = RegistersBasis::User;
            profile.absent.remove(&Count::Registers);
        }
        // What was recorded is machine code for so many registers, and blocks of as many as fit on an SM.
        let now = measurement.profile.launch;
        if (now.registers, now.shared_bytes) != (launch.registers, launch.shared_bytes) {
            measurement.outdate();
        }
    }
    Ok(chosen)
}

/// The launches of the kernel that `wanted` means. A saved profile is taken as a whole without a name; what a profiler
/// saw of a whole program needs one where there are several kernels.
fn choose(input: &Input, measurements: Vec<Measurement>, wanted: Option<&str>) -> Result<Vec<Measurement>> {
    let mut kernels: Vec<String> =
        measurements.iter().map(|measurement| measurement.kernel.demangled.clone()).collect();
    kernels.sort();
    kernels.dedup();
    let Some(wanted) = wanted else {
        if input.kind == InputKind::Profile || kernels.len() <= 1 {
            return Ok(measurements);
        }
        let error = Error::usage(format!(
            "{} holds {} kernels; choose with -k NAME, or -k regex:RE for several",
            input.name,
            kernels.len()
        ));
        return Err(kernels.iter().fold(error, Error::with_detail));
    };
    let mut chosen = Vec::new();
    for measurement in measurements {
        if measurement.kernel.matches(wanted)? {
            chosen.push(measurement);
        }
    }
    if chosen.is_empty() {
        let error = Error::input(format!("{} holds no kernel `{wanted}`", input.name));
        return Err(kernels.iter().fold(error, Error::with_detail));
    }
    Ok(chosen)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::generation::Generation;
    use crate::machines::Machine;
    use crate::toolchain::tests::{SCRIPTS, SOURCE, fake_nvcc, nowhere};
    use warplens_sim::traces::Traces;

    #[test]
    fn a_script_names_its_input_and_runs_no_command() {
        let _guard = SCRIPTS.lock();
        let root = tempfile::tempdir().unwrap();
        fake_nvcc(root.path(), "touch \"$(dirname \"$0\")/ran\"; sh -c \"true $*\"; exit 1");
        let search = Search { homes: vec![root.path().to_owned()], ..nowhere() };
        let name = "a$(touch Y).cu";
        std::fs::write(root.path().join(name), SOURCE).unwrap();
        let text = format!("[[launch]]\ninput = '{name}'\ngrid = 1\nblock = 1\n");
        let script = Input::new("s.toml", Some(root.path().join("s.toml")), text.into_bytes()).unwrap();
        let request = Request {
            input: &script,
            launch_file: None,
            flags: Default::default(),
            targets: &Targets::One("sm_80".to_owned()),
        };
        let error = load(&request, &search).unwrap_err();
        assert!(error.message.contains("could not compile"), "{}", error.message);
        assert!(root.path().join("bin/ran").exists() && !Path::new("Y").exists());
    }

    /// A kernel with as many additions as its target has the number of.
    const OWN_CODE: &str = r#"
for word; do case "$word" in -arch=sm_*) target=${word#-arch=};; esac; done
while [ "$1" != -o ]; do shift; done
{
    echo ".version 8.0"; echo ".target $target"; echo ".address_size 64"
    echo ".visible .entry twice(.param .u64 twice_param_0)"; echo "{"; echo ".reg .u32 %r<2>;"
    n=${target#sm_}
    while [ "$n" -gt 0 ]; do echo "add.u32 %r1, %r1, 1;"; n=$((n - 1)); done
    echo "ret;"; echo "}"
} > "$2"
"#;

    #[test]
    fn each_gpu_runs_the_code_that_it_would_run_alone() {
        let _guard = SCRIPTS.lock();
        let root = tempfile::tempdir().unwrap();
        fake_nvcc(root.path(), OWN_CODE);
        let search = Search { homes: vec![root.path().to_owned()], ..nowhere() };
        let input = Input::new("twice.cu", None, SOURCE.as_bytes().to_vec()).unwrap();
        let gpus = crate::machines::select("k40,rtx2080ti,a100-80,h200").unwrap();
        let additions = |gpu: &Machine| (10 * u64::from(gpu.cc.major) + u64::from(gpu.cc.minor)).max(75);
        let measured = |targets: &Targets| {
            let text = "grid = 2\nblock = 32\nargs = [\"f32[64]\"]\n";
            let flags = Launch::parse_file("launch", text).unwrap().remove(0);
            let request = Request { input: &input, launch_file: None, flags, targets };
            let options = ExecutionOptions {
                traced_for: gpus.clone(),
                generations: Generation::of_all(&gpus),
                ..ExecutionOptions::new()
            };
            let sources = load(&request, &search).unwrap();
            gather(sources, &options, Counting::Ptx, &search, &Progress::default()).unwrap().remove(0)
        };
        let all = measured(&Targets::of(&gpus));
        for gpu in &gpus {
            let alone = measured(&Targets::of(std::slice::from_ref(gpu)));
            let own = all.on(gpu).unwrap();
            assert_eq!(own.profile, alone.on(gpu).unwrap().profile, "{}", gpu.id);
            assert_eq!(own.profile.instructions.total, 2 * (additions(gpu) + 1), "{}", gpu.id);
            let Traces::Made(traced) = &own.traces else { panic!("nothing was recorded for {}", gpu.id) };
            assert!(traced.boards.contains_key(gpu.board()), "{}", gpu.id);
        }
        let one = measured(&Targets::One("sm_80".to_owned()));
        assert!(gpus.iter().all(|gpu| one.on(gpu).unwrap().profile.instructions.total == 162));
    }
}
