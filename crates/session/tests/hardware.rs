//! What a GPU answers, against the emulator. Ignored where there is no GPU:
//!
//! `HARDWARE=FOLDER cargo test -p warplens-session --test hardware -- --ignored` runs the conformance kernels, the literate
//! cases and the probes of `validation/hardware/probes` on both, and writes `FOLDER/answers.txt`, a line per case, and
//! the buffers of the GPU where they are not those of the emulator. A GPU that has met an error answers nothing more, so
//! that the test ends then; run again it goes on behind the last line.
#![allow(clippy::unwrap_used, reason = "a test may stop where its data is not as it must be")]
#![allow(clippy::print_stderr, reason = "who measures wants to see how far it is")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use warplens_launch::Launch;
use warplens_session::hardware::{Gpu, OnGpu};
use warplens_session::{ExecutionOptions, Extent, Output, OutputRequest, Program, Progress, run};

#[path = "emulator/kernel_text.rs"]
mod kernel_text;

/// What is asked: a program and its launches.
struct Case {
    name: String,
    /// Cases of one program follow each other.
    program: String,
    ptx: String,
    launch: Table,
}

const NO_LAUNCH: [&str; 4] = ["ptx", "source", "stdout", "expect"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Launch files beside folders of PTX.
fn kernels(folder: &str, cc: u32, cases: &mut Vec<Case>) {
    let folder = root().join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut launch: Table = toml::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let targets: Vec<String> =
            launch["ptx"].as_array().unwrap().iter().map(|target| target.as_str().unwrap().to_owned()).collect();
        let source = launch.get("source").map_or(name.clone(), |source| source.as_str().unwrap().to_owned());
        NO_LAUNCH.iter().for_each(|key| drop(launch.remove(*key)));
        for target in targets {
            let number: u32 = target.trim_start_matches("sm_").trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
            let is_exact = target.ends_with('a');
            if number > cc || is_exact && number != cc {
                continue;
            }
            let places = [folder.join(&target), folder.join("ptx").join(&target)];
            let ptx = places.iter().find_map(|place| fs::read_to_string(place.join(&source).with_extension("ptx")).ok());
            let program = format!("{source}-{target}");
            let ptx = ptx.unwrap_or_else(|| panic!("{program} has no PTX"));
            cases.push(Case { name: format!("{name}-{target}"), program, ptx, launch: launch.clone() });
        }
    }
}

/// The literate cases that end well.
fn literate(cases: &mut Vec<Case>) {
    let mut files: Vec<PathBuf> =
        fs::read_dir(root().join("tests/exec")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        for case in warplens_literate::parse(&fs::read_to_string(&file).unwrap()).unwrap() {
            let Some(block) = case.block("ptx") else { continue };
            let ptx = kernel_text::module_text(&block.text);
            for (number, launch) in case.blocks_in("toml").enumerate() {
                let mut launch: Table = toml::from_str(&launch.text).unwrap();
                if ["error", "generation"].iter().any(|key| launch.contains_key(*key)) {
                    continue;
                }
                kernel_text::OUTCOMES.iter().for_each(|key| drop(launch.remove(*key)));
                launch.entry("grid").or_insert(Value::Integer(1));
                launch.entry("block").or_insert(Value::Integer(32));
                launch.entry("args").or_insert(Value::Array(vec!["u32[32]".into()]));
                let title: String =
                    case.title.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
                let program = format!("{stem}-{title}");
                cases.push(Case { name: format!("{program}-{number}"), program, ptx: ptx.clone(), launch });
            }
        }
    }
}

fn emulated(program: &Program, launches: &[Launch], outputs: &[Output]) -> Result<Vec<Output>, String> {
    let requests: Vec<OutputRequest> =
        outputs.iter().map(|output| OutputRequest { key: output.key.clone(), count: None }).collect();
    let options = ExecutionOptions { budget: 100_000_000, extent: Extent::Full, ..ExecutionOptions::new() };
    let result = run(program, launches, &requests, options, &Progress::default());
    result.map(|result| result.outputs).map_err(|error| error.message)
}

/// What differs, if anything does.
fn difference(of_gpu: &[Output], of_emulator: &[Output]) -> Option<String> {
    let mut text = String::new();
    for (gpu, emulator) in of_gpu.iter().zip(of_emulator) {
        let width = gpu.element.bytes();
        let pairs = || gpu.bytes.chunks_exact(width).zip(emulator.bytes.chunks_exact(width)).enumerate();
        let differing: Vec<_> = pairs().filter(|(_, (gpu, emulator))| gpu != emulator).collect();
        if differing.is_empty() {
            continue;
        }
        let hex = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
        write!(text, " argument {}: {} of {}", gpu.key, differing.len(), gpu.bytes.len() / width).unwrap();
        for (at, (gpu, emulator)) in differing.iter().take(6) {
            write!(text, ", [{at}] {} not {}", hex(gpu), hex(emulator)).unwrap();
        }
    }
    (!text.is_empty()).then_some(text)
}

#[test]
#[ignore = "needs a GPU"]
fn a_gpu_and_the_emulator_give_the_same_answers() {
    let folder = PathBuf::from(std::env::var("HARDWARE").expect("HARDWARE names the folder for the answers"));
    fs::create_dir_all(&folder).unwrap();
    let answers = folder.join("answers.txt");
    let known = fs::read_to_string(&answers).unwrap_or_default().lines().count();
    let mut log = fs::File::options().create(true).append(true).open(&answers).unwrap();
    let gpu = Gpu::open(0).unwrap_or_else(|error| panic!("{}", error.message));
    let cc = gpu.facts().cc;
    let mut cases = Vec::new();
    kernels("crates/exec/tests/data", cc, &mut cases);
    kernels("validation/hardware/probes", cc, &mut cases);
    literate(&mut cases);
    let mut programs: BTreeMap<&str, Result<Program, String>> = BTreeMap::new();
    let mut n_different = 0;
    for case in cases.iter().skip(known) {
        // The line stands before the GPU is asked, so that one that hangs is passed over.
        write!(log, "{}: ", case.name).unwrap();
        log.flush().unwrap();
        let program = programs.entry(&case.program).or_insert_with(|| {
            Program::from_ptx(&case.program, case.ptx.clone()).map_err(|error| error.message)
        });
        let answer = program.as_ref().map_err(Clone::clone).and_then(|program| {
            let launches = Launch::parse_file(&case.name, &toml::to_string(&case.launch).unwrap());
            let launches = launches.map_err(|error| error.message)?;
            let of_gpu = OnGpu::load(&gpu, program).and_then(|on_gpu| on_gpu.run(&launches));
            let of_gpu = of_gpu.map_err(|error| format!("{} {}", error.message, error.details.join("; ")))?;
            let of_emulator = emulated(program, &launches, &of_gpu).map_err(|error| format!("emulator: {error}"))?;
            let different = difference(&of_gpu, &of_emulator);
            if different.is_some() {
                n_different += 1;
                for output in &of_gpu {
                    fs::write(folder.join(format!("{}.{}.npy", case.name, output.key)), output.to_npy()).unwrap();
                }
            }
            Ok(different)
        });
        let line = match answer {
            Ok(None) => "same".to_owned(),
            Ok(Some(difference)) => format!("DIFFERENT{difference}"),
            Err(message) => format!("no answer: {}", message.replace('\n', " ")),
        };
        writeln!(log, "{line}").unwrap();
        log.flush().unwrap();
        if line.starts_with("no answer: the CUDA") && gpu.sm_mhz().is_err() {
            panic!("the GPU answers nothing more after {}; run again", case.name);
        }
    }
    assert_eq!(n_different, 0, "see {}", answers.display());
}
