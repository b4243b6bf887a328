//! Numbers in documents.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Any number. JSON has no others than finite ones, so that these are the strings `"nan"`, `"inf"` and `"-inf"`.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64);

/// What is written the same is the same: one NaN equals another.
impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || (self.0.is_nan() && other.0.is_nan())
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            number if number.is_finite() => serializer.serialize_f64(number),
            number if number.is_nan() => serializer.serialize_str("nan"),
            number if number > 0.0 => serializer.serialize_str("inf"),
            _ => serializer.serialize_str("-inf"),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Word(String),
        }
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Ok(Self(number)),
            Written::Word(word) => match word.as_str() {
                "nan" => Ok(Self(f64::NAN)),
                "inf" => Ok(Self(f64::INFINITY)),
                "-inf" => Ok(Self(f64::NEG_INFINITY)),
                other => {
                    Err(D::Error::invalid_value(Unexpected::Str(other), &"a number, \"nan\", \"inf\" or \"-inf\""))
                }
            },
        }
    }
}

impl JsonSchema for Number {
    fn schema_name() -> Cow<'static, str> {
        "Number".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number; one that JSON cannot write is a string.",
            "anyOf": [{ "type": "number" }, { "enum": ["nan", "inf", "-inf"], "title": "number" }],
        })
    }
}

/// A finite number that is not negative.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amount(pub f64);

impl JsonSchema for Amount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Amount".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0 })
    }
}

/// A finite number above zero.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Factor(pub f64);

impl JsonSchema for Factor {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Factor".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "exclusiveMinimum": 0 })
    }
}

/// A whole number that is not negative, or a number: what a buffer holds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Element {
    /// An unsigned integer.
    Unsigned(u64),
    /// A negative integer.
    Signed(i64),
    /// A floating-point number.
    Float(Number),
}

impl JsonSchema for Element {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Element".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Number>()
    }
}
