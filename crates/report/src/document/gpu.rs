//! `warplens.gpus`, `warplens.gpu` and `warplens.gpu-diff`.

use warplens_document::gpu::{self as document, Gpu, GpuDiff, Gpus, Parameter};
use warplens_document::{Id, Number, predict};
use warplens_session::machines::{Difference, Entry, Machine, Row, Value};

/// The list of GPUs.
pub fn list(entries: &[Entry]) -> Gpus {
    let gpu = |entry: &Entry| document::Entry {
        gpu: entry.id.clone(),
        name: entry.name.clone(),
        target: entry.target.clone(),
        chip: entry.chip.clone(),
        sms: entry.sms.map(Number),
        clock_hz: entry.clock.map(Number),
        peak_bandwidth_bytes_per_s: entry.peak_bandwidth.map(Number),
        achieved_bandwidth_bytes_per_s: entry.achieved_bandwidth.map(Number),
        aliases: entry.aliases.clone(),
    };
    Gpus { schema: Id::new(), gpus: entries.iter().map(gpu).collect() }
}

/// One GPU with all parameters.
pub fn show(machine: &Machine, rows: &[Row]) -> Gpu {
    Gpu {
        schema: Id::new(),
        gpu: machine.id.clone(),
        name: machine.name.clone(),
        target: machine.cc.target(),
        chip: machine.chip.clone(),
        aliases: machine.aliases.clone(),
        parameters: rows.iter().map(parameter).collect(),
    }
}

/// Two GPUs and the parameters in which they differ.
pub fn diff(left: &Machine, right: &Machine, differences: &[Difference]) -> GpuDiff {
    let difference = |difference: &Difference| document::Difference {
        name: difference.key.name().to_owned(),
        unit: difference.left.unit.symbol().to_owned(),
        left: value(&difference.left.value),
        right: value(&difference.right.value),
        ratio: difference.ratio.map(Number),
    };
    GpuDiff {
        schema: Id::new(),
        left: left.id.clone(),
        right: right.id.clone(),
        differences: differences.iter().map(difference).collect(),
    }
}

fn parameter(row: &Row) -> Parameter {
    Parameter {
        name: row.key.name().to_owned(),
        value: value(&row.value),
        unit: row.unit.symbol().to_owned(),
        nanoseconds: row.nanoseconds.map(Number),
        basis: row.basis.map(|basis| basis.name().to_owned()),
        source: row.source.clone(),
        note: row.note.clone(),
    }
}

/// A value; none where nobody knows.
pub(super) fn value(value: &Value) -> Option<predict::Value> {
    match value {
        Value::Unknown => None,
        Value::Number(value) => Some(predict::Value::Number(Number(*value))),
        Value::List(list) => Some(predict::Value::List(list.iter().copied().map(Number).collect())),
        Value::Word(word) => Some(predict::Value::Word(word.name().to_owned())),
        Value::Mix(mix) => {
            Some(predict::Value::Mix(mix.iter().map(|&(key, count)| (key.name().to_owned(), Number(count))).collect()))
        }
    }
}
