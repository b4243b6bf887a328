//! The JSON Schema of a document, from its type.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::Value;

use crate::Document;

/// Largest count that is read: more than a GPU does in a year.
const LARGEST_COUNT: u64 = 1 << 56;

/// The schema of `D`: what the program writes, and, of documents that it reads, what it takes.
pub fn schema<D: Document>() -> Value {
    let settings = SchemaSettings::draft2020_12();
    let settings = if D::IS_READ { settings } else { settings.for_serialize() };
    let mut schema = SchemaGenerator::new(settings).into_root_schema_for::<D>().to_value();
    close(&mut schema);
    if D::IS_READ {
        bound(&mut schema);
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$id".into(), D::ID.into());
        schema.insert("title".into(), D::ID.into());
        schema.shift_insert(0, "$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    }
    schema
}

/// Puts the simpler word for closed objects: nothing here is evaluated elsewhere.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            if let Some(closed) = entries.shift_remove("unevaluatedProperties") {
                entries.insert("additionalProperties".into(), closed);
            }
            entries.values_mut().for_each(close);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Bounds the counts that are read, so that a few of them can be added, and turned into bytes, without overflow.
fn bound(schema: &mut Value) {
    match schema {
        Value::Object(entries) => {
            if entries.get("format").and_then(Value::as_str) == Some("uint64") {
                entries.insert("maximum".into(), LARGEST_COUNT.into());
            }
            entries.values_mut().for_each(bound);
        }
        Value::Array(items) => items.iter_mut().for_each(bound),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The name of a document, as its key `schema` has it.
pub(crate) fn id_schema(id: &str) -> Value {
    serde_json::json!({ "description": "Name and version of the document.", "const": id })
}

/// The schema of `T` in its place, not behind a reference.
pub(crate) fn in_place<T: JsonSchema>(generator: &mut SchemaGenerator) -> serde_json::Map<String, Value> {
    match T::json_schema(generator).to_value() {
        Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    }
}
