//! Barriers that no data needs: between which warps touch nothing that another warp of the block stores.
//!
//! What happens between two barriers is a phase. A barrier is needed where a word of shared or global memory is stored in
//! the phase before it and touched by another warp in the phase after it, or the other way round. Barriers that are not
//! needed in any execution of the traced CTAs are taken away one after the other, the one at which most is waited first:
//! two barriers may each be superfluous while the other is there.

use std::collections::BTreeMap;

use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_sim::traces::Traced;
use warplens_trace::{AccessKind, Code, CtaTrace, MachineClass};

use super::Touch;

/// CTAs that are looked at.
const LOOKED_AT: usize = 2;
/// Bytes of a word.
const WORD: u64 = 4;

/// A barrier: its block, and how many there come before it.
pub(crate) type Barrier = (u32, u32);

/// Words that one warp loads and stores in a phase, ascending: those of shared memory are odd.
#[derive(Clone, Default)]
struct Words {
    loaded: Vec<u64>,
    stored: Vec<u64>,
}

impl Words {
    fn add(&mut self, touch: &Touch) {
        let is_shared = touch.space == StateSpace::Shared;
        if !is_shared && touch.space != StateSpace::Global {
            return;
        }
        let of = if touch.kind == AccessKind::Load { &mut self.loaded } else { &mut self.stored };
        of.extend(touch.units(WORD).map(|word| 2 * word + u64::from(is_shared)));
    }

    fn close(&mut self) {
        for words in [&mut self.loaded, &mut self.stored] {
            words.sort_unstable();
            words.dedup();
        }
    }
}

/// The barrier that ends a phase, if one does, and what each warp touches in it.
type Phase = (Option<Barrier>, Vec<(usize, Words)>);

/// The barriers of a kernel with their places in the machine code, and the phases of some CTAs.
pub(crate) struct Phases {
    /// By CTA.
    ctas: Vec<Vec<Phase>>,
}

impl Phases {
    /// The phases of the first traced CTAs; none where warps do not go through the same barriers.
    pub(crate) fn of(traced: &Traced, code: &Code) -> Option<Self> {
        let ctas =
            traced.ctas.iter().take(LOOKED_AT).map(|cta| phases(&cta.trace(), code)).collect::<Option<Vec<_>>>()?;
        (!ctas.is_empty()).then_some(Self { ctas })
    }

    /// Those of the barriers, in this order, without which the others are still enough.
    pub(crate) fn superfluous(&self, barriers: &[Barrier]) -> Vec<Barrier> {
        let mut gone: Vec<Barrier> = Vec::new();
        for &barrier in barriers {
            gone.push(barrier);
            if !self.ctas.iter().all(|phases| is_enough(phases, &gone)) {
                gone.pop();
            }
        }
        gone
    }
}

fn phases(cta: &CtaTrace, code: &Code) -> Option<Vec<Phase>> {
    let mut all: Vec<Phase> = vec![(None, Vec::new())];
    for (number, warp) in cta.warps.iter().enumerate() {
        let (mut phase, mut words) = (0, Words::default());
        for step in warp.steps() {
            let mut barriers = 0;
            for inst in code.block(step.block) {
                if inst.class == MachineClass::Barrier {
                    let barrier = (step.block, barriers);
                    barriers += 1;
                    // Warps that meet at different barriers are not followed.
                    if *all[phase].0.get_or_insert(barrier) != barrier {
                        return None;
                    }
                    words.close();
                    all[phase].1.push((number, std::mem::take(&mut words)));
                    phase += 1;
                    if all.len() == phase {
                        all.push((None, Vec::new()));
                    }
                } else if inst.touches_memory() {
                    for access in warp.accesses_at(&step, inst.turn, inst.slot) {
                        let touch = Touch::new(warp, &access);
                        // One instruction may stand for several neighbouring loads.
                        words.add(&Touch { elements: touch.elements.saturating_mul(inst.amount as u8), ..touch });
                    }
                }
            }
        }
        words.close();
        all[phase].1.push((number, words));
    }
    Some(all)
}

/// True where no two warps conflict in the phases that remain without some barriers.
fn is_enough(phases: &[Phase], gone: &[Barrier]) -> bool {
    let mut start = 0;
    while start < phases.len() {
        let is_end = |(barrier, _): &Phase| barrier.is_none_or(|barrier| !gone.contains(&barrier));
        let length = phases[start..].iter().position(is_end).map_or(phases.len() - start, |at| at + 1);
        if length > 1 && conflict(&phases[start..start + length]) {
            return false;
        }
        start += length;
    }
    true
}

/// True where a warp stores what another one touches in another of these phases.
fn conflict(phases: &[Phase]) -> bool {
    for (at, (_, before)) in phases.iter().enumerate() {
        for (_, after) in &phases[at + 1..] {
            for (warp, early) in before {
                let others = after.iter().filter(|(other, _)| other != warp);
                let mut others = others.map(|(_, late)| late);
                if others.any(|late| {
                    meet(&early.stored, &late.loaded)
                        || meet(&early.loaded, &late.stored)
                        || meet(&early.stored, &late.stored)
                }) {
                    return true;
                }
            }
        }
    }
    false
}

/// True where two ascending lists have a word in common.
fn meet(left: &[u64], right: &[u64]) -> bool {
    let (few, many) = if left.len() <= right.len() { (left, right) } else { (right, left) };
    let (Some(first), Some(last)) = (many.first(), many.last()) else { return false };
    few.iter().filter(|word| (first..=last).contains(word)).any(|word| many.binary_search(word).is_ok())
}

/// Takes barriers away.
pub(crate) fn without(subject: &mut Subject, gone: &[Barrier]) -> Result<(), Impossible> {
    let traced = super::recording(subject)?;
    super::each_code(traced, |code| take_away(code, gone));
    Ok(())
}

pub(super) fn take_away(code: &mut Code, gone: &[Barrier]) {
    super::each_block(code, |code, block, insts| {
        let mut before: BTreeMap<(u32, u16), u32> = BTreeMap::new();
        for inst in code.block(block) {
            if inst.class == MachineClass::Barrier {
                let of = code.block_of(block, inst);
                let number = before.entry((of, inst.turn)).or_insert(0);
                *number += 1;
                if gone.contains(&(of, *number - 1)) {
                    continue;
                }
            }
            insts.push(*inst);
        }
    });
}
