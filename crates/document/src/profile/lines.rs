//! Counts of single instructions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BankRule, CoalescingRule, Memory, Shared};
use crate::Named;
use crate::words::words;

words! {
    /// State space of a memory instruction.
    "space" Space {
        /// Any of the others, by address.
        Generic = "generic",
        /// Device memory.
        Global = "global",
        /// Memory of one CTA.
        Shared = "shared",
        /// Memory of one thread.
        Local = "local",
        /// Constant memory.
        Const = "const",
        /// Parameters of the kernel.
        Param = "param",
        /// Device memory as textures show it.
        Texture = "texture",
        /// Device memory as surfaces show it.
        Surface = "surface",
    }
}

/// Counts of one memory instruction, branch or barrier.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
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
    /// Space, of a memory instruction.
    #[serde(default)]
    pub space: Option<Space>,
    /// Executions by a warp.
    pub executed: u64,
    /// Threads that took part.
    pub threads: u64,
    /// Executions in which a branch sent lanes both ways.
    pub divergent: u64,
    /// Global or local memory by coalescing rule.
    #[serde(default)]
    pub memory: Named<CoalescingRule, Memory>,
    /// Shared memory by bank rule.
    #[serde(default)]
    pub shared: Named<BankRule, Shared>,
}
