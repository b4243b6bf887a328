//! `warplens.exec/1`: what a program launched and copied, with predicted times.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Exec>("what a program launched, with predicted times")];

/// The document of the `exec` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Exit code of the program; null where a signal ended it.
    pub exit_code: Option<i32>,
    /// Labels of the GPUs, the first of which the program saw.
    pub gpus: Vec<String>,
    /// Kernels with their shapes, those with the longest time on the first GPU first.
    pub kernels: Vec<ExecutedKernel>,
    /// Predicted time of all launches on each GPU.
    pub totals: Vec<ExecutedTotal>,
    /// What was copied and set.
    pub copies: Vec<ExecutedCopies>,
    /// How the time of the first GPU was spent.
    pub device: ExecutedDevice,
    /// Under which copies and the time line of the first GPU hold.
    #[serde(default)]
    pub assumptions: Vec<String>,
    /// Launches that were not executed whole.
    pub sampled: ExecutedSampled,
    /// What the program was checked for: `races`, `uninitialised`, `leaks`.
    #[serde(default)]
    pub checks: Vec<String>,
    /// What these checks found.
    #[serde(default)]
    pub findings: Vec<ExecutedFinding>,
    /// Functions that were called and are not supported.
    pub unsupported: Vec<String>,
    /// What was said where something went wrong.
    pub failures: Vec<String>,
}

impl Identified for Exec {
    const ID: &'static str = "warplens.exec/1";
}

/// A kernel with one shape.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutedKernel {
    /// Its name, as C++ has it.
    pub kernel: String,
    /// Its name, as PTX has it.
    pub mangled: String,
    /// Blocks per axis.
    pub grid: [u32; 3],
    /// Threads per axis.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block.
    pub dynamic_shared_bytes: u64,
    /// Registers of a thread.
    pub registers: u32,
    /// Launches of the program before the first of this one, which tells the order in which kernels came.
    pub launched_before: u64,
    /// How often it was launched.
    pub calls: u64,
    /// Launches whose time is that of one like it in proportion to the work, as only their work is known.
    pub scaled_calls: u64,
    /// Cases that were simulated: launches of the same kernel and shape may do different work.
    pub cases: u64,
    /// Times on each GPU.
    pub times: Vec<ExecutedTime>,
}

/// The time of a kernel on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutedTime {
    /// Label of the GPU.
    pub gpu: String,
    /// Predicted time of all calls; null where no model answers for one of them.
    pub time_us: Option<Number>,
    /// Predicted time of the first call; null where no model answers for it.
    pub first_us: Option<Number>,
    /// That of the shortest call; null where no model answers for any.
    pub least_us: Option<Number>,
    /// That of the longest call; null where no model answers for any.
    pub most_us: Option<Number>,
    /// The model; null where none answers.
    pub model: Option<String>,
    /// What bounds the kernel; null where no model answers.
    pub bound_by: Option<String>,
    /// Why no model answers.
    pub refused: Option<String>,
    /// Share of all launches' time on the GPU.
    pub share: Option<Number>,
}

/// All launches on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutedTotal {
    /// Label of the GPU.
    pub gpu: String,
    /// Predicted time of the launches that have one.
    pub time_us: Number,
    /// Launches without a time.
    pub calls_without_time: u64,
}

/// Copies in one direction.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutedCopies {
    /// `host to device`, `device to host`, `on the device`, `on the host` or `set`.
    pub kind: String,
    /// How many.
    pub calls: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Their time on each GPU; null where no rate is known.
    pub times_us: Vec<Option<Number>>,
}

/// How the time of the first GPU was spent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutedDevice {
    /// From the begin of the first work to the end of the last.
    pub total_us: Number,
    /// Kernels run.
    pub kernels_us: Number,
    /// Something is copied between host and device.
    pub transfers_us: Number,
    /// Both at the same time.
    pub both_us: Number,
    /// Nothing runs: the device waits for the host.
    pub idle_us: Number,
}

/// Launches that were not executed whole, so that the program's results are wrong.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutedSampled {
    /// Only some blocks were executed.
    pub in_part: u64,
    /// Nothing was executed.
    pub left_out: u64,
}

/// Something that a check found.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutedFinding {
    /// `races`, `uninitialised` or `leaks`.
    pub check: String,
    /// The kernel, as C++ has it; null for memory that was not freed.
    pub kernel: Option<String>,
    /// The line of the kernel's code, or the call that allocated the memory.
    pub place: String,
    /// What happened there, with an example.
    pub message: String,
    /// How often it happened.
    pub count: u64,
    /// Launches in which it happened; 0 for memory.
    pub launches: u64,
}
