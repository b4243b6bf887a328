//! Where counts come from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::words;
use crate::{Amount, Held, Number};

/// What is known about a measurement besides its counts.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Origin {
    /// CTAs wait for each other, so that all of them were executed.
    #[serde(default)]
    pub communicates: bool,
    /// Blocks that touch what others write without an order between them, so that the launch ran in a fixed order;
    /// `null` where there are none, and where nothing was executed.
    #[serde(default)]
    pub race: Option<Race>,
    /// The time on a GPU, where a profiler measured it.
    #[serde(default)]
    pub measured: Option<Measured>,
    /// How much of the kernel can be executed.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub support: Held<Support>,
    /// Cost of the execution; `null` where nothing was executed.
    #[serde(default)]
    pub emulation: Option<Emulation>,
    /// With `--static`, or where a few blocks tell what all do: what the counts stand on.
    #[serde(default, rename = "static")]
    pub statics: Option<Static>,
    /// The code that was counted; not there where the counts come from elsewhere.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub code: Held<Code>,
}

/// Two blocks that touch the same byte of device memory without an ordered access, at least one of which writes it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Race {
    /// The buffer.
    pub buffer: String,
    /// The byte in the buffer.
    pub byte: u64,
    /// The block that came second, by its number in the grid.
    pub block: u32,
    /// The block that came first; `null` if there were several.
    #[serde(default)]
    pub other_block: Option<u32>,
    /// Line of the second access in the PTX, from 1.
    pub ptx_line: u32,
    /// File of the program, where the PTX says so; goes with `line`.
    #[serde(default)]
    pub file: Option<String>,
    /// Line in that file.
    #[serde(default)]
    pub line: Option<u32>,
}

/// What a profiler measured on a GPU.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measured {
    /// Execution time of the launch in microseconds. Nsight Compute: `gpu__time_duration.sum`.
    pub time_us: Amount,
    /// The GPU, as the profiler calls it, where it says so.
    #[serde(default)]
    pub device: Option<String>,
    /// Its target, such as `sm_80`, where the profiler says so.
    #[serde(default)]
    pub target: Option<String>,
    /// The profiler; `file` where it is not said.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub profiler: Held<String>,
}

/// How much of a kernel can be executed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Support {
    /// Instructions of the kernel's call graph.
    pub instructions: u64,
    /// Share of them that is supported; not read.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub share: Held<Number>,
    /// Those that are not.
    pub unsupported: Vec<Unsupported>,
    /// Loads of threads that went beyond the end of a buffer and read zeros there.
    #[serde(default)]
    pub overreads: u64,
}

/// An instruction that cannot be executed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unsupported {
    /// Opcode with modifiers.
    pub opcode: String,
    /// Why not.
    pub reason: String,
}

/// Cost of an execution.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Emulation {
    /// Thread instructions that were executed.
    pub thread_instructions: u64,
    /// Warp instructions that were executed.
    pub warp_instructions: u64,
    /// Seconds of the execution alone.
    pub seconds: Amount,
}

/// What counts stand on that follow from the code, the launch and the arguments; `docs/counting.md` says how they are made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Static {
    /// Says so.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub basis: Held<StaticBasis>,
    /// Places where the counts are an upper bound.
    pub bounds: Vec<Bound>,
    /// Trips and probabilities that the user gave and that were used.
    pub given: Vec<Given>,
    /// Lines that were given and of no effect, because nothing there depends on data.
    pub unused: Vec<String>,
    /// CTAs that were walked; each speaks for all that do the same.
    pub ctas_walked: u64,
    /// Warp instructions that were walked.
    pub warp_instructions_walked: u64,
    /// CTAs that were executed all the same, to check their accesses and to trace them; 0 where the user wanted no run.
    #[serde(default)]
    pub ctas_executed: u64,
}

words! {
    /// The language of code: PTX (`ptx`), of which the timing simulation takes machine code that is generated here, or
    /// machine code (`machine`), which it takes as it is.
    "form" CodeForm {
        /// PTX.
        Ptx = "ptx",
        /// Machine code.
        Machine = "machine",
    }

    /// How code came about: it is the `input`, it was chosen among what the input, a `container`, holds for the GPU, a
    /// `compiler` of CUDA C++ made it, or `ptxas` made it of PTX.
    "origin" CodeOrigin {
        /// It is the input.
        Input = "input",
        /// It was chosen among what the input holds.
        Container = "container",
        /// A compiler of CUDA C++ made it.
        Compiler = "compiler",
        /// ptxas made it of PTX.
        Ptxas = "ptxas",
    }
}

/// The code that was executed and counted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Code {
    /// Its language.
    pub form: CodeForm,
    /// What it was made for, such as `sm_80`.
    pub target: String,
    /// How it came about.
    pub origin: CodeOrigin,
    /// Who assembled machine code, with the release, such as `ptxas 13.0`, where that is known.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub assembler: Held<String>,
}

words! {
    /// The basis of counts without a run.
    "basis" StaticBasis {
        /// They follow from the code, the launch and the arguments.
        Static = "static",
    }

    /// Why a count is an upper bound: both sides of a `branch` were counted, or every lane was taken to access an
    /// `address` of its own.
    "kind" BoundKind {
        /// A branch or guard depends on data.
        Branch = "branch",
        /// An address depends on data.
        Address = "address",
    }
}

/// A place where the counts are an upper bound.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// Why.
    pub kind: BoundKind,
    /// Number of the instruction in its module.
    #[serde(default)]
    pub pc: u32,
    /// Its line in the PTX, from 1.
    pub ptx_line: u32,
    /// File of the program, where the PTX says so; goes with `line`.
    #[serde(default)]
    pub file: Option<String>,
    /// Line in that file.
    #[serde(default)]
    pub line: Option<u32>,
    /// Opcode with modifiers.
    pub opcode: String,
}

/// What the user gave for a line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// The line: `12`, `ptx:12` or `source:12`.
    pub line: String,
    /// Trips, or a probability.
    pub value: Amount,
}
