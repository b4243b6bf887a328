//! What the command that starts a program tells the library inside of it, by environment variables.

use std::path::PathBuf;

use warplens_session::machines::{self, Machine};
use warplens_session::served::{self, Answering};
use warplens_session::toolchain::CodeKind;
use warplens_session::trail::{Check, environment};

/// The GPU of programs that nobody started with `warplens exec`.
const DEFAULT_GPU: &str = "h200";

/// Where launches are kept.
#[derive(Clone, Debug)]
pub struct ArchiveFolder {
    /// The folder.
    pub folder: PathBuf,
    /// Most bytes that it may take.
    pub limit: u64,
}

/// How a process is served.
#[derive(Clone, Debug)]
pub struct Config {
    /// The GPUs that are asked about; the program sees the first. At least one.
    pub machines: Vec<Machine>,
    /// Where it is written what the program did.
    pub trail: Option<PathBuf>,
    /// Host threads of the emulator.
    pub threads: usize,
    /// Thread instructions of a kernel and a shape, beyond which launches are not executed whole; none where all are.
    pub sample: Option<u64>,
    /// The code that is executed and simulated where a program has or can be given more than one.
    pub code: CodeKind,
    /// How the models answer.
    pub options: Answering,
    /// The program's clocks follow the device, and its own time counts on the device's clock.
    pub virtual_clock: bool,
    /// Loads may go beyond the end of an allocation, as far as GPUs map memory.
    pub allow_overreads: bool,
    /// No launch is executed.
    pub leaves_out: bool,
    /// What the program is checked for.
    pub checks: Vec<Check>,
    /// Where launches are kept, if they are.
    pub archive: Option<ArchiveFolder>,
}

impl Config {
    /// Reads the environment. What is wrong there is said, and the default is taken.
    pub fn from_environment(say: &dyn Fn(&str)) -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let list = variable(environment::GPUS).unwrap_or_else(|| DEFAULT_GPU.to_owned());
        let machines = machines::select(&list).or_else(|error| {
            say(&format!("{}: {error}; the program is served a {DEFAULT_GPU}", environment::GPUS));
            machines::select(DEFAULT_GPU)
        });
        let threads = variable(environment::THREADS).and_then(|text| text.parse().ok()).filter(|&threads| threads > 0);
        let limit = variable(environment::RECORD_LIMIT).and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
        let archive = variable(environment::RECORD).map(|folder| ArchiveFolder { folder: folder.into(), limit });
        let is_yes = |name: &str| variable(name).is_some_and(|text| text == environment::YES);
        Self {
            allow_overreads: is_yes(environment::OVERREADS),
            leaves_out: is_yes(environment::LEAVE_OUT),
            archive,
            machines: machines.expect("the default GPU is built in"),
            trail: variable(environment::TRAIL).map(PathBuf::from),
            sample: variable(environment::SAMPLE).and_then(|text| text.parse().ok()),
            code: variable(environment::CODE).and_then(|name| CodeKind::named(&name)).unwrap_or_default(),
            options: options(variable(environment::OPTIONS), say),
            virtual_clock: variable(environment::CLOCK).is_some_and(|text| text == environment::VIRTUAL),
            checks: checks(variable(environment::CHECKS), say),
            threads: threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)),
        }
    }
}

/// The options of a list. A name that is none is said.
fn options(list: Option<String>, say: &dyn Fn(&str)) -> Answering {
    let names: Vec<String> = list
        .iter()
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    served::answering(&names).unwrap_or_else(|error| {
        say(&format!("{}: {error}; the models answer without", environment::OPTIONS));
        Answering::default()
    })
}

/// The checks of a list. A name that is none is said.
fn checks(list: Option<String>, say: &dyn Fn(&str)) -> Vec<Check> {
    let list = list.unwrap_or_default();
    let check = |name: &str| {
        let check = Check::named(name);
        if check.is_none() {
            say(&format!("{}: there is no check `{name}`", environment::CHECKS));
        }
        check
    };
    list.split(',').map(str::trim).filter(|name| !name.is_empty()).filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn options_are_taken_by_name_and_a_wrong_one_is_said() {
        let said = RefCell::new(Vec::new());
        let say = |text: &str| said.borrow_mut().push(text.to_owned());
        let list = |text: &str| options(Some(text.to_owned()), &say);
        let emptied = list("emptied-caches, no-schedule,emptied-caches");
        assert_ne!(emptied.options, Answering::default().options);
        assert_eq!(emptied.assumptions.len(), 2);
        assert!(emptied.assumptions.iter().any(|of| of.starts_with("emptied-caches")), "{:?}", emptied.assumptions);
        assert_eq!((options(None, &say).options, said.borrow().len()), (Answering::default().options, 0));
        assert_eq!(list("emptied-cache").options, Answering::default().options);
        assert!(said.borrow()[0].contains("no chosen model has an option `emptied-cache`"), "{said:?}");
    }
}
