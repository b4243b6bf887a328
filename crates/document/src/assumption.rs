//! What a prediction assumes.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A sentence that must hold for a prediction to mean anything.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// Which one it is; `docs/models.md` lists them.
    pub id: AssumptionId,
    /// The sentence, with the numbers of this prediction.
    pub text: String,
}

/// Identifier of an assumption. The schema lists all of them; a test holds the list against the table of the models.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AssumptionId(pub String);

impl JsonSchema for AssumptionId {
    fn schema_name() -> Cow<'static, str> {
        "AssumptionId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "assumption",
            "description": "Identifier of an assumption.",
            "type": "string",
            "enum": assumption_ids(),
        })
    }
}

/// Every identifier, in the order of the models' table. The list is written from that table: `UPDATE=1 cargo test -p
/// warplens-model`.
pub fn assumption_ids() -> Vec<&'static str> {
    include_str!("assumption_ids.txt").lines().collect()
}
