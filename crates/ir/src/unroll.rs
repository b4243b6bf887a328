//! Loops that an assembler unrolls.
//!
//! A loop of one block whose number of turns is known becomes as many copies of the block, without the branch between
//! them, and one block with what comes before and behind it ([`Chain`]). Each copy has registers of its own for what it
//! leaves to the next ones only, and what its counter makes of constants is a constant. What else that allows, such as
//! one load for neighbouring numbers of several turns, is left to who makes code of it.
//!
//! Which loops ptxas unrolls is not documented. The limits were read off the machine code that ptxas 13.5 makes of
//! test kernels for 7.5, 8.0, 8.6 and 9.0, with 1 to 200 operations, 0 to 24 loads and 2 to 64 turns (`find`).
//!
//! Of other loops of one block that count up to something, a few turns are put together and the loop goes on behind them
//! (`partial`): four where their number is not known. What is left over is executed turn by turn; ptxas has two turns
//! together once more before that, which is left out here.

mod find;
mod known;
mod merge;
mod partial;

use warplens_isa::{BlockId, Pc};

use crate::{FunctionId, Module};
use find::Finder;
use merge::{Merger, live};

/// Blocks that follow each other and are one block of an unrolled function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chain {
    /// The blocks in the order in which a warp executes them. The first of them holds all operations in the unrolled
    /// module; the others are empty there, and nothing leads to them. A loop of which some turns are together is the same
    /// block that many times.
    pub blocks: Vec<BlockId>,
}

impl Chain {
    /// True for some turns of a loop that goes on behind them.
    pub fn goes_back(&self) -> bool {
        self.blocks.iter().all(|block| *block == self.blocks[0])
    }
}

/// A module with unrolled loops.
#[derive(Clone, Debug)]
pub struct Unrolled {
    /// The same functions with the same blocks. Operations of chains have program counters of their own. A loop of which
    /// some turns are together ([`Chain::goes_back`]) has no way out between them: it computes what the program does only
    /// where that many are left.
    pub module: Module,
    /// What was put together, in the order of the first blocks.
    pub chains: Vec<Chain>,
    /// By program counter beyond those of the original: which it copies, and for which block of its chain.
    copies: Vec<(Pc, u16)>,
    n_pcs: usize,
}

impl Unrolled {
    /// Unrolls loops of these functions for a target of compute capability `target` (80 for `sm_80`); none where there is
    /// nothing to unroll.
    pub fn new(module: &Module, functions: &[FunctionId], target: u32) -> Option<Self> {
        Self::of(module, functions, |finder| [finder.chains(), finder.in_part()].concat(), target)
    }

    /// The same, of loops whose turns are all known and put together.
    pub fn whole(module: &Module, functions: &[FunctionId], target: u32) -> Option<Self> {
        Self::of(module, functions, |finder| finder.chains(), target)
    }

    fn of(
        module: &Module,
        functions: &[FunctionId],
        chains: impl Fn(&Finder<'_>) -> Vec<Chain>,
        target: u32,
    ) -> Option<Self> {
        let mut unrolled =
            Self { module: Module::default(), chains: Vec::new(), copies: Vec::new(), n_pcs: module.pcs.len() };
        let mut changed: Option<Module> = None;
        for &id in functions {
            let finder = Finder::new(module, &module.functions[id], target);
            let found = chains(&finder);
            let Some(live) = (!found.is_empty()).then(|| live(module, &module.functions[id])) else { continue };
            for chain in found {
                let changed = changed.get_or_insert_with(|| module.clone());
                let merged =
                    Merger::new(module, changed, id, &finder.constants).merge(&chain, &live, &mut unrolled.copies);
                if merged.is_some() {
                    unrolled.chains.push(chain);
                }
            }
        }
        unrolled.chains.sort_unstable_by_key(|chain| chain.blocks[0]);
        unrolled.module = changed.filter(|_| !unrolled.chains.is_empty())?;
        Some(unrolled)
    }

    /// The program counter that a copy copies, and the number of its block in its chain.
    pub fn origin(&self, pc: Pc) -> (Pc, u16) {
        let copy = (pc.0 as usize).checked_sub(self.n_pcs);
        copy.map_or((pc, 0), |copy| self.copies[copy])
    }

    /// The chain that begins with a block.
    pub fn chain(&self, first: BlockId) -> Option<usize> {
        self.chains.binary_search_by_key(&first, |chain| chain.blocks[0]).ok()
    }
}
