//! What statistics counted: a key of the profile for each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Periods, Reuse, Space};

/// Results of statistics. A key that is missing, or `null`, is a statistic that was not counted.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Statistics {
    /// Reuse distances of the global loads of some warps, each warp by itself; not scaled. `null` where only counts are
    /// known.
    #[serde(default)]
    pub reuse: Option<Reuse>,
    /// Calculate periods of some warps; not scaled. `null` where only counts are known.
    #[serde(default)]
    pub periods: Option<Periods>,
    /// Atomic operations on the same address. `null` where nobody counted them.
    #[serde(default)]
    pub atomics: Option<Atomics>,
    /// Fetches from textures and accesses to surfaces. `null` where nobody counted them, and without a run where there are
    /// any.
    #[serde(default)]
    pub textures: Option<Textures>,
}

/// Fetches from textures and accesses to surfaces: requests of warps, and the distinct 32-byte sectors and 128-byte lines
/// of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Textures {
    /// Texture fetches by a warp with an active lane; one with more than 32 sectors counts for each 32. Nsight Compute:
    /// `l1tex__t_requests_pipe_tex_mem_texture.sum`.
    pub fetches: u64,
    /// Sectors with the texels that each fetch looks at. Nsight Compute: `l1tex__t_sectors_pipe_tex_mem_texture.sum`.
    pub fetched_sectors: u64,
    /// Lines of them.
    pub fetched_lines: u64,
    /// Surface loads by a warp with a lane inside.
    pub surface_loads: u64,
    /// Surface stores.
    pub surface_stores: u64,
    /// Surface reductions.
    pub surface_atomics: u64,
    /// Sectors of all accesses to surfaces. Nsight Compute: `l1tex__t_sectors_pipe_tex_mem_surface.sum`.
    pub surface_sectors: u64,
    /// Lines of them.
    pub surface_lines: u64,
}

/// Atomic operations: what one lane does with one element.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Atomics {
    /// By instruction, and by the space that it accesses.
    pub lines: Vec<AtomicLine>,
    /// How all operations on global memory spread over its words; `null` without any, and without a run.
    #[serde(default)]
    pub concentration: Option<Concentration>,
}

/// Atomic operations of one instruction on one space. A word are four aligned bytes, those that hold the operation's first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AtomicLine {
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
    /// Opcode with modifiers: operation and type among them.
    pub opcode: String,
    /// Space that it accesses; never `generic`.
    pub space: Space,
    /// Executions by a warp with an active lane. Nsight Compute: `smsp__inst_executed_op_global_atom.sum`,
    /// `smsp__inst_executed_op_global_red.sum` and `smsp__inst_executed_op_shared_atom.sum`.
    pub accesses: u64,
    /// Operations of their lanes.
    pub operations: u64,
    /// Sum over the accesses of the distinct words that each operates on.
    pub distinct_words: u64,
    /// Sum over the accesses of the most operations that each has on one word: 1 where no two of its operations meet.
    /// Without a run lanes whose address is not known count as if they met none.
    pub passes: u64,
    /// How its operations spread over the words of global memory; `null` of other spaces and without a run.
    #[serde(default)]
    pub concentration: Option<Concentration>,
}

/// How atomic operations spread over the words of global memory: those of the executed CTAs, not scaled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Concentration {
    /// Operations of the executed CTAs.
    pub operations: u64,
    /// Distinct words that they operate on; an estimate where not every word was looked at.
    pub words: u64,
    /// Most operations on one word, of those that were looked at.
    pub most_on_one_word: u64,
    /// One of so many words was looked at: 1 where all were, a power of two where there were more than 65,536.
    pub one_word_in: u64,
}
