//! The knobs beside the X-graph: what each is now, and what the question makes of it.

use serde_json::{Value, json};
use warplens_question::plot::x_graph::XGraph;
use warplens_question::x_model::Knob;
use warplens_report::render::show;
use warplens_report::{Cell, Unit};

/// Every knob by its name; what the GPU or the kernel does not have is null.
pub(crate) fn knobs(graph: &XGraph) -> Value {
    let before = &graph.before.state.system;
    let after = graph.after.as_ref().map_or(before, |after| &after.state.system);
    let shown = |knob: Knob, value: f64| show(&Cell::Number(value, Unit::from(knob.spec().unit)));
    let of = |knob: Knob| {
        let (now, then) = (knob.value(before)?, knob.value(after)?);
        Some(json!({ "now": shown(knob, now), "after": shown(knob, then) }))
    };
    let knobs = Knob::ALL.into_iter().map(|knob| (knob.spec().name.to_owned(), of(knob).unwrap_or(Value::Null)));
    json!({ "knobs": Value::Object(knobs.collect()) })
}
