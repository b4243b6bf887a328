//! Machine code and register counts from ptxas.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Search, process, unit};
use warplens_base::error::{Error, Result};

/// Registers per thread of each kernel of a PTX text, as ptxas allocates them for `target`.
/// `None` where ptxas is missing or does not take the text: an estimate serves then. One that does not end is an error,
/// as nobody wants to wait for that twice.
pub fn registers(ptx: &str, target: &str, search: &Search) -> Result<Option<BTreeMap<String, u32>>> {
    let Some(ptxas) = search.program("ptxas").and_then(|ptxas| std::path::absolute(ptxas).ok()) else {
        return Ok(None);
    };
    // `.target` may list options of textures and debuggers behind the target.
    let target = target.split(',').next().unwrap_or(target).trim();
    if unit::check_target(target).is_err() {
        return Ok(None);
    }
    let Ok(scratch) = tempfile::tempdir() else { return Ok(None) };
    if std::fs::write(scratch.path().join("kernel.ptx"), ptx).is_err() {
        return Ok(None);
    }
    let mut command = Command::new(&ptxas);
    command.args(["-v", &format!("-arch={target}"), "-o", "kernel.cubin", "kernel.ptx"]);
    command.current_dir(scratch.path());
    match process::run(&mut command, &ptxas.display().to_string(), &search.limit) {
        Ok(run) => Ok(run.status.success().then(|| parse(&run.stderr))),
        Err(process::Failure::NotStarted(_)) => Ok(None),
        Err(process::Failure::Limit(error)) => Err(error),
    }
}

/// Machine code that ptxas made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Assembled {
    /// An ELF file.
    pub cubin: Vec<u8>,
    /// ptxas with its release, such as `ptxas 13.0`, where it says so.
    pub assembler: Option<String>,
}

/// What ptxas made of a text, or what it said when it refused.
type Verdict = std::result::Result<Arc<Assembled>, Arc<str>>;

/// Verdicts of ptxas, and the release of each one that was asked. Clones share them. What came of no verdict, such as a limit
/// of time or a signal, is asked again.
#[derive(Clone, Debug, Default)]
pub struct Assemblies(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    verdicts: BTreeMap<Asked, Verdict>,
    assemblers: BTreeMap<PathBuf, Option<String>>,
}

impl Assemblies {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A text for a target, and who is asked.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Asked {
    ptx: String,
    target: String,
    ptxas: PathBuf,
}

/// The machine code that ptxas makes of a PTX text for `target`. `name` is what messages call the text.
pub fn assemble(name: &str, ptx: &str, target: &str, search: &Search) -> Result<Arc<Assembled>> {
    let ptxas = search.program("ptxas").and_then(|ptxas| std::path::absolute(ptxas).ok()).ok_or_else(|| {
        Error::input(format!("no ptxas was found to make machine code of {name}"))
            .with_detail("looked in $CUDA_HOME/bin, on the PATH and among the packages of Python")
            .with_help(super::INSTALL)
    })?;
    unit::check_target(target)?;
    let asked = Asked { ptx: ptx.to_owned(), target: target.to_owned(), ptxas };
    let before = search.assemblies.known().verdicts.get(&asked).cloned();
    let verdict = match before {
        Some(verdict) => verdict,
        None => {
            let verdict = asked.verdict(name, search)?;
            search.assemblies.known().verdicts.insert(asked.clone(), verdict.clone());
            verdict
        }
    };
    verdict.map_err(|said| refused(name, &asked, &said))
}

impl Asked {
    fn verdict(&self, name: &str, search: &Search) -> Result<Verdict> {
        let failed = |error: std::io::Error| Error::input(format!("cannot assemble {name}: {error}"));
        let scratch = tempfile::tempdir().map_err(failed)?;
        std::fs::write(scratch.path().join("kernel.ptx"), &self.ptx).map_err(failed)?;
        let mut command = Command::new(&self.ptxas);
        command.args([&format!("-arch={}", self.target), "-lineinfo", "-o", "kernel.cubin", "kernel.ptx"]);
        command.current_dir(scratch.path());
        let run = process::run(&mut command, &self.ptxas.display().to_string(), &search.limit)?;
        match run.status.code() {
            Some(0) => {}
            Some(_) => return Ok(Err(run.stderr.into())),
            None => return Err(Error::input(format!("cannot assemble {name}: {}", run.status))),
        }
        let cubin = std::fs::read(scratch.path().join("kernel.cubin")).map_err(failed)?;
        Ok(Ok(Arc::new(Assembled { cubin, assembler: self.assembler(search) })))
    }

    /// The ptxas with its release, where it says so.
    fn assembler(&self, search: &Search) -> Option<String> {
        if let Some(assembler) = search.assemblies.known().assemblers.get(&self.ptxas) {
            return assembler.clone();
        }
        let mut command = Command::new(&self.ptxas);
        let said = process::run(command.arg("--version"), &self.ptxas.display().to_string(), &search.limit).ok()?;
        let assembler = release(&said.stdout).map(|release| format!("ptxas {release}"));
        search.assemblies.known().assemblers.insert(self.ptxas.clone(), assembler.clone());
        assembler
    }
}

/// ptxas made nothing, and said why.
fn refused(name: &str, asked: &Asked, said: &str) -> Error {
    let ptxas = asked.ptxas.display();
    let error = Error::input(format!("ptxas makes no machine code of {name} for {}", asked.target));
    let error = said.lines().take(MOST_LINES).fold(error, |error, line| error.with_detail(line));
    error.with_help(match said.contains("Unsupported .version") {
        true => {
            format!("{ptxas} is older than the compiler of the PTX: a newer one, or --code generated without ptxas")
        }
        false => "--code generated simulates what ptxas is expected to make".to_owned(),
    })
}

/// Lines of what ptxas says that an error repeats.
const MOST_LINES: usize = 8;

/// `13.0` of `Cuda compilation tools, release 13.0, V13.0.88`, as all tools of CUDA call their version.
pub(crate) fn release(version: &str) -> Option<&str> {
    let (_, rest) = version.split_once("release ")?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
    (end > 0).then(|| &rest[..end])
}

/// Reads the report of `ptxas -v`.
fn parse(report: &str) -> BTreeMap<String, u32> {
    let mut kernels = BTreeMap::new();
    let mut kernel = None;
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next();
        } else if let Some((_, rest)) = line.split_once(": Used ")
            && let Some(count) = rest.split(' ').next().and_then(|count| count.parse().ok())
            && let Some(kernel) = kernel.take()
        {
            kernels.insert(kernel.to_owned(), count);
        }
    }
    kernels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_have_a_release() {
        let said = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 13.0, V13.0.88\n";
        assert_eq!(release(said), Some("13.0"));
        assert_eq!(release("Cuda compilation tools, release 12.9"), Some("12.9"));
        assert_eq!(release("release unknown"), None);
        assert_eq!(release(""), None);
    }

    #[test]
    fn the_report_names_each_kernel() {
        let report = "ptxas info    : 0 bytes gmem\n\
                      ptxas info    : Compiling entry function 'a' for 'sm_80'\n\
                      ptxas info    : Function properties for a\n    0 bytes stack frame, 0 bytes spill stores\n\
                      ptxas info    : Used 12 registers, used 0 barriers, 380 bytes cmem[0]\n\
                      ptxas info    : Compiling entry function 'b' for 'sm_80'\n\
                      ptxas info    : Used 255 registers, 4 bytes smem\n";
        assert_eq!(parse(report), BTreeMap::from([("a".to_owned(), 12), ("b".to_owned(), 255)]));
        assert_eq!(parse("ptxas info : Used 3 registers"), BTreeMap::new());
    }
}
