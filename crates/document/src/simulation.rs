//! What a timing simulation of one SM found: part of predictions, `warplens.annotate/1` and `warplens.scale/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::predict::Refused;
use crate::{Held, Id, Identified, Named, Number, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] =
    &[entry::<Annotate>("what each line spends"), entry::<Scale>("throughput of an SM by the number of warps")];

/// What the simulation of one SM found. Everything is of that SM and of the blocks that were simulated on it, not of the
/// launch.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// Cycles that were simulated. Nsight Compute: `sm__cycles_active`.
    pub sm_cycles: u64,
    /// Blocks in them.
    pub sm_ctas: u64,
    /// Warp instructions issued. Nsight Compute: `sm__inst_issued`.
    pub issued: u64,
    /// The same per cycle. Nsight Compute: `sm__inst_issued.avg.per_cycle_active`.
    pub ipc: Number,
    /// Mean number of resident warps. Nsight Compute: `sm__warps_active.avg.per_cycle_active`.
    pub achieved_warps: Number,
    /// Warp cycles by state. Nsight Compute: `smsp__average_warps_issue_stalled_*`, warp sampling.
    pub stalls: Stalls,
    /// By warp scheduler. Nsight Compute: `smsp__*`.
    pub schedulers: Vec<Scheduler>,
    /// By kind of unit. Nsight Compute: `sm__inst_executed_pipe_*`.
    pub units: Vec<Unit>,
    /// What went to the caches. Nsight Compute: `l1tex__t_sector_hit_rate`, `lts__t_sector_hit_rate`.
    pub traffic: Traffic,
}

/// Warp cycles by state, those that occur: `selected` issues, every other state is a reason not to, as Nsight Compute names
/// it.
pub type Stalls = Named<String, u64>;

/// One warp scheduler.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scheduler {
    /// Warp instructions issued.
    pub issued: u64,
    /// Warp cycles by state.
    pub stalls: Stalls,
}

/// One kind of unit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unit {
    /// Its name.
    pub name: String,
    /// How many the SM has.
    pub count: u64,
    /// Share of the cycles in which they were busy.
    pub utilisation: Number,
}

/// What went to the caches.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Sectors of loads asked of the L1 cache.
    pub l1_sectors: u64,
    /// Hits among them.
    pub l1_hits: u64,
    /// Their share; `null` without a sector.
    pub l1_hit_share: Option<Number>,
    /// Sectors of loads and stores asked of the L2 cache.
    pub l2_sectors: u64,
    /// Hits among them.
    pub l2_hits: u64,
    /// Their share; `null` without a sector.
    pub l2_hit_share: Option<Number>,
    /// Bytes of device memory.
    pub dram_bytes: u64,
    /// Passes through shared memory beyond the fewest possible.
    pub conflict_passes: u64,
}

/// The document of the `annotate` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Annotate {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// One entry per launch and GPU.
    pub annotations: Vec<Annotation>,
}

impl Identified for Annotate {
    const ID: &'static str = "warplens.annotate/1";
}

/// What the instructions of a launch spent on a GPU. Where the simulation has no answer, `time_us` is `null`, `refused` is
/// there, and the rest is not.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Annotation {
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Name of the kernel as C++ has it.
    pub kernel_demangled: String,
    /// Label of the GPU.
    pub gpu: String,
    /// Execution time of the launch in microseconds.
    pub time_us: Option<Number>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub refused: Held<Refused>,
    /// What all instructions spent.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub whole: Held<Spent>,
    /// Those that belong to no line of the texts.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub elsewhere: Held<Spent>,
    /// The listing, or each source file.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub texts: Held<Vec<Text>>,
    /// The simulated SM.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub teg: Held<Simulation>,
}

/// What instructions spent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spent {
    /// Machine instructions in the code.
    pub machine_instructions: u64,
    /// Warp instructions issued.
    pub issued: u64,
    /// Cycles that resident warps spent until they were issued.
    pub warp_cycles: u64,
    /// Their share of all.
    pub share: Number,
    /// The same by state.
    pub stalls: Stalls,
}

/// A listing or a source file.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// Its name.
    pub name: String,
    /// Lines that take 80 % of the warp cycles together.
    pub hottest: Vec<u32>,
    /// Lines with instructions that ran.
    pub lines: Vec<AnnotatedLine>,
}

/// A line with instructions that ran.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct AnnotatedLine {
    /// What they spent.
    #[serde(flatten)]
    pub spent: Spent,
    /// Its number, from 1.
    pub line: u32,
    /// Its text.
    pub text: String,
    /// Of an instruction of machine code: how it is issued.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub control: Held<Control>,
    /// Of an instruction of machine code: the file of the program that it came from; goes with `source_line`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub source_file: Held<String>,
    /// The line in that file, from 1.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub source_line: Held<u32>,
    /// Of an instruction of machine code: the line of the PTX that it came from, from 1; goes with `ptx`.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub ptx_line: Held<u32>,
    /// The text of that line.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub ptx: Held<String>,
}

/// What the assembler wrote about the issue of an instruction.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Cycles until the warp may issue its next instruction.
    pub stall_cycles: u8,
    /// The scheduler is told to look for another warp.
    pub yields: bool,
    /// The dependency barrier that is released when the result is written.
    pub write_barrier: Option<u8>,
    /// The one that is released when the sources were read.
    pub read_barrier: Option<u8>,
    /// Barriers that are waited for before issue.
    pub waits: Vec<u8>,
    /// Source operands that stay in the operand cache, from 0.
    pub reuse: Vec<u8>,
}

/// The document of the `scale` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// One entry per launch and GPU, by the timing simulation.
    pub scales: Vec<Scaling>,
    /// One entry per launch and GPU, by the model of Luo and Suda where that is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_warps: Vec<OverWarps>,
}

impl Identified for Scale {
    const ID: &'static str = "warplens.scale/1";
}

/// Throughput of an SM by the number of warps. Where the simulation has no answer, `steps` is `null`, `refused` is there, and
/// the rest is not.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scaling {
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Name of the kernel as C++ has it.
    pub kernel_demangled: String,
    /// Label of the GPU.
    pub gpu: String,
    /// The clock in hertz.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub clock_hz: Held<Number>,
    /// Warps of a CTA.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub warps_per_cta: Held<u64>,
    /// CTAs that fit an SM.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub ctas_per_sm: Held<u64>,
    /// From one warp to all.
    pub steps: Option<Vec<Step>>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub refused: Held<Refused>,
    /// Sentences that must hold.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub assumptions: Held<Vec<String>>,
}

/// The time of the same work by the number of warps that do it. Where the model has no answer, `points` is `null` and
/// `refused` is there.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverWarps {
    /// Name of the kernel in the PTX.
    pub kernel: String,
    /// Name of the kernel as C++ has it.
    pub kernel_demangled: String,
    /// Label of the GPU.
    pub gpu: String,
    /// The clock in hertz.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub clock_hz: Held<Number>,
    /// From one warp on each SM to all that it holds.
    pub points: Option<Vec<WarpsPoint>>,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub refused: Held<Refused>,
    /// Sentences that must hold.
    #[serde(default, skip_serializing_if = "Held::is_missing")]
    pub assumptions: Held<Vec<String>>,
}

/// The work of a launch, done by so many warps on each SM.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WarpsPoint {
    /// Warps on each SM.
    pub warps: u64,
    /// Cycles of all work.
    pub cycles: Number,
    /// Computation parallelism (CPD).
    pub cpd: Number,
    /// Of the cycles, waiting for accesses of the same calculate period (T_c).
    pub t_c_cycles: Number,
    /// Of the cycles, waiting for accesses of the period before (T_p).
    pub t_p_cycles: Number,
}

/// A number of warps.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Warps on the SM: the first of one block, or all of so many blocks.
    pub warps: u64,
    /// Blocks that they belong to.
    pub ctas: u64,
    /// Cycles of the simulated SM.
    pub cycles: u64,
    /// Warp instructions issued in them.
    pub issued: u64,
    /// The same per cycle.
    pub ipc: Number,
    /// n T(1) / T(n) for n warps with n times the work of one.
    pub speedup: Number,
    /// That over n.
    pub efficiency: Number,
    /// What grew most since the step before; `null` where nothing grew.
    pub stop: Option<Stop>,
    /// The unit that is busy most.
    pub busiest: Option<Busiest>,
}

/// A state whose warp cycles per instruction grew.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The state.
    pub stall: String,
    /// By how many cycles per instruction.
    pub growth_cycles: Number,
}

/// A busy unit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Busiest {
    /// Its name.
    pub name: String,
    /// Share of the cycles in which it was busy.
    pub utilisation: Number,
}
