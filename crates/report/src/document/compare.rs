//! `warplens.compare`.

use warplens_document::compare::{self as document, Compare, CountChange, ParameterChange, Signs, TermChange};
use warplens_document::profile::Extents;
use warplens_document::{Id, Number};
use warplens_question::compare::{Baseline, Comparison, Entry, Explanation, SignMatrix, Variant};
use warplens_session::saved;

use super::predict::{combine, term};

/// The document of the `compare` verb.
pub fn document(comparison: &Comparison) -> Compare {
    let (variant, gpu) = match comparison.baseline {
        Baseline::Variant(at) => (Some(comparison.variants[at].name.clone()), None),
        Baseline::Gpu(at) => (None, Some(comparison.gpus[at].id.clone())),
    };
    Compare {
        schema: Id::new(),
        baseline: document::Baseline { variant, gpu },
        band: Number(comparison.band),
        variants: comparison.variants.iter().map(one_variant).collect(),
        entries: comparison.entries.iter().map(|own| entry(comparison, own)).collect(),
        explanations: comparison.explanations.iter().map(|own| explanation(comparison, own)).collect(),
        signs: comparison.signs.iter().map(|own| signs(comparison, own)).collect(),
    }
}

fn one_variant(variant: &Variant) -> document::Variant {
    document::Variant {
        variant: variant.name.clone(),
        block: variant.block.map(Extents),
        kernel: variant.measurement.kernel.mangled.clone(),
        kernel_demangled: variant.measurement.kernel.demangled.clone(),
        launch: saved::launch(&variant.measurement.profile),
        counted: saved::counted(&variant.measurement.profile).into(),
    }
}

fn entry(comparison: &Comparison, entry: &Entry) -> document::Entry {
    let variant = &comparison.variants[entry.variant];
    let prediction = entry.result.as_ref().ok();
    let counts = &entry.counts;
    document::Entry {
        variant: variant.name.clone(),
        block: variant.block.map(Extents),
        gpu: comparison.gpus[entry.gpu].id.clone(),
        model: entry.model.to_string(),
        time_us: entry.time_us().map(Number),
        speedup: entry.speedup.map(Number),
        measured_us: entry.measured_us.map(Number),
        limiter: prediction.map(|prediction| prediction.limiter().name().to_owned()),
        combine: prediction.map(|prediction| combine(prediction.combine)),
        clock_hz: prediction.map(|prediction| Number(prediction.clock.0)),
        terms: prediction.map(|own| own.terms.iter().map(term).collect()),
        occupancy_share: entry.occupancy.map(Number),
        instructions: counts.instructions,
        requests: counts.requests,
        transactions: counts.transactions,
        bytes_moved: counts.bytes_moved,
        conflict_wavefronts: counts.conflict_wavefronts,
        barriers: counts.barriers,
        divergent_branches: counts.divergent_branches,
        independent_loads: counts.independent_loads.map(Number),
        refused: entry.result.as_ref().err().cloned(),
    }
}

fn explanation(comparison: &Comparison, explanation: &Explanation) -> document::Explanation {
    let variant = &comparison.variants[explanation.variant];
    let terms = explanation.terms.iter().map(|term| TermChange {
        name: term.name.to_owned(),
        resource: term.resource.name().to_owned(),
        before_us: Number(term.before_us),
        after_us: Number(term.after_us),
    });
    let counts = explanation.counts.iter().map(|one| CountChange {
        name: one.name.to_string(),
        before: Number(one.before),
        after: Number(one.after),
    });
    let parameters = explanation.parameters.iter().map(|one| ParameterChange {
        name: one.name.to_string(),
        unit: one.unit.symbol().to_owned(),
        before: Number(one.before),
        after: Number(one.after),
    });
    document::Explanation {
        variant: variant.name.clone(),
        block: variant.block.map(Extents),
        gpu: comparison.gpus[explanation.gpu].id.clone(),
        model: explanation.model.to_string(),
        before_us: Number(explanation.before_us),
        after_us: Number(explanation.after_us),
        combine: combine(explanation.combine),
        share: explanation.share().map(Number),
        terms: terms.collect(),
        counts: counts.collect(),
        parameters: parameters.collect(),
    }
}

fn signs(comparison: &Comparison, matrix: &SignMatrix) -> Signs {
    let names = matrix.variants.iter().map(|&variant| comparison.variants[variant].name.clone());
    Signs {
        gpu: comparison.gpus[matrix.gpu].id.clone(),
        model: matrix.model.to_string(),
        block: matrix.block.map(Extents),
        variants: names.collect(),
        predicted: matrix.predicted.clone(),
        measured: matrix.agreement.map(|_| matrix.measured.clone()),
        agreement: matrix
            .agreement
            .map(|own| document::Agreement { same: own.n_same as u64, pairs: own.n_pairs as u64 }),
    }
}
