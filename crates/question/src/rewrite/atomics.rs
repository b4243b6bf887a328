//! Atomic operations on few words, of which most are taken away: threads combine what they have before.

use std::collections::{BTreeMap, BTreeSet};

use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_trace::{AccessKind, ActiveMask, Code, MachineClass, MachineInst, WARP_SIZE, WarpTrace, WarpTraceBuilder};

use super::{PlaceOfAccess, Touch};

/// Bytes of a word.
const WORD: u64 = 4;
/// Words that the lanes of a warp add up by shuffles; more have a copy in shared memory.
const FEW: usize = 2;
/// Words of which a block has a copy in shared memory.
const MOST: usize = 8192;
/// Shuffles, and as many additions, by which a warp adds up.
const SHUFFLES: usize = 5;

/// Each block operates once on each word of global memory: what its threads have is combined before, by shuffles where it
/// is a word or two, and else by atomics on a copy in shared memory.
pub(crate) fn once_per_block(subject: &mut Subject) -> Result<(), Impossible> {
    let traced = super::recording(subject)?;
    let (mut words, mut executions): (BTreeMap<PlaceOfAccess, usize>, BTreeMap<PlaceOfAccess, usize>) =
        Default::default();
    let mut n_warps = 0;
    for cta in &traced.ctas {
        let mut of_cta: BTreeMap<PlaceOfAccess, BTreeSet<u64>> = BTreeMap::new();
        for warp in cta.trace().warps.iter() {
            n_warps += 1;
            for_each_atomic(warp, |place, touch| {
                *executions.entry(place).or_insert(0) += 1;
                of_cta.entry(place).or_default().extend(touch.mask.lanes().map(|lane| touch.addresses[lane] / WORD));
            });
        }
        for (place, of) in of_cta {
            let most = words.entry(place).or_insert(0);
            *most = (*most).max(of.len());
        }
    }
    words.retain(|_, words| *words <= MOST);
    if words.is_empty() {
        return Err(super::impossible("no block has few words in global memory on which it operates"));
    }
    let in_shared: BTreeMap<PlaceOfAccess, u64> = {
        let many = words.iter().filter(|(_, words)| **words > FEW);
        many.scan(0, |end, (place, words)| {
            let start = *end;
            *end += WORD * *words as u64;
            Some((*place, start))
        })
        .collect()
    };
    // In a loop each thread adds up for itself.
    let adds_up: Vec<PlaceOfAccess> = words
        .keys()
        .filter(|place| !in_shared.contains_key(*place) && executions[*place] <= n_warps)
        .copied()
        .collect();
    let change = Combined {
        words,
        in_shared,
        adds_up,
        n_blocks: super::code(traced).map_or(0, |code| code.blocks.len() as u32),
    };
    let before = super::executions(traced);
    super::each_cta(traced, |cta| {
        let mut known = BTreeMap::new();
        cta.warps.iter().map(|warp| change.of_warp(warp, &mut known)).collect()
    });
    super::each_code(traced, |code| change.of_code(code));
    let after = super::executions(traced);
    super::follow_executions(traced, &before, &after);
    let copies = change.in_shared.keys().map(|place| WORD * change.words[place] as u64).sum::<u64>();
    subject.profile.launch.shared_bytes += copies;
    Ok(())
}

/// The words on which a block operated before, by the place of the atomic.
type Known = BTreeMap<(PlaceOfAccess, u64), u64>;

/// How atomics are combined.
struct Combined {
    /// Words of a block by place.
    words: BTreeMap<PlaceOfAccess, usize>,
    /// Where the copies of a place begin in shared memory.
    in_shared: BTreeMap<PlaceOfAccess, u64>,
    /// Places at which warps and then blocks add up.
    adds_up: Vec<PlaceOfAccess>,
    /// Blocks of the code; one more for each of those places follows.
    n_blocks: u32,
}

impl Combined {
    fn of_warp(&self, warp: &WarpTrace, known: &mut Known) -> WarpTrace {
        let mut builder = WarpTraceBuilder::default();
        for step in warp.steps() {
            builder.step(step.block, step.mask);
            let mut sums = Vec::new();
            for access in warp.accesses_of(&step) {
                let touch = Touch::new(warp, &access);
                let place = (step.block, touch.slot);
                if !is_atomic(&touch, StateSpace::Global) || !self.words.contains_key(&place) {
                    touch.put(&mut builder);
                    continue;
                }
                let (copy, first) = self.split(place, &touch, known);
                let Some(number) = self.adds_up.iter().position(|other| *other == place) else {
                    if self.in_shared.contains_key(&place) {
                        copy.put(&mut builder);
                    }
                    first.put(&mut builder);
                    continue;
                };
                // The sum of the warp, for the block.
                let lane = touch.mask.lowest().map_or(0, |lane| 1 << lane);
                Touch { kind: AccessKind::Store, mask: ActiveMask(lane), ..copy }.put(&mut builder);
                sums.push((number as u32, copy, first));
            }
            for (number, copy, first) in sums.into_iter().filter(|(.., first)| !first.mask.is_empty()) {
                builder.step(self.n_blocks + number, step.mask);
                Touch { slot: 0, kind: AccessKind::Load, ..copy }.put(&mut builder);
                Touch { slot: 1, ..first }.put(&mut builder);
            }
        }
        builder.finish()
    }

    /// An atomic on the copies, and one by the lanes that are the first of the block on their words.
    fn split(&self, place: PlaceOfAccess, touch: &Touch, known: &mut Known) -> (Touch, Touch) {
        let mut copy = Touch { space: StateSpace::Shared, ..*touch };
        let mut first = Touch { mask: ActiveMask::EMPTY, ..*touch };
        for lane in touch.mask.lanes() {
            let next = known.len() as u64;
            let number = *known.entry((place, touch.addresses[lane] / WORD)).or_insert_with(|| {
                first.mask |= ActiveMask(1 << lane);
                next
            });
            copy.addresses[lane] = self.in_shared.get(&place).copied().unwrap_or(0) + WORD * number;
        }
        (copy, first)
    }

    /// The code with sums in place of atomics: by shuffles in the warp, whose sum goes to shared memory; behind a barrier a
    /// warp adds up those of the block, in a block of instructions of its own for each place.
    fn of_code(&self, code: &mut Code) {
        let register = code.n_registers;
        let sum = code.operands_of(&[register]);
        let step = |class, place| MachineInst { reads: sum, writes: sum, ..MachineInst::new(class, place) };
        let shuffles = |place| {
            let pair = [step(MachineClass::Shuffle, place), step(MachineClass::Int, place)];
            std::iter::repeat_n(pair, SHUFFLES).flatten()
        };
        let mut ends: Vec<MachineInst> = self.adds_up.iter().map(|_| MachineInst::new(MachineClass::Nop, 0)).collect();
        super::each_block(code, |code, block, insts| {
            for inst in code.block(block) {
                let place = (code.block_of(block, inst), inst.slot);
                let is_atomic = matches!(inst.class, MachineClass::Atomic | MachineClass::Reduction);
                if !is_atomic || !self.words.contains_key(&place) {
                    insts.push(*inst);
                    continue;
                }
                // Nothing is waited for any more but what is in shared memory.
                let mut own = MachineInst { class: MachineClass::Reduction, space: StateSpace::Generic, ..*inst };
                own.writes.count = 0;
                let Some(number) = self.adds_up.iter().position(|other| *other == place) else {
                    insts.push(own);
                    continue;
                };
                ends[number] = own;
                insts.push(MachineInst { reads: inst.reads, ..step(MachineClass::Int, inst.place) });
                insts.extend(shuffles(inst.place));
                let (class, space) = (MachineClass::Store, StateSpace::Shared);
                insts.push(MachineInst { class, space, reads: sum, ..own });
                insts.push(MachineInst { amount: 0, ..MachineInst::new(MachineClass::Barrier, inst.place) });
            }
        });
        let (insts, blocks) = (&mut code.insts, &mut code.blocks);
        for end in ends {
            let start = insts.len() as u32;
            let (space, writes) = (StateSpace::Shared, sum);
            insts.push(MachineInst { space, slot: 0, writes, ..MachineInst::new(MachineClass::Load, end.place) });
            insts.extend(shuffles(end.place));
            insts.push(MachineInst { slot: 1, reads: sum, ..end });
            blocks.push(start..insts.len() as u32);
        }
    }
}

/// Each lane has a copy of the words of shared memory on which a block operates. Returns the bytes that a block takes more.
pub(crate) fn copy_per_lane(subject: &mut Subject) -> Result<u64, Impossible> {
    super::counts_without(subject, "bank-conflicts")?;
    let traced = super::recording(subject)?;
    let mut most = 0;
    for cta in &traced.ctas {
        let mut words = BTreeSet::new();
        for warp in cta.trace().warps.iter() {
            for access in warp.accesses() {
                let touch = Touch::new(warp, &access);
                if is_atomic(&touch, StateSpace::Shared) {
                    words.extend(touch.mask.lanes().map(|lane| touch.addresses[lane] / WORD));
                }
            }
        }
        most = most.max(words.len() as u64);
    }
    if most == 0 {
        return Err(super::impossible("there is no atomic operation on shared memory"));
    }
    super::each_access(traced, StateSpace::Shared, |_, mut touch, put| {
        if touch.kind == AccessKind::Atomic {
            for lane in touch.mask.lanes() {
                touch.addresses[lane] = (touch.addresses[lane] / WORD * WARP_SIZE as u64 + lane as u64) * WORD;
            }
        }
        put(&touch);
    });
    let more = most * (WARP_SIZE as u64 - 1) * WORD;
    subject.profile.launch.shared_bytes += more;
    Ok(more)
}

fn is_atomic(touch: &Touch, space: StateSpace) -> bool {
    touch.kind == AccessKind::Atomic && touch.space == space
}

fn for_each_atomic(warp: &WarpTrace, mut each: impl FnMut(PlaceOfAccess, &Touch)) {
    for step in warp.steps() {
        for access in warp.accesses_of(&step) {
            if access.kind == AccessKind::Atomic && access.space == StateSpace::Global {
                each((step.block, access.slot), &Touch::new(warp, &access));
            }
        }
    }
}
