//! Runs nvcc, in a scratch folder of ours and on names of ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Compiled, Search, process, unit};
use crate::input::Input;
use warplens_base::error::{Error, Result};

/// Why there is no PTX.
pub(super) enum Failure {
    /// nvcc needs a C++ compiler of the host and found none; NVRTC does without.
    NoHostCompiler(Error),
    /// Everything else: mostly an error in the source.
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The copy of the source.
const SOURCE: &str = "kernel.cu";
/// What nvcc writes.
const OUTPUT: &str = "kernel.ptx";
/// Leads to the folder of the source, whatever that is called.
const INCLUDE: &str = "include";
/// The same of folders that the user names, with a number.
const HEADERS: &str = "headers";

pub(super) fn compile(
    nvcc: &Path,
    input: &Input,
    target: &str,
    macros: &[(String, String)],
    search: &Search,
) -> std::result::Result<Compiled, Failure> {
    let nvcc = std::path::absolute(nvcc).map_err(|error| failed("find nvcc", &error))?;
    unit::check_path(&nvcc, "nvcc's path", "install the toolkit where the path has none of these characters")?;
    unit::check_target(target)?;
    let scratch = tempfile::tempdir().map_err(|error| failed("make a temporary folder", &error))?;
    // nvcc knows the folder by its real path.
    let at = scratch.path().canonicalize().map_err(|error| failed("make a temporary folder", &error))?;
    unit::check_path(&at, "the temporary folder", "name another one, with TMPDIR")?;
    let folder = unit::folder(input)?;
    std::fs::write(at.join(SOURCE), unit::text(input, macros)?)
        .map_err(|error| failed("write a temporary file", &error))?;
    let mut folders = vec![(INCLUDE.to_owned(), folder)];
    folders.extend(
        search.flags.includes.iter().enumerate().map(|(at, folder)| (format!("{HEADERS}{at}"), folder.clone())),
    );
    let mut command = Command::new(&nvcc);
    command.args(["-ptx", "-lineinfo", &format!("-arch={target}")]).args(&search.flags.words);
    for (name, folder) in &folders {
        command.arg("-I").arg(link(folder, &at, name)?);
    }
    command.args(["-o", OUTPUT, SOURCE]);
    // Its own temporary files go the same way as ours.
    command.current_dir(&at).env("TMPDIR", &at);
    let run = process::run(&mut command, &nvcc.display().to_string(), &search.limit).map_err(Error::from)?;
    let names = Names { scratch: at.clone(), folders, own: unit::own_name(input), shown: &input.name };
    let messages = names.in_messages(&[run.stdout, run.stderr].concat());
    if run.status.success() {
        let ptx = std::fs::read(at.join(OUTPUT)).map_err(|error| failed("read what nvcc wrote", &error))?;
        let ptx = names.in_ptx(&String::from_utf8_lossy(&ptx));
        return Ok(Compiled { ptx, compiler: nvcc.display().to_string(), messages });
    }
    Err(rejected(&nvcc, input, &messages))
}

fn failed(what: &str, error: &std::io::Error) -> Error {
    Error::input(format!("cannot {what}: {error}"))
}

fn rejected(nvcc: &Path, input: &Input, messages: &str) -> Failure {
    let error = Error::input(format!("{} could not compile {}", nvcc.display(), input.name));
    let error = messages.lines().fold(error, Error::with_detail);
    let needs_host = ["host compiler", "gcc: not found", "g++: not found", "execvp", "cl.exe"];
    if needs_host.iter().any(|words| messages.contains(words)) {
        return Failure::NoHostCompiler(error.with_help("nvcc needs a C++ compiler such as g++; NVRTC does without"));
    }
    Failure::Other(error)
}

/// A name of ours for a folder of the user's.
#[cfg(unix)]
fn link(folder: &Path, scratch: &Path, name: &str) -> Result<PathBuf> {
    std::os::unix::fs::symlink(folder, scratch.join(name)).map_err(|error| failed("link a folder", &error))?;
    Ok(PathBuf::from(name))
}

/// Links are not for everyone to make here: the folder itself.
#[cfg(not(unix))]
fn link(folder: &Path, _: &Path, _: &str) -> Result<PathBuf> {
    unit::check_path(folder, "the folder of a source", "move it to where the path has none of these characters")?;
    Ok(folder.to_owned())
}

/// Names of ours with what they stand for.
struct Names<'n> {
    scratch: PathBuf,
    /// Our names of folders, that of the source first, and the folders.
    folders: Vec<(String, PathBuf)>,
    /// What the text calls itself.
    own: PathBuf,
    /// What messages call it.
    shown: &'n str,
}

impl Names<'_> {
    fn in_messages(&self, text: &str) -> String {
        let named = |text: String, (name, folder): &(String, PathBuf)| {
            let inside = format!("{}/", self.scratch.join(name).display());
            text.replace(&inside, &format!("{}/", folder.display()))
        };
        let text = self.folders.iter().fold(text.to_owned(), named);
        text.replace(&*self.own.to_string_lossy(), self.shown).replace(&format!("\"{SOURCE}\""), self.shown)
    }

    /// The same in the names of `.file`. Nothing else of a PTX names files, but what a kernel prints.
    fn in_ptx(&self, ptx: &str) -> String {
        let of_folder = |(name, folder): &(String, PathBuf)| {
            let ours = format!("\"{}/", self.scratch.join(name).display());
            let folder = String::from_utf8_lossy(&unit::literal(folder.as_os_str().as_encoded_bytes())).into_owned();
            (ours, format!("{}/", folder.trim_end_matches('"').trim_end_matches('/')))
        };
        let folders: Vec<(String, String)> = self.folders.iter().map(of_folder).collect();
        // A name without a folder, such as that of standard input.
        let scratch = format!("\"{}/", self.scratch.display());
        let line = |line: &str| match line.trim_start().starts_with(".file") {
            true => {
                let line = folders.iter().fold(line.to_owned(), |line, (ours, folder)| line.replace(ours, folder));
                line.replace(&scratch, "\"")
            }
            false => line.to_owned(),
        };
        ptx.split_inclusive('\n').map(line).collect()
    }
}
