//! How many instructions of a warp could issue together: instruction-level parallelism of the executed stream.
//!
//! Each basic block is scheduled once, without limits on what issues in a cycle: every instruction takes a cycle, and
//! issues in the first one in which all that it depends on has been issued before. The parallelism of an execution is
//! the instructions that its blocks executed over the lengths of their schedules. Two orders are scheduled:
//!
//! - reordered: by the rules of [load batches](crate::dependence): instructions move freely inside the block as far as
//!   their operands allow, nothing crosses a barrier, and an access stays behind a store that may touch the same bytes;
//! - program order: as above, but no instruction issues before the one in front of it.
//!
//! Nothing overlaps from block to block. A branch waits for its condition only.
//!
//! Machine code says itself what can issue together: instructions are paired where the first of two neighbours is not
//! followed by a stall for its result and the second waits for no barrier, so that the parallelism is at most 2
//! (Li et al. take it from the scheduling information of machine code in the same way).

use rustc_hash::FxHashMap;

use warplens_ir::ControlCode;

use crate::dependence::{MAX_ACCESSES, Step, Touch, Word};

/// Schedules of one block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Schedule {
    /// Source instructions that count.
    pub(crate) instructions: u32,
    /// Cycles with reordering inside the block.
    pub(crate) cycles: u32,
    /// Cycles in program order.
    pub(crate) cycles_program_order: u32,
}

/// A source instruction of a block: the operations that it lowers to.
pub(crate) struct Group<'a> {
    pub(crate) steps: Vec<&'a Step>,
    /// It counts, and takes a cycle; others take part in dependences and take none.
    pub(crate) counts: bool,
}

impl Schedule {
    /// The schedules of a block's source instructions.
    pub(crate) fn of(groups: &[Group<'_>]) -> Self {
        let cycles = |in_order| {
            let mut issue = Issue { in_order, ..Issue::default() };
            groups.iter().for_each(|group| issue.issue(group));
            issue.end
        };
        Self {
            instructions: groups.iter().filter(|group| group.counts).count() as u32,
            cycles: cycles(false),
            cycles_program_order: cycles(true),
        }
    }
}

/// Longest stall behind an instruction whose result the next one does not need: a result takes more cycles, and units that
/// take an instruction every other cycle ask for two.
const LONGEST_PAIRED: u8 = 2;

impl Schedule {
    /// Those of machine code, by the control codes of its instructions.
    pub(crate) fn of_machine_code(controls: &[ControlCode]) -> Self {
        let mut cycles = 0;
        let mut rest = controls;
        while let [first, behind @ ..] = rest {
            let is_pair = behind.first().is_some_and(|second| first.stall <= LONGEST_PAIRED && second.waits == 0);
            rest = if is_pair { &behind[1..] } else { behind };
            cycles += 1;
        }
        Self { instructions: controls.len() as u32, cycles, cycles_program_order: cycles }
    }
}

/// A schedule under way. Cycles count from 0.
#[derive(Default)]
struct Issue {
    in_order: bool,
    /// Cycle in which a word can first be read, if not 0.
    available: FxHashMap<Word, u32>,
    /// First cycle for instructions behind the last barrier, or behind the last instruction if they keep their order.
    floor: u32,
    /// Cycles so far.
    end: u32,
    /// Accesses since the last barrier, each with the first cycle for what must follow it.
    accesses: Vec<(Touch, u32)>,
    /// Latest such cycle of the accesses that `accesses` no longer holds.
    crowd: u32,
}

impl Issue {
    fn issue(&mut self, group: &Group<'_>) {
        let mut at = self.floor;
        let mut own: Vec<Word> = Vec::new();
        for step in &group.steps {
            let from_others = step.reads.iter().filter(|word| !own.contains(word));
            at = from_others.filter_map(|word| self.available.get(word).copied()).fold(at, u32::max);
            for touch in &step.memory {
                let earlier = self.accesses.iter().filter(|(other, _)| touch.must_follow(other));
                at = earlier.map(|&(_, next)| next).fold(at.max(self.crowd), u32::max);
            }
            if step.is_barrier {
                at = at.max(self.end);
            }
            own.extend(&step.writes);
        }
        let next = at + u32::from(group.counts);
        for step in &group.steps {
            for &word in &step.writes {
                let entry = self.available.entry(word).or_insert(0);
                *entry = if step.is_guarded { next.max(*entry) } else { next };
            }
            if step.is_barrier {
                self.floor = next;
                self.accesses.clear();
            } else {
                step.memory.iter().for_each(|touch| self.remember(*touch, next));
            }
        }
        if self.in_order {
            self.floor = self.floor.max(at);
        }
        self.end = self.end.max(next);
    }

    fn remember(&mut self, touch: Touch, next: u32) {
        if self.accesses.len() == MAX_ACCESSES {
            self.crowd = self.accesses.drain(..).map(|(_, next)| next).fold(self.crowd, u32::max);
        }
        self.accesses.push((touch, next));
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use warplens_ir::ControlCode;

    #[test]
    fn machine_code_pairs_neighbours() {
        let code = |stall, waits| ControlCode { stall, waits, ..ControlCode::default() };
        let cycles = |controls: &[ControlCode]| Schedule::of_machine_code(controls).cycles;
        assert_eq!(cycles(&[]), 0);
        assert_eq!(cycles(&[code(1, 0); 6]), 3);
        assert_eq!(cycles(&[code(4, 0); 6]), 6);
        // The third waits for a barrier, so that the second has no partner.
        assert_eq!(cycles(&[code(4, 0), code(1, 0), code(1, 1), code(1, 0)]), 3);
    }
}
