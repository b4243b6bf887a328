//! `warplens.gpus/1`, `warplens.gpu/1` and `warplens.gpu-diff/1`.

use serde_json::{Value as Json, json};
use warplens_session::machines::{Difference, Entry, Machine, Row, Value};

use super::json::{number, optional};

/// The list of GPUs.
pub fn list(entries: &[Entry]) -> Json {
    let gpu = |entry: &Entry| {
        json!({
            "gpu": entry.id,
            "name": entry.name,
            "target": entry.target,
            "chip": entry.chip,
            "sms": optional(entry.sms),
            "clock_hz": optional(entry.clock),
            "peak_bandwidth_bytes_per_s": optional(entry.peak_bandwidth),
            "achieved_bandwidth_bytes_per_s": optional(entry.achieved_bandwidth),
            "aliases": entry.aliases,
        })
    };
    json!({ "schema": "warplens.gpus/1", "gpus": entries.iter().map(gpu).collect::<Vec<_>>() })
}

/// One GPU with all parameters.
pub fn show(machine: &Machine, rows: &[Row]) -> Json {
    json!({
        "schema": "warplens.gpu/1",
        "gpu": machine.id,
        "name": machine.name,
        "target": machine.cc.target(),
        "chip": machine.chip,
        "aliases": machine.aliases,
        "parameters": rows.iter().map(parameter).collect::<Vec<_>>(),
    })
}

/// Two GPUs and the parameters in which they differ.
pub fn diff(left: &Machine, right: &Machine, differences: &[Difference]) -> Json {
    let difference = |difference: &Difference| {
        json!({
            "name": difference.key.name(),
            "unit": difference.left.unit.symbol(),
            "left": value(&difference.left.value),
            "right": value(&difference.right.value),
            "ratio": optional(difference.ratio),
        })
    };
    json!({
        "schema": "warplens.gpu-diff/1",
        "left": left.id,
        "right": right.id,
        "differences": differences.iter().map(difference).collect::<Vec<_>>(),
    })
}

fn parameter(row: &Row) -> Json {
    json!({
        "name": row.key.name(),
        "value": value(&row.value),
        "unit": row.unit.symbol(),
        "nanoseconds": optional(row.nanoseconds),
        "basis": row.basis.map(|basis| basis.name()),
        "source": row.source,
        "note": row.note,
    })
}

/// A number, a list, a word, an object of numbers, or null where nobody knows.
pub(crate) fn value(value: &Value) -> Json {
    match value {
        Value::Unknown => Json::Null,
        Value::Number(value) => number(*value),
        Value::List(list) => list.iter().copied().map(number).collect(),
        Value::Word(word) => word.as_str().into(),
        Value::Mix(mix) => Json::Object(mix.iter().map(|&(key, count)| (key.name().into(), number(count))).collect()),
    }
}
