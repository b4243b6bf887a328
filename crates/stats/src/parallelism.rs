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

use rustc_hash::FxHashMap;

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
