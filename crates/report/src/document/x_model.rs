//! The object `x_model` of a prediction.

use serde_json::{Value as Json, json};
use warplens_session::x_model::{Advice, Cliff, Drop, Extremum, Intersection, Knob, Region, Solved};

use super::json::{number, optional};
use crate::view::x_model::reached_from;

/// A solved system.
pub(super) fn solved(solved: &Solved) -> Json {
    let state = &solved.state;
    let marks = &state.landmarks;
    let parallelism = state.parallelism();
    let intersection = |found: &Intersection| {
        json!({
            "k": number(found.k),
            "x": number(found.x),
            "memory_throughput": number(found.memory_throughput),
            "computation_throughput": number(found.computation_throughput),
            "stability": found.stability.name(),
            "reached_from": reached_from(state, found),
        })
    };
    let region =
        |region: &Region| json!({ "from": number(region.from), "to": number(region.to), "bound": region.bound.name() });
    let knob = |knob: &Knob| {
        let (spec, value) = (knob.spec(), knob.value(&state.system)?);
        Some(json!({ "name": spec.name, "value": number(value), "unit": spec.unit.symbol() }))
    };
    json!({
        "units": {
            "threads": solved.units.threads.symbol(),
            "memory": solved.units.memory.symbol(),
            "computation": solved.units.computation.symbol(),
            "bytes_per_second": optional(solved.units.bytes_per_second),
        },
        "bound": state.bound.name(),
        "pi": number(state.pi),
        "delta": number(marks.delta),
        "plateau": number(marks.plateau),
        "psi": extremum(marks.psi),
        "valley": extremum(marks.valley),
        "second_peak": extremum(marks.second_peak),
        "intersections": state.intersections.iter().map(intersection).collect::<Vec<_>>(),
        "regions": state.regions().iter().map(region).collect::<Vec<_>>(),
        "parallelism": {
            "tlp_workload": number(parallelism.tlp_workload),
            "tlp_machine": number(parallelism.tlp_machine),
            "ilp_workload": optional(parallelism.ilp_workload),
            "lanes_machine": optional(parallelism.lanes_machine),
            "mlp_workload": number(parallelism.mlp_workload),
            "mlp_machine": number(parallelism.mlp_machine),
            "dlp_workload": number(parallelism.dlp_workload),
            "dlp_machine": number(parallelism.dlp_machine),
        },
        "knobs": Knob::ALL.iter().filter_map(knob).collect::<Vec<_>>(),
        "advice": solved.advice().iter().map(advice).collect::<Vec<_>>(),
        "cliff": solved.cliff().as_ref().map(cliff),
    })
}

fn extremum(found: Option<Extremum>) -> Json {
    found.map_or(Json::Null, |found| json!({ "k": number(found.k), "memory_throughput": number(found.throughput) }))
}

fn advice(found: &Advice) -> Json {
    json!({
        "change": found.technique.name(),
        "knob": found.technique.knob().spec().name,
        "from": number(found.from),
        "to": number(found.to),
        "is_best": found.is_best,
        "memory_ratio": number(found.memory_ratio),
        "computation_ratio": number(found.computation_ratio),
        "bound": number(found.bound),
        "bounded_by": found.bounded_by,
        "principles": found.principles.iter().map(|principle| principle.text()).collect::<Vec<_>>(),
    })
}

fn cliff(found: &Cliff) -> Json {
    let drop = |drop: &Option<Drop>| {
        drop.as_ref()
            .map(|drop| json!({ "threads": number(drop.threads), "from": number(drop.from), "to": number(drop.to) }))
    };
    json!({
        "best_threads": optional(found.best_threads),
        "possible": drop(&found.possible),
        "forced": drop(&found.forced),
        "largest": optional(found.largest),
    })
}
