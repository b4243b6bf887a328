//! Atomic operations on few words, of which most are taken away: threads combine what they have before.

use std::collections::{BTreeMap, BTreeSet};

use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_trace::{AccessKind, ActiveMask, MachineClass, MachineInst, WARP_SIZE, WarpTrace};

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
        for warp in cta.trace.warps.iter() {
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
    super::each_cta(traced, |cta| {
        let mut known: BTreeMap<(PlaceOfAccess, u64), u64> = BTreeMap::new();
        let rewrite = |warp: &WarpTrace| {
            super::with_accesses(warp, |step, touch, put| {
                let place = (step.block, touch.slot);
                if !is_atomic(&touch, StateSpace::Global) || !words.contains_key(&place) {
                    return put(&touch);
                }
                let mut copy = Touch { space: StateSpace::Shared, ..touch };
                let mut first = Touch { mask: ActiveMask::EMPTY, ..touch };
                for lane in touch.mask.lanes() {
                    let next = known.len() as u64;
                    let number = *known.entry((place, touch.addresses[lane] / WORD)).or_insert_with(|| {
                        first.mask = first.mask | ActiveMask(1 << lane);
                        next
                    });
                    copy.addresses[lane] = in_shared.get(&place).copied().unwrap_or(0) + WORD * number;
                }
                if in_shared.contains_key(&place) {
                    put(&copy);
                } else {
                    // The sum of the warp, for the block.
                    let lane = touch.mask.lowest().map_or(0, |lane| 1 << lane);
                    put(&Touch { kind: AccessKind::Store, mask: ActiveMask(lane), ..copy });
                }
                put(&first);
            })
        };
        cta.warps.iter().map(rewrite).collect()
    });
    let adds_up = |place: &PlaceOfAccess| {
        // In a loop each thread adds up for itself.
        words.contains_key(place) && !in_shared.contains_key(place) && executions[place] <= n_warps
    };
    super::each_instruction(traced, |block, inst| {
        let place = (block, inst.slot);
        if !matches!(inst.class, MachineClass::Atomic | MachineClass::Reduction) || !words.contains_key(&place) {
            return vec![*inst];
        }
        // Nothing is waited for any more but what is in shared memory.
        let mut own = MachineInst { class: MachineClass::Reduction, space: StateSpace::Generic, ..*inst };
        own.writes.count = 0;
        let step = |class| MachineInst { reads: inst.reads, ..MachineInst::new(class, inst.place) };
        let mut insts = Vec::new();
        if adds_up(&place) {
            for _ in 0..SHUFFLES {
                insts.extend([step(MachineClass::Shuffle), step(MachineClass::Int)]);
            }
            insts.push(MachineInst { amount: 0, ..MachineInst::new(MachineClass::Barrier, inst.place) });
        }
        insts.push(own);
        insts
    });
    subject.profile.launch.shared_bytes +=
        words.iter().filter(|(place, _)| in_shared.contains_key(place)).map(|(_, n)| WORD * *n as u64).sum::<u64>();
    Ok(())
}

/// Each lane has a copy of the words of shared memory on which a block operates. Returns the bytes that a block takes more.
pub(crate) fn copy_per_lane(subject: &mut Subject) -> Result<u64, Impossible> {
    super::counts_without(subject, "bank-conflicts")?;
    let traced = super::recording(subject)?;
    let mut most = 0;
    for cta in &traced.ctas {
        let mut words = BTreeSet::new();
        for warp in cta.trace.warps.iter() {
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
    super::each_access(traced, |_, mut touch, put| {
        if is_atomic(&touch, StateSpace::Shared) {
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
