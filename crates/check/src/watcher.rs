//! The observer of a launch.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use warplens_ir::Module;
use warplens_isa::{BlockId, Pc, StateSpace, cluster_rank};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, Observer, Synchronized, Told, WarpIndex};

use crate::found::{Fault, Findings, Found};
use crate::hazards::{Clash, Hazards, Touch};
use crate::written::{Bits, Written};

/// No block has shared memory at higher addresses.
const MOST_SHARED: u64 = 1 << 18;

/// The memory instructions of a module that are never merged or reordered (volatile, relaxed, acquire, release).
#[derive(Clone, Default, Debug)]
pub struct Ordered(Arc<FxHashSet<Pc>>);

impl Ordered {
    /// Those of a module.
    pub fn of(module: &Module) -> Self {
        let insts = module.blocks.as_slice().iter().flat_map(|block| &block.insts);
        Self(Arc::new(insts.filter(|inst| inst.operation.is_ordered()).map(|inst| inst.pc).collect()))
    }
}

/// Looks at the accesses of a launch.
#[derive(Clone, Default, Debug)]
pub struct Watcher {
    /// Races are looked for, with the accesses that are ordered.
    races: Option<Ordered>,
    /// Reads of what nothing wrote are looked for, with what was written before the launch.
    before: Option<Arc<Written>>,
    /// What the launch has written.
    own: Bits,
    findings: Findings,
}

impl Watcher {
    /// A watcher that looks for races where it is told which accesses are ordered, and for reads of what nothing wrote
    /// where it is told what was written before.
    pub fn new(races: Option<Ordered>, before: Option<Arc<Written>>) -> Self {
        Self { races, before, ..Self::default() }
    }

    /// The launch is undone, and begins anew.
    pub fn restart(&mut self) {
        (self.own, self.findings) = (Bits::default(), Findings::default());
    }

    /// What was found. `written` takes over what the launch has written.
    pub fn finish(self, written: &mut Option<Arc<Written>>) -> Vec<Found> {
        drop(self.before);
        if let Some(written) = written {
            Arc::make_mut(written).join(self.own);
        }
        self.findings.list()
    }

    fn global(&mut self, cta: CtaId, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        let Some(before) = &self.before else { return };
        let bytes = u64::from(access.lane_bytes());
        for (first, range) in ranges(access, bytes) {
            if access.kind != AccessKind::Store
                && let Some(missing) = before.first_unwritten(&self.own, range.start, range.end - range.start)
            {
                let lanes = first..first + ((range.end - range.start) / bytes) as usize;
                let lacks =
                    |&lane: &usize| before.first_unwritten(&self.own, access.addresses.of(lane), bytes).is_some();
                let count = lanes.filter(lacks).count();
                let lane = first + ((missing - range.start) / bytes) as usize;
                self.findings.add(Found {
                    fault: Fault::Unwritten,
                    pc,
                    cta,
                    thread: 32 * warp.0 + lane as u32,
                    other_warp: None,
                    address: missing,
                    bytes: bytes as u32,
                    count: count.max(1) as u64,
                });
            }
            if access.kind != AccessKind::Load && before.is_tracked(range.start) {
                self.own.add(range);
            }
        }
    }

    fn shared(&mut self, block: &mut Block, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        let Some(Ordered(ordered)) = &self.races else { return };
        let is_ordered = access.kind == AccessKind::Atomic || ordered.contains(&pc);
        for lane in access.mask.lanes() {
            let given = access.addresses.of(lane);
            let address = Told::of(given).map_or(given, |(_, address)| address.into());
            // Memory of other blocks of the cluster is not looked at, and what lies outside of all is refused elsewhere.
            if cluster_rank(address).is_some() || address > MOST_SHARED {
                continue;
            }
            let touch = Touch {
                warp: warp.0,
                pc,
                kind: access.kind,
                is_ordered,
                is_unchanged: access.unchanged.contains(lane),
                address: address as u32,
                bytes: access.lane_bytes(),
            };
            if let Some(Clash { hazard, other, other_warp, address }) = block.hazards.touch(&touch) {
                self.findings.add(Found {
                    fault: Fault::Race { hazard, other },
                    pc,
                    cta: block.id,
                    thread: 32 * warp.0 + lane as u32,
                    other_warp: Some(other_warp),
                    address: address.into(),
                    bytes: access.lane_bytes(),
                    count: 1,
                });
            }
        }
        block.hazards.pass(warp.0);
    }
}

/// The bytes that neighbouring lanes access together where they follow each other, with the first of the lanes.
fn ranges(access: &Access<'_>, bytes: u64) -> impl Iterator<Item = (usize, std::ops::Range<u64>)> {
    let mut lanes = access.mask.lanes().map(|lane| (lane, access.addresses.of(lane))).peekable();
    std::iter::from_fn(move || {
        let (first, start) = lanes.next()?;
        let (mut last, mut end) = (first, start.saturating_add(bytes));
        while let Some((lane, _)) = lanes.next_if(|&(lane, address)| lane == last + 1 && address == end) {
            (last, end) = (lane, end.saturating_add(bytes));
        }
        Some((first, start..end))
    })
}

/// What is kept for a block.
pub struct Block {
    id: CtaId,
    hazards: Box<Hazards>,
}

impl Observer for Watcher {
    const RECORDS: bool = true;

    type Cta = Block;

    fn fork(&self) -> Self {
        Self { findings: Findings::default(), ..self.clone() }
    }

    fn merge(&mut self, other: Self) {
        self.own.join(other.own);
        self.findings.extend(other.findings);
    }

    fn begin_cta(&mut self, id: CtaId) -> Block {
        Block { id, hazards: Box::new(Hazards::new()) }
    }

    fn end_cta(&mut self, _: Block) {}

    fn block(&mut self, _: &mut Block, _: WarpIndex, _: BlockId, _: ActiveMask) {}

    fn predicated(&mut self, _: &mut Block, _: WarpIndex, _: Pc, _: ActiveMask, _: ActiveMask) {}

    fn branch_indexed(&mut self, _: &mut Block, _: WarpIndex, _: Pc, _: u32) {}

    fn access(&mut self, cta: &mut Block, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        match access.space {
            StateSpace::Global => self.global(cta.id, warp, pc, access),
            StateSpace::Shared => self.shared(cta, warp, pc, access),
            _ => {}
        }
    }

    fn order_dependent(&mut self, _: &mut Block, _: Pc) {}

    fn synchronized(&mut self, cta: &mut Block, event: Synchronized) {
        if self.races.is_some() {
            cta.hazards.synchronized(event);
        }
    }

    fn wants_values(&self) -> bool {
        self.races.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: u64 = 0x7000_0000_0200;

    fn access(kind: AccessKind, addresses: &[u64; 32]) -> Access<'_> {
        Access {
            space: StateSpace::Global,
            kind,
            element_bytes: 4,
            elements: 1,
            mask: ActiveMask::FULL,
            addresses: addresses.into(),
            unchanged: ActiveMask::EMPTY,
        }
    }

    #[test]
    fn reads_of_what_nothing_wrote_are_found_with_their_thread() {
        let mut written = Written::default();
        written.track(BASE, 4096);
        written.write(BASE, 40);
        let mut memory = Some(Arc::new(written));
        let mut watcher = Watcher::new(None, memory.clone());
        let mut other = watcher.fork();
        let row: [u64; 32] = std::array::from_fn(|lane| BASE + 4 * lane as u64);
        let mut block = other.begin_cta(CtaId(3));
        other.access(&mut block, WarpIndex(1), Pc(7), &access(AccessKind::Load, &row));
        other.access(&mut block, WarpIndex(1), Pc(8), &access(AccessKind::Store, &row));
        other.access(&mut block, WarpIndex(1), Pc(9), &access(AccessKind::Load, &row));
        other.end_cta(block);
        watcher.merge(other);
        let mut block = watcher.begin_cta(CtaId(2));
        let far = row.map(|address| address + 256);
        watcher.access(&mut block, WarpIndex(0), Pc(7), &access(AccessKind::Atomic, &far));
        let found = watcher.finish(&mut memory);
        assert_eq!(found.len(), 1);
        let Found { fault, pc, cta, thread, address, count, .. } = found[0];
        assert_eq!((fault, pc, cta, thread, address), (Fault::Unwritten, Pc(7), CtaId(2), 0, BASE + 256));
        assert_eq!(count, 32 + 22);
        let mut later = Watcher::new(None, memory.clone());
        later.access(&mut block, WarpIndex(0), Pc(7), &access(AccessKind::Load, &row));
        assert_eq!(later.finish(&mut memory), [], "what a launch wrote is written for the next one");
    }
}
