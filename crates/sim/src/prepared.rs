//! What is the same of an instruction whenever it is issued: found once for a job, in a table beside its code.

use warplens_isa::StateSpace;
use warplens_machine::words::IssueOccupies;
use warplens_trace::{MachineClass, MachineInst};

use crate::unit::scheduler::UNITS;
use crate::{Pipe, SmConfig, Stall};

/// The way to the memory unit, among the units of a scheduler: the others are its pipes.
pub(crate) const LSU: usize = Pipe::ALL.len();
const _: () = assert!(LSU < UNITS, "there is a place for each unit");

/// Of one instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Prepared {
    /// Cycles for which it occupies its pipe, or the scheduler.
    pub(crate) interval: f64,
    /// Cycles to its result, where no memory has a part in it.
    pub(crate) latency: f64,
    /// Fewest cycles after which it writes its results.
    pub(crate) shortest_latency: u64,
    /// Cycles before the same warp can issue again.
    pub(crate) same_warp: u64,
    /// The unit of its scheduler that takes it: a pipe, or the way to the memory unit.
    pub(crate) unit: u8,
    /// How it is executed.
    pub(crate) way: Way,
    /// What waiting for its unit is called.
    pub(crate) throttle: Stall,
    /// What waiting for its result is called, where no memory has a part in it.
    pub(crate) waits: Stall,
    /// What the assembler has spaced is there for whoever comes behind that space.
    pub(crate) is_spaced: bool,
    /// Where it accesses memory, its accesses never leave the SM.
    pub(crate) is_on_chip: bool,
}

/// How an instruction is executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// By the memory unit.
    Memory,
    /// Arithmetic with an operand in shared memory (compute capability 1.x).
    SharedOperand,
    /// Arithmetic, and what keeps the warp itself from going on.
    Plain,
}

impl Prepared {
    /// Of an instruction on an SM.
    pub(crate) fn new(inst: &MachineInst, config: &SmConfig, longest_interval: f64) -> Self {
        let timing = config.class(inst.timed_as());
        let way = match (goes_through_lsu(inst.class), inst.touches_memory()) {
            (true, _) => Way::Memory,
            (false, true) => Way::SharedOperand,
            (false, false) => Way::Plain,
        };
        let is_on_chip = matches!(inst.space, StateSpace::Shared | StateSpace::Const | StateSpace::Param)
            || inst.class == MachineClass::Shuffle;
        let same_warp = if way == Way::Memory && is_on_chip { config.shared.same_warp } else { timing.same_warp };
        let shortest = if inst.touches_memory() { config.shared.latency } else { timing.latency };
        Self {
            interval: (timing.interval * f64::from(inst.units())).min(longest_interval),
            latency: f64::from(timing.latency_of(inst)),
            shortest_latency: u64::from(shortest),
            same_warp: u64::from(same_warp.max(1).max(u32::from(inst.stall))),
            unit: if way == Way::Memory { LSU as u8 } else { timing.pipe as u8 },
            way,
            throttle: throttle(inst, config.occupies),
            waits: if timing.variable { Stall::ShortScoreboard } else { Stall::Wait },
            is_spaced: inst.stall > 0 && !timing.variable && way == Way::Plain,
            is_on_chip,
        }
    }
}

/// True for instructions that take the way of the memory unit.
fn goes_through_lsu(class: MachineClass) -> bool {
    class.accesses_memory() || class == MachineClass::Shuffle
}

/// The name of waiting for the unit.
fn throttle(inst: &MachineInst, occupies: IssueOccupies) -> Stall {
    if occupies == IssueOccupies::Scheduler {
        return Stall::NotSelected;
    }
    match (goes_through_lsu(inst.class), inst.space) {
        (false, _) => Stall::MathPipeThrottle,
        (
            true,
            StateSpace::Global | StateSpace::Local | StateSpace::Generic | StateSpace::Surface | StateSpace::Texture,
        ) if inst.class != MachineClass::Shuffle => Stall::LgThrottle,
        (true, _) => Stall::MioThrottle,
    }
}
