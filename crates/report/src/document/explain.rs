//! `warplens.explain/1`.

use serde_json::{Map, Value as Json, json};
use warplens_session::explain::{Advice, Evidence, Explanation, GpuExplanation, Place, ThreadAdvice};
use warplens_session::predict::GpuAnalysis;

use super::json::{number, optional};
use super::predict::{occupancy, refused, time};
use super::profile::{launch_shape, support};

/// The document of the `explain` verb: one launch, or a sequence under `launches`.
pub fn document(explanations: &[Explanation]) -> Json {
    let mut bodies: Vec<Map<String, Json>> = explanations.iter().map(launch).collect();
    let mut document = Map::new();
    document.insert("schema".into(), "warplens.explain/1".into());
    match bodies.len() {
        1 => document.extend(bodies.remove(0)),
        _ => {
            document.insert("launches".into(), bodies.into_iter().map(Json::Object).collect());
        }
    }
    Json::Object(document)
}

fn launch(explanation: &Explanation) -> Map<String, Json> {
    let measurement = &explanation.analysis.measurement;
    let gpus = explanation.analysis.gpus.iter().zip(&explanation.gpus);
    let mut body = Map::new();
    body.insert("kernel".into(), measurement.kernel.mangled.as_str().into());
    body.insert("kernel_demangled".into(), measurement.kernel.demangled.as_str().into());
    body.insert("launch".into(), launch_shape(&measurement.profile));
    body.insert("gpus".into(), gpus.map(|(analysis, explained)| gpu(analysis, explained)).collect());
    body.insert("support".into(), support(&measurement.support));
    body
}

fn gpu(analysis: &GpuAnalysis, gpu: &GpuExplanation) -> Json {
    let refusals = analysis.answers.iter().filter_map(|answer| {
        let refusal = answer.result.as_ref().err()?;
        Some(json!({ "model": answer.model.name(), "refused": refused(refusal) }))
    });
    json!({
        "gpu": analysis.machine.id,
        "name": analysis.machine.name,
        "model": analysis.prediction().map(|prediction| prediction.model.name()),
        "prediction": analysis.prediction().map(time),
        "refusals": refusals.collect::<Vec<_>>(),
        "occupancy": analysis.occupancy.as_ref().map(occupancy),
        "evidence": gpu.evidence.iter().map(evidence).collect::<Vec<_>>(),
        "advice": gpu.advice.iter().map(advice).collect::<Vec<_>>(),
        "x_model": gpu.threads.as_ref().map(threads),
    })
}

fn evidence(evidence: &Evidence) -> Json {
    let values: Map<String, Json> =
        evidence.values.iter().map(|(name, value)| ((*name).to_owned(), number(*value))).collect();
    json!({ "id": evidence.id, "text": evidence.text, "values": values })
}

fn advice(advice: &Advice) -> Json {
    json!({
        "id": advice.id,
        "title": advice.title,
        "how": advice.how,
        "before_us": number(advice.before.seconds().microseconds()),
        "after_us": number(advice.after.seconds().microseconds()),
        "speedup": number(advice.speedup),
        "limiter_after": advice.after.limiter().name(),
        "places": advice.places.iter().map(place).collect::<Vec<_>>(),
        "side_effects": advice.side_effects,
        "whatif": advice.question,
    })
}

fn place(place: &Place) -> Json {
    json!({
        "share": number(place.share),
        "ptx_lines": place.ptx_lines,
        "file": place.source.as_ref().map(|(file, _)| file),
        "line": place.source.as_ref().map(|(_, line)| line),
        "opcodes": place.opcodes.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn threads(advice: &ThreadAdvice) -> Json {
    let turns = advice.turns.iter().map(|turn| {
        json!({
            "technique": turn.technique,
            "knob": turn.knob,
            "from": number(turn.from),
            "to": number(turn.to),
            "is_best": turn.is_best,
            "gain": number(turn.gain),
            "most": number(turn.most),
            "limited_by": turn.limited_by,
        })
    });
    let fall = advice.fall.map(|fall| {
        json!({
            "best_threads": optional(fall.best),
            "forced_threads": optional(fall.forced.map(|(threads, _)| threads)),
            "forced_loss": optional(fall.forced.map(|(_, loss)| loss)),
            "possible_threads": optional(fall.possible),
        })
    });
    json!({
        "threads": number(advice.threads),
        "threads_unit": advice.threads_unit.symbol(),
        "bound": advice.bound,
        "turns": turns.collect::<Vec<_>>(),
        "fall": fall,
    })
}
