//! `warplens.compare/1`.

use serde_json::{Map, Value as Json, json};
use warplens_session::compare::{Baseline, Comparison, Entry, Explanation, SignMatrix};
use warplens_session::launch::Extents;

use super::json::number;
use super::predict::term;
use super::profile::launch_shape;

/// The document of the `compare` verb.
pub fn document(comparison: &Comparison) -> Json {
    let (variant, gpu) = match comparison.baseline {
        Baseline::Variant(at) => (Some(comparison.variants[at].name.as_str()), None),
        Baseline::Gpu(at) => (None, Some(comparison.gpus[at].id.as_str())),
    };
    let variants = comparison.variants.iter().map(|variant| {
        json!({
            "variant": variant.name,
            "block": block(variant.block),
            "kernel": variant.measurement.kernel.mangled,
            "kernel_demangled": variant.measurement.kernel.demangled,
            "launch": launch_shape(&variant.measurement.profile),
        })
    });
    json!({
        "schema": "warplens.compare/1",
        "baseline": { "variant": variant, "gpu": gpu },
        "band": number(comparison.band),
        "variants": variants.collect::<Vec<_>>(),
        "entries": comparison.entries.iter().map(|own| entry(comparison, own)).collect::<Vec<_>>(),
        "explanations": comparison.explanations.iter().map(|own| explanation(comparison, own)).collect::<Vec<_>>(),
        "signs": comparison.signs.iter().map(|own| signs(comparison, own)).collect::<Vec<_>>(),
    })
}

fn block(block: Option<Extents>) -> Json {
    block.map_or(Json::Null, |block| json!(block))
}

fn optional(value: Option<f64>) -> Json {
    value.map_or(Json::Null, number)
}

fn entry(comparison: &Comparison, entry: &Entry) -> Json {
    let variant = &comparison.variants[entry.variant];
    let prediction = entry.result.as_ref().ok();
    let mut body = Map::new();
    let mut put = |key: &str, value: Json| body.insert(key.to_owned(), value);
    put("variant", variant.name.as_str().into());
    put("block", block(variant.block));
    put("gpu", comparison.gpus[entry.gpu].id.as_str().into());
    put("model", entry.model.name().into());
    put("time_us", optional(entry.time_us()));
    put("speedup", optional(entry.speedup));
    put("measured_us", optional(entry.measured_us));
    put("limiter", prediction.map(|prediction| prediction.limiter().name()).into());
    put("combine", prediction.map(|prediction| prediction.combine.name()).into());
    put("clock_hz", optional(prediction.map(|prediction| prediction.clock.0)));
    put("terms", prediction.map_or(Json::Null, |own| own.terms.iter().map(term).collect()));
    put("occupancy_share", optional(entry.occupancy));
    let counts = &entry.counts;
    put("instructions", counts.instructions.into());
    put("requests", counts.requests.into());
    put("transactions", counts.transactions.into());
    put("bytes_moved", counts.bytes_moved.into());
    put("conflict_wavefronts", counts.conflict_wavefronts.into());
    put("barriers", counts.barriers.into());
    put("divergent_branches", counts.divergent_branches.into());
    put("independent_loads", optional(counts.independent_loads));
    put("refused", entry.result.as_ref().err().map(String::as_str).into());
    Json::Object(body)
}

fn explanation(comparison: &Comparison, explanation: &Explanation) -> Json {
    let variant = &comparison.variants[explanation.variant];
    let terms = explanation.terms.iter().map(|term| {
        json!({
            "name": term.name,
            "resource": term.resource.name(),
            "before_us": number(term.before_us),
            "after_us": number(term.after_us),
        })
    });
    let counts = explanation.counts.iter();
    let counts =
        counts.map(|one| json!({ "name": one.name, "before": number(one.before), "after": number(one.after) }));
    let parameters = explanation.parameters.iter().map(|one| {
        json!({
            "name": one.name,
            "unit": one.unit.symbol(),
            "before": number(one.before),
            "after": number(one.after),
        })
    });
    json!({
        "variant": variant.name,
        "block": block(variant.block),
        "gpu": comparison.gpus[explanation.gpu].id,
        "model": explanation.model.name(),
        "before_us": number(explanation.before_us),
        "after_us": number(explanation.after_us),
        "combine": explanation.combine.name(),
        "share": optional(explanation.share()),
        "terms": terms.collect::<Vec<_>>(),
        "counts": counts.collect::<Vec<_>>(),
        "parameters": parameters.collect::<Vec<_>>(),
    })
}

fn signs(comparison: &Comparison, matrix: &SignMatrix) -> Json {
    let names = matrix.variants.iter().map(|&variant| comparison.variants[variant].name.as_str());
    json!({
        "gpu": comparison.gpus[matrix.gpu].id,
        "model": matrix.model.name(),
        "block": block(matrix.block),
        "variants": names.collect::<Vec<_>>(),
        "predicted": matrix.predicted,
        "measured": matrix.agreement.map(|_| &matrix.measured),
        "agreement": matrix.agreement.map(|own| json!({ "same": own.n_same, "pairs": own.n_pairs })),
    })
}
