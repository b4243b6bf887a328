//! Documents of one launch, or of a sequence of them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::Identified;
use crate::schema::{id_schema, in_place};

/// A document of launches: the keys of the only one stand at the top; several stand in the list `launches`.
#[derive(Clone, PartialEq, Debug)]
pub struct Launches<L>(pub Vec<L>);

impl<L: Identified> Identified for Launches<L> {
    const ID: &'static str = L::ID;
    const IS_READ: bool = L::IS_READ;
}

impl<L: Identified + Serialize> Serialize for Launches<L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct One<'l, L> {
            schema: &'static str,
            #[serde(flatten)]
            launch: &'l L,
        }
        #[derive(Serialize)]
        struct Several<'l, L> {
            schema: &'static str,
            launches: &'l [L],
        }
        match self.0.as_slice() {
            [launch] => One { schema: L::ID, launch }.serialize(serializer),
            launches => Several { schema: L::ID, launches }.serialize(serializer),
        }
    }
}

impl<'de, L: Identified + DeserializeOwned> Deserialize<'de> for Launches<L> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut document = Map::<String, Value>::deserialize(deserializer)?;
        let schema = document.shift_remove("schema");
        if schema.as_ref().and_then(Value::as_str) != Some(L::ID) {
            return Err(D::Error::custom(format!("the schema must be `{}`", L::ID)));
        }
        let launches = match document.shift_remove("launches") {
            Some(launches) => serde_json::from_value(launches),
            None => serde_json::from_value(Value::Object(document)).map(|launch| vec![launch]),
        };
        launches.map(Self).map_err(D::Error::custom)
    }
}

impl<L: Identified + JsonSchema> JsonSchema for Launches<L> {
    fn schema_name() -> Cow<'static, str> {
        L::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let launch = generator.subschema_for::<L>().to_value();
        let mut one = in_place::<L>(generator);
        if let Some(Value::Object(properties)) = one.get_mut("properties") {
            properties.shift_insert(0, "schema".into(), id_schema(L::ID));
        }
        if let Some(Value::Array(required)) = one.get_mut("required") {
            required.insert(0, "schema".into());
        }
        let several = json!({
            "description": "Several launches, in their order.",
            "type": "object",
            "properties": {
                "schema": id_schema(L::ID),
                "launches": { "description": "One entry per launch.", "type": "array", "items": launch },
            },
            "additionalProperties": false,
            "required": ["schema", "launches"],
        });
        schemars::json_schema!({ "anyOf": [several, one] })
    }
}
