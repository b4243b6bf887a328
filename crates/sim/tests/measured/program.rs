//! Loops of a few instructions, and machines.

use warplens_isa::StateSpace;
use warplens_machine::{Machine, Reader, Strictness, builtin};
use warplens_sim::{Job, Options, Outcome, SmConfig, Surroundings, simulate};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaId, CtaTrace, MachineClass, MachineInst, RegisterNumber, WarpTrace,
    WarpTraceBuilder,
};

/// A board as the simulation sees it for code of these classes.
pub(crate) fn config(id: &str, used: &[MachineClass]) -> SmConfig {
    let machine: Machine = builtin::machine(id).expect("a built-in name").expect("a good file");
    let mut reader = Reader::new(&machine, Strictness::AllowInferred);
    SmConfig::read(&mut reader, used).unwrap_or_else(|missing| panic!("{missing}"))
}

/// Code of one block, the body of a loop.
#[derive(Default)]
pub(crate) struct Loop {
    pub(crate) code: Code,
    n_slots: u16,
}

impl Loop {
    pub(crate) fn inst(&mut self, class: MachineClass, reads: &[RegisterNumber], writes: &[RegisterNumber]) {
        let (reads, writes) = (self.code.operands_of(reads), self.code.operands_of(writes));
        self.code.insts.push(MachineInst { reads, writes, ..MachineInst::new(class, 0) });
        let end = u32::try_from(self.code.insts.len()).expect("a short loop");
        self.code.blocks.clear();
        self.code.blocks.push(0..end);
    }

    /// A load from global memory; its slots are numbered in order.
    pub(crate) fn load(&mut self, reads: &[RegisterNumber], writes: &[RegisterNumber]) {
        self.inst(MachineClass::Load, reads, writes);
        let last = self.code.insts.last_mut().expect("just pushed");
        (last.slot, last.space) = (self.n_slots, StateSpace::Global);
        self.n_slots += 1;
    }

    /// A warp that goes through the loop as often as `loads` has rows for all its slots.
    pub(crate) fn warp(&self, element_bytes: u8, loads: impl Iterator<Item = WarpLoad>) -> WarpTrace {
        let mut trace = WarpTraceBuilder::default();
        for (n, load) in loads.enumerate() {
            let slot = u16::try_from(n % usize::from(self.n_slots)).expect("a remainder");
            if slot == 0 {
                trace.step(0, ActiveMask::FULL);
            }
            let addresses = match load {
                WarpLoad::Affine { base, stride } => {
                    std::array::from_fn(|lane| base.wrapping_add_signed(stride * lane as i64))
                }
                WarpLoad::Listed(addresses) => *addresses,
            };
            let size = (element_bytes, 1);
            trace.access(slot, StateSpace::Global, AccessKind::Load, size, ActiveMask::FULL, &addresses);
        }
        trace.finish()
    }

    /// CTAs one after the other on an SM that is alone, with so many bytes of shared memory.
    pub(crate) fn run(
        &self,
        config: &SmConfig,
        shared_bytes: u64,
        ctas: impl IntoIterator<Item = Vec<WarpTrace>>,
    ) -> Outcome {
        let ctas: Vec<CtaTrace> =
            (0..).zip(ctas).map(|(id, warps)| CtaTrace { id: CtaId(id), warps: warps.into() }).collect();
        let surroundings = Surroundings { shared_bytes, ..Surroundings::ALONE };
        let job = Job { code: &self.code, ctas: &ctas, resident: 1, surroundings, footprint: None };
        simulate(config, &job, Options::default())
    }
}

/// Addresses of a load.
pub(crate) enum WarpLoad {
    Affine { base: u64, stride: i64 },
    Listed(Box<[u64; 32]>),
}
