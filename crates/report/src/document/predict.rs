//! `warplens.predict/1` and `warplens.model/1`.

use serde_json::{Map, Value as Json, json};
use warplens_session::Analysis;
use warplens_session::machines::Machine;
use warplens_session::predict::{
    Answer, GpuAnalysis, Model, Occupancy, PREFERENCE, Part, Prediction, Refusal, Selection, Term, WalkRow,
};

use super::gpu::value;
use super::json::{number, optional};
use super::profile::{counts, launch_shape, origin};
use super::x_model;

/// The document of the `predict` verb: one launch, or a sequence under `launches`.
pub fn document(analyses: &[Analysis]) -> Json {
    let mut bodies: Vec<Map<String, Json>> = analyses.iter().map(launch).collect();
    let mut document = Map::new();
    document.insert("schema".into(), "warplens.predict/1".into());
    match bodies.len() {
        1 => document.extend(bodies.remove(0)),
        _ => {
            document.insert("launches".into(), bodies.into_iter().map(Json::Object).collect());
        }
    }
    Json::Object(document)
}

fn launch(analysis: &Analysis) -> Map<String, Json> {
    let measurement = &analysis.measurement;
    let profile = counts(&measurement.profile);
    let mut body = Map::new();
    body.insert("kernel".into(), measurement.kernel.mangled.as_str().into());
    body.insert("kernel_demangled".into(), measurement.kernel.demangled.as_str().into());
    body.insert("launch".into(), launch_shape(&measurement.profile));
    let predictions =
        analysis.gpus.iter().flat_map(|gpu| gpu.answers.iter().map(|answer| entry(analysis, gpu, answer)));
    body.insert("predictions".into(), predictions.collect());
    body.insert("gpus".into(), analysis.gpus.iter().map(gpu).collect());
    body.insert("profile".into(), Json::Object(profile));
    body.extend(origin(measurement));
    body
}

fn entry(analysis: &Analysis, gpu: &GpuAnalysis, answer: &Answer) -> Json {
    let mut body = Map::new();
    body.insert("gpu".into(), gpu.machine.id.as_str().into());
    body.insert("model".into(), answer.model.name().into());
    match &answer.result {
        Ok(prediction) => body.extend(time(prediction)),
        Err(refusal) => {
            body.insert("time_us".into(), Json::Null);
            body.insert("refused".into(), refused(refusal));
        }
    }
    if let Some(measured) = analysis.measurement.measured.as_ref().filter(|measured| measured.is_of(&gpu.machine)) {
        body.insert("measured_us".into(), number(measured.time_us));
        let error = answer.result.as_ref().ok().and_then(|prediction| prediction.error(measured.time()));
        body.insert("error_share".into(), optional(error));
    }
    Json::Object(body)
}

pub(crate) fn refused(refusal: &Refusal) -> Json {
    json!({ "missing": refusal.missing, "reason": refusal.reason })
}

pub(crate) fn time(prediction: &Prediction) -> Map<String, Json> {
    let quantities: Map<String, Json> =
        prediction.quantities.iter().map(|quantity| (quantity.symbol.to_string(), number(quantity.value))).collect();
    let units: Map<String, Json> = prediction
        .quantities
        .iter()
        .filter(|quantity| !quantity.unit.symbol().is_empty())
        .map(|quantity| (quantity.symbol.to_string(), quantity.unit.symbol().into()))
        .collect();
    let body = json!({
        "time_us": number(prediction.seconds().microseconds()),
        "cycles": number(prediction.time.0),
        "clock_hz": number(prediction.clock.0),
        "limiter": prediction.limiter().name(),
        "combine": prediction.combine.name(),
        "quantities": quantities,
        "quantity_units": units,
        "terms": prediction.terms.iter().map(term).collect::<Vec<_>>(),
        "assumptions": prediction.assumptions.iter().map(|said| said.text.as_str()).collect::<Vec<_>>(),
        "parameters": parameters(prediction),
    });
    let Json::Object(mut body) = body else { unreachable!("the macro was given an object") };
    if let Some(solved) = &prediction.x_model {
        body.insert("x_model".into(), x_model::solved(solved));
    }
    if let Some(simulated) = &prediction.teg {
        body.insert("teg".into(), super::timing::simulation(&simulated.outcome));
    }
    if let Some(walk) = &prediction.luo_suda {
        body.insert("calculate_periods".into(), walk.rows.iter().map(calculate_period).collect());
    }
    body
}

fn calculate_period(row: &WalkRow) -> Json {
    json!({
        "period": row.period,
        "executions": number(row.executions),
        "type": row.time.kind.number(),
        "c_cycles": number(row.costs.c),
        "m_cycles": number(row.costs.m),
        "mpd": if row.costs.m > 0.0 { number(row.costs.mpd) } else { Json::Null },
        "t_c_cycles": number(row.time.t_c),
        "t_p_cycles": number(row.time.t_p),
        "t_cycles": number(row.time.total()),
    })
}

/// What `--model auto` took.
fn selection(selection: &Selection) -> Json {
    let refused = selection
        .refused
        .iter()
        .map(|(model, refusal)| json!({ "model": model.name(), "missing": refusal.missing, "reason": refusal.reason }));
    json!({
        "model": selection.model.name(),
        "order": PREFERENCE.iter().map(|model| model.name()).collect::<Vec<_>>(),
        "why": selection.model.model().rank_reason(),
        "answered": selection.answered.iter().map(|model| model.name()).collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
    })
}

/// A term of a prediction.
pub(super) fn term(term: &Term) -> Json {
    let part = |part: &Part| json!({ "name": part.name, "cycles": number(part.cycles.0) });
    json!({
        "name": term.name,
        "resource": term.resource.name(),
        "cycles": number(term.cycles.0),
        "parameters": term.parameters.iter().map(|key| key.name()).collect::<Vec<_>>(),
        "parts": term.parts.iter().map(part).collect::<Vec<_>>(),
    })
}

fn parameters(prediction: &Prediction) -> Json {
    let parameter = prediction.parameters.iter().map(|read| {
        json!({
            "name": read.key.name(),
            "value": value(&read.value),
            "unit": read.unit.symbol(),
            "basis": read.basis.name(),
            "source": read.source,
        })
    });
    parameter.collect()
}

fn gpu(gpu: &GpuAnalysis) -> Json {
    let band = gpu.band.map(|band| {
        json!({
            "low_us": number(band.low.microseconds()),
            "high_us": number(band.high.microseconds()),
            "models": band.n_models,
        })
    });
    let speed_of_light = gpu.speed_of_light.map(|shares| {
        json!({
            "compute": number(shares.compute),
            "compute_resource": shares.compute_resource.name(),
            "memory": number(shares.memory),
        })
    });
    json!({
        "gpu": gpu.machine.id,
        "auto": gpu.selection.as_ref().map(selection),
        "name": gpu.machine.name,
        "band": band,
        "occupancy": gpu.occupancy.as_ref().map(occupancy),
        "speed_of_light": speed_of_light,
    })
}

pub(crate) fn occupancy(occupancy: &Occupancy) -> Json {
    json!({
        "ctas_per_sm": occupancy.ctas,
        "warps_per_sm": occupancy.warps,
        "share": number(occupancy.share),
        "limiters": occupancy.limiters().map(|limiter| limiter.name()).collect::<Vec<_>>(),
    })
}

/// The document of the `model` verb.
pub fn model(
    model: &dyn Model,
    machine: Option<&Machine>,
    title: Option<&str>,
    result: &Result<Prediction, Refusal>,
) -> Json {
    let mut body = Map::new();
    body.insert("schema".into(), "warplens.model/1".into());
    body.insert("title".into(), title.into());
    body.insert("gpu".into(), machine.map(|machine| machine.id.as_str()).into());
    body.insert("model".into(), model.name().into());
    match result {
        Ok(prediction) => body.extend(time(prediction)),
        Err(refusal) => {
            body.insert("time_us".into(), Json::Null);
            body.insert("refused".into(), refused(refusal));
        }
    }
    Json::Object(body)
}
