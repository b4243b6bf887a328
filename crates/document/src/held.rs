//! A key that is left out where there is nothing to say.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What stands under a key that may be missing; `null` is a value of `T`, or wrong.
///
/// A field of this type has `#[serde(default, skip_serializing_if = "Held::is_missing")]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held<T>(pub Option<T>);

impl<T> Held<T> {
    /// True where the key is left out.
    pub fn is_missing(&self) -> bool {
        self.0.is_none()
    }
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> From<T> for Held<T> {
    fn from(value: T) -> Self {
        Self(Some(value))
    }
}

impl<T: Serialize> Serialize for Held<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Held<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

impl<T: JsonSchema> JsonSchema for Held<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
