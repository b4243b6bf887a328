//! `warplens.profile/1`: the counts of launches, from a run, from the code alone, or from a profiler.

mod lines;
mod memory;
mod origin;
mod recording;
mod sequences;
pub mod statistics;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use lines::{Line, Space};
pub use memory::{BankRule, CoalescingRule, Constant, Memory, Shared};
pub use origin::{
    Bound, BoundKind, Code, CodeForm, CodeOrigin, Emulation, Given, Measured, Origin, Race, Static, StaticBasis,
    Support, Unsupported,
};
pub use recording::{Elsewhere, Generation, Recording};
pub use sequences::{Histogram, Part, Period, Periods, Repeated, Reuse, Stream};
use statistics::Statistics;

use crate::words::words;
use crate::{Amount, Factor, Held, Identified, Launches, Named, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] = &[entry::<Document>("counts of launches; read, too")];

/// The document.
pub type Document = Launches<Profile>;

/// The counts of one launch. A key that is missing is a count that the profile does not hold.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Profile {
    /// Name of the kernel in the PTX or the binary.
    pub kernel: String,
    /// Name of the kernel as C++ has it.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub kernel_demangled: Held<String>,
    /// The launch. Nsight Compute: `launch__*`.
    pub launch: Launch,
    /// The counts.
    #[serde(flatten)]
    pub counts: Counts,
    /// Where they come from.
    #[serde(flatten)]
    pub origin: Origin,
    /// What the timing simulation needs beside the counts, where it was recorded.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub recording: Held<Recording>,
    /// The launch on other GPUs than those of the counts above: of other generations, where it may have run differently,
    /// and with code of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
}

impl Identified for Profile {
    const ID: &'static str = "warplens.profile/1";
    const IS_READ: bool = true;
}

/// Shape of a launch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// CTAs per axis.
    pub grid: Extents,
    /// Threads per axis.
    pub block: Extents,
    /// CTAs of a cluster per axis, of launches in clusters.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub cluster: Held<Extents>,
    /// Static and dynamic shared memory per CTA in bytes.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub shared_bytes: Held<u64>,
    /// Registers per thread.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub registers: Held<u32>,
    /// Where the number of registers comes from; `user` where it is not said.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub registers_basis: Held<RegistersBasis>,
}

/// Three extents: x, y and z.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, title = "extents")]
pub struct Extents(pub [u32; 3]);

words! {
    /// Where a number of registers comes from: the user, ptxas, an estimate from live ranges, or a profiler.
    "basis" RegistersBasis {
        /// Given by the user.
        User = "user",
        /// Reported by ptxas.
        Ptxas = "ptxas",
        /// Estimated from live ranges.
        Estimate = "estimate",
        /// Reported by a profiler on a GPU.
        Profiler = "profiler",
    }

    /// Which instructions are counted: those of the PTX as written (`ptx`), those without what `--count machine` leaves
    /// out (`ptx-reduced`), or those of machine code, which was executed here or counted by a profiler on a GPU (`machine`).
    "basis" Counted {
        /// Those of the PTX as written.
        Ptx = "ptx",
        /// Those of the PTX without register copies, address conversions and parameter loads.
        Reduced = "ptx-reduced",
        /// Those of the machine code.
        Machine = "machine",
    }

    /// Class of an operation, as timing distinguishes them.
    "class" Class {
        /// f32 arithmetic.
        Fp32 = "fp32",
        /// f64 arithmetic.
        Fp64 = "fp64",
        /// f16 and bf16 arithmetic.
        Fp16 = "fp16",
        /// Integer add, logic, shift, compare, select.
        Int = "int",
        /// Integer multiply and multiply-add.
        IntMul = "int_mul",
        /// Approximate functions.
        Sfu = "sfu",
        /// Conversions between types.
        Convert = "convert",
        /// Loads and stores of every space.
        Memory = "memory",
        /// Atomics and reductions to memory.
        Atomic = "atomic",
        /// Branch, call, return, exit.
        Control = "control",
        /// CTA barriers and memory fences.
        Barrier = "barrier",
        /// Exchange inside a warp.
        Warp = "warp",
        /// Matrix multiply-accumulate.
        Tensor = "tensor",
        /// What machine code mostly does without.
        Virtual = "virtual",
        /// Everything else.
        Other = "other",
    }
}

/// The counts of one launch, scaled to the whole of it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Counts {
    /// Which instructions are counted; `ptx` where it is not said.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub counted: Held<Counted>,
    /// Names of the counts that the profile does not hold. Not read: the keys that are there decide.
    #[serde(default)]
    pub absent: Vec<String>,
    /// Which CTAs the counts come from; all of them where it is not said.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub coverage: Held<Coverage>,
    /// Launched warps: CTAs times warps per CTA. Nsight Compute: `launch__waves_per_multiprocessor` counts waves instead.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub warps: Held<u64>,
    /// Warp instructions.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub instructions: Held<Instructions>,
    /// Active lanes of all warp instructions. Nsight Compute: `smsp__thread_inst_executed.sum`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub thread_instructions: Held<u64>,
    /// Thread instructions whose guard was true. Nsight Compute: `smsp__thread_inst_executed_pred_on.sum`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub thread_instructions_pred_on: Held<u64>,
    /// Thread instructions per warp instruction; not read. Nsight Compute:
    /// `smsp__thread_inst_executed_per_inst_executed.ratio`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub mean_active_lanes: Held<Number>,
    /// Branch instructions.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub branches: Held<u64>,
    /// Branches that sent lanes both ways. Nsight Compute: `smsp__sass_branch_targets_threads_divergent.sum`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub divergent_branches: Held<u64>,
    /// CTA barriers.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub barriers: Held<u64>,
    /// Executions of operations that expand or are slow, by `kind.type`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub high_latency: Held<Named<String, u64>>,
    /// Global memory by coalescing rule, atomics included.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub global: Held<Named<CoalescingRule, Memory>>,
    /// Local memory by coalescing rule.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub local: Held<Named<CoalescingRule, Memory>>,
    /// Shared memory by bank rule.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub shared: Held<Named<BankRule, Shared>>,
    /// Constant memory, parameters excluded.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub constant: Held<Constant>,
    /// Distinct 32-byte sectors of global memory that the launch reads.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub distinct_sectors_read: Held<u64>,
    /// Distinct 32-byte sectors of global memory that the launch writes.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub distinct_sectors_written: Held<u64>,
    /// 32-byte sectors that a profiler counted at device memory; only in profiles from one. Nsight Compute:
    /// `dram__sectors_read.sum`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub dram_sectors_read: Held<u64>,
    /// The same for writing. Nsight Compute: `dram__sectors_write.sum`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub dram_sectors_written: Held<u64>,
    /// Global loads of several elements per lane.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub vector_loads: Held<u64>,
    /// Mean number of loads that a warp has in flight, with reordering inside blocks; `null` without a global load.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub independent_loads: Held<Option<Factor>>,
    /// The same in program order.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub independent_loads_program_order: Held<Option<Factor>>,
    /// Warp instructions that issue, in program order, while a value that a warp has loaded from global memory is on its
    /// way and not yet needed; loads and `virtual` instructions left out.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub overlap_instructions: Held<u64>,
    /// By coalescing rule: transactions over distinct segments of the loads of a CTA.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub duplicate_loads: Held<Named<CoalescingRule, Factor>>,
    /// Share of the CTAs that this was counted on; 1 where it is not said.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub duplicate_share: Held<Amount>,
    /// Instructions over the cycles of a schedule that only dependences limit, with reordering inside blocks; `null` when
    /// nothing was executed.
    #[serde(default)]
    pub instruction_parallelism: Option<Factor>,
    /// The same in program order.
    #[serde(default)]
    pub instruction_parallelism_program_order: Option<Factor>,
    /// What statistics counted.
    #[serde(flatten)]
    pub statistics: Statistics,
    /// Counts may depend on the order in which warps run.
    #[serde(default)]
    pub order_dependent: bool,
    /// Counts of each memory instruction, branch and barrier. Nsight Compute: source counters.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub lines: Held<Vec<Line>>,
}

/// Which CTAs the counts come from.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Coverage {
    /// CTAs that were executed.
    pub ctas_executed: u64,
    /// CTAs of the grid.
    pub ctas_total: u64,
    /// (Largest - smallest) / mean of the instructions per executed CTA; `"nan"` where they were counted together.
    pub spread: Number,
}

/// Warp instructions with an active lane.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Instructions {
    /// All of them. Nsight Compute: `smsp__inst_executed.sum`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub total: Held<u64>,
    /// The same by class.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub by_class: Held<Named<Class, u64>>,
    /// The same by opcode with modifiers. Nsight Compute: `sass__inst_executed_per_opcode`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub by_opcode: Held<Named<String, u64>>,
    /// Share of register copies, address conversions and parameter loads; not read.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub virtual_share: Held<Number>,
}
