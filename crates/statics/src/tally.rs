//! What happens in the walked CTA, kept apart by how often it happens.

use std::collections::BTreeMap;
use std::sync::Arc;

use warplens_isa::{BlockId, Pc, StateSpace};
use warplens_stats::{CtaRecord, Program, Recorder, Times};
use warplens_trace::{Access, AccessKind, ActiveMask, CtaId, Observer as _, WarpIndex};

use crate::effects::PHASE_BYTES;
use crate::region::{Dependence, Region};

/// Stores and atomics of one CTA that may be noted to move across lines.
const MAX_MOVING: usize = 1 << 10;
/// Places in their lines that they may take.
const MAX_MOVES: u64 = 256;

/// Events of one CTA.
pub(crate) struct Tally {
    program: Arc<Program>,
    parts: Vec<Part>,
    moving: Vec<Moving>,
}

/// A store or atomic that takes other places in its lines in other CTAs.
struct Moving {
    weight: f64,
    pc: Pc,
    space: StateSpace,
    kind: AccessKind,
    element_bytes: u8,
    elements: u8,
    mask: ActiveMask,
    addresses: [u64; 32],
    dependence: Dependence,
}

/// Events that happen in the same share of the cases.
struct Part {
    weight: f64,
    recorder: Recorder,
    cta: CtaRecord,
}

impl Tally {
    pub(crate) fn new(program: &Arc<Program>) -> Self {
        let mut tally = Self { program: program.clone(), parts: Vec::new(), moving: Vec::new() };
        tally.part(1.0);
        tally
    }

    fn part(&mut self, weight: f64) -> &mut Part {
        let found = self.parts.iter().position(|part| part.weight == weight);
        let at = found.unwrap_or_else(|| {
            let mut recorder = Recorder::new(self.program.clone(), std::iter::once(CtaId(0)));
            let cta = recorder.begin_cta(CtaId(0));
            self.parts.push(Part { weight, recorder, cta });
            self.parts.len() - 1
        });
        &mut self.parts[at]
    }

    pub(crate) fn block(&mut self, weight: f64, warp: WarpIndex, block: BlockId, mask: u32) {
        let Part { recorder, cta, .. } = self.part(weight);
        recorder.block(cta, warp, block, ActiveMask(mask));
    }

    pub(crate) fn predicated(&mut self, weight: f64, warp: WarpIndex, pc: Pc, active: u32, on: u32) {
        let Part { recorder, cta, .. } = self.part(weight);
        recorder.predicated(cta, warp, pc, ActiveMask(active), ActiveMask(on));
    }

    pub(crate) fn may_diverge(&mut self, weight: f64, pc: Pc) {
        self.part(weight).recorder.may_diverge(pc);
    }

    pub(crate) fn branch_indexed(&mut self, weight: f64, warp: WarpIndex, pc: Pc, n_targets: u32) {
        let Part { recorder, cta, .. } = self.part(weight);
        recorder.branch_indexed(cta, warp, pc, n_targets);
    }

    /// True when a store or atomic may move across lines from CTA to CTA.
    pub(crate) fn can_move(&self, region: &Region, dependence: &Dependence) -> bool {
        self.moving.len() < MAX_MOVING && dependence.opaque == 0 && region.n_moves(dependence, PHASE_BYTES) <= MAX_MOVES
    }

    /// An access whose addresses depend on the CTA.
    pub(crate) fn access(
        &mut self,
        weight: f64,
        warp: WarpIndex,
        pc: Pc,
        access: &Access<'_>,
        region: &Region,
        dependence: &Dependence,
    ) {
        if access.kind != AccessKind::Load && !region.keeps_modulo(dependence, PHASE_BYTES) {
            let Part { recorder, cta, .. } = self.part(weight);
            recorder.follow_store(cta, warp, pc, access);
            let &Access { space, kind, element_bytes, elements, mask, addresses, .. } = access;
            let (addresses, dependence) = (addresses.all(), *dependence);
            self.moving.push(Moving { weight, pc, space, kind, element_bytes, elements, mask, addresses, dependence });
            return;
        }
        let Part { recorder, cta, .. } = self.part(weight);
        recorder.access(cta, warp, pc, access);
    }
}

impl Moving {
    /// Counts the access of the CTAs in which its addresses are so much larger.
    fn record(&self, by: i64, recorder: &mut Recorder, cta: &mut CtaRecord) {
        let addresses = self.addresses.map(|address| address.wrapping_add_signed(by));
        let &Self { space, kind, element_bytes, elements, mask, .. } = self;
        let (addresses, unchanged) = ((&addresses).into(), ActiveMask::EMPTY);
        let access = Access { space, kind, element_bytes, elements, mask, addresses, unchanged };
        recorder.access(cta, WarpIndex(0), self.pc, &access);
    }
}

/// The events of all CTAs, by the share of the cases in which they happen.
pub(crate) struct Totals {
    program: Arc<Program>,
    /// By the bits of the share.
    parts: BTreeMap<u64, Recorder>,
}

impl Totals {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Self { program, parts: BTreeMap::new() }
    }

    /// Adds what happened in the walked CTA, for all CTAs of the region.
    pub(crate) fn add(&mut self, tally: Tally, region: &Region) {
        for Part { weight, mut recorder, cta } in tally.parts {
            recorder.end_cta(cta);
            self.part(weight).merge_times(recorder, Times::Exactly(region.n_ctas()));
        }
        // By share and number of CTAs.
        let mut moved: BTreeMap<(u64, u64), (Recorder, CtaRecord)> = BTreeMap::new();
        for moving in &tally.moving {
            for (by, n) in region.moves(&moving.dependence, PHASE_BYTES) {
                let (recorder, cta) = moved.entry((moving.weight.to_bits(), n)).or_insert_with(|| {
                    let mut recorder = Recorder::new(self.program.clone(), std::iter::empty());
                    let cta = recorder.begin_cta(CtaId(0));
                    (recorder, cta)
                });
                moving.record(by, recorder, cta);
            }
        }
        for ((weight, n), (recorder, _)) in moved {
            self.part(f64::from_bits(weight)).merge_times(recorder, Times::Exactly(n));
        }
    }

    fn part(&mut self, weight: f64) -> &mut Recorder {
        let program = &self.program;
        let part = self.parts.entry(weight.to_bits());
        part.or_insert_with(|| Recorder::new(program.clone(), std::iter::empty()))
    }

    /// Everything, each part in its share.
    pub(crate) fn finish(self) -> Recorder {
        let mut all = Recorder::new(self.program, std::iter::empty());
        for (bits, part) in self.parts {
            let weight = f64::from_bits(bits);
            all.merge_times(part, if weight == 1.0 { Times::Exactly(1) } else { Times::Share(weight) });
        }
        all
    }
}
