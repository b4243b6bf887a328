//! Numbers in JSON.

use serde_json::Value;

/// A number; JSON has no others, so that these are the strings `"nan"`, `"inf"` and `"-inf"`.
pub fn number(number: f64) -> Value {
    match serde_json::Number::from_f64(number) {
        Some(number) => Value::Number(number),
        None if number.is_nan() => "nan".into(),
        None if number > 0.0 => "inf".into(),
        None => "-inf".into(),
    }
}

/// A number or null.
pub(crate) fn optional(value: Option<f64>) -> Value {
    value.map_or(Value::Null, number)
}

/// A part of a document as a value.
pub(crate) fn value(written: &impl serde::Serialize) -> Value {
    serde_json::to_value(written).expect("documents have texts for keys")
}
