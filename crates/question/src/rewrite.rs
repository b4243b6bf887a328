//! Recorded launches as they would be after a change of the source: what warps execute and access is written anew, and
//! then simulated as any other recording.
//!
//! A change of code is answered by this, and never by counts beside traces of the code as it was. Each module has one kind
//! of change, and says what it takes for granted. The counts of a profile follow where a bound is made of them.

pub(crate) mod atomics;
pub(crate) mod banks;
pub(crate) mod barriers;
pub(crate) mod lanes;
pub(crate) mod layout;
pub(crate) mod text;
pub(crate) mod tile;
pub(crate) mod unroll;
pub(crate) mod vectors;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use warplens_isa::StateSpace;
use warplens_model::scenario::{Effect, Impossible, Subject};
use warplens_sim::traces::{Listing, OfBoard, Traced, Traces};
pub(crate) use warplens_stats::sector::BYTES as SECTOR;
use warplens_stats::{CoalescingRule, Profile, Request, TracedCta, coalescing};
use warplens_trace::{
    AccessKind, ActiveMask, Code, CtaTrace, MachineInst, Step, WARP_SIZE, WarpAccess, WarpTrace, WarpTraceBuilder,
};

/// An access with its addresses, to be changed.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Touch {
    pub(crate) slot: u16,
    pub(crate) space: StateSpace,
    pub(crate) kind: AccessKind,
    pub(crate) element_bytes: u8,
    pub(crate) elements: u8,
    pub(crate) mask: ActiveMask,
    pub(crate) addresses: [u64; WARP_SIZE],
}

impl Touch {
    pub(crate) fn new(warp: &WarpTrace, access: &WarpAccess) -> Self {
        let &WarpAccess { slot, element_bytes, elements, space, kind, mask, .. } = access;
        let mut addresses = [0; WARP_SIZE];
        warp.expand(access, &mut addresses);
        Self { slot, space, kind, element_bytes, elements, mask, addresses }
    }

    pub(crate) fn lane_bytes(&self) -> u64 {
        (u64::from(self.element_bytes) * u64::from(self.elements)).max(1)
    }

    pub(crate) fn request(&self) -> Request<'_> {
        Request { lane_bytes: self.lane_bytes() as u32, mask: self.mask, addresses: &self.addresses }
    }

    /// Sectors that it takes, and those that its distinct bytes would take side by side.
    pub(crate) fn sectors(&self) -> (u32, u32) {
        let found = coalescing::transactions(CoalescingRule::Cc70, &self.request());
        (found.bytes() / SECTOR as u32, found.ideal.bytes() / SECTOR as u32)
    }

    /// The units of so many bytes in which each active lane has a part, lane by lane.
    pub(crate) fn units(&self, bytes: u64) -> impl Iterator<Item = u64> {
        let of_lane = move |lane: usize| {
            let address = self.addresses[lane];
            address / bytes..=(address + self.lane_bytes() - 1) / bytes
        };
        self.mask.lanes().flat_map(of_lane)
    }

    /// Distinct addresses become neighbours, from `first` on.
    pub(crate) fn side_by_side(&mut self, first: u64) {
        let mut wanted: Vec<u64> = self.mask.lanes().map(|lane| self.addresses[lane]).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let bytes = self.lane_bytes();
        self.map(|address| first + bytes * wanted.binary_search(&address).expect("it is one of them") as u64);
    }

    /// Applies a change to the address of each active lane.
    pub(crate) fn map(&mut self, change: impl Fn(u64) -> u64) {
        for lane in self.mask.lanes() {
            self.addresses[lane] = change(self.addresses[lane]);
        }
    }

    pub(crate) fn put(&self, builder: &mut WarpTraceBuilder) {
        if !self.mask.is_empty() {
            let size = (self.element_bytes, self.elements);
            builder.access(self.slot, self.space, self.kind, size, self.mask, &self.addresses);
        }
    }
}

/// A memory instruction: its block and its slot there.
pub(crate) type PlaceOfAccess = (u32, u16);

/// The recording, of the CTAs that are simulated on the subject's machine alone, to be changed.
pub(crate) fn recording(subject: &mut Subject) -> Result<&mut Traced, Impossible> {
    let board = subject.machine.board().to_owned();
    let Traces::Made(traced) = &mut subject.traces else {
        return Err(impossible("nothing was recorded of what warps executed"));
    };
    let traced = Arc::make_mut(traced);
    traced.boards.retain(|name, _| *name == board);
    if let Some(of) = traced.boards.get(&board) {
        let mut wanted: Vec<_> = of.sms.iter().flatten().copied().collect();
        wanted.sort_unstable();
        traced.ctas.retain(|cta| wanted.binary_search(&cta.id()).is_ok());
    }
    Ok(traced)
}

pub(crate) fn impossible(reason: &str) -> Impossible {
    Impossible { reason: reason.to_owned() }
}

/// Writes every warp anew, CTA by CTA.
pub(crate) fn each_cta(traced: &mut Traced, mut rewrite: impl FnMut(&CtaTrace) -> Vec<WarpTrace>) {
    for cta in &mut traced.ctas {
        let trace = cta.trace();
        let warps = rewrite(&trace).into();
        *cta = TracedCta::new(&CtaTrace { warps, ..trace }, cta.left_out().to_vec());
    }
}

/// Writes every access to a state space anew: `rewrite` hands on what takes its place.
pub(crate) fn each_access(
    traced: &mut Traced,
    space: StateSpace,
    mut rewrite: impl FnMut(u32, Touch, &mut dyn FnMut(&Touch)),
) {
    each_cta(traced, |cta| {
        let rewrite_warp = |warp| with_accesses(warp, space, |step, touch, put| rewrite(step.block, touch, put));
        cta.warps.iter().map(rewrite_warp).collect()
    });
}

/// A warp with other accesses to a state space.
pub(crate) fn with_accesses(
    warp: &WarpTrace,
    space: StateSpace,
    mut rewrite: impl FnMut(&Step, Touch, &mut dyn FnMut(&Touch)),
) -> WarpTrace {
    let mut builder = WarpTraceBuilder::like(warp);
    for step in warp.steps() {
        builder.step(step.block, step.mask);
        for number in warp.numbers_of(&step) {
            let access = warp.access(number);
            if access.space != space {
                builder.copy(warp, number, 0);
                continue;
            }
            let own = Touch::new(warp, &access);
            rewrite(&step, own, &mut |touch| match *touch == own {
                true => builder.copy(warp, number, 0),
                false => touch.put(&mut builder),
            });
        }
    }
    builder.finish()
}

/// Hands every access on, with its block.
pub(crate) fn visit(traced: &Traced, mut visit: impl FnMut(u32, &Touch)) {
    for cta in traced.ctas.iter().map(TracedCta::trace) {
        for warp in cta.warps.iter() {
            for step in warp.steps() {
                for access in warp.accesses_of(&step) {
                    visit(step.block, &Touch::new(warp, &access));
                }
            }
        }
    }
}

/// Writes the instructions of every block anew, in both orders: `rewrite` returns what takes the place of one, which it
/// gets with the block that its accesses are of.
pub(crate) fn each_instruction(traced: &mut Traced, rewrite: impl Fn(u32, &MachineInst) -> MachineInst) {
    each_code(traced, |code| each_instruction_of(code, &rewrite));
}

fn each_instruction_of(code: &mut Code, rewrite: impl Fn(u32, &MachineInst) -> MachineInst) {
    each_block(code, |code, block, insts| {
        insts.extend(code.block(block).iter().map(|inst| rewrite(code.block_of(block, inst), inst)));
    });
}

/// Writes the instructions of every block anew: `rewrite` adds them to those of the blocks before. A block may have been
/// put together of others, which traces name ([`Code::block_of`]).
pub(crate) fn each_block(code: &mut Code, mut rewrite: impl FnMut(&Code, u32, &mut Vec<MachineInst>)) {
    let mut insts = Vec::with_capacity(code.insts.len());
    let mut blocks = Vec::with_capacity(code.blocks.len());
    for block in 0..code.blocks.len() as u32 {
        let start = insts.len() as u32;
        rewrite(code, block, &mut insts);
        blocks.push(start..insts.len() as u32);
    }
    (code.insts, code.blocks) = (insts, blocks);
}

/// Changes the machine code, in both orders.
pub(crate) fn each_code(traced: &mut Traced, mut change: impl FnMut(&mut Code)) {
    for OfBoard { code, .. } in traced.boards.values_mut() {
        let Ok(code) = code else { continue };
        for Listing { code, .. } in [&mut code.scheduled, &mut code.program_order] {
            change(Arc::make_mut(code));
        }
    }
}

/// The machine code as it is simulated.
pub(crate) fn code(traced: &Traced) -> Option<Arc<Code>> {
    let of = traced.boards.values().next()?;
    Some(of.code.as_ref().ok()?.scheduled.code.clone())
}

/// Executions of blocks change as those of the traced CTAs did.
pub(crate) fn follow_executions(traced: &mut Traced, before: &BTreeMap<u32, u64>, after: &BTreeMap<u32, u64>) {
    let scale = scale_of(&traced.executions, before);
    let mut all: BTreeMap<u32, u64> = BTreeMap::new();
    for (&block, &n) in after {
        let known = before.get(&block).copied().unwrap_or(0);
        let whole = traced.executions.iter().find(|(other, _)| *other == block).map_or(0, |(_, n)| *n);
        let of_each = if known > 0 { whole as f64 / known as f64 } else { scale };
        all.insert(block, (n as f64 * of_each).round() as u64);
    }
    // What is executed by CTAs that were not traced stays.
    for &(block, n) in traced.executions.iter().filter(|(block, _)| !before.contains_key(block)) {
        all.entry(block).or_insert(n);
    }
    traced.executions = all.into_iter().collect();
}

/// How often the launch executes what the traced CTAs do once.
fn scale_of(all: &[(u32, u64)], traced: &BTreeMap<u32, u64>) -> f64 {
    let known = |block: &u32| traced.contains_key(block);
    let whole: u64 = all.iter().filter(|(block, _)| known(block)).map(|(_, n)| n).sum();
    whole as f64 / traced.values().sum::<u64>().max(1) as f64
}

/// Executions of blocks by the traced CTAs.
pub(crate) fn executions(traced: &Traced) -> BTreeMap<u32, u64> {
    let mut all = Executions::default();
    traced.ctas.iter().for_each(|cta| all.add(&cta.trace().warps, cta.left_out()));
    all.finish()
}

/// Executions of blocks that are counted.
#[derive(Default)]
pub(crate) struct Executions(FxHashMap<u32, u64>);

impl Executions {
    /// Adds those of some warps, and of what their traces leave out.
    pub(crate) fn add(&mut self, warps: &[WarpTrace], left_out: &[(u32, u64)]) {
        let steps = warps.iter().flat_map(WarpTrace::steps).map(|step| (step.block, 1));
        for (block, n) in steps.chain(left_out.iter().copied()) {
            *self.0.entry(block).or_insert(0) += n;
        }
    }

    /// All of them, by block.
    pub(crate) fn finish(self) -> BTreeMap<u32, u64> {
        self.0.into_iter().collect()
    }
}

/// Accesses whose distinct sectors are counted.
const MOST_ACCESSES: usize = 1 << 17;

/// The first traced CTAs, as many as have accesses to count: the same ones before and after a change.
pub(crate) fn counted_ctas(traced: &Traced) -> usize {
    let accesses = |cta: &CtaTrace| cta.warps.iter().map(|warp| warp.accesses().len()).sum::<usize>();
    let mut all = 0;
    let fits = |cta: &&TracedCta| {
        let before = all;
        all += accesses(&cta.trace());
        before < MOST_ACCESSES
    };
    traced.ctas.iter().take_while(fits).count()
}

/// Distinct sectors of global memory that the first traced CTAs load and store.
pub(crate) fn distinct_sectors(traced: &Traced, n_ctas: usize) -> [f64; 2] {
    let mut sectors = [Vec::new(), Vec::new()];
    for cta in traced.ctas.iter().take(n_ctas).map(TracedCta::trace) {
        for warp in cta.warps.iter() {
            for access in warp.accesses().filter(|access| access.space == StateSpace::Global) {
                let touch = Touch::new(warp, &access);
                let of = &mut sectors[usize::from(access.kind != AccessKind::Load)];
                let mut last = u64::MAX;
                for sector in touch.units(SECTOR) {
                    if sector != last {
                        of.push(sector);
                        last = sector;
                    }
                }
            }
        }
    }
    sectors.map(|mut sectors| {
        sectors.sort_unstable();
        sectors.dedup();
        sectors.len() as f64
    })
}

/// Changes the profile's distinct sectors as those of the traced CTAs changed.
pub(crate) fn follow_sectors(profile: &mut Profile, before: [f64; 2], after: [f64; 2]) {
    let counts = [&mut profile.distinct_sectors_read, &mut profile.distinct_sectors_written];
    for ((count, before), after) in counts.into_iter().zip(before).zip(after) {
        if before > 0.0 {
            *count = (*count as f64 * after / before).round() as u64;
        }
    }
}

/// Changes the counts of a profile as an effect that is taken away does, and nothing else.
pub(crate) fn counts_without(subject: &mut Subject, effect: &str) -> Result<(), Impossible> {
    let knobs = subject.knobs.clone();
    Effect::find(effect).expect("the table of effects has it").remove(subject)?;
    subject.knobs = knobs;
    Ok(())
}
