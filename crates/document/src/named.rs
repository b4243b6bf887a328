//! A map that keeps the order of its keys.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Values by name, in the order of the document.
#[derive(Clone, PartialEq, Debug)]
pub struct Named<K, V>(pub Vec<(K, V)>);

impl<K, V> Default for Named<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K, V> FromIterator<(K, V)> for Named<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<K: Serialize, V: Serialize> Serialize for Named<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Named<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for Entries<K, V> {
            type Value = Named<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            // No room is made for as many entries as the input promises.
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Named(entries))
            }
        }

        deserializer.deserialize_map(Entries(PhantomData))
    }
}

impl<K: JsonSchema, V: JsonSchema> JsonSchema for Named<K, V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}By{}", V::schema_name(), K::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<V>();
        let mut schema = json_schema!({ "type": "object" });
        if K::schema_id() != String::schema_id() {
            let keys = generator.subschema_for::<K>();
            schema.insert("propertyNames".into(), keys.to_value());
        }
        schema.insert("additionalProperties".into(), values.to_value());
        schema
    }
}
