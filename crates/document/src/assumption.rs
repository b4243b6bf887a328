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
            "enum": ASSUMPTION_IDS,
        })
    }
}

/// Every identifier, in the order of the models' table.
pub const ASSUMPTION_IDS: &[&str] = &[
    "machine",
    "ptx-counts",
    "machine-counts",
    "profiled-counts",
    "not-counted",
    "one-load",
    "no-merging",
    "dram-measured",
    "sampled",
    "static",
    "static-bound",
    "static-given",
    "registers-estimated",
    "order-dependent",
    "dram-only",
    "l1-hits",
    "constant-hits",
    "flat-issue",
    "class-issue",
    "convert-lanes",
    "no-expansion",
    "bank-conflicts",
    "duplicate-loads",
    "adaptive-duplicates",
    "duplicates-sampled",
    "merged-floor",
    "real-waves",
    "whole-waves",
    "issue-floor",
    "fewer-loads",
    "sfu-overlap",
    "in-warp-overlap",
    "block-barrier",
    "uncoalesced-32",
    "coalesced-one",
    "as-printed",
    "nearest-cost",
    "latency-once",
    "serial-transactions",
    "sampled-periods",
    "long-sequences",
    "waves-in-turn",
    "free-conflicts",
    "perfect-overlap",
    "sectors-once",
    "x-steady-state",
    "x-lanes",
    "x-coalescing",
    "x-coalesced",
    "x-cache",
    "x-no-cache",
    "x-no-reuse",
    "one-sm",
    "machine-code",
    "steady-state",
    "wave-by-wave",
    "cut-short",
    "stand-in-ctas",
    "shared-sectors",
    "x-start",
];
