//! What is pending at each instruction: results that are yet to be written and registers that are yet to be read, along
//! all paths of a kernel.

use std::collections::{BTreeMap, BTreeSet};

use warplens_ir::{Bank, ControlCode, Flow, FunctionId, Inst, Module};
use warplens_isa::{BlockId, Pc};

use super::accesses::{self, Accesses, Condition, Word};
use super::latency::{self, Latency, Queue};
use super::{Hazard, HazardKind};

/// From this many cycles on a result of fixed latency is there.
const SETTLED: u32 = 64;

/// A producer of fixed latency, and who uses its result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Distance {
    /// The instruction that uses it.
    pub user: Pc,
    /// The one that makes it.
    pub producer: Pc,
    /// Register file of the result.
    pub bank: Bank,
    /// Its number there.
    pub index: u32,
    /// It is the condition of the user.
    pub is_guard: bool,
    /// Cycles between the two by the stall counts, on the shortest path.
    pub cycles: u32,
}

/// What following the code finds.
pub(super) enum Found {
    Hazard(Hazard),
    Distance(Distance),
}

/// What an instruction leaves behind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// A word that is yet to be written.
    Write,
    /// A word that is yet to be read.
    Read,
}

/// How it is known that something has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// By the cycles since the instruction issued.
    Fixed,
    /// By any of some barriers, one bit each. So many instructions at least have it, too, and came later.
    Barriers { any: u8, later: u8 },
    /// Of an instruction about which nothing is known.
    Unknown,
}

impl End {
    /// By barriers, of which there may be none.
    fn of(barriers: [Option<u8>; 2]) -> Self {
        let any = barriers.into_iter().flatten().fold(0, |any, barrier| any | 1 << barrier);
        Self::Barriers { any, later: 0 }
    }

    /// What is known where it is one or the other.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Barriers { any, later }, Self::Barriers { any: others, later: fewer }) => {
                Self::Barriers { any: any & others, later: later.min(fewer) }
            }
            _ => self,
        }
    }

    /// The first of the barriers.
    const fn barrier(self) -> Option<u8> {
        match self {
            Self::Barriers { any, .. } if any != 0 => Some(any.trailing_zeros() as u8),
            Self::Barriers { .. } | Self::Fixed | Self::Unknown => None,
        }
    }
}

/// Something of an earlier instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pending {
    /// Cycles since it issued, at least.
    cycles: u32,
    end: End,
    /// Where it waits for its turn.
    queue: Option<Queue>,
    /// It is so only where this holds.
    condition: Option<Condition>,
}

/// What is pending, by word and instruction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct State(BTreeMap<(Word, What, Pc), Pending>);

/// An instruction.
struct Step {
    pc: Pc,
    control: ControlCode,
    latency: Latency,
    accesses: Accesses,
    /// Barriers that it waits for, one bit each.
    waits: u8,
    /// A barrier that it waits for, and how many instructions may be left that have it.
    leaves: Option<(u8, u8)>,
}

/// Follows a kernel, and tells what is found, once for each place.
pub(super) fn follow((module, listing): (&Module, &str), kernel: FunctionId, tell: &mut dyn FnMut(Found)) {
    let function = &module.functions[kernel];
    let registers = function.machine_registers.unwrap_or(function.registers.vector);
    let steps: BTreeMap<BlockId, Vec<Step>> = function
        .block_ids()
        .map(|id| {
            let groups = module.blocks[id].insts.chunk_by(|left, right| left.pc == right.pc);
            (id, groups.map(|group| step((module, listing), group, registers)).collect())
        })
        .collect();
    let mut entered: BTreeMap<BlockId, State> = BTreeMap::from([(function.first_block, State::default())]);
    let mut open = BTreeSet::from([function.first_block]);
    while let Some(id) = open.pop_first() {
        let mut state = entered.get(&id).cloned().unwrap_or_default();
        steps[&id].iter().for_each(|step| state.pass(step, &mut |_| {}));
        for (next, condition) in edges(module, id, steps[&id].last()) {
            let is_new = !entered.contains_key(&next);
            if entered.entry(next).or_default().merge(&state, condition) || is_new {
                open.insert(next);
            }
        }
    }
    // Code that is reached by computed jumps alone begins with nothing pending.
    for (id, steps) in &steps {
        let mut state = entered.remove(id).unwrap_or_default();
        steps.iter().for_each(|step| state.pass(step, tell));
    }
}

fn step((module, listing): (&Module, &str), group: &[Inst], registers: u32) -> Step {
    let pc = group[0].pc;
    let info = &module.pcs[pc];
    let line = listing.get(info.span.start as usize..info.span.end as usize).unwrap_or_default();
    let control = module.controls.get(&pc).copied().unwrap_or_default();
    let mnemonic = module.spellings[info.spelling].text.to_string();
    Step {
        pc,
        control,
        latency: latency::of(&mnemonic, module.target_number()),
        accesses: accesses::of(group, registers),
        waits: control.waits | listed(line),
        leaves: leaves(line),
    }
}

/// The barrier of `DEPBAR.LE SB0, 0x1`, and how many instructions may be left that have it.
fn leaves(line: &str) -> Option<(u8, u8)> {
    let (_, operands) = line.split_once("DEPBAR.LE SB")?;
    let (barrier, left) = operands.split_once(", 0x")?;
    let digits: String = left.chars().take_while(char::is_ascii_hexdigit).collect();
    Some((barrier.parse().ok()?, u8::from_str_radix(&digits, 16).ok()?))
}

/// The barriers of `DEPBAR {3, 1}`, one bit each.
fn listed(line: &str) -> u8 {
    let list = line.split_once("DEPBAR").and_then(|(_, operands)| operands.split_once('{')?.1.split_once('}'));
    let numbers =
        list.into_iter().flat_map(|(list, _)| list.split(',').filter_map(|word| word.trim().parse::<u8>().ok()));
    numbers.filter(|&number| number < ControlCode::SCOREBOARDS).fold(0, |waits, number| waits | 1 << number)
}

/// Blocks that come next, each with what holds for the lanes that go there.
fn edges(module: &Module, id: BlockId, last: Option<&Step>) -> Vec<(BlockId, Option<Condition>)> {
    let taken = last.and_then(|last| last.accesses.guard);
    let not_taken = taken.map(Condition::otherwise);
    match &module.blocks[id].flow {
        Flow::Fallthrough(next) => vec![(*next, None)],
        Flow::Branch { taken: target, next } => {
            std::iter::once((*target, taken)).chain(next.map(|next| (next, not_taken))).collect()
        }
        Flow::Exit { next } | Flow::Return { next } => next.iter().map(|next| (*next, not_taken)).collect(),
        Flow::Computed { targets, next } => {
            let one = targets.first().filter(|first| targets.iter().all(|target| target.1 == first.1));
            let others = next.iter().map(|next| (*next, not_taken));
            one.into_iter().map(|one| (one.1, taken)).chain(others).collect()
        }
        Flow::Indexed { .. } | Flow::Call { .. } => Vec::new(),
    }
}

impl State {
    /// Takes in what is pending on another way to the same place. True where that changes anything.
    fn merge(&mut self, other: &Self, condition: Option<Condition>) -> bool {
        let mut has_changed = false;
        for (key, pending) in &other.0 {
            if pending.condition.zip(condition).is_some_and(|(own, holds)| own.excludes(holds)) {
                continue;
            }
            match self.0.get_mut(key) {
                None => {
                    self.0.insert(*key, *pending);
                    has_changed = true;
                }
                Some(known) => {
                    let both = Pending {
                        cycles: known.cycles.min(pending.cycles),
                        end: known.end.or(pending.end),
                        queue: known.queue,
                        condition: known.condition.filter(|_| known.condition == pending.condition),
                    };
                    has_changed |= both != *known;
                    *known = both;
                }
            }
        }
        has_changed
    }

    /// Lets an instruction issue.
    fn pass(&mut self, step: &Step, tell: &mut dyn FnMut(Found)) {
        self.wait(step);
        self.read(step, tell);
        self.write(step, tell);
        self.begin(step);
        let stall = u32::from(step.control.stall).max(1);
        self.0.retain(|_, pending| {
            pending.cycles = (pending.cycles + stall).min(SETTLED);
            pending.end != End::Fixed || pending.cycles < SETTLED
        });
    }

    /// What the instruction waits for is over.
    fn wait(&mut self, step: &Step) {
        self.0.retain(|_, pending| match pending.end {
            End::Barriers { any, later } => {
                let is_left = step.leaves.is_some_and(|(of, left)| any >> of & 1 == 1 && later >= left);
                any & step.waits == 0 && !is_left
            }
            End::Fixed | End::Unknown => true,
        });
    }

    fn read(&self, step: &Step, tell: &mut dyn FnMut(Found)) {
        let guard = step.accesses.guard;
        for &word in &step.accesses.reads {
            let is_guard = guard.is_some_and(|guard| guard.predicate == word);
            for (&(_, _, producer), pending) in self.of(word, What::Write) {
                let excluded = pending.condition.zip(guard).is_some_and(|(own, guard)| own.excludes(guard));
                if excluded && !is_guard {
                    continue;
                }
                if let Some(found) = found(step, (producer, pending), word, is_guard) {
                    tell(found);
                }
            }
        }
    }

    /// What is pending of a word.
    fn of(&self, word: Word, what: What) -> impl Iterator<Item = (&(Word, What, Pc), &Pending)> {
        self.0.range((word, what, Pc(0))..=(word, what, Pc(u32::MAX)))
    }

    fn write(&mut self, step: &Step, tell: &mut dyn FnMut(Found)) {
        let guard = step.accesses.guard;
        let excluded = |pending: &Pending| pending.condition.zip(guard).is_some_and(|(own, guard)| own.excludes(guard));
        let is_queued = matches!(step.latency, Latency::Variable(_));
        for &word in &step.accesses.writes {
            let hazard =
                |producer, kind| Found::Hazard(Hazard { user: step.pc, producer, bank: word.0, index: word.1, kind });
            for (&(_, _, producer), pending) in self.of(word, What::Read).filter(|(_, pending)| !excluded(pending)) {
                // Sources of what is queued are read in order.
                if let Some(barrier) = pending.end.barrier().filter(|_| !is_queued) {
                    tell(hazard(producer, HazardKind::StillRead { barrier }));
                }
            }
            for (&(_, _, producer), pending) in self.of(word, What::Write).filter(|(_, pending)| !excluded(pending)) {
                let is_behind = pending.queue.is_some() && pending.queue == step.latency.queue();
                if matches!(pending.end, End::Barriers { .. }) && producer != step.pc && !is_behind {
                    tell(hazard(producer, HazardKind::Overwritten { barrier: pending.end.barrier() }));
                }
            }
            if guard.is_none() {
                self.0.retain(|&(of, what, _), _| of != word || what == What::Read);
            }
        }
        for pending in self.0.values_mut() {
            // Nobody knows any more where it holds.
            pending.condition = pending.condition.filter(|own| !step.accesses.writes.contains(&own.predicate));
        }
    }

    /// Notes what the instruction will do.
    fn begin(&mut self, step: &Step) {
        let Step { pc, control, accesses, latency, .. } = step;
        let queue = latency.queue();
        for pending in self.0.values_mut() {
            let End::Barriers { any, later } = &mut pending.end else { continue };
            let has = |barrier: Option<u8>| barrier.is_some_and(|barrier| *any >> barrier & 1 == 1);
            if has(control.write_scoreboard) || has(control.read_scoreboard) {
                *later = later.saturating_add(1);
            }
        }
        if let Some(barrier) = control.write_scoreboard {
            // Results of one queue come in order, so that a later barrier tells of earlier ones.
            for ((_, what, _), pending) in &mut self.0 {
                if let End::Barriers { any, .. } = &mut pending.end
                    && *what == What::Write
                    && pending.queue.is_some()
                    && (pending.queue == queue || *latency == Latency::Unknown)
                {
                    *any |= 1 << barrier;
                }
            }
        }
        let (write, read) = (control.write_scoreboard, control.read_scoreboard);
        let pending = |end: End| Pending { cycles: 0, end, queue, condition: accesses.guard };
        for &word in &accesses.writes {
            let end = match latency {
                _ if write.is_some() => End::of([write, None]),
                Latency::Fixed => End::Fixed,
                // That a generic address was no global one is known when it was read.
                Latency::Variable(_) if word.0 == Bank::Predicate => End::of([read, None]),
                Latency::Variable(_) => End::of([None; 2]),
                Latency::Unknown => End::Unknown,
            };
            self.0.insert((word, What::Write, *pc), pending(end));
        }
        if read.is_some() {
            let vector = accesses.reads.iter().filter(|word| word.0 == Bank::Vector);
            self.0.extend(vector.map(|&word| ((word, What::Read, *pc), pending(End::of([read, write])))));
        }
    }
}

/// What it means that a word is read which is pending.
fn found(step: &Step, (producer, pending): (Pc, &Pending), word: Word, is_guard: bool) -> Option<Found> {
    let (user, (bank, index)) = (step.pc, word);
    let kind = match pending.end {
        End::Unknown => return None,
        End::Fixed => {
            let cycles = pending.cycles;
            return Some(Found::Distance(Distance { user, producer, bank, index, is_guard, cycles }));
        }
        End::Barriers { .. } => {
            pending.end.barrier().map_or(HazardKind::NoBarrier, |barrier| HazardKind::NotWaited { barrier })
        }
    };
    Some(Found::Hazard(Hazard { user, producer, bank, index, kind }))
}
