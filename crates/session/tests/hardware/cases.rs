//! What a GPU was asked: conformance kernels, probes and literate cases, each a program with its launches.
#![allow(dead_code, reason = "each suite uses a part of it")]

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use toml::{Table, Value};
use warplens_launch::Launch;
use warplens_session::{ExecutionOptions, Extent, Generation, Output, OutputRequest, Program, Progress, run};

#[path = "../emulator/kernel_text.rs"]
mod kernel_text;

/// What is asked: a program and its launches.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Cases of one program follow each other.
    pub(crate) program: String,
    pub(crate) ptx: String,
    pub(crate) launch: Table,
}

const NO_LAUNCH: [&str; 4] = ["ptx", "source", "stdout", "expect"];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Launch files beside folders of PTX.
pub(crate) fn kernels(folder: &str, cc: u32, cases: &mut Vec<Case>) {
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
            let number: u32 =
                target.trim_start_matches("sm_").trim_end_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
            let is_exact = target.ends_with('a');
            if number > cc || is_exact && number != cc {
                continue;
            }
            let places = [folder.join(&target), folder.join("ptx").join(&target)];
            let ptx =
                places.iter().find_map(|place| fs::read_to_string(place.join(&source).with_extension("ptx")).ok());
            let ptx = ptx.unwrap_or_else(|| panic!("{source} has no PTX for {target}"));
            // Folders have files of the same name.
            let program = format!("{}/{source}-{target}", folder.file_name().unwrap().display());
            cases.push(Case { name: format!("{name}-{target}"), program, ptx, launch: launch.clone() });
        }
    }
}

/// The literate cases that end well.
pub(crate) fn literate(cases: &mut Vec<Case>) {
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

/// What the emulator leaves in the buffers of some arguments.
pub(crate) fn emulated(
    program: &Program,
    launches: &[Launch],
    keys: &[&str],
    generation: Generation,
) -> Result<Vec<Output>, String> {
    let requests: Vec<OutputRequest> =
        keys.iter().map(|key| OutputRequest { key: (*key).to_owned(), count: None }).collect();
    let mut options = ExecutionOptions { budget: 100_000_000, extent: Extent::Full, ..ExecutionOptions::new() };
    options.generations = vec![generation];
    let result = run(program, launches, &requests, options, &Progress::default());
    result.map(|result| result.outputs).map_err(|error| error.message)
}

/// The first digits of the SHA-256 of a buffer.
pub(crate) fn hash(output: &Output) -> String {
    Sha256::digest(&output.bytes)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Case {
    /// The launches, as a file would say them.
    pub(crate) fn launches(&self) -> Result<Vec<Launch>, String> {
        Launch::parse_file(&self.name, &toml::to_string(&self.launch).unwrap()).map_err(|error| error.message)
    }
}
