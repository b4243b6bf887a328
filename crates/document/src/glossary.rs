//! `warplens.glossary` and `warplens.metrics`: terms, and keys of documents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Id, Identified, entry};

pub(crate) const DOCUMENTS: &[crate::Entry] =
    &[entry::<Glossary>("terms of the field"), entry::<Metrics>("keys of documents, and what profilers call them")];

/// The document of the `glossary` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Glossary {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The terms.
    pub terms: Vec<Term>,
}

impl Identified for Glossary {
    const ID: &'static str = "warplens.glossary/1";
}

/// A term.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Term {
    /// Its names, separated by commas.
    pub term: String,
    /// What it means.
    pub meaning: String,
    /// The part of the glossary that has it.
    pub part: String,
}

/// The document of the `metrics` verb.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Name and version of the document.
    pub schema: Id<Self>,
    /// The keys.
    pub metrics: Vec<Metric>,
}

impl Identified for Metrics {
    const ID: &'static str = "warplens.metrics/1";
}

/// A key of a document.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// Name of the document, which is that of its verb.
    pub document: String,
    /// Where it stands, with `[]` for the entries of a list and `*` for names.
    pub key: String,
    /// What it means.
    pub meaning: String,
    /// What Nsight Compute calls the same.
    pub nsight_compute: Vec<String>,
}
