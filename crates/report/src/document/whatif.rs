//! `warplens.whatif/1`.

use serde_json::{Map, Value as Json, json};
use warplens_session::predict::{Prediction, Refusal};
use warplens_session::whatif::{GpuWhatIf, ModelWhatIf, Price, Prices, WhatIf};

use super::json::{number, optional};
use super::predict::{occupancy, refused, time};
use super::profile::{launch_shape, support};

/// The document of the `whatif` verb: one launch, or a sequence under `launches`.
pub fn document(answers: &[WhatIf]) -> Json {
    of_launches(answers.iter().map(launch).collect())
}

/// The document of `whatif --each`.
pub fn prices(prices: &[Prices]) -> Json {
    of_launches(prices.iter().map(priced_launch).collect())
}

fn of_launches(mut bodies: Vec<Map<String, Json>>) -> Json {
    let mut document = Map::new();
    document.insert("schema".into(), "warplens.whatif/1".into());
    match bodies.len() {
        1 => document.extend(bodies.remove(0)),
        _ => {
            document.insert("launches".into(), bodies.into_iter().map(Json::Object).collect());
        }
    }
    Json::Object(document)
}

fn launch(answer: &WhatIf) -> Map<String, Json> {
    let measurement = &answer.measurement;
    let mut body = Map::new();
    body.insert("kernel".into(), measurement.kernel.mangled.as_str().into());
    body.insert("kernel_demangled".into(), measurement.kernel.demangled.as_str().into());
    body.insert("launch".into(), launch_shape(&measurement.profile));
    let ran_again = answer.ran_again.map(|shape| json!({ "grid": shape.grid, "block": shape.block }));
    body.insert("ran_again".into(), ran_again.into());
    body.insert("scenario".into(), scenario(answer));
    let answers = answer.gpus.iter().flat_map(|gpu| gpu.models.iter().map(|model| entry(gpu, model)));
    body.insert("answers".into(), answers.collect());
    body.insert("gpus".into(), answer.gpus.iter().map(gpu).collect());
    body.insert("support".into(), support(&measurement.support));
    body
}

fn scenario(answer: &WhatIf) -> Json {
    let edits = &answer.scenario.edits;
    let mut set: Vec<&str> = edits.settings.iter().map(|setting| setting.text.as_str()).collect();
    // A grid or a block is no edit of counts.
    set.extend(
        answer
            .scenario
            .texts
            .iter()
            .map(String::as_str)
            .filter(|text| text.starts_with("grid=") || text.starts_with("block=")),
    );
    let without: Vec<&str> = edits.without.iter().map(|effect| effect.name()).collect();
    json!({ "set": set, "without": without })
}

fn entry(gpu: &GpuWhatIf, model: &ModelWhatIf) -> Json {
    json!({
        "gpu": gpu.before.machine.id,
        "model": model.model.name(),
        "before": outcome(&model.before),
        "after": model.after.as_ref().map(outcome),
        "speedup": optional(model.speedup()),
        "notes": model.notes,
    })
}

fn outcome(result: &Result<Prediction, Refusal>) -> Json {
    match result {
        Ok(prediction) => Json::Object(time(prediction)),
        Err(refusal) => json!({ "time_us": null, "refused": refused(refusal) }),
    }
}

fn gpu(gpu: &GpuWhatIf) -> Json {
    let after = gpu.after.as_ref();
    json!({
        "gpu": gpu.before.machine.id,
        "name": gpu.before.machine.name,
        "occupancy_before": gpu.before.occupancy.as_ref().map(occupancy),
        "occupancy_after": after.ok().and_then(|gpu| gpu.occupancy.as_ref().map(occupancy)),
        "warnings": gpu.warnings,
        "impossible": after.err().map(|why| why.reason.as_str()),
    })
}

fn priced_launch(prices: &Prices) -> Map<String, Json> {
    let measurement = &prices.measurement;
    let mut body = Map::new();
    body.insert("kernel".into(), measurement.kernel.mangled.as_str().into());
    body.insert("kernel_demangled".into(), measurement.kernel.demangled.as_str().into());
    body.insert("launch".into(), launch_shape(&measurement.profile));
    let rows = prices.gpus.iter().flat_map(|gpu| gpu.prices.iter().map(|row| price(&gpu.before.machine.id, row)));
    body.insert("prices".into(), rows.collect());
    body
}

fn price(gpu: &str, price: &Price) -> Json {
    let after = price.after.as_ref();
    let microseconds = |prediction: &Prediction| number(prediction.seconds().microseconds());
    json!({
        "gpu": gpu,
        "model": price.model.name(),
        "effect": price.effect.map(|effect| effect.name()),
        "before_us": microseconds(&price.before),
        "after_us": after.ok().map(microseconds),
        "speedup": optional(price.speedup()),
        "cost_cycles": optional(price.cycles()),
        "share": optional(price.share()),
        "limiter_after": after.ok().map(|after| after.limiter().name()),
        "note": after.err().or(price.note.as_ref()),
    })
}
