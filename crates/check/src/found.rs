//! What was found.

use std::collections::BTreeMap;

use warplens_isa::Pc;
use warplens_trace::CtaId;

/// What two accesses of a race do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Hazard {
    /// A read of what another warp has written.
    ReadAfterWrite,
    /// A write to what another warp has read.
    WriteAfterRead,
    /// A write to what another warp has written.
    WriteAfterWrite,
}

/// What is wrong with an access.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// It reads bytes of the device's memory that nothing has written.
    Unwritten,
    /// Nothing orders it and another warp's access to the same byte of shared memory.
    Race {
        /// What the two do.
        hazard: Hazard,
        /// The other access, which came first here.
        other: Pc,
    },
}

/// An access that is wrong, with an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Found {
    /// What is wrong.
    pub fault: Fault,
    /// The access.
    pub pc: Pc,
    /// The first block that made it, in their order in the grid.
    pub cta: CtaId,
    /// The thread of that block by its number.
    pub thread: u32,
    /// For a race, the warp of the other access.
    pub other_warp: Option<u32>,
    /// The first byte that it is true of.
    pub address: u64,
    /// Bytes of the access.
    pub bytes: u32,
    /// How many threads did that, and how often.
    pub count: u64,
}

/// All that was found, once for each instruction and fault.
#[derive(Clone, Default, Debug)]
pub(crate) struct Findings(BTreeMap<(Pc, Fault), Found>);

impl Findings {
    /// Adds something that was found.
    pub(crate) fn add(&mut self, found: Found) {
        let known = self.0.entry((found.pc, found.fault)).or_insert(Found { count: 0, ..found });
        let count = known.count + found.count;
        // The example does not depend on who is heard of first.
        if (found.cta, found.thread, found.address) < (known.cta, known.thread, known.address) {
            *known = found;
        }
        known.count = count;
    }

    /// Adds what others found.
    pub(crate) fn extend(&mut self, others: Self) {
        others.0.into_values().for_each(|found| self.add(found));
    }

    /// In the order of the instructions.
    pub(crate) fn list(self) -> Vec<Found> {
        self.0.into_values().collect()
    }
}
