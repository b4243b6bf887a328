//! `warplens.archive/1`: launches of a program that were kept, to be asked about later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::RegistersBasis;
use crate::{Id, Identified, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Archive>("launches of a program, kept with their memory")];

/// `index.json` in the folder of `exec --record`. Code and memory lie beside it in `pieces/`: files that are named by the
/// SHA-256 of their content, which is at most a mebibyte, and packed by LZ4 behind its length in 4 bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Archive {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Labels of the GPUs, the first of which the program saw.
    pub gpus: Vec<String>,
    /// Launches that were simulated; their place in the list is their number.
    pub launches: Vec<ArchivedLaunch>,
    /// Launches that were simulated and are not kept.
    pub left_out: Vec<ArchivedLeftOut>,
}

impl Identified for Archive {
    const ID: &'static str = "warplens.archive/1";
}

/// A launch with everything that it needs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchivedLaunch {
    /// The kernel, as PTX has it.
    pub kernel: String,
    /// Number of the process.
    pub process: u32,
    /// Launches of the process before it.
    pub launched_before: u64,
    /// Blocks per axis.
    pub grid: [u32; 3],
    /// Threads per axis.
    pub block: [u32; 3],
    /// Blocks of a cluster per axis; null where the launch says nothing of clusters.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a block.
    pub dynamic_shared_bytes: u64,
    /// Content of the parameter space in hexadecimal digits.
    pub parameters: String,
    /// Bytes of the allocations that parameters point to.
    pub reachable_bytes: u64,
    /// Registers of a thread.
    pub registers: u32,
    /// Where that number comes from.
    pub registers_basis: RegistersBasis,
    /// The module of the kernel.
    pub code: ArchivedCode,
    /// Memory that the launch can reach, by address: that of the module's variables, and what parameters and other
    /// memory point to.
    pub memory: Vec<ArchivedMemory>,
    /// The prediction for each GPU.
    pub times: Vec<ArchivedTime>,
}

/// A module.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchivedCode {
    /// `ptx` or `machine`.
    pub kind: String,
    /// The target for which machine code was made of PTX, to be executed; null where it is executed as it is.
    pub assembled_for: Option<String>,
    /// Texts that are linked, or the one file of machine code.
    pub parts: Vec<ArchivedContent>,
    /// Where its variables begin in memory.
    pub global_address: u64,
    /// Where its constants begin in the space of constants.
    pub constant_address: u64,
    /// Address of its first function.
    pub function_address: u64,
}

/// Memory of the device.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchivedMemory {
    /// What messages call it.
    pub name: String,
    /// First address.
    pub address: u64,
    /// A variable of the module, which has its place already.
    pub of_module: bool,
    /// What stood there before the launch.
    pub content: ArchivedContent,
}

/// Bytes.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchivedContent {
    /// How many.
    pub bytes: u64,
    /// Names of the pieces of a mebibyte, the last of which may be shorter; null for one of zeros.
    pub pieces: Vec<Option<String>>,
}

/// The time of a launch on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchivedTime {
    /// Label of the GPU.
    pub gpu: String,
    /// Predicted time; null where no model answers.
    pub time_us: Option<Number>,
    /// The model; null where none answers.
    pub model: Option<String>,
}

/// A launch that is not kept.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArchivedLeftOut {
    /// The kernel, as PTX has it.
    pub kernel: String,
    /// Why.
    pub reason: String,
}
