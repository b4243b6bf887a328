//! Barriers that no data needs: between which warps touch nothing that another warp of the block stores.
//!
//! What happens between two barriers is a phase. A barrier is needed where a word of shared or global memory is stored in
//! the phase before it and touched by another warp in the phase after it, or the other way round. Barriers that are not
//! needed in any execution of the traced CTAs are taken away one after the other, the one at which most is waited first:
//! two barriers may each be superfluous while the other is there.

use std::collections::{BTreeMap, BTreeSet};

use warplens_isa::StateSpace;
use warplens_model::scenario::{Impossible, Subject};
use warplens_sim::traces::Traced;
use warplens_trace::{AccessKind, Code, CtaTrace, MachineClass};

use super::Touch;

/// CTAs that are looked at.
const LOOKED_AT: usize = 4;
/// Bytes of a word.
const WORD: u64 = 4;

/// A barrier: its block, and how many there come before it.
pub(crate) type Barrier = (u32, u32);

/// Words that one warp loads and stores in a phase.
#[derive(Clone, Default)]
struct Words {
    loaded: BTreeSet<(bool, u64)>,
    stored: BTreeSet<(bool, u64)>,
}

/// The barriers of a kernel with their places in the machine code, and the phases of some CTAs.
pub(crate) struct Phases {
    /// By CTA: the barrier that ends each phase, and what each warp touches in it.
    ctas: Vec<Vec<(Option<Barrier>, BTreeMap<usize, Words>)>>,
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

fn phases(cta: &CtaTrace, code: &Code) -> Option<Vec<(Option<Barrier>, BTreeMap<usize, Words>)>> {
    let mut all: Vec<(Option<Barrier>, BTreeMap<usize, Words>)> = Vec::new();
    for (number, warp) in cta.warps.iter().enumerate() {
        let mut phase = 0;
        for step in warp.steps() {
            let mut barriers = 0;
            for inst in code.block(step.block) {
                if all.len() == phase {
                    all.push((None, BTreeMap::new()));
                }
                if inst.class == MachineClass::Barrier {
                    let barrier = (step.block, barriers);
                    if all[phase].0.is_some_and(|other| other != barrier) {
                        return None;
                    }
                    all[phase].0 = Some(barrier);
                    barriers += 1;
                    phase += 1;
                } else if inst.touches_memory() {
                    let words = all[phase].1.entry(number).or_default();
                    for access in warp.accesses_at(&step, inst.turn, inst.slot) {
                        let is_shared = access.space == StateSpace::Shared;
                        if !is_shared && access.space != StateSpace::Global {
                            continue;
                        }
                        let touch = Touch::new(warp, &access);
                        let of = if touch.kind == AccessKind::Load { &mut words.loaded } else { &mut words.stored };
                        for lane in touch.mask.lanes() {
                            let first = touch.addresses[lane] / WORD;
                            let last = (touch.addresses[lane] + touch.lane_bytes() - 1) / WORD;
                            of.extend((first..=last).map(|word| (is_shared, word)));
                        }
                    }
                }
            }
        }
    }
    Some(all)
}

/// True where no two warps conflict in the phases that remain without some barriers.
fn is_enough(phases: &[(Option<Barrier>, BTreeMap<usize, Words>)], gone: &[Barrier]) -> bool {
    let mut start = 0;
    while start < phases.len() {
        let is_end = |(barrier, _): &(Option<Barrier>, _)| barrier.is_none_or(|barrier| !gone.contains(&barrier));
        let length = phases[start..].iter().position(is_end).map_or(phases.len() - start, |at| at + 1);
        if length > 1 && conflict(&phases[start..start + length]) {
            return false;
        }
        start += length;
    }
    true
}

/// True where a warp stores what another one touches in another of these phases.
fn conflict(phases: &[(Option<Barrier>, BTreeMap<usize, Words>)]) -> bool {
    let mut stored: BTreeMap<(bool, u64), (usize, usize)> = BTreeMap::new();
    let mut loaded: BTreeMap<(bool, u64), (usize, usize)> = BTreeMap::new();
    for (phase, (_, warps)) in phases.iter().enumerate() {
        for (&warp, words) in warps {
            let differs =
                |found: Option<&(usize, usize)>| found.is_some_and(|&(at, other)| at != phase && other != warp);
            if words.stored.iter().any(|word| differs(stored.get(word)) || differs(loaded.get(word)))
                || words.loaded.iter().any(|word| differs(stored.get(word)))
            {
                return true;
            }
        }
        for (&warp, words) in warps {
            // Of several warps that touch a word the last is kept: a conflict with it alone is overlooked where it comes
            // back itself, so words of several warps are kept as nobody's.
            let mark = |map: &mut BTreeMap<(bool, u64), (usize, usize)>, word: (bool, u64)| {
                let entry = map.entry(word).or_insert((phase, warp));
                if entry.1 != warp {
                    *entry = (phase, usize::MAX);
                } else {
                    entry.0 = phase;
                }
            };
            words.stored.iter().for_each(|&word| mark(&mut stored, word));
            words.loaded.iter().for_each(|&word| mark(&mut loaded, word));
        }
    }
    false
}

/// Takes barriers away.
pub(crate) fn without(subject: &mut Subject, gone: &[Barrier]) -> Result<(), Impossible> {
    let traced = super::recording(subject)?;
    super::each_code(traced, |code| {
        let (mut insts, mut blocks) = (Vec::new(), Vec::new());
        for block in 0..code.blocks.len() as u32 {
            let (start, mut barriers) = (insts.len() as u32, 0);
            for inst in code.block(block) {
                let mut kept = true;
                if inst.class == MachineClass::Barrier {
                    kept = !gone.contains(&(block, barriers));
                    barriers += 1;
                }
                if kept {
                    insts.push(*inst);
                }
            }
            blocks.push(start..insts.len() as u32);
        }
        (code.insts, code.blocks) = (insts, blocks);
    });
    Ok(())
}
