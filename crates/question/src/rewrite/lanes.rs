//! Threads of a block regrouped so that those of a warp take the same way.
//!
//! Threads with the same steps come to lie in the same warps; the work of a warp is then put together again, with the
//! lanes that are furthest behind going first, as reconvergence would have it (blocks are numbered in the order of the
//! program). Data moves with the work: a thread accesses what the thread that was at its place would have accessed, where
//! that one came there as often, and else its own.

use std::collections::BTreeMap;

use warplens_model::scenario::{Impossible, Subject};
use warplens_stats::TracedCta;
use warplens_trace::{ActiveMask, CtaTrace, WARP_SIZE, WarpTrace, WarpTraceBuilder};

use super::{PlaceOfAccess, Touch};

/// Accesses of a block whose threads are regrouped: all of one are held at once, in 300 bytes each.
const MOST_ACCESSES: usize = 1 << 18;

/// Regroups the threads of every block.
pub(crate) fn regroup(subject: &mut Subject) -> Result<(), Impossible> {
    super::counts_without(subject, "divergence")?;
    let traced = super::recording(subject)?;
    let accesses = |cta: &TracedCta| cta.trace().warps.iter().map(|warp| warp.accesses().len()).sum::<usize>();
    if traced.ctas.iter().any(|cta| accesses(cta) > MOST_ACCESSES) {
        return Err(super::impossible("the threads of a block access memory too often to be regrouped"));
    }
    let before = super::executions(traced);
    super::each_cta(traced, |cta| if is_divergent(cta) { regrouped(cta) } else { cta.warps.to_vec() });
    let after = super::executions(traced);
    if before == after {
        return Err(super::impossible("the threads of no block can be regrouped so that fewer lanes wait"));
    }
    let after = super::executions(traced);
    super::follow_executions(traced, &before, &after);
    Ok(())
}

fn is_divergent(cta: &CtaTrace) -> bool {
    cta.warps.iter().any(|warp| {
        let mut steps = warp.steps();
        let all = steps.next().map_or(ActiveMask::EMPTY, |step| step.mask);
        steps.any(|step| step.mask != all)
    })
}

/// What one warp executed, step by step.
struct Steps {
    blocks: Vec<u32>,
    touches: Vec<Vec<Touch>>,
    /// Steps of each lane, in order.
    of_lane: Vec<Vec<u32>>,
    /// The step and the number there of each lane's accesses by place, in order.
    accesses: BTreeMap<PlaceOfAccess, Vec<Vec<(u32, u32)>>>,
}

impl Steps {
    fn new(warp: &WarpTrace) -> Self {
        let mut steps = Self {
            blocks: Vec::with_capacity(warp.n_steps()),
            touches: Vec::with_capacity(warp.n_steps()),
            of_lane: vec![Vec::new(); WARP_SIZE],
            accesses: BTreeMap::new(),
        };
        for step in warp.steps() {
            let number = steps.blocks.len() as u32;
            steps.blocks.push(step.block);
            step.mask.lanes().for_each(|lane| steps.of_lane[lane].push(number));
            let touches: Vec<Touch> = warp.accesses_of(&step).map(|access| Touch::new(warp, &access)).collect();
            for (at, touch) in touches.iter().enumerate() {
                let by_lane = steps.accesses.entry((step.block, touch.slot));
                let by_lane = by_lane.or_insert_with(|| vec![Vec::new(); WARP_SIZE]);
                touch.mask.lanes().for_each(|lane| by_lane[lane].push((number, at as u32)));
            }
            steps.touches.push(touches);
        }
        steps
    }

    /// The address of a lane's access at a place, by how many it had there before.
    fn address(&self, place: PlaceOfAccess, lane: usize, before: usize) -> Option<u64> {
        let &(step, at) = self.accesses.get(&place)?[lane].get(before)?;
        Some(self.touches[step as usize][at as usize].addresses[lane])
    }
}

/// A thread: its warp and its lane.
type Thread = (usize, usize);

pub(super) fn regrouped(cta: &CtaTrace) -> Vec<WarpTrace> {
    let warps: Vec<Steps> = cta.warps.iter().map(Steps::new).collect();
    let mut threads: Vec<(usize, u64, Thread)> = Vec::new();
    for (number, warp) in warps.iter().enumerate() {
        for (lane, steps) in warp.of_lane.iter().enumerate().filter(|(_, steps)| !steps.is_empty()) {
            threads.push((steps.len(), way(warp, steps), (number, lane)));
        }
    }
    threads.sort_unstable();
    threads.chunks(WARP_SIZE).enumerate().map(|(number, threads)| together(&warps, number, threads)).collect()
}

/// A number of the way that a thread takes: the same for the same way (FNV-1a).
fn way(warp: &Steps, steps: &[u32]) -> u64 {
    steps.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &step| {
        (hash ^ u64::from(warp.blocks[step as usize])).wrapping_mul(0x0100_0000_01b3)
    })
}

/// One warp of these threads.
fn together(warps: &[Steps], number: usize, threads: &[(usize, u64, Thread)]) -> WarpTrace {
    let mut builder = WarpTraceBuilder::default();
    let mut next = vec![0; threads.len()];
    let mut seen: BTreeMap<PlaceOfAccess, Vec<usize>> = BTreeMap::new();
    let steps = |at: usize| {
        let (warp, lane) = threads[at].2;
        (&warps[warp], &warps[warp].of_lane[lane], lane)
    };
    loop {
        let block_of = |at: usize, next: &[usize]| {
            let (warp, steps, _) = steps(at);
            steps.get(next[at]).map(|&step| warp.blocks[step as usize])
        };
        let Some(block) = (0..threads.len()).filter_map(|at| block_of(at, &next)).min() else { break };
        let here: Vec<usize> = (0..threads.len()).filter(|&at| block_of(at, &next) == Some(block)).collect();
        let mask = ActiveMask(here.iter().fold(0, |mask, &at| mask | 1 << at));
        builder.step(block, mask);
        let mut touches: Vec<Touch> = Vec::new();
        for &at in &here {
            let (warp, steps, lane) = steps(at);
            // Lanes have the same accesses in the same order, or nearly so.
            let mut following = 0;
            for own in warp.touches[steps[next[at]] as usize].iter().filter(|touch| touch.mask.contains(lane)) {
                let place = (block, own.slot);
                let before = seen.entry(place).or_insert_with(|| vec![0; WARP_SIZE]);
                // The thread that was at this place.
                let there = warps.get(number).and_then(|warp| warp.address(place, at, before[at]));
                before[at] += 1;
                let address = there.unwrap_or(own.addresses[lane]);
                let same = |touch: &Touch| touch.slot == own.slot && touch.space == own.space;
                let is_next = touches.get(following).is_some_and(same);
                let known = if is_next { Some(following) } else { touches.iter().position(same) };
                let index = known.unwrap_or_else(|| {
                    touches.push(Touch { mask: ActiveMask::EMPTY, ..*own });
                    touches.len() - 1
                });
                let touch = &mut touches[index];
                touch.mask |= ActiveMask(1 << at);
                touch.addresses[at] = address;
                following = index + 1;
            }
            next[at] += 1;
        }
        touches.sort_by_key(|touch| touch.slot);
        touches.iter().for_each(|touch| touch.put(&mut builder));
    }
    builder.finish()
}
