//! What a program did on the device, written line by line while it runs, so that nothing is lost where it crashes.
//!
//! Each line is a JSON object of its own. Who writes it is the CUDA library inside of the program, who reads it is the
//! command that started the program. It is no document: both sides are of one version.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use warplens_document::archive::ArchivedLaunch;

/// The environment by which the command tells the library inside of the program what to do.
pub mod environment {
    /// The list of GPUs, as `--gpu` has it.
    pub const GPUS: &str = "WARPLENS_EXEC_GPU";
    /// The file to which lines about launches and copies are added.
    pub const TRAIL: &str = "WARPLENS_EXEC_TRAIL";
    /// Host threads of the emulator.
    pub const THREADS: &str = "WARPLENS_EXEC_THREADS";
    /// Thread instructions of a kernel and a shape, beyond which launches are not executed whole.
    pub const SAMPLE: &str = "WARPLENS_EXEC_SAMPLE";
    /// [`VIRTUAL`] where the program's clocks follow the device.
    pub const CLOCK: &str = "WARPLENS_EXEC_CLOCK";
    /// The name of the code that is executed.
    pub const CODE: &str = "WARPLENS_EXEC_CODE";
    /// A comma list of options of the models.
    pub const OPTIONS: &str = "WARPLENS_EXEC_OPTION";
    /// The folder in which launches are kept.
    pub const RECORD: &str = "WARPLENS_EXEC_RECORD";
    /// Most bytes that it may take.
    pub const RECORD_LIMIT: &str = "WARPLENS_EXEC_RECORD_LIMIT";
    /// [`YES`] where loads may go beyond the end of an allocation.
    pub const OVERREADS: &str = "WARPLENS_EXEC_OVERREADS";
    /// [`YES`] where no launch is executed.
    pub const LEAVE_OUT: &str = "WARPLENS_EXEC_LEAVE_OUT";
    /// See [`OVERREADS`] and [`LEAVE_OUT`].
    pub const YES: &str = "yes";
    /// A comma list of checks.
    pub const CHECKS: &str = "WARPLENS_EXEC_CHECK";
    /// See [`CLOCK`].
    pub const VIRTUAL: &str = "virtual";
}

/// One line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A process has loaded the library, and is served as these GPUs.
    Start {
        /// Number of the process.
        process: u32,
        /// Identifiers of the GPUs, the first of which the program sees.
        gpus: Vec<String>,
        /// Under which copies and the time line of the first GPU hold.
        #[serde(default)]
        assumptions: Vec<String>,
    },
    /// A launch whose time was not known before.
    Case {
        /// Number of the process.
        process: u32,
        /// Number of the case in it.
        case: u32,
        /// The kernel, as PTX has it.
        kernel: String,
        /// CTAs per axis.
        grid: [u32; 3],
        /// Threads per axis.
        block: [u32; 3],
        /// Dynamic shared memory in bytes.
        dynamic_shared: u64,
        /// Registers per thread.
        registers: u32,
        /// What was predicted for each GPU.
        answers: Vec<TimeOn>,
    },
    /// A launch that ended.
    Launch {
        /// Number of the process.
        process: u32,
        /// The case whose time it takes.
        case: u32,
        /// By what the time of the case is multiplied: other than 1 where only the work was known, and it differed.
        scale: f64,
        /// How much of it was executed.
        executed: Executed,
        /// Where it lies on the clock of the first GPU.
        place: Place,
    },
    /// A launch that was not executed, of which nothing is known.
    Omitted {
        /// Number of the process.
        process: u32,
    },
    /// Bytes that were copied or set.
    Copy {
        /// Number of the process.
        process: u32,
        /// From where to where.
        kind: CopyKind,
        /// How many.
        bytes: u64,
        /// Seconds on each GPU; none where a rate is not known.
        seconds: Vec<Option<f64>>,
        /// Where it lies on the clock of the first GPU.
        place: Place,
    },
    /// A function that is not supported was called.
    Unsupported {
        /// Number of the process.
        process: u32,
        /// Its name.
        function: String,
    },
    /// A check found something in a launch.
    Finding {
        /// Number of the process.
        process: u32,
        /// Which check.
        check: Check,
        /// The kernel, as PTX has it.
        kernel: String,
        /// The line of its code.
        place: String,
        /// What happens there, with an example.
        message: String,
        /// How often it happened.
        count: u64,
    },
    /// A launch was kept.
    Archived {
        /// Number of the process.
        process: u32,
        /// The launch.
        launch: Box<ArchivedLaunch>,
    },
    /// A launch was to be kept, and was not.
    LeftOut {
        /// Number of the process.
        process: u32,
        /// The kernel, as PTX has it.
        kernel: String,
        /// Why.
        reason: String,
    },
    /// Memory of the device was allocated; written where leaks are looked for.
    Allocated {
        /// Number of the process.
        process: u32,
        /// First address.
        address: u64,
        /// How much.
        bytes: u64,
        /// The call that made it.
        name: String,
    },
    /// It was freed.
    Freed {
        /// Number of the process.
        process: u32,
        /// First address.
        address: u64,
    },
    /// A launch or a call stopped the device.
    Failure {
        /// Number of the process.
        process: u32,
        /// What was said of it.
        message: String,
    },
}

/// What programs are checked for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Accesses to the same bytes that nothing orders.
    Races,
    /// Reads of memory that nothing wrote.
    Uninitialised,
    /// Memory that is not freed.
    Leaks,
}

impl Check {
    /// All checks.
    pub const ALL: [Self; 3] = [Self::Races, Self::Uninitialised, Self::Leaks];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Races => "races",
            Self::Uninitialised => "uninitialised",
            Self::Leaks => "leaks",
        }
    }

    /// The check of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.name() == name)
    }
}

/// What was predicted for a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimeOn {
    /// Identifier of the GPU.
    pub gpu: String,
    /// The time; none where no model answers.
    pub seconds: Option<f64>,
    /// The model; none where none answers.
    pub model: Option<String>,
    /// What bounds the kernel; none where no model answers.
    pub bound_by: Option<String>,
    /// Why no model answers.
    pub refused: Option<String>,
}

/// Where work lies on the clock of the first GPU.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Place {
    /// Number of the stream in its process; 0 is the default stream.
    pub stream: u32,
    /// When it begins, in nanoseconds since the process began.
    pub begin: f64,
    /// When it ends.
    pub end: f64,
}

/// How much of a launch was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Executed {
    /// All of it.
    #[default]
    Whole,
    /// Some of its CTAs.
    Part,
    /// Nothing.
    Nothing,
}

/// From where to where bytes went.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyKind {
    /// From the host to the device.
    ToDevice,
    /// From the device to the host.
    ToHost,
    /// Within the device.
    OnDevice,
    /// Within the host.
    OnHost,
    /// Bytes that were set to a value on the device.
    Set,
}

/// The file that is written.
#[derive(Debug)]
pub struct Trail {
    /// None once writing has failed.
    file: Option<File>,
}

impl Trail {
    /// A trail that nobody reads.
    pub const NONE: Self = Self { file: None };

    /// Goes on with a file, which several processes may write.
    pub fn open(path: &Path) -> std::io::Result<Self> {
        Ok(Self { file: Some(OpenOptions::new().append(true).create(true).open(path)?) })
    }

    /// Writes a line at once. Where that fails, nothing more is written: the program matters more.
    pub fn note(&mut self, entry: &Entry) {
        let Some(file) = &mut self.file else { return };
        let Ok(mut line) = serde_json::to_vec(entry) else { return };
        line.push(b'\n');
        if file.write_all(&line).is_err() {
            self.file = None;
        }
    }
}

/// The lines of a trail. The last one may be cut, where a process was ended while it wrote.
pub fn read(text: &str) -> Vec<Entry> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_but_for_a_cut_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trail");
        let mut trail = Trail::open(&path).unwrap();
        let entries = [
            Entry::Start { process: 7, gpus: vec!["h200".into()], assumptions: vec!["one".into()] },
            Entry::Launch { process: 7, case: 0, scale: 1.0, executed: Executed::Whole, place: Place::default() },
            Entry::Copy { process: 7, kind: CopyKind::ToHost, bytes: 12, seconds: vec![None], place: Place::default() },
        ];
        entries.iter().for_each(|entry| trail.note(entry));
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(read(&text), entries);
        assert_eq!(read(&text[..text.len() - 4]), entries[..2]);
        assert_eq!(read("garbage\n{}\n[1]"), []);
    }
}
