//! `warplens.tune/1`.

use serde_json::{Map, Value as Json, json};
use warplens_session::predict::ModelId;
use warplens_session::tune::{Candidate, Method, ModelTime, OnGpu, Ranking, Tuning};

use super::json::number;
use crate::view::tune::difference;

/// The document of the `tune` verb.
pub fn document(tuning: &Tuning) -> Json {
    let (method, n_starts) = match tuning.method {
        Method::Exhaustive => ("exhaustive", Json::Null),
        Method::Guided { n_starts } => ("guided", n_starts.into()),
    };
    let dimensions = tuning.dimensions.iter();
    let dimensions = dimensions.map(|dimension| json!({ "name": dimension.name, "values": dimension.values }));
    json!({
        "schema": "warplens.tune/1",
        "kernel": tuning.kernel.as_ref().map(|kernel| kernel.mangled.as_str()),
        "kernel_demangled": tuning.kernel.as_ref().map(|kernel| kernel.demangled.as_str()),
        "dimensions": dimensions.collect::<Vec<_>>(),
        "method": method,
        "starts": n_starts,
        "points_total": tuning.n_points,
        "points_excluded": tuning.n_excluded,
        "points_evaluated": tuning.candidates.len(),
        "launches_emulated": tuning.n_emulated,
        "programs": tuning.n_programs,
        "band": number(tuning.band),
        "rankings": tuning.rankings.iter().map(ranking).collect::<Vec<_>>(),
        "compromise": tuning.compromise.as_ref().map(|own| {
            json!({ "point": own.candidate, "slowdown": number(own.slowdown) })
        }),
        "points": tuning.candidates.iter().map(|own| point(tuning, own)).collect::<Vec<_>>(),
    })
}

fn ranking(ranking: &Ranking) -> Json {
    json!({ "gpu": ranking.gpu, "model": ranking.model.map(ModelId::name), "order": ranking.order, "tied": ranking.tied })
}

fn point(tuning: &Tuning, candidate: &Candidate) -> Json {
    let choices: Map<String, Json> = tuning
        .dimensions
        .iter()
        .map(|one| (one.name.clone(), one.values[candidate.choices[one.position]].as_str().into()))
        .collect();
    let (point, measured) = (candidate.point.as_ref(), candidate.measured());
    let gpus = measured.into_iter().flat_map(|measured| measured.gpus.iter().zip(&tuning.rankings));
    json!({
        "choices": choices,
        "grid": point.map(|point| point.grid),
        "block": point.map(|point| point.block),
        "dynamic_shared_bytes": point.map(|point| point.shared),
        "shared_bytes": measured.map(|measured| measured.shared_bytes),
        "registers": measured.map(|measured| measured.registers),
        "registers_basis": measured.map(|measured| measured.registers_basis.name()),
        "instructions": measured.map(|measured| measured.instructions),
        "ctas_executed": measured.map(|measured| measured.ctas.0),
        "ctas_total": measured.map(|measured| measured.ctas.1),
        "outputs": candidate.check.as_ref().map(|check| check.name()),
        "outputs_difference": candidate.check.as_ref().map(difference).filter(|text| !text.is_empty()),
        "impossible": candidate.result.as_ref().err(),
        "gpus": gpus.map(|(on, ranking)| on_gpu(on, ranking)).collect::<Vec<_>>(),
    })
}

fn on_gpu(on: &OnGpu, ranking: &Ranking) -> Json {
    json!({
        "gpu": ranking.gpu,
        "impossible": on.impossible,
        "occupancy_share": on.occupancy.map(number),
        "predictions": on.answers.iter().map(prediction).collect::<Vec<_>>(),
    })
}

fn prediction(answer: &ModelTime) -> Json {
    match &answer.result {
        Ok((time, limiter)) => json!({ "model": answer.model.name(), "time_us": number(*time), "limiter": limiter }),
        Err(reason) => json!({ "model": answer.model.name(), "time_us": null, "refused": { "reason": reason } }),
    }
}
