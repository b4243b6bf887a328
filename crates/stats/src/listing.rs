//! Executions of every instruction, by its line: what a listing of the program shows beside the text.
//!
//! They follow from the executions of blocks. They are no part of a profile, whose lines are the instructions that can
//! cost more than their issue.

use crate::{Counting, Recorder};

/// Executions of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Executed {
    /// Its line in the PTX, from 1.
    pub ptx_line: u32,
    /// File and line of the program, if the PTX says so.
    pub source: Option<(String, u32)>,
    /// Executions by a warp, scaled to the whole grid.
    pub executed: u64,
    /// Threads for which the guard was true, scaled likewise.
    pub threads: u64,
}

impl Recorder {
    /// Executions of each block that was executed, by its number in the module, scaled to the whole grid.
    pub fn executions(&self) -> Vec<(u32, u64)> {
        let scale = self.scale();
        let numbered = (self.program.first_block..).zip(&self.blocks);
        numbered
            .filter(|(_, block)| block.executions > 0)
            .map(|(id, block)| (id, scale.apply(block.executions)))
            .collect()
    }

    /// Executions of every instruction of the kernel and the functions that it may call, in the order of the program.
    pub fn listing(&self, counting: Counting) -> Vec<Executed> {
        let scale = self.scale();
        let facts =
            self.program.pcs.iter().enumerate().filter_map(|(at, facts)| facts.as_ref().map(|facts| (at, facts)));
        let executed = facts.filter(|(_, facts)| counting.includes(facts.class)).map(|(at, facts)| {
            let block = &self.blocks[facts.block];
            let off = self.off_lanes(at, facts).min(block.lanes);
            Executed {
                ptx_line: facts.ptx_line,
                source: facts.source.clone(),
                executed: scale.apply(block.executions),
                threads: scale.apply(block.lanes - off),
            }
        });
        executed.collect()
    }
}
