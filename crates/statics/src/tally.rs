//! What happens in the walked CTA, kept apart by how often it happens.

use std::collections::BTreeMap;
use std::sync::Arc;

use warplens_isa::{BlockId, Pc};
use warplens_stats::{CtaRecord, Program, Recorder, Times};
use warplens_trace::{Access, ActiveMask, CtaId, Observer as _, WarpIndex};

/// Events of one CTA.
pub(crate) struct Tally {
    program: Arc<Program>,
    parts: Vec<Part>,
}

/// Events that happen in the same share of the cases.
struct Part {
    weight: f64,
    recorder: Recorder,
    cta: CtaRecord,
}

impl Tally {
    pub(crate) fn new(program: &Arc<Program>) -> Self {
        let mut tally = Self { program: program.clone(), parts: Vec::new() };
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

    pub(crate) fn access(&mut self, weight: f64, warp: WarpIndex, pc: Pc, access: &Access<'_>) {
        let Part { recorder, cta, .. } = self.part(weight);
        recorder.access(cta, warp, pc, access);
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

    /// Adds what happened in the walked CTA, for `n_ctas` CTAs.
    pub(crate) fn add(&mut self, tally: Tally, n_ctas: u64) {
        for Part { weight, mut recorder, cta } in tally.parts {
            recorder.end_cta(cta);
            let total = self.parts.entry(weight.to_bits());
            let total = total.or_insert_with(|| Recorder::new(self.program.clone(), std::iter::empty()));
            total.merge_times(recorder, Times::Exactly(n_ctas));
        }
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
